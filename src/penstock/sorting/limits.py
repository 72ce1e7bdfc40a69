"""How much is sorted at once. Imports nothing heavy: plans are made of it."""

from __future__ import annotations

from typing import NamedTuple

#: Buckets that rows are sent to at once, at most.
MAX_BUCKETS = 1024


class Limits(NamedTuple):
    """How rows are divided."""

    num_buckets: int
    #: Rows that are sorted at once, about, and those that may be if they cannot be divided.
    bucket_rows: int
    whole_rows: int
    #: Bytes of rows that may wait in memory.
    held_bytes: int

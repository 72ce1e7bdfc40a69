"""Parts of index arrays, without mapping them into memory.

A mapped array's pages count as the process's memory once they are touched, for as long as it is
open. Whoever goes through one from end to end reads it in parts instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.errors import CorruptionError
from penstock.types import Array

#: Entries in a part.
PART = 1 << 20


def read_range(array: Array, begin: int, end: int) -> Array:
    """``array[begin:end]``, read from its file if the array is mapped from one."""
    if not isinstance(array, np.memmap) or array.filename is None:
        return array[begin:end]
    place = array.offset + begin * array.dtype.itemsize
    found: Array = np.fromfile(array.filename, array.dtype, end - begin, offset=place)
    if len(found) < end - begin:
        raise CorruptionError(
            f"{array.filename}: entries {begin:,} to {end:,} are missing; the file was cut off "
            "after it was opened: restore or rebuild the graph"
        )
    return found


def iter_parts(array: Array) -> Iterator[tuple[int, Array]]:
    """Where each part begins, and the part."""
    for begin in range(0, len(array), PART):
        yield begin, read_range(array, begin, min(begin + PART, len(array)))

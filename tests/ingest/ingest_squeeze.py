"""Builds with their inner limits forced small, so that a few rows go the ways of many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from penstock.ingest import build, ids, names, numbering, options, plan, rows

ROOMY = 1 << 24


@dataclass(frozen=True)
class Squeeze:
    """Limits; the defaults bind nothing that is small."""

    #: Rows sorted at once: more than twice as many in a bucket, and it is divided.
    bucket_rows: int = ROOMY
    num_buckets: int = 1
    #: Bytes of buckets, of the copy of the input, of distinct names and of distinct ids in memory.
    bucket_bytes: int = ROOMY
    spool_bytes: int = ROOMY
    name_bytes: int = ROOMY
    unique_bytes: int = ROOMY
    #: Bytes an id takes in the index of ids; many, and the index comes in parts.
    index_bytes: int = ids.INDEX_BYTES
    #: Rows of a chunk that the splitters are drawn from.
    sample_rows: int = 4096
    page_bytes: int = options.MIN_PAGE_BYTES


#: Nothing fits anywhere.
TINY = Squeeze(2, 5, 0, 0, 2, 8, 1 << 22, 2)


@contextmanager
def squeezed(limits: Squeeze) -> Iterator[None]:
    """Within this, builds have these limits."""
    with pytest.MonkeyPatch.context() as patch:
        plan_sort, plan_read = plan.plan_sort, plan.plan_read
        unique, collector = ids.sorted_unique, names.NameCollector

        def small_sort(*args: Any, **kwargs: Any) -> plan.SortPlan:
            return plan_sort(*args, **kwargs)._replace(
                bucket_rows=limits.bucket_rows,
                num_buckets=limits.num_buckets,
                bucket_bytes=limits.bucket_bytes,
                spool_bytes=limits.spool_bytes,
            )

        def small_read(*args: Any, **kwargs: Any) -> plan.ReadPlan:
            return plan_read(*args, **kwargs)._replace(spool_bytes=limits.spool_bytes)

        def small_unique(parts: Any, limit: int, *rest: Any) -> Any:
            small = limit if limit == rows.UNLIMITED else limits.unique_bytes
            return unique(parts, small, *rest)

        def small_collector(scratch: Any, limit: int) -> names.NameCollector:
            return collector(scratch, limit if scratch is None else limits.name_bytes)

        patch.setattr(build, "plan_sort", small_sort)
        patch.setattr(rows, "plan_read", small_read)
        patch.setattr(numbering, "sorted_unique", small_unique)
        patch.setattr(names, "NameCollector", small_collector)
        patch.setattr(ids, "INDEX_BYTES", limits.index_bytes)
        patch.setattr(numbering, "_SAMPLE_ROWS", limits.sample_rows)
        patch.setattr(options, "MIN_PAGE_BYTES", limits.page_bytes)
        yield

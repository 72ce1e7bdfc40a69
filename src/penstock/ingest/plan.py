"""How a build divides its memory. Pure: numbers in, numbers out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from penstock.config import format_bytes
from penstock.errors import BudgetError
from penstock.sorting.limits import MAX_BUCKETS

#: A bucket with more rows than this sorts no faster; more buckets keep all cores busy.
MAX_BUCKET_ROWS = 1 << 22
#: Bytes a row takes while its chunk is being turned into sort keys, columns aside.
CHUNK_ROW_BYTES = 64
#: Bytes a row takes while its bucket is being sorted, columns aside.
SORT_ROW_BYTES = 40


class ReadPlan(NamedTuple):
    """For reading the input, when nothing is known of it yet."""

    chunk_rows: int
    block_bytes: int
    spool_bytes: int


class SortPlan(NamedTuple):
    """For distributing and sorting, when the counts are known."""

    spool_bytes: int
    bucket_bytes: int
    bucket_rows: int
    num_buckets: int
    #: Bytes that stay taken while rows are sorted, and those a row takes then.
    table_bytes: int
    row_bytes: int
    #: Rows that may be sorted at once if they cannot be divided.
    list_rows: int

    def refuse_list(self, rows: int) -> NoReturn:
        """Raise because a list cannot be sorted in one go."""
        raise BudgetError(
            f"one vertex has {rows:,} edges, too many to put in input order within the memory "
            f"allowed: {enough(self.table_bytes + 4 * rows * self.row_bytes)}, or choose "
            "another neighbour_order= (--neighbours)"
        )


def enough(needed: int) -> str:
    """What to do if that many bytes are needed."""
    return f"give at least memory='{-(-needed // 10**6)}MB'"


def plan_read(budget: int, threads: int, column_bytes: int) -> ReadPlan:
    """Chunks, blocks and what may be kept in memory while reading."""
    in_flight = threads + 2
    row = CHUNK_ROW_BYTES + 3 * column_bytes
    rows = budget // 4 // in_flight // row
    chunk_rows = max(1 << 12, min(1 << 20, 1 << (max(rows, 1).bit_length() - 1)))
    # A block of text, and the rows found in it (a row has at least four bytes).
    block_bytes = max(1 << 16, min(8 << 20, budget // 4 // in_flight // 8))
    return ReadPlan(chunk_rows, block_bytes, budget // 4)


@dataclass(frozen=True, slots=True)
class DiskPlan:
    """Bytes a build will need on disk from here on."""

    scratch_bytes: int
    target_bytes: int
    #: If both are on one disk: less than their sum, as buckets go while pages come.
    shared_bytes: int


def plan_disk(
    num_rows: int, key_bytes: int, column_bytes: int, held_bytes: int, *, passes: int,
    directions: int,
) -> DiskPlan:  # fmt: skip
    """For ``num_rows`` keys in each of ``directions``, sorted in ``passes`` one after another, of
    which ``held_bytes`` stay in memory.
    """
    pages = directions * num_rows * (3 + column_bytes)
    rows = directions // passes * num_rows
    buckets = max(0, rows * (key_bytes + column_bytes) - held_bytes)
    done = pages * (passes - 1) // passes
    return DiskPlan(buckets, pages, done + max(buckets, pages - done))


def plan_sort(
    budget: int, threads: int, num_ids: int, num_rows: int, column_bytes: int, max_rows: int
) -> SortPlan:
    """How to sort ``num_rows`` keys; ``num_ids`` entries of 4 bytes stay in memory meanwhile."""
    table = 4 * num_ids
    in_flight = (threads + 2) * max_rows * (CHUNK_ROW_BYTES + 3 * column_bytes)
    free = budget - table - in_flight
    if free < budget // 8:
        needed = (table + in_flight) * 8 // 7 + (1 << 20)
        raise BudgetError(
            f"the numbers of {num_ids:,} vertex ids and the rows that {threads} threads work on "
            f"take {format_bytes(table + in_flight)}, too much for the memory allowed "
            f"({format_bytes(budget)}): {enough(needed)}, or use fewer threads"
        )
    per_row = SORT_ROW_BYTES + 4 * column_bytes
    # Half is for buckets that are still in memory, half for sorting. The table may be there still,
    # for the next direction.
    half = (budget - table) // 2
    bucket_rows = max(1 << 10, min(MAX_BUCKET_ROWS, half // ((threads + 2) * per_row)))
    num_buckets = max(1, min(MAX_BUCKETS, -(-num_rows // bucket_rows)))
    return SortPlan(
        spool_bytes=free // 4,
        bucket_bytes=min(free // 2, half),
        bucket_rows=bucket_rows,
        num_buckets=num_buckets,
        table_bytes=table,
        row_bytes=per_row,
        list_rows=max(2 * bucket_rows, half // (2 * per_row)),
    )

"""Sorting rows into lists: each row becomes a sort key for each direction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.ingest.keys import make_keys
from penstock.ingest.numbering import Numbering
from penstock.ingest.options import BuildOptions
from penstock.ingest.plan import SortPlan
from penstock.ingest.sorting import SortSpec, reduce_rows, to_lists
from penstock.ingest.spool import IntChunk
from penstock.parallel import ordered_map
from penstock.progress import Progress
from penstock.sorting.external import Divided, ExternalSort, Order
from penstock.sorting.limits import Limits
from penstock.sorting.rows import Rows
from penstock.types import U32, U64, Adjacency, Direction


class Pass(NamedTuple):
    """One pass over all rows: the directions that it is for. In the last one the rows are used up,
    and the numbering's table is given back to the system.
    """

    directions: tuple[Direction, ...]
    last: bool


def distribute(
    numbering: Numbering, each: Pass, spec: SortSpec, plan: SortPlan, options: BuildOptions,
    scratch: Path | None, progress: Progress,
) -> dict[Direction, ExternalSort]:  # fmt: skip
    """Go through all rows once, and give them to the sort of each direction."""
    directions = each.directions
    mirrored, drop_loops = not options.directed, options.self_loops == "drop"
    first = np.uint64(numbering.first_id)
    copies = 2 if mirrored else 1

    def keys_of(chunk: IntChunk, direction: Direction, *, track: bool) -> tuple[U64, U32]:
        src, dst = (chunk.src, chunk.dst) if direction == "out" else (chunk.dst, chunk.src)
        keys: U64 = np.empty(copies * len(chunk), np.uint64)
        rows: U32 = np.empty(len(keys) if track else 0, np.uint32)
        count = make_keys(
            src, dst, numbering.table, numbering.target_table, first, spec.shift, mirrored,
            drop_loops, keys, rows,
        )  # fmt: skip
        return keys[:count], rows[:count]

    order = _order(numbering.num_vertices, spec, plan)
    limits = Limits(
        plan.num_buckets, plan.bucket_rows, plan.list_rows, plan.bucket_bytes // len(directions)
    )
    found: dict[Direction, ExternalSort] = {}
    for direction in directions:
        samples, _ = keys_of(numbering.samples, direction, track=False)
        folder = scratch and scratch / f"buckets.{direction}"
        found[direction] = ExternalSort(samples, order, limits, folder)

    def divide(piece: Any) -> tuple[int, dict[Direction, Divided]]:
        chunk = numbering.rows.load(piece)
        columns = [
            np.ascontiguousarray(chunk.columns[name], dtype) for name, dtype in spec.columns.items()
        ]
        out = {}
        for direction in directions:
            keys, rows = keys_of(chunk, direction, track=bool(columns))
            out[direction] = found[direction].divide(keys, rows, columns)
        return len(chunk), out

    progress.start("distributing", numbering.num_rows, "edges")
    for rows, parts in ordered_map(divide, numbering.rows.pieces(take=each.last), options.threads):
        for direction, divided in parts.items():
            found[direction].add(divided)
        progress.advance(rows)
    if each.last:
        numbering.table = np.empty(0, np.uint32)
    return found


def _order(num_vertices: int, spec: SortSpec, plan: SortPlan) -> Order:
    ascending = replace(spec, input_order=False)
    return Order(
        stop=num_vertices << spec.shift,
        columns=spec.columns,
        reduce=None if spec.rule == "keep" else lambda rows: reduce_rows(rows, ascending)[0],
        together_bits=spec.shift if spec.input_order else 0,
        refuse=plan.refuse_list,
    )


def sorted_lists(
    rows: ExternalSort, spec: SortSpec, threads: int
) -> Iterator[tuple[Adjacency, int, int]]:
    """All lists in vertex order, a bucket or less at a time: (lists, rows they came from,
    self-loops).
    """

    def finish(part: Rows) -> tuple[Iterable[tuple[Adjacency, int]], int]:
        return to_lists(*reduce_rows(part, spec), spec), len(part.keys)

    for parts, count in rows.finished(finish, threads):
        for lists, loops in parts:
            yield lists, count, loops
            count = 0

"""Sending rows to buckets by their sort keys, and taking the buckets back one by one, sorted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.ingest.keys import Buckets, make_buckets, make_keys, scatter
from penstock.ingest.numbering import Numbering
from penstock.ingest.options import BuildOptions
from penstock.ingest.packing import width_of
from penstock.ingest.plan import MAX_BUCKETS, SortPlan
from penstock.ingest.sorting import Rows, SortSpec, load_rows, reduce_rows, to_lists
from penstock.ingest.spill import Spill
from penstock.ingest.spool import IntChunk
from penstock.parallel import ordered_map
from penstock.progress import Progress
from penstock.types import U8, U32, U64, Adjacency, Direction


@dataclass(slots=True)
class Distribution:
    """The rows of one direction, in buckets."""

    buckets: Buckets
    spill: Spill
    num_rows: int = 0


def distribute(
    numbering: Numbering, spills: dict[Direction, Spill], spec: SortSpec, plan: SortPlan,
    options: BuildOptions, *, progress: Progress, take: bool,
) -> dict[Direction, Distribution]:  # fmt: skip
    """Go through all rows once, and put them into the buckets of each direction, which ``spills``
    hold.

    With ``take`` the rows are used up, and the numbering's table is given back to the system.
    """
    first = np.uint64(numbering.first_id)
    mirrored, drop_loops = not options.directed, options.self_loops == "drop"
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

    stop = numbering.num_vertices << spec.shift
    align = spec.shift if spec.input_order else 0
    found: dict[Direction, Distribution] = {}
    for direction, spill in spills.items():
        samples, _ = keys_of(numbering.samples, direction, track=False)
        buckets = make_buckets(samples, plan.num_buckets, 0, stop, align)
        found[direction] = Distribution(buckets, spill)

    def divide(piece: Any) -> tuple[int, dict[Direction, tuple[int, list[tuple[int, list[U8]]]]]]:
        chunk = numbering.rows.load(piece)
        columns = [
            np.ascontiguousarray(chunk.columns[name], dtype) for name, dtype in spec.columns.items()
        ]
        out = {}
        for direction in spills:
            keys, rows = keys_of(chunk, direction, track=bool(columns))
            out[direction] = (len(keys), scatter(keys, rows, columns, found[direction].buckets))
        return len(chunk), out

    progress.start("distributing", numbering.num_rows, "edges")
    for rows, parts in ordered_map(divide, numbering.rows.pieces(take=take), options.threads):
        for direction, (count, blocks) in parts.items():
            found[direction].num_rows += count
            for bucket, arrays in blocks:
                block = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
                found[direction].spill.append(bucket, block)
        progress.advance(rows)
    if take:
        numbering.table = np.empty(0, np.uint32)
    return found


#: A column for the place of a row in its bucket.
_ROW = "\0row"
#: Rows that are loaded, or the range and the packed rows of a bucket.
_Part = Rows | tuple[int, int, list[U8]]


def sorted_lists(
    distribution: Distribution, spec: SortSpec, plan: SortPlan, threads: int
) -> Iterator[tuple[Adjacency, int, int]]:
    """All lists in vertex order, a bucket or less at a time: (lists, rows they came from,
    self-loops).
    """

    def finish(rows: _Part) -> tuple[Iterable[tuple[Adjacency, int]], int]:
        if not isinstance(rows, Rows):
            low, stop, blocks = rows
            rows = load_rows(blocks, low, stop, spec)
        count = len(rows.keys)
        return to_lists(*reduce_rows(rows, spec), spec), count

    def pieces() -> Iterator[_Part]:
        for bucket in range(len(distribution.buckets.lows)):
            low, stop = distribution.buckets.range_of(bucket)
            yield from _pieces(distribution.spill, bucket, low, stop, spec, plan)

    for parts, count in ordered_map(finish, pieces(), threads):
        for lists, loops in parts:
            yield lists, count, loops
            count = 0


def _pieces(
    spill: Spill, bucket: int, low: int, stop: int, spec: SortSpec, plan: SortPlan
) -> Iterator[_Part]:
    """A bucket, or what it must be divided into because it is too large to sort at once."""
    count = spill.num_bytes(bucket) // _row_bytes(low, stop, spec)
    # Lists in input order are never divided.
    whole = low >> spec.shift == (stop - 1) >> spec.shift if spec.input_order else stop - low == 1
    if whole and spec.rule == "keep" and count > plan.bucket_rows:
        # Copies of one edge, or a list in input order: in order as they are.
        yield from _batches(spill, bucket, low, stop, spec, plan.bucket_rows, take=True)
        return
    if count <= (plan.list_rows if whole else 2 * plan.bucket_rows):
        yield low, stop, list(spill.read(bucket, take=True))
        return
    reduced = _reduced(spill, bucket, low, stop, spec, plan.bucket_rows)
    if reduced is not None:
        spill.drop(bucket)
        yield reduced
        return
    if whole:
        plan.refuse_list(count)
    yield from _divided(spill, bucket, low, stop, spec, plan)


def _reduced(
    spill: Spill, bucket: int, low: int, stop: int, spec: SortSpec, limit: int
) -> Rows | None:
    """A bucket without its duplicates, or None if that leaves more than ``limit`` rows.

    What a rule makes of the rows so far stands before those to come, so that sums are added up in
    the order of the input, however the rows are divided.
    """
    if spec.rule == "keep":
        return None
    ascending = replace(
        spec, input_order=False, columns={**spec.columns, _ROW: np.dtype(np.uint64)}
    )
    held: Rows | None = None
    at = 0
    for rows in _batches(spill, bucket, low, stop, spec, limit, take=False):
        places = np.arange(at, at + len(rows.keys), dtype=np.uint64)
        at += len(rows.keys)
        rows = rows._replace(columns={**rows.columns, _ROW: places})
        held = reduce_rows(rows if held is None else _joined(held, rows), ascending)[0]
        if len(held.keys) > limit:
            return None
    assert held is not None
    order = np.argsort(held.columns[_ROW])
    columns = {name: held.columns[name][order] for name in spec.columns}
    return Rows(low, stop, held.keys[order], columns)


def _divided(
    spill: Spill, bucket: int, low: int, stop: int, spec: SortSpec, plan: SortPlan
) -> Iterator[_Part]:
    """Send the rows of a bucket to buckets of its own, and take those."""
    limit = plan.bucket_rows
    count = spill.num_bytes(bucket) // _row_bytes(low, stop, spec)
    num_buckets = min(MAX_BUCKETS, -(-count // limit))
    step = max(1, count // (64 * num_buckets))
    samples = [
        rows.keys[::step] + np.uint64(low)
        for rows in _batches(spill, bucket, low, stop, spec, limit, take=False)
    ]
    align = spec.shift if spec.input_order else 0
    inner = make_buckets(np.concatenate(samples), num_buckets, low, stop, align)
    below = spill.sibling(bucket)
    for rows in _batches(spill, bucket, low, stop, spec, limit, take=True):
        order: U32 = np.arange(len(rows.keys), dtype=np.uint32)
        keys = rows.keys + np.uint64(low)
        for b, arrays in scatter(keys, order, list(rows.columns.values()), inner):
            below.append(b, np.concatenate(arrays))
    for b in range(len(inner.lows)):
        yield from _pieces(below, b, *inner.range_of(b), spec, plan)


def _row_bytes(low: int, stop: int, spec: SortSpec) -> int:
    return width_of(stop - low - 1) + spec.column_bytes


def _batches(
    spill: Spill, bucket: int, low: int, stop: int, spec: SortSpec, limit: int, *, take: bool
) -> Iterator[Rows]:
    """The rows of a bucket in input order, at most about ``limit`` at a time."""
    size = _row_bytes(low, stop, spec)
    held: list[U8] = []
    count = 0
    for block in spill.read(bucket, take=take, at_once=limit * size):
        held.append(block)
        count += len(block) // size
        if count >= limit:
            yield load_rows(held, low, stop, spec)
            held, count = [], 0
    if held:
        yield load_rows(held, low, stop, spec)


def _joined(first: Rows, second: Rows) -> Rows:
    keys = np.concatenate([first.keys, second.keys])
    columns = {k: np.concatenate([v, second.columns[k]]) for k, v in first.columns.items()}
    return Rows(first.low, first.stop, keys, columns)

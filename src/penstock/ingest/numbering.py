"""Which ids are vertices, and which number each of them gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.config import format_bytes
from penstock.errors import BudgetError, IdError
from penstock.ingest.ids import (
    forget,
    hashed_parts,
    integer_parts,
    narrowest,
    rank_rows,
    sorted_unique,
)
from penstock.ingest.options import BuildOptions
from penstock.ingest.order import ISOLATED, count_degrees, fingerprint, number_vertices
from penstock.ingest.plan import enough
from penstock.ingest.rows import UNLIMITED, ReadResult, Rows, SpoolRows, extra_ids
from penstock.ingest.spool import IntChunk
from penstock.parallel import ordered_map
from penstock.process import return_freed_memory
from penstock.progress import Progress
from penstock.sorting.spill import Spill
from penstock.store.catalog import IdSpec
from penstock.store.folder import GraphFolder
from penstock.store.memory import MemoryTarget
from penstock.types import MAX_VERTICES, NO_VERTEX, U8, U32, U64, Array

#: About how many rows go into the sample for the splitters.
_SAMPLE_ROWS = 1 << 18
_WRITE_ROWS = 1 << 20
#: Integer ids are numbered through a plain array if it has at most this many entries a row.
_DENSE_FACTOR = 16


@dataclass(frozen=True, slots=True)
class IdSpace:
    """Ids as offsets from ``first_id``, below ``bound``.

    If ``everyone``, each id of the space is a vertex.
    """

    rows: Rows
    first_id: int
    bound: int
    everyone: bool
    #: What the ids are, if that is known already.
    spec: IdSpec | None
    #: Of the rows as they were read; None: they have not been.
    fingerprint: int | None
    #: Ids that are vertices even if no edge names them.
    extra: Spill | None = None


@dataclass(slots=True)
class Numbering:
    """Every vertex has its number."""

    rows: Rows
    first_id: int
    num_vertices: int
    #: Vertex number by id less ``first_id``; empty if they are the same.
    table: U32
    spec: IdSpec
    order_file: str | None
    #: What stands for a target in sort keys, by vertex number, and back; empty: itself.
    target_table: U32
    target_of: U32
    samples: IntChunk
    fingerprint: int
    num_rows: int
    max_chunk_rows: int
    loops_dropped: int


def find_ids(
    read: ReadResult, declared: range | None, target: GraphFolder | MemoryTarget,
    scratch: Path | None, budget: int, threads: int,
) -> IdSpace:  # fmt: skip
    """Settle what the vertices are; sparse and string ids are replaced by their ranks."""
    rows = read.rows
    if read.names is not None:
        return _string_ids(read, target, scratch, budget, threads)
    if declared is not None:
        for ids in extra_ids(read.extra, take=True):
            check_declared(ids, declared)
        spec = IdSpec("range", declared.start)
        return IdSpace(
            rows, declared.start, len(declared), everyone=True, spec=spec,
            fingerprint=read.fingerprint,
        )  # fmt: skip
    bound = read.max_id + 1
    dense = bound <= max(1 << 16, _DENSE_FACTOR * rows.num_rows) and 12 * bound <= budget
    if dense and bound <= MAX_VERTICES:
        return IdSpace(
            rows, 0, bound, everyone=False, spec=None,
            fingerprint=read.fingerprint, extra=read.extra,
        )  # fmt: skip
    return _sparse_ids(read, target, scratch, budget, threads)


def check_declared(ids: U64, declared: range) -> None:
    """Raise an IdError if one of the ids is not of those that were declared."""
    wrong = ids[(ids < declared.start) | (ids - np.uint64(declared.start) >= len(declared))]
    if len(wrong):
        raise IdError(
            f"the input names vertex {wrong[0]}, but {_range_words(declared.start, len(declared))}"
        )


def _range_words(first: int, count: int) -> str:
    return f"the vertices are {first} .. {first + count - 1}" if count else "there are no vertices"


def _sparse_ids(
    read: ReadResult, target: GraphFolder | MemoryTarget, scratch: Path | None, budget: int,
    threads: int,
) -> IdSpace:  # fmt: skip
    rows = read.rows
    assert isinstance(rows, SpoolRows)

    def parts() -> Iterator[U64]:
        for chunk in ordered_map(rows.load, rows.pieces(take=False), threads):
            yield chunk.src
            yield chunk.dst
        yield from extra_ids(read.extra, take=True)

    limit = UNLIMITED if scratch is None else budget // 12
    folder = scratch or Path()
    ids = sorted_unique(parts(), limit, folder, folder / "ids.sorted")
    _check_count(len(ids))
    spec = _save_sparse_ids(ids, target)
    spool = rank_rows(
        rows.spool, integer_parts(ids), len(ids), read.spooled,
        budget if scratch else UNLIMITED, threads, scratch,
    )  # fmt: skip
    return IdSpace(
        SpoolRows(spool), 0, len(ids), everyone=True, spec=spec, fingerprint=read.fingerprint
    )


def _save_sparse_ids(ids: U64, target: GraphFolder | MemoryTarget) -> IdSpec:
    """As :func:`_save_ids` does it, so that the way to the ids does not show in the graph."""
    first, last = (int(ids[0]), int(ids[-1])) if len(ids) else (0, -1)
    if last - first + 1 == len(ids) and last < 1 << 63:
        return IdSpec("range", first)
    write = target.array_writer("ids.npy", narrowest(last), len(ids))
    for at in range(0, len(ids), _WRITE_ROWS):
        write(np.asarray(ids[at : at + _WRITE_ROWS]))
        forget(ids)
    return IdSpec("int", 0, "ids.npy")


def _string_ids(
    read: ReadResult, target: GraphFolder | MemoryTarget, scratch: Path | None, budget: int,
    threads: int,
) -> IdSpace:  # fmt: skip
    assert read.names is not None
    assert isinstance(read.rows, SpoolRows)
    if isinstance(target, GraphFolder):
        keys, _ = read.names.finish(target.index_file("ids.arrow"))
    else:
        keys, table = read.names.finish(None)
        target.save("ids.arrow", table["id"].to_numpy())  # type: ignore[index]
    read.names = None  # its memory is needed
    if scratch is not None:
        return_freed_memory()
    _check_count(len(keys))
    spool = rank_rows(
        read.rows.spool, hashed_parts(keys), len(keys), read.spooled,
        budget if scratch else UNLIMITED, threads, scratch,
    )  # fmt: skip
    spec = IdSpec("string", 0, "ids.arrow")
    return IdSpace(
        SpoolRows(spool), 0, len(keys), everyone=True, spec=spec, fingerprint=read.fingerprint
    )


def _check_count(count: int) -> None:
    if count > MAX_VERTICES:
        raise IdError(f"the input has {count:,} vertices; at most {MAX_VERTICES:,} can be numbered")


def number(
    space: IdSpace, options: BuildOptions, target: GraphFolder | MemoryTarget, budget: int,
    progress: Progress, name: str,
) -> Numbering:  # fmt: skip
    """Count degrees, take a sample of the rows, and number the vertices."""
    drop_loops, by_degree = options.self_loops == "drop", options.vertex_order == "degree"
    lists_by_degree = (options.vertex_order, options.neighbour_order) == ("none", "degree")
    _check_count(space.bound)
    arrays = 3 if lists_by_degree else 1
    if 4 * arrays * space.bound > budget * 3 // 4:
        raise BudgetError(
            f"{name}: numbering {space.bound:,} vertex ids takes "
            f"{format_bytes(4 * arrays * space.bound)}: {enough(4 * arrays * space.bound * 2)}"
        )
    space.rows.shrink((budget - 4 * arrays * space.bound) // 3)
    degrees: U32 = np.zeros(space.bound, np.uint32)
    looped: U8 = np.zeros(space.bound if drop_loops and not space.everyone else 0, np.uint8)
    samples, seen, num_rows, most, loops = _count(
        space, degrees, looped, drop_loops=drop_loops, threads=options.threads, progress=progress,
        name=name,
    )  # fmt: skip
    ends = 2 * (num_rows - loops)
    if ends >= 1 << 32 and int(degrees.sum(dtype=np.int64)) != ends:
        raise IdError(f"{name}: a vertex has 2**32 edges or more, which cannot be counted")
    for ids in extra_ids(space.extra, take=True):
        offsets = (ids - np.uint64(space.first_id)).astype(np.int64)
        degrees[offsets[degrees[offsets] == 0]] = ISOLATED
    if len(looped):
        degrees[(looped != 0) & (degrees == 0)] = ISOLATED
        del looped
    none: U32 = np.empty(0, np.uint32)
    ranks = degrees.copy() if lists_by_degree else none
    total = number_vertices(degrees, everyone=space.everyone, by_degree=by_degree)
    target_of = none
    if lists_by_degree:
        number_vertices(ranks, everyone=space.everyone, by_degree=True)
        ranks = ranks[degrees != NO_VERTEX]
        target_of = np.empty(total, np.uint32)
        target_of[ranks] = np.arange(total, dtype=np.uint32)
    spec = space.spec or _save_ids(degrees, total, target)
    order_file = _save_order(degrees, total, target) if by_degree else None
    identity = not by_degree and total == space.bound
    return Numbering(
        space.rows, space.first_id, total, none if identity else degrees, spec, order_file,
        ranks, target_of, samples, seen, num_rows, most, loops,
    )  # fmt: skip


def _count(
    space: IdSpace, degrees: U32, looped: U8, *, drop_loops: bool, threads: int,
    progress: Progress, name: str,
) -> tuple[IntChunk, int, int, int, int]:  # fmt: skip
    """A sample of the rows, their fingerprint, their number, the longest chunk, loops dropped."""
    first = np.uint64(space.first_id)
    step = max(1, space.rows.num_rows // _SAMPLE_ROWS)

    def count(piece: Any) -> tuple[Array, Array, int, int, int]:
        chunk = space.rows.load(piece)
        loops, wrong = count_degrees(chunk.src, chunk.dst, first, drop_loops, degrees, looped)
        if wrong >= 0:
            raise IdError(
                f"{name}: an edge joins {chunk.src[wrong]} and {chunk.dst[wrong]}, but "
                f"{_range_words(space.first_id, space.bound)}"
            )
        seen = fingerprint(chunk.src, chunk.dst) if space.fingerprint is None else 0
        return chunk.src[::step].copy(), chunk.dst[::step].copy(), seen, loops, len(chunk)

    progress.start("counting", space.rows.num_rows or None, "edges")
    sources, targets = [], []
    seen = space.fingerprint or 0
    num_rows = most = dropped = 0
    for src, dst, part, loops, size in ordered_map(count, space.rows.pieces(take=False), threads):
        sources.append(src)
        targets.append(dst)
        seen = (seen + part) % (1 << 64)
        dropped += loops
        num_rows += size
        most = max(most, size)
        progress.advance(size)
    none: U64 = np.empty(0, np.uint64)
    sample = IntChunk(np.concatenate([none, *sources]), np.concatenate([none, *targets]), {})
    return sample, seen, num_rows, most, dropped


def _save_ids(table: U32, total: int, target: GraphFolder | MemoryTarget) -> IdSpec:
    """Write the ids that are vertices, unless they follow each other without a gap."""
    first = _first_present(table)
    if bool((table[first : first + total] != NO_VERTEX).all()):
        return IdSpec("range", first)
    write = target.array_writer("ids.npy", np.int64, total)
    for at in range(0, len(table), _WRITE_ROWS):
        write(np.flatnonzero(table[at : at + _WRITE_ROWS] != NO_VERTEX) + at)
    return IdSpec("int", 0, "ids.npy")


def _first_present(table: U32) -> int:
    for at in range(0, len(table), _WRITE_ROWS):
        present = np.flatnonzero(table[at : at + _WRITE_ROWS] != NO_VERTEX)
        if len(present):
            return at + int(present[0])
    return 0


def _save_order(table: U32, total: int, target: GraphFolder | MemoryTarget) -> str:
    write = target.array_writer("vid_of_rank.npy", np.uint32, total)
    for at in range(0, len(table), _WRITE_ROWS):
        part = table[at : at + _WRITE_ROWS]
        write(part[part != NO_VERTEX])
    return "vid_of_rank.npy"

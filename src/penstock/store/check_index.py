"""What can be wrong with the index files of a graph, apart from their bytes.

Runs make these checks before they use a file for the first time, ``penstock verify`` makes them
always. Each reads its array once, in parts.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from penstock.jit import kernel
from penstock.store.catalog import DirectionStats
from penstock.store.hashing import mix
from penstock.store.layout import MAX_PAGE_VERTICES
from penstock.store.mapped import iter_parts, read_range
from penstock.store.page import LARGE, SMALL
from penstock.types import I64, U32, U64, Array

#: Interleaved counters: successive increments of one counter would wait for each other.
_LANES = 4


@kernel
def _compare_sets(values, begin, salt):  # type: ignore[no-untyped-def]
    """The sum of a hash of every value, minus that of ``begin``, ``begin + 1``, ...; and the
    largest value.
    """
    total = np.uint64(0)
    largest = np.uint32(0)
    for i in range(len(values)):
        largest = max(largest, values[i])
        total += mix(np.uint64(values[i]) ^ salt) - mix(np.uint64(begin + i) ^ salt)
    return total, largest


@kernel
def _count_degrees(degrees, bit_lengths, histograms):  # type: ignore[no-untyped-def]
    """Add to the numbers of degrees 0, 1, 2 to 3, 4 to 7, ...; returns the largest."""
    largest = np.uint32(0)
    for i in range(len(degrees)):
        degree = degrees[i]
        largest = max(largest, degree)
        bits = 0
        while degree >= 256:
            bits += 8
            degree >>= 8
        histograms[i & (_LANES - 1), bits + bit_lengths[degree]] += 1
    return largest


@kernel
def _add_groups(degrees, begin, ends, group, sums):  # type: ignore[no-untyped-def]
    """Add degrees to the sum of the group that their vertex is in; ``ends``: the first vertex after
    each group. Returns the group of the last vertex.
    """
    for i in range(len(degrees)):
        while begin + i >= ends[group]:
            group += 1
        sums[group] += np.int64(degrees[i])
    return group


def table_problems(table: Array, stats: DirectionStats, num_vertices: int) -> list[str]:
    """Whether the pages follow each other, cover every vertex, and are as many as they should."""
    columns: dict[str, I64] = {
        name: table[name].astype(np.int64) for name in table.dtype.names or ()
    }
    kind, run = columns["kind"], columns["run"]
    vid, vertices = columns["first_vid"], columns["num_vertices"]
    edge, edges = columns["first_edge"], columns["num_edges"]
    large = kind == LARGE
    after: I64 = np.zeros(len(table), np.int64)
    after[1:] = np.where(run[1:] > 0, vid[:-1], vid[:-1] + vertices[:-1])
    goes_on = np.ones(len(table), np.bool_)
    goes_on[1:] = (run[1:] == 0) | (large[1:] & large[:-1] & (run[1:] == run[:-1] + 1))
    goes_on[:1] = run[:1] == 0
    rules = {
        "kind is neither 1 nor 2": (kind == SMALL) | large,
        "a small page in a run": large | (run == 0),
        "a large page needs one vertex and an edge": ~large | ((vertices == 1) & (edges > 0)),
        "a page without vertices": vertices > 0,
        f"a page of more than {MAX_PAGE_VERTICES:,} vertices": vertices <= MAX_PAGE_VERTICES,
        "its run does not go on from the row before": goes_on,
        "its vertices do not go on from the row before": vid == after,
        "its edges do not go on from the row before": edge == np.cumsum(edges) - edges,
        "the reserved bytes are not zero": (columns["reserved"] == 0).all(axis=-1),
    }
    found = [
        f"row {int(np.flatnonzero(~holds)[0]):,}: {what}"
        for what, holds in rules.items()
        if not holds.all()
    ]
    covered = int(vid[-1] + vertices[-1]) if len(table) else 0
    for what, expected, got in (
        ("vertices", num_vertices, covered),
        ("edges", stats.num_edges, int(edges.sum())),
        ("small pages", stats.small_pages, int((kind == SMALL).sum())),
        ("large pages", stats.large_pages, int(large.sum())),
    ):
        if expected != got:
            found.append(f"has {got:,} {what}, the catalog {expected:,}")
    return found


def degree_problems(degrees: U32, table: Array | None, stats: DirectionStats) -> list[str]:
    """Whether the degrees are what the statistics say, and add up to the edges of each page (or run
    of large pages) of a page table that has no problems.
    """
    bit_lengths = np.array([value.bit_length() for value in range(256)], np.int64)
    histograms: I64 = np.zeros((_LANES, 34), np.int64)
    starts = np.flatnonzero(table["run"] == 0) if table is not None else np.empty(0, np.int64)
    sums: I64 = np.zeros(len(starts), np.int64)
    ends: I64 = np.empty(0, np.int64)
    if table is not None:
        ends = np.append(table["first_vid"][starts[1:]].astype(np.int64), len(degrees))
    largest = group = 0
    for begin, part in iter_parts(degrees):
        largest = max(largest, int(_count_degrees(part, bit_lengths, histograms)))
        if table is not None:
            group = _add_groups(part, begin, ends, group, sums)
    counts = tuple(histograms.sum(axis=0)[: largest.bit_length() + 1].tolist())
    found = [
        f"gives {what} {got}, the catalog {expected}"
        for what, expected, got in (
            ("max_degree", stats.max_degree, largest),
            ("empty_vertices", stats.empty_vertices, counts[0]),
            ("degree_histogram", stats.degree_histogram, counts),
        )
        if expected != got
    ]
    if table is not None and len(table):
        edges = np.add.reduceat(table["num_edges"].astype(np.int64), starts)
        found += [
            f"gives the vertices of page {starts[i]:,} {sums[i]:,} neighbours, "
            f"its pages have {edges[i]:,}"
            for i in np.flatnonzero(sums != edges)[:10]
        ]
    return found


def order_problems(order: U32) -> list[str]:
    """Whether an array holds every number from 0 up once. Compares sums of hashes with a secret
    salt, so that no file can be made to pass.
    """
    salt = np.uint64(int.from_bytes(os.urandom(8), "little"))
    total: U64 = np.zeros(1, np.uint64)
    for begin, part in iter_parts(order):
        difference, largest = _compare_sets(part, begin, salt)
        if largest >= len(order):
            return [f"has the number {largest:,}, there are {len(order):,} vertices"]
        total += np.uint64(difference)
    return ["does not have every vertex once"] if total[0] else []


def id_problems(ids: Array) -> list[str]:
    """Whether ids are ascending without repeats, and not negative."""
    for begin, part in iter_parts(ids):
        before = read_range(ids, begin - 1, begin) if begin else part[:0]
        if part[0] < 0 or not (part[1:] > part[:-1]).all() or not (before < part[:1]).all():
            return [f"the ids are not ascending, near entry {begin:,}"]
    return []


def string_problems(path: Path, num_vertices: int) -> list[str]:
    """Whether a file of string ids is what it should be, and ascending without repeats."""
    import pyarrow as pa
    import pyarrow.compute as pc

    last: bytes | None = None
    count = 0
    try:
        # Mapped bytes count as memory of the process until the file is closed; batches are freed.
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            if reader.schema != pa.schema([("id", pa.large_string())]):
                return ["is not one column `id` of large strings"]
            for k in range(reader.num_record_batches):
                batch = reader.get_batch(k)
                batch.validate(full=True)
                names = batch.column(0).cast(pa.large_binary())
                ascending = pc.less(names.slice(0, max(0, len(names) - 1)), names.slice(1))
                first = names[0].as_py() if len(names) else None
                in_order = last is None or first is None or last < first
                if names.null_count or not in_order or not pc.all(ascending, min_count=0).as_py():
                    return [f"the ids are not ascending, near entry {count:,}"]
                count += len(names)
                last = names[-1].as_py() if len(names) else last
    except (OSError, pa.ArrowException) as error:
        return [f"cannot be read: {error}"]
    return [] if count == num_vertices else [f"has {count:,} ids, expected {num_vertices:,}"]

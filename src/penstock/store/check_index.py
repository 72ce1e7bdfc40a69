"""What can be wrong with the index files of a graph, apart from their bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.jit import kernel
from penstock.parallel import ordered_map
from penstock.store.catalog import DirectionStats
from penstock.store.page import LARGE, SMALL
from penstock.types import I64, U32, U64, Array

_CHUNK = 1 << 20


@kernel
def _mark(bits, values, limit):  # type: ignore[no-untyped-def]
    """Set a bit for each value; returns the first that is too large or set already, or -1."""
    for i in range(len(values)):
        value = np.int64(values[i])
        if value >= limit:
            return i
        bit = np.uint64(1) << np.uint64(value & 63)
        if bits[value >> 6] & bit:
            return i
        bits[value >> 6] |= bit
    return -1


@kernel
def _count_degrees(degrees, histogram):  # type: ignore[no-untyped-def]
    """Add to the numbers of degrees 0, 1, 2 to 3, 4 to 7, ...; returns sum and largest."""
    total = np.int64(0)
    largest = np.int64(0)
    for i in range(len(degrees)):
        degree = np.int64(degrees[i])
        total += degree
        largest = max(largest, degree)
        bits = 0
        while degree > 0:
            bits += 1
            degree >>= 1
        histogram[bits] += 1
    return total, largest


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


def run_problems(table: Array, degrees: U32) -> list[str]:
    """Whether the vertices that have pages of their own have their degrees in them."""
    first = np.flatnonzero((table["kind"] == LARGE) & (table["run"] == 0))
    if not len(first):
        return []
    edges = table["num_edges"].astype(np.int64)
    edges[table["kind"] != LARGE] = 0
    sums = np.add.reduceat(edges, first)
    vertices = table["first_vid"][first].astype(np.int64)
    wrong = np.flatnonzero(sums != degrees[vertices])
    return [
        f"vertex {vertices[i]:,} has {sums[i]:,} neighbours in its large pages, but degree "
        f"{degrees[vertices[i]]:,}"
        for i in wrong
    ]


def degree_problems(degrees: U32, stats: DirectionStats, threads: int) -> list[str]:
    """Whether the degrees are what the statistics say."""

    def count(at: int) -> tuple[I64, int, int]:
        histogram: I64 = np.zeros(34, np.int64)
        return histogram, *_count_degrees(np.array(degrees[at : at + _CHUNK]), histogram)

    histogram: I64 = np.zeros(34, np.int64)
    total = largest = 0
    for part, part_total, part_largest in ordered_map(
        count, range(0, len(degrees), _CHUNK), threads
    ):
        histogram += part
        total += part_total
        largest = max(largest, part_largest)
    counts = tuple(int(x) for x in histogram[: largest.bit_length() + 1])
    return [
        f"gives {what} {got}, the catalog {expected}"
        for what, expected, got in (
            ("num_edges", stats.num_edges, total),
            ("max_degree", stats.max_degree, largest),
            ("empty_vertices", stats.empty_vertices, counts[0]),
            ("degree_histogram", stats.degree_histogram, counts),
        )
        if expected != got
    ]


def order_problems(order: U32) -> str | None:
    """Whether an array holds every number from 0 up once."""
    bits: U64 = np.zeros(len(order) // 64 + 1, np.uint64)
    for at in range(0, len(order), _CHUNK):
        part = np.array(order[at : at + _CHUNK])
        wrong = _mark(bits, part, len(order))
        if wrong >= 0:
            return f"entry {at + wrong:,} is {part[wrong]:,}, which is too large or there twice"
    return None


def id_problems(ids: Array) -> str | None:
    """Whether ids are ascending without repeats, and not negative."""
    for at in range(0, len(ids), _CHUNK):
        part = np.array(ids[max(0, at - 1) : at + _CHUNK])
        if part[0] < 0 or not (part[1:] > part[:-1]).all():
            return f"the ids are not ascending, near entry {at:,}"
    return None


def string_problems(path: Path, num_vertices: int) -> str | None:
    """Whether a file of string ids is what it should be, and ascending without repeats."""
    import pyarrow as pa
    import pyarrow.compute as pc

    last: bytes | None = None
    count = 0
    try:
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            if reader.schema != pa.schema([("id", pa.large_string())]):
                return "is not one column `id` of large strings"
            for k in range(reader.num_record_batches):
                batch = reader.get_batch(k)
                batch.validate(full=True)
                names = batch.column(0).cast(pa.large_binary())
                ascending = pc.less(names.slice(0, max(0, len(names) - 1)), names.slice(1))
                first = names[0].as_py() if len(names) else None
                in_order = last is None or first is None or last < first
                if names.null_count or not in_order or not pc.all(ascending, min_count=0).as_py():
                    return f"the ids are not ascending, near entry {count:,}"
                count += len(names)
                last = names[-1].as_py() if len(names) else last
    except (OSError, pa.ArrowException) as error:
        return f"cannot be read: {error}"
    return None if count == num_vertices else f"has {count:,} ids, expected {num_vertices:,}"

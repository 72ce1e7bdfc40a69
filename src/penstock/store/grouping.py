"""Which lists come together where there are no pages: a page table, made of the degrees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.jit import bit_length, kernel
from penstock.store.layout import PAGE_TABLE_DTYPE
from penstock.store.page import SMALL
from penstock.store.source import ListStats
from penstock.types import I64, U32, Array

#: Edges of a group, about; a list that has more is a group of its own.
PAGE_EDGES = 1 << 17
#: Vertices of a group, at most.
PAGE_VERTICES = 1 << 16


class Grouping(NamedTuple):
    """What is known of a direction without looking at its edges."""

    table: Array
    stats: ListStats


def group_lists(degrees: U32, begins: I64 | None = None) -> Grouping:
    """Groups of consecutive vertices; lists are whole, whatever their length. ``begins``: where the
    first groups begin, and the vertex after them, from which on groups are cut by their size.
    """
    begins = np.zeros(1, np.int64) if begins is None else begins
    # Two groups next to each other have more edges than one may have, or the first its vertices.
    total = int(degrees.sum(dtype=np.uint64))
    most = len(begins) + 2 * (total // PAGE_EDGES) + len(degrees) // PAGE_VERTICES + 2
    rows: I64 = np.empty((most, 2), np.int64)
    histogram: I64 = np.zeros((4, 33), np.int64)
    count, max_degree = _cut(degrees, begins, PAGE_EDGES, PAGE_VERTICES, rows, histogram)
    firsts, edges = rows[: count + 1].T
    table: Array = np.zeros(count, PAGE_TABLE_DTYPE)
    table["first_vid"] = firsts[:-1]
    table["first_edge"] = edges[:-1]
    table["num_vertices"] = np.diff(firsts)
    table["num_edges"] = np.diff(edges)
    table["kind"] = SMALL
    table.flags.writeable = False
    by_degree = tuple(histogram.sum(axis=0)[: int(max_degree).bit_length() + 1].tolist())
    return Grouping(table, ListStats(count, total, int(max_degree), by_degree))


@kernel
def _cut(degrees, begins, most_edges, most_vertices, rows, histogram):  # type: ignore[no-untyped-def]
    """Where groups begin and how many edges are before them, with a last row for the end: at all
    but the last of ``begins``, and from that on where they are full. Counts vertices by the bits of
    their degrees, in any row of the histogram. Returns how many groups there are, and the largest
    degree.
    """
    known = begins[len(begins) - 1]
    groups, first, before, total, most = 0, 0, np.int64(0), np.int64(0), np.uint32(0)
    for v in range(len(degrees)):
        degree = degrees[v]
        if v < known:
            new = v == begins[groups]
        else:
            full = total + np.int64(degree) > before + most_edges or v - first >= most_vertices
            new = full or v == known
        if new:
            first, before = v, total
            rows[groups, 0], rows[groups, 1] = first, before
            groups += 1
        total += np.int64(degree)
        most = max(most, degree)
        histogram[v & 3, bit_length(degree)] += 1
    rows[groups, 0], rows[groups, 1] = len(degrees), total
    return groups, most

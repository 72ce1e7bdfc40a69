"""Which lists of a graph that changes come together: its page table, made of the degrees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.dynamic.base_pages import list_groups
from penstock.jit import bit_length, kernel
from penstock.store.catalog import DirectionStats
from penstock.store.graph import Graph
from penstock.store.layout import PAGE_TABLE_DTYPE
from penstock.store.page import SMALL
from penstock.types import I64, U32, Array, Direction

#: Edges of a page, about; a list that has more is a page of its own.
PAGE_EDGES = 1 << 17
#: Vertices of a page, at most.
PAGE_VERTICES = 1 << 16


class Survey(NamedTuple):
    """What is known of a direction without looking at its edges."""

    table: Array
    stats: DirectionStats
    #: For each page with vertices of the base, where the base's pages of it begin and end.
    base_pages: tuple[I64, I64]


def survey(degrees: U32, base: Graph | None, direction: Direction) -> Survey:
    """Pages of consecutive vertices; those of the base's vertices begin where the base's do. Lists
    are whole, whatever their length.
    """
    begins, groups = _base_begins(base, direction)
    known = 0 if base is None else base.num_vertices
    # Two pages next to each other have more edges than one may have, or the first its vertices.
    total = int(degrees.sum(dtype=np.uint64))
    pages = len(begins) + 2 * (total // PAGE_EDGES) + len(degrees) // PAGE_VERTICES + 3
    rows: I64 = np.empty((pages, 2), np.int64)
    histogram: I64 = np.zeros((4, 33), np.int64)
    begins = np.append(begins, known)
    pages, most = _cut(degrees, begins, PAGE_EDGES, PAGE_VERTICES, rows, histogram)
    firsts, edges = rows[: pages + 1].T
    table: Array = np.zeros(pages, PAGE_TABLE_DTYPE)
    table["first_vid"] = firsts[:-1]
    table["first_edge"] = edges[:-1]
    table["num_vertices"] = np.diff(firsts)
    table["num_edges"] = np.diff(edges)
    table["kind"] = SMALL
    table.flags.writeable = False
    by_degree = tuple(histogram.sum(axis=0)[: int(most).bit_length() + 1].tolist())
    stats = DirectionStats(pages, total, pages, 0, 0, int(most), by_degree[0], by_degree)
    return Survey(table, stats, groups)


def _base_begins(base: Graph | None, direction: Direction) -> tuple[I64, tuple[I64, I64]]:
    """The first vertex of each group of the base's pages that has whole lists, and where the pages
    of the groups begin and end.
    """
    none: I64 = np.empty(0, np.int64)
    if base is None or base.num_vertices == 0:
        return none, (none, none)
    table = base.page_table(direction)
    begins, ends = list_groups(table)
    return table["first_vid"][begins].astype(np.int64), (begins, ends)


@kernel
def _cut(degrees, begins, most_edges, most_vertices, rows, histogram):  # type: ignore[no-untyped-def]
    """Where pages begin and how many edges are before them, with a last row for the end: at all but
    the last of ``begins``, and from that on where they are full. Counts vertices by the bits of
    their degrees, in any row of the histogram. Returns how many pages there are, and the largest
    degree.
    """
    known = begins[len(begins) - 1]
    pages, first, before, total, most = 0, 0, np.int64(0), np.int64(0), np.uint32(0)
    for v in range(len(degrees)):
        degree = degrees[v]
        if v < known:
            new = v == begins[pages]
        else:
            full = total + np.int64(degree) > before + most_edges or v - first >= most_vertices
            new = full or v == known
        if new:
            first, before = v, total
            rows[pages, 0], rows[pages, 1] = first, before
            pages += 1
        total += np.int64(degree)
        most = max(most, degree)
        histogram[v & 3, bit_length(degree)] += 1
    rows[pages, 0], rows[pages, 1] = len(degrees), total
    return pages, most

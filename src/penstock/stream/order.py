"""Which pages a step visits, and in what order. Pure functions of the page table."""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise

import numpy as np

from penstock.errors import CorruptionError
from penstock.store.page import LARGE
from penstock.types import I64, U32, Array


def check_table(table: Array, num_vertices: int, where: str) -> None:
    """Raise unless the pages follow each other and hold every vertex: kernels rely on it."""
    first, edge = table["first_vid"].astype(np.int64), table["first_edge"].astype(np.int64)
    vertices, edges = table["num_vertices"].astype(np.int64), table["num_edges"].astype(np.int64)
    run = table["run"].astype(np.int64)
    goes_on = run > 0
    # Where the next page must begin: after this one, or where it does if the list goes on there.
    ends = np.append(0, np.where(np.append(goes_on[1:], False), first, first + vertices))
    right = (
        np.array_equal(np.append(first, num_vertices), ends)
        and np.array_equal(edge, np.cumsum(edges) - edges)
        and bool(
            (~goes_on | ((table["kind"] == LARGE) & (run == np.append(-1, run)[:-1] + 1))).all()
        )
        and bool(((table["kind"] != LARGE) | (vertices == 1)).all())
    )
    if not right:
        raise CorruptionError(
            f"{where}: its pages do not follow each other; the file was changed or damaged after "
            "it was written: restore or rebuild the graph"
        )


def pages_of(table: Array, vertices: U32) -> I64:
    """The pages that hold lists of these vertices (ascending), ascending: the nextPIDSet.

    A vertex with a run of large pages has all of them.
    """
    # Of the vertices' own type: else all of them would be copied into a wider one.
    begins = table["first_vid"].astype(vertices.dtype)
    low = np.searchsorted(vertices, begins)
    high = np.searchsorted(vertices, begins + table["num_vertices"].astype(vertices.dtype))
    return np.flatnonzero((low < high) & (table["num_edges"] > 0))


def batches_of(table: Array, size: int, begin: int = 0) -> list[range]:
    """The pages from ``begin`` on, in ranges of ``size`` or the few more that keep runs of large
    pages whole.
    """
    starts = np.append(np.flatnonzero(table["run"] == 0), len(table))
    cuts = [begin]
    while cuts[-1] < len(table):
        cuts.append(int(starts[np.searchsorted(starts, min(cuts[-1] + size, len(table)))]))
    return [range(a, b) for a, b in pairwise(cuts)]


def visiting_order(table: Array, pages: I64, cached: Container[int]) -> list[int]:
    """Pages that are cached first, before others take their place; then small ones, then large."""
    large = table["kind"][pages] == LARGE
    waiting: Array = np.array([page not in cached for page in pages.tolist()], bool)
    return [int(page) for page in pages[np.lexsort((pages, large, waiting))]]


def slices_of(table: Array, pages: list[int], vertices: U32) -> list[U32]:
    """The vertices (ascending) whose lists, or parts of them, are in each page."""
    begins = table["first_vid"][pages].astype(vertices.dtype)
    ends = begins + table["num_vertices"][pages].astype(vertices.dtype)
    low = np.searchsorted(vertices, begins)
    high = np.searchsorted(vertices, ends)
    return [vertices[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]

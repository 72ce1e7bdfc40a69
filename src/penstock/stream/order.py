"""Which pages a step visits, and in what order. Pure functions of the page table."""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise

import numpy as np

from penstock.store.page import LARGE
from penstock.types import I64, U32, Array


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

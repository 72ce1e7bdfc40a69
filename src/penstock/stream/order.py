"""Which pages a step visits, and in what order. Pure functions of the page table."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from penstock.store.page import LARGE
from penstock.types import I64, U32, Array


def pages_of(table: Array, vertices: U32) -> I64:
    """The pages that hold lists of these vertices (ascending), ascending: the nextPIDSet.

    A vertex with a run of large pages has all of them.
    """
    first_vids = table["first_vid"].astype(np.int64)
    # The last page that begins at or before a vertex holds its list, or the end of it.
    last = np.unique(np.searchsorted(first_vids, vertices, side="right") - 1)
    first = last - np.where(table["kind"][last] == LARGE, table["run"][last], 0).astype(np.int64)
    lengths = last - first + 1
    starts = np.repeat(first - np.cumsum(lengths) + lengths, lengths)
    pages = starts + np.arange(int(lengths.sum()))
    return pages[table["num_edges"][pages] > 0]


def visiting_order(table: Array, pages: I64, cached: Container[int]) -> list[int]:
    """Small pages first, then large ones; of each, those that are cached first."""
    large = table["kind"][pages] == LARGE
    waiting: Array = np.array([page not in cached for page in pages.tolist()], bool)
    return [int(page) for page in pages[np.lexsort((pages, waiting, large))]]


def slices_of(table: Array, pages: list[int], vertices: U32) -> list[U32]:
    """The vertices (ascending) whose lists, or parts of them, are in each page."""
    begins = table["first_vid"][pages].astype(np.int64)
    ends = begins + table["num_vertices"][pages]
    low = np.searchsorted(vertices, begins)
    high = np.searchsorted(vertices, ends)
    return [vertices[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]

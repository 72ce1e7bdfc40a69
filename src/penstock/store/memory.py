"""Where a graph is built that is never written: the in-memory counterpart of ``folder``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from penstock.store.catalog import Catalog
from penstock.store.packer import MemorySink
from penstock.store.paged import MemoryPages, PagedGraph
from penstock.types import Array, Direction


class MemoryTarget:
    """Takes pages and index arrays, and gives a graph."""

    num_stripes = 1

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}
        self._sinks: dict[Direction, MemorySink] = {}

    def save(self, name: str, array: Array) -> None:
        """Keep an index array."""
        self._arrays[name] = array

    def copy_index(self, name: str, graph: PagedGraph) -> None:
        """Take over an index array of another graph."""
        self._arrays[name] = graph.load_array(name)

    def array_writer(self, name: str, dtype: DTypeLike, length: int) -> Callable[[Array], None]:
        """Keep an index array that comes a part at a time, in order."""
        array = self._arrays[name] = np.empty(length, dtype)
        at = 0

        def append(part: Array) -> None:
            nonlocal at
            array[at : at + len(part)] = part
            at += len(part)

        return append

    def page_sink(self, direction: Direction) -> MemorySink:
        """Where the pages of a direction go."""
        sink = self._sinks[direction] = MemorySink()
        return sink

    def graph(self, catalog: Catalog) -> PagedGraph:
        """The finished graph."""
        pages: dict[Direction, Any] = {
            direction: MemoryPages(self._sinks[direction].pages, catalog.page_bytes)
            for direction in catalog.directions
        }
        return PagedGraph(catalog, pages, self._arrays.__getitem__, None)

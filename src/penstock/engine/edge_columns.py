"""Numbers of edges that are kept for later runs: beside a graph on disk, or with one in memory.

What is kept are the common neighbours of both ends of every edge, and how many neighbours every
vertex has: what takes long to find, and does not depend on what is asked. See
:mod:`penstock.engine.edge_column_files` for the files.
"""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from penstock.engine.edge_column_files import Unfinished, open_columns
from penstock.errors import OptionError
from penstock.store.graph import Graph
from penstock.store.kept import Slot
from penstock.types import U32, VID


class EdgeColumns(Protocol):
    """Numbers of edges that are kept."""

    #: Entries: edges without loops, each once.
    num_edges: int
    #: Distinct neighbours of each vertex, without itself.
    num_neighbours: U32

    def read(self, begin: int, end: int) -> U32:
        """The common neighbours of edges ``begin`` to ``end``."""


class NewColumns(Protocol):
    """Numbers of edges to be kept; a context manager."""

    def write(self, begin: int, values: U32) -> None:
        """The common neighbours of edges from ``begin`` on: range after range, in order."""

    def finish(self, num_edges: int, num_neighbours: U32) -> EdgeColumns:
        """Keep what was written for so many edges."""

    def __enter__(self) -> NewColumns: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Home:
    """Where the columns of a graph are kept: in a folder, or with the graph as long as it is open.
    ``asked``: the user named the folder, which then is not written over.
    """

    graph: Graph
    folder: Path | None
    asked: bool = False

    def find(self) -> EdgeColumns | None:
        """The columns, if they are there."""
        if self.folder is None:
            return self.graph.kept.get(COLUMNS)
        return open_columns(self.folder, self.graph, asked=self.asked)

    def begin(self) -> NewColumns:
        """Columns to be written there; raises if they cannot be."""
        if self.folder is None:
            return MemoryColumns(self.graph)
        return Unfinished(self.folder, self.graph, asked=self.asked)


def home_of(graph: Graph, index: Any) -> Home | None:
    """Where columns are kept, as the user says: a folder; None: beside the graph, or with it if it
    is in memory; False (or "none", for the command line): nowhere.
    """
    if index is False or index == "none":
        return None
    if index is None:
        return Home(graph, None if graph.path is None else folder_beside(graph.path))
    if not isinstance(index, str | os.PathLike) or not str(index):
        raise OptionError(f"index: expected a path, False to keep none, or None; got {index!r}")
    return Home(graph, Path(index), asked=True)


def folder_beside(graph: Path) -> Path:
    """The folder of a graph's columns.

    >>> str(folder_beside(Path("/data/web.penstock")))
    '/data/web.penstock.columns'
    """
    place = graph.resolve()
    return place.with_name(f"{place.name}.columns")


class MemoryColumns:
    """Columns that stay with the graph."""

    num_edges = 0
    num_neighbours: U32 = np.empty(0, VID)

    def __init__(self, graph: Graph) -> None:
        self._graph = weakref.ref(graph)  # which will hold this
        self._parts: list[U32] = []

    def __enter__(self) -> MemoryColumns:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def write(self, begin: int, values: U32) -> None:
        """The common neighbours of edges from ``begin`` on. The array is not copied."""
        assert begin == sum(map(len, self._parts))
        self._parts.append(values)

    def finish(self, num_edges: int, num_neighbours: U32) -> MemoryColumns:
        """Keep them."""
        parts = self._parts
        values = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, VID), *parts])
        assert len(values) == num_edges
        self._parts = [values]
        self.num_edges, self.num_neighbours = num_edges, num_neighbours
        graph = self._graph()
        assert graph is not None
        return graph.kept.put(COLUMNS, value=self)

    @property
    def nbytes(self) -> int:
        """What it holds."""
        return self.num_neighbours.nbytes + sum(part.nbytes for part in self._parts)

    def read(self, begin: int, end: int) -> U32:
        """The common neighbours of edges ``begin`` to ``end``: not a copy."""
        return self._parts[0][begin:end]


#: Columns that are kept with an open graph.
COLUMNS: Slot[MemoryColumns] = Slot("columns of edges")

"""The in-lists of a directed graph, made of its out-lists, where these do not fit memory.

The out-lists are passed over once to count the targets, and once more for each range of targets
whose in-lists fit the memory that there is; what results is a store of in-lists alone. Out-lists
that are all in memory need no store: :meth:`DegreeAwareLists.load_reversed` turns them round there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.config import memory_budget
from penstock.dynamic.merge_compact import PART_EDGES, CompactOptions, write_store
from penstock.store import transpose
from penstock.store.folder import GraphFolder
from penstock.store.graph import Graph
from penstock.store.layout import Column
from penstock.store.memory import MemoryTarget
from penstock.store.paged import PagedGraph, open_graph
from penstock.types import I64, U32, U64, Adjacency, Array

#: Bytes for the lists of a range of targets, at least.
LEAST_ROOM = 8 << 20


def count_targets(graph: Graph, threads: int = 1) -> U32:
    """How often each vertex is a target, by a pass over the out-lists."""
    counts: U32 = np.zeros(graph.num_vertices, np.uint32)
    for part in graph.iter_adjacency("out", threads):
        offsets = _offsets(part)
        transpose.count(offsets[:-1], offsets[1:], part.neighbours, counts)
    return counts


def _offsets(part: Adjacency) -> U64:
    offsets: U64 = np.zeros(len(part.degrees) + 1, np.uint64)
    np.cumsum(part.degrees, out=offsets[1:])
    return offsets


@dataclass(frozen=True, slots=True)
class ReversedLists:
    """The in-lists of a graph, as parts to be written to a store: sources ascend in each list."""

    graph: Graph
    #: How long each in-list is.
    degrees: U32
    #: Bytes for the lists that are made at a time; a longer list is made whole.
    room: int = LEAST_ROOM

    @property
    def num_vertices(self) -> int:
        """How many lists there are."""
        return len(self.degrees)

    @property
    def num_edges(self) -> int:
        """Entries of all lists."""
        return int(self.degrees.sum(dtype=np.int64))

    @property
    def multigraph(self) -> bool:
        """Whether an edge may be there several times."""
        return self.graph.multigraph

    def parts(self, threads: int = 1) -> Iterator[Adjacency]:
        """The lists, in order of their vertices."""
        row = 4 + sum(column.dtype.itemsize for column in self.graph.columns)
        ends: I64 = np.cumsum(self.degrees, dtype=np.int64)
        begin = 0
        while begin < self.num_vertices:
            before = int(ends[begin - 1]) if begin else 0
            most = before + max(self.room // row, 1)
            end = max(int(np.searchsorted(ends, most, "right")), begin + 1)
            yield from self._range(begin, end, threads)
            begin = end

    def _range(self, begin: int, end: int, threads: int) -> Iterator[Adjacency]:
        """The lists of a range of targets."""
        degrees = self.degrees[begin:end]
        offsets: U64 = np.zeros(end - begin + 1, np.uint64)
        np.cumsum(degrees, out=offsets[1:])
        total = int(offsets[-1])
        neighbours: U32 = np.empty(total, np.uint32)
        columns = {
            column.name: np.empty(total, column.dtype) for column in self.graph.columns if total
        }
        cursors = offsets[:-1].copy()
        for part in self.graph.iter_adjacency("out", threads) if total else ():
            places = _offsets(part)
            lists = transpose.Sources(places[:-1], places[1:], part.neighbours, part.first_vid)
            pairs = [
                transpose.Values.of(part.columns[name], made) for name, made in columns.items()
            ]
            transpose.scatter(lists, (begin, end), cursors, neighbours, pairs)
        for first, last in transpose.cut_evenly(degrees, max(total // PART_EDGES, 1)):
            some = slice(int(offsets[first]), int(offsets[last]))
            values = {column.name: _cut(columns, column.name, column.dtype, some)
                      for column in self.graph.columns}  # fmt: skip
            yield Adjacency(begin + first, degrees[first:last], neighbours[some], values)


def _cut(columns: dict[str, Array], name: str, dtype: np.dtype[np.generic], some: slice) -> Array:
    return columns[name][some] if name in columns else np.empty(0, dtype)


def reversed_lists(graph: Graph, memory: int | None, threads: int = 1) -> ReversedLists:
    """The in-lists of a graph, made in about this much memory."""
    degrees = count_targets(graph, threads)
    left = memory_budget(memory) - 12 * len(degrees)
    return ReversedLists(graph, degrees, max(left // 2, LEAST_ROOM))


def made_bytes(num_vertices: int) -> int:
    """What making a store of in-lists takes in memory, at least."""
    return 24 * num_vertices + LEAST_ROOM


def kept_bytes(num_vertices: int, num_edges: int, columns: Sequence[Column]) -> int:
    """What making a store of in-lists takes that is kept in memory, about."""
    row = 4 + sum(column.dtype.itemsize for column in columns)
    return made_bytes(num_vertices) + row * num_edges


def reverse_in_memory(graph: Graph, memory: int | None, threads: int = 1) -> PagedGraph:
    """A store of the in-lists, in memory."""
    target = MemoryTarget()
    lists = reversed_lists(graph, memory, threads)
    return target.graph(write_store(target, {"in": lists}, None, _options(graph, threads)))


def reverse_in_folder(graph: Graph, path: Path, memory: int | None, threads: int = 1) -> PagedGraph:
    """A store of the in-lists, in a directory that appears when it is complete."""
    lists = reversed_lists(graph, memory, threads)
    with GraphFolder(path, overwrite=True) as folder:
        folder.commit(write_store(folder, {"in": lists}, None, _options(graph, threads)))
    return open_graph(path)


def _options(graph: Graph, threads: int) -> CompactOptions:
    page_bytes = None if graph.storage is None else graph.storage.catalog.page_bytes
    return CompactOptions(
        graph.directed, graph.columns, graph.weight, page_bytes=page_bytes, threads=threads
    )

"""Lists of the few vertices that changed since a base: memory goes with these, not with all.

The vertices that changed are numbered, in the order in which they first did; the lists are
degree-aware ones by these numbers. What all vertices take is 4 bytes, which lead to the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import DTypeLike

from penstock.dynamic.changes import Gathered
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.region import Region
from penstock.dynamic.robin_hood import ProbeDistances
from penstock.dynamic.tables import FrozenTables, pick_bounds
from penstock.jit import no_refcount, prefetch
from penstock.types import I64, U8, U32, U64, Array

#: Rows that a kernel is ahead of itself by, in fetching what it will look at.
AHEAD = 16


class ChangedVertices:
    """Numbers of the vertices of a side that changed, from 1 on. Number 0 is that of all others."""

    def __init__(self) -> None:
        self._numbers = Region(np.uint32)
        self._vertices = Region(np.uint32)
        #: Vertices there are, and numbers, the 0 among them.
        self.num_vertices = 0
        self.count = 1

    def grow(self, num_vertices: int) -> None:
        """Have room for this number of vertices."""
        if num_vertices > self.num_vertices:
            self._numbers.reserve(num_vertices, self.num_vertices)
            self.num_vertices = num_vertices

    @property
    def numbers(self) -> U32:
        """The number of each vertex."""
        return self._numbers.array[: self.num_vertices]

    @property
    def vertices(self) -> U32:
        """The vertices that have numbers, in their order."""
        return self._vertices.array[1 : self.count]

    def numbers_of(self, vertices: U32) -> U32:
        """The numbers of some vertices."""
        found: U32 = np.empty(len(vertices), np.uint32)
        _look_up(vertices, self.numbers, found)
        return found

    def assign(self, vertices: U32) -> U32:
        """The numbers of some vertices; those that have none get the next ones."""
        self._vertices.reserve(self.count + len(vertices), self.count)
        found: U32 = np.empty(len(vertices), np.uint32)
        self.count = int(_assign(vertices, self.count, self.numbers, self._vertices.array, found))
        return found

    @property
    def fixed_bytes(self) -> int:
        """What all vertices take in memory, once there is a change."""
        return 0 if self.count == 1 else 4 * self.num_vertices

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.fixed_bytes + 4 * (self.count - 1)

    def missing_bytes(self, new_vertices: int, rows: int) -> int:
        """Address space that new vertices and a number of rows could need besides."""
        numbers = self._numbers.missing_bytes(self.num_vertices + new_vertices)
        return numbers + self._vertices.missing_bytes(self.count + rows)


class SparseLists:
    """What :class:`~penstock.dynamic.lists.DegreeAwareLists` are, by the vertices of a side, of
    which only those that changed take memory. The lists that are given are by number; several may
    share the numbers.
    """

    def __init__(self, lists: DegreeAwareLists, changed: ChangedVertices | None = None) -> None:
        self.changed = changed or ChangedVertices()
        self.lists = lists
        self.multigraph = lists.multigraph
        lists.grow(self.changed.count)

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""
        return self.changed.num_vertices

    @property
    def num_edges(self) -> int:
        """Entries of all lists."""
        return self.lists.num_edges

    @property
    def neighbours(self) -> U32:
        """The pool that the lists are in."""
        return self.lists.neighbours

    @property
    def columns(self) -> tuple[Array, ...]:
        """The properties of each entry of ``neighbours``."""
        return self.lists.columns

    @property
    def nbytes(self) -> int:
        """Bytes in memory, without the numbers."""
        return self.lists.nbytes

    def grow(self, num_vertices: int) -> None:
        """Have room for this number of vertices."""
        self.changed.grow(num_vertices)

    def close(self, *, wait: bool = True) -> None:
        """End the threads."""
        self.lists.close(wait=wait)

    def missing_bytes(self, new_vertices: int, rows: int) -> int:
        """Address space that new vertices and a number of rows could need besides."""
        missing = self.lists.missing_bytes(rows, rows)
        return missing + self.changed.missing_bytes(new_vertices, rows)

    def missing_index_bytes(self, rows: int) -> int:
        """Address space that looking up a number of rows could need besides."""
        return self.lists.missing_index_bytes(rows)

    def probe_distances(self) -> ProbeDistances:
        """How far the entries of all indexes are from home."""
        return self.lists.probe_distances()

    def apply(
        self, src: U32, dst: U32, adds: U8 | None = None, columns: Sequence[Array] = ()
    ) -> U8:
        """Add and delete edges, as degree-aware lists do it. A vertex of which there is nothing to
        delete gets no number.
        """
        return self._apply(self.lists.apply, np.uint8, src, dst, adds, columns)

    def apply_counted(
        self, src: U32, dst: U32, adds: U8 | None = None, columns: Sequence[Array] = ()
    ) -> U32:
        """The same, but says how many edges each row made or deleted."""
        return self._apply(self.lists.apply_counted, np.uint32, src, dst, adds, columns)

    def _apply(
        self,
        apply: Callable[..., Array],
        dtype: DTypeLike,
        src: U32,
        dst: U32,
        adds: U8 | None,
        columns: Sequence[Array],
    ) -> Array:
        if adds is None:
            numbers = self.changed.assign(src)
        else:
            self.changed.assign(src[adds != 0])
            numbers = self.changed.numbers_of(src)
        self.lists.grow(self.changed.count)
        rows = np.flatnonzero(numbers)
        if len(rows) == len(src):
            return apply(numbers, dst, adds, columns)
        assert adds is not None
        out: Array = np.zeros(len(src), dtype)
        some = [values[rows] for values in columns]
        out[rows] = apply(numbers[rows], dst[rows], adds[rows], some)
        return out

    def count(self, src: U32, dst: U32) -> U32:
        """How many edges there are from each source to its target."""
        numbers = self._numbers_of(src)
        rows = np.flatnonzero(numbers)
        found: U32 = np.zeros(len(src), np.uint32)
        found[rows] = self.lists.count(numbers[rows], dst[rows])
        return found

    def find(self, src: U32, dst: U32) -> I64:
        """The place of each edge in ``neighbours``, -1 if it is not there."""
        numbers = self._numbers_of(src)
        rows = np.flatnonzero(numbers)
        if len(rows) == len(src):
            return self.lists.find(numbers, dst)
        places: I64 = np.full(len(src), -1, np.int64)
        if len(rows):
            places[rows] = self.lists.find(numbers[rows], dst[rows])
        return places

    def gather(self, vertices: U32) -> Gathered:
        """Copies of the lists of some vertices, in the order given."""
        return self.lists.gather(self._numbers_of(vertices))

    def _numbers_of(self, vertices: U32) -> U32:
        """The numbers of some vertices, for each of which there is a list."""
        self.lists.grow(self.changed.count)
        return self.changed.numbers_of(vertices)

    def bounds(self, begin: int, end: int) -> tuple[U64, U64]:
        """Where the lists of consecutive vertices begin and end in ``neighbours``."""
        return pick_bounds(self.changed.numbers[begin:end], self.lists.starts, self.lists.ends)

    def frozen(self) -> FrozenTables:
        """The arrays that the lists are in, not copies: for lists that are changed no more."""
        return self.lists.frozen()._replace(numbers=self.changed.numbers)

    def lengths_of(self, vertices: U32) -> U32:
        """How long the lists of some vertices are."""
        numbers = self._numbers_of(vertices)
        lengths: U32 = (self.lists.ends[numbers] - self.lists.starts[numbers]).astype(np.uint32)
        return lengths


@no_refcount
def _look_up(vertices, numbers, out):  # type: ignore[no-untyped-def]
    """The number of each vertex."""
    rows = np.uint64(len(vertices))
    for i in range(rows):
        prefetch(numbers, vertices[min(i + np.uint64(AHEAD), rows - np.uint64(1))])
        out[i] = numbers[np.uint64(vertices[i])]


@no_refcount
def _assign(vertices, count, numbers, listed, out):  # type: ignore[no-untyped-def]
    """The number of each vertex, the next one from ``count`` on if it has none; returns how many
    there are then.
    """
    rows = np.uint64(len(vertices))
    for i in range(rows):
        prefetch(numbers, vertices[min(i + np.uint64(AHEAD), rows - np.uint64(1))])
        v = np.uint64(vertices[i])
        if numbers[v] == 0:
            numbers[v] = count
            listed[count] = v
            count += 1
        out[i] = numbers[v]
    return count

"""What a side of a graph that changes stands on: lists that do not change.

That is a store, or a side that was frozen. A compaction begins by freezing: the side becomes the
base of a new one without changes, and is written as the next store while batches go on above it.
Nothing is copied, and the lists below a side are the same before and after the store takes the
place of the frozen side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from penstock.dynamic.changes import Gathered
from penstock.dynamic.tables import Layer
from penstock.parallel import Workers
from penstock.types import I64, U32, Array

if TYPE_CHECKING:
    from penstock.dynamic.base import BaseLists
    from penstock.dynamic.merge import MergedSide

_Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


class LayeredLists(Protocol):
    """A store, if there is one, and what changed since."""

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""

    @property
    def num_edges(self) -> int:
        """Entries of all lists."""

    @property
    def multigraph(self) -> bool:
        """Whether there may be parallel edges."""

    @property
    def bottom(self) -> BaseLists | None:
        """The store that is below everything, if there is one."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """What changed since that store, from the lowest layer to the highest."""

    def degrees(self) -> U32:
        """How long each list is."""


class LowerLists(LayeredLists, Protocol):
    """Lists that do not change, below those that do. Vertices from ``num_vertices`` on may be asked
    for: they have no lists here.
    """

    @property
    def workers(self) -> Workers:
        """Threads to work on them."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""

    @property
    def changed_bytes(self) -> int:
        """Those of them that merging gives back."""

    def missing_bytes(self, new_vertices: int, rows: int) -> int:
        """Address space that looking up a number of rows could need besides."""

    def degrees_of(self, vertices: U32) -> U32:
        """How long the lists of some vertices are."""

    def has(self, src: U32, dst: U32) -> _Bools:
        """Whether each edge is there, in an array that is the caller's."""

    def count(self, src: U32, dst: U32) -> I64:
        """How many edges there are from each source to its target."""

    def look_up(self, src: U32, dst: U32) -> tuple[Any, tuple[Array, ...]]:
        """Whether each edge is there, and its columns (of parallel edges, those of one)."""

    def gather(self, vertices: U32) -> Gathered:
        """Copies of the lists of some vertices, in the order given."""

    def close(self, *, wait: bool = True) -> None:
        """End the threads."""


class FrozenSide:
    """A side that is changed no more, as the base of one that is.

    Any thread may read its layers, which are plain arrays. Looking up edges may make indexes: one
    call at a time, the caller sees to that.
    """

    def __init__(self, side: MergedSide, threads: int) -> None:
        self.side = side
        self.num_vertices = side.num_vertices
        self.num_edges = side.num_edges
        self.multigraph = side.multigraph
        self.workers = Workers(threads)
        self.bottom = side.bottom
        lower = () if side.base is None else side.base.layers
        removed = None if side.removed is None else side.removed.frozen()
        self.layers = (*lower, Layer(side.added.frozen(), removed))

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.side.nbytes

    @property
    def changed_bytes(self) -> int:
        """Those of them that merging gives back."""
        return self.side.changed_bytes

    def missing_bytes(self, new_vertices: int, rows: int) -> int:
        """Address space that looking up a number of rows could need besides."""
        changes = (self.side.added, self.side.removed)
        return sum(lists.missing_index_bytes(rows) for lists in changes if lists is not None)

    def close(self, *, wait: bool = True) -> None:
        """End the threads."""
        self.workers.close(wait=wait)
        self.side.close(wait=wait)

    def degrees(self) -> U32:
        """How long each list is."""
        return self.side.degrees()

    def degrees_of(self, vertices: U32) -> U32:
        """How long the lists of some vertices are."""
        degrees: U32 = np.zeros(len(vertices), np.uint32)
        known = vertices < self.num_vertices
        degrees[known] = self.side.degrees_of(vertices[known])
        return degrees

    def has(self, src: U32, dst: U32) -> _Bools:
        """Whether each edge is there."""
        found = np.zeros(len(src), np.bool_)
        known = src < self.num_vertices
        found[known] = self.side.has(src[known], dst[known])
        return found

    def count(self, src: U32, dst: U32) -> I64:
        """How many edges there are from each source to its target."""
        found: I64 = np.zeros(len(src), np.int64)
        known = src < self.num_vertices
        found[known] = self.side.count(src[known], dst[known])
        return found

    def look_up(self, src: U32, dst: U32) -> tuple[Any, tuple[Array, ...]]:
        """Whether each edge is there, and its columns; zeros where it is not."""
        known = src < self.num_vertices
        some, columns = self.side.values(src[known], dst[known])
        found = np.zeros(len(src), np.bool_)
        found[known] = some
        whole = tuple(np.zeros(len(src), values.dtype) for values in columns)
        for out, values in zip(whole, columns, strict=True):
            out[known] = values
        return found, whole

    def gather(self, vertices: U32) -> Gathered:
        """Copies of the lists of some vertices, in the order given."""
        known = vertices < self.num_vertices
        found = self.side.gather(vertices[known])
        sizes: I64 = np.zeros(len(vertices), np.int64)
        sizes[known] = np.diff(found.offsets)
        offsets: I64 = np.zeros(len(vertices) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        return found._replace(offsets=offsets)

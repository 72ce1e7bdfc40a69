"""What the parts of a graph that changes tell each other."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from penstock.types import I64, U32, Array


class Changes(NamedTuple):
    """What one batch really changed, as vertex numbers: edges that were there already, or were not
    there to be deleted, are left out. An undirected edge stands here once, in either direction.
    """

    added_src: U32
    added_dst: U32
    removed_src: U32
    removed_dst: U32
    #: Vertices after the batch; those from ``old_vertices`` on are new.
    num_vertices: int
    old_vertices: int


class PlainLists(NamedTuple):
    """Lists one after another, without columns, as kernels take them."""

    offsets: Array
    neighbours: U32


class StandingLists(NamedTuple):
    """Lists that stand anywhere, without columns, as kernels take them."""

    starts: Array
    ends: Array
    neighbours: U32


class Gathered(NamedTuple):
    """Lists of some vertices, one after another: that of the vertex at place i is
    ``neighbours[offsets[i] : offsets[i + 1]]``, in no order; ``columns`` are aligned with it.
    """

    offsets: I64
    neighbours: U32
    columns: tuple[Array, ...] = ()

    @property
    def plain(self) -> PlainLists:
        """Without the columns."""
        return PlainLists(self.offsets, self.neighbours)


class LiveSide(Protocol):
    """One direction of a graph that changes, as it is now. An undirected graph has one side, in
    which each edge stands in the lists of both ends (a loop once).
    """

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""

    def degrees(self) -> U32:
        """How long each list is."""

    def gather(self, vertices: U32) -> Gathered:
        """Copies of the lists of some vertices, in the order given."""

    def has(self, src: U32, dst: U32) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each edge ``src -> dst`` is there."""

"""What an algorithm is that keeps its answer while a graph changes, and what it sees of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike

from penstock.arrays import fresh
from penstock.dynamic.changes import Changes, LiveSide
from penstock.errors import OptionError
from penstock.types import I64, U32, Array

if TYPE_CHECKING:
    from penstock.dynamic.batches import EdgeBatch


@dataclass(frozen=True, slots=True)
class Sides:
    """The live graph as a maintained algorithm sees it."""

    directed: bool
    out: LiveSide
    #: Gives the edges turned round, which are made if they are not there yet: ``out`` itself if the
    #: graph is undirected, None if a directed graph may keep no reverse edges.
    make_incoming: Callable[[], LiveSide | None]
    #: The user's ids by vertex number, as they are now. Asked for when vertices have come, so it
    #: should not cost much.
    ids_by_vid: Callable[[], Array]
    #: Names of the edge properties, in the order that gathered lists have them.
    column_names: tuple[str, ...] = ()

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""
        return self.out.num_vertices

    def incoming(self, name: str) -> LiveSide:
        """The edges turned round, for an algorithm that cannot do without."""
        found = self.make_incoming()
        if found is None:
            raise OptionError(
                f"{name}: needs the edges into a vertex, and this directed graph keeps only those "
                "out of it (reverse=False): open or make it without that"
            )
        return found

    def both(self, name: str) -> tuple[LiveSide, ...]:
        """The sides whose lists together have all neighbours of a vertex, directions ignored."""
        return (self.out, self.incoming(name)) if self.directed else (self.out,)


class Maintained(Protocol):
    """Keeps its answer for a graph that changes. ``make(sides, **parameters)`` makes one; then
    ``start`` once, and ``update`` after each batch with what it changed.

    The sides show the graph after the batch. A row of ``Changes`` is one edge that came or went
    (parallel edges have a row each); an edge that did both in one batch may stand in both parts.
    """

    @property
    def name(self) -> str:
        """What it is called in ``maintain``."""

    @property
    def facts(self) -> dict[str, Any]:
        """What the last call did: ``seconds``, ``touched`` (vertices looked at or changed), and
        more.
        """

    def start(self) -> None:
        """Compute from nothing, on the graph as it is."""

    def update(self, changes: Changes) -> None:
        """Bring the answer up to date."""

    @property
    def values(self) -> Array:
        """The answer by vertex number: a view that cannot be written to."""

    @property
    def columns(self) -> dict[str, Array]:
        """What else there is by vertex number (parents, ...), as views like ``values``."""


@runtime_checkable
class ChecksBatches(Protocol):
    """A maintained algorithm that cannot follow every batch."""

    def check(self, batch: EdgeBatch) -> None:
        """Raise if the answer could not follow a batch. Called before the batch is logged; changes
        nothing.
        """


class ByVertex:
    """An array by vertex number that grows with the graph. Its room doubles, so that growing by
    little costs little; ``now`` is the part in use.
    """

    def __init__(self, dtype: DTypeLike, fill: Any = 0) -> None:
        self._fill = fill
        self._room: Array = np.empty(0, dtype)
        self.now: Array = self._room

    def grow(self, length: int) -> Array:
        """Make it so long (it never shrinks); new places have the value it is filled with."""
        old = len(self.now)
        if length > len(self._room):
            room = fresh(max(length, 2 * len(self._room)), self._room.dtype)
            room[:old] = self.now
            self._room = room
        if length > old:
            self._room[old:length] = self._fill
            self.now = self._room[:length]
        return self.now

    def reset(self, length: int) -> Array:
        """Make it so long, with the value it is filled with everywhere."""
        self.grow(length)[:] = self._fill
        return self.now


def read_only(array: Array) -> Array:
    """A view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def pieces(lengths: Array, limit: int) -> Iterator[slice]:
    """Cut lists of these lengths into runs of at most ``limit`` entries (a longer list is a run of
    its own), so that copies of them take bounded memory.
    """
    ends = np.cumsum(lengths, dtype=np.int64)
    begin = 0
    while begin < len(ends):
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + limit, side="right")), begin + 1)
        yield slice(begin, end)
        begin = end


def gather_both(lists: tuple[LiveSide, ...], vertices: U32) -> tuple[I64, U32, I64, U32]:
    """Offsets and neighbours from the one or two sides of :meth:`Sides.both`; those of a second
    side that there is not are empty.
    """
    first = lists[0].gather(vertices)
    if len(lists) == 1:
        nothing: U32 = np.empty(0, np.uint32)
        return first.offsets, first.neighbours, np.zeros(len(vertices) + 1, np.int64), nothing
    second = lists[1].gather(vertices)
    return first.offsets, first.neighbours, second.offsets, second.neighbours

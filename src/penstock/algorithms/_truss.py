"""Trusses: edges peeled in memory, level by level, or dropped in rounds until the rest fits.

*Peeling* takes away, for k = 3, 4, ..., edges that are in fewer than k - 2 triangles of what is
left, until all that are left are in as many; an edge that goes then has trussness k - 1. To find
the triangles of an edge, the neighbours of the end that has fewer are looked up in a row of bits of
the other end, and the few that may be neighbours of both are searched in its list; the search ends
when as many triangles are found as the edge is still in. One thread does it, in one compiled loop,
until edges wait that are worth several threads; those are then peeled together: a triangle with two
of them is taken off the third edge by the one with the smaller number, so it goes once, whoever
comes first. Levels do not depend on the order. When half of the edges are gone, lists are made anew
of the others.

*Rounds* are for edges that do not fit: the triangles of each are counted anew, those that are in
too few are dropped, and so on; as soon as the rest fits it is peeled.

Cohen: "Trusses: cohesive subgraphs for social network analysis", 2008. Wang, Cheng: "Truss
decomposition in massive networks", VLDB 2012. Kabir, Madduri: "Parallel k-truss decomposition on
multicore systems", HPEC 2017 (several threads).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from penstock.algorithms import _truss_kernels as kernels
from penstock.engine.engine import Engine
from penstock.engine.sharing import map_shares, shared_from
from penstock.engine.windows import Window
from penstock.types import I64, U32, U64, Array

#: Bytes for each edge of a window with counts: neighbour and count ...
WINDOW_BYTES = 8
#: ... and what peeling needs besides: the other end, the later neighbour and its edge, the queue,
#: and bits for both ends, of which there may be up to twice as many as ``kernels.BITS``.
PEELED_BYTES = WINDOW_BYTES + 16 + kernels.BITS // 2
#: The same for each vertex: where its lists of earlier and of later neighbours begin, and its bits;
#: and how long its lists are.
PEELED_VERTEX_BYTES = 32
#: So many edges that wait to be peeled are worth several threads.
MANY = 1 << 9
#: Lists of no more edges are not made anew.
FEW = 1 << 12
#: Edges are numbered in 4 bytes.
MOST_EDGES = 1 << 32


class EdgesLeft(Protocol):
    """Edges that are not dropped yet, wherever they are, and what became of the others."""

    @property
    def num_edges(self) -> int:
        """How many are left."""

    def fits(self) -> bool:
        """Whether there is room to peel them, ``PEELED_BYTES`` for each."""

    def count(self) -> int:
        """Count the triangles of each; the smallest count."""

    def drop(self, least: int, trussness: int) -> None:
        """Take away those that were counted in fewer than ``least`` triangles; they have this
        trussness.
        """

    def window(self) -> Window:
        """All of them as one window, with their triangles as values; asked for if they fit."""

    def settle(self, window: Window, trussness: U32) -> None:
        """The edges of that window have these numbers; none is left."""

    def keep(self, trussness: int) -> None:
        """All that are left have this trussness, or a larger one; none is left."""


def rounds(engine: Engine, left: EdgesLeft, k: int | None = None, lowest: int = 2) -> int:
    """Find the trussness of all edges; or which are in the k-truss, whose number is then k, and
    that of the others is less. How many rounds there were.

    Without k, trussness below ``lowest`` is not told apart: such edges get any number below it.
    """
    done, least = 0, lowest - 2
    while left.num_edges:
        if left.fits() and (done or lowest == 2):
            window = left.window()
            left.settle(window, peel(engine, window, k, known=least + 1 if done else 2))
            break
        with engine.step(mode="round", left=left.num_edges):
            smallest = left.count()
            if k is not None and smallest >= k - 2:
                left.keep(max(k, 2))
                break
            # No edge that is left had fewer before others went.
            least = max(least, smallest + 1) if k is None else k - 2
            left.drop(least, least + 1)
        done += 1
    return done


def peel(engine: Engine, window: Window, k: int | None = None, known: int = 2) -> U32:
    """The trussness of each entry of a window, which has all edges and, as values, their triangles.
    With k it is k for those of the k-truss and less for the others. All are ``known`` to have so
    much, before some others went. The values are overwritten.
    """
    assert window.first == 0
    assert window.num_entries < MOST_EDGES
    peeling = _Peeling(engine, window)
    if k is None:
        peeling.all_levels(known - 2)
    elif k > 2:
        most = int(window.values.max(initial=0))  # no edge has more triangles
        with engine.step(mode="peel", trussness=k - 1, left=window.num_entries):
            peeling.level(min(k - 3, most))
    return peeling.trussness(0 if k is None else max(k - 2, 0))


@dataclass(frozen=True, slots=True)
class _Lists:
    """Edges that are left, and some that are not; see ``_truss_kernels``."""

    offsets: Array
    neighbours: U32
    counts: U32
    owners: U32
    later_offsets: U64
    later: U32
    later_edges: U32
    rows: U64
    bits: U64

    @classmethod
    def of(cls, engine: Engine, offsets: Array, neighbours: U32, counts: U32) -> _Lists:
        """With everything that can be told from the earlier neighbours."""
        n, m = len(offsets) - 1, len(neighbours)
        owners, later, later_edges = (np.empty(m, np.uint32) for _ in range(3))
        engine.map_ranges(kernels.set_owners, offsets, owners, length=n)
        places: U64 = np.zeros(n + 2, np.uint64)
        engine.map_ranges(kernels.count_later, neighbours, places, length=m)
        np.cumsum(places, out=places)
        # A call goes over the lists of all vertices, so there are no more than work at once.
        args = (offsets, neighbours, places, later, later_edges)
        map_shares(engine, kernels.fill_later, places[1:], *args, pieces=1)
        later_offsets = places[:-1]
        rows: U64 = np.zeros(n + 1, np.uint64)
        engine.map_ranges(kernels.measure_rows, offsets, later_offsets, rows, length=n)
        np.cumsum(rows, out=rows)
        bits: U64 = np.zeros(int(rows[-1]), np.uint64)
        engine.map_ranges(
            kernels.fill_rows, offsets, neighbours, later_offsets, later, rows, bits, length=n
        )
        return cls(
            offsets, neighbours, counts, owners, later_offsets, later, later_edges, rows, bits
        )

    def arrays(self) -> tuple[Any, ...]:
        """What kernels see."""
        return (
            self.offsets, self.neighbours, self.owners, self.later_offsets, self.later,
            self.later_edges, self.rows, self.bits, self.counts,
        )  # fmt: skip


class _Peeling:
    """Edges on their way out."""

    def __init__(self, engine: Engine, window: Window) -> None:
        self.engine = engine
        self.left = window.num_entries
        #: What became of each entry of the window; and where in it the edges of the lists are, if
        #: these are not the first.
        self._first_counts: U32 = window.values
        self._origins: U32 = np.empty(0, np.uint32)
        self._lists = _Lists.of(engine, window.offsets, window.neighbours, window.values)
        self._queue: U32 = np.empty(self.left, np.uint32)
        self._many = np.uint64(shared_from(engine, MANY))

    def all_levels(self, level: int) -> None:
        """Peel until nothing is left, from a level on."""
        while self.left:
            counts = self._lists.counts
            least = min(self.engine.map_ranges(kernels.smallest, counts, length=len(counts)))
            level = max(level, int(least))
            with self.engine.step(mode="peel", trussness=level + 2, left=self.left):
                self.level(level)
                if self.left < len(self._queue) // 2 and len(self._queue) > FEW:
                    self._tidy()

    def level(self, least: int) -> None:
        """Take away edges that are in no more triangles than this, until all others are in more."""
        engine, lists, queue, level = self.engine, self._lists, self._queue, np.uint32(least)
        ends: I64 = np.zeros(1, np.int64)
        engine.map_ranges(
            kernels.find_low, lists.counts, level, queue, ends, length=len(lists.counts)
        )
        head, tail = 0, int(ends[0])
        while head < tail:
            arrays = (*lists.arrays(), queue)
            head, tail = engine.call(kernels.peel_alone, *arrays, head, tail, level, self._many)
            if head < tail:
                ends[0] = tail
                waiting = queue[head:tail]
                given = (waiting, lists.counts, level)
                engine.map_ranges(kernels.mark, *given, length=len(waiting))
                engine.run_per_thread(
                    kernels.peel_together, *lists.arrays(), queue, head, tail, level, ends
                )
                engine.map_ranges(kernels.leave, *given, length=len(waiting))
                head, tail = tail, int(ends[0])
        self.left -= tail

    def _tidy(self) -> None:
        """Make lists of the edges that are left."""
        engine, old = self.engine, self._lists
        offsets, neighbours, counts = old.offsets, old.neighbours, old.counts
        n = len(offsets) - 1
        self._give_levels()
        del old, self._lists, self._queue  # all but the three that are copied
        ends: Array = np.zeros(n + 1, offsets.dtype)
        engine.map_ranges(kernels.count_left, offsets, counts, ends, length=n)
        np.cumsum(ends, out=ends)
        neighbours2, counts2, origins2 = (np.empty(self.left, np.uint32) for _ in range(3))
        engine.map_ranges(
            kernels.move_left, offsets, neighbours, counts, self._origins,
            len(self._origins) == 0, ends, neighbours2, counts2, origins2, length=n,
        )  # fmt: skip
        del offsets, neighbours, counts
        self._origins = origins2
        self._lists = _Lists.of(engine, ends, neighbours2, counts2)
        self._queue = np.empty(self.left, np.uint32)

    def _give_levels(self) -> None:
        if len(self._origins):
            self.engine.map_ranges(
                kernels.give_levels, self._lists.counts, self._origins, self._first_counts,
                length=len(self._origins),
            )  # fmt: skip

    def trussness(self, level: int) -> U32:
        """That of each entry of the window; edges that are left have that of a level."""
        self._give_levels()
        counts = self._first_counts
        self.engine.map_ranges(kernels.finish, counts, level, length=len(counts))
        return counts

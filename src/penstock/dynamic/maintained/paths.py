"""A tree of shortest paths that is kept up to date: what breadth-first levels and distances by
weight share.

A batch is dealt with in two parts. First the vertices whose edge from the parent has gone look for
another parent that is as near: those that find none are *lost*, and their children look in turn
(Even and Shiloach's idea, with distances for levels). A parent that was found may be lost later:
its children then look again. The lost are those whose distance grows, and more where weights are 0.
Then lost vertices and the ends of new edges take what their in-neighbours offer, and what became
nearer is relaxed, nearest first, until nothing gets any nearer (Ramalingam and Reps). No work is
done for vertices that neither changed nor have a neighbour that did.

The parent of a vertex is the smallest vertex number at the other end of a tight edge from a vertex
that is nearer. If there is none nearer, because of weights of 0, it is one that is as near.

State: 17 bytes a vertex (21 with weights), the half of it touched only by large changes. A batch is
some rounds of one or two calls to gather lists and as many kernels.

Even, Shiloach: "An on-line edge-deletion problem", J. ACM 1981. Ramalingam, Reps: "An incremental
algorithm for a generalization of the shortest-path problem", J. Algorithms 1996.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from penstock.dynamic.batches import EdgeBatch
from penstock.dynamic.changes import Changes, LiveSide
from penstock.dynamic.maintained import path_kernels as kernels
from penstock.dynamic.maintained.protocol import ByVertex, Sides, read_only
from penstock.errors import InputError, OptionError
from penstock.types import I64, NO_VERTEX, U32, VID, Array

#: Vertices whose lists are gathered at once.
GATHERED = 1 << 14
#: The width of a round by weight: this part of the mean weight.
FINENESS = 8


class PathTree:
    """Keeps distances from a source, and parents; see the module.

    Distances have the dtype uint32 or float64. ``column`` is the place of the weights among the
    edge properties (with float64 only); None: every edge counts 1.
    """

    def __init__(
        self, name: str, sides: Sides, source: Any, dtype: DTypeLike, column: int | None = None
    ) -> None:
        self.name = name
        self.facts: dict[str, Any] = {}
        self._sides = sides
        self._incoming = sides.incoming(name)
        self._source_id = source
        #: The source's vertex number, once the source is there.
        self._source: int | None = None
        self._column = column
        number: Any = np.dtype(dtype).type
        self._far = number(np.inf if np.dtype(dtype).kind == "f" else NO_VERTEX)
        self._least = number(column is None)
        self._width = number(0)
        self._keys, self._parents = ByVertex(dtype, self._far), ByVertex(VID, NO_VERTEX)
        self._queued = ByVertex(np.uint8)
        self._pending, self._taken = ByVertex(VID), ByVertex(VID)
        self._count = 0

    @property
    def values(self) -> Array:
        """Distances by vertex number."""
        return read_only(self._keys.now)

    @property
    def columns(self) -> dict[str, Array]:
        """``parents``: vertex numbers, ``NO_VERTEX`` for those that no path leads to."""
        return {"parents": read_only(self._parents.now)}

    # The three calls

    def check(self, batch: EdgeBatch) -> None:
        """Refuse a batch that adds an edge with a weight that cannot be."""
        if self._column is None:
            return
        weights = batch.columns[self._column]
        bad = ~(weights >= 0)
        if batch.adds is not None:
            bad &= batch.adds != 0
        if bad.any():
            row = int(np.argmax(bad))
            raise self._refusal(batch.src[row], batch.dst[row], weights[row])

    def start(self) -> None:
        """Compute from nothing."""
        begin = perf_counter()
        n = self._sides.num_vertices
        for array in (self._keys, self._parents, self._queued):
            array.reset(n)
        self._grow(n)
        self._count = 0
        self._source = None
        self._check_weights()
        self._seek_source(0)
        self._finish(begin, self._settle(), 0)

    def update(self, changes: Changes) -> None:
        """Bring distances and parents up to date."""
        begin = perf_counter()
        old = len(self._keys.now)
        self._grow(changes.num_vertices)
        if self._source is None and changes.num_vertices > old:
            self._seek_source(old)
        lost = self._drop(changes)
        useful = self._useful(changes)
        self._pull(np.concatenate([*lost, useful]))
        num_lost = sum(map(len, lost))
        self._finish(begin, num_lost + len(useful) + self._settle(), num_lost)

    def _grow(self, n: int) -> None:
        for array in (self._keys, self._parents, self._queued, self._pending, self._taken):
            array.grow(n)

    def _seek_source(self, first: int) -> None:
        """Begin at the source, if it is among the vertices from ``first`` on."""
        found = np.flatnonzero(self._sides.ids_by_vid()[first:] == self._source_id)
        if len(found):
            source = self._source = first + int(found[0])
            self._keys.now[source], self._parents.now[source] = 0, source
            self._queued.now[source] = 1
            self._pending.now[self._count] = source
            self._count += 1

    def _finish(self, begin: float, touched: int, lost: int) -> None:
        self.facts = {"seconds": perf_counter() - begin, "touched": touched, "lost": lost}

    # The parts of a batch

    def _drop(self, changes: Changes) -> list[U32]:
        """Make lost what is farther away than it was; gives the lost vertices."""
        parents, queued = self._parents.now, self._queued.now
        doubted: U32 = np.empty(2 * len(changes.removed_src), VID)
        count = 0
        for src, dst in self._directions(changes.removed_src, changes.removed_dst):
            count = kernels.doubt_edges(src, dst, parents, queued, doubted, count)
        doubted = doubted[:count]
        lost: list[U32] = []
        while len(doubted):
            fallen = self._judge(doubted)
            kernels.unmark(doubted, queued)
            count = 0
            for part, offsets, neighbours, _ in self._lists(self._sides.out, fallen):
                count = kernels.doubt_children(
                    part, offsets, neighbours, parents, queued, self._pending.now, count
                )
            doubted = self._pending.now[:count].copy()
            lost.append(fallen)
        return lost

    def _judge(self, doubted: U32) -> U32:
        """Those of the vertices whose parents are in doubt that find no other."""
        fallen: U32 = np.empty(len(doubted), VID)
        count = 0
        for part, offsets, neighbours, weights in self._lists(self._incoming, doubted):
            count += kernels.judge(
                part, offsets, neighbours, weights, self._far, self._keys.now,
                self._parents.now, fallen[count:],
            )  # fmt: skip
        return fallen[:count]

    def _useful(self, changes: Changes) -> U32:
        """Ends of new edges that may be better off with them."""
        useful: U32 = np.empty(2 * len(changes.added_src), VID)
        count = 0
        for src, dst in self._directions(changes.added_src, changes.added_dst):
            count += kernels.find_useful(
                src, dst, self._least, self._keys.now, self._parents.now, self._queued.now,
                useful[count:],
            )  # fmt: skip
        kernels.unmark(useful[:count], self._queued.now)
        return useful[:count]

    def _pull(self, vertices: U32) -> None:
        """Let vertices take the best that their in-neighbours offer."""
        for part, offsets, neighbours, weights in self._lists(self._incoming, vertices):
            self._count, bad = kernels.pull_lists(
                part, offsets, neighbours, weights, self._far, self._keys.now, self._parents.now,
                self._queued.now, self._pending.now, self._count,
            )  # fmt: skip
            if bad >= 0:
                self._refuse(part, offsets, neighbours, weights, bad, turned=True)

    def _settle(self) -> int:
        """Relax the edges of pending vertices until there are none; gives how many there were."""
        keys, pending = self._keys.now, self._pending.now
        touched = 0
        while self._count:
            self._count, num_taken = kernels.take_nearest(
                keys, self._width, self._queued.now, pending, self._count, self._taken.now
            )
            touched += num_taken
            taken = self._taken.now[:num_taken]
            for part, offsets, neighbours, weights in self._lists(self._sides.out, taken):
                self._count, bad = kernels.relax_lists(
                    part, offsets, neighbours, weights, keys, self._parents.now,
                    self._queued.now, pending, self._count,
                )  # fmt: skip
                if bad >= 0:
                    self._refuse(part, offsets, neighbours, weights, bad)
                if len(weights) and not self._width:
                    self._width = _width(weights)
        return touched

    # Reading the graph

    def _directions(self, src: U32, dst: U32) -> Iterator[tuple[U32, U32]]:
        yield src, dst
        if not self._sides.directed:
            yield dst, src

    def _lists(self, side: LiveSide, vertices: U32) -> Iterator[tuple[U32, I64, U32, Array]]:
        """Some vertices, and their lists with weights."""
        for at in range(0, len(vertices), GATHERED):
            part = vertices[at : at + GATHERED]
            found = side.gather(part)
            weights: Array = np.empty(0, np.uint8)
            if self._column is not None:
                weights = np.ascontiguousarray(found.columns[self._column])
            yield part, found.offsets, found.neighbours, weights

    def _check_weights(self) -> None:
        """Raise for a weight that cannot be, wherever it is: a later batch may lead there."""
        if self._column is None:
            return
        everything: U32 = np.arange(self._sides.num_vertices, dtype=VID)
        for part, offsets, neighbours, weights in self._lists(self._sides.out, everything):
            bad = ~(weights >= 0)
            if bad.any():
                self._refuse(part, offsets, neighbours, weights, int(np.argmax(bad)))

    def _refuse(
        self, part: U32, offsets: I64, neighbours: U32, weights: Array, edge: int, *,
        turned: bool = False,
    ) -> None:  # fmt: skip
        """Raise for a weight that cannot be."""
        ends = [int(part[np.searchsorted(offsets, edge, side="right") - 1]), int(neighbours[edge])]
        ids = self._sides.ids_by_vid()
        src, dst = (ids[v] for v in (reversed(ends) if turned else ends))
        raise self._refusal(src, dst, weights[edge])

    def _refusal(self, src: object, dst: object, weight: object) -> InputError:
        assert self._column is not None
        column = self._sides.column_names[self._column]
        return InputError(
            f"{self.name}: edge {src} - {dst} has {column} {weight}; shortest paths need weights "
            "of 0 or more as long as they are maintained: change the weight or leave out the edge"
        )


def _width(weights: Array) -> np.float64:
    """How much farther than the nearest vertex a round looks."""
    usable = weights[weights < np.inf]
    return np.float64(usable.mean() / FINENESS if len(usable) else 0)


def column_of(name: str, sides: Sides, weight: str | None) -> int | None:
    """The place of an edge property."""
    if weight is None:
        return None
    if weight not in sides.column_names:
        there = ", ".join(sides.column_names) or "none"
        raise OptionError(
            f"{name}: the graph has no edge property {weight!r} (there is: {there}); give the name "
            "of one, or weight=None to count every edge as 1"
        )
    return sides.column_names.index(weight)

"""Colours for a graph that is there and has none.

A vertex waits until all neighbours with smaller ids have told it their colours, then takes the
smallest that none of them has, and tells its own to those with larger ids: Jones and Plassmann's
heuristic. No vertex chooses twice, and one visitor goes along each edge between two ranks. The
result is that of colouring one vertex after another by ascending id, with which both rules of
``coloring`` begin.

Jones, Plassmann: "A parallel graph coloring heuristic", 1993.
"""

from __future__ import annotations

import numpy as np

from penstock.distributed.coloring import Colors
from penstock.distributed.outbox import Outbox
from penstock.distributed.shard import Shard
from penstock.distributed.visiting import Visiting, enlist, send, smallest_free, take_first
from penstock.distributed.visitors import Operation
from penstock.jit import kernel
from penstock.types import U32, Array

#: Edges of a step of visits, about.
STEP_EDGES = 1 << 16
_ANNOUNCE = int(Operation.ANNOUNCE)


@kernel
def _count(own, ids, starts, stops, neighbours, missing):  # type: ignore[no-untyped-def]
    """How many neighbours each vertex has to wait for."""
    for v in own:
        count = 0
        for at in range(starts[v], stops[v]):
            count += ids[neighbours[at]] < ids[v]
        missing[v] = count


@kernel
def _arrive(  # type: ignore[no-untyped-def]
    visitors, numbers, others, colors, missing, ring, waiting, ends
):
    for i in range(len(numbers)):
        v = numbers[i]
        colors[others[i]] = visitors[i].value
        missing[v] -= np.uint32(1)
        if missing[v] == 0:
            enlist(ring, waiting, ends, v)


@kernel
def _visit(  # type: ignore[no-untyped-def]
    rank, colors, missing, taken,
    ids, owned_by, starts, stops, neighbours, ring, waiting, ends, rows, filled,
):  # fmt: skip
    """Let waiting vertices choose. ``taken[c] == v + 1`` marks colour c as taken for vertex v."""
    room, fullest = rows.shape[1], filled.max()
    edges = 0
    while edges < STEP_EDGES:
        v, degree = take_first(ring, waiting, ends, starts, stops, room - fullest)
        if degree < 0:
            break
        edges += degree
        mark = np.int64(v) + 1
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if ids[w] < ids[v] and np.int64(colors[w]) <= degree:
                taken[colors[w]] = mark
        color = smallest_free(taken, mark)
        colors[v] = color
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if ids[w] <= ids[v]:
                continue
            owner = owned_by[w]
            if owner != rank:
                sent = send(rows, filled, owner, ids[w], ids[v], color, _ANNOUNCE)
                fullest = max(fullest, sent)
                continue
            missing[w] -= np.uint32(1)
            if missing[w] == 0:
                enlist(ring, waiting, ends, w)


class FirstColoring(Visiting):
    """Gives every vertex its colour."""

    def __init__(self, shard: Shard, outbox: Outbox, colors: Colors) -> None:
        super().__init__(shard, outbox)
        colors.grow()
        self._colors = colors.known()
        self._missing: U32 = np.zeros(shard.size, np.uint32)
        self._taken = np.zeros(0, np.int64)
        own = shard.own()
        ids, _, starts, stops, neighbours = shard.arrays()
        _count(own, ids, starts, stops, neighbours, self._missing)
        self._worklist.grow(shard.size)
        self._worklist.put_all(own[self._missing[own] == 0])

    def work(self) -> bool:
        """Let some choose."""
        if len(self._taken) < self._outbox.room + 2:
            self._taken = np.zeros(self._outbox.room + 2, np.int64)
        _visit(
            self._shard.rank, self._colors, self._missing, self._taken, *self._shard.arrays(),
            *self._worklist.arrays(), *self._outbox.arrays(),
        )  # fmt: skip
        return True

    def receive(self, visitors: Array) -> None:
        """Hear of colours."""
        numbers = self._shard.find(np.ascontiguousarray(visitors["target"]))
        others = self._shard.find(np.ascontiguousarray(visitors["other"]))
        _arrive(visitors, numbers, others, self._colors, self._missing, *self._worklist.arrays())

"""Colours for a graph that is there and has none.

A vertex waits until all neighbours with smaller ids have told it their colours, then takes the
smallest that none of them has, and tells its own to those with larger ids: Jones and Plassmann's
heuristic. Nobody chooses twice, and one visitor goes along each edge between two ranks. The result
is that of colouring one vertex after another by ascending id, which is right by either rule of
``coloring``.
"""

from __future__ import annotations

import numpy as np

from penstock.distributed.coloring import Colors
from penstock.distributed.outbox import Outbox
from penstock.distributed.shard import Shard
from penstock.distributed.visitors import Operation
from penstock.distributed.worklist import Worklist
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
    mask = np.int64(len(ring) - 1)
    for i in range(len(numbers)):
        v = numbers[i]
        colors[others[i]] = visitors[i].value
        missing[v] -= np.uint32(1)
        if missing[v] == 0:
            waiting[v] = 1
            ring[(ends[0] + ends[1]) & mask] = v
            ends[1] += 1


@kernel
def _visit(  # type: ignore[no-untyped-def]
    rank, colors, missing, taken,
    ids, owned_by, starts, stops, neighbours, ring, waiting, ends, rows, filled,
):  # fmt: skip
    """Let waiting vertices choose. ``taken[c] == v + 1`` marks colour c as taken for vertex v."""
    mask = np.int64(len(ring) - 1)
    room = rows.shape[1]
    fullest = filled.max()
    edges = 0
    while ends[1] > 0 and edges < STEP_EDGES:
        v = ring[ends[0] & mask]
        degree = np.int64(stops[v] - starts[v])
        if fullest + degree > room:
            break
        ends[0] = (ends[0] + 1) & mask
        ends[1] -= 1
        waiting[v] = 0
        edges += degree
        mark = np.int64(v) + 1
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if ids[w] < ids[v] and np.int64(colors[w]) <= degree:
                taken[colors[w]] = mark
        color = np.uint32(0)
        while taken[color] == mark:
            color += np.uint32(1)
        colors[v] = color
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if ids[w] <= ids[v]:
                continue
            owner = owned_by[w]
            if owner != rank:
                k = filled[owner]
                rows[owner, k].target = ids[w]
                rows[owner, k].other = ids[v]
                rows[owner, k].value = color
                rows[owner, k].operation = _ANNOUNCE
                filled[owner] = k + 1
                fullest = max(fullest, k + 1)
                continue
            missing[w] -= np.uint32(1)
            if missing[w] == 0:
                waiting[w] = 1
                ring[(ends[0] + ends[1]) & mask] = w
                ends[1] += 1


class FirstColoring:
    """Gives every vertex its colour."""

    def __init__(self, shard: Shard, outbox: Outbox, colors: Colors) -> None:
        self._shard = shard
        self._outbox = outbox
        colors.grow()
        self._colors = colors.known()
        self._missing: U32 = np.zeros(shard.size, np.uint32)
        self._taken = np.zeros(0, np.int64)
        own = shard.own()
        ids, _, starts, stops, neighbours = shard.arrays()
        _count(own, ids, starts, stops, neighbours, self._missing)
        self._worklist = Worklist()
        self._worklist.grow(shard.size)
        self._worklist.put_all(own[self._missing[own] == 0])

    @property
    def busy(self) -> bool:
        """Whether vertices can choose now."""
        return len(self._worklist) > 0

    def room_needed(self) -> int:
        """The degree of the first of them."""
        return self._shard.degree(self._worklist.first())

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

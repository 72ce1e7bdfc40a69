"""Levels of a breadth-first search, asynchronously.

A visitor brings a level to a vertex. If it is lower than what the vertex has, the vertex takes it
and waits to be visited; a visit offers the next level to the neighbours. Levels only go down, and
each that is taken is the length of a path, so what is left at quiescence is the length of the
shortest, whatever came in which order.

``levels`` has the numbers of ghosts too: the lowest level that was sent to them from here. What
would not lower that is not sent (the ghosts of HavoqGT).
"""

from __future__ import annotations

import numpy as np

from penstock.distributed.outbox import Outbox
from penstock.distributed.propagation import Propagation
from penstock.distributed.shard import Shard
from penstock.distributed.visiting import enlist, send, take_first
from penstock.distributed.visitors import Operation, owners
from penstock.jit import kernel
from penstock.types import Array

#: The level of a vertex that was not reached.
UNREACHED = 0xFFFFFFFF
#: Edges of a step of visits, about: after it, visitors are sent and what has come is looked at.
STEP_EDGES = 1 << 16
_REACH = int(Operation.REACH)


@kernel
def _visit(  # type: ignore[no-untyped-def]
    rank, levels, ids, owned_by, starts, stops, neighbours, ring, waiting, ends, rows, filled
):
    """Visit waiting vertices. It stops at the next level if there is something to send: a rank
    that runs ahead of the others gets levels that are too high, and has to repair them.
    """
    room, fullest = rows.shape[1], filled.max()
    step_level = levels[ring[ends[0]]]
    edges, visits, sent = 0, 0, False
    while edges < STEP_EDGES:
        if sent and ends[1] > 0 and levels[ring[ends[0]]] != step_level:
            break
        v, degree = take_first(ring, waiting, ends, starts, stops, room - fullest)
        if degree < 0:
            break
        visits += 1
        edges += degree
        level = np.uint32(levels[v] + np.uint32(1))
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if level >= levels[w]:
                continue
            levels[w] = level
            owner = owned_by[w]
            if owner != rank:
                fullest = max(fullest, send(rows, filled, owner, ids[w], 0, level, _REACH))
                sent = True
            else:
                enlist(ring, waiting, ends, w)
    return visits


class BfsProgram(Propagation):
    """A search from the vertex with one id; ``found`` on the rank that has it."""

    _brings = "value"
    _visit = staticmethod(_visit)

    def __init__(self, shard: Shard, outbox: Outbox, source: int) -> None:
        super().__init__(shard, outbox, np.full(shard.size, UNREACHED, np.uint32))
        ids = np.array([source], np.uint64)
        number = shard.find(ids)
        self.found = bool(owners(ids, shard.ranks)[0] == shard.rank and number[0] < shard.size)
        if self.found:
            self._values[number] = 0
            self._worklist.put_all(number)

    def values(self) -> Array:
        """Levels as int32, -1 where no path leads."""
        return self._values[self._shard.own()].view(np.int32)

"""The greedy rule: whenever another colour is the smallest that no neighbour with a smaller id has,
a vertex takes that, while edges come and go.

When an edge appears, the smaller id tells the larger one its colour (in the visitor that links
them). A vertex that changes tells its neighbours with larger ids. So every rank knows the colours
that matter to its vertices: of its own ones directly, of ghosts the last that it heard. Messages
between two ranks keep their order, so that is the newest.

When no message is left, each vertex has the smallest colour that no neighbour with a smaller id
has. Only one colouring is like that, by induction over the ids: what colouring one vertex after
another by ascending id gives. And the end comes, since a vertex changes only because of one with a
smaller id.
"""

from __future__ import annotations

import numpy as np

from penstock.distributed.coloring import NO_COLOR, Colors, Rule
from penstock.distributed.outbox import Outbox
from penstock.distributed.shard import Shard
from penstock.distributed.visiting import Visiting, enlist, send, smallest_free, take_first
from penstock.distributed.visitors import Operation
from penstock.jit import kernel
from penstock.types import U32, Array

#: Edges of a step of visits, about.
STEP_EDGES = 1 << 16
_LINK, _UNLINK, _ANNOUNCE = (
    int(each) for each in (Operation.LINK, Operation.UNLINK, Operation.ANNOUNCE)
)


@kernel
def _hear(  # type: ignore[no-untyped-def]
    visitors, numbers, others, rank, colors, owned_by, ring, waiting, ends
):
    """Note the colours that visitors bring; those they may concern wait."""
    for i in range(len(numbers)):
        operation = visitors[i].operation
        v = numbers[i]
        u = others[i]
        if operation in (_LINK, _ANNOUNCE):
            # Of its own vertices a rank knows better.
            if owned_by[u] != rank:
                colors[u] = visitors[i].value
            enlist(ring, waiting, ends, v)
        elif operation == _UNLINK and v < len(colors):
            # An edge that was deleted twice may name a vertex that was never here.
            enlist(ring, waiting, ends, v)


@kernel
def _visit(  # type: ignore[no-untyped-def]
    rank, colors, taken, turn,
    ids, owned_by, starts, stops, neighbours, ring, waiting, ends, rows, filled,
):  # fmt: skip
    """Let waiting vertices choose. ``taken[c] == turn`` marks colour c as taken; returns the turn
    after the last.
    """
    room, fullest = rows.shape[1], filled.max()
    none = np.uint32(NO_COLOR)
    edges = 0
    while edges < STEP_EDGES:
        v, degree = take_first(ring, waiting, ends, starts, stops, room - fullest)
        if degree < 0:
            break
        edges += degree
        turn += 1
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if ids[w] < ids[v] and colors[w] != none and np.int64(colors[w]) <= degree:
                taken[colors[w]] = turn
        color = smallest_free(taken, turn)
        if color == colors[v]:
            continue
        colors[v] = color
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if ids[w] <= ids[v]:
                continue
            owner = owned_by[w]
            if owner != rank:
                sent = send(rows, filled, owner, ids[w], ids[v], color, _ANNOUNCE)
                fullest = max(fullest, sent)
            else:
                enlist(ring, waiting, ends, w)
    return turn


class GreedyColors(Visiting, Colors):
    """The colours that a rank knows, and the vertices that have to look at theirs again."""

    rule: Rule = "greedy"

    def __init__(self, shard: Shard, outbox: Outbox) -> None:
        Visiting.__init__(self, shard, outbox)
        Colors.__init__(self, shard)
        self._taken = np.zeros(0, np.int64)
        self._turn = 0
        #: Vertices left in this round.
        self._round = 0

    def grow(self) -> None:
        """As for all colours; and have room for vertices that wait."""
        super().grow()
        self._worklist.grow(self._size)

    def hear(self, visitors: Array, numbers: U32, others: U32) -> None:
        """Visitors came, from ``others`` to ``numbers``, and their links are made."""
        _hear(
            visitors, numbers, others, self._shard.rank, self.known(), self._shard.owners,
            *self._worklist.arrays(),
        )  # fmt: skip

    def work(self) -> bool:
        """Visit some. Vertices that wait are visited in rounds, by ascending id: then few of them
        choose again because of another one that waited with them.
        """
        if self._round <= 0:
            self._round = len(self._worklist)
            self._worklist.sort(self._shard.ids)
        before = int(self._worklist.ends[0])
        if len(self._taken) < self._outbox.room + 2:
            self._taken = np.full(self._outbox.room + 2, -1, np.int64)
        self._turn = _visit(
            self._shard.rank, self.known(), self._taken, self._turn, *self._shard.arrays(),
            *self._worklist.arrays(), *self._outbox.arrays(),
        )  # fmt: skip
        self._round -= self._worklist.taken_since(before)
        return True

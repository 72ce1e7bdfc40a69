"""Colours of vertices such that neighbours differ, kept while the graph is being built and after.

The smaller id has priority. When an edge appears, the end with priority tells the other one its
colour (that is in the visitor that links them). When a vertex has to choose, it takes the smallest
colour that no neighbour with priority has, and announces it to the neighbours that it has priority
over. So every rank knows the colours of those neighbours of its vertices that matter to them: of
its own ones directly, of ghosts the last that it heard. Messages between two ranks keep their
order, so that is the newest.

When it has to choose, is the rule:

- ``"repair"``: when a neighbour with priority has the same colour. Nothing else ever changes a
  colour, deleting an edge neither. At quiescence neighbours differ; which colours they have depends
  on what came first.
- ``"greedy"``: whenever another colour is the smallest possible. At quiescence each vertex has the
  smallest colour that no neighbour with a smaller id has. Only one colouring is like that, by
  induction over the ids: what colouring one vertex after another by ascending id gives.

Either way the end comes, since a vertex changes only because of one with a smaller id. Thesis of
Iwabuchi, section 4.8; Sallinen, Iwabuchi, Poudel, Gokhale, Ripeanu, Pearce: "Graph colouring as a
challenge problem for dynamic graph processing on distributed systems", SC 2016; Jones, Plassmann:
"A parallel graph coloring heuristic", 1993.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from penstock.distributed.outbox import Outbox
from penstock.distributed.shard import Shard, grown
from penstock.distributed.visiting import Visiting, enlist, send, smallest_free, take_first
from penstock.distributed.visitors import Operation
from penstock.jit import kernel
from penstock.types import U32, Array

Rule = Literal["repair", "greedy"]

#: The colour of a vertex that has none, or of a ghost that was not heard of.
NO_COLOR = 0xFFFFFFFF
#: Edges of a step of visits, about.
STEP_EDGES = 1 << 16
_LINK, _UNLINK, _ANNOUNCE = (
    int(each) for each in (Operation.LINK, Operation.UNLINK, Operation.ANNOUNCE)
)


@kernel
def _hear(  # type: ignore[no-untyped-def]
    visitors, numbers, others, rank, greedy, colors, owned_by, ring, waiting, ends
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
            concerned = greedy or colors[u] == colors[v]
        else:
            # An edge that was deleted twice may name a vertex that was never here.
            concerned = operation == _UNLINK and greedy and v < len(colors)
        if concerned:
            enlist(ring, waiting, ends, v)


@kernel
def _visit(  # type: ignore[no-untyped-def]
    rank, greedy, colors, taken, turn,
    ids, owned_by, starts, stops, neighbours, ring, waiting, ends, rows, filled,
):  # fmt: skip
    """Let waiting vertices choose, if they have to. ``taken[c] == turn`` marks colour c as taken;
    returns the turn after the last.
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
        mine = colors[v]
        conflict = mine == none
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if ids[w] < ids[v] and colors[w] != none:
                conflict |= colors[w] == mine
                if np.int64(colors[w]) <= degree:
                    taken[colors[w]] = turn
        if not (conflict or greedy):
            continue
        color = smallest_free(taken, turn)
        if color == mine:
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
            elif greedy or colors[w] == color:
                enlist(ring, waiting, ends, w)
    return turn


class Colors(Visiting):
    """The colours that a rank knows, of its own vertices and of ghosts, and who has to look at its
    own again.
    """

    def __init__(self, shard: Shard, outbox: Outbox, rule: Rule) -> None:
        super().__init__(shard, outbox)
        self.rule = rule
        self._greedy = rule == "greedy"
        self._known: U32 = np.empty(0, np.uint32)
        self._size = 0
        self._taken = np.zeros(0, np.int64)
        self._turn = 0
        #: Vertices left in this round.
        self._round = 0

    def grow(self) -> None:
        """Vertices that are new in the shard have the first colour; ghosts have none yet."""
        begin, end = self._size, self._shard.size
        if begin == end:
            return
        self._known = grown(self._known, end, NO_COLOR)
        own = self._shard.owners[begin:] == self._shard.rank
        self._known[begin:end][own] = 0
        self._worklist.grow(end)
        self._size = end

    def known(self) -> U32:
        """The colour of each number."""
        return self._known[: self._size]

    def hear(self, visitors: Array, numbers: U32, others: U32) -> None:
        """Visitors came, from ``others`` to ``numbers``, and their links are made."""
        _hear(
            visitors, numbers, others, self._shard.rank, self._greedy, self.known(),
            self._shard.owners, *self._worklist.arrays(),
        )  # fmt: skip

    def work(self) -> bool:
        """Visit some. Who waits is visited in rounds, by ascending id: then few of them choose
        again because of another one that waited with them.
        """
        if self._round <= 0:
            self._round = len(self._worklist)
            self._worklist.sort(self._shard.ids)
        before = int(self._worklist.ends[0])
        if len(self._taken) < self._outbox.room + 2:
            self._taken = np.full(self._outbox.room + 2, -1, np.int64)
        self._turn = _visit(
            self._shard.rank, self._greedy, self.known(), self._taken, self._turn,
            *self._shard.arrays(), *self._worklist.arrays(), *self._outbox.arrays(),
        )  # fmt: skip
        self._round -= self._worklist.taken_since(before)
        return True

    def result(self) -> dict[str, Any]:
        """Ids and colours of this rank's own vertices."""
        own = self._shard.own()
        return {"ids": self._shard.ids[own], "values": self.known()[own]}

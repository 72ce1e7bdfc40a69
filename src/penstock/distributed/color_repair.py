"""The rule of repair: who has the colour of a neighbour with a smaller id takes the smallest colour
that none of its neighbours has, of whatever id.

*A batch* is settled in two commands. While edges come and go no colour changes; the smaller id
tells its colour in the visitor that links the two ends, and the larger id is a *candidate* if it
has the same. When all edges are in, candidates have turns by ascending id: one that has the colour
of a neighbour with a smaller id then takes a new one. This is the rule of ``maintain("color")``:
see there why it ends with a proper colouring. An edge that came and went in the batch makes a
candidate whose turn changes nothing.

*Turns without a barrier*, after Jones and Plassmann. The turn of a vertex depends only on its
neighbours: on those with smaller ids after their turns, on those with larger ids before theirs. So
a candidate takes its turn when it has heard one visitor from each neighbour on another rank:

- It sends ``ASK`` with its colour to each of them.
- A vertex that is no candidate answers an ``ASK`` with its colour.
- A candidate does not. For the smaller id, the ``ASK`` of the larger one says its colour. To the
  larger id, the smaller one announces its colour after its turn: by then it has heard from all
  neighbours, so it knows which of them are candidates.

The candidate with the smallest id waits for no turn, so all get theirs, by induction. What they
choose does not depend on ranks or the order of messages. Ghosts' colours are asked for when they
are needed instead of being kept: the price of a batch is a visitor or two for each edge request,
and two or three for each edge of a candidate.
"""

from __future__ import annotations

import numpy as np

from penstock.distributed.coloring import Colors, Rule
from penstock.distributed.outbox import Outbox
from penstock.distributed.shard import Shard, grown
from penstock.distributed.visiting import Visiting, enlist, send, smallest_free, take_first
from penstock.distributed.visitors import Operation
from penstock.jit import kernel
from penstock.types import U8, U32, Array

#: Edges of a step of visits, about.
STEP_EDGES = 1 << 16
_LINK, _ANNOUNCE, _ASK = (int(each) for each in (Operation.LINK, Operation.ANNOUNCE, Operation.ASK))
#: A candidate that has not asked its neighbours yet, and one that has; others are 0.
_SILENT, _ASKED = 1, 2


@kernel
def _find_candidates(visitors, numbers, colors, marks, found):  # type: ignore[no-untyped-def]
    """Mark the vertices that were linked to a smaller id of the same colour, and list those that
    had no mark; returns how many.
    """
    count = 0
    for i in range(len(numbers)):
        v = numbers[i]
        if visitors[i].operation == _LINK and visitors[i].value == colors[v] and marks[v] == 0:
            marks[v] = 1
            found[count] = v
            count += 1
    return count


@kernel
def _count(  # type: ignore[no-untyped-def]
    candidates, rank, roles, missing, ids, owned_by, starts, stops, neighbours
):
    """How many neighbours each candidate has to hear from, or whose turn it has to wait for."""
    for v in candidates:
        count = 0
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            count += owned_by[w] != rank or (roles[w] != 0 and ids[w] < ids[v])
        missing[v] = count


@kernel
def _arrive(  # type: ignore[no-untyped-def]
    visitors, numbers, others, colors, roles, missing, ids, owned_by, ring, waiting, ends,
    rows, filled,
):  # fmt: skip
    for i in range(len(numbers)):
        v = numbers[i]
        w = others[i]
        if visitors[i].operation == _ASK:
            if roles[v] == 0:
                send(rows, filled, owned_by[w], ids[w], ids[v], colors[v], _ANNOUNCE)
                continue
            if ids[w] < ids[v]:
                continue
            roles[w] = _ASKED
        colors[w] = visitors[i].value
        missing[v] -= np.uint32(1)
        if missing[v] == 0:
            enlist(ring, waiting, ends, v)


@kernel
def _visit(  # type: ignore[no-untyped-def]
    rank, colors, roles, missing, taken,
    ids, owned_by, starts, stops, neighbours, ring, waiting, ends, rows, filled,
):  # fmt: skip
    """Let candidates ask, and take their turns when they have heard from all. ``taken[c] == v + 1``
    marks colour c as taken for vertex v.
    """
    room, fullest = rows.shape[1], filled.max()
    edges = 0
    while edges < STEP_EDGES:
        v, degree = take_first(ring, waiting, ends, starts, stops, room - fullest)
        if degree < 0:
            break
        edges += degree
        if roles[v] == _SILENT:
            roles[v] = _ASKED
            for at in range(starts[v], stops[v]):
                w = neighbours[at]
                # A larger id that has asked was heard by that.
                heard = roles[w] != 0 and ids[w] > ids[v]
                if owned_by[w] != rank and not heard:
                    sent = send(rows, filled, owned_by[w], ids[w], ids[v], colors[v], _ASK)
                    fullest = max(fullest, sent)
            if missing[v] > 0:
                continue
        mark = np.int64(v) + 1
        conflict = False
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if np.int64(colors[w]) <= degree:
                taken[colors[w]] = mark
            conflict |= colors[w] == colors[v] and ids[w] < ids[v]
        if conflict:
            colors[v] = smallest_free(taken, mark)
        for at in range(starts[v], stops[v]):
            w = neighbours[at]
            if roles[w] == 0 or ids[w] <= ids[v]:
                continue
            if owned_by[w] != rank:
                sent = send(rows, filled, owned_by[w], ids[w], ids[v], colors[v], _ANNOUNCE)
                fullest = max(fullest, sent)
                continue
            missing[w] -= np.uint32(1)
            if missing[w] == 0:
                enlist(ring, waiting, ends, w)


class RepairedColors(Colors):
    """The colours that a rank knows, and the candidates among its own vertices."""

    rule: Rule = "repair"

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._marks: U8 = np.empty(0, np.uint8)
        self._candidates: list[U32] = []

    def grow(self) -> None:
        """As for all colours; new vertices have no mark."""
        super().grow()
        self._marks = grown(self._marks, self._size, 0)

    @property
    def num_candidates(self) -> int:
        """Vertices that need a turn."""
        return sum(map(len, self._candidates))

    def hear(self, visitors: Array, numbers: U32, others: U32) -> None:
        """Visitors came, from ``others`` to ``numbers``, and their links are made."""
        found: U32 = np.empty(len(numbers), np.uint32)
        count = _find_candidates(visitors, numbers, self.known(), self._marks, found)
        if count:
            self._candidates.append(found[:count].copy())

    def take_candidates(self) -> U32:
        """The candidates; from now on there are none."""
        found = np.concatenate([np.empty(0, np.uint32), *self._candidates])
        self._candidates = []
        self._marks[found] = 0
        return found


class ColorRepair(Visiting):
    """Gives candidates their turns."""

    def __init__(self, shard: Shard, outbox: Outbox, colors: RepairedColors) -> None:
        super().__init__(shard, outbox)
        self._colors = colors.known()
        # Zeros that are not written to cost nothing.
        self._roles: U8 = np.zeros(shard.size, np.uint8)
        self._missing: U32 = np.zeros(shard.size, np.uint32)
        self._taken = np.zeros(0, np.int64)
        candidates = colors.take_candidates()
        self._roles[candidates] = _SILENT
        _count(candidates, shard.rank, self._roles, self._missing, *shard.arrays())
        self._worklist.grow(shard.size)
        self._worklist.put_all(candidates)

    def work(self) -> bool:
        """Visit some candidates."""
        if len(self._taken) < self._outbox.room + 2:
            self._taken = np.zeros(self._outbox.room + 2, np.int64)
        _visit(
            self._shard.rank, self._colors, self._roles, self._missing, self._taken,
            *self._shard.arrays(), *self._worklist.arrays(), *self._outbox.arrays(),
        )  # fmt: skip
        return True

    def receive(self, visitors: Array) -> None:
        """Hear colours, and answer those who ask."""
        numbers = self._shard.find(np.ascontiguousarray(visitors["target"]))
        others = self._shard.find(np.ascontiguousarray(visitors["other"]))
        _arrive(
            visitors, numbers, others, self._colors, self._roles, self._missing, self._shard.ids,
            self._shard.owners, *self._worklist.arrays(), *self._outbox.arrays(),
        )  # fmt: skip

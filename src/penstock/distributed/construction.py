"""Adding and deleting edges, from any rank.

A request goes to the owner of one end, which decides: of an undirected edge, the smaller id. It
changes its list, and if that made a difference, sends the same on to the owner of the other end. So
both copies of an edge change in the same order, whoever asked for what at the same time, because
messages between two ranks keep their order. Two requests for one pair from one rank take effect in
their order; from two ranks, in either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.distributed.coloring import Colors
from penstock.distributed.greedy_coloring import GreedyColors
from penstock.distributed.outbox import Outbox
from penstock.distributed.shard import Shard
from penstock.distributed.visiting import send
from penstock.distributed.visitors import Operation, owners
from penstock.jit import kernel
from penstock.types import NO_VERTEX, U8, U32, U64, Array

_INSERT, _DELETE, _LINK, _UNLINK, _MENTION = (int(each) for each in list(Operation)[:5])


@kernel
def _request(targets, others, adds, owned_by, rows, filled):  # type: ignore[no-untyped-def]
    for i in range(len(targets)):
        operation = _INSERT if adds[i] else _DELETE
        send(rows, filled, owned_by[i], targets[i], others[i], 0, operation)


@kernel
def _pass_on(  # type: ignore[no-untyped-def]
    visitors, numbers, others, changed, directed, colors, owned_by, rows, filled, counts
):
    """Requests that changed a list go on to the other end. ``counts``: edges that appeared, edges
    that went, links that were there already or were missing, which cannot be.
    """
    for i in range(len(numbers)):
        operation = visitors[i].operation
        if operation > _DELETE:
            counts[2] += operation <= _UNLINK and changed[i] == 0
            continue
        if changed[i] == 0:
            continue
        counts[operation] += 1
        if numbers[i] == others[i] or (directed and operation == _DELETE):
            continue
        owner = owned_by[others[i]]
        source, target = visitors[i].target, visitors[i].other
        if directed:
            send(rows, filled, owner, target, target, 0, _MENTION)
        else:
            color = colors[numbers[i]] if len(colors) else np.uint32(0)
            link = _LINK if operation == _INSERT else _UNLINK
            send(rows, filled, owner, target, source, color, link)


class Construction:
    """This rank's part of a stream of requests, and what comes from the others."""

    def __init__(
        self, shard: Shard, outbox: Outbox, colors: Colors | None, requests: dict[str, Any]
    ) -> None:
        self._shard = shard
        self._outbox = outbox
        self._colors = colors
        self._directed = bool(requests["directed"])
        self._src: U64 = requests["src"]
        self._dst: U64 = requests["dst"]
        self._adds: U8 = requests["adds"]
        self._at = 0
        # Small against the room, so that what is sent is nearly full.
        self._chunk = max(1, outbox.room // 4)
        self._counts = np.zeros(3, np.int64)

    @property
    def _visiting(self) -> GreedyColors | None:
        colors = self._colors
        return colors if isinstance(colors, GreedyColors) and colors.busy else None

    @property
    def busy(self) -> bool:
        """Whether there are requests to send, or vertices that wait for a colour."""
        return self._at < len(self._src) or self._visiting is not None

    def room_needed(self) -> int:
        """For vertices that wait, or the next requests."""
        colors = self._visiting
        return self._chunk if colors is None else colors.room_needed()

    def work(self) -> bool:
        """Visit for colours if there is someone to visit, else send requests."""
        colors = self._visiting
        if colors is not None:
            return colors.work()
        part = slice(self._at, self._at + self._chunk)
        src, dst = self._src[part], self._dst[part]
        if not self._directed:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        _request(src, dst, self._adds[part], owners(src, self._shard.ranks), *self._outbox.arrays())
        self._at = part.stop
        return False

    def receive(self, visitors: Array) -> None:
        """Change lists, and tell the other ends."""
        operations = visitors["operation"]
        numbers, others = self._numbers(visitors, operations)
        changed = self._apply(operations, numbers, others)
        colors: U32 = np.empty(0, np.uint32)
        if self._colors is not None:
            self._colors.grow()
            colors = self._colors.known()
        _pass_on(
            visitors, numbers, others, changed, self._directed, colors, self._shard.owners,
            *self._outbox.arrays(), self._counts,
        )  # fmt: skip
        if self._counts[2]:
            raise RuntimeError("the two copies of an edge differ: this is a bug in Penstock")
        if self._colors is not None:
            self._colors.hear(visitors, numbers, others)

    def _numbers(self, visitors: Array, operations: Array) -> tuple[U32, U32]:
        """The numbers of both ends of each visitor; new vertices get theirs, but deleting an edge
        makes none.
        """
        targets = np.ascontiguousarray(visitors["target"])
        ends = np.ascontiguousarray(visitors["other"])
        adding = (operations == _INSERT) | (operations == _LINK) | (operations == _MENTION)
        if not adding.all():
            if adding.any():
                self._shard.number(targets[adding])
                self._shard.number(ends[adding])
            return self._shard.find(targets), self._shard.find(ends)
        return self._shard.number(targets), self._shard.number(ends)

    def _apply(self, operations: Array, numbers: U32, others: U32) -> U8:
        """Add and delete as visitors say; of each, whether it changed anything."""
        lists = self._shard.lists
        known = (operations <= _UNLINK) & (numbers != NO_VERTEX) & (others != NO_VERTEX)
        adds = ((operations == _INSERT) | (operations == _LINK)).astype(np.uint8)
        if known.all():
            return lists.apply(numbers, others, adds)
        changed: U8 = np.zeros(len(numbers), np.uint8)
        changed[known] = lists.apply(numbers[known], others[known], adds[known])
        return changed

    def result(self) -> dict[str, Any]:
        """Edges that appeared and went, by this rank's decision."""
        return {"added": int(self._counts[0]), "deleted": int(self._counts[1])}

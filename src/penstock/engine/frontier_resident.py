"""Frontiers over lists in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.engine import direction as ways
from penstock.engine.direction import Mode, bottom_up_cost, choose_by_cost
from penstock.engine.engine import Engine
from penstock.engine.frontier import Queued
from penstock.process import retain_freed_memory
from penstock.stream.block import Block
from penstock.types import I64

#: Edges looked at in one call for small frontiers, about: then signals are heard.
CALL_EDGES = 1 << 22
#: Freed memory that a run leaves for the next one, at most.
KEPT_BYTES = 64 << 20


class ResidentFrontier(Queued):
    """See :class:`~penstock.engine.frontier.Frontier`. Small frontiers are expanded by one thread,
    many in one call.
    """

    def __init__(self, engine: Engine, *args: Any, **options: Any) -> None:
        # A search takes little longer than getting new memory for its arrays each time.
        retain_freed_memory(min(KEPT_BYTES, engine.options.memory // 16))
        super().__init__(engine, *args, **options)
        self._blocks = [engine.block(each) for each in self.directions]
        first = self._blocks[0]
        none = Block(0, first.offsets[:0], first.neighbours[:0], first.columns, first.ends[:0])
        #: Further lists to follow; none if there is one direction.
        self._more = self._blocks[1] if len(self._blocks) == 2 else none

    def _sizes(self) -> tuple[Any, Any]:
        first, more = self._blocks[0], self._more
        extents = (first.offsets, first.ends, more.offsets, more.ends)
        return extents, np.empty(0, np.uint32)

    def _choose(self) -> Mode:
        return choose_by_cost(self.outlook)

    def _push(self, most_steps: int) -> dict[str, Any]:
        if self.edges <= ways.SMALL_EDGES and self.exchange is None:
            return self._push_small(most_steps)
        begin, end = self._begin_of_queue(), self.queued
        tail: I64 = np.array([end], np.int64)
        for block in self._blocks:
            self._push_lists(block, tail, begin, end)
        self.queued = int(tail[0])
        if self.exchange is not None:
            found = self.exchange.join_listed(self.queue[end : self.queued].copy(), self.step + 1)
            self.queued = end + len(found)
            self.queue[end : self.queued] = found
        self._enter(end)
        return {}

    def _push_small(self, most_steps: int) -> dict[str, Any]:
        """Several steps in one call."""
        engine, begin = self.engine, self._begin_of_queue()
        every = engine.options.checkpoint_every.every_steps
        if engine.options.checkpoint is not None and every is not None:
            most_steps = min(most_steps, every)
        unexplored = max(self.unexplored, 0) if self.can_pull else 1 << 63
        sizes = (ways.TINY_EDGES, ways.SMALL_EDGES, unexplored, CALL_EDGES)
        with engine.metrics.timed("kernel", 0):
            begin, end, edges, explored, steps, looked = self.kernels.push_steps(
                self._blocks[0], self._more, self.queue, np.empty(0, np.int64), begin, self.queued,
                self.step, most_steps, tuple(map(np.uint64, sizes)), self.state,
            )  # fmt: skip
        engine.count_edges(looked)
        found, self.queued = end - self.queued, end
        self._move(end - begin, edges, self.queue[begin:end], steps)
        self.unreached -= found - self.count
        self.unexplored -= explored - edges
        return {"found": found}

    def _pull(self) -> dict[str, Any]:
        here, out = self.engine.block(self.against), self._blocks[0]
        none = out.offsets[:0]
        other = (none,) * 4 if out is here else (out.offsets, out.ends, none, none)
        # Vertices after the last one that has edges need not be looked at, if that is easily known.
        last = len(here.ends)
        if here.is_packed:
            last = int(np.searchsorted(here.offsets, here.offsets[-1]))
        small = bottom_up_cost(self.outlook) < ways.SMALL_EDGES
        count, edges, _ = self._pull_lists(-(-last // 64), here, none, other, single=small)
        self._enter_next_bits(count, edges)
        return {}

"""Frontiers over lists whose first edges are in memory.

Top-down, vertices whose whole list is in memory are expanded from there; the lists of the others
are read, long ones in long runs. Bottom-up, an unvisited vertex looks through its first edges; only
if it is not found by them, and the list goes on, the list is read, with many others at once.
Vertices with many edges have neighbours of high degree, which are visited early: on scale-free
graphs hardly a list is read bottom-up.

In the *dual* model, which is there to compare with, whole lists are in memory for bottom-up, and
top-down reads every list.

Iwabuchi: "Locality-aware graph data store for large-scale graph analytics", thesis, Tokyo Institute
of Technology 2017, chapter 3 (NETALX).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.engine import frontier_kernels as plain
from penstock.engine.direction import Mode, Sample, choose_tiered, few_to_read
from penstock.engine.engine import Engine
from penstock.engine.frontier import LISTED, Queued
from penstock.engine.push_kernels import HELD
from penstock.types import I64

#: Vertices that are asked.
SAMPLE = 1 << 12


class TieredFrontier(Queued):
    """See :class:`~penstock.engine.frontier.Frontier`."""

    def __init__(self, engine: Engine, *args: Any, dual: bool = False, **options: Any) -> None:
        super().__init__(engine, *args, **options)
        self._out = engine.tier(self.directions[0])
        self._dual = dual

    def _sizes(self) -> tuple[Any, Any]:
        out = self._out
        extents = (out.heads.offsets, out.heads.ends, out.rest, out.rest[1:])
        return extents, np.empty(0, np.uint32)

    def _choose(self) -> Mode:
        """Some vertices are asked how bottom-up would go."""
        out, into = self._out, self.engine.tier(self.against)
        lists = min(self.count, self.edges // (out.head_edges + 1))
        if self._dual:
            lists = self.count
        elif self.listed is not None:
            begin, end = self._begin_of_queue(), self.queued
            lists = int(plain.split_queue(self.queue, begin, end, out.lists_end, out.rest)[0])
            lists -= begin
        if few_to_read(self.edges, lists):
            return "top-down"
        offsets, neighbours = into.heads.offsets, into.heads.neighbours
        asked = plain.ask_some(
            self.state.visited, offsets, neighbours, into.rest, np.uint64(SAMPLE)
        )
        return choose_tiered(self.outlook, lists, Sample(*map(int, asked)), into.num_edges)

    def _push(self, most_steps: int) -> dict[str, Any]:
        engine, tier, begin, end = self.engine, self._out, self._begin_of_queue(), self.queued
        split = plain.split_queue(self.queue, begin, end, tier.lists_end, tier.rest)
        middle, stop = map(int, split)
        if self._dual:
            middle = stop
        tail: I64 = np.array([end], np.int64)
        before = engine.metrics.total().edges_traversed
        single = stop - middle <= HELD
        self._push_lists(tier.heads, tail, middle, stop, single=single)
        self.queued = int(tail[0])
        in_memory = engine.metrics.total().edges_traversed - before
        if middle > begin:
            most = engine.num_vertices // LISTED
            self.next_bits.fill(0)
            found = self._read_and_push(self.queue[begin:middle], self.directions[0], most)
            free = self.queue[self.queued :]
            if len(found) > most:
                self.queued += int(plain.vertices_of(0, engine.num_vertices, free, self.next_bits))
            else:
                free[: len(found)] = found
                self.queued += len(found)
        self._enter(end)
        return {"lists_read": middle - begin, "edges_in_memory": in_memory}

    def _pull(self) -> dict[str, Any]:
        engine, out, tier = self.engine, self._out, self.engine.tier(self.against)
        count, edges, looked = self._pull_lists(
            -(-tier.lists_end // 64), tier.heads, tier.rest, self._sizes()[0], single=False
        )
        cold = engine.select(
            plain.unresolved, self.state.visited, self.next_bits, tier.rest,
            length=len(tier.rest) - 1,
        )  # fmt: skip
        if len(cold):
            self._look_up(cold, tier.head_edges)
            more, further = plain.count_found(cold, self.next_bits, out.heads.offsets, out.rest)
            count, edges = count + int(more), edges + int(further)
        self._enter_next_bits(count, edges)
        return {"lists_read": len(cold), "edges_in_memory": looked}

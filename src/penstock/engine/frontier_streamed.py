"""Frontiers over lists that are streamed."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.engine import frontier_kernels as plain
from penstock.engine.direction import Mode, choose_streamed
from penstock.engine.engine import Engine
from penstock.engine.frontier import LISTED, Frontier
from penstock.types import U32, VID


class StreamedFrontier(Frontier):
    """See :class:`~penstock.engine.frontier.Frontier`. Pages are read that hold lists in
    question.
    """

    def __init__(self, engine: Engine, *args: Any, **options: Any) -> None:
        super().__init__(engine, *args, **options)
        #: Needed to choose between the two ways; mapped, so that they count as memory.
        self._degrees: U32 = np.empty(0, np.uint32)
        if self.can_pull:
            self._degrees = np.asarray(engine.graph.degrees(self.directions[0]))

    def _has_lists_against(self) -> bool:
        # Degrees of both directions would have to be in memory.
        return not self.engine.graph.directed

    def start(self, vertices: U32) -> None:
        """See :class:`~penstock.engine.frontier.Frontier`."""
        self._enter_listed(vertices, 0)

    def _sizes(self) -> tuple[Any, Any]:
        return (self._degrees[:0],) * 4, self._degrees

    def _choose(self) -> Mode:
        return choose_streamed(self.outlook)

    def _push(self, most_steps: int) -> dict[str, Any]:
        frontier = self.listed
        if frontier is None:
            frontier = self.engine.select(plain.vertices_of, self.bits)
        self.listed = None
        most = self.engine.num_vertices // LISTED
        found: U32 = np.empty(0, VID)
        for direction in self.directions:
            here = self._read_and_push(frontier, direction, most)
            found = np.concatenate([found, here]) if len(found) else here
        # Other ranks may have found many: then all go by bits.
        if len(found) > most or self.exchange is not None:
            del found, frontier
            self._enter_bits()
        else:
            self._enter_listed(found, 1)
        return {}

    def _pull(self) -> dict[str, Any]:
        self.listed = None
        unvisited = self.engine.select(
            plain.unvisited_with_edges, self.state.visited, self._degrees
        )
        self._look_up(unvisited, 0)
        self._enter_bits()
        return {}

    def _enter_listed(self, found: U32, steps: int) -> None:
        edges = self.engine.map_ranges(
            plain.enter_listed, found, self.state.visited, self.next_bits, self._degrees,
            length=len(found),
        )  # fmt: skip
        self._move(len(found), sum(edges), found, steps)

    def _enter_bits(self) -> None:
        """Vertices in ``next_bits`` are the frontier now, and those that other ranks found."""
        if self.exchange is not None:
            self.exchange.join_bits(self.next_bits, self.step + 1)
        rows = self.engine.map_ranges(
            plain.enter_bits, self.next_bits, self.state.visited, self._degrees
        )
        self.bits, self.next_bits = self.next_bits, self.bits
        self.next_bits.fill(0)
        self._move(sum(row[0] for row in rows), sum(row[1] for row in rows), None)

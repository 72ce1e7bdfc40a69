"""The sides of a graph that changes, whichever they are after compactions: what maintained
algorithms look at.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.dynamic.changes import Gathered
from penstock.dynamic.maintained.protocol import Sides
from penstock.dynamic.merge import MergedSide
from penstock.dynamic.state import State
from penstock.types import U32, Direction


class CurrentSide:
    """A side of a graph, whichever it is after compactions: what algorithms that stay look at."""

    def __init__(self, state: Callable[[], State], direction: Direction) -> None:
        self._state = state
        self._direction: Direction = direction

    @property
    def _side(self) -> MergedSide:
        return self._state().sides[self._direction]

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""
        return self._side.num_vertices

    def degrees(self) -> U32:
        """How long each list is."""
        return self._side.degrees()

    def gather(self, vertices: U32) -> Gathered:
        """Copies of the lists of some vertices, in the order given."""
        return self._side.gather(vertices)

    def has(self, src: U32, dst: U32) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each edge is there."""
        return self._side.has(src, dst)


def current_sides(state: Callable[[], State], memory: int | None) -> Sides:
    """All of them. ``memory``: for making in-lists, when they are first asked for."""
    out, into = CurrentSide(state, "out"), CurrentSide(state, "in")
    schema = state().schema

    def incoming() -> CurrentSide | None:
        if not schema.directed:
            return out
        if state().can_reverse:
            state().build_reverse(memory)
        return into if "in" in state().sides else None

    names = tuple(column.name for column in schema.columns)
    return Sides(schema.directed, out, incoming, lambda: state().ids.by_vid(), names)

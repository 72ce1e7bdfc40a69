"""A mark that spreads from vertex to vertex, over lists of both directions in memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.algorithms import _scc_kernels as kernels
from penstock.engine.engine import Engine
from penstock.engine.expansion import Expansion
from penstock.engine.frontiers import open_frontier
from penstock.engine.pull_kernels import ENOUGH, MISSED
from penstock.jit import always_inline, compare_and_swap, prefetch
from penstock.types import U8, U64, Direction


class _Spreading(NamedTuple):
    """A mark that spreads from vertex to vertex."""

    marks: U8
    visited: U64
    mark: np.uint8


@always_inline
def _pass_on(u, v, edge, columns, step, state, alone):  # type: ignore[no-untyped-def]
    """The thread that changes the marks finds the vertex: there is one mark to set."""
    before = state.marks[v]
    return (
        before & state.mark == 0
        and compare_and_swap(state.marks, v, before, before | state.mark) == before
    )


@always_inline
def _look_for(v, u, place, left, step, state, alone):  # type: ignore[no-untyped-def]
    if state.marks[u] & state.mark == 0:
        return MISSED
    state.marks[v] |= state.mark
    return ENOUGH


@always_inline
def _fetch(v, state):  # type: ignore[no-untyped-def]
    prefetch(state.marks, v)


SPREAD = Expansion(_pass_on, _look_for, _fetch)


def spread(
    engine: Engine, marks: U8, direction: Direction, among: np.uint8, mark: np.uint8
) -> None:
    """Give a mark to all vertices with the marks of ``among`` that those which have it reach along
    lists of a direction through each other.
    """
    visited = engine.vertex_set("visited")
    state = _Spreading(marks, visited, mark)
    frontier = open_frontier(engine, SPREAD, state, directions=(direction,))
    engine.map_ranges(kernels.begin, marks, among, mark, visited, frontier.bits)
    frontier.resume(0)
    while frontier.count:
        frontier.expand(frontier.choose())
    frontier.free()
    engine.free("visited")

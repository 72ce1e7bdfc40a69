"""Frontiers over lists in memory, in tiers and on a stream, against sets in plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from engine_making import build, options

from penstock.engine import direction
from penstock.engine.engine import Engine
from penstock.engine.expansion import Expansion, is_set
from penstock.engine.frontier import Frontier
from penstock.engine.frontiers import open_frontier
from penstock.engine.needs import Needs
from penstock.engine.planning import open_engine
from penstock.engine.pull_kernels import ENOUGH, MISSED
from penstock.jit import always_inline, compare_and_swap
from penstock.store.graph import Graph
from penstock.types import Array, Direction

FORMS = ["memory", "heads", "stream"]


class Reached(NamedTuple):
    """The step at which each vertex was found, -1 if it was not."""

    steps: Array
    visited: Array


@always_inline
def look(v, u, place, left, step, state, alone):  # type: ignore[no-untyped-def]
    if not is_set(state.visited, u):
        return MISSED
    state.steps[v] = step
    return ENOUGH


@always_inline
def claim(u, v, edge, columns, step, state, alone):  # type: ignore[no-untyped-def]
    if state.steps[v] != np.int32(-1):
        return False
    return compare_and_swap(state.steps, v, np.int32(-1), step) == np.int32(-1)


REACH = Expansion(claim, look)


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("frontier") / "g", directed=request.param)


def opened(graph: Graph, form: Any, **how: Any) -> Engine:
    both: tuple[Direction, ...] = ("out", "in") if graph.directed else ("out",)
    heads = 2 if form == "heads" else None
    return open_engine(graph, options(**how), Needs(both, 1.0, forms=(form,), head_edges=heads))


def begun(engine: Engine, sources: list[int], follow: Direction = "out") -> Frontier:
    steps = engine.array("steps", np.int32, -1)
    frontier = open_frontier(
        engine, REACH, Reached(steps, engine.vertex_set("visited")), directions=(follow,)
    )
    steps[sources] = 0
    frontier.start(np.array(sources, np.uint32))
    return frontier


def neighbours_of(graph: Graph, follow: Direction) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for part in graph.iter_adjacency(follow):
        ends = np.cumsum(part.degrees)
        for k, (end, degree) in enumerate(zip(ends, part.degrees, strict=True)):
            # A long list comes in parts.
            found.setdefault(part.first_vid + k, []).extend(part.neighbours[end - degree : end])
    return found


def plain_steps(lists: dict[int, list[int]], sources: list[int]) -> dict[int, int]:
    found, frontier, step = dict.fromkeys(sources, 0), list(sources), 0
    while frontier:
        step += 1
        new = {v for u in frontier for v in lists[u]} - found.keys()
        found |= dict.fromkeys(new, step)
        frontier = list(new)
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", ["top-down", "bottom-up", "cheaper", "in turn"])
@pytest.mark.parametrize("small", [0, 1 << 18], ids=["all threads", "one thread"])
def test_the_same_wherever_lists_are(graph, form, mode, small, monkeypatch):
    monkeypatch.setattr(direction, "SMALL_EDGES", small)
    monkeypatch.setattr(direction, "TINY_EDGES", min(small, 1 << 12))
    follow: Direction = "out"
    lists, sources = neighbours_of(graph, follow), [3, 50, 700]
    expected = plain_steps(lists, sources)
    with opened(graph, form, threads=3) as engine:
        frontier = begun(engine, sources)
        ways = {"cheaper": frontier.choose, "in turn": lambda: turns[frontier.step % 2]}
        turns = ("bottom-up", "top-down")
        while frontier.count:
            level = [v for v, step in expected.items() if step == frontier.step]
            assert frontier.count == len(level)
            left = {v for v in lists if v not in expected or expected[v] > frontier.step}
            if frontier.can_pull:
                assert frontier.edges == sum(len(lists[v]) for v in level)
                assert frontier.unexplored == sum(len(lists[v]) for v in left)
            chosen = ways.get(mode, lambda: mode)()
            frontier.expand(chosen if frontier.can_pull else "top-down", 1)
        found = frontier.state.steps
    assert {v: int(found[v]) for v in np.flatnonzero(found >= 0).tolist()} == expected


@pytest.mark.parametrize("form", FORMS)
def test_against_the_edges(graph, form):
    expected = plain_steps(neighbours_of(graph, "in"), [9])
    with opened(graph, form) as engine:
        frontier = begun(engine, [9], "in")
        while frontier.count:
            frontier.expand(frontier.choose())
        found = frontier.state.steps
    assert {v: int(found[v]) for v in np.flatnonzero(found >= 0).tolist()} == expected


@pytest.mark.parametrize("form", FORMS)
def test_it_begins_with_what_was_found_before(graph, form):
    expected = plain_steps(neighbours_of(graph, "out"), [9])
    with opened(graph, form) as engine:
        frontier = begun(engine, [9])
        frontier.expand("top-down", 1)
        steps, at = frontier.state.steps.copy(), frontier.step
        known = (frontier.count, frontier.edges, frontier.unreached, frontier.unexplored)
    with opened(graph, form) as engine:
        again = engine.array("steps", np.int32)
        again[:] = steps
        visited = engine.vertex_set("visited")
        frontier = open_frontier(engine, REACH, Reached(again, visited))
        for bits, members in ((visited, steps >= 0), (frontier.bits, steps == at)):
            for v in np.flatnonzero(members).tolist():
                bits[v // 64] |= np.uint64(1) << np.uint64(v % 64)
        frontier.resume(at)
        assert known == (frontier.count, frontier.edges, frontier.unreached, frontier.unexplored)
        while frontier.count:
            frontier.expand(frontier.choose())
        frontier.free()
        engine.free("visited")
        assert set(engine.budget.holders) & {"state 'queue'", "state 'next bits'"} == set()
    assert {v: int(again[v]) for v in np.flatnonzero(again >= 0).tolist()} == expected


def test_edges_of_several_threads_find_a_vertex_once(tmp_path: Path) -> None:
    # Every vertex of the frontier leads to every vertex of the next one.
    src, dst = (each.ravel() for each in np.meshgrid(np.arange(1, 300), np.arange(300, 900)))
    src, dst = np.append(src, np.zeros(299, int)), np.append(dst, np.arange(1, 300))
    given = (src, dst, np.ones(len(src), np.int32))
    graph = build(tmp_path / "g", given=given, directed=True)
    with (
        opened(graph, "memory", threads=4) as engine,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(direction, "SMALL_EDGES", 0)
        patch.setattr(direction, "TINY_EDGES", 0)
        lists = neighbours_of(graph, "out")
        root = next(v for v, each in lists.items() if len(each) == 299)
        frontier = begun(engine, [root])
        frontier.expand("top-down", 1)
        frontier.expand("top-down", 1)
        assert frontier.count == 600
        assert sorted(frontier.listed.tolist()) == sorted(
            np.flatnonzero(frontier.state.steps == 2).tolist()
        )

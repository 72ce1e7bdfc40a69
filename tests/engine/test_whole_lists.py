"""Whole lists of groups and of spans of vertices, gathered or where they are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_making import build, options

from penstock.engine.engine import Engine
from penstock.engine.needs import Needs, Room
from penstock.engine.planning import open_engine
from penstock.engine.whole_lists import (
    SPAN_WORDS,
    WholeLists,
    all_sides,
    degrees_of,
    gather,
    least_bytes,
)
from penstock.jit import kernel
from penstock.store.graph import Graph


@kernel
def add_up(begin, end, first, offsets, neighbours, others, other_neighbours, sums, seen):  # type: ignore[no-untyped-def]
    for i in range(begin, end):
        v = np.int64(first) + i
        seen[v] += 1
        for e in range(offsets[i], offsets[i + 1]):
            sums[v] += neighbours[e] + 1
        for e in range(others[i], others[i + 1]):
            sums[v] += other_neighbours[e] + 1
    return end - begin


@kernel
def add_some(begin, end, vertices, offsets, neighbours, sums):  # type: ignore[no-untyped-def]
    for i in range(begin, end):
        for e in range(offsets[i], offsets[i + 1]):
            sums[vertices[i]] += neighbours[e] + 1


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("whole") / "g", directed=request.param)


def opened(graph: Graph, room: int, **given: Any) -> Engine:
    needs = Needs(graph.directions, 1.0, room=Room(room, room))
    return open_engine(graph, options(**given), needs)


def expected(graph: Graph) -> Any:
    """For each vertex the sum of its neighbours, each as its number and one."""
    sums = np.zeros(graph.num_vertices, np.int64)
    for direction in graph.directions:
        for part in graph.iter_adjacency(direction):
            vertices = np.arange(part.first_vid, part.first_vid + len(part.degrees))
            np.add.at(sums, np.repeat(vertices, part.degrees), part.neighbours.astype(int) + 1)
    return sums


@pytest.mark.parametrize("load", [True, False])
@pytest.mark.parametrize("room", [0, 60_000, 10_000_000])
@pytest.mark.parametrize("shares", [{}, {"share": 50}, {"share": 50, "long_at_once": 1}])
def test_every_vertex_once_with_its_whole_lists(
    graph: Graph, *, load: bool, room: int, shares: dict[str, int]
) -> None:
    sums, seen = (np.zeros(graph.num_vertices, np.int64) for _ in range(2))
    with opened(graph, room, load=load) as engine:
        lists = WholeLists(engine)
        counts = lists.map(add_up, sums, seen, **shares)
    assert sum(counts) == graph.num_vertices
    assert (seen == 1).all()
    assert (sums == expected(graph)).all()


@pytest.mark.parametrize("room", [0, 60_000])
def test_spans_fit_the_room_and_end_with_pages(graph: Graph, room: int) -> None:
    with opened(graph, room, load=False) as engine:
        lists = WholeLists(engine)
        spans, words = lists._spans, max(room, least_bytes(engine.counts)) // 4
    held = np.full(graph.num_vertices, SPAN_WORDS)
    for direction in graph.directions:
        held += np.asarray(graph.degrees(direction))
    sizes = np.add.reduceat(held, spans[:-1])
    assert spans[0] == 0
    assert spans[-1] == graph.num_vertices
    assert len(spans) > 3
    assert (sizes <= words).all()
    firsts = graph.page_table(graph.directions[0])["first_vid"]
    for begin, end in pairwise(spans[:-1]):
        assert end in firsts or not ((firsts > begin) & (firsts < end)).any()


def test_groups_that_fit_are_gathered(graph: Graph) -> None:
    sums = np.zeros(graph.num_vertices, np.int64)
    with opened(graph, 60_000, load=False) as engine:
        lists = WholeLists(engine)
        held = engine.held("gathered lists")
        groups = np.arange(len(lists.sizes))[::2]
        chosen = groups[: lists.fitting(groups)]
        assert 1 < len(chosen) < len(groups)
        whole = lists.gather(chosen.tolist())
        lists.run(whole, add_some, sums)
        lists.close()
        assert held == engine.plan.room
        assert engine.held("gathered lists") == 0
    inside = np.zeros(graph.num_vertices, bool)
    inside[whole.vertices] = True
    assert (sums[inside] == expected(graph)[inside]).all()
    assert not sums[~inside].any()


def test_lists_and_degrees_of_some(graph: Graph) -> None:
    vertices = np.array([0, 1, 7, 8, 9, graph.num_vertices - 1], np.uint32)
    with opened(graph, 0, load=False) as engine:
        whole = gather(engine, vertices)
    degrees = sum(degrees_of(graph, each, vertices).astype(int) for each in graph.directions)
    assert np.diff(whole.offsets).tolist() == np.asarray(degrees).tolist()
    for i, v in enumerate(vertices):
        mine = whole.neighbours[whole.offsets[i] : whole.offsets[i + 1]]
        assert int(mine.astype(int).sum()) + len(mine) == expected(graph)[v]


def test_lists_in_memory_are_not_copied(graph: Graph, tmp_path: Path) -> None:
    with opened(graph, 0, load=True) as engine:
        sides = all_sides(engine)
        assert sides[1] is not sides[3] or not graph.directed
        assert sides[0] is all_sides(engine)[0]
        assert len(sides[0]) == graph.num_vertices + 1

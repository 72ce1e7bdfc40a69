"""Breadth-first search against NetworkX, by its own verifier, and over every kind of list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import SMALL, WAY_NAMES, WAYS, build, edges, stopping_after

import penstock as ps
from penstock.algorithms._levels import pulling_pays
from penstock.algorithms.bfs import verify
from penstock.errors import FormatError, IdError, VerificationError


@settings(max_examples=60)
@given(SMALL, st.booleans(), st.data())
def test_equals_networkx(shape, directed, data):
    n, pairs = shape
    source = data.draw(st.integers(0, n - 1))
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    graph = ps.from_edges(src, dst, directed=directed, num_vertices=n)
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(n))
    other.add_edges_from(pairs)
    levels = nx.single_source_shortest_path_length(other, source)
    found = ps.bfs(graph, source)
    assert found.values.tolist() == [levels.get(v, -1) for v in range(n)]
    verify(graph, found)


KINDS = {
    "directed": {},
    "undirected": {"directed": False},
    "out-lists only": {"directions": "out"},
    "as given": {"directed": False, "vertex_order": "none", "neighbour_order": "input"},
    "nearest first": {"neighbour_order": "degree"},
}


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def graph(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("bfs") / "g", edges(), num_vertices=7000, **request.param)


def test_every_way_gives_the_same(graph):
    first = ps.bfs(graph, 7, **WAYS[0])
    verify(graph, first)
    assert first.values.max() > 100
    for way in WAYS[1:]:
        found = ps.bfs(graph, 7, **way)
        np.testing.assert_array_equal(found.values, first.values)
        np.testing.assert_array_equal(found.parents, first.parents)


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
def test_levels_are_found_both_ways(way, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    modes = {row["mode"] for row in ps.bfs(graph, 7, **way).iterations}
    assert modes == {"top-down", "bottom-up"}
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"


@pytest.mark.parametrize("order", ["id", "input"])
@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
def test_the_parts_of_a_long_list_agree_on_a_parent(way, order, tmp_path):
    # The source knows 100 vertices that all know each other; each of them knows the hub, whose list
    # takes several pages. So the hub looks for its parent in several parts at once.
    rng = np.random.default_rng(3)
    hub, source = 5000, 5001
    clique = rng.choice(4000, 100, replace=False)
    within = [each.ravel() for each in np.meshgrid(clique, clique)]
    spokes = rng.permutation(4000)
    src = np.concatenate([within[0], np.full(len(spokes), hub), np.full(100, source)])
    dst = np.concatenate([within[1], spokes, clique])
    graph = build(
        tmp_path / "g", (src, dst), directed=False, vertex_order="none", neighbour_order=order
    )
    assert (graph.page_table("out")["run"] > 0).any()
    for _ in range(5):
        found = ps.bfs(graph, source, **way)
        assert found.iterations[1]["mode"] == "bottom-up"
        assert found[hub] == 2
        assert found.parents[found.ids == hub] == clique.min()


def test_a_streamed_directed_graph_is_read_in_one_direction(tmp_path):
    graph = build(tmp_path / "g", edges())
    rows = ps.bfs(graph, 7, load=False).iterations
    assert {row["mode"] for row in rows} == {"top-down"}


def test_when_bottom_up_pays():
    assert pulling_pays(1000, 10_000, 1000, resident=True)
    assert not pulling_pays(1000, 20_000, 1000, resident=True), "most edges are still ahead"
    assert not pulling_pays(10, 0, 1000, resident=True), "the frontier is a handful"
    assert pulling_pays(1001, 1000, 10**9, resident=False)
    assert not pulling_pays(1000, 1000, 10**9, resident=False)


@pytest.mark.parametrize("directed", [True, False])
def test_sources_with_nothing_around(directed):
    alone = ps.from_edges([], [], directed=directed, num_vertices=1)
    assert ps.bfs(alone, 0).parents.tolist() == [0]
    loop = ps.from_edges([1, 0], [1, 2], directed=directed, num_vertices=4)
    found = ps.bfs(loop, 1)
    assert found.values.tolist() == [-1, 0, -1, -1]
    assert found.parents.tolist() == [-1, 1, -1, -1]
    verify(loop, found)


def test_string_ids():
    graph = ps.from_edges(["b", "b", "c"], ["a", "c", "d"])
    found = ps.bfs(graph, "b")
    assert found.values.tolist() == [1, 0, 1, 2]
    assert found.parents.tolist() == ["b", "b", "b", "c"]
    verify(graph, found)


def test_what_cannot_be(tmp_path):
    with pytest.raises(IdError, match="source"):
        ps.bfs(ps.from_edges([0], [1]), 2)
    backwards = build(tmp_path / "g", (np.array([0]), np.array([1])), directions="in")
    with pytest.raises(FormatError, match="out-lists"):
        ps.bfs(backwards, 0)


@pytest.mark.parametrize("way", WAYS[1:3], ids=WAY_NAMES[1:3])
@pytest.mark.parametrize("step", [1, 2, 50])
def test_it_goes_on_where_it_stopped(way, step, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    whole = ps.bfs(graph, 7, **way)
    with pytest.raises(KeyboardInterrupt), stopping_after(step):
        ps.bfs(graph, 7, checkpoint=tmp_path / "c", checkpoint_every=1, **way)
    rest = ps.bfs(graph, 7, checkpoint=tmp_path / "c", resume=True, **way)
    assert len(rest.iterations) == len(whole.iterations) - step
    np.testing.assert_array_equal(rest.values, whole.values)
    np.testing.assert_array_equal(rest.parents, whole.parents)


@pytest.mark.parametrize(
    ("column", "place", "value"),
    [("level", 3, 1), ("level", 3, 5), ("level", 5, 2), ("level", 0, 1), ("level", 3, -1),
     ("parents", 3, 0), ("parents", 3, 2), ("parents", 3, -1), ("level", 5, 0)],
)  # fmt: skip
def test_the_verifier_notices(column, place, value):
    # 0 -> 1, 2 -> 3 -> 4, and 5 apart; in the order given, so that 1 is the parent of 3.
    graph = ps.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], num_vertices=6, vertex_order="none")
    found = ps.bfs(graph, 0)
    verify(graph, found)
    changed = getattr(found, column)
    assert changed[place] != value
    changed[place] = value
    with pytest.raises(VerificationError, match="bfs"):
        verify(graph, found)

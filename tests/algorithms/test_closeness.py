"""Closeness against NetworkX, by its own verifier, and over every kind of list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import COMMON_KINDS, SMALL, WAYS, build, edges, small_graph, stopping_after

import penstock as ps
from penstock.algorithms import closeness
from penstock.algorithms._multi_source import pushing_pays
from penstock.algorithms._sources import all_or_some
from penstock.algorithms.closeness import verify
from penstock.engine.direction import IN_MEMORY, STREAMED
from penstock.errors import InputError, OptionError, VerificationError


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_equals_networkx(shape, directed, weighted, improved, load):
    n, pairs = shape
    weights = np.random.default_rng(len(pairs)).integers(0, 9, len(pairs)) / 2
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    graph = ps.from_edges(src, dst, weights, directed=directed, num_vertices=n)
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(n))
    for (u, v), weight in zip(pairs, weights.tolist(), strict=True):
        other.add_edge(u, v, weight=weight)
    expected = nx.closeness_centrality(
        other, distance="weight" if weighted else None, wf_improved=improved
    )
    found = ps.closeness(graph, wf_improved=improved, weight=weighted, load=load)
    assert found.values.tolist() == [expected[v] for v in range(n)]  # halves add up exactly
    verify(graph, found)


@settings(max_examples=20)
@given(SMALL, st.booleans(), st.booleans(), st.data())
def test_estimates_are_what_they_are_said_to_be(shape, directed, improved, data):
    n, pairs = shape
    k, seed = data.draw(st.integers(1, n)), data.draw(st.integers(0, 3))
    graph = small_graph(shape, directed=directed)
    found = ps.closeness(graph, k, seed, improved)
    other = (nx.DiGraph if directed else nx.Graph)(pairs)
    other.add_nodes_from(range(n))
    pivots = np.random.default_rng(seed).choice(n, k, replace=False).tolist()
    for v in range(n):
        others = [s for s in pivots if s != v]
        lengths = [nx.shortest_path_length(other, s, v) for s in others if nx.has_path(other, s, v)]
        right = len(lengths) / sum(lengths) if lengths else 0.0
        if improved and lengths:
            right *= len(lengths) / len(others)
        assert found.values[v] == right
    if k == n:
        assert (found.values == ps.closeness(graph, wf_improved=improved).values).all()
    verify(graph, found)


KINDS = {
    **COMMON_KINDS,
    "out-lists only": {"directions": "out"},
    "in-lists only": {"directions": "in"},
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(), num_vertices=7000, **kind)
    assert (graph.page_table(graph.directions[0])["run"] > 0).any(), "no list longer than a page"
    with monkeypatch.context() as patch:
        patch.setattr(closeness, "CACHED_WORDS", 1)
        first = ps.closeness(graph, k=200, seed=3, **WAYS[0])
    verify(graph, first)
    assert first.stats["at_once"] == 64
    assert np.count_nonzero(first.values) > 2500
    for way in WAYS:
        found = ps.closeness(graph, k=200, seed=3, **way)
        assert found.stats["at_once"] > 64
        np.testing.assert_array_equal(found.values, first.values)


def test_estimates_come_near():
    src, dst = np.random.default_rng(4).integers(0, 2000, (2, 6000))
    graph = ps.from_edges(src, dst, directed=False)
    exact = ps.closeness(graph)
    verify(graph, exact)
    streamed = ps.closeness(graph, load=False)
    np.testing.assert_array_equal(streamed.values, exact.values)
    estimate = ps.closeness(graph, k=100)
    error = np.abs(estimate.values - exact.values)
    assert 0 < error.mean() < exact.values.mean() / 50


def test_how_vertices_are_stored_does_not_matter(tmp_path):
    orders = ("none", "degree")
    graphs = [build(tmp_path / order, edges(), vertex_order=order) for order in orders]
    first, second = (ps.closeness(graph, k=100).values for graph in graphs)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_by_weight_every_way_gives_the_same(directed, tmp_path):
    src, dst = edges()
    weights = np.random.default_rng(1).random(len(src))
    graph = build(tmp_path / "g", (src, dst, weights), directed=directed)
    first = ps.closeness(graph, k=5, weight=True, **WAYS[0])
    verify(graph, first)
    assert len(first.iterations) <= first.stats["pivots"] == 5
    for way in WAYS[1:]:
        found = ps.closeness(graph, k=5, weight=True, **way)
        np.testing.assert_array_equal(found.values, first.values)


def test_pushing_is_for_few_edges():
    assert pushing_pays(10, 1000, IN_MEMORY)
    assert not pushing_pays(500, 1000, IN_MEMORY)
    assert pushing_pays(500, 1000, STREAMED)
    assert not pushing_pays(1001, 1000, STREAMED)


def test_vertices_without_a_way_on_are_no_sources(tmp_path):
    spokes = np.arange(1, 1001)
    graph = ps.from_edges(np.zeros(1000, int), spokes)
    found = ps.closeness(graph)
    assert [row["sources"] for row in found.iterations] == [1]
    assert found.values.tolist() == [0.0, *[1 / 1000] * 1000]


def test_without_weights_every_edge_counts_one():
    graph = ps.from_edges([0, 1], [1, 2], directed=False)
    assert ps.closeness(graph, weight=True).values.tolist() == [2 / 3, 1.0, 2 / 3]


def test_ids_of_the_user():
    graph = ps.from_edges(["b", "d", "e"], ["c", "a", "a"])
    found = ps.closeness(graph)
    assert found.ids.tolist() == ["a", "b", "c", "d", "e"]
    assert found.values.tolist() == [0.5, 0, 0.25, 0, 0]
    verify(graph, found)


def test_a_loop_has_no_length():
    loop = ps.from_edges([0], [0], [2.0], num_vertices=1)
    assert ps.closeness(loop, k=1, weight=True).values.tolist() == [0]


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("load", [True, False])
def test_duplicates_and_loops_do_no_harm(weight, load):
    src, dst = np.tile([0, 1, 2, 2], 50), np.tile([1, 1, 3, 2], 50)
    graph = ps.from_edges(
        src, dst, np.tile([3, 1, 2, 1], 50) + np.repeat(np.arange(50), 4), duplicates="keep",
        directed=False, num_vertices=5,
    )  # fmt: skip
    found = ps.closeness(graph, weight=weight, load=load)
    lengths = (3, 3, 2, 2) if weight else (1, 1, 1, 1)
    assert found.values.tolist() == [*((1 / length) * 0.25 for length in lengths), 0]
    verify(graph, found)


@pytest.mark.parametrize("weight", [False, True], ids=["levels", "weights"])
def test_it_goes_on_where_it_stopped(weight, tmp_path, monkeypatch):
    monkeypatch.setattr(closeness, "CACHED_WORDS", 1)
    # A search by weight takes fewer steps here than there are sources.
    spokes = np.arange(1, 501)
    graph = build(tmp_path / "g", (np.zeros(500, int), spokes, np.ones(500)), directed=False)
    options = {"k": 20 if weight else 500, "weight": weight}
    whole = ps.closeness(graph, **options)
    step = 12 if weight else 3
    place = {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    for then in (WAYS[1], WAYS[2]):
        with pytest.raises(KeyboardInterrupt), stopping_after(step):
            ps.closeness(graph, **options, **place)
        rest = ps.closeness(graph, **options, **place, resume=True, **then)
        done = sum(row["sources"] for row in rest.iterations)
        assert done == options["k"] - step * (1 if weight else 64)
        np.testing.assert_array_equal(rest.values, whole.values)
    with pytest.raises(KeyboardInterrupt), stopping_after(step):
        ps.closeness(graph, **options, **place)
    with pytest.raises(ps.PenstockError, match="seed"):
        ps.closeness(graph, **options, **place, resume=True, seed=1)


def test_a_small_budget(tmp_path):
    graph = ps.generate("rmat", tmp_path / "g", scale=17, edge_factor=16, page_size="64KiB")
    whole = ps.closeness(graph, k=800)
    assert whole.stats["resident"]
    small = ps.closeness(graph, k=800, memory="20MB", streams=1)
    assert not small.stats["resident"]
    assert 64 < small.stats["at_once"] < 400
    assert small.stats["planned_memory"] <= 20_000_000
    np.testing.assert_array_equal(small.values, whole.values)


def test_parameters_that_cannot_be():
    graph = ps.from_edges([0, 1], [1, 2], [1.0, -2.0])
    for k in (0, -1, 4):
        with pytest.raises(OptionError, match=f"k: expected a number from 1 to 3.*{k}"):
            ps.closeness(graph, k=k)
    with pytest.raises(InputError, match="0 or more"):
        ps.closeness(graph, weight=True)
    with pytest.raises(OptionError, match="k: expected"):
        ps.closeness(ps.from_edges([], [], num_vertices=0), k=1)


@pytest.mark.parametrize(
    ("place", "value"), [(0, 0.5), (1, 0.0), (3, 0.1), (2, np.nan), (4, -1), (4, 0.75), (2, 1.5)]
)
@pytest.mark.parametrize("weight", [False, True])
def test_the_verifier_notices(place, value, weight):
    # 0 -> 1 -> 2 <- 4, and 3 alone.
    graph = ps.from_edges([0, 1, 4], [1, 2, 2], [2.0, 1.0, 1.0], num_vertices=5)
    found = ps.closeness(graph, weight=weight)
    verify(graph, found)
    assert found.values[place] != value
    found.values[place] = value
    with pytest.raises(VerificationError, match="closeness"):
        verify(graph, found)


@pytest.mark.parametrize("change", [lambda x: x * 1.001, lambda x: np.where(x > 0.1, 0, x)])
def test_the_verifier_notices_in_a_large_graph(change):
    src, dst = np.random.default_rng(4).integers(0, 2000, (2, 6000))
    graph = ps.from_edges(src, dst, directed=False)
    found = ps.closeness(graph)
    found.values[:] = change(found.values)
    with pytest.raises(VerificationError, match="closeness"):
        verify(graph, found)


def test_pivots_are_ids():
    graph = ps.from_edges([10, 20, 30], [20, 30, 40])
    ids = graph.ids_by_vid()[all_or_some(graph, 2, 7)]
    chosen = np.random.default_rng(7).choice(4, 2, replace=False)
    assert sorted(ids.tolist()) == sorted(((chosen + 1) * 10).tolist())

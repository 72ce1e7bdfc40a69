"""Betweenness of vertices and edges against NetworkX, by their verifiers, over every list."""

from __future__ import annotations

from contextlib import contextmanager

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import COMMON_KINDS, SMALL, WAYS, build, edges, stopping_after

import penstock as ps
from penstock.algorithms import _brandes_whole
from penstock.errors import BudgetError, InputError, OptionError, VerificationError


def both(n, pairs, weights=None, *, directed):
    """The same graph twice: ours and NetworkX's."""
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(n))
    if weights is None:
        other.add_edges_from(pairs)
        return ps.from_edges(src, dst, directed=directed, num_vertices=n), other
    # Of several edges the last counts, for both; undirected ones either way round.
    other.add_weighted_edges_from((u, v, w) for (u, v), w in zip(pairs, weights, strict=True))
    rows = [(u, v, data["weight"]) for u, v, data in other.edges(data=True)]
    src, dst, weight = np.array(rows, float).reshape(-1, 3).T
    ends = src.astype(int), dst.astype(int)
    return ps.from_edges(*ends, weight, directed=directed, num_vertices=n), other


@contextmanager
def sources_as_a_whole(whole=False):
    """Small graphs are taken by the kernel for them, or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_brandes_whole, "SMALL", 1 << 20 if whole else 0)
        yield


def along(result):
    """An edge table as NetworkX gives it."""
    ends = zip(result.src.tolist(), result.dst.tolist(), strict=True)
    return dict(zip(ends, result.values.tolist(), strict=True))


def their_edges(values, *, directed):
    return {(e if directed else (min(e), max(e))): value for e, value in values.items()}


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_equals_networkx(shape, directed, load, normalized, endpoints, whole):
    graph, other = both(*shape, directed=directed)
    options = {"normalized": normalized, "load": load}
    with sources_as_a_whole(whole):
        found = ps.betweenness(graph, endpoints=endpoints, **options)
    wanted = nx.betweenness_centrality(other, normalized=normalized, endpoints=endpoints)
    np.testing.assert_allclose(found.values, [wanted[v] for v in range(shape[0])], atol=1e-12)
    ps.betweenness.verify(graph, found)
    with sources_as_a_whole(whole):
        found = ps.edge_betweenness(graph, **options)
    wanted = nx.edge_betweenness_centrality(other, normalized=normalized)
    assert along(found) == pytest.approx(their_edges(wanted, directed=directed))
    ps.edge_betweenness.verify(graph, found)


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.data())
def test_by_weight_equals_networkx(shape, directed, load, data):
    n, pairs = shape
    few = st.sampled_from([1, 2, 3, 5])
    weights = data.draw(st.lists(few, min_size=len(pairs), max_size=len(pairs)))
    graph, other = both(n, pairs, weights, directed=directed)
    found = ps.betweenness(graph, weight=True, load=load)
    wanted = nx.betweenness_centrality(other, weight="weight")
    np.testing.assert_allclose(found.values, [wanted[v] for v in range(n)], atol=1e-12)
    ps.betweenness.verify(graph, found)
    found = ps.edge_betweenness(graph, weight=True, load=load)
    wanted = nx.edge_betweenness_centrality(other, weight="weight")
    assert along(found) == pytest.approx(their_edges(wanted, directed=directed))
    ps.edge_betweenness.verify(graph, found)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_some_sources_are_scaled_as_networkx_does(directed, normalized, monkeypatch):
    src, dst = edges(60, 150, seed=3)
    graph, other = both(500, list(zip(src.tolist(), dst.tolist(), strict=True)), directed=directed)
    chosen = [3, 10, 55, 70]
    monkeypatch.setattr("random.Random.sample", lambda *_: chosen)
    for endpoints in (False, True):
        found = ps.betweenness(graph, sources=chosen, normalized=normalized, endpoints=endpoints)
        wanted = nx.betweenness_centrality(
            other, k=4, normalized=normalized, endpoints=endpoints, seed=1
        )
        np.testing.assert_allclose(found.values, [wanted[v] for v in range(500)], atol=1e-12)
        ps.betweenness.verify(graph, found)
    found = ps.edge_betweenness(graph, sources=chosen, normalized=normalized)
    wanted = nx.edge_betweenness_centrality(other, k=4, normalized=normalized, seed=1)
    assert along(found) == pytest.approx(their_edges(wanted, directed=directed))
    ps.edge_betweenness.verify(graph, found)


def test_a_single_source_says_nothing_about_itself():
    graph = ps.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    values = ps.betweenness(graph, sources=1).values
    assert np.isnan(values[1])
    assert values[[0, 2, 3]].tolist() == [0, 0.5, 0]


def test_samples_are_the_same_for_a_seed_however_the_graph_is_stored():
    src, dst = edges(300, 600)
    one = ps.from_edges(src, dst, directed=False)
    other = ps.from_edges(src, dst, directed=False, vertex_order="none")
    found = ps.betweenness(one, k=5, seed=4)
    np.testing.assert_allclose(ps.betweenness(other, k=5, seed=4).values, found.values, rtol=1e-12)
    assert found.stats["sources"] == 5
    assert not np.allclose(ps.betweenness(one, k=5, seed=5).values, found.values)
    n = one.num_vertices
    everything = ps.betweenness(one, k=n)
    np.testing.assert_array_equal(everything.values, ps.betweenness(one).values)


def without_the_path(n, m):
    """Edges without the long path, which would be a page for each level."""
    src, dst = edges(n, m)
    short = (src < n) & (dst < n)
    return src[short], dst[short]


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("kind", COMMON_KINDS.values(), ids=COMMON_KINDS)
def test_every_way_gives_the_same(kind, weight, tmp_path, monkeypatch):
    src, dst = without_the_path(6000, 12000)
    weights = np.random.default_rng(3).integers(1, 9, len(src))
    graph = build(tmp_path / "g", (src, dst, weights), num_vertices=6100, **kind)
    chosen = [7, 100]
    monkeypatch.setattr(_brandes_whole, "SMALL", 0)
    for name in ("betweenness", "edge_betweenness"):
        call = getattr(ps, name)
        first = call(graph, sources=chosen, weight=weight, **WAYS[0])
        assert np.nanmax(first.values) > 1e-6
        if name == "betweenness":
            call.verify(graph, first)
        ways = [call(graph, sources=chosen, weight=weight, **way) for way in WAYS[1:]]
        np.testing.assert_array_equal(ways[0].values, first.values)
        # Lists in parts are added up part by part: not to the last bit what they are in memory.
        np.testing.assert_array_equal(ways[1].values, ways[2].values)
        np.testing.assert_allclose(ways[1].values, first.values, rtol=1e-12, atol=1e-18)


def test_edges_of_a_stream_are_verified(tmp_path):
    graph = build(tmp_path / "g", edges(400, 900), directed=False)
    found = ps.edge_betweenness(graph, k=3, load=False, cache_pages=0)
    ps.edge_betweenness.verify(graph, found)
    assert found.edges is found


def test_within_a_budget_that_the_topology_exceeds(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    graph = build(tmp_path / "g", without_the_path(50_000, 400_000), directed=False)
    enough = 57 * graph.num_vertices + 2_600_000
    found = ps.betweenness(graph, k=2, memory=enough)
    assert not found.stats["resident"]
    ps.betweenness.verify(graph, found)
    with pytest.raises(BudgetError):
        ps.edge_betweenness(graph, k=2, memory=enough)


def test_strings_and_next_to_nothing():
    named = ps.from_edges(["b", "c"], ["c", "a"], directed=False)
    assert ps.betweenness(named).values.tolist() == [0.0, 0.0, 1.0]
    assert along(ps.edge_betweenness(named, normalized=False)) == {("a", "c"): 2, ("b", "c"): 2}
    for n in (0, 1, 2):
        graph = ps.from_edges([], [], num_vertices=n)
        assert ps.betweenness(graph).values.tolist() == [0.0] * n
        assert len(ps.edge_betweenness(graph)) == 0


def test_kept_duplicates_are_paths_of_their_own():
    # Two edges from 0 to 1: two of the three paths from 0 to 3 go through 1.
    graph = ps.from_edges([0, 0, 0, 1, 2, 3], [1, 1, 2, 3, 3, 3], duplicates="keep")
    values = ps.betweenness(graph, normalized=False).values
    np.testing.assert_allclose(values, [0, 2 / 3, 1 / 3, 0])
    ps.betweenness.verify(graph, ps.betweenness(graph, normalized=False))


@pytest.mark.parametrize("name", ["betweenness", "edge_betweenness"])
@pytest.mark.parametrize("directed", [True, False])
def test_whole_sources_give_the_same_whatever_the_threads(name, directed, tmp_path):
    call = getattr(ps, name)
    graph = build(tmp_path / "g", edges(400, 1200), directed=directed)
    one = call(graph, threads=1)
    assert one.stats["iterations"] > 3
    np.testing.assert_array_equal(call(graph, threads=3).values, one.values)
    chosen = graph.ids[::90].tolist()
    with sources_as_a_whole():
        slow = call(graph, sources=chosen)
    np.testing.assert_allclose(call(graph, sources=chosen).values, slow.values, rtol=1e-12)


@pytest.mark.parametrize("name", ["betweenness", "edge_betweenness"])
def test_it_goes_on_where_it_stopped(name, tmp_path, monkeypatch):
    monkeypatch.setattr(_brandes_whole, "SMALL", 0)
    call = getattr(ps, name)
    graph = build(tmp_path / "g", edges(500, 1500), directed=False)
    whole = call(graph, k=6)
    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    with pytest.raises(KeyboardInterrupt), stopping_after(4):
        call(graph, k=6, **options)
    rest = call(graph, k=6, resume=True, **options)
    assert len(rest.iterations) == 2
    np.testing.assert_array_equal(rest.values, whole.values)
    with pytest.raises(KeyboardInterrupt), stopping_after(1):
        call(graph, k=6, **options)
    with pytest.raises(ps.PenstockError, match="checkpoint"):
        call(graph, k=6, seed=1, resume=True, **options)


def test_the_verifiers_notice():
    graph = ps.from_edges([0, 1, 1], [1, 2, 3], directed=False)
    found = ps.betweenness(graph)
    found.values[1] += 1e-6
    with pytest.raises(VerificationError, match="betweenness"):
        ps.betweenness.verify(graph, found)
    found = ps.edge_betweenness(graph)
    found.values[0] *= 1.001
    with pytest.raises(VerificationError, match="edge_betweenness: 0 - 1"):
        ps.edge_betweenness.verify(graph, found)
    found = ps.edge_betweenness(graph)
    found.dst[1] = 3
    with pytest.raises(VerificationError, match="not those of the graph"):
        ps.edge_betweenness.verify(graph, found)


def test_what_cannot_be(tmp_path):
    graph = ps.from_edges([0, 1], [1, 2], directed=False)
    for k in (0, -1, 4):
        with pytest.raises(OptionError, match="from 1 to 3"):
            ps.betweenness(graph, k=k)
    with pytest.raises(OptionError, match="one of them"):
        ps.betweenness(graph, k=1, sources=[0])
    with pytest.raises(ps.PenstockError, match="no vertex 9"):
        ps.betweenness(graph, sources=[0, 9])
    circle = ps.from_edges([0, 1, 2], [1, 2, 1], [1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="weight 0"):
        ps.betweenness(circle, weight=True)
    with pytest.raises(ps.PenstockError, match="in-lists"):
        ps.betweenness(build(tmp_path / "g", edges(20, 40), directions="out"))

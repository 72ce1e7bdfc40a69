"""Random walks with restart against NetworkX's personalised PageRank, and over every list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import SMALL, WAYS, build, edges, stopping_after

import penstock as ps
from penstock import config
from penstock.algorithms.rwr import verify
from penstock.errors import ConvergenceError, IdError, InputError, OptionError, VerificationError


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.sampled_from([0.05, 0.15, 1.0]), st.data())
def test_equals_networkx(shape, directed, weight, restart, data):
    n, pairs = shape
    sources = data.draw(st.sets(st.integers(0, n - 1), min_size=1))
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    graph = ps.from_edges(
        src, dst, np.arange(len(src)) % 5 * 1.0, directed=directed, num_vertices=n
    )
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(n))
    rows = [each.tolist() for each in graph.to_edges()]
    other.add_weighted_edges_from(zip(*rows, strict=True))
    expected = nx.pagerank(
        other.to_directed(), 1 - restart, dict.fromkeys(sources, 1), tol=1e-13, max_iter=2000,
        weight="weight" if weight else None,
    )  # fmt: skip
    options = {"restart": restart, "weight": weight, "max_iter": 2000}
    found = ps.rwr(graph, sorted(sources), tol=1e-12, dtype="float64", **options)
    np.testing.assert_allclose(found.values, [expected[v] for v in range(n)], atol=1e-9)
    verify(graph, found)
    short = ps.rwr(graph, sorted(sources), **options)
    np.testing.assert_allclose(short.values, found.values, atol=3e-4)
    np.testing.assert_allclose(short.values.sum(), 1, rtol=1e-5)
    verify(graph, short)


@pytest.mark.parametrize("kind", [{}, {"directed": False}, {"directions": "out"}], ids=str)
def test_every_way_gives_the_same(kind, tmp_path):
    src, dst = edges()
    weights = np.random.default_rng(1).integers(0, 9, len(src))
    graph = build(tmp_path / "g", (src, dst, weights), num_vertices=7000, **kind)
    for weight in (False, True):
        first = ps.rwr(graph, [7, 12], weight=weight, **WAYS[0])
        verify(graph, first)
        # Vertices apart from the sources are never reached.
        assert 1000 < np.count_nonzero(first.values == 0) < 5000
        for way in WAYS[1:]:
            found = ps.rwr(graph, [7, 12], weight=weight, **way)
            np.testing.assert_array_equal(found.values, first.values)


@pytest.mark.parametrize("weight", [False, True])
def test_the_walk_begins_at_its_source(weight):
    graph = ps.from_edges([0, 1, 2], [1, 2, 3], [3.0, 1.0, 2.0])
    walk = [
        ps.rwr(graph, 2, restart=0, tol=0, max_iter=k, weight=weight).values.tolist()
        for k in range(4)
    ]
    assert walk == [[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]]
    alone = ps.rwr(graph, 3, restart=0, tol=0, max_iter=1, weight=weight)
    assert alone.values.tolist() == [0, 0, 0, 1]


def test_it_goes_on_where_it_stopped(tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    whole = ps.rwr(graph, 7)
    with pytest.raises(KeyboardInterrupt), stopping_after(4):
        ps.rwr(graph, 7, checkpoint=tmp_path / "c", checkpoint_every=1)
    rest = ps.rwr(graph, 7, checkpoint=tmp_path / "c", resume=True)
    assert rest.stats["iterations"] == whole.stats["iterations"] - 4
    np.testing.assert_array_equal(rest.values, whole.values)


def test_a_budget_that_does_not_hold_the_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "MIN_BUDGET_BYTES", 1 << 20)
    graph = build(tmp_path / "g", edges(), directed=False)
    whole = ps.rwr(graph, 7)
    found = ps.rwr(graph, 7, memory=whole.stats["planned_memory"] - 1)
    assert whole.stats["resident"]
    assert not found.stats["resident"]
    np.testing.assert_array_equal(found.values, whole.values)


def test_next_to_nothing_and_string_ids():
    alone = ps.from_edges([], [], num_vertices=2)
    assert ps.rwr(alone, 1).values.tolist() == [0, 1]
    loop = ps.from_edges([0], [0], directed=False)
    assert ps.rwr(loop, 0).values.tolist() == [1]
    named = ps.from_edges(["b"], ["a"], directed=False)
    np.testing.assert_allclose(ps.rwr(named, "b")["b"], 1 / 1.85, rtol=1e-4)


def test_kept_duplicates_are_taken_more_often():
    graph = ps.from_edges([0, 0, 0], [1, 1, 2], duplicates="keep")
    found = ps.rwr(graph, 0)
    np.testing.assert_allclose(found[1], 2 * found[2], rtol=1e-6)
    verify(graph, found)


def test_what_cannot_be():
    graph = ps.from_edges([0, 1], [1, 0], [1.0, -2.0])
    with pytest.raises(IdError, match="source"):
        ps.rwr(graph, 9)
    with pytest.raises(OptionError, match="source"):
        ps.rwr(graph, [])
    with pytest.raises(OptionError, match="restart"):
        ps.rwr(graph, 0, restart=1.5)
    with pytest.raises(OptionError, match="max_iter"):
        ps.rwr(graph, 0, max_iter=-1)
    with pytest.raises(InputError, match="rwr: edge 1 - 0"):
        ps.rwr(graph, 0, weight=True)
    with pytest.raises(OptionError, match="no weights"):
        ps.rwr(ps.from_edges([0], [1]), 0, weight=True)
    with pytest.raises(ConvergenceError, match="rwr: after 3 iterations"):
        ps.rwr(graph, 0, max_iter=3)


@pytest.mark.parametrize("place", [0, 1, 3])
def test_the_verifier_notices(place):
    graph = ps.from_edges([0, 1, 2], [1, 2, 0], num_vertices=4)
    found = ps.rwr(graph, 0)
    verify(graph, found)
    found.values[place] += 0.001
    with pytest.raises(VerificationError, match="rwr"):
        verify(graph, found)

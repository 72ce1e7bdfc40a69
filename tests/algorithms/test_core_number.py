"""Core numbers against NetworkX, by their own verifier, and over every kind of list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import (
    COMMON_KINDS,
    SMALL,
    WAY_NAMES,
    WAYS,
    assert_noticed,
    build,
    edges,
    small_graph,
    stopping_after,
)

import penstock as ps
from penstock import config
from penstock.algorithms import _cores
from penstock.algorithms.core_number import verify
from penstock.errors import BudgetError, PenstockError


def peeled(n, pairs):
    """Core numbers by taking away a vertex of the smallest degree; every edge counts."""
    pairs = [(u, v) for u, v in pairs if u != v]
    left, found, level = set(range(n)), [0] * n, 0
    while left:
        degrees = dict.fromkeys(left, 0)
        for u, v in pairs:
            if u in left and v in left:
                degrees[u] += 1
                degrees[v] += 1
        v = min(left, key=degrees.__getitem__)
        level = max(level, degrees[v])
        found[v] = level
        left.remove(v)
    return found


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.sampled_from(["last", "keep"]))
def test_equals_networkx(shape, directed, load, duplicates):
    n, pairs = shape
    graph = small_graph(shape, directed=directed, duplicates=duplicates)
    found = ps.core_number(graph, load=load)
    if duplicates == "keep":
        expected = peeled(n, pairs)
    else:
        other = nx.DiGraph() if directed else nx.Graph()
        other.add_nodes_from(range(n))
        other.add_edges_from((u, v) for u, v in pairs if u != v)
        cores = nx.core_number(other)
        expected = [cores[v] for v in range(n)]
    assert found.values.tolist() == expected
    assert found.values.dtype == np.int32
    verify(graph, found)


KINDS = {
    **COMMON_KINDS,
    "several edges": {"duplicates": "keep"},
    "no loops": {"directed": False, "self_loops": "drop"},
    "directed, as given": {"vertex_order": "none", "neighbour_order": "input"},
}


def tough():
    """Hubs and long paths, with a dense part that is peeled late."""
    src, dst = edges()
    dense = np.argwhere(np.triu(np.random.default_rng(3).random((300, 300)) < 0.4)) * 11
    return np.concatenate((src, dense[:, 0])), np.concatenate((dst, dense[:, 1]))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path, monkeypatch):
    # So that several threads peel, and estimates are counted in two ways.
    monkeypatch.setattr(_cores, "MANY", 1000)
    graph = build(tmp_path / "g", tough(), num_vertices=7000, **kind)
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    first = ps.core_number(graph, **WAYS[0])
    verify(graph, first)
    assert first.values.max() > 40
    assert len(np.unique(first.values)) > 10
    for way in WAYS[1:]:
        found = ps.core_number(graph, **way)
        np.testing.assert_array_equal(found.values, first.values)


def test_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "MIN_BUDGET_BYTES", 1)
    rng = np.random.default_rng(1)
    arrays = (rng.integers(0, 40_000, 400_000), rng.integers(0, 40_000, 400_000) ** 2 // 40_000)
    graph = build(tmp_path / "g", arrays, directed=False)
    whole = ps.core_number(graph)
    assert whole.stats["resident"]
    passes = []
    for memory in (3_100_000, 2_550_000):
        found = ps.core_number(graph, memory=memory, threads=1, cache_pages=0)
        assert not found.stats["resident"]
        np.testing.assert_array_equal(found.values, whole.values)
        passes.append(found.stats["pages_read"] / len(graph.page_table("out")))
    # More room, fewer pages.
    assert 1 < passes[0] < passes[1] < 12
    with pytest.raises(BudgetError, match="requires at least"):
        ps.core_number(graph, memory=2_300_000, threads=1)


def test_a_list_with_more_estimates_than_places(tmp_path):
    # Two vertices with 20,000 edges between them, and one with as many to others.
    many = np.arange(20_000)
    src = np.concatenate((np.zeros(20_000, int), np.full(20_000, 2)))
    dst = np.concatenate((np.ones(20_000, int), 3 + many))
    graph = build(tmp_path / "g", (src, dst), directed=False, duplicates="keep")
    assert _cores.PLACES < 20_000 / 2
    for way in WAYS:
        found = ps.core_number(graph, **way)
        assert found.values[:3].tolist() == [20_000, 20_000, 1]
        assert (found.values[3:] == 1).all()


@pytest.mark.parametrize("load", [True, False])
def test_long_paths_and_rings(load):
    # What is taken away from the ends of a path goes all the way; a ring stays.
    n = 3000
    path = np.random.default_rng(2).permutation(n)
    graph = ps.from_edges(path[:-1], path[1:], directed=False, vertex_order="none")
    assert (ps.core_number(graph, load=load).values == 1).all()
    graph = ps.from_edges(path, np.roll(path, 1), directed=False, vertex_order="none")
    assert (ps.core_number(graph, load=load).values == 2).all()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("load", [True, False])
def test_next_to_nothing(directed, load):
    for n in (0, 1, 2):
        graph = ps.from_edges([], [], directed=directed, num_vertices=n)
        assert ps.core_number(graph, load=load).values.tolist() == [0] * n
    loop = ps.from_edges([0, 0], [0, 1], directed=directed, num_vertices=3)
    assert ps.core_number(loop, load=load).values.tolist() == [1, 1, 0]
    alone = ps.from_edges([0], [0], directed=directed)
    assert ps.core_number(alone, load=load).values.tolist() == [0]


def test_ids_are_those_of_the_user():
    named = ps.from_edges(["d", "b", "c", "a"], ["b", "c", "d", "d"], directed=False)
    found = ps.core_number(named)
    assert dict(zip(found.ids, found.values.tolist(), strict=True)) == {
        "a": 1, "b": 2, "c": 2, "d": 2,
    }  # fmt: skip


def test_an_edge_each_way_counts_twice():
    graph = ps.from_edges([0, 1, 1], [1, 0, 2])
    assert ps.core_number(graph).values.tolist() == [2, 2, 1]


@pytest.mark.parametrize("direction", ["out", "in"])
def test_both_directions_are_needed(direction, tmp_path):
    graph = build(tmp_path / "g", (np.array([0, 1]), np.array([1, 2])), directions=direction)
    with pytest.raises(PenstockError, match="rebuild it with both directions"):
        ps.core_number(graph)


@pytest.mark.parametrize("then", [WAYS[1], WAYS[3]], ids=["in memory", "streamed"])
def test_it_goes_on_where_it_stopped(then, tmp_path):
    graph = build(tmp_path / "g", tough(), directed=False)
    whole = ps.core_number(graph)
    steps = len(ps.core_number(graph, **WAYS[2]).iterations)
    with pytest.raises(KeyboardInterrupt), stopping_after(3):
        ps.core_number(graph, checkpoint=tmp_path / "c", checkpoint_every=1, **WAYS[2])
    rest = ps.core_number(graph, checkpoint=tmp_path / "c", resume=True, **then)
    np.testing.assert_array_equal(rest.values, whole.values)
    if not then["load"]:
        assert len(rest.iterations) < steps
    # It is removed when the run ends.
    assert not list((tmp_path / "c").glob("*"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({2: 1}, "core number 2 has 1"),
        ({0: 3}, "core number 3 has"),
        ({3: 2}, "core number 2 has"),
        ({4: 1}, "core number 1 has"),
        ({0: 1, 1: 1, 2: 1}, "core of a larger number"),
        ({3: 0}, "core of a larger number"),
    ],
    ids=str,
)
def test_the_verifier_notices(change, message):
    # A triangle with a tail, and a vertex alone.
    graph = ps.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False, num_vertices=5)
    found = ps.core_number(graph)
    assert found.values.tolist() == [2, 2, 2, 1, 0]
    assert_noticed(verify, graph, found, change, f"core_number: .*({message})")


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
def test_kept_edges_count_as_often(way):
    src, dst = np.tile([0, 1, 2, 2], 50), np.tile([1, 1, 3, 2], 50)
    graph = ps.from_edges(src, dst, duplicates="keep", num_vertices=5)
    found = ps.core_number(graph, **way)
    assert found.values.tolist() == [50, 50, 50, 50, 0]
    verify(graph, found)

"""Greedy colouring against NetworkX, by its own verifier, and over every kind of list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import (
    COMMON_KINDS,
    SMALL,
    WAYS,
    assert_noticed,
    build,
    edges,
    small_graph,
    stopping_after,
)

import penstock as ps
from penstock import config
from penstock.algorithms import _coloring
from penstock.algorithms.color import verify
from penstock.errors import BudgetError, OptionError, PenstockError, VerificationError

STRATEGIES = ["largest_first", "id", "random"]


def expected(n, pairs, strategy, seed, *, directed):
    """What NetworkX says for the same order; loops count once in an undirected degree here."""
    other = nx.Graph()
    other.add_nodes_from(range(n))
    other.add_edges_from(pairs)
    kept = set(pairs) if directed else {tuple(sorted(pair)) for pair in pairs}
    degrees = [0] * n
    for u, v in kept:
        degrees[u] += 1
        degrees[v] += u != v or directed
    orders = {
        "largest_first": sorted(range(n), key=lambda v: (-degrees[v], v)),
        "id": list(range(n)),
        "random": shuffled(n, seed),
    }
    colours = nx.greedy_color(other, lambda graph, colours: orders[strategy])
    return [colours[v] for v in range(n)]


def shuffled(n, seed):
    """Fisher and Yates, with numbers of splitmix64."""
    order, mask = list(range(n)), (1 << 64) - 1
    for k in range(n - 1, 0, -1):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        x = ((seed ^ seed >> 30) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & mask
        other = ((x ^ x >> 31) >> 32) * (k + 1) >> 32
        order[k], order[other] = order[other], order[k]
    return order


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.sampled_from(STRATEGIES), st.integers(0, 3))
def test_equals_networkx(shape, directed, load, strategy, seed):
    n, pairs = shape
    graph = small_graph(shape, directed=directed)
    found = ps.color(graph, strategy, seed, load=load)
    assert found.values.tolist() == expected(n, pairs, strategy, seed, directed=directed)
    assert found.values.dtype == np.int32
    assert found.stats["colors"] == found.values.max() + 1
    verify(graph, found)


KINDS = {
    **COMMON_KINDS,
    "several edges": {"duplicates": "keep"},
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, strategy, tmp_path, monkeypatch):
    monkeypatch.setattr(_coloring, "STEP_VERTICES", 2000)
    graph = build(tmp_path / "g", edges(), num_vertices=7000, **kind)
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    first = ps.color(graph, strategy, **WAYS[0])
    verify(graph, first)
    assert len(np.unique(first.values)) > 4
    for way in WAYS[1:]:
        found = ps.color(graph, strategy, **way)
        assert len(found.iterations) > 1
        np.testing.assert_array_equal(found.values, first.values)


def test_a_stream_in_order_of_degrees_is_read_once(tmp_path):
    # Vertices are stored by the degrees of the input, so without anything that is dropped.
    pairs = np.sort(np.stack(edges()), axis=0)
    src, dst = np.unique(pairs[:, pairs[0] < pairs[1]], axis=1)
    graph = build(tmp_path / "g", (src, dst), directed=False)
    pages = np.count_nonzero(graph.page_table("out")["num_edges"])
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    found = ps.color(graph, load=False, cache_pages=0)
    assert len(found.iterations) == 1
    assert found.stats["pages_read"] == pages
    np.testing.assert_array_equal(found.values, ps.color(graph).values)
    verify(graph, found)
    other = ps.color(graph, "random", load=False, cache_pages=0)
    assert (
        pages
        < other.stats["pages_read"]
        <= pages * ps.color.requirements(graph, strategy="id")[-1].passes
    )


def test_windows_with_more_edges_inside_than_was_guessed(tmp_path):
    # Neighbours have their turns one after the other.
    n = 6000
    src = np.repeat(np.arange(n), 12)
    dst = (src + np.tile(np.arange(1, 13), n)) % n
    kind = {"vertex_order": "none", "neighbour_order": "input"}
    graph = build(tmp_path / "g", (src, dst), directed=False, **kind)
    pages = np.count_nonzero(graph.page_table("out")["num_edges"])
    for way in WAYS[2:]:
        found = ps.color(graph, "id", **way)
        assert found.stats["pages_read"] + found.stats["cache_hits"] > pages
        np.testing.assert_array_equal(found.values, ps.color(graph, "id").values)
        verify(graph, found)


def test_a_stream_in_order_goes_on_from_anywhere(tmp_path):
    n = 3000
    src = np.repeat(np.arange(n), 5)
    dst = (src + np.tile(np.arange(1, 6), n)) % n
    graph = build(tmp_path / "g", (src, dst), directed=False, vertex_order="none")
    whole = ps.color(graph, "id")
    options = {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_coloring, "STEP_VERTICES", 1234)
        with pytest.raises(KeyboardInterrupt), stopping_after(1):
            ps.color(graph, "id", **options)
    rest = ps.color(graph, "id", load=False, resume=True, **options)
    assert rest.iterations[0]["active"] == n - 1234
    np.testing.assert_array_equal(rest.values, whole.values)


def test_seeds_make_other_orders():
    rng = np.random.default_rng(4)
    graph = ps.from_edges(rng.integers(0, 500, 4000), rng.integers(0, 500, 4000), directed=False)
    values = [ps.color(graph, "random", seed).values for seed in (0, 0, 1, -1)]
    np.testing.assert_array_equal(values[0], values[1])
    assert (values[0] != values[2]).any()
    assert (values[2] != values[3]).any()


def test_colours_of_known_graphs():
    clique = np.argwhere(np.triu(np.ones((30, 30)), 1)).T
    assert sorted(ps.color(ps.from_edges(*clique)).values.tolist()) == list(range(30))
    n = 1000
    star = ps.from_edges(np.zeros(n, int), np.arange(1, n + 1), directed=False)
    assert ps.color(star).values.tolist() == [0] + [1] * n
    ring = ps.from_edges(np.arange(n), (np.arange(n) + 1) % n, directed=False)
    assert ps.color(ring, "id").stats["colors"] == 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_little_memory(strategy, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "MIN_BUDGET_BYTES", 1)
    rng = np.random.default_rng(1)
    arrays = (rng.integers(0, 40_000, 400_000), rng.integers(0, 40_000, 400_000) ** 2 // 40_000)
    graph = build(tmp_path / "g", arrays, directed=False)
    whole = ps.color(graph, strategy)
    assert whole.stats["resident"]
    found = ps.color(graph, strategy, memory=2_700_000, threads=1, cache_pages=0)
    assert not found.stats["resident"]
    np.testing.assert_array_equal(found.values, whole.values)
    with pytest.raises(BudgetError, match="requires at least"):
        ps.color(graph, strategy, memory=2_300_000, threads=1)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("load", [True, False])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_next_to_nothing(directed, load, strategy):
    for n in (0, 1, 2):
        graph = ps.from_edges([], [], directed=directed, num_vertices=n)
        found = ps.color(graph, strategy, load=load)
        assert found.values.tolist() == [0] * n
        assert found.stats["colors"] == min(n, 1)
        verify(graph, found)
    loop = ps.from_edges([0], [0], directed=directed, num_vertices=1)
    assert ps.color(loop, strategy, load=load).values.tolist() == [0]


def test_ids_are_those_of_the_user():
    named = ps.from_edges(["d", "b", "c", "a"], ["b", "c", "d", "d"], directed=False)
    found = ps.color(named)
    assert dict(zip(found.ids, found.values.tolist(), strict=True)) == {
        "a": 1, "b": 1, "c": 2, "d": 0,
    }  # fmt: skip
    assert ps.color(named, "id").values.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("direction", ["out", "in"])
def test_both_directions_are_needed(direction, tmp_path):
    graph = build(tmp_path / "g", (np.array([0, 1]), np.array([1, 2])), directions=direction)
    with pytest.raises(PenstockError, match="rebuild it with both directions"):
        ps.color(graph)


def test_a_strategy_that_is_none():
    with pytest.raises(OptionError, match="largest_first, id, random; got 'smallest_last'"):
        ps.color(ps.from_edges([0], [1]), "smallest_last")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("then", [WAYS[1], WAYS[3]], ids=["in memory", "streamed"])
def test_it_goes_on_where_it_stopped(strategy, then, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    whole = ps.color(graph, strategy)
    steps = len(ps.color(graph, strategy, **WAYS[2]).iterations)
    with pytest.raises(KeyboardInterrupt), stopping_after(2):
        ps.color(graph, strategy, checkpoint=tmp_path / "c", checkpoint_every=1, **WAYS[2])
    rest = ps.color(graph, strategy, checkpoint=tmp_path / "c", resume=True, **then)
    np.testing.assert_array_equal(rest.values, whole.values)
    assert len(rest.iterations) == (1 if then["load"] else steps - 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: 1}, "joins two vertices of colour 1"),
        ({3: 3}, "vertex 3 has colour 3, but no neighbour before it has 1"),
        ({4: 1}, "vertex 4 has colour 1, but no neighbour before it has 0"),
        ({4: -1}, "vertex 4 has colour -1"),
        ({0: 1, 1: 0, 3: 0}, "vertex 0 has colour 1, but no neighbour before it has 0"),
    ],
    ids=str,
)
def test_the_verifier_notices(change, message):
    # A triangle with a tail, and a vertex alone.
    graph = ps.from_edges([0, 1, 2, 0], [1, 2, 0, 3], directed=False, num_vertices=5)
    found = ps.color(graph)
    assert found.values.tolist() == [0, 1, 2, 1, 0]
    assert_noticed(verify, graph, found, change, f"color: .*{message}")


def test_the_verifier_notices_another_order():
    rng = np.random.default_rng(4)
    graph = ps.from_edges(rng.integers(0, 99, 400), rng.integers(0, 99, 400), directed=False)
    found = ps.color(graph, "id")
    verify(graph, found)
    found.stats["parameters"] = {"strategy": "random", "seed": 1}
    with pytest.raises(VerificationError, match="color: "):
        verify(graph, found)

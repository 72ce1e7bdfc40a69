"""Shortest paths against NetworkX, by their own verifier, and over every kind of list."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import SMALL, WAYS, assert_noticed, build, edges, stopping_after

import penstock as ps
from penstock.algorithms import _sssp_steps
from penstock.algorithms.sssp import verify
from penstock.errors import BudgetError, IdError, InputError, OptionError, VerificationError
from penstock.ingest.formats import arrays

WEIGHTS = {
    "whole": lambda rng, m: rng.integers(0, 9, m).astype(np.int32),
    "floats": lambda rng, m: rng.random(m).astype(np.float32),
    "wide": lambda rng, m: 10.0 ** rng.integers(-9, 12, m),
    "mostly nothing": lambda rng, m: (rng.random(m) < 0.1).astype(np.int32),
    "huge": lambda rng, m: rng.integers(0, 1 << 31, m).astype(np.int32),
}


def in_networkx(n, pairs, weights, *, directed):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(n))
    for (u, v), weight in zip(pairs, weights, strict=True):  # of several edges the last counts
        graph.add_edge(u, v, weight=weight)
    return graph


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.sampled_from(list(WEIGHTS)), st.data())
def test_equals_networkx(shape, directed, kind, data):
    n, pairs = shape
    sources = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3))
    delta = data.draw(st.sampled_from([None, 0.5, 3, 1e12]))
    weights = WEIGHTS[kind](np.random.default_rng(len(pairs)), len(pairs))
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    graph = ps.from_edges(src, dst, weights, directed=directed, num_vertices=n)
    found = ps.sssp(graph, sources, delta=delta, load=data.draw(st.booleans()))
    other = in_networkx(n, pairs, [float(w) for w in weights], directed=directed)
    exact = nx.multi_source_dijkstra_path_length(other, set(sources))
    assert found.values.tolist() == [exact.get(v, np.inf) for v in range(n)]
    verify(graph, found)
    for target in range(n):
        path = found.path(target)
        assert bool(path) == (target in exact)
        if path:
            assert path[0] in sources
            assert path[-1] == target
            assert nx.path_weight(other, path, "weight") == exact[target]
    # Some distance is exactly the cutoff, some are beyond.
    cutoff = data.draw(st.sampled_from(sorted(exact.values())))
    near = ps.sssp(graph, sources, cutoff=cutoff, delta=delta)
    assert near.values.tolist() == [
        exact[v] if exact.get(v, np.inf) <= cutoff else np.inf for v in range(n)
    ]
    verify(graph, near)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_every_way_gives_the_same(kind, directed, tmp_path):
    src, dst = edges()
    weights = WEIGHTS[kind](np.random.default_rng(1), len(src))
    graph = build(tmp_path / "g", (src, dst, weights), directed=directed)
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    first = ps.sssp(graph, 7, **WAYS[0])
    verify(graph, first)
    assert 4000 < np.isfinite(first.values).sum() < len(first)
    mean = float(weights.mean()) or 1.0
    for delta, way in [(None, WAYS[1]), (mean / 8, WAYS[1]), *((None, way) for way in WAYS[2:])]:
        found = ps.sssp(graph, 7, delta=delta, **way)
        np.testing.assert_array_equal(found.values, first.values)
        np.testing.assert_array_equal(found.parents, first.parents)


@pytest.mark.parametrize("kind", ["whole", "floats"])
def test_every_way_gives_the_same_from_several_sources_with_a_cutoff(kind, tmp_path):
    src, dst = edges()
    weights = WEIGHTS[kind](np.random.default_rng(1), len(src))
    graph = build(tmp_path / "g", (src, dst, weights))
    cutoff = 2 * float(weights.mean())
    first = ps.sssp(graph, [7, 6002], cutoff, **WAYS[0])
    verify(graph, first)
    assert 1000 < np.isfinite(first.values).sum() < 4000
    for way in WAYS[1:]:
        found = ps.sssp(graph, [7, 6002], cutoff, **way)
        np.testing.assert_array_equal(found.values, first.values)
        np.testing.assert_array_equal(found.parents, first.parents)


@pytest.mark.parametrize("dtype", [np.dtype(np.int16), np.dtype(np.uint64)], ids=str)
def test_more_types_of_weights(dtype):
    heavy = 8000 if dtype.itemsize < 8 else 1 << 50
    weights = np.array([heavy, heavy, 1, 2 * heavy, 0], dtype)
    graph = ps.from_edges([0, 1, 2, 0, 3], [1, 2, 3, 3, 4], weights)
    assert next(iter(graph.catalog.columns)).dtype == dtype
    found = ps.sssp(graph, 0)
    assert found.values.tolist() == [0, heavy, 2 * heavy, 2 * heavy, 2 * heavy]
    assert found.parents.tolist() == [0, 0, 1, 0, 3]


def test_cutoffs_of_every_size():
    weights = np.array([0, 1, 2, 1 << 29, 1 << 29, 5], np.int32)
    path = ps.from_edges(np.arange(6), np.arange(1, 7), weights)
    far = np.append(0, np.cumsum(weights.astype(np.int64))).astype(float)
    for cutoff in (0, 0.5, 1, 2.99, 3, 1e9, (1 << 30) + 3, 2**31 - 1, 1e300, np.inf):
        found = ps.sssp(path, 0, cutoff=cutoff)
        np.testing.assert_array_equal(found.values, np.where(far <= cutoff, far, np.inf))
        verify(path, found)


def test_string_ids():
    graph = ps.from_edges(["b", "b", "c", "a"], ["a", "c", "d", "c"], np.array([1, 5, 2, 1]))
    found = ps.sssp(graph, "b")
    assert found.path("d") == ["b", "a", "c", "d"]
    near = ps.sssp(graph, ["b", "d"], cutoff=1)
    assert near.values.tolist() == [1, 0, np.inf, 0]
    assert near.parents.tolist() == ["b", "b", None, "d"]
    assert near.path("c") == []
    assert near.path("d") == ["d"]
    verify(graph, near)


@pytest.mark.parametrize("load", [True, False])
def test_distances_that_outgrow_int32(load):
    n = 100
    for weight in (1 << 26, (1 << 30) - 1, 1 << 30, (1 << 31) - 1):
        path = ps.from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, weight, np.int32))
        found = ps.sssp(path, 0, load=load)
        np.testing.assert_array_equal(found.values, np.arange(n) * float(weight))
        verify(path, found)


def test_without_weights_every_edge_counts_one(tmp_path):
    graph = build(tmp_path / "g", edges())
    for source, cutoff, limit in ((7, None, None), ([7, 6100], 3.9, 3), (7, np.inf, None)):
        found, levels = ps.sssp(graph, source, cutoff), ps.bfs(graph, source, limit)
        distances = np.where(levels.values < 0, np.inf, levels.values)
        np.testing.assert_array_equal(found.values, distances)
        np.testing.assert_array_equal(found.parents, levels.parents)
        verify(graph, found)


@pytest.mark.parametrize(
    ("weights", "what"),
    [
        (np.array([1, -3, 2], np.int32), "-3"),
        (np.array([1.0, np.nan, 2.0]), "nan"),
        (np.array([1, -1, 2], np.int64), "-1"),
    ],
)
@pytest.mark.parametrize("way", WAYS[1:3], ids=["in memory", "streamed"])
def test_bad_weights_are_refused_where_they_are_met(weights, what, way, tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "check_weight", lambda *args: None)  # or NaN would not come so far
    graph = build(tmp_path / "g", (np.array([10, 20, 30]), np.array([20, 30, 40]), weights))
    with pytest.raises(InputError, match=f"edge 20 - 30 has weight {what}.*0 or more"):
        ps.sssp(graph, 10, **way)
    assert ps.sssp(graph, 30, **way).values.tolist() == [np.inf, np.inf, 0, 2]


def test_infinite_weights_are_no_edges():
    graph = ps.from_edges([0, 0, 1], [1, 2, 2], [1.0, np.inf, np.inf], directed=False)
    found = ps.sssp(graph, 0)
    assert found.values.tolist() == [0, 1, np.inf]
    assert found.parents.tolist() == [0, 0, -1]
    verify(graph, found)


def test_weights_that_vanish_in_the_sum():
    tiny = 1e-300
    graph = ps.from_edges([0, 1, 2, 3], [1, 2, 3, 1], [1.0, tiny, tiny, tiny], directed=False)
    found = ps.sssp(graph, 0)
    assert found.values.tolist() == [0, 1, 1, 1]
    assert found.parents.tolist() == [0, 0, 1, 1]
    verify(graph, found)


def test_parents_across_edges_of_no_length():
    # A circle of no length, entered at 3; the smallest numbers would point at one another.
    src, dst, weight = [9, 3, 0, 1, 2], [3, 0, 1, 2, 0], [5, 0, 0, 0, 0]
    graph = ps.from_edges(src, dst, np.array(weight, np.int32), vertex_order="none")
    found = ps.sssp(graph, 9)
    assert dict(zip(found.ids.tolist(), found.parents.tolist(), strict=True)) == {
        0: 3, 1: 0, 2: 1, 3: 9, 9: 9,
    }  # fmt: skip
    verify(graph, found)


def test_of_several_parents_the_smallest_number_that_is_nearer():
    src, dst, weight = [0, 0, 0, 3, 2, 1], [1, 2, 3, 4, 4, 4], [2, 1, 1, 1, 1, 0]
    graph = ps.from_edges(src, dst, np.array(weight, np.int32), vertex_order="none")
    assert ps.sssp(graph, 0).parents.tolist() == [0, 0, 0, 0, 2]


@pytest.mark.parametrize("directed", [True, False])
def test_sources_with_nothing_around(directed):
    none = np.array([], np.float64)
    alone = ps.from_edges([], [], none, directed=directed, num_vertices=1)
    assert ps.sssp(alone, 0).values.tolist() == [0]
    loop = ps.from_edges([1, 0], [1, 2], [0.0, 1.0], directed=directed, num_vertices=4)
    found = ps.sssp(loop, 1)
    assert found.values.tolist() == [np.inf, 0, np.inf, np.inf]
    assert found.parents.tolist() == [-1, 1, -1, -1]
    verify(loop, found)


@pytest.mark.parametrize("delta", [0, -1, np.inf, np.nan])
def test_what_cannot_be(delta):
    graph = ps.from_edges([0], [1], [1.0])
    with pytest.raises(OptionError, match="delta"):
        ps.sssp(graph, 0, delta=delta)
    with pytest.raises(IdError, match="source"):
        ps.sssp(graph, [0, 5])
    with pytest.raises(OptionError, match="source: expected a vertex"):
        ps.sssp(graph, [])
    for cutoff in (-0.1, np.nan):
        with pytest.raises(OptionError, match="cutoff: expected a number"):
            ps.sssp(graph, 0, cutoff=cutoff)


@pytest.mark.parametrize("way", WAYS[1:3], ids=["in memory", "streamed"])
@pytest.mark.parametrize("kind", ["whole", "floats"])
@pytest.mark.parametrize("step", [1, 4])
def test_it_goes_on_where_it_stopped(way, kind, step, tmp_path):
    src, dst = edges()
    graph = build(tmp_path / "g", (src, dst, WEIGHTS[kind](np.random.default_rng(1), len(src))))
    whole = ps.sssp(graph, 7, **way)
    with pytest.raises(KeyboardInterrupt), stopping_after(step):
        ps.sssp(graph, 7, checkpoint=tmp_path / "c", checkpoint_every=1, **way)
    for other in ({"source": [7, 12]}, {"source": 7, "cutoff": 99}):
        with pytest.raises(OptionError, match="was made for"):
            ps.sssp(graph, **other, checkpoint=tmp_path / "c", resume=True, **way)
    rest = ps.sssp(graph, 7, checkpoint=tmp_path / "c", resume=True, **way)
    assert rest.stats["edges_traversed"] < whole.stats["edges_traversed"]
    np.testing.assert_array_equal(rest.values, whole.values)


def test_a_checkpoint_of_distances_that_outgrew_int32(tmp_path):
    n = 60
    path = (np.arange(n - 1), np.arange(1, n), np.full(n - 1, 1 << 26, np.int32))
    graph = build(tmp_path / "g", path)
    with pytest.raises(KeyboardInterrupt), stopping_after(40):
        ps.sssp(graph, 0, delta=1 << 26, checkpoint=tmp_path / "c", checkpoint_every=1)
    rest = ps.sssp(graph, 0, delta=1 << 26, checkpoint=tmp_path / "c", resume=True)
    np.testing.assert_array_equal(rest.values, np.arange(n) * float(1 << 26))


def test_steps_are_small_where_edges_are_many(tmp_path, monkeypatch):
    monkeypatch.setattr(_sssp_steps, "THIN_EDGES", 0)
    rng = np.random.default_rng(4)
    src, dst = rng.zipf(1.3, (2, 300_000)) % 20_000
    weights = rng.integers(1, 256, len(src)).astype(np.int32)
    graph = build(tmp_path / "g", (src, dst, weights), directed=False)
    found, plain = ps.sssp(graph, 1), ps.sssp(graph, 1, delta=10_000)
    np.testing.assert_array_equal(found.values, plain.values)
    listed = graph.catalog.directions["out"].num_edges
    assert found.stats["edges_traversed"] < 1.3 * listed
    assert plain.stats["edges_traversed"] > 1.5 * listed


def test_steps_are_few_where_edges_are_few():
    n = 5000
    weights = np.random.default_rng(4).integers(1, 256, n - 1).astype(np.int32)
    path = ps.from_edges(np.arange(n - 1), np.arange(1, n), weights, vertex_order="none")
    found = ps.sssp(path, 0)
    np.testing.assert_array_equal(found.values[1:], np.cumsum(weights))
    assert found.stats["iterations"] < n / 2
    assert found.stats["edges_traversed"] < n + 50, "besides a sample of weights, each once"


@pytest.mark.parametrize(
    ("column", "place", "value"),
    [("distance", 2, 2.5), ("distance", 2, 3.5), ("distance", 0, 1.0), ("distance", 3, np.inf),
     ("distance", 4, 9.0), ("parents", 2, 0), ("parents", 3, 1), ("parents", 0, 1)],
)  # fmt: skip
def test_the_verifier_notices(column, place, value):
    # 0 -1-> 1 -2-> 2 -3-> 3, 0 -4-> 2, and 4 apart.
    graph = ps.from_edges([0, 1, 2, 0], [1, 2, 3, 2], [1.0, 2.0, 3.0, 4.0], num_vertices=5)
    found = ps.sssp(graph, 0)
    assert_noticed(verify, graph, found, {place: value}, "sssp", column)


def test_the_verifier_notices_circles_of_no_length():
    # 2 and 3 hold each other up: every edge is right, but nothing leads there.
    graph = ps.from_edges([0, 2, 3], [1, 3, 2], [1.0, 0.0, 0.0])
    found = ps.sssp(graph, 0)
    found.values[2:], found.parents[2:] = 7.0, [3, 2]
    with pytest.raises(VerificationError, match="no path of that length"):
        verify(graph, found)


@pytest.mark.parametrize(
    ("place", "value", "parent"),
    [(1, np.inf, -1), (2, 3.0, 1), (3, 1.0, 3), (4, 0.0, 4), (4, 1.0, 4), (5, 9.0, 4)],
)
def test_the_verifier_notices_with_several_sources_and_a_cutoff(place, value, parent):
    # 0 -1-> 1 -2-> 2, and 3, 4 -9-> 5.
    graph = ps.from_edges([0, 1, 4], [1, 2, 5], [1.0, 2.0, 9.0], num_vertices=6)
    found = ps.sssp(graph, [0, 3], cutoff=2.5)
    assert found.values.tolist() == [0, 1, np.inf, 0, np.inf, np.inf]
    verify(graph, found)
    found.values[place], found.parents[place] = value, parent
    with pytest.raises(VerificationError, match=r"^sssp: "):
        verify(graph, found)


def test_the_verifier_notices_a_circle_beside_several_sources():
    graph = ps.from_edges([0, 1, 2, 3, 2], [1, 2, 3, 2, 2], [0.0, 0.0, 0.0, 0.0, 0.0])
    found = ps.sssp(graph, [0, 1])
    verify(graph, found)
    found.parents[2:] = [3, 2]
    with pytest.raises(VerificationError, match="circle"):
        verify(graph, found)


def test_a_small_budget(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    src, dst = edges()
    weights = WEIGHTS["floats"](np.random.default_rng(1), len(src))
    graph = build(tmp_path / "g", (src, dst, weights), directed=False)
    whole = ps.sssp(graph, [7, 6200], cutoff=2)
    assert whole.stats["resident"]
    found = ps.sssp(graph, [7, 6200], cutoff=2, memory=2_300_000)
    assert not found.stats["resident"]
    np.testing.assert_array_equal(found.values, whole.values)
    np.testing.assert_array_equal(found.parents, whole.parents)
    with pytest.raises(BudgetError, match="requires at least"):
        ps.sssp(graph, 7, memory=2_150_000)

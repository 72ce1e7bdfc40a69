"""Minimum spanning forests against NetworkX and SciPy, by their own verifier, and over every kind
of list.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from traversal_making import COMMON_KINDS, SMALL, WAY_NAMES, WAYS, build, edges, stopping_after

import penstock as ps
from penstock.algorithms import minimum_spanning_forest as module
from penstock.algorithms._forest import kruskal
from penstock.algorithms.minimum_spanning_forest import verify
from penstock.engine.result_edges import edge_table
from penstock.errors import InputError, VerificationError

KINDS = {
    **COMMON_KINDS,
    "out-lists only": {"directions": "out"},
    "in-lists only": {"directions": "in"},
    "duplicates": {"directed": False, "duplicates": "keep"},
}


def weighted(kind=np.float64):
    src, dst = edges()
    # Few weights, so that ties decide.
    weights = np.random.default_rng(3).integers(-5, 60, len(src)).astype(kind)
    return src, dst, weights


def rows(found: ps.Result) -> list[tuple[object, ...]]:
    table = found.edges
    columns = [table.ids, table.dst]
    if hasattr(table, "weight"):
        columns.append(table.weight)
    return list(zip(*(each.tolist() for each in columns), strict=True))


@settings(max_examples=30)
@given(SMALL, st.integers(0, 2**32), st.sampled_from([True, False]), st.booleans(), st.booleans())
def test_equals_networkx(shape, seed, directed, load, with_weights):
    n, pairs = shape
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    rng = np.random.default_rng(seed)
    weights = rng.integers(-3, 4, len(src)).astype(float) if with_weights else None
    options = {"duplicates": "keep", "num_vertices": n, "directed": directed}
    graph = ps.from_edges(src, dst, weights, **options)
    other = nx.MultiGraph()
    other.add_nodes_from(range(n))
    given_weights = np.ones(len(src)) if weights is None else weights
    other.add_weighted_edges_from(zip(src, dst, given_weights, strict=True))
    total = nx.minimum_spanning_tree(other).size("weight")
    smallest = {v: min(each) for each in nx.connected_components(other) for v in each}
    found = ps.minimum_spanning_forest(graph, load=load)
    assert found.stats["weight"] == total
    assert found.values.tolist() == [smallest[v] for v in range(n)]
    assert found.stats["edges"] == len(found.edges) == n - len(set(smallest.values()))
    verify(graph, found)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path):
    graph = build(tmp_path / "g", weighted(), num_vertices=7000, **kind)
    first = ps.minimum_spanning_forest(graph, **WAYS[0])
    verify(graph, first)
    for way in WAYS[1:]:
        found = ps.minimum_spanning_forest(graph, **way)
        np.testing.assert_array_equal(found.values, first.values)
        assert rows(found) == rows(first)
        assert found.stats["weight"] == first.stats["weight"]


@pytest.mark.parametrize("kind", ["int32", "uint64"])
def test_weights_of_any_type_as_scipy_has_them(kind, tmp_path):
    src, dst = edges()
    rng = np.random.default_rng(4)
    # SciPy takes 0 for no edge.
    weights = rng.integers(1, 250, len(src)).astype(kind)
    if kind == "uint64":
        weights += np.uint64(2**63)
    graph = build(tmp_path / "g", (src, dst, weights), directed=False)
    found = ps.minimum_spanning_forest(graph)
    a, b, w = graph.to_edges()
    keep = a != b
    n = int(graph.ids.max()) + 1
    low = w[keep] - w.min() + 1 if kind == "uint64" else w[keep]
    expected = minimum_spanning_tree(coo_array((low.astype(float), (a[keep], b[keep])), (n, n)))
    mine = found.edges.weight - w.min() + 1 if kind == "uint64" else found.edges.weight
    assert found.edges.weight.dtype == graph.catalog.columns[0].dtype
    assert mine.sum(dtype=float) == expected.sum()
    assert found.stats["edges"] == expected.nnz
    verify(graph, found)


@pytest.mark.parametrize("kind", [KINDS["undirected"], KINDS["in-lists only"]], ids=str)
def test_what_does_not_fit_is_thinned_out_on_the_way(kind, tmp_path, monkeypatch):
    graph = build(tmp_path / "g", weighted(), **kind)
    whole = ps.minimum_spanning_forest(graph)
    thinned = []
    monkeypatch.setattr(module, "HANDFUL", 64)
    monkeypatch.setattr(module, "LEAST_ROOM", 64)
    monkeypatch.setattr(module, "_room", lambda n: n + 200)
    monkeypatch.setattr(
        module.kernels, "kruskal", lambda *args: thinned.append(args[3:5]) or kruskal(*args)
    )
    for way in WAYS[1:]:
        thinned.clear()
        found = ps.minimum_spanning_forest(graph, **way)
        assert len(thinned) > 3
        assert rows(found) == rows(whole)


def test_a_stream_is_read_twice(tmp_path):
    graph = build(tmp_path / "g", weighted(), directed=False)
    table = graph.page_table("out")
    found = ps.minimum_spanning_forest(graph, load=False, cache_pages=0)
    assert found.stats["pages_read"] == 2 * np.count_nonzero(table["num_edges"])
    one = build(tmp_path / "one", weighted(), directions="in")
    table = one.page_table("in")
    found = ps.minimum_spanning_forest(one, load=False, cache_pages=0)
    assert found.stats["pages_read"] == np.count_nonzero(table["num_edges"])


def test_a_budget_that_the_topology_does_not_fit(tmp_path):
    rng = np.random.default_rng(6)
    m, n = 1_000_000, 20_000
    graph = ps.build(
        (rng.integers(0, n, m), rng.integers(0, n, m), rng.random(m)), tmp_path / "g",
        directed=False, weights=True, page_size=65536,
    )  # fmt: skip
    small = ps.minimum_spanning_forest(graph, memory="17MB")
    assert not small.stats["resident"]
    assert small.stats["planned_memory"] <= 17_000_000
    whole = ps.minimum_spanning_forest(graph)
    assert whole.stats["resident"]
    assert rows(small) == rows(whole)


@pytest.mark.parametrize("load", [True, False])
def test_long_paths(load):
    # The lightest edges of all vertices hang together in one long chain, in any order of numbers.
    n = 20_000
    order = np.random.default_rng(2).permutation(n)
    weights = np.arange(n - 1.0)
    for path in (np.arange(n), np.arange(n)[::-1], order):
        graph = ps.from_edges(path[:-1], path[1:], weights, vertex_order="none", directed=False)
        found = ps.minimum_spanning_forest(graph, load=load)
        assert not found.values.any()
        assert found.stats["weight"] == weights.sum()


def test_ids_of_the_user_and_edges_as_they_lead():
    graph = ps.from_edges(["b", "d", "c"], ["c", "a", "b"], [2.0, 1.0, 2.0])
    found = ps.minimum_spanning_forest(graph)
    assert found.values.tolist() == ["a", "b", "b", "a"]
    assert [row[:2] for row in rows(found)] in ([("b", "c"), ("d", "a")], [("c", "b"), ("d", "a")])
    verify(graph, found)
    numbers = ps.from_edges([30, 10, 70], [20, 30, 60], directed=False)
    found = ps.minimum_spanning_forest(numbers)
    assert found.values.tolist() == [10, 10, 10, 60, 60]
    assert rows(found) == [(10, 30), (20, 30), (60, 70)]


def test_both_ways_are_one_edge_and_the_lighter_is_taken(tmp_path):
    arrays = [0, 1, 2, 1, 3, 2], [1, 0, 1, 2, 2, 3], [3.0, 2.0, 4.0, 5.0, 1.0, 1.0]
    given = tuple(np.array(each) for each in arrays)
    for directions in ("both", "out", "in"):
        graph = build(tmp_path / directions, given, vertex_order="none", directions=directions)
        found = ps.minimum_spanning_forest(graph)
        assert rows(found) == [(1, 0, 2.0), (2, 1, 4.0), (2, 3, 1.0)]
        verify(graph, found)


def test_infinite_weights_are_weights():
    graph = ps.from_edges([0, 1, 2, 3], [1, 2, 0, 4], [np.inf, 1.0, -np.inf, np.inf])
    found = ps.minimum_spanning_forest(graph)
    assert [row[:2] for row in rows(found)] == [(1, 2), (2, 0), (3, 4)]
    assert np.isnan(found.stats["weight"])
    verify(graph, found)


@pytest.mark.parametrize("kind", [KINDS["undirected"], KINDS["out-lists only"]], ids=str)
@pytest.mark.parametrize("way", WAYS[1:3], ids=WAY_NAMES[1:3])
def test_nan_is_refused(kind, way, tmp_path):
    # Sums of infinite weights are the only ones that a build lets through.
    src, dst, weights = (np.tile(each, 2) for each in weighted())
    bad = np.flatnonzero((src != dst) & (src > 12) & (dst > 12))[1234]
    weights[bad], weights[(bad + len(src) // 2)] = np.inf, -np.inf
    graph = build(tmp_path / "g", (src, dst, weights), duplicates="sum", **kind)
    message = rf"minimum_spanning_forest: edge ({src[bad]}|{dst[bad]}) - \d+ has weight nan"
    with pytest.raises(InputError, match=message):
        ps.minimum_spanning_forest(graph, **way)


@pytest.mark.parametrize("then", [WAYS[1], WAYS[2]], ids=["in memory", "streamed"])
def test_it_goes_on_where_it_stopped(then, tmp_path):
    graph = build(tmp_path / "g", weighted())
    whole = ps.minimum_spanning_forest(graph)
    with pytest.raises(KeyboardInterrupt), stopping_after(1):
        ps.minimum_spanning_forest(graph, checkpoint=tmp_path / "c", checkpoint_every=1)
    rest = ps.minimum_spanning_forest(graph, checkpoint=tmp_path / "c", resume=True, **then)
    assert len(rest.iterations) == 1
    assert rows(rest) == rows(whole)


def spoil(graph: ps.Graph, found: ps.Result, src, dst, weights) -> None:
    vids = np.empty(graph.num_vertices, np.uint32)
    vids[graph.ids] = graph.ids if graph.vid_of_rank is None else graph.vid_of_rank
    found.edges = edge_table(graph, vids[src], vids[dst], {"weight": np.array(weights)})
    found.stats |= {"weight": float(sum(weights)), "edges": len(src)}


WRONG = {
    "a circle": (([0, 1, 0, 3], [1, 2, 2, 4], [1.0, 2.0, 3.0, 1.0]), "circle"),
    "an edge missing": (([0, 3], [1, 4], [1.0, 1.0]), "joins two trees"),
    "too heavy": (([0, 0, 3], [1, 2, 4], [1.0, 3.0, 1.0]), "left out"),
    "another weight": (([0, 1, 3], [1, 2, 4], [1.0, 1.5, 1.0]), "not an edge"),
    "no such edge": (([0, 1, 3, 4], [1, 2, 4, 5], [1.0, 2.0, 1.0, 1.0]), "not an edge"),
}


@pytest.mark.parametrize(("forest", "message"), WRONG.values(), ids=WRONG)
def test_the_verifier_notices_wrong_edges(forest, message):
    # 0 - 1 - 2 - 0 and 3 - 4, and 5 alone.
    graph = ps.from_edges(
        [0, 1, 2, 3], [1, 2, 0, 4], [1.0, 2.0, 3.0, 1.0], directed=False, num_vertices=6
    )
    found = ps.minimum_spanning_forest(graph)
    verify(graph, found)
    spoil(graph, found, *forest)
    with pytest.raises(VerificationError, match=f"^minimum_spanning_forest: .*{message}"):
        verify(graph, found)


def test_the_verifier_notices_the_wrong_one_of_equal_edges():
    graph = ps.from_edges([0, 1, 2], [1, 2, 0], [1.0, 1.0, 1.0], directed=False)
    found = ps.minimum_spanning_forest(graph)
    left_out = ({(0, 1), (0, 2), (1, 2)} - {row[:2] for row in rows(found)}).pop()
    src, dst = np.array([left_out, rows(found)[1][:2]]).T
    spoil(graph, found, src, dst, [1.0, 1.0])
    with pytest.raises(VerificationError, match="left out"):
        verify(graph, found)


def test_the_verifier_notices_wrong_values_and_sums():
    graph = ps.from_edges([0, 1, 3], [1, 2, 4], [1.0, 2.0, 1.0], directed=False)
    for name, value in (("weight", 5.0), ("edges", 4)):
        found = ps.minimum_spanning_forest(graph)
        found.stats[name] = value
        with pytest.raises(VerificationError, match=r"^minimum_spanning_forest: it has 3 edges"):
            verify(graph, found)
    found = ps.minimum_spanning_forest(graph)
    found.values[4] = 4
    with pytest.raises(VerificationError, match=r"^minimum_spanning_forest: vertex 4 has"):
        verify(graph, found)


@pytest.mark.parametrize("pattern", ["random", "sorted", "reversed", "equal"])
def test_kruskal_in_place(pattern):
    rng = np.random.default_rng(8)
    m, n = 5000, 700
    src, dst = rng.integers(0, n, (2, m)).astype(np.uint32)
    weights = {
        "random": rng.random(m), "sorted": np.arange(m) / m, "reversed": -np.arange(m) / m,
        "equal": np.zeros(m),
    }[pattern]  # fmt: skip
    best = minimum_spanning_tree(coo_array((weights + 2, (src, dst)), (n, n)).tocsr()).nnz
    order = np.lexsort((src > dst, np.maximum(src, dst), np.minimum(src, dst), weights))
    expected = nx.utils.UnionFind(range(n))
    chosen = []
    for k in order.tolist():
        if expected[src[k]] != expected[dst[k]]:
            expected.union(src[k], dst[k])
            chosen.append((src[k], dst[k], weights[k]))
    trees = np.arange(n, dtype=np.uint32)
    arrays = src.copy(), dst.copy(), weights.copy()
    end = kruskal(*arrays, 0, m, trees)
    assert list(zip(*(each[:end].tolist() for each in arrays), strict=True)) == chosen
    assert end == best

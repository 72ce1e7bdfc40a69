"""Clustering against NetworkX and LDBC's answers, by its own verifier, over every kind of list."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traversal_making import SMALL, WAY_NAMES, WAYS, build, edges, small_graph, stopping_after

import penstock as ps
from penstock.algorithms import _triangles, find
from penstock.algorithms.clustering import verify
from penstock.errors import VerificationError

clustering = find("clustering")
SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="no ../shared/data beside the project"
)


def among_neighbours(n, pairs):
    """The coefficients of a directed graph, word for word."""
    arcs = {(u, v) for u, v in pairs if u != v}
    near = [{u for u, w in arcs if w == v} | {w for u, w in arcs if u == v} for v in range(n)]
    inside = [sum(u in each and v in each for u, v in arcs) for each in near]
    sizes = [len(each) * (len(each) - 1) for each in near]
    return [a / b if b else 0.0 for a, b in zip(inside, sizes, strict=True)]


def build_kind(kind):
    order = {"vertex_order": "none", "neighbour_order": "input"}
    return {"plain": {}, "as given": order, "kept": {"duplicates": "keep", **order}}[kind]


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.sampled_from(["plain", "as given", "kept"]))
def test_equals_networkx_or_the_definition(shape, directed, load, kind):
    n, pairs = shape
    graph = small_graph(shape, directed=directed, **build_kind(kind))
    found = clustering(graph, load=load)
    if directed:
        expected = among_neighbours(n, pairs)
        assert "transitivity" not in found.stats
    else:
        other = nx.Graph(pairs)
        other.add_nodes_from(range(n))
        coefficients = nx.clustering(other)
        expected = [coefficients[v] for v in range(n)]
        assert found.stats["transitivity"] == pytest.approx(nx.transitivity(other), rel=1e-12)
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    assert found.stats["average"] == pytest.approx(np.mean(expected), rel=1e-12)
    verify(graph, found)


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("kind", ["plain", "kept"])
def test_every_way_gives_the_same(directed, kind, tmp_path, monkeypatch):
    src, dst = edges()
    graph = build(
        tmp_path / "g", (np.concatenate([src, dst[::3]]), np.concatenate([dst, src[::3]])),
        num_vertices=7000, directed=directed, **build_kind(kind),
    )  # fmt: skip
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    first = clustering(graph, **WAYS[0])
    verify(graph, first)
    assert np.count_nonzero(first.values) > 1000
    for way in WAYS[1:]:
        np.testing.assert_array_equal(clustering(graph, **way).values, first.values)
    monkeypatch.setattr(_triangles, "_whole_bytes", lambda *args: 50_000)
    for way in WAYS:
        found = clustering(graph, **way)
        assert len(found.iterations) > 6
        np.testing.assert_array_equal(found.values, first.values)
        assert found.stats["average"] == first.stats["average"]


def test_directions_of_the_edges_among_neighbours_count():
    # 0 has edges to 1 and from 2; one edge leads from 1 to 2, then back as well.
    once = ps.from_edges([0, 2, 1], [1, 0, 2])
    assert clustering(once).values.tolist() == [0.5, 0.5, 0.5]
    twice = ps.from_edges([0, 2, 1, 2], [1, 0, 2, 1])
    assert clustering(twice).values.tolist() == [1.0, 0.5, 0.5]


def test_lists_that_are_searched():
    # Two hubs with large numbers, as the order is that of the ids, and a vertex after them.
    n = 300
    spokes = np.arange(n)
    src = np.concatenate([np.full(n, n), spokes[::2], [n, n + 1], np.full(3, n + 2), [n]])
    dst = np.concatenate([spokes, np.full(n // 2, n + 1), [n + 1, n], [4, n, n + 1], [n + 2]])
    graph = ps.from_edges(src, dst, vertex_order="none")
    expected = among_neighbours(n + 3, list(zip(src.tolist(), dst.tolist(), strict=True)))
    np.testing.assert_allclose(clustering(graph).values, expected, rtol=1e-12)
    assert expected[-1] == 4 / 6


def test_ids_of_the_user():
    graph = ps.from_edges(["b", "d", "e", "d"], ["d", "e", "b", "a"], directed=False)
    found = clustering(graph)
    assert found.ids.tolist() == ["a", "b", "d", "e"]
    assert found.values.tolist() == [0, 1, 1 / 3, 1]
    verify(graph, found)


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
@pytest.mark.parametrize("directed", [True, False])
def test_duplicates_and_loops_do_no_harm(way, directed):
    src, dst = np.tile([0, 1, 2, 2, 1, 3], 50), np.tile([1, 2, 0, 2, 0, 0], 50)
    graph = ps.from_edges(src, dst, duplicates="keep", directed=directed, num_vertices=5)
    expected = [1 / 6, 0.5, 1, 0, 0] if directed else [1 / 3, 1, 1, 0, 0]
    assert clustering(graph, **way).values.tolist() == expected


@pytest.mark.parametrize("directed", [True, False])
def test_it_goes_on_where_it_stopped(directed, tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(), directed=directed)
    whole = clustering(graph)
    monkeypatch.setattr(_triangles, "_whole_bytes", lambda *args: 90_000)
    with pytest.raises(KeyboardInterrupt), stopping_after(1):
        clustering(graph, checkpoint=tmp_path / "c", checkpoint_every=1)
    rest = clustering(graph, checkpoint=tmp_path / "c", resume=True, load=False)
    assert 1 < len(rest.iterations) < len(clustering(graph).iterations)
    np.testing.assert_array_equal(rest.values, whole.values)
    assert rest.stats["average"] == whole.stats["average"]


def test_a_small_budget(tmp_path):
    graph = ps.generate("rmat", tmp_path / "g", scale=17, edge_factor=16, page_size="64KiB")
    whole = clustering(graph)
    assert whole.stats["resident"]
    small = clustering(graph, memory="17MB")
    assert not small.stats["resident"]
    assert small.stats["planned_memory"] <= 17_000_000
    assert len(small.iterations) > 2
    np.testing.assert_array_equal(small.values, whole.values)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({0: 1.5}, "not from 0 to 1"),
        ({3: np.nan}, "not from 0 to 1"),
        ({0: 0.0}, "average"),
        ({3: 0.25, "average": 0.25}, "edges among"),
        ({1: 0.0, 3: 1.0, "average": 0.25}, "edges among"),
    ],
)
def test_the_verifier_notices(changes, what, directed):
    # 0 - 1 - 2 is a triangle, and 3 hangs on 0.
    graph = ps.from_edges([0, 1, 2, 0], [1, 2, 0, 3], directed=directed)
    found = clustering(graph)
    verify(graph, found)
    for place, value in changes.items():
        if place != "average":
            found.values[place] = value
    if "average" in changes:
        found.stats["average"] = found.values.mean()
    with pytest.raises(VerificationError, match=f"clustering: .*{what}"):
        verify(graph, found)


def answers(path):
    rows = [line.split() for line in path.read_text().splitlines()]
    return {int(vertex): float(value) for vertex, value in rows}


def check(graph, expected):
    for load in (True, False):
        found = clustering(graph, load=load)
        wanted = [expected[each] for each in found.ids.tolist()]
        np.testing.assert_allclose(found.values, wanted, rtol=1e-4)


@needs_shared
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_graphalytics(directed, tmp_path):
    name = "example-directed" if directed else "example-undirected"
    folder = SHARED / "graphalytics" / "example"
    graph = ps.build(str(folder / f"{name}.e"), tmp_path / "g", directed=directed, weights=True)
    check(graph, answers(folder / f"{name}-LCC"))
    # A vertex and its neighbours in each line.
    folder = SHARED / "graphalytics" / "lcc"
    kind = "dir" if directed else "undir"
    lines = [line.split() for line in (folder / f"{kind}-input").read_text().splitlines()]
    src, dst = zip(*((int(u), int(v)) for u, *others in lines for v in others), strict=True)
    graph = ps.from_edges(list(src), list(dst), directed=directed)
    check(graph, {v: x for v, x in answers(folder / f"{kind}-output").items() if v in graph.ids})


@needs_shared
def test_p2p(tmp_path):
    folder = SHARED / "p2p-31"
    graph = ps.build(str(folder / "p2p-31.e"), tmp_path / "g", directed=False, weights=True)
    check(graph, answers(folder / "p2p-31-LCC"))

"""Triangles against NetworkX and published counts, by their verifier, over every kind of list."""

from __future__ import annotations

from pathlib import Path

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
    build,
    edges,
    kept,
    small_graph,
    stopping_after,
)

import penstock as ps
from penstock.algorithms import _triangle_kernels, _triangles, find
from penstock.algorithms.triangles import verify
from penstock.errors import BudgetError, VerificationError

triangles = find("triangles")
SHARED = Path(__file__).parents[3] / "shared" / "data" / "graphs"


def windows(monkeypatch, room):
    """Let runs have no more room for windows."""
    monkeypatch.setattr(_triangles, "_whole_bytes", lambda *args: room)


def modes(found):
    return [row["mode"] for row in found.iterations]


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.booleans(), st.sampled_from(["degree", "none"]), st.booleans())
def test_equals_networkx(shape, directed, load, order, keep):
    n, pairs = shape
    graph = small_graph(shape, directed=directed, vertex_order=order, **kept(keep=keep))
    other = nx.Graph(pairs)
    other.add_nodes_from(range(n))
    expected = nx.triangles(other)
    found = triangles(graph, load=load)
    assert found.values.tolist() == [expected[v] for v in range(n)]
    assert found.stats["total"] == sum(expected.values()) // 3
    verify(graph, found)


KINDS = {
    **COMMON_KINDS,
    "both ways as given": {"vertex_order": "none", "neighbour_order": "input"},
    "kept": {"directed": False, "duplicates": "keep", "vertex_order": "none"},
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_way_gives_the_same(kind, tmp_path, monkeypatch):
    src, dst = edges()
    graph = build(tmp_path / "g", (np.tile(src, 2), np.tile(dst, 2)), num_vertices=7000, **kind)
    assert (graph.page_table("out")["run"] > 0).any(), "no list was longer than a page"
    first = triangles(graph, **WAYS[0])
    verify(graph, first)
    other = nx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
    other.remove_edges_from(nx.selfloop_edges(other))
    expected = nx.triangles(other)
    assert first.values.tolist() == [expected.get(v, 0) for v in range(7000)]
    assert first.stats["total"] > 1000
    assert modes(first) == ["measure", "hubs", "inner"]
    for way in WAYS[1:]:
        np.testing.assert_array_equal(triangles(graph, **way).values, first.values)
    windows(monkeypatch, 50_000)
    for way in WAYS:
        found = triangles(graph, **way)
        assert modes(found).count("inner") > 2
        assert modes(found).count("outer") >= 2
        np.testing.assert_array_equal(found.values, first.values)


def test_one_window_takes_two_passes(tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    found = triangles(graph, load=False, cache_pages=0)
    assert found.stats["pages_read"] == 2 * np.count_nonzero(graph.page_table("out")["num_edges"])


def test_lists_that_are_searched(monkeypatch):
    # Two hubs with large numbers, as the order is that of the ids, and a vertex after them.
    n = 500
    spokes = np.arange(n)
    src = np.concatenate([np.full(n, n), np.full(n, n + 1), [n], spokes[:-1], np.full(3, n + 2)])
    dst = np.concatenate([spokes, spokes, [n + 1], spokes[1:], [3, n, n + 1]])
    graph = ps.from_edges(src, dst, directed=False, vertex_order="none")
    monkeypatch.setattr(_triangles, "HUBS", 0)
    expected = nx.triangles(nx.Graph(zip(src.tolist(), dst.tolist(), strict=True)))
    assert triangles(graph).values.tolist() == [expected[v] for v in range(n + 3)]
    assert expected[n + 2] == 3


@pytest.mark.parametrize("order", ["degree", "none"])
def test_rows_of_bits(order, monkeypatch):
    src, dst = np.random.default_rng(6).integers(0, 700, (2, 20_000))
    graph = ps.from_edges(src, dst, directed=False, vertex_order=order)
    other = nx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
    other.remove_edges_from(nx.selfloop_edges(other))
    expected = nx.triangles(other)
    rows = _triangles.row_bytes(700, _triangle_kernels.OF_VERTICES)
    assert rows == 700 * 11 * 8
    whole = triangles(graph)
    assert whole.iterations[1]["vertices"] == 700
    for share, hubs in ((0, 0), (0.3, 210), (0.4, 700)):
        monkeypatch.setattr(_triangles, "ROW_SHARE", share)
        windows(monkeypatch, 75_000 if hubs == 0 else 40_000 if hubs == 210 else 160_000)
        found = triangles(graph)
        assert abs(found.iterations[1]["vertices"] - hubs) < 64
        np.testing.assert_array_equal(found.values, whole.values)
    assert whole.values.tolist() == [expected[v] for v in range(700)]


@pytest.mark.parametrize("load", [True, False], ids=["in memory", "streamed"])
def test_neighbours_that_are_all_hubs(load, tmp_path, monkeypatch):
    # A clique of the first vertices, and others with neighbours only there: the windows of these do
    # not meet, but all of them have triangles with hubs.
    clique, n, rng = 300, 3300, np.random.default_rng(8)
    near = np.array([rng.choice(clique, 8, replace=False) for _ in range(clique, n)])
    pairs = np.array([(a, b) for a in range(clique) for b in range(a)])
    src = np.concatenate([np.repeat(np.arange(clique, n), 8), pairs[:, 0]])
    dst = np.concatenate([near.ravel(), pairs[:, 1]])
    graph = build(tmp_path / "g", (src, dst), directed=False, vertex_order="none")
    windows(monkeypatch, 200_000)
    found = triangles(graph, load=load)
    assert modes(found).count("inner") > 1
    assert found.iterations[1]["vertices"] > clique
    assert found.stats["total"] == clique * (clique - 1) * (clique - 2) // 6 + (n - clique) * 28
    verify(graph, found)


def test_ids_of_the_user():
    graph = ps.from_edges(["b", "d", "e", "d"], ["d", "e", "b", "a"])
    found = triangles(graph)
    assert found.ids.tolist() == ["a", "b", "d", "e"]
    assert found.values.tolist() == [0, 1, 1, 1]
    verify(graph, found)


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
@pytest.mark.parametrize("directed", [True, False])
def test_duplicates_reverses_and_loops_do_no_harm(way, directed):
    src, dst = np.tile([0, 1, 2, 2, 1, 3], 50), np.tile([1, 2, 0, 2, 0, 0], 50)
    graph = ps.from_edges(src, dst, duplicates="keep", directed=directed, num_vertices=5)
    found = triangles(graph, **way)
    assert found.values.tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("then", [WAYS[1], WAYS[2]], ids=["in memory", "streamed"])
def test_it_goes_on_where_it_stopped(then, tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(), directed=False)
    whole = triangles(graph)
    windows(monkeypatch, 40_000)
    with pytest.raises(KeyboardInterrupt), stopping_after(2):
        triangles(graph, checkpoint=tmp_path / "c", checkpoint_every=1)
    windows(monkeypatch, 50_000)  # windows need not be the same
    every = modes(triangles(graph, **then)).count("inner")
    rest = triangles(graph, checkpoint=tmp_path / "c", resume=True, **then)
    assert 0 < modes(rest).count("inner") < every
    np.testing.assert_array_equal(rest.values, whole.values)
    assert rest.stats["total"] == whole.stats["total"]


def test_a_small_budget(tmp_path):
    graph = ps.generate(
        "rmat", tmp_path / "g", scale=18, edge_factor=16, directed=False, page_size="64KiB"
    )
    whole = triangles(graph)
    assert whole.stats["resident"]
    small = triangles(graph, memory="17MB")
    assert not small.stats["resident"]
    assert small.stats["planned_memory"] <= 17_000_000
    assert small.stats["pages_read"] <= 2 * small.stats["nested_loop_pages"]
    assert modes(small).count("inner") > 1
    np.testing.assert_array_equal(small.values, whole.values)


def test_the_plan_has_room_for_the_longest_list(tmp_path, monkeypatch):
    """Its last vertex has all edges: the list of its earlier neighbours is half of all windows."""
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    arrays = (np.full(200_000, 200_000), np.arange(200_000))
    graph = build(tmp_path / "g", arrays, directed=False, vertex_order="none")
    with pytest.raises(BudgetError, match="values of the vertices") as refusal:
        triangles(graph, memory="3MB", load=False)
    enough = str(refusal.value).rsplit("requires at least ", 1)[1].replace(" ", "")
    assert not triangles(graph, memory=enough, load=False).values.any()


@pytest.mark.parametrize(
    ("places", "step"), [([0], 3), ([0, 1], 1), ([3, 0, 1], 1), ([3, 3, 3], -1)], ids=str
)
def test_the_verifier_notices(places, step):
    # 0 - 1 - 2 is a triangle, and 3 hangs on 0.
    graph = ps.from_edges([0, 1, 2, 0], [1, 2, 0, 3], directed=False)
    found = triangles(graph)
    verify(graph, found)
    for place in places:
        found.values[place] += step
    with pytest.raises(VerificationError, match="triangles"):
        verify(graph, found)


def test_the_verifier_notices_a_wrong_total():
    graph = ps.from_edges([0, 1, 2], [1, 2, 0], directed=False)
    found = triangles(graph)
    found.stats["total"] = 2
    with pytest.raises(VerificationError, match=r"triangles: .*three times"):
        verify(graph, found)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared/data beside the project")
@pytest.mark.parametrize(
    ("name", "skipped", "directed", "total"),
    [
        ("wiki-Vote.txt", 0, True, 608_389),
        ("facebook_combined.txt", 1, False, 1_612_010),
        ("email-Enron.txt", 1, False, 727_044),
    ],
)
def test_published_counts(name, skipped, directed, total):
    src, dst = np.loadtxt(SHARED / name, np.int64, skiprows=skipped).T
    graph = ps.from_edges(src, dst, directed=directed)
    for load in (True, False):
        assert triangles(graph, load=load).stats["total"] == total


@pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared/data beside the project")
def test_a_published_count_of_names(tmp_path):
    source = str(SHARED / "debian-bookworm-depends.tsv")
    graph = ps.build(source, tmp_path / "g.penstock", ids="string")
    assert triangles(graph).stats["total"] == 412_584

"""Breadth-first search against NetworkX, by its own verifier, and over every kind of list."""

from __future__ import annotations

from itertools import pairwise

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
    small_levels,
    stopping_after,
)

import penstock as ps
from penstock.algorithms.bfs import verify
from penstock.engine.checkpoint import Schedule
from penstock.engine.push_kernels import LONG_LIST
from penstock.engine.recovery import Recovery
from penstock.errors import BudgetError, FormatError, IdError, OptionError, VerificationError


@settings(max_examples=40)
@given(SMALL, st.booleans(), st.sampled_from([None, 0, 1, 2, 20]), st.data())
def test_equals_networkx(shape, directed, limit, data):
    n, pairs = shape
    sources = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4))
    graph = small_graph(shape, directed=directed)
    other = nx.DiGraph() if directed else nx.Graph()
    other.add_nodes_from(range(n))
    other.add_edges_from(pairs)
    levels = nx.multi_source_dijkstra_path_length(other, set(sources), cutoff=limit, weight=None)
    with small_levels(data.draw(st.sampled_from([0, 3, 1000]))):
        found = ps.bfs(graph, sources, depth_limit=limit)
    assert found.values.tolist() == [levels.get(v, -1) for v in range(n)]
    verify(graph, found)
    for target in range(n):
        path = found.path(target)
        assert len(path) == levels.get(target, -1) + 1
        assert not path or (path[0] in sources and path[-1] == target)
        assert all(other.has_edge(*edge) for edge in pairwise(path))


KINDS = {
    **COMMON_KINDS,
    "out-lists only": {"directions": "out"},
    "nearest first": {"neighbour_order": "degree"},
}


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def graph(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("bfs") / "g", edges(), num_vertices=7000, **request.param)


@pytest.mark.parametrize("several", [False, True], ids=["one source", "several sources"])
def test_every_way_gives_the_same(graph, several):
    given = {"source": [7, 4, 6050, 6200, 3], "depth_limit": 77} if several else {"source": 7}
    first = ps.bfs(graph, **given, **WAYS[0])
    verify(graph, first)
    assert first.values.max() == 77 if several else first.values.max() > 100
    for way in WAYS:
        for small in (0, 500) if way["load"] else (0,):
            with small_levels(small):
                found = ps.bfs(graph, **given, **way)
            np.testing.assert_array_equal(found.values, first.values)
            np.testing.assert_array_equal(found.parents, first.parents)


@pytest.mark.parametrize("way", WAYS, ids=WAY_NAMES)
def test_levels_are_found_both_ways(way, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    with small_levels(0):
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
        with small_levels(0):
            found = ps.bfs(graph, source, **way)
        assert found.iterations[1]["mode"] == "bottom-up"
        assert found[hub] == 2
        assert found.parents[found.ids == hub] == clique.min()


def test_a_streamed_directed_graph_is_read_in_one_direction(tmp_path):
    graph = build(tmp_path / "g", edges())
    rows = ps.bfs(graph, 7, load=False).iterations
    assert {row["mode"] for row in rows} == {"top-down"}


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
    assert found.path("d") == ["b", "c", "d"]
    several = ps.bfs(graph, ["d", "a"])
    assert several.values.tolist() == [0, -1, -1, 0]
    assert several.parents.tolist() == ["a", None, None, "d"]
    assert several.path("c") == []
    assert several.path("d") == ["d"]
    verify(graph, several)


def test_what_cannot_be(tmp_path):
    graph = ps.from_edges([0], [1])
    for source in (2, [0, 2], "0"):
        with pytest.raises(IdError, match="source: there is no vertex"):
            ps.bfs(graph, source)
    with pytest.raises(IdError, match="5 is not an id"):
        ps.bfs(graph, 0).path(5)
    with pytest.raises(OptionError, match="source: expected a vertex"):
        ps.bfs(graph, [])
    for limit in (-1, 0.5):
        with pytest.raises(OptionError, match="depth_limit: expected a whole number"):
            ps.bfs(graph, 0, depth_limit=limit)
    backwards = build(tmp_path / "g", (np.array([0]), np.array([1])), directions="in")
    with pytest.raises(FormatError, match="out-lists"):
        ps.bfs(backwards, 0)


def num_levels(result):
    return sum(row["levels"] for row in result.iterations)


@pytest.mark.parametrize("way", WAYS[1:3], ids=WAY_NAMES[1:3])
@pytest.mark.parametrize("step", [1, 2, 50])
def test_it_goes_on_where_it_stopped(way, step, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False, num_vertices=6300)
    whole = ps.bfs(graph, 7, **way)
    with pytest.raises(KeyboardInterrupt), stopping_after(step):
        ps.bfs(graph, 7, checkpoint=tmp_path / "c", checkpoint_every=1, **way)
    for other in ({"source": 7, "depth_limit": 99}, {"source": [7, 8]}, {"source": range(20)}):
        with pytest.raises(OptionError, match="was made for"):
            ps.bfs(graph, **other, checkpoint=tmp_path / "c", resume=True, **way)
    rest = ps.bfs(graph, 7, checkpoint=tmp_path / "c", resume=True, **way)
    assert num_levels(rest) == num_levels(whole) - step
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
    assert_noticed(verify, graph, found, {place: value}, "bfs", column)


@pytest.mark.parametrize(
    ("place", "value"), [(4, 3), (4, 2), (3, -1), (5, 2), (5, -1), (0, 1), (1, 0)], ids=str
)
def test_the_verifier_notices_with_several_sources_and_a_limit(place, value):
    # 0 -> 1 -> 2 -> 3 -> 4, and 5 apart.
    graph = ps.from_edges([0, 1, 2, 3], [1, 2, 3, 4], num_vertices=6, vertex_order="none")
    found = ps.bfs(graph, [0, 5, 2], depth_limit=1)
    assert found.values.tolist() == [0, 1, 0, 1, -1, 0]
    verify(graph, found)
    found.values[place] = value
    found.parents[place] = -1 if value < 0 else max(place - 1, 0)
    with pytest.raises(VerificationError, match=r"^bfs: "):
        verify(graph, found)


def test_a_limit_saves_reading(tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    near = ps.bfs(graph, 6100, depth_limit=2, load=False, cache_pages=0)
    assert len(near.iterations) == 2
    assert near.stats["pages_read"] <= 4
    assert np.count_nonzero(near.values >= 0) == 5


def test_a_small_budget(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.config.MIN_BUDGET_BYTES", 1)
    monkeypatch.setattr("penstock.engine.frontier.FOUND_BYTES", 1 << 16)
    graph = build(tmp_path / "g", edges(), directed=False)
    whole = ps.bfs(graph, [7, 6200])
    assert whole.stats["resident"]
    found = ps.bfs(graph, [7, 6200], memory=2_320_000)
    assert not found.stats["resident"]
    np.testing.assert_array_equal(found.values, whole.values)
    np.testing.assert_array_equal(found.parents, whole.parents)
    with pytest.raises(BudgetError, match="requires at least"):
        ps.bfs(graph, 7, memory=2_200_000)


def test_small_levels_are_found_in_one_call(tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False, num_vertices=6300)
    whole = ps.bfs(graph, 6250, load=True, threads=2)
    assert len(whole.iterations) == 3
    assert num_levels(whole) == whole.values.max() + 1 > 250
    found = sum(row["found"] for row in whole.iterations)
    assert found == np.count_nonzero(whole.values > 0)
    # A path leads to the core, whose levels are found one by one if they are not small.
    with small_levels(500):
        rows = ps.bfs(graph, 6250, load=True, threads=2).iterations
    assert rows[0]["levels"] > 250
    assert [row["levels"] for row in rows if row["active"] > 500] == [1, 1]
    assert rows[-1]["levels"] == 2
    assert {row["mode"] for row in rows} == {"top-down", "bottom-up"}
    assert sum(row["levels"] for row in rows) == num_levels(whole)


@pytest.mark.parametrize("way", WAYS[:3], ids=WAY_NAMES[:3])
@pytest.mark.parametrize("every", [7, "1h"])
def test_it_stops_within_a_run_of_small_levels(way, every, tmp_path, monkeypatch):
    graph = build(tmp_path / "g", edges(), directed=False, num_vertices=6300)
    monkeypatch.setattr("penstock.engine.frontier_resident.CALL_EDGES", 16 * 20)
    whole = ps.bfs(graph, 7, **way)
    saved = []
    original = Recovery.after

    def after(self, step, *args):
        saved.append(step)
        if len(saved) == 3:
            self._schedule = Schedule(every_steps=1)
        original(self, step, *args)
        if len(saved) == 3:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recovery, "after", after)
        with pytest.raises(KeyboardInterrupt):
            ps.bfs(graph, 7, checkpoint=tmp_path / "c", checkpoint_every=every, **way)
    assert 3 <= saved[-1] < num_levels(whole)
    rest = ps.bfs(graph, 7, checkpoint=tmp_path / "c", resume=True, **way)
    assert num_levels(rest) == num_levels(whole) - saved[-1]
    np.testing.assert_array_equal(rest.values, whole.values)
    np.testing.assert_array_equal(rest.parents, whole.parents)


def test_a_checkpoint_comes_after_so_many_levels(tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False, num_vertices=6300)
    for step in (10, 20):
        with pytest.raises(KeyboardInterrupt), stopping_after(step):
            ps.bfs(graph, 6250, checkpoint=tmp_path / f"c{step}", checkpoint_every=10, load=True)


def test_lists_that_several_threads_share(tmp_path):
    # The hub's list is longer than what a thread takes at a time, and than what it holds back.
    rng = np.random.default_rng(2)
    n = 3 * LONG_LIST
    hub, other, source = n, n + 1, n + 2
    spokes = rng.permutation(n)[: n - 5]
    src = np.concatenate([np.full(len(spokes), hub), np.full(n // 2, other), [source, source]])
    dst = np.concatenate([spokes, rng.permutation(n)[: n // 2], [hub, other]])
    graph = build(tmp_path / "g", (src, dst), num_vertices=n + 3, directions="out")
    whole = ps.bfs(graph, source, threads=1)
    assert whole.stats["resident"]
    verify(graph, whole)
    with small_levels(100):
        found = ps.bfs(graph, source, threads=3)
    assert [row["mode"] for row in found.iterations][:2] == ["top-down", "top-down"]
    assert found.iterations[1]["edges"] == len(spokes) + n // 2, "an edge was looked at twice"
    np.testing.assert_array_equal(found.values, whole.values)
    np.testing.assert_array_equal(found.parents, whole.parents)


# Thresholds


@pytest.mark.parametrize("way", WAYS[1:3], ids=WAY_NAMES[1:3])
def test_the_rule_of_thresholds(way, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    usual = ps.bfs(graph, 7, **way)
    modes = {}
    for alpha, beta in ((1e9, 1e9), (1e-9, 1.0), (4096, 4)):
        found = ps.bfs(graph, 7, alpha=alpha, beta=beta, **way)
        np.testing.assert_array_equal(found.values, usual.values)
        np.testing.assert_array_equal(found.parents, usual.parents)
        modes[alpha] = [row["mode"] for row in found.iterations]
        assert len(modes[alpha]) == num_levels(usual)
    assert set(modes[1e9]) == {"bottom-up"}
    assert set(modes[1e-9]) == {"top-down"}
    assert set(modes[4096]) == {"top-down", "bottom-up"}


def test_thresholds_come_in_pairs():
    graph = ps.from_edges([0], [1])
    with pytest.raises(OptionError, match="beta: expected a number, as the other one is given"):
        ps.bfs(graph, 0, alpha=4096)
    with pytest.raises(OptionError, match="alpha: expected a number, as the other one is given"):
        ps.bfs(graph, 0, beta=4)
    with pytest.raises(OptionError, match="beta: expected a number above 0, got 0"):
        ps.bfs(graph, 0, alpha=1, beta=0)


def test_vertices_without_a_parent_among_ids_beyond_int64():
    ids = np.array([2**63, 2**63 + 1], np.uint64)
    found = ps.bfs(ps.from_edges(ids[:1], ids[1:]), 2**63 + 1)
    assert found.values.tolist() == [-1, 0]
    assert found.parents.tolist() == [None, 2**63 + 1]

"""Breadth-first search with the first edges in memory and lists on the disk: the same answers."""

from __future__ import annotations

import itertools
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from traversal_making import SMALL, build, edges, stopping_after

import penstock as ps
from penstock.algorithms.bfs import verify
from penstock.engine import direction
from penstock.engine.direction import Outlook, Sample, choose_tiered, reading_cost
from penstock.engine.topology import TIERS
from penstock.errors import BudgetError, OptionError
from penstock.stream import tiers
from penstock.stream.tiers import head_sums, tier_bytes

KINDS = {
    "undirected": {"directed": False},
    "directed": {},
    "out-lists only": {"directions": "out"},
    "as given": {"directed": False, "vertex_order": "none"},
    "duplicates": {"directed": False, "duplicates": "keep"},
}


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def graph(request, tmp_path_factory):
    return build(
        tmp_path_factory.mktemp("tiers") / "g", edges(), num_vertices=7000, **request.param
    )


@contextmanager
def asking_always():
    """Within, both ways are taken even on small graphs: lists cost little, vertices are asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direction, "SMALL_EDGES", 0)
        patch.setattr(direction, "FEW_LISTS", 0)
        patch.setattr(direction, "READ_COST", 1)
        yield


@pytest.fixture
def _asks_always():
    with asking_always():
        yield


SEVERAL = {"source": [7, 4, 6050, 6200, 3], "depth_limit": 20}


@pytest.fixture(scope="module")
def in_memory(graph):
    """What there is to find, from one source and from several."""
    with asking_always():
        whole = ps.bfs(graph, 7)
        assert whole.stats["resident"]
        verify(graph, whole)
        return whole, ps.bfs(graph, **SEVERAL)


@pytest.mark.usefixtures("_asks_always")
@pytest.mark.parametrize(("k", "threads"), [(0, 3), (1, 1), (3, 3), (1000, 1)])
def test_the_same_as_in_memory(graph, in_memory, k, threads):
    whole, one = in_memory
    found = ps.bfs(graph, 7, resident_edges=k, threads=threads)
    assert found.stats["head_edges"] == k
    assert not found.stats["resident"]
    np.testing.assert_array_equal(found.values, whole.values)
    np.testing.assert_array_equal(found.parents, whole.parents)
    if not any(row["lists_read"] for row in found.iterations):
        assert found.stats["reads"] == 0
    other = ps.bfs(graph, **SEVERAL, resident_edges=k)
    np.testing.assert_array_equal(other.values, one.values)
    np.testing.assert_array_equal(other.parents, one.parents)
    graph.kept.clear()


@pytest.mark.usefixtures("_asks_always")
@pytest.mark.parametrize(("dense", "long"), [(0, 0), (0, 1 << 40), (1 << 40, 0)])
def test_long_reads_and_short_ones_and_whole_pages(graph, in_memory, dense, long, monkeypatch):
    monkeypatch.setattr(tiers, "DENSE", dense)
    monkeypatch.setattr(tiers, "LONG_EDGES", long)
    monkeypatch.setattr(tiers, "MANY_LISTS", long)
    found = ps.bfs(graph, 7, resident_edges=1)
    np.testing.assert_array_equal(found.parents, in_memory[0].parents)


@pytest.mark.usefixtures("_asks_always")
def test_both_ways_read_lists(tmp_path):
    rng = np.random.default_rng(0)
    graph = build(tmp_path / "g", tuple(rng.integers(0, 20_000, (2, 150_000))), directed=False)
    found = ps.bfs(graph, 7, resident_edges=1)
    verify(graph, found)
    read = {row["mode"]: row["lists_read"] for row in found.iterations if row["lists_read"]}
    assert set(read) == {"top-down", "bottom-up"}


@pytest.mark.usefixtures("_asks_always")
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(shape=SMALL, directed=st.booleans(), k=st.integers(0, 3), data=st.data())
def test_any_graph(tmp_path_factory, shape, directed, k, data):
    n, pairs = shape
    folder = tmp_path_factory.mktemp("any")
    src, dst = np.array(pairs, int).reshape(-1, 2).T
    graph = build(folder / "g", (src, dst), directed=directed, num_vertices=n)
    source = data.draw(st.integers(0, n - 1))
    found = ps.bfs(graph, source, resident_edges=k)
    verify(graph, found)
    np.testing.assert_array_equal(found.values, ps.bfs(graph, source).values)


@pytest.mark.usefixtures("_asks_always")
@pytest.mark.parametrize("k", [0, 1, 4])
def test_edges_are_counted_as_in_memory(tmp_path, k):
    rng = np.random.default_rng(1)
    arrays = tuple(rng.integers(0, 3000, (2, 15_000)))
    graph = build(tmp_path / "g", arrays, directed=False)
    given = {"source": 5, "breakdown": True, "alpha": 3.0, "beta": 2.0}
    whole, found = ps.bfs(graph, **given), ps.bfs(graph, **given, resident_edges=k)
    names = ("mode", "active", "found", "edges", "claimed", "failed", "peer", "parent", "scanned")
    assert {row["mode"] for row in whole.iterations} == {"top-down", "bottom-up"}
    for one, other in itertools.zip_longest(whole.iterations, found.iterations):
        assert {k: one.get(k) for k in names} == {k: other.get(k) for k in names}
    assert sum(row["lists_read"] for row in found.iterations if row["mode"] == "bottom-up") > 0


def test_memory_decides_how_many_edges_stay(tmp_path):
    rng = np.random.default_rng(1)
    graph = build(tmp_path / "g", tuple(rng.integers(0, 60_000, (2, 3_000_000))), directed=False)
    degrees = np.asarray(graph.degrees("out"))
    sums, (_, sizes) = head_sums(degrees), tier_bytes(graph, "out", degrees)
    whole = ps.bfs(graph, 7)
    assert whole.stats["head_edges"] is None
    before = 0
    for memory in (20_000_000, 23_000_000, 26_000_000):
        found = ps.bfs(graph, 7, memory=memory)
        k = found.stats["head_edges"]
        assert k > before
        before = k
        planned = found.stats["planned_memory"]
        assert planned <= memory < planned + sizes[k + 1] - sizes[k]
        np.testing.assert_array_equal(found.parents, whole.parents)
        tier = graph.kept.get(TIERS, "out", k)
        assert len(tier.heads.neighbours) == sums[k]
    again = ps.bfs(graph, 9, memory=memory)
    assert again.stats["load_seconds"] == 0  # what is in memory stays with the graph
    assert again.stats["pages_read"] == 0
    assert ps.bfs(graph, 7, memory=memory, load=False).stats["head_edges"] is None
    with pytest.raises(BudgetError, match=r"the first 90 edges .* requires at least"):
        ps.bfs(graph, 7, memory=memory, resident_edges=90)


def test_the_dual_model_reads_all_lists_top_down(tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False)
    whole, found = ps.bfs(graph, 7), ps.bfs(graph, 7, dual=True)
    np.testing.assert_array_equal(found.parents, whole.parents)
    for row in found.iterations:
        expected = row["active"] if row["mode"] == "top-down" else 0
        assert row["lists_read"] == expected


@pytest.mark.parametrize("step", [1, 2, 50])
def test_it_goes_on_where_it_stopped(step, tmp_path):
    graph = build(tmp_path / "g", edges(), directed=False, num_vertices=6300)
    how = {"resident_edges": 2, "checkpoint": tmp_path / "c"}
    whole = ps.bfs(graph, 7)
    with pytest.raises(KeyboardInterrupt), stopping_after(step):
        ps.bfs(graph, 7, checkpoint_every=1, **how)
    rest = ps.bfs(graph, 7, resume=True, **how)
    np.testing.assert_array_equal(rest.values, whole.values)
    np.testing.assert_array_equal(rest.parents, whole.parents)


def test_what_cannot_be(tmp_path):
    with pytest.raises(OptionError, match="resident_edges"):
        ps.bfs(ps.from_edges([0], [1]), 0, resident_edges=3)
    slotted = build(tmp_path / "s", edges(), layout="slotted")
    graph = build(tmp_path / "g", edges())
    for each, how in (
        (slotted, {"resident_edges": 2}), (slotted, {"dual": True}),
        (graph, {"resident_edges": 2, "load": False}), (graph, {"resident_edges": -1}),
    ):  # fmt: skip
        with pytest.raises(OptionError, match="resident_edges"):
            ps.bfs(each, 7, **how)


def test_the_rule_reads_less():
    """A pure function: top-down for few lists, bottom-up if first edges answer."""
    outlook = Outlook(1000, 10, 10**6, 10**6, 10**8, "top-down", 16.0)
    answers, silent = Sample(1000, 1500, 0), Sample(1000, 8000, 900)
    assert choose_tiered(outlook, 10**5, answers, 10**9) == "bottom-up"
    assert choose_tiered(outlook, 10**3, silent, 10**9) == "top-down"
    assert choose_tiered(outlook, 0, silent, 10**9) == "top-down"
    once = direction.PASS_COST * 10**9  # no more than all of it, and something for each list
    assert reading_cost(10**8, 10**9) == once + direction.LIST_COST * 10**8
    assert reading_cost(0, 1000) == 0

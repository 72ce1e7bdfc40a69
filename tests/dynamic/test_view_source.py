"""A view: its pages and counts, lists in place and from a base, snapshots, graphs held still."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from view_making import (
    WEIGHT,
    Changing,
    Ids,
    made,
    made_frozen,
    made_on_base,
    small_pages,
    some_batches,
)  # fmt: skip

import penstock as ps
from penstock import algorithms
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.view import LiveView, Version, snapshot
from penstock.dynamic.view_lists import Side, freeze_lists
from penstock.engine.estimate import estimate_run
from penstock.engine.options import RunOptions
from penstock.engine.recovery import Recovery
from penstock.engine.topology import LISTS
from penstock.errors import CorruptionError, FormatError, IdError, OptionError
from penstock.store import grouping
from penstock.store.catalog import DirectionStats
from penstock.store.check_index import table_problems
from penstock.store.source import Description


def as_dict(graph):
    """Weights by pair of ids."""
    src, dst, weight = graph.to_edges()
    pairs = zip(src.tolist(), dst.tolist(), strict=True)
    assert len(weight) == graph.num_edges
    return dict(zip(pairs, weight.tolist(), strict=True))


def expected_of(live):
    ids = live.ids.by_vid.tolist()
    return {(ids[u], ids[v]): weight for (u, v), weight in live.edges.items()}


def problems(table, stats, num_vertices):
    """What is wrong with a page table that has no large pages."""
    whole = DirectionStats(
        stats.num_pages, stats.num_edges, stats.num_pages, 0, 0, stats.max_degree,
        stats.degree_histogram[0], stats.degree_histogram,
    )  # fmt: skip
    return table_problems(table, whole, num_vertices)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("on_base", [False, True])
def test_counts_and_edges(directed, on_base, monkeypatch):
    small_pages(monkeypatch)
    live = made_on_base(None, directed=directed) if on_base else made(directed=directed)
    view, graph = live.view(), live.as_graph(vertex_order="none")
    assert as_dict(view) == expected_of(live)
    assert (view.num_vertices, view.num_edges) == (graph.num_vertices, graph.num_edges)
    assert (view.directed, view.weighted, view.directions) == (
        graph.directed, True, graph.directions
    )  # fmt: skip
    for direction in view.directions:
        table, mine = view.page_table(direction), view.list_stats(direction)
        assert problems(table, mine, view.num_vertices) == []
        assert len(table) > (1 if on_base else 4)
        np.testing.assert_array_equal(view.degrees(direction), graph.degrees(direction))
        assert mine._replace(num_pages=1) == graph.list_stats(direction)._replace(num_pages=1)
    assert "live graph" in repr(view)


@given(st.lists(st.integers(0, 300), max_size=60), st.integers(1, 200), st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_pages_hold_all_vertices_and_few_edges(degrees, most_edges, most_vertices):
    array = np.array(degrees, np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "PAGE_EDGES", most_edges)
        patch.setattr(grouping, "PAGE_VERTICES", most_vertices)
        found = grouping.group_lists(array)
    assert problems(found.table, found.stats, len(degrees)) == []
    assert found.table["num_vertices"].max(initial=0) <= most_vertices
    alone = found.table["num_vertices"] == 1
    assert (found.table["num_edges"][~alone] <= most_edges).all()
    assert found.stats.num_edges == sum(degrees)
    histogram = [0] * len(found.stats.degree_histogram)
    for degree in degrees:
        histogram[degree.bit_length()] += 1
    assert list(found.stats.degree_histogram) == histogram
    assert found.stats.max_degree == max(degrees, default=0)


def test_no_vertices_and_no_edges():
    nobody = Changing(np.arange(0), directed=False)
    assert len(ps.bfs(made(directed=False).view(), 5)) == 130
    assert len(ps.pagerank(nobody.view())) == 0
    with pytest.raises(IdError, match="no vertices"):
        ps.bfs(nobody.view(), 0)
    alone = Changing(np.arange(3), directed=True)
    assert ps.bfs(alone.view(), 1).values.tolist() == [-1, 0, -1]
    assert ps.connected_components(alone.view(), load=False).values.tolist() == [0, 1, 2]


def test_lists_in_memory_are_used_in_place_or_copied_once():
    view = made(directed=False).view()
    for name, parameters in (
        ("bfs", {"source": 5}), ("sssp", {"source": 5}), ("pagerank", {}),
        ("connected_components", {}),
    ):  # fmt: skip
        found = algorithms.find(name)(view, **parameters)
        assert found.stats["resident"], name
        assert found.stats["load_seconds"] == 0
    assert not view.kept.keys(LISTS)
    first, again = (ps.core_number(view).stats for _ in range(2))
    assert first["resident"]
    assert first["load_seconds"] > 0 == again["load_seconds"]
    assert not ps.core_number(view, load=False).stats["resident"]


def test_what_a_run_holds_does_not_count_the_lists():
    live = made(directed=False)
    graph = live.as_graph()
    options = RunOptions.of(threads=2)
    held, loaded = (
        estimate_run(each, ps.bfs, {"source": 5}, options) for each in (live.view(), graph)
    )
    assert held.plan.resident
    assert loaded.plan.resident
    assert held.memory["topology"] == 0 < loaded.memory["topology"]
    assert held.bytes_read == 0
    assert ps.bfs.requirements(live.view(), source=5)[0].takes_gaps


# A base


@pytest.mark.parametrize("directed", [False, True])
def test_a_base_on_disk_is_read_page_by_page(directed, tmp_path):
    live = made_on_base(tmp_path / "base", directed=directed, n=3000)
    view = live.view()
    base = live.sides["out"].base.graph
    assert (base.page_table("out")["run"] > 0).any()  # a list in several pages
    runs = [len(view.source("out").base_pages(k)) for k in range(len(view.page_table("out")))]
    assert max(runs) > 1
    assert 0 in runs
    assert as_dict(view) == expected_of(live)
    graph = live.as_graph(vertex_order="none")
    expected = ps.sssp(graph, 5).values
    for options in ({"load": False}, {"load": False, "cache_pages": 0}, {}):
        found = ps.sssp(view, 5, threads=2, **options)
        np.testing.assert_array_equal(found.values, expected)
        assert found.stats["bytes_read"] > 0
        assert found.stats["resident"] == (not options)
    ranks = ps.pagerank(view, tol=0, max_iter=3, load=False, cache_pages=0, threads=2)
    pages = np.count_nonzero(base.page_table("in")["num_edges"])
    assert ranks.stats["pages_read"] == 3 * pages
    np.testing.assert_allclose(
        ranks.values, ps.pagerank(graph, tol=0, max_iter=3).values, rtol=1e-4
    )


def test_a_page_of_which_nothing_is_left_is_not_read(tmp_path):
    live = made_on_base(tmp_path / "base", directed=True, n=3000)
    pairs = np.array(sorted(live.edges))
    live.change(pairs[:, 0], pairs[:, 1], np.zeros(len(pairs)), np.zeros(len(pairs)))
    view = live.view()
    assert view.num_edges == 0
    assert as_dict(view) == {}
    found = ps.connected_components(view, load=False)
    assert found.stats["pages_read"] == 0
    assert found.values.tolist() == list(range(3000))


def test_a_base_that_has_more_edges_than_it_had_is_refused():
    live = made_on_base(None, directed=True)
    version = live.as_version()
    side = version.sides["out"]
    wrong = Side(np.minimum(side.degrees, 2), side.added, side.base, side.removed)
    view = LiveView(replace(version, sides={"out": wrong}))
    with pytest.raises(CorruptionError, match=r"vertices 0 to 109 have .* restore it"):
        ps.bfs(view, 5, load=False)


# Layers


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("based", [False, True])
def test_counts_and_edges_of_a_graph_that_was_frozen(directed, based, tmp_path, monkeypatch):
    if not based:
        small_pages(monkeypatch)
    live = made_frozen(tmp_path / "base", directed=directed, based=based, n=3000 if based else 130)
    view, graph = live.view(), live.as_graph(vertex_order="none")
    assert (as_dict(view), view.storage is None) == (expected_of(live), not based)
    for each in view.directions:
        np.testing.assert_array_equal(view.degrees(each), graph.degrees(each))
        mine, right = view.list_stats(each), graph.list_stats(each)
        assert mine._replace(num_pages=1) == right._replace(num_pages=1)
    if based:
        runs = [len(view.source("out").base_pages(k)) for k in range(len(view.page_table("out")))]
        assert max(runs) > 1  # a list in several pages
    for options in ({"load": False, "cache_pages": 0}, {}):
        np.testing.assert_array_equal(
            ps.sssp(view, 5, threads=2, **options).values, ps.sssp(graph, 5).values
        )


@pytest.mark.parametrize("based", [False, True])
def test_a_snapshot_copies_nothing_that_was_frozen(based, monkeypatch):
    small_pages(monkeypatch)
    live = made_frozen(None, directed=True, based=based)
    kept, before = snapshot(live.as_version()), expected_of(live)
    assert kept.source("out")._lower == live.sides["out"].base.layers
    for batch in some_batches(seed=9):
        live.change(*batch)
    assert as_dict(kept) == before
    live.freeze()
    assert as_dict(kept) == before
    assert as_dict(live.view()) == expected_of(live)


# Snapshots


@pytest.mark.parametrize("on_base", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_a_snapshot_stays_while_the_lists_change(directed, on_base, monkeypatch):
    small_pages(monkeypatch)
    live = made_on_base(None, directed=directed) if on_base else made(directed=directed)
    kept, before, graph = snapshot(live.as_version()), expected_of(live), live.as_graph()
    for batch in some_batches(seed=9):
        live.change(*batch)
    assert expected_of(live) != before
    assert as_dict(kept) == before
    assert as_dict(live.view()) == expected_of(live)
    for options in ({}, {"load": False}):
        np.testing.assert_array_equal(ps.sssp(kept, 5, **options).values, ps.sssp(graph, 5).values)
    assert ps.bfs(kept, 5).stats["resident"]


def test_frozen_lists_have_all_columns():
    lists = DegreeAwareLists([WEIGHT, WEIGHT.__class__("kind", np.dtype("int16"))])
    lists.grow(4)
    src, dst = np.array([2, 0, 2], np.uint32), np.array([1, 3, 0], np.uint32)
    lists.apply(src, dst, None, [np.array([0.5, 1.5, 2.5]), np.array([7, 8, 9], np.int16)])
    frozen = freeze_lists(lists, 4)
    assert (frozen.ends - frozen.starts).tolist() == [1, 0, 2, 0]
    rows = zip(frozen.neighbours.tolist(), *(c.tolist() for c in frozen.columns), strict=True)
    assert sorted(rows) == [(0, 2.5, 9), (1, 0.5, 7), (3, 1.5, 8)]
    side = Side(lists.degrees(), lists)
    columns = (WEIGHT, WEIGHT.__class__("kind", np.dtype("int16")))
    described = Description(4, 3, directed=True, columns=columns, weight="weight")
    view = LiveView(Version(described, Ids(np.arange(4)), {"out": side}))
    for options in ({}, {"load": False}):
        found = ps.sssp(view, 2, **options).values.tolist()
        assert found == [2.5, 0.5, 0.0, 4.0]


# Ids


def test_string_ids():
    names = np.array(["pear", "fig", "äpfel", "apple", "lime"], object)
    live = Changing(names, directed=False)
    live.change([0, 1, 2], [1, 2, 4], [1, 1, 1], [1.0, 2.0, 3.0])
    found = ps.bfs(live.view(), "fig")
    assert found.ids.tolist() == sorted(names.tolist())
    assert dict(zip(found.ids, found.values, strict=True)) == {
        "fig": 0, "pear": 1, "äpfel": 1, "lime": 2, "apple": -1,
    }  # fmt: skip
    assert found.path("lime") == ["fig", "äpfel", "lime"]
    with pytest.raises(IdError, match="'plum'"):
        ps.bfs(live.view(), "plum")


# Held still


class Holder:
    """A graph that changes, as algorithms get it."""

    def __init__(self, live):
        self.live, self.held, self.times = live, False, 0

    @contextmanager
    def reading(self):
        self.held, self.times = True, self.times + 1
        try:
            yield self.live.view()
        finally:
            self.held = False


def test_algorithms_hold_a_graph_still_while_they_run(monkeypatch):
    live = made(directed=False)
    holder, graph = Holder(live), live.as_graph()
    found = ps.sssp(holder, 5)
    assert (holder.held, holder.times) == (False, 1)
    expected = ps.sssp(graph, 5)
    for batch in some_batches(seed=9):
        live.change(*batch)
    # Parents are made when they are first used; of a graph that changes that is too late.
    np.testing.assert_array_equal(found.values, expected.values)
    truth = expected.values
    for target, parent in zip(found.ids.tolist(), found.parents.tolist(), strict=True):
        assert target == 5 or parent == -1 or truth[parent] < truth[target]
    core = ps.k_core(Holder(live))
    live.change(*some_batches(seed=10)[0])
    assert len(core.edges)
    entries = sum(1 if u == v else 2 for u, v in live.edges)
    assert ps.run(holder, _counting(), max_iter=1).values.sum() == entries
    assert estimate_run(holder, ps.bfs, {"source": 5}, RunOptions.of()).plan.resident
    ps.bfs.verify(holder, ps.bfs(holder, 5))
    assert not holder.held
    with pytest.raises(OptionError, match="expected a graph, got int"):
        ps.bfs(17, 0)


def _counting():
    return ps.Program(
        state={"value": "int64"}, init=lambda vertex: 1, gather=lambda src, edge, dst: src.value,
        sum="add", identity=0, apply=lambda old, a: a, name="counting",
    )  # fmt: skip


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    live = made(directed=False)
    place = tmp_path / "saved"
    options = {"tol": 0, "max_iter": 5, "checkpoint": place, "checkpoint_every": 1}
    after = Recovery.after

    def stop(self, done, *args, **more):
        after(self, done, *args, **more)
        raise KeyboardInterrupt

    def interrupt():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Recovery, "after", stop)
            with pytest.raises(KeyboardInterrupt):
                ps.pagerank(live.view(), **options)

    interrupt()
    assert ps.pagerank(live.view(), resume=True, **options).stats["iterations"] == 4
    interrupt()
    live.change([1], [2], [1], [1.0])
    with pytest.raises(OptionError, match="graph"):
        ps.pagerank(live.view(), resume=True, **options)


def test_a_direction_that_is_not_kept_is_refused():
    live = made(directed=True)
    version = live.as_version()
    out = replace(version, sides={"out": version.sides["out"]})
    with pytest.raises(FormatError, match="in-lists"):
        ps.heat(LiveView(out), initial={5: 1.0})
    levels = ps.bfs(LiveView(out), 5).values
    np.testing.assert_array_equal(levels, ps.bfs(live.as_graph(), 5).values)


def test_what_is_read_of_a_base_is_estimated(tmp_path):
    live = made_on_base(tmp_path / "base", directed=True, n=3000)
    options = RunOptions.of(threads=1, load=False, cache_pages=0)
    parameters = {"tol": 0, "max_iter": 4}
    estimated = estimate_run(live.view(), ps.pagerank, parameters, options)
    found = ps.pagerank(live.view(), threads=1, load=False, cache_pages=0, **parameters)
    assert 0 < estimated.bytes_read <= found.stats["bytes_read"] <= 2 * estimated.bytes_read

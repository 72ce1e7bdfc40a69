"""A base and its changes as one, against pairs in a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merge_making import Live, Model, N, lists_of, many_pieces, rows, some_edges, split, store

from penstock.dynamic.base import BaseLists
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.merge import MergedSide
from penstock.errors import OptionError

KINDS = {
    "plain": {"directed": True},
    "undirected": {"directed": False},
    "weighted": {"directed": True},
    "weighted, undirected": {"directed": False},
    "as in the input": {"neighbour_order": "input"},
    "parallel": {"duplicates": "keep"},
    "parallel, weighted": {"duplicates": "keep"},
    "parallel, no duplicates": {},
}


@pytest.fixture(scope="module", params=KINDS)
def started(request, tmp_path_factory):
    """A base, its lists, and the model of a graph that goes on from it."""
    arrays = some_edges(weighted="weighted" in request.param)
    path = tmp_path_factory.mktemp("merge") / "g.penstock"
    graph = store(arrays, path, num_vertices=N, **KINDS[request.param])
    base = BaseLists(graph, "out", threads=2)
    lists = lists_of(graph)
    model = Model([*lists, [], [], [], []], multigraph=request.param.startswith("parallel"))
    yield base, lists, model
    base.close()


@settings(max_examples=20, deadline=None)
@given(st.lists(rows, max_size=4), st.integers(1, 3), st.booleans())
def test_batches_against_the_model(started, batches, repeats, counted):
    live = Live(started)
    for drawn in batches:
        batch = live.batch(drawn, repeats=repeats)
        expected = live.expect(*batch)
        if counted:
            assert live.side.apply_counted(*batch).tolist() == expected
        else:
            assert live.side.apply(*batch).tolist() == [int(count > 0) for count in expected]
        live.check()
    live.close()


def test_large_batches_on_several_threads(started):
    live = Live(started)
    rng = np.random.default_rng(5)
    with many_pieces():
        for _ in range(3):
            drawn = [
                (("edge", int(k)), bool(k & 1), int(k % 90)) for k in rng.integers(0, 1 << 30, 2000)
            ]
            drawn += [
                ((int(u), int(v)), bool((u ^ v) & 1), int(u % 90))
                for u, v in rng.integers(0, N + 4, (2000, 2))
            ]
            batch = live.batch(drawn)
            assert live.side.apply_counted(*batch).tolist() == live.expect(*batch)
            live.check()
        everyone = split(live.side.gather(np.arange(N + 4, dtype=np.uint32)))
    assert [sorted(entries) for entries in everyone] == [
        live.model.entries(v) for v in range(N + 4)
    ]
    live.close()


def test_degrees_before_the_first_change(started):
    base, lists, model = started
    added = DegreeAwareLists(base.columns, multigraph=model.multigraph, threads=1)
    side = MergedSide(base, added)
    assert side.degrees().tolist() == [len(entries) for entries in lists]
    assert np.shares_memory(side.degrees(), base.degrees())
    side.grow(N + 4)
    assert side.degrees().tolist() == model.degrees
    assert side.degrees_of(np.array([N, 7], np.uint32)).tolist() == [0, len(lists[7])]
    side.removed.close()
    added.close()


def test_a_batch_that_only_adds_needs_no_operations(started):
    live = Live(started)
    src, dst, adds, columns = live.batch([(("edge", 3), True, 1), ((2999, 3002), True, 2)])
    expected = live.expect(src, dst, adds, columns)
    assert live.side.apply_counted(src, dst, None, columns).tolist() == expected
    live.check()
    live.close()


def test_a_side_that_goes_on_from_lists_with_edges(started):
    live = Live(started)
    drawn = [(("edge", 7 * k), k % 2 == 0, k) for k in range(50)]
    batch = live.batch(drawn)
    live.expect(*batch)
    live.side.apply(*batch)
    live.side = MergedSide(live.base, live.side.added, live.side.removed)
    live.check()
    live.close()


def test_every_edge_of_a_list_in_large_pages_goes_and_comes_back(started):
    live = Live(started)
    hub = max(range(N), key=lambda v: len(live.lists[v]))
    targets = [row[0] for row in live.lists[hub]]
    assert len(targets) > 2000
    for add in (False, True):
        batch = live.batch([((hub, v), add, 5) for v in targets])
        assert live.side.apply_counted(*batch).tolist() == live.expect(*batch)
        live.check()
    live.close()


@pytest.mark.parametrize("multigraph", [False, True])
def test_without_a_base_the_added_edges_are_all(multigraph):
    added = DegreeAwareLists(multigraph=multigraph, threads=2)
    side = MergedSide(None, added)
    side.grow(6)
    src, dst = np.array([1, 1, 4, 1], np.uint32), np.array([2, 2, 4, 2], np.uint32)
    adds = np.array([1, 1, 1, 0], np.uint8)
    assert side.apply_counted(src, dst, adds).tolist() == (
        [1, 1, 1, 2] if multigraph else [1, 0, 1, 1]
    )
    assert side.num_edges == 1
    assert side.degrees().tolist() == [0, 0, 0, 0, 1, 0]
    assert side.degrees_of(src).tolist() == [0, 0, 1, 0]
    assert side.has(src, dst).tolist() == [False, False, True, False]
    assert split(side.gather(np.array([4, 1, 4], np.uint32))) == [[(4,)], [], [(4,)]]
    added.close()


def test_a_base_with_parallel_edges_is_no_simple_graph(tmp_path):
    base = BaseLists(store(some_edges(), tmp_path / "g", duplicates="keep"), "out", 1)
    with pytest.raises(OptionError, match="multigraph"):
        MergedSide(base, DegreeAwareLists(threads=1))

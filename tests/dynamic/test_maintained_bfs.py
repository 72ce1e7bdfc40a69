"""Breadth-first levels that are kept: after every batch they are those of a search from nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live_making import LiveGraph
from replay_making import (
    NO_ROWS,
    REAL,
    ListsGraph,
    known,
    needs_shared,
    random_batches,
    real_graph,
    replayed,
)  # fmt: skip
from scipy.sparse.csgraph import dijkstra

from penstock.dynamic.maintained import make
from penstock.errors import OptionError
from penstock.types import NO_VERTEX

IDS = st.integers(0, 11)
PAIRS = st.lists(st.tuples(IDS, IDS), max_size=14)
BATCHES = st.lists(st.tuples(PAIRS, PAIRS), min_size=1, max_size=6)


def levels_and_parents(live: LiveGraph, source: object) -> tuple[list[int], list[int]]:
    """Another method: whole levels at a time, from the sets of edges."""
    n = len(live.ids)
    levels, parents = [-1] * n, [NO_VERTEX] * n
    if source not in live.vids:
        return levels, parents
    first = live.vids[source]
    levels[first], parents[first] = 0, first
    frontier, level = {first}, 0
    while frontier:
        level += 1
        found = {w for v in frontier for w in live.out.lists[v] if levels[w] == -1}
        for w in found:
            levels[w] = level
            parents[w] = min(v for v in frontier if w in live.out.lists[v])
        frontier = found
    return levels, parents


def check(kept, live: LiveGraph, source: object) -> None:
    levels, parents = levels_and_parents(live, source)
    assert kept.values.dtype == np.int32
    assert kept.values.tolist() == levels
    assert kept.columns["parents"].tolist() == parents
    assert not kept._queued.now.any()


@given(BATCHES, st.booleans(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_levels_after_every_batch(batches, directed, multigraph):
    live = LiveGraph(directed=directed, multigraph=multigraph)
    kept = make("bfs", live.sides, source=3)
    kept.start()
    for added, removed in batches:
        kept.update(live.batch(added, removed))
        check(kept, live, 3)


@given(PAIRS, BATCHES)
@settings(max_examples=30, deadline=None)
def test_start_on_a_graph_that_is_there(there, batches):
    live = LiveGraph()
    live.batch(there)
    kept = make("bfs", live.sides, source=3)
    kept.start()
    check(kept, live, 3)
    for added, removed in batches:
        kept.update(live.batch(added, removed))
    check(kept, live, 3)


def test_source_that_comes_later():
    live = LiveGraph()
    kept = make("bfs", live.sides, source="s")
    kept.start()
    kept.update(live.batch([("a", "b")]))
    assert kept.values.tolist() == [-1, -1]
    kept.update(live.batch([("c", "s"), ("a", "s")], [("a", "b")]))
    check(kept, live, "s")
    assert kept.values[live.vids["a"]] == 1


def test_a_removed_edge_that_leads_to_no_child_costs_nothing():
    live = LiveGraph()
    live.batch([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
    kept = make("bfs", live.sides, source=0)
    kept.start()
    kept.update(live.batch(removed=[(1, 2), (2, 3)]))
    assert kept.facts["touched"] == 0
    check(kept, live, 0)


def test_edge_that_went_and_came_in_one_batch():
    live = LiveGraph()
    live.batch([(0, 1), (1, 2)])
    kept = make("bfs", live.sides, source=0)
    kept.start()
    changes = live.batch([(0, 1)], [(0, 1)])
    assert len(changes.added_src) == len(changes.removed_src) == 1
    kept.update(changes)
    check(kept, live, 0)


def test_a_directed_graph_without_reverse_edges_is_refused():
    live = LiveGraph(directed=True, reverse=False)
    with pytest.raises(OptionError, match="reverse=False"):
        make("bfs", live.sides, source=0)


def test_values_cannot_be_written_to():
    live = LiveGraph()
    kept = make("bfs", live.sides, source=0)
    kept.start()
    kept.update(live.batch([(0, 1)]))
    with pytest.raises(ValueError, match="read-only"):
        kept.values[0] = 1


def check_by_scipy(kept, live, source: int = 0) -> None:
    """Levels by SciPy, and one level between each vertex and its parent."""
    distances = dijkstra(live.matrix(), indices=source, unweighted=True)
    assert np.array_equal(kept.values, np.where(distances < np.inf, distances, -1))
    reached = np.flatnonzero(kept.values > 0)
    parents = kept.columns["parents"][reached]
    assert (kept.values[parents] + 1 == kept.values[reached]).all()
    assert (live.out.find(parents, reached.astype(np.uint32)) >= 0).all()


@pytest.mark.parametrize("directed", [False, True])
def test_sparse_random_graphs(directed):
    """Long paths and large parts that come loose: few edges a vertex."""
    rng = np.random.default_rng(5)
    live = ListsGraph(1000, directed=directed)
    live.batch(rng.integers(0, 1000, (2000, 2)))
    source = int(np.argmax(live.out.degrees()))
    kept = make("bfs", live.sides, source=source)
    kept.start()
    lost = 0
    for changes in random_batches(live, rng, 32, 60):
        kept.update(changes)
        check_by_scipy(kept, live, source)
        lost += kept.facts["lost"]
    assert lost > 100
    kept.update(live.batch(NO_ROWS, live.edges()))
    assert (kept.values >= 0).sum() == 1
    live.close()


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_graphs(name):
    rng = np.random.default_rng(2)
    live = real_graph(name, rng)
    kept = make("bfs", live.sides, source=0)
    kept.start()
    check_by_scipy(kept, live)
    for changes in random_batches(live, rng, 12, 1000):
        kept.update(changes)
        check_by_scipy(kept, live)
    live.close()


@needs_shared
@pytest.mark.parametrize("directed", [False, True])
def test_replay_ends_in_the_known_levels(directed):
    live, batches = replayed(directed=directed)
    kept = make("bfs", live.sides, source=5)
    kept.start()
    for changes in batches:
        kept.update(changes)
    levels = np.where(kept.values >= 0, kept.values, np.inf)
    assert np.array_equal(levels, known("BFS-directed" if directed else "BFS"))
    live.close()

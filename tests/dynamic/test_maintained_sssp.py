"""Distances that are kept: after every batch they are those of Dijkstra's algorithm."""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush

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
from scipy.sparse.csgraph import dijkstra as scipy_dijkstra

from penstock.dynamic.maintained import make
from penstock.errors import InputError, OptionError
from penstock.types import NO_VERTEX

IDS = st.integers(0, 11)
WEIGHTS = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.0, 3.0, 1e17, np.inf])
EDGES = st.lists(st.tuples(IDS, IDS, WEIGHTS), max_size=14)
BATCHES = st.lists(
    st.tuples(EDGES, st.lists(st.tuples(IDS, IDS), max_size=14)), min_size=1, max_size=6
)


def make_kept(live: LiveGraph, source: object, **parameters):
    return make("sssp", replace(live.sides, column_names=("weight",)), source=source, **parameters)


def dijkstra(live: LiveGraph, source: object) -> list[float]:
    distances = [np.inf] * len(live.ids)
    heap = [(0.0, live.vids[source])] if source in live.vids else []
    while heap:
        distance, v = heappop(heap)
        if distance >= distances[v]:
            continue
        distances[v] = distance
        for w, weights in live.out.lists[v].items():
            heappush(heap, (distance + min(weights), w))
    return distances


def check(kept, live: LiveGraph, source: object) -> None:
    distances = dijkstra(live, source)
    assert kept.values.dtype == np.float64
    assert kept.values.tolist() == distances
    assert not kept._queued.now.any()
    parents = kept.columns["parents"].tolist()
    for v, (parent, distance) in enumerate(zip(parents, distances, strict=True)):
        if distance == np.inf:
            assert parent == NO_VERTEX
        elif live.ids[v] == source:
            assert parent == v
        else:
            tight = [
                u
                for u in range(len(distances))
                if v in live.out.lists[u] and distances[u] + min(live.out.lists[u][v]) == distance
            ]
            nearer = [u for u in tight if distances[u] < distance]
            assert parent == min(nearer) if nearer else parent in tight
            assert leads_to(parents, v, live.vids[source])


def leads_to(parents: list[int], v: int, source: int) -> bool:
    for _ in parents:
        v = parents[v]
        if v == source:
            return True
    return False


@given(BATCHES, st.booleans(), st.booleans())
@settings(max_examples=120, deadline=None)
def test_distances_after_every_batch(batches, directed, multigraph):
    live = LiveGraph(directed=directed, multigraph=multigraph)
    kept = make_kept(live, 3)
    kept.start()
    for added, removed in batches:
        pairs, weights = [(a, b) for a, b, _ in added], [w for *_, w in added]
        kept.update(live.batch(pairs, removed, weights, reweigh=True))
        check(kept, live, 3)


@pytest.mark.parametrize("directed", [False, True])
def test_sparse_random_graphs(directed):
    """Long paths and large parts that come loose: few edges a vertex."""
    rng = np.random.default_rng(5)
    live = ListsGraph(1000, directed=directed)
    live.batch(rng.integers(0, 1000, (2000, 2)), weights=rng.integers(1, 20, 2000))
    source = int(np.argmax(live.out.degrees()))
    kept = make("sssp", live.sides, source=source)
    kept.start()
    lost = 0
    for changes in random_batches(live, rng, 32, 60):
        kept.update(changes)
        assert np.array_equal(kept.values, scipy_dijkstra(live.matrix(), indices=source))
        lost += kept.facts["lost"]
    assert lost > 100
    kept.update(live.batch(NO_ROWS, live.edges()))
    assert (kept.values < np.inf).sum() == 1
    live.close()


def test_without_weights_every_edge_counts_1():
    live = LiveGraph()
    live.batch([(0, 1), (1, 2), (2, 3)], weights=[5, 6, 7])
    kept = make_kept(live, 0, weight=None)
    kept.start()
    kept.update(live.batch([(1, 3)], weights=[9]))
    assert kept.values.tolist() == [0.0, 1.0, 2.0, 2.0]


def test_weights_that_cannot_be():
    live = LiveGraph()
    live.batch([(0, 1), (7, 8)], weights=[2, -5])
    kept = make_kept(live, 0)
    with pytest.raises(InputError, match=r"edge 7 - 8 has weight -5\.0"):
        kept.start()
    live.batch(removed=[(7, 8)])
    kept.start()
    check(kept, live, 0)
    # Who has not asked ``check`` hears of it when the edge is looked at.
    with pytest.raises(InputError, match=r"edge 1 - 2 has weight -1\.0"):
        kept.update(live.batch([(1, 2)], weights=[-1]))
    live.batch(removed=[(1, 2)])
    kept.start()
    with pytest.raises(InputError, match="nan"):
        kept.update(live.batch([(2, 0)], weights=[np.nan]))


def test_options_that_cannot_be():
    live = LiveGraph()
    with pytest.raises(OptionError, match=r"no edge property 'cost' \(there is: weight\)"):
        make_kept(live, 0, weight="cost")
    with pytest.raises(OptionError, match="reverse=False"):
        make_kept(LiveGraph(directed=True, reverse=False), 0)


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_graphs(name):
    rng = np.random.default_rng(2)
    live = real_graph(name, rng)
    kept = make("sssp", live.sides, source=0)
    kept.start()
    for changes in random_batches(live, rng, 12, 1000):
        kept.update(changes)
        assert np.array_equal(kept.values, scipy_dijkstra(live.matrix(), indices=0))
    live.close()


@needs_shared
@pytest.mark.parametrize("directed", [False, True])
def test_replay_ends_in_the_known_distances(directed):
    live, batches = replayed(directed=directed)
    kept = make("sssp", live.sides, source=5)
    kept.start()
    for changes in batches:
        kept.update(changes)
    assert np.array_equal(kept.values, known("SSSP-directed" if directed else "SSSP"))
    live.close()

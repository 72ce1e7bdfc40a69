"""Ranks that are kept: after every batch they are as near to the exact ones as they claim to be."""

from __future__ import annotations

import networkx as nx
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
from scipy import sparse

import penstock as ps
from penstock.dynamic.maintained import make
from penstock.errors import OptionError

IDS = st.integers(0, 11)
PAIRS = st.lists(st.tuples(IDS, IDS), max_size=14)
BATCHES = st.lists(st.tuples(PAIRS, PAIRS), min_size=1, max_size=6)
TOLERANCES = st.sampled_from([1e-2, 1e-5, 1e-10])


def power_method(counts: sparse.csr_matrix, alpha: float) -> np.ndarray:
    """Exact ranks: the power method in float64, as good as it gets."""
    n = counts.shape[0]
    out = np.asarray(counts.sum(axis=1)).ravel()
    turned = counts.T.tocsr()
    ranks = np.full(n, 1 / max(n, 1))
    for _ in range(2000):
        share = np.divide(ranks, out, out=np.zeros(n), where=out > 0)
        lost = ranks[out == 0].sum()
        new = alpha * (turned @ share) + (alpha * lost + 1 - alpha) / max(n, 1)
        change, ranks = np.abs(new - ranks).sum(), new
        if change < 1e-15:
            break
    return ranks


def counts_of(live: LiveGraph) -> sparse.csr_matrix:
    """How many edges lead from each vertex to each."""
    n = len(live.ids)
    counts = np.zeros((n, n))
    for u, row in enumerate(live.out.lists):
        for v, parallel in row.items():
            counts[u, v] = len(parallel)
    return sparse.csr_matrix(counts)


def check(kept, counts: sparse.csr_matrix, tol: float, alpha: float = 0.85) -> None:
    ranks = kept.values
    assert ranks.dtype == np.float64
    assert len(ranks) == counts.shape[0]
    if len(ranks):
        assert abs(ranks.sum() - 1) < 1e-9
    differ = np.abs(ranks - power_method(counts, alpha)).sum()
    assert differ <= kept.facts["error"] + 1e-12
    assert kept.facts["error"] <= tol


def check_residuals(kept, counts: sparse.csr_matrix, alpha: float = 0.85) -> None:
    """The residuals are those of the weights, and their sums are right."""
    weights = kept._weights.now
    out = np.asarray(counts.sum(axis=1)).ravel()
    share = np.divide(weights, out, out=np.zeros(len(out)), where=out > 0)
    expected = 1 + alpha * (counts.T @ share) - weights
    residuals = kept._residuals.now
    assert np.allclose(residuals, expected, rtol=0, atol=1e-10)
    sums = [np.abs(residuals).sum(), residuals.sum(), weights.sum()]
    assert np.allclose(kept._tally, sums, rtol=1e-9, atol=1e-10)
    assert kept._num_edges == out.sum()


@given(BATCHES, st.booleans(), st.booleans(), TOLERANCES, st.sampled_from([0.0, 0.5, 0.85, 0.95]))
@settings(max_examples=80, deadline=None)
def test_ranks_after_every_batch(batches, directed, multigraph, tol, alpha):
    live = LiveGraph(directed=directed, multigraph=multigraph, reverse=False)
    kept = make("pagerank", live.sides, alpha=alpha, tol=tol)
    kept.start()
    for added, removed in batches:
        kept.update(live.batch(added, removed))
        counts = counts_of(live)
        check(kept, counts, tol, alpha)
        check_residuals(kept, counts, alpha)


@given(PAIRS, st.booleans())
@settings(max_examples=40, deadline=None)
def test_start_gives_the_ranks_of_networkx(pairs, directed):
    live = LiveGraph(directed=directed)
    live.add_vertices(range(12))
    live.batch(pairs)
    kept = make("pagerank", live.sides, tol=1e-9)
    kept.start()
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(12))
    graph.add_edges_from(pairs)
    expected = nx.pagerank(graph, alpha=0.85, tol=1e-12, max_iter=1000)
    assert np.allclose(kept.values, [expected[v] for v in range(12)], rtol=0, atol=1e-8)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_random_graphs(directed, tol):
    rng = np.random.default_rng(5)
    live = ListsGraph(1000, directed=directed)
    live.batch(rng.integers(0, 1000, (2000, 2)))
    kept = make("pagerank", live.sides, tol=tol)
    kept.start()
    for changes in random_batches(live, rng, 24, 60):
        kept.update(changes)
        counts = live.matrix().sign()
        check(kept, counts, tol)
        check_residuals(kept, counts)
    kept.update(live.batch(NO_ROWS, live.edges()))
    assert np.allclose(kept.values, 1 / live.num_vertices, rtol=tol)
    live.close()


def test_a_small_change_costs_no_push_and_a_large_one_does():
    rng = np.random.default_rng(1)
    live = ListsGraph(3000, directed=False)
    live.batch(rng.integers(0, 3000, (20000, 2)))
    kept = make("pagerank", live.sides, tol=1e-3)
    kept.start()
    assert kept.facts["waves"] > 0
    kept.update(live.batch(np.array([[1, 2]])))
    assert kept.facts["edges"] == kept.facts["waves"] == 0
    kept.update(live.batch(rng.integers(0, 3000, (2000, 2))))
    assert kept.facts["edges"] > 0
    check(kept, live.matrix().sign(), 1e-3)
    live.close()


def test_new_vertices_without_a_push():
    """Ranks shrink as vertices come, though no edge of theirs is looked at."""
    live = LiveGraph()
    live.batch([(0, 1), (1, 2)])
    kept = make("pagerank", live.sides, tol=1e-9)
    kept.start()
    live.add_vertices([7, 8, 9])
    kept.update(live.batch())
    assert kept.facts["edges"] == 0
    check(kept, counts_of(live), 1e-9)


def test_no_vertices():
    live = LiveGraph()
    kept = make("pagerank", live.sides)
    kept.start()
    kept.update(live.batch())
    assert kept.values.tolist() == []


@pytest.mark.parametrize(
    ("options", "words"),
    [({"alpha": 1.0}, "alpha"), ({"alpha": -0.1}, "alpha"), ({"tol": 0.0}, "tol")],
)
def test_options_that_cannot_be(options, words):
    with pytest.raises(OptionError, match=words):
        make("pagerank", LiveGraph().sides, **options)


def test_values_cannot_be_written_to():
    live = LiveGraph()
    live.batch([(0, 1)])
    kept = make("pagerank", live.sides)
    kept.start()
    with pytest.raises(ValueError, match="read-only"):
        kept.values[0] = 1


@needs_shared
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_real_graphs(name, tol):
    rng = np.random.default_rng(2)
    live = real_graph(name, rng)
    kept = make("pagerank", live.sides, tol=tol)
    kept.start()
    for changes in random_batches(live, rng, 8, 1000):
        kept.update(changes)
        check(kept, live.matrix().sign(), tol)
    live.close()


@needs_shared
def test_replay_ends_in_the_known_ranks():
    """The known ranks are those after 10 iterations of the power method."""
    live, batches = replayed(directed=False)
    kept = make("pagerank", live.sides, tol=1e-7)
    kept.start()
    for changes in batches:
        kept.update(changes)
    counts = live.matrix().sign()
    check(kept, counts, 1e-7)
    expected = known("PR")
    differ = np.abs(kept.values - expected).sum()
    assert differ < 1e-2
    assert differ < np.abs(expected - power_method(counts, 0.85)).sum() + 1e-6
    live.close()


def test_even_part_and_pushes_do_not_undo_each_other():
    """A graph on which solving the even part used to put back what pushes had taken away."""
    targets = {
        0: [23, 31, 28, 31, 1, 10, 23, 33, 34, 15, 35, 21], 17: [32, 2, 2, 24], 23: [4],
        38: [38, 25], 11: [23, 14, 34], 15: [22], 20: [20], 16: [9], 1: [15, 10], 6: [5], 13: [9],
        9: [14], 21: [0, 4], 33: [23, 26], 12: [7], 4: [31], 32: [25],
    }  # fmt: skip
    graph = ps.DynamicGraph(multigraph=True, reverse=True)
    for source, some in targets.items():
        graph.add_edges([source] * len(some), some)
    made = graph.maintain("pagerank")
    exact = ps.pagerank(graph, tol=0, max_iter=300, dtype="float64").values
    assert np.abs(made.by_id()[1] - exact).sum() <= made.facts["error"] <= 1e-4

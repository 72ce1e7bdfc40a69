"""Edge-Vertex: the examples of its paper agree with native algorithms and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from models_graphs import directed, matrix, undirected
from scipy.sparse.csgraph import connected_components, dijkstra

import penstock as ps

STRATEGIES = ("auto", "pull", "push", "notify-pull")


def test_pagerank_of_fifty_iterations():
    graph = ps.from_edges([0, 1, 2, 3, 3, 1], [1, 2, 0, 0, 1, 3])
    ours = ps.edge_vertex(
        graph,
        lambda value, weight, src: value / src.out_degree,
        "add",
        lambda value, message, vertex, p: 0.15 / p.num_vertices + 0.85 * message,
        initial=1 / graph.num_vertices,
        vote_to_halt=None,
        max_iter=50,
    )
    theirs = ps.pagerank(graph, tol=0, max_iter=50, dtype="float64")
    np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-12)
    assert ours.stats["iterations"] == 50


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_shortest_paths(strategy, device):
    graph = directed()
    ours = ps.edge_vertex(
        graph,
        lambda value, weight: value + weight,
        "min",
        lambda value, message: min(value, message),
        initial=np.where(np.arange(60) == 7, 0, np.inf),
        start=[7],
        incremental=True,
        strategy=strategy,
        devices=device,
    )
    np.testing.assert_allclose(ours.values, dijkstra(matrix(graph).T, indices=7))
    assert ours.stats["converged"]


def test_hop_counts_without_weights():
    ours = ps.edge_vertex(
        undirected(), lambda value, weight: value + weight, "min",
        lambda value, message: min(value, message),
        initial=lambda vertex: 0.0 if vertex.index == 0 else np.inf,
    )  # fmt: skip
    expected = dijkstra(matrix(undirected()), indices=0, unweighted=True)
    np.testing.assert_array_equal(ours.values, expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_hcc(strategy):
    """Connected components by the largest number."""
    graph = undirected()
    ours = ps.edge_vertex(
        graph,
        lambda value, weight: value,
        "max",
        lambda value, message: max(value, message),
        initial=np.arange(60, dtype=np.int32),
        vote_to_halt=lambda new, old: new <= old,
        incremental=True,
        strategy=strategy,
    )
    _, labels = connected_components(matrix(graph), directed=False)
    largest = [np.flatnonzero(labels == label)[-1] for label in labels]
    np.testing.assert_array_equal(ours.values, largest)
    assert ours.values.dtype == np.int32


def test_a_vertex_without_messages_keeps_its_value_unless_nobody_halts():
    graph = ps.from_edges([0], [1], num_vertices=3)
    expected = {"voting": [7.0, 8.0, 7.0], "never": [1.0, 8.0, 1.0]}
    for vote, values in expected.items():
        more = {"vote_to_halt": None} if vote == "never" else {}
        ours = ps.edge_vertex(
            graph, lambda value, weight: value, "add", lambda value, message: message + 1,
            initial=7.0, max_iter=1, **more,
        )  # fmt: skip
        assert ours.values.tolist() == values


def test_supersteps_end_at_the_limit():
    graph = ps.from_edges([0, 1], [1, 0])
    ours = ps.edge_vertex(
        graph, lambda value, weight: value + weight, "max", lambda value, message: message,
        initial=0.0, max_iter=5,
    )  # fmt: skip
    assert ours.values.tolist() == [5.0, 5.0]
    assert not ours.stats["converged"]

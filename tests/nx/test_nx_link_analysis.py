"""PageRank, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

import penstock as ps
from penstock.interfaces.nx.link_analysis import pagerank
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph

OPTIONS = (
    {},
    {"alpha": 0.5, "tol": 1e-10},
    {"weight": None},
    {"weight": "nothing has it"},
    {"personalization": {0: 1, 7: 3.5, 999: 1}},
    {"dangling": {3: 1, 4: 2}},
    {"personalization": {0: 1}, "dangling": {3: 1}, "nstart": {5: 1}},
    {"nstart": {node: node for node in range(30)}},
    {"personalization": {0: -1, 1: 3}},
    {"dangling": {0: -1, 1: 3}},
    {"alpha": -0.5},
)


def same(found, right, tolerance=1e-7):
    assert found == pytest.approx(right, abs=tolerance)
    assert list(found) == list(right)
    assert all(type(value) is float for value in found.values())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [None, "int", "float"])
def test_ranks(way, directed, weights, tmp_path):
    graph = random_graph(30, 70, 5, directed=directed, weights=weights, loops=True)
    given = backend_graph(graph, way, tmp_path)
    for options in OPTIONS:
        same(pagerank(given, **options), nx.pagerank(graph, **options))


@pytest.mark.parametrize("way", WAYS)
def test_graphs_with_hardly_anything(way, tmp_path):
    for graph in (nx.empty_graph(0), nx.empty_graph(1), nx.empty_graph(5, nx.DiGraph)):
        same(pagerank(backend_graph(graph, way, tmp_path)), nx.pagerank(graph))


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_count_each(kind):
    graph = kind([("a", "b"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "c"), ("c", "c")])
    graph.add_edge("c", "b", weight=4)
    for weight in ("weight", None):
        same(pagerank(ListedGraph(graph), weight=weight), nx.pagerank(graph, weight=weight))


@pytest.mark.parametrize("directed", [False, True])
def test_parallel_edges_of_a_store_count_each(directed):
    src, dst = [0, 0, 1, 2, 2], [1, 1, 2, 0, 2]
    stored = StoredGraph(ps.from_edges(src, dst, directed=directed, duplicates="keep"))
    graph = (nx.MultiDiGraph if directed else nx.MultiGraph)(zip(src, dst, strict=True))
    for options in ({}, {"nstart": {0: 1}}):
        same(pagerank(stored, **options), nx.pagerank(graph, **options))


def test_an_alpha_above_1():
    graph = random_graph(30, 90, 5)
    same(pagerank(ListedGraph(graph), alpha=1.1), nx.pagerank(graph, alpha=1.1))


def test_weights_below_0(tmp_path):
    graph = random_graph(20, 60, 1, directed=True, weights="float")
    u, v = next(iter(graph.edges))
    graph[u][v]["weight"] = -0.05
    for way in WAYS:
        same(pagerank(backend_graph(graph, way, tmp_path)), nx.pagerank(graph))


def test_a_good_start_is_soon_done():
    graph = random_graph(40, 200, 2, directed=True)
    start = nx.pagerank(graph, tol=1e-12)
    same(pagerank(ListedGraph(graph), nstart=start, max_iter=1), start, 1e-5)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        pagerank(ListedGraph(graph), max_iter=1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "options",
    [
        {"max_iter": 0},
        {"max_iter": 1},
        {"max_iter": 1, "nstart": {0: 1}},
        {"tol": 0},
        {"tol": -1},
        {"nstart": {0: 0}},
        {"nstart": {-1: 1}},
        {"dangling": {}},
    ],
)
def test_what_does_not_converge(way, options, tmp_path):
    given = backend_graph(random_graph(20, 50, 3, directed=True), way, tmp_path)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        pagerank(given, **options)


@pytest.mark.parametrize("personalization", [{}, {0: 0}, {-1: 1}])
def test_nowhere_to_jump(personalization):
    with pytest.raises(ZeroDivisionError, match="personalization"):
        pagerank(ListedGraph(nx.path_graph(4)), personalization=personalization)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_a_function_is_no_weight(kind):
    graph = kind(random_graph(20, 60, 1, directed=True, weights="float"))
    graph.add_edges_from(list(graph.edges)[:20])
    found = pagerank(ListedGraph(graph), weight=lambda u, v, data: 1 / 0)
    same(found, nx.pagerank(graph, weight=lambda u, v, data: 1 / 0))


@pytest.mark.parametrize("way", WAYS)
def test_the_tolerance_is_for_each_node_as_in_networkx(way, tmp_path):
    graph = random_graph(30, 70, 5, directed=True, weights=None)
    given = backend_graph(graph, way, tmp_path)
    for tol in (1e-2, 3e-3, 1e-4, float("inf")):  # such that a few iterations are enough
        same(pagerank(given, tol=tol), nx.pagerank(graph, tol=tol), 1e-12)

"""Centralities, of the backend against NetworkX's own."""

from __future__ import annotations

from random import Random

import networkx as nx
import numpy as np
import pytest
from making import WAYS, backend_graph, random_graph

import penstock as ps
from penstock.interfaces.nx import centrality as ours
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph

SIZES = ((0, 0), (1, 1), (2, 2), (6, 0), (24, 60))


def same(found, right, *, ordered=True):
    if ordered and isinstance(right, dict):
        assert list(found) == list(right)
    assert found == pytest.approx(right, rel=1e-9, abs=1e-12, nan_ok=True)


def graphs(way, folder, **options):
    for seed, (nodes, edges) in enumerate(SIZES):
        graph = random_graph(nodes, edges, seed, loops=True, **options)
        yield graph, backend_graph(graph, way, folder)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
def test_degrees(way, directed, tmp_path):
    for graph, given in graphs(way, tmp_path, directed=directed):
        same(ours.degree_centrality(given), nx.degree_centrality(graph))
        if directed:
            same(ours.in_degree_centrality(given), nx.in_degree_centrality(graph))
            same(ours.out_degree_centrality(given), nx.out_degree_centrality(graph))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [None, "int", "float"])
def test_closeness(way, directed, weights, tmp_path):
    for graph, given in graphs(way, tmp_path, directed=directed, weights=weights):
        for distance in (None, "weight"):
            for improved in (True, False):
                right = nx.closeness_centrality(graph, None, distance, improved)
                same(ours.closeness_centrality(given, None, distance, improved), right)
                for node in list(graph)[-2:]:
                    found = ours.closeness_centrality(given, node, distance, improved)
                    assert type(found) is float
                    assert found == pytest.approx(right[node])
        with pytest.raises(nx.NodeNotFound):
            ours.closeness_centrality(given, -1)


def test_closeness_by_weights_below_0():
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 2), (1, 2, -5), (2, 0, 1)])
    with pytest.raises(ValueError, match="Contradictory paths"):
        ours.closeness_centrality(ListedGraph(graph), distance="weight")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [None, "int", "float"])
def test_betweenness(way, directed, weights, tmp_path):
    for graph, given in graphs(way, tmp_path, directed=directed, weights=weights):
        for weight in (None, "weight"):
            for k in {None, 1, 5, len(graph)} - {0}:
                if k is not None and k > len(graph):
                    continue
                for normalized in (True, False):
                    for endpoints in (True, False):
                        options = (k, normalized, weight, endpoints)
                        right = nx.betweenness_centrality(graph, *options, seed=3)
                        found = ours.betweenness_centrality(given, *options, seed=Random(3))
                        same(found, right)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [None, "int", "float"])
def test_betweenness_of_edges(way, directed, weights, tmp_path):
    def sorted_ends(values):
        return values if directed else {tuple(sorted(key)): each for key, each in values.items()}

    for graph, given in graphs(way, tmp_path, directed=directed, weights=weights):
        for weight in (None, "weight"):
            for k in {None, 1, 5, len(graph)} - {0}:
                if k is not None and k > len(graph):
                    continue
                for normalized in (True, False):
                    options = (k, normalized, weight)
                    right = nx.edge_betweenness_centrality(graph, *options, seed=3)
                    found = ours.edge_betweenness_centrality(given, *options, seed=Random(3))
                    if way == "listed":
                        same(found, right)
                    else:
                        same(sorted_ends(found), sorted_ends(right), ordered=False)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_order_draws_and_weights_are_those_of_networkx(kind):
    rng = np.random.default_rng(6)
    graph = kind()
    for u, v in rng.integers(0, 30, (120, 2)).tolist():
        # Weights of 0 make paths that NetworkX counts in an order of its own.
        graph.add_edge(f"n{u}", f"n{v}", weight=int(rng.integers(0, 3)))
    given = ListedGraph(graph)

    def twice(u, v, data):
        parallel = data.values() if given.multigraph else [data]
        return 2 * min(each["weight"] for each in parallel)

    for weight in (None, "weight", twice):
        for function in ("betweenness_centrality", "edge_betweenness_centrality"):
            for k in (None, 7):
                right = getattr(nx, function)(graph, k, weight=weight, seed=11)
                same(getattr(ours, function)(given, k, weight=weight, seed=Random(11)), right)
        right = nx.closeness_centrality(graph, distance=weight)
        same(ours.closeness_centrality(given, distance=weight), right)


def test_numpy_draws_the_same():
    graph = random_graph(40, 100, 5)
    right = nx.betweenness_centrality(graph, 6, seed=np.random.RandomState(2))
    found = nx.betweenness_centrality(ListedGraph(graph), 6, seed=np.random.RandomState(2))
    same(found, right)


def test_parallel_edges_of_a_store():
    src, dst, weight = [0, 0, 1, 2, 3, 0], [1, 1, 2, 3, 0, 2], [1.0, 2.0, 1.0, 1.0, 1.0, 3.0]
    given = StoredGraph(ps.from_edges(src, dst, weight, directed=False, duplicates="keep"))
    graph = nx.MultiGraph()
    graph.add_weighted_edges_from(zip(src, dst, weight, strict=True))
    for name in (None, "weight"):
        right = nx.betweenness_centrality(graph, weight=name)
        same(ours.betweenness_centrality(given, weight=name), right)
        right = nx.closeness_centrality(graph, distance=name)
        same(ours.closeness_centrality(given, distance=name), right)
        found = ours.edge_betweenness_centrality(given, weight=name)
        right = nx.edge_betweenness_centrality(graph, weight=name)
        assert sorted(found.values()) == pytest.approx(sorted(right.values()))
        assert len(found) == 6


def test_what_cannot_be():
    given = ListedGraph(nx.path_graph(4))
    for function in (ours.betweenness_centrality, ours.edge_betweenness_centrality):
        with pytest.raises(ZeroDivisionError, match="k: "):
            function(given, 0, seed=Random(1))
        with pytest.raises(ValueError, match="larger"):
            function(given, 5, seed=Random(1))
        with pytest.raises(TypeError, match="gave None"):
            function(given, weight=lambda u, v, _: None if u == 0 else 1)


@pytest.mark.parametrize("directed", [False, True])
def test_infinite_weights(directed):
    for seed in range(5):
        graph = random_graph(12, 30, seed, directed=directed, weights="int")
        for number, (_, _, data) in enumerate(graph.edges(data=True)):
            data["weight"] = data["weight"] if number % 3 else np.inf
        for way in ("listed", "memory"):
            given = backend_graph(graph, way)
            found = ours.closeness_centrality(given, distance="weight")
            same(found, nx.closeness_centrality(graph, distance="weight"))
        # By what edge a node is reached that is infinitely far depends on the order of lists.
        found = ours.betweenness_centrality(ListedGraph(graph), weight="weight")
        same(found, nx.betweenness_centrality(graph, weight="weight"))


@pytest.mark.parametrize("nodes", [0, 1, 2, 3])
@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("endpoints", [False, True])
def test_samples_of_small_graphs(nodes, k, endpoints):
    graph = nx.path_graph(nodes)
    given = ListedGraph(graph)
    for name, options in (
        ("betweenness_centrality", {"endpoints": endpoints}),
        ("edge_betweenness_centrality", {}),
    ):
        try:
            right = getattr(nx, name)(graph, k, seed=1, **options)
        except (ValueError, ZeroDivisionError) as error:
            with pytest.raises(type(error)):
                getattr(ours, name)(given, k, seed=Random(1), **options)
        else:
            same(getattr(ours, name)(given, k, seed=Random(1), **options), right)

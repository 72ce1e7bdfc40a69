"""Triangles and clustering, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

from penstock.interfaces.nx import cluster as ours
from penstock.interfaces.nx.listed import ListedGraph

SIZES = ((0, 0), (1, 1), (6, 0), (12, 60), (40, 200))
NODES = (None, 3, [3, 4, 5, 3, 99], [])


def same(found, right):
    assert found == pytest.approx(right, rel=1e-9)
    if isinstance(right, dict):
        assert list(found) == list(right)
        assert [type(each) for each in found.values()] == [type(each) for each in right.values()]
    else:
        assert type(found) is type(right)


def graphs(way, folder, **options):
    for seed, (nodes, edges) in enumerate(SIZES):
        graph = random_graph(nodes, edges, seed, loops=True, **options)
        yield graph, backend_graph(graph, way, folder)


@pytest.mark.parametrize("way", WAYS)
def test_triangles(way, tmp_path):
    for graph, given in graphs(way, tmp_path):
        for nodes in NODES:
            if nodes != 3 or 3 in graph:
                same(ours.triangles(given, nodes), nx.triangles(graph, nodes))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [None, "int", "float"])
def test_clustering(way, directed, weights, tmp_path):
    for graph, given in graphs(way, tmp_path, directed=directed, weights=weights):
        for nodes in NODES:
            for weight in (None, "weight"):
                if nodes != 3 or 3 in graph:
                    right = nx.clustering(graph, nodes, weight)
                    same(ours.clustering(given, nodes, weight), right)
        same(ours.transitivity(given), nx.transitivity(graph))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
def test_the_average(way, directed, tmp_path):
    graph = random_graph(30, 90, 8, directed=directed, weights="float", loops=True)
    given = backend_graph(graph, way, tmp_path)
    for nodes in (None, [7, 8, 7, 9, 10, 11, 99], iter(range(9))):
        nodes = list(nodes) if nodes is not None else None
        for weight in (None, "weight"):
            for zeros in (True, False):
                right = nx.average_clustering(graph, nodes, weight, zeros)
                same(ours.average_clustering(given, nodes, weight, zeros), right)
    with pytest.raises(ZeroDivisionError):
        ours.average_clustering(given, [])


def test_nodes_may_be_an_iterator():
    graph = random_graph(30, 90, 8)
    assert ours.triangles(ListedGraph(graph), iter([4, 5])) == nx.triangles(graph, [4, 5])


def test_weights_below_0_and_a_largest_of_0():
    for graph in (random_graph(20, 80, 1), random_graph(20, 80, 1, directed=True)):
        for k, (_, _, data) in enumerate(graph.edges(data=True)):
            data["weight"] = k % 7 - 3
        same(
            ours.clustering(ListedGraph(graph), weight="weight"),
            nx.clustering(graph, None, "weight"),
        )
        nx.set_edge_attributes(graph, 0, "weight")
        with pytest.raises(ZeroDivisionError, match="largest weight"):
            ours.clustering(ListedGraph(graph), weight="weight")


def test_names_and_skewed_degrees():
    graph = nx.relabel_nodes(nx.barabasi_albert_graph(300, 6, seed=2), "n{}".format)
    graph.add_edges_from((f"n{k}", f"n{k}") for k in range(0, 300, 3))
    given = ListedGraph(graph)
    same(ours.triangles(given), nx.triangles(graph))
    same(ours.clustering(given, ["n7", "n250"]), nx.clustering(graph, ["n7", "n250"]))
    same(ours.clustering(given, "n7"), nx.clustering(graph, "n7"))


def test_multigraphs():
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0), (2, 2)])
    given = ListedGraph(graph)
    assert ours.triangles(given) == nx.triangles(graph) == {0: 1, 1: 1, 2: 1}
    for refused in (
        lambda: ours.triangles(given, 1),
        lambda: ours.clustering(given),
        lambda: ours.transitivity(given),
        lambda: ours.average_clustering(given),
    ):
        with pytest.raises(nx.NetworkXNotImplemented, match="multigraph"):
            refused()


def test_a_node_that_is_not_there():
    with pytest.raises(nx.NetworkXError, match="Node 7 is not in the graph"):
        ours.clustering(ListedGraph(nx.path_graph(3)), 7)


@pytest.mark.parametrize("directed", [False, True])
def test_infinite_weights(directed):
    for seed in range(5):
        graph = random_graph(12, 40, seed, directed=directed, weights="float")
        u, v = next(iter(graph.edges))
        graph[u][v]["weight"] = float("inf")
        right = nx.clustering(graph, weight="weight")
        found = ours.clustering(ListedGraph(graph), weight="weight")
        assert found == pytest.approx(right, nan_ok=True)

"""Cores and trusses, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

from penstock.interfaces.nx import core as ours
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph

PARTS = ("k_core", "k_shell", "k_crust", "k_corona")


def same(found, right, way):
    if way != "listed":
        assert isinstance(found, StoredGraph)
        found = found.to_networkx()
        assert nx.utils.graphs_equal(found, right)
        return
    assert type(found) is type(right)
    assert list(found.nodes(data=True)) == list(right.nodes(data=True))
    assert list(found.edges(data=True)) == list(right.edges(data=True))
    assert found.graph == right.graph


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
def test_core_numbers(way, directed, tmp_path):
    for seed, (nodes, edges) in enumerate(((0, 0), (1, 0), (6, 0), (40, 60), (60, 400))):
        graph = random_graph(nodes, edges, seed, directed=directed)
        found = ours.core_number(backend_graph(graph, way, tmp_path))
        assert found == nx.core_number(graph)
        assert all(type(number) is int for number in found.values())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_parts(way, directed, part, tmp_path):
    graph = random_graph(60, 200, 4, directed=directed, weights="int")
    given = backend_graph(graph, way, tmp_path)
    numbers = nx.core_number(graph)
    few = {node: numbers[node] for node in range(0, 60, 2)} | {"not in it": 3}
    for k in (0, 2, 3, 50) if part == "k_corona" else (None, 0, 2, 3, 50):
        for core_number in (None, numbers) if part == "k_corona" else (None, numbers, few):
            right = getattr(nx, part)(graph, k, core_number)
            same(getattr(ours, part)(given, k, core_number), right, way)


@pytest.mark.parametrize("way", WAYS)
def test_trusses(way, tmp_path):
    for seed, weights in enumerate((None, "int", "float")):
        graph = random_graph(40, 200, seed, weights=weights)
        given = backend_graph(graph, way, tmp_path)
        for k in (0, 2, 2.5, 3, 4, 5, 30):
            same(ours.k_truss(given, k), nx.k_truss(graph, k), way)


def test_attributes_and_names_stay():
    graph = nx.relabel_nodes(random_graph(30, 150, 9, weights="int"), "n{}".format)
    graph.graph["about"] = "friends"
    nx.set_node_attributes(graph, {node: {"size": len(node)} for node in graph})
    given = ListedGraph(graph)
    for part in ("k_core", "k_shell", "k_crust"):
        same(getattr(ours, part)(given), getattr(nx, part)(graph), "listed")
    found = ours.k_truss(given, 4)
    same(found, nx.k_truss(graph, 4), "listed")
    next(iter(found.nodes.values()))["size"] = -1
    next(iter(found.edges.values()))["weight"] = -1
    assert -1 not in nx.get_node_attributes(graph, "size").values()
    assert -1 not in nx.get_edge_attributes(graph, "weight").values()


@pytest.mark.parametrize("way", WAYS)
def test_loops_are_refused(way, tmp_path):
    given = backend_graph(nx.Graph([(0, 1), (1, 1)]), way, tmp_path)
    for refused in (ours.core_number, ours.k_core, lambda graph: ours.k_truss(graph, 3)):
        with pytest.raises(nx.NetworkXNotImplemented, match="Input graph has self loops"):
            refused(given)


def test_no_node_is_in_the_largest_core():
    with pytest.raises(ValueError, match="give k"):
        ours.k_core(ListedGraph(nx.Graph()))


@pytest.mark.parametrize("name", ["k_core", "k_shell", "k_crust"])
def test_core_numbers_that_are_given(name):
    graph = random_graph(20, 50, 1)
    with pytest.raises(ValueError, match="give k"):
        getattr(ours, name)(ListedGraph(graph), core_number={})
    for given in ({0: 3}, {0: 3, 1: 2}, {0: 3, 99: 4}):
        for each in (graph, nx.Graph()):
            right = getattr(nx, name)(each, core_number=given)
            same(getattr(ours, name)(ListedGraph(each), core_number=given), right, "listed")


@pytest.mark.parametrize("k", [float("-inf"), -1, 2, 20, 21, float("inf")])
def test_trusses_of_any_number(k):
    for graph in (nx.complete_graph(20), random_graph(20, 50, 1), nx.Graph()):
        same(ours.k_truss(ListedGraph(graph), k), nx.k_truss(graph, k), "listed")

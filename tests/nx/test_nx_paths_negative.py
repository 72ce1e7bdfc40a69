"""Paths by weights that may be negative, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph
from path_making import CLASSES, depends_on_direction, is_path, outcome, tied_graph

from penstock.interfaces.nx import paths_negative as ours
from penstock.interfaces.nx.listed import ListedGraph

STORED = [way for way in WAYS if way != "listed"]


def downhill(cls, seed):
    """A graph whose edges all lead one way, so that negative weights make no cycle."""
    graph = tied_graph(cls, "negative", seed)
    order = {node: place for place, node in enumerate(graph)}
    graph.remove_edges_from([edge for edge in graph.edges if order[edge[0]] >= order[edge[1]]])
    return graph


@pytest.mark.parametrize("weight", ["weight", "none there", None, depends_on_direction])
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("kind", ["zero", "int", "float", "negative", "downhill"])
def test_the_same_paths_in_the_same_order(cls, kind, weight):
    for seed in range(4):
        graph = downhill(cls, seed) if kind == "downhill" else tied_graph(cls, kind, seed)
        listed = ListedGraph(graph)

        def same(name, *args, graph=graph, listed=listed, **options):
            right = outcome(getattr(nx, name), graph, *args, weight=weight, **options)
            assert outcome(getattr(ours, name), listed, *args, weight=weight, **options) == right

        for source in ("n0", "n3", "nobody"):
            same("single_source_bellman_ford", source)
            same("single_source_bellman_ford_path", source)
            same("single_source_bellman_ford_path_length", source)
            for heuristic in (False, True):
                same("bellman_ford_predecessor_and_distance", source, heuristic=heuristic)
            for target in (*graph, "nobody"):
                same("bellman_ford_path", source, target)
                same("bellman_ford_path_length", source, target)
        same("all_pairs_bellman_ford_path")
        same("all_pairs_bellman_ford_path_length")


def test_some_of_these_have_negative_cycles_and_some_have_not():
    kinds = [
        outcome(ours.all_pairs_bellman_ford_path_length, ListedGraph(graph))[0]
        is nx.NetworkXUnbounded
        for cls in (nx.DiGraph, nx.MultiDiGraph)
        for graph in (tied_graph(cls, "negative", seed) for seed in range(4))
    ]
    assert any(kinds)
    assert not all(kinds)


@pytest.mark.parametrize("way", STORED)
@pytest.mark.parametrize("directed", [False, True])
def test_stored_graphs(way, directed, tmp_path):
    graph = random_graph(30, 60, 8, directed=directed, weights="float", loops=True)
    given = backend_graph(graph, way, tmp_path)
    right = nx.single_source_bellman_ford_path_length(graph, 2)
    lengths, paths = ours.single_source_bellman_ford(given, 2)
    assert lengths == pytest.approx(right)
    assert all(is_path(graph, paths[node], length) for node, length in right.items())


def test_a_long_path_downhill():
    graph = nx.path_graph(2000, nx.DiGraph)
    nx.set_edge_attributes(graph, -2, "weight")
    lengths, paths = ours.single_source_bellman_ford(ListedGraph(graph), 0)
    assert lengths == {node: -2 * node for node in range(2000)}
    assert paths[1999] == list(range(2000))


def test_one_node():
    one = ListedGraph(nx.empty_graph(1))
    assert ours.bellman_ford_predecessor_and_distance(one, 0) == ({0: []}, {0: 0})
    assert ours.single_source_bellman_ford(one, 0) == ({0: 0}, {0: [0]})
    assert list(ours.all_pairs_bellman_ford_path(ListedGraph(nx.Graph()))) == []

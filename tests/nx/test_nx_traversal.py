"""Traversals of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

from penstock.interfaces.nx import traversal as ours
from penstock.interfaces.nx.listed import ListedGraph


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def graph(request):
    return random_graph(60, 110, 7, directed=request.param, loops=True)


def shuffled(directed, multigraph):
    """Names that are no numbers, neighbours in no order."""
    kinds = {False: (nx.Graph, nx.DiGraph), True: (nx.MultiGraph, nx.MultiDiGraph)}
    graph = kinds[multigraph][directed]()
    edges = [(u * 7 % 40, v * 11 % 40) for u, v in random_graph(40, 130, 3, loops=True).edges]
    graph.add_edges_from((f"n{v}", f"n{u}") for u, v in edges)
    return graph


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"depth_limit": 2}])
@pytest.mark.parametrize("multigraph", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_edges_come_in_the_order_of_networkx(directed, multigraph, options):
    graph = shuffled(directed, multigraph)
    listed = ListedGraph(graph)
    for source in graph:
        right = list(nx.bfs_edges(graph, source, **options))
        assert list(ours.bfs_edges(listed, source, **options)) == right
        tree, right = (f(g, source, **options) for f, g in
                       ((ours.bfs_tree, listed), (nx.bfs_tree, graph)))  # fmt: skip
        assert list(tree) == list(right)
        assert list(tree.edges) == list(right.edges)


@pytest.mark.parametrize("name", ["bfs_predecessors", "bfs_successors"])
@pytest.mark.parametrize("multigraph", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_nodes_come_in_the_order_of_networkx(directed, multigraph, name):
    graph = shuffled(directed, multigraph)
    listed = ListedGraph(graph)
    for source in graph:
        for limit in (None, 0, 2):
            right = list(getattr(nx, name)(graph, source, depth_limit=limit))
            assert list(getattr(ours, name)(listed, source, depth_limit=limit)) == right


@pytest.mark.parametrize("depth_limit", [None, 0, 1, 1.5, 3, -1, float("inf")])
def test_depth_limits_are_those_of_networkx(graph, depth_limit):
    found = ours.bfs_edges(ListedGraph(graph), 0, depth_limit=depth_limit)
    assert list(found) == list(nx.bfs_edges(graph, 0, depth_limit=depth_limit))


def test_neighbours_can_be_sorted_and_left_out(graph):
    def even_first(nodes):
        return sorted((node for node in nodes if node % 5), key=lambda node: (node % 2, -node))

    listed = ListedGraph(graph)
    for options in ({}, {"reverse": True}, {"depth_limit": 2}):
        right = list(nx.bfs_edges(graph, 3, sort_neighbors=even_first, **options))
        assert list(ours.bfs_edges(listed, 3, sort_neighbors=even_first, **options)) == right


def test_sorting_in_python_is_not_worth_a_call(graph):
    ask = ours.bfs_successors.should_run
    assert ask(graph, 0) is True
    assert ask(graph, 0, depth_limit=2) is True
    assert "sort_neighbors" in ask(graph, 0, sort_neighbors=sorted)
    assert "sort_neighbors" in ask(graph, 0, None, sorted)


@pytest.mark.parametrize("sources", [0, [0], [5, 3, 59, 5], {17, 4}, []])
def test_layers_are_those_of_networkx(graph, sources):
    assert list(ours.bfs_layers(ListedGraph(graph), sources)) == list(nx.bfs_layers(graph, sources))


@pytest.mark.parametrize("way", WAYS)
def test_what_can_be_reached(graph, way, tmp_path):
    given = backend_graph(graph, way, tmp_path)
    for source in (0, 1, 2, 33, 59):
        assert ours.descendants(given, source) == nx.descendants(graph, source)
        assert ours.ancestors(given, source) == nx.ancestors(graph, source)
        layers = [set(layer) for layer in nx.bfs_layers(graph, source)]
        assert [set(layer) for layer in ours.bfs_layers(given, source)] == layers
        for distance in (0, 1, 2, 3, 50, -1, 1.5):
            right = nx.descendants_at_distance(graph, source, distance)
            assert ours.descendants_at_distance(given, source, distance) == right


def test_a_source_that_is_not_there_is_an_error_of_networkx(graph):
    listed = ListedGraph(graph)
    for function in (ours.descendants, ours.ancestors):
        with pytest.raises(nx.NetworkXError, match="The node 99 is not in the graph"):
            function(listed, 99)
    with pytest.raises(nx.NetworkXError, match="99"):
        ours.descendants_at_distance(listed, 99, 1)
    for found in (
        ours.bfs_edges(listed, 99), ours.bfs_predecessors(listed, 99),
        ours.bfs_successors(listed, 99), ours.bfs_layers(listed, [0, 99]),
    ):  # fmt: skip
        with pytest.raises(nx.NetworkXError, match="The node 99 is not in the graph"):
            next(found)


def test_no_depth_at_all():
    listed = ListedGraph(nx.path_graph(4))
    assert list(ours.bfs_edges(listed, 1, depth_limit=float("-inf"))) == []
    for distance in (float("-inf"), float("inf"), -1):
        assert ours.descendants_at_distance(listed, 1, distance) == set()

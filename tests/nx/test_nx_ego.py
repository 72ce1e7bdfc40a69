"""Neighbourhoods, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

from penstock.interfaces.nx.ego import ego_graph
from penstock.interfaces.nx.listed import ListedGraph

OPTIONS = [
    {}, {"radius": 0}, {"radius": 2}, {"radius": 1.5}, {"radius": None}, {"radius": 1000},
    {"radius": 2, "center": False}, {"radius": 2, "undirected": True},
    {"undirected": True, "center": False}, {"distance": "weight", "radius": 7},
    {"distance": "weight", "radius": 7.5, "center": False}, {"distance": "none", "radius": 2},
    {"radius": float("-inf")}, {"distance": "weight", "radius": -1},
    {"distance": "weight", "radius": float("-inf")},
    {"distance": "weight", "radius": 9, "undirected": True},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
def test_neighbourhoods(way, directed, options, tmp_path):
    graph = random_graph(50, 90, 8, directed=directed, weights="int", loops=True)
    given = backend_graph(graph, way, tmp_path)
    for node in (0, 13, 49):
        right = nx.ego_graph(graph, node, **options)
        found = ego_graph(given, node, **options)
        if way != "listed":
            found = found.to_networkx()
        assert type(found) is type(right)
        assert dict(found.nodes) == dict(right.nodes)
        assert nx.utils.edges_equal(
            found.edges(data="weight"), right.edges(data="weight"), directed=directed
        )


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_attributes_and_keys_come_along(kind):
    graph = kind(name="whole")
    graph.add_edge("a", "b", key="k", colour="red", d=2)
    graph.add_edge("a", "b", colour="blue", d=9)
    graph.add_edge("b", "c", d=2)
    graph.add_edge("d", "a", d=1)
    graph.add_node("a", size=3)
    for options in ({}, {"distance": "d", "radius": 3}, {"undirected": True},
                    {"distance": "d", "radius": 3, "undirected": True}):  # fmt: skip
        found = ego_graph(ListedGraph(graph), "a", **options)
        right = nx.ego_graph(graph, "a", **options)
        assert nx.utils.graphs_equal(found, right)
        found.add_node("new")  # it is nobody's view
        assert "new" not in graph


@pytest.mark.parametrize("distance", [None, "weight"])
@pytest.mark.parametrize("undirected", [False, True])
def test_a_node_that_is_not_there(distance, undirected):
    for kind in (nx.Graph, nx.DiGraph):
        listed = ListedGraph(nx.path_graph(3, kind))
        with pytest.raises(nx.NodeNotFound, match="99"):
            ego_graph(listed, 99, distance=distance, undirected=undirected)

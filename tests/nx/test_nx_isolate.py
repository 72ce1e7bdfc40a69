"""Nodes without edges."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

from penstock.interfaces.nx.isolate import is_isolate, isolates, number_of_isolates
from penstock.interfaces.nx.listed import ListedGraph


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
def test_isolates_are_those_of_networkx(way, directed, tmp_path):
    graph = random_graph(60, 40, 1, directed=directed, loops=True)
    graph.remove_edges_from([*graph.edges(0), *nx.selfloop_edges(graph)])
    graph.add_edge(0, 0)
    expected = list(nx.isolates(graph, backend="networkx"))
    ours = backend_graph(graph, way, tmp_path)
    assert 0 < len(expected) < len(graph)
    assert list(isolates(ours)) == expected
    assert number_of_isolates(ours) == len(expected)
    assert [node for node in graph if is_isolate(ours, node)] == expected


def test_names_are_the_users_own():
    graph = nx.MultiDiGraph([("b", "c")])
    graph.add_node("a")
    assert list(isolates(ListedGraph(graph))) == ["a"]


def test_a_node_that_is_not_there_is_refused():
    with pytest.raises(nx.NetworkXError, match="Node 7 is not in the graph"):
        is_isolate(ListedGraph(nx.path_graph(3)), 7)


@pytest.mark.parametrize("what", [None, [0, 1], [], "ab", {3}])
def test_what_is_no_node_is_not_isolated(what):
    graph = nx.empty_graph(4)
    assert is_isolate(ListedGraph(graph), what) is nx.is_isolate(graph, what) is False

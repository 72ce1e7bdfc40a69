"""Counts of edges, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

from penstock.interfaces.nx import functions as ours
from penstock.interfaces.nx.listed import ListedGraph


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
def test_loops_are_counted(way, directed, tmp_path):
    for seed, edges in ((1, 0), (2, 60), (3, 300)):
        graph = random_graph(20, edges, seed, directed=directed, loops=True)
        given = backend_graph(graph, way, tmp_path)
        assert ours.number_of_selfloops(given) == nx.number_of_selfloops(graph)
        assert ours.is_empty(given) is (edges == 0)


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_loops_are_counted_each(kind):
    graph = kind([(0, 0), (0, 0), (0, 1), (2, 2)])
    assert ours.number_of_selfloops(ListedGraph(graph)) == 3


def test_nothing_is_empty():
    assert ours.is_empty(ListedGraph(nx.Graph())) is True
    assert ours.number_of_selfloops(ListedGraph(nx.Graph())) == 0

"""Paths by the number of their edges, of the backend against NetworkX's own."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

from penstock.interfaces.nx import paths_unweighted as ours
from penstock.interfaces.nx.listed import ListedGraph

CUTOFFS = (None, 0, 1, 2, 2.5, -1, float("inf"), float("-inf"))
STORED = [way for way in WAYS if way != "listed"]


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def graph(request):
    return random_graph(40, 70, 11, directed=request.param, loops=True)


@pytest.fixture(params=[nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def shuffled(request):
    """Names that are no numbers, neighbours in no order."""
    graph = request.param()
    edges = random_graph(30, 70, 5, loops=True).edges
    graph.add_edges_from((f"n{v * 7 % 30}", f"n{u * 11 % 30}") for u, v in edges)
    graph.add_edges_from(list(graph.edges)[:9])
    graph.add_node("alone")
    return graph


@pytest.mark.parametrize("way", WAYS)
def test_lengths(graph, way, tmp_path):
    given = backend_graph(graph, way, tmp_path)
    for cutoff in CUTOFFS:
        for name in ("single_source_shortest_path_length", "single_target_shortest_path_length"):
            for end in (0, 17, 39):
                right = getattr(nx, name)(graph, end, cutoff=cutoff)
                found = getattr(ours, name)(given, end, cutoff=cutoff)
                assert found == right
                assert list(found.values()) == list(right.values())  # nearest first
                assert all(type(value) is int for value in found.values())
        pairs = ours.all_pairs_shortest_path_length(given, cutoff=cutoff)
        assert list(pairs) == list(nx.all_pairs_shortest_path_length(graph, cutoff=cutoff))


def test_paths_are_the_same_ones(shuffled):
    listed = ListedGraph(shuffled)
    for cutoff in CUTOFFS:
        for name in ("single_source_shortest_path", "single_target_shortest_path"):
            for end in shuffled:
                right = getattr(nx, name)(shuffled, end, cutoff=cutoff)
                assert list(getattr(ours, name)(listed, end, cutoff).items()) == list(right.items())
        pairs = ours.all_pairs_shortest_path(listed, cutoff)
        assert list(pairs) == list(nx.all_pairs_shortest_path(shuffled, cutoff))


def test_searches_from_both_ends_meet_where_those_of_networkx_do(shuffled):
    listed = ListedGraph(shuffled)
    for source in shuffled:
        for target in shuffled:
            try:
                right = nx.bidirectional_shortest_path(shuffled, source, target)
            except nx.NetworkXNoPath:
                with pytest.raises(nx.NetworkXNoPath, match=f"between {source} and {target}"):
                    ours.bidirectional_shortest_path(listed, source, target)
            else:
                assert ours.bidirectional_shortest_path(listed, source, target) == right


@pytest.mark.parametrize("way", STORED)
def test_paths_of_stored_graphs_are_shortest(graph, way, tmp_path):
    given = backend_graph(graph, way, tmp_path)
    lengths = nx.single_source_shortest_path_length(graph, 3)
    for found in (
        ours.single_source_shortest_path(given, 3),
        {end: ours.bidirectional_shortest_path(given, 3, end) for end in lengths},
    ):
        assert found.keys() == lengths.keys()
        for end, path in found.items():
            assert (path[0], path[-1], len(path)) == (3, end, lengths[end] + 1)
            assert all(graph.has_edge(*edge) for edge in pairwise(path))
    lengths = nx.single_target_shortest_path_length(graph, 3)
    found = ours.single_target_shortest_path(given, 3)
    assert {end: (path[0], path[-1], len(path) - 1) for end, path in found.items()} == {
        end: (end, 3, length) for end, length in lengths.items()
    }


def test_predecessors(shuffled):
    listed = ListedGraph(shuffled)
    for cutoff in CUTOFFS:
        for source in list(shuffled)[::5]:
            right = nx.predecessor(shuffled, source, cutoff=cutoff, return_seen=True)
            found = ours.predecessor(listed, source, cutoff=cutoff, return_seen=True)
            assert found == right
            assert [list(each) for each in found] == [list(each) for each in right]
            assert ours.predecessor(listed, source, cutoff=cutoff) == right[0]
            for target in (*shuffled, "nobody"):
                for seen in (None, True):
                    options = {"target": target, "cutoff": cutoff, "return_seen": seen}
                    right = nx.predecessor(shuffled, source, **options)
                    assert ours.predecessor(listed, source, **options) == right


@pytest.mark.parametrize("way", STORED)
def test_predecessors_of_stored_graphs(graph, way, tmp_path):
    found = ours.predecessor(backend_graph(graph, way, tmp_path), 3)
    right = nx.predecessor(graph, 3)
    assert {node: sorted(nodes) for node, nodes in found.items()} == {
        node: sorted(nodes) for node, nodes in right.items()
    }


def test_a_graph_of_one_node():
    listed = ListedGraph(nx.empty_graph(1))
    assert ours.single_source_shortest_path(listed, 0) == {0: [0]}
    assert ours.single_source_shortest_path_length(listed, 0) == {0: 0}
    assert ours.bidirectional_shortest_path(listed, 0, 0) == [0]
    assert ours.predecessor(listed, 0) == {0: []}
    assert list(ours.all_pairs_shortest_path(ListedGraph(nx.Graph()))) == []


@pytest.mark.parametrize(
    ("name", "ends", "complaint"),
    [
        ("single_source_shortest_path", [99], "Source 99 not in G"),
        ("single_source_shortest_path_length", [99], "Source 99 is not in G"),
        ("single_target_shortest_path", [99], "Target 99 not in G"),
        ("single_target_shortest_path_length", [99], "Target 99 is not in G"),
        ("bidirectional_shortest_path", [99, 0], "Source 99 is not in G"),
        ("bidirectional_shortest_path", [0, 99], "Target 99 is not in G"),
        ("predecessor", [99], "Source 99 not in G"),
    ],
)
@pytest.mark.parametrize("way", ["listed", "memory"])
def test_ends_that_are_not_there(way, name, ends, complaint):
    given = backend_graph(nx.path_graph(3), way)
    with pytest.raises(nx.NodeNotFound, match=complaint):
        getattr(ours, name)(given, *ends)

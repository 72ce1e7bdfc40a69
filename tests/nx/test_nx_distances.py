"""Eccentricities and what comes of them, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from making import WAYS, backend_graph, random_graph

from penstock.interfaces.nx import distances as ours
from penstock.interfaces.nx.listed import ListedGraph

EXTREMES = ("diameter", "periphery", "radius", "center")


def connected(nodes, edges, seed, **options):
    """A random graph with a way around, so that all reach each other."""
    graph = random_graph(nodes, edges, seed, **options)
    around = random_graph(nodes, 0, 0, directed=graph.is_directed())
    nx.add_cycle(around, range(nodes), weight=3 if options.get("weights") == "int" else 0.7)
    graph.add_edges_from(
        (u, v, data if options.get("weights") else {})
        for u, v, data in around.edges(data=True)
        if not graph.has_edge(u, v)
    )
    return graph


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("directed", [False, True])
def test_eccentricities(way, directed, tmp_path):
    graph = connected(150, 60, 4, directed=directed, loops=True)
    given = backend_graph(graph, way, tmp_path)
    right = nx.eccentricity(graph)
    found = ours.eccentricity(given)
    assert list(found.items()) == list(right.items())
    assert all(type(value) is int for value in found.values())
    assert ours.eccentricity(given, 7) == right[7]
    assert ours.eccentricity(given, [9, 3, 999, 9]) == {9: right[9], 3: right[3]}
    assert ours.eccentricity(given, []) == {}
    for name in EXTREMES:
        assert getattr(ours, name)(given) == getattr(nx, name)(graph)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weights", ["int", "float"])
@pytest.mark.parametrize("directed", [False, True])
def test_by_weight(way, weights, directed, tmp_path):
    graph = connected(25, 40, 6, directed=directed, weights=weights)
    given = backend_graph(graph, way, tmp_path)
    right = nx.eccentricity(graph, weight="weight")
    found = ours.eccentricity(given, weight="weight")
    assert found == right
    assert set(map(type, found.values())) == {int if weights == "int" else float}
    assert ours.eccentricity(given, 7, weight="weight") == right[7]
    for name in EXTREMES:
        right = getattr(nx, name)(graph, weight="weight")
        assert getattr(ours, name)(given, weight="weight") == right


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(200), nx.cycle_graph(129), nx.star_graph(200), nx.complete_graph(70),
        nx.barbell_graph(40, 90), nx.balanced_tree(2, 8), nx.grid_2d_graph(12, 15),
        nx.random_labeled_tree(200, seed=3), nx.barabasi_albert_graph(400, 2, seed=3),
        nx.MultiGraph(nx.path_graph(99)), nx.empty_graph(1),
    ],
    ids=lambda graph: f"{len(graph)}",
)  # fmt: skip
def test_bounds_leave_the_right_nodes(graph, monkeypatch):
    known = nx.eccentricity(graph)
    for cost in (0, ours.SEARCH_COST):
        monkeypatch.setattr(ours, "SEARCH_COST", cost)
        for name in EXTREMES:
            right = getattr(nx, name)(graph, e=known)
            for usebounds in (False, True):
                assert getattr(ours, name)(ListedGraph(graph), usebounds=usebounds) == right


def test_bounds_save_searches(monkeypatch):
    graph = nx.random_labeled_tree(8000, seed=1)
    left = [0]
    search = ours.eccentricities

    def counted(lists, sources):
        left.append(len(sources))
        return search(lists, sources)

    monkeypatch.setattr(ours, "eccentricities", counted)
    for name in EXTREMES:
        assert getattr(ours, name)(ListedGraph(graph)) == getattr(nx, name)(graph, usebounds=True)
    assert max(left) < len(graph) // 10


def test_lengths_and_eccentricities_can_be_given():
    graph = connected(20, 20, 2)
    given, lengths = ListedGraph(graph), dict(nx.all_pairs_shortest_path_length(graph))
    assert ours.eccentricity(given, sp=lengths) == nx.eccentricity(graph)
    assert ours.eccentricity(given, 3, sp=lengths) == nx.eccentricity(graph, 3)
    lengths[3] = 1
    with pytest.raises(nx.NetworkXError, match='Format of "sp" is invalid'):
        ours.eccentricity(given, sp=lengths)
    known = {"a": 2.5, "b": 9, "c": 9, "d": 2.5}
    for name, right in zip(EXTREMES, (9, ["b", "c"], 2.5, ["a", "d"]), strict=True):
        assert getattr(ours, name)(given, e=known) == right


@pytest.mark.parametrize("nodes", [3, 200])
def test_what_is_out_of_reach(nodes):
    graph = nx.path_graph(nodes)
    graph.add_node("alone")
    for name in ("eccentricity", *EXTREMES):
        for weight in (None, "weight"):
            with pytest.raises(nx.NetworkXError, match="graph is not connected"):
                getattr(ours, name)(ListedGraph(graph), weight=weight)
            with pytest.raises(nx.NetworkXError, match="digraph is not strongly connected"):
                getattr(ours, name)(ListedGraph(graph.to_directed()), weight=weight)
    assert ours.eccentricity(ListedGraph(nx.path_graph(3, nx.DiGraph)), 0) == 2


def test_what_is_out_of_reach_of_bounds(monkeypatch):
    monkeypatch.setattr(ours, "SEARCH_COST", 0)
    graph = nx.disjoint_union(nx.cycle_graph(100), nx.cycle_graph(100))
    with pytest.raises(nx.NetworkXError, match="graph is not connected"):
        ours.diameter(ListedGraph(graph))


def test_nodes_that_are_not_there():
    listed = ListedGraph(nx.path_graph(3))
    with pytest.raises(nx.NetworkXError, match="99"):
        ours.eccentricity(listed, 99)


def test_nothing_has_no_extremes():
    for kind in (nx.Graph, nx.DiGraph):
        listed = ListedGraph(kind())
        assert ours.eccentricity(listed) == {}
        for name in ("diameter", "radius", "periphery"):
            with pytest.raises(ValueError, match="empty"):
                getattr(ours, name)(listed)
    with pytest.raises(ValueError, match="empty"):
        ours.center(listed)
    with pytest.raises(nx.NetworkXPointlessConcept):
        ours.center(ListedGraph(nx.Graph()))


def test_a_batch_of_searches_is_as_good_as_each_alone():
    graph = random_graph(130, 300, 9, directed=True)
    lists = ListedGraph(graph).lists()
    found = ours.eccentricities(lists, np.arange(130))
    for source in graph:
        lengths = nx.single_source_shortest_path_length(graph, source)
        assert found[source] == (max(lengths.values()) if len(lengths) == 130 else -1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weight", [float("inf"), 0.0])
def test_weights_are_those_of_the_lists(way, weight, tmp_path):
    graph = connected(12, 20, 3, weights="float")
    for neighbour in graph[0]:
        graph[0][neighbour]["weight"] = weight
    given = backend_graph(graph, way, tmp_path)
    right = nx.eccentricity(graph, weight="weight")
    assert ours.eccentricity(given, weight="weight") == pytest.approx(right)

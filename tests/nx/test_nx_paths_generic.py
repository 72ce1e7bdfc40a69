"""Paths by whichever method, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph
from path_making import CLASSES, depends_on_direction, hides_some, is_path, outcome, tied_graph

from penstock.interfaces.nx import paths_generic as ours
from penstock.interfaces.nx.backend import backend
from penstock.interfaces.nx.listed import ListedGraph

METHODS = ("dijkstra", "bellman-ford", "another")
ENDS = [("n0", "n4"), ("n0", None), (None, "n4"), (None, None), ("n0", "nobody"), (None, "nobody")]
STORED = [way for way in WAYS if way != "listed"]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("kind", ["zero", "int", "float", "negative"])
@pytest.mark.parametrize("weight", ["weight", None, depends_on_direction, hides_some])
def test_the_same_paths_in_the_same_order(cls, kind, weight):
    for seed in range(3):
        graph = tied_graph(cls, kind, seed)
        listed = ListedGraph(graph)
        # Bellman and Ford's method of NetworkX adds up weights that are None.
        for method in METHODS[:1] if weight is hides_some else METHODS:
            options = {"weight": weight, "method": method}
            for ends in ENDS:
                right = outcome(nx.shortest_path, graph, *ends, **options)
                assert outcome(ours.shortest_path, listed, *ends, **options) == right
                right = outcome(nx.shortest_path_length, graph, *ends, **options)
                found = outcome(ours.shortest_path_length, listed, *ends, **options)
                if weight is None and isinstance(right, list):
                    right, found = sorted(right), sorted(found)
                assert found == right
        for target in (*graph, "nobody"):
            right = outcome(nx.has_path, graph, "n0", target)
            assert outcome(ours.has_path, listed, "n0", target) == right


@pytest.mark.parametrize("way", STORED)
@pytest.mark.parametrize("directed", [False, True])
def test_stored_graphs(way, directed, tmp_path):
    graph = random_graph(30, 60, 8, directed=directed, weights="float", loops=True)
    given = backend_graph(graph, way, tmp_path)
    for weight in (None, "weight"):
        for method in METHODS[:2]:
            options = {"weight": weight, "method": method}
            for ends in ((3, None), (None, 3)):
                right = nx.shortest_path_length(graph, *ends, **options)
                assert ours.shortest_path_length(given, *ends, **options) == pytest.approx(right)
                paths = ours.shortest_path(given, *ends, **options)
                assert paths.keys() == right.keys()
                for node, length in right.items():
                    assert is_path(graph, paths[node], length, weight)
            right = dict(nx.shortest_path_length(graph, **options))
            for node, found in ours.shortest_path_length(given, **options):
                assert found == pytest.approx(right[node])
            for target, length in right[3].items():
                found = ours.shortest_path_length(given, 3, target, **options)
                assert found == pytest.approx(length)
    for target in graph:
        assert ours.has_path(given, 3, target) == (target in right[3])
    with pytest.raises(nx.NodeNotFound):
        ours.has_path(given, 3, 99)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weights", ["int", "float", None])
@pytest.mark.parametrize("directed", [False, True])
def test_the_average(way, weights, directed, tmp_path):
    graph = nx.cycle_graph(20, nx.DiGraph if directed else nx.Graph)
    others = random_graph(20, 25, 2, directed=directed, weights=weights)
    graph.add_edges_from(others.edges(data=True))
    for number, (_, _, data) in enumerate(graph.edges(data=True)):
        if weights is not None:
            data.setdefault("weight", number % 7 + (0 if weights == "int" else 0.25))
    given = backend_graph(graph, way, tmp_path)
    for weight in (None, "weight"):
        for method in (
            None, "unweighted", "dijkstra", "bellman-ford", "floyd-warshall", "floyd-warshall-numpy"
        ):  # fmt: skip
            right = nx.average_shortest_path_length(graph, weight, method)
            found = ours.average_shortest_path_length(given, weight, method)
            assert found == pytest.approx(right, rel=1e-12)
            assert type(found) is float


@pytest.mark.parametrize("way", WAYS)
def test_where_there_is_no_average(way, tmp_path):
    apart = random_graph(6, 3, 1)
    with pytest.raises(nx.NetworkXError, match="not connected"):
        ours.average_shortest_path_length(backend_graph(apart, way, tmp_path))
    one_way = nx.path_graph(3, nx.DiGraph)
    with pytest.raises(nx.NetworkXError, match="not strongly connected"):
        ours.average_shortest_path_length(backend_graph(one_way, way, tmp_path))


def test_few_nodes():
    with pytest.raises(nx.NetworkXPointlessConcept):
        ours.average_shortest_path_length(ListedGraph(nx.Graph()))
    assert ours.average_shortest_path_length(ListedGraph(nx.empty_graph(1))) == 0
    with pytest.raises(ValueError, match="method not supported: another"):
        ours.average_shortest_path_length(ListedGraph(nx.Graph()), method="another")
    zero = nx.path_graph(3)
    nx.set_edge_attributes(zero, 0, "weight")
    assert ours.average_shortest_path_length(ListedGraph(zero), "weight") == 0


def test_the_average_by_negative_weights():
    graph = nx.cycle_graph(4, nx.DiGraph)
    nx.set_edge_attributes(graph, {(0, 1): -2, (1, 2): 3, (2, 3): 0, (3, 0): 4}, "weight")
    for method in ("bellman-ford", "floyd-warshall", "floyd-warshall-numpy"):
        right = nx.average_shortest_path_length(graph, "weight", method)
        found = ours.average_shortest_path_length(ListedGraph(graph), "weight", method)
        assert found == pytest.approx(right)


def test_between_two_nodes_a_weight_function_is_better_called_by_networkx():
    graph = nx.gnm_random_graph(100, 3000, seed=1)
    function = {"weight": lambda u, v, _data: u + v}
    for name in ("shortest_path", "shortest_path_length", "bidirectional_dijkstra"):
        assert backend.should_run(name, (graph, 0, 1), {"weight": "weight"}) is True
        ends = {"source": 0, "target": 1}
        assert "every edge" in backend.should_run(name, (graph,), ends | function)
    assert backend.should_run("shortest_path", (graph, 0), function) is True


@pytest.mark.parametrize("way", WAYS)
def test_paths_from_or_to_any_node(way, tmp_path):
    graph = random_graph(6, 3, 1, directed=True)
    given = backend_graph(graph, way, tmp_path)
    for ends in ((None, 2), (2, None), (None, None)):
        assert ours.has_path(given, *ends) is nx.has_path(graph, *ends) is True
    for ends in ((None, 99), (99, None), (99, 1), (1, 99)):
        with pytest.raises(nx.NodeNotFound):
            ours.has_path(given, *ends)


@pytest.mark.parametrize("method", ["floyd-warshall", "floyd-warshall-numpy", "bellman-ford"])
def test_the_mean_of_infinite_lengths(method):
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, float("inf")), (1, 2, 1)])
    right = nx.average_shortest_path_length(graph, "weight", method)
    assert ours.average_shortest_path_length(ListedGraph(graph), "weight", method) == right


@pytest.mark.parametrize("way", STORED)
def test_the_mean_of_lengths_without_weights_streams(way, tmp_path):
    given = backend_graph(nx.cycle_graph(9), way, tmp_path)
    for weight in (None, "weight"):
        assert ours.average_shortest_path_length(given, weight, "dijkstra") == 2.5
    assert not given._lists


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weight", [-2.0, float("inf")])
def test_the_mean_of_lengths_by_negative_and_infinite_weights(way, weight, tmp_path):
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 5.0), (1, 2, weight), (2, 0, 3.0)])
    given = backend_graph(graph, way, tmp_path)
    right = outcome(nx.average_shortest_path_length, graph, "weight", "dijkstra")
    assert outcome(ours.average_shortest_path_length, given, "weight", "dijkstra") == right

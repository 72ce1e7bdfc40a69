"""Paths by weight, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph
from path_making import CLASSES, depends_on_direction, hides_some, is_path, outcome, tied_graph

from penstock.interfaces.nx import paths_weighted as ours
from penstock.interfaces.nx.listed import ListedGraph

SEARCHES = ("single_source_dijkstra", "dijkstra_predecessor_and_distance")
PAIRS = ("all_pairs_dijkstra", "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length")
BETWEEN = ("dijkstra_path", "dijkstra_path_length", "bidirectional_dijkstra")
STORED = [way for way in WAYS if way != "listed"]


@pytest.fixture(params=["weight", "none there", None, hides_some, depends_on_direction])
def weight(request):
    return request.param


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("kind", ["zero", "int", "float", "negative"])
def test_the_same_paths_in_the_same_order(cls, kind, weight):
    for seed in range(3):
        graph = tied_graph(cls, kind, seed)
        listed = ListedGraph(graph)

        def same(name, *args, graph=graph, listed=listed, **options):
            right = outcome(getattr(nx, name), graph, *args, weight=weight, **options)
            assert outcome(getattr(ours, name), listed, *args, weight=weight, **options) == right

        for cutoff in (None, 0, 2, 3.5, -1):
            for name in SEARCHES:
                same(name, "n3", cutoff=cutoff)
            same("single_source_dijkstra", "n3", "n7", cutoff=cutoff)
            same("multi_source_dijkstra_path_length", ["n5", "n1", "n5"], cutoff=cutoff)
        for name in PAIRS:
            same(name)
        for source in ("n0", "n3", "nobody"):
            for target in (*graph, "nobody"):
                for name in BETWEEN:
                    same(name, source, target)
        same("multi_source_dijkstra", {"n1", "n2"}, "n4")


@pytest.mark.parametrize("cls", CLASSES)
def test_paths_from_the_nearest_of_several(cls):
    for seed in range(6):
        graph = tied_graph(cls, "zero", seed)
        sources = ["n5", "n1", "n5", "n9"]
        for name in ("multi_source_dijkstra", "multi_source_dijkstra_path"):
            right = outcome(getattr(nx, name), graph, sources)
            assert outcome(getattr(ours, name), ListedGraph(graph), sources) == right


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weights", ["int", "float", None])
@pytest.mark.parametrize("directed", [False, True])
def test_lengths_wherever_the_graph_is(way, weights, directed, tmp_path):
    graph = random_graph(40, 80, 3, directed=directed, weights=weights, loops=True)
    given = backend_graph(graph, way, tmp_path)
    for weight in ("weight", None, "none there"):
        for cutoff in (None, 0, 1.3, 6, 100):
            options = {"cutoff": cutoff, "weight": weight}
            right = nx.single_source_dijkstra_path_length(graph, 4, **options)
            found = ours.single_source_dijkstra_path_length(given, 4, **options)
            assert found == pytest.approx(right)
            assert list(found.values()) == sorted(found.values())
            assert {type(value) for value in found.values()} <= {type(v) for v in right.values()}
            right = nx.multi_source_dijkstra_path_length(graph, {4, 9, 30}, **options)
            found = ours.multi_source_dijkstra_path_length(given, {4, 9, 30}, **options)
            assert found == pytest.approx(right)
        for target, length in nx.single_source_dijkstra_path_length(
            graph, 4, weight=weight
        ).items():
            assert ours.dijkstra_path_length(given, 4, target, weight) == pytest.approx(length)
        right = dict(nx.all_pairs_dijkstra_path_length(graph, weight=weight))
        for node, found in ours.all_pairs_dijkstra_path_length(given, weight=weight):
            assert found == pytest.approx(right[node])


@pytest.mark.parametrize("way", STORED)
@pytest.mark.parametrize("directed", [False, True])
def test_paths_of_stored_graphs_are_shortest(way, directed, tmp_path):
    graph = random_graph(40, 80, 3, directed=directed, weights="float", loops=True)
    given = backend_graph(graph, way, tmp_path)
    right = nx.single_source_dijkstra_path_length(graph, 4)
    lengths, paths = ours.single_source_dijkstra(given, 4)
    assert lengths == right
    assert paths.keys() == right.keys()
    for target, length in right.items():
        assert is_path(graph, paths[target], length)
        found, path = ours.bidirectional_dijkstra(given, 4, target)
        assert found == pytest.approx(length)
        assert is_path(graph, path, length)
    before, _ = ours.dijkstra_predecessor_and_distance(given, 4)
    assert before == nx.dijkstra_predecessor_and_distance(graph, 4)[0]


def test_distances_that_float64_cannot_hold_are_not_shown_as_exact():
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, 1 << 60, "weight")
    assert ours.dijkstra_path_length(ListedGraph(graph), 0, 2) == float(1 << 61)
    assert type(ours.dijkstra_path_length(ListedGraph(graph), 0, 2)) is float


def test_an_infinite_weight_is_an_edge():
    graph = nx.path_graph(3)
    graph.edges[0, 1]["weight"] = float("inf")
    right = nx.single_source_dijkstra(graph, 0)
    assert ours.single_source_dijkstra(ListedGraph(graph), 0) == right


def test_sources_that_are_not_there():
    empty, one = ListedGraph(nx.Graph()), ListedGraph(nx.empty_graph(1))
    assert list(ours.all_pairs_dijkstra(empty)) == []
    assert ours.single_source_dijkstra(one, 0) == ({0: 0}, {0: [0]})
    assert ours.dijkstra_predecessor_and_distance(one, 0) == ({0: []}, {0: 0})
    with pytest.raises(ValueError, match="sources must not be empty"):
        ours.multi_source_dijkstra(one, set())
    with pytest.raises(nx.NodeNotFound, match="Node 5 not found in graph"):
        ours.multi_source_dijkstra_path_length(one, {5})
    with pytest.raises(nx.NodeNotFound, match="Target 5 is not in G"):
        ours.bidirectional_dijkstra(one, 0, 5)


def test_a_weight_function_is_asked_for_all_pairs_once():
    graph, calls = nx.cycle_graph(5), []
    found = ours.all_pairs_dijkstra(
        ListedGraph(graph), weight=lambda u, v, data: calls.append((u, v)) or 1
    )
    assert calls == []
    assert len(list(found)) == 5
    assert len(calls) == 2 * graph.number_of_edges()


def test_weights_of_functions_are_not_kept():
    listed = ListedGraph(nx.cycle_graph(5))
    for step in (1, 2, 3):
        weight = {(0, 1): step}
        found = ours.bidirectional_dijkstra(
            listed, 0, 1, weight=lambda u, v, _data, weight=weight: weight.get((u, v), 9)
        )
        assert found == (step, [0, 1])
    assert not any(callable(part) for key in listed._lists for part in key)


@pytest.mark.parametrize("way", STORED)
def test_nothing_is_nearer_than_a_source(way, tmp_path):
    graph = nx.path_graph(4)
    for weight in (0.0, None):
        if weight is not None:
            nx.set_edge_attributes(graph, weight, "weight")
        given = backend_graph(graph, way, tmp_path)
        for cutoff in (-1, float("-inf")):
            assert ours.single_source_dijkstra_path_length(given, 1, cutoff) == {1: 0}
            several = ours.multi_source_dijkstra_path_length(given, [2, 0, 2], cutoff)
            assert list(several.items()) == [(2, 0), (0, 0)]


@pytest.mark.parametrize("way", STORED)
def test_negative_weights_of_a_stored_graph(way, tmp_path):
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 5), (1, 2, -2), (2, 3, 1), (0, 3, 3)])
    given = backend_graph(graph, way, tmp_path)
    for name, args in (
        ("dijkstra_path_length", (0, 2)),
        ("dijkstra_path_length", (0, 3)),
        ("dijkstra_path_length", (3, 0)),
        ("single_source_dijkstra_path_length", (0,)),
        ("multi_source_dijkstra_path_length", ([1, 3],)),
    ):
        assert outcome(getattr(ours, name), given, *args) == outcome(
            getattr(nx, name), graph, *args
        )

"""Spanning trees and forests."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph

import penstock as ps
from penstock.interfaces.nx import spanning
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph

EDGES = ("minimum_spanning_edges", "maximum_spanning_edges")
TREES = ("minimum_spanning_tree", "maximum_spanning_tree")
SHAPES = list(itertools.product((True, False), (True, False)))


def graphs(weights):
    for seed in range(6):
        size = 5 + 8 * seed
        graph = random_graph(size, 10 * size if seed == 5 else 2 * size, seed, weights=weights)
        graph.graph["name"], graph.nodes[0]["color"] = f"graph {seed}", "red"
        graph.add_edge(1, 1, weight=-5)
        yield graph
        yield nx.relabel_nodes(graph, "node {}".format)
    yield nx.empty_graph(2)
    yield nx.Graph()


def several(graph):
    """With lighter and heavier edges beside those that there are."""
    made = nx.MultiGraph(graph)
    for k, (u, v, data) in enumerate(list(graph.edges(data=True))):
        for step in range(k % 4):
            made.add_edge(u, v, key=f"{k}.{step}", weight=data.get("weight", 1) + 2 * step - 3)
    return made


def theirs(name, graph, *arguments, **options):
    return getattr(nx, name)(graph, *arguments, **options, backend="networkx")


def order_of(graph):
    return [(node, list(neighbours)) for node, neighbours in graph._adj.items()]


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("algorithm", ["kruskal", "prim"])
@pytest.mark.parametrize("weights", ["int", "float", None])
def test_edges_are_those_of_networkx_also_among_equal_ones(name, algorithm, weights):
    for one in graphs(weights):
        for graph, (keys, data) in itertools.product((one, several(one)), SHAPES):
            expected = list(theirs(name, graph, algorithm, keys=keys, data=data))
            found = getattr(spanning, name)(ListedGraph(graph), algorithm, keys=keys, data=data)
            assert list(found) == expected


@pytest.mark.parametrize("name", EDGES)
def test_boruvka_finds_the_edges_of_networkx_if_weights_differ(name):
    for graph in graphs("float"):
        for algorithm in ("boruvka", "borůvka"):
            found = list(getattr(spanning, name)(ListedGraph(graph), algorithm))
            assert found == list(theirs(name, graph, algorithm))


def test_boruvka_leaves_out_what_weighs_without_end():
    graph = nx.path_graph(3)
    graph.add_edge(0, 1, weight=math.inf)
    for algorithm in ("boruvka", "kruskal", "prim"):
        found = list(spanning.minimum_spanning_edges(ListedGraph(graph), algorithm, data=False))
        assert found == list(theirs(EDGES[0], graph, algorithm, data=False))


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("algorithm", ["kruskal", "prim"])
def test_trees_keep_all_attributes_and_the_order(name, algorithm):
    for one in graphs("int"):
        for graph in (one, several(one)):
            tree = getattr(spanning, name)(ListedGraph(graph), algorithm=algorithm)
            expected = theirs(name, graph, algorithm=algorithm)
            assert type(tree) is type(expected)
            assert (tree._adj, tree._node, tree.graph) == (
                expected._adj, expected._node, expected.graph,
            )  # fmt: skip
            assert order_of(tree) == order_of(expected)


def test_attributes_of_edges_are_the_graphs_own():
    graph = nx.path_graph(2)
    (edge,) = spanning.minimum_spanning_edges(ListedGraph(graph))
    assert edge[2] is graph[0][1]


@pytest.mark.parametrize("way", WAYS[1:])
@pytest.mark.parametrize("weights", ["int", "float", None])
@pytest.mark.parametrize("least", [True, False])
@pytest.mark.parametrize("ignore_nan", [False, True])
def test_stored_graphs_have_forests_of_the_same_weight(way, weights, least, ignore_nan, tmp_path):
    for seed, edges in enumerate((0, 40, 400)):
        graph = random_graph(40, edges, seed, weights=weights, loops=True)
        stored = backend_graph(graph, way, tmp_path)
        name = TREES[0 if least else 1]
        found = getattr(spanning, name)(stored, ignore_nan=ignore_nan)
        tree, expected = found.to_networkx(), theirs(name, graph)
        assert (set(tree), tree.number_of_edges()) == (set(graph), expected.number_of_edges())
        assert tree.size("weight") == pytest.approx(expected.size("weight"))
        assert nx.is_forest(tree) or edges == 0
        listed = list(getattr(spanning, EDGES[0 if least else 1])(stored, ignore_nan=ignore_nan))
        assert listed == [(u, v, graph[u][v]) for u, v, _ in listed]
        assert {(u, v) for u, v, _ in listed} == {tuple(sorted(edge)) for edge in tree.edges}


@pytest.mark.parametrize("weight", ["weight", "cost", "other"])
@pytest.mark.parametrize("name", TREES)
def test_trees_of_stored_graphs_have_all_columns(weight, name):
    whole = nx.Graph()
    for u, v, w, c in [
        (0, 1, 4.0, 1),
        (1, 2, 1.0, 9),
        (2, 3, 5.0, 8),
        (3, 0, 3.0, 2),
        (0, 2, 2.0, 3),
    ]:
        whole.add_edge(u, v, weight=w, cost=c)
    made = ps.from_edges(whole, weights="weight", attributes=["cost"])
    tree = getattr(spanning, name)(StoredGraph(made), weight=weight).to_networkx()
    assert all(tree[u][v] == whole[u][v] for u, v in tree.edges)
    assert tree.size(weight) == theirs(name, whole, weight=weight).size(weight)


@pytest.mark.parametrize("name", EDGES)
def test_of_several_stored_edges_one_counts(name):
    src, dst, weight = [0, 0, 1, 1], [1, 1, 2, 2], [3, 1, 5, 6]
    stored = StoredGraph(ps.from_edges(src, dst, weight, directed=False, duplicates="keep"))
    found = list(getattr(spanning, name)(stored))
    assert [edge[3]["weight"] for edge in found] == ([1, 5] if name == EDGES[0] else [3, 6])
    assert [edge[:3] for edge in found] == [(0, 1, 0), (1, 2, 0)]


def with_nan(kind=nx.Graph):
    graph = kind([(0, 1, {"weight": math.nan}), (1, 2, {"weight": 2}), (0, 2, {"weight": 3})])
    if graph.is_multigraph():
        graph.add_edge(1, 2, weight=math.nan)
    return graph


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("algorithm", ["kruskal", "prim", "boruvka"])
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_nan_is_refused_or_left_out(name, algorithm, kind):
    if kind is nx.MultiGraph and algorithm == "boruvka":
        return
    graph = with_nan(kind)
    refused = getattr(spanning, name)(ListedGraph(graph), algorithm)
    with pytest.raises(ValueError, match=r"NaN found as an edge weight\. Edge"):
        next(refused)
    found = getattr(spanning, name)(ListedGraph(graph), algorithm, ignore_nan=True)
    assert list(found) == list(theirs(name, graph, algorithm, ignore_nan=True))


def test_a_loop_that_weighs_nan_matters_to_kruskal_only():
    graph = nx.Graph([(0, 1), (2, 2, {"weight": math.nan})])
    with pytest.raises(ValueError, match="NaN"):
        list(spanning.minimum_spanning_edges(ListedGraph(graph)))
    assert list(spanning.minimum_spanning_edges(ListedGraph(graph), "boruvka", data=False)) == [
        (0, 1)
    ]


@pytest.mark.parametrize("name", EDGES)
def test_nan_of_a_stored_graph_is_refused_or_left_out(name):
    graph = ps.from_edges(with_nan(), attributes=["weight"], weights=False)
    stored = StoredGraph(graph)
    with pytest.raises(ValueError, match=r"(?i)nan"):
        list(getattr(spanning, name)(stored))
    found = list(getattr(spanning, name)(stored, data=False, ignore_nan=True))
    assert found == [(0, 2), (1, 2)]


@pytest.mark.parametrize("name", [*EDGES, *TREES])
def test_what_cannot_be_is_said_at_the_call(name):
    function = getattr(spanning, name)
    with pytest.raises(ValueError, match="fastest is not a valid choice for an algorithm"):
        function(ListedGraph(nx.path_graph(3)), algorithm="fastest")
    with pytest.raises(nx.NetworkXNotImplemented, match="multigraph"):
        function(ListedGraph(nx.MultiGraph()), algorithm="boruvka")
    with pytest.raises(nx.NetworkXNotImplemented, match="directed"):
        function(ListedGraph(nx.DiGraph()))

"""Components, of the backend against NetworkX's own."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from making import WAYS, backend_graph, random_graph

import penstock as ps
from penstock.interfaces.nx import components as ours
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph


def graphs(directed):
    yield from (
        random_graph(80, edges, seed, directed=directed, loops=True)
        for seed, edges in enumerate((0, 30, 60, 120, 400))
    )
    kind = nx.DiGraph if directed else nx.Graph
    yield nx.empty_graph(1, kind)
    yield nx.cycle_graph(9, kind)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("prefix", ["", "weakly_", "strongly_"])
def test_components(way, prefix, tmp_path):
    for graph in graphs(directed=prefix != ""):
        given = backend_graph(graph, way, tmp_path)
        name = f"{prefix}connected_components"
        right = list(getattr(nx, name)(graph))
        found = list(getattr(ours, name)(given))
        assert all(type(each) is set for each in found)
        if way == "listed" or prefix != "strongly_":
            assert found == right
        else:
            assert found == sorted(right, key=min)
        assert getattr(ours, f"number_{name}")(given) == len(right)
        assert getattr(ours, f"is_{prefix}connected")(given) == (len(right) == 1)


@pytest.mark.parametrize("way", WAYS)
def test_the_component_of_a_node(way, tmp_path):
    for graph in graphs(directed=False):
        given = backend_graph(graph, way, tmp_path)
        for node in list(graph)[::9]:
            found = ours.node_connected_component(given, node)
            assert found == nx.node_connected_component(graph, node)
        with pytest.raises(KeyError, match="-7"):
            ours.node_connected_component(given, -7)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_strong_components_come_in_the_order_of_networkx(kind):
    for seed in range(20):
        graph = kind()
        edges = random_graph(50, 75, seed, directed=True, loops=True).edges
        graph.add_edges_from((f"n{v * 7 % 50}", f"n{u * 11 % 50}") for u, v in edges)
        found = list(ours.strongly_connected_components(ListedGraph(graph)))
        assert found == list(nx.strongly_connected_components(graph))


def test_a_long_path_is_as_deep_as_it_is():
    graph = nx.path_graph(50_000, nx.DiGraph)
    found = list(ours.strongly_connected_components(ListedGraph(graph)))
    assert found == [{node} for node in range(49_999, -1, -1)]


@pytest.mark.parametrize("ids", [[10, 20, 30, 40, 50], ["a", "b", "c", "d", "e"]])
def test_ids_that_are_no_places(ids):
    src, dst = [ids[4], ids[1]], [ids[2], ids[3]]
    given = StoredGraph(ps.from_edges(np.array(src), np.array(dst), directed=True))
    assert list(ours.weakly_connected_components(given)) == [{ids[1], ids[3]}, {ids[2], ids[4]}]
    assert ours.number_strongly_connected_components(given) == 4
    assert not ours.is_weakly_connected(given)


@pytest.mark.parametrize("prefix", ["", "weakly_", "strongly_"])
def test_nothing_is_neither_connected_nor_not(prefix):
    listed = ListedGraph(nx.DiGraph() if prefix else nx.Graph())
    assert list(getattr(ours, f"{prefix}connected_components")(listed)) == []
    assert getattr(ours, f"number_{prefix}connected_components")(listed) == 0
    with pytest.raises(nx.NetworkXPointlessConcept, match="null graph"):
        getattr(ours, f"is_{prefix}connected")(listed)

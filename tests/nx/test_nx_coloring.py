"""Greedy colors."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from making import WAYS, backend_graph, random_graph
from networkx.algorithms.coloring.greedy_coloring import STRATEGIES

from penstock.interfaces.nx.backend import backend
from penstock.interfaces.nx.coloring import greedy_color
from penstock.interfaces.nx.listed import ListedGraph

#: Those whose ties NetworkX leaves to the order of sets that change.
LEFT_TO_SETS = ("smallest_last", "independent_set")
EXACT = sorted(set(STRATEGIES) - set(LEFT_TO_SETS))
WITHOUT_INTERCHANGE = ("independent_set", "saturation_largest_first", "DSATUR")


def graphs():
    for seed in range(6):
        size = 4 + 7 * seed
        yield random_graph(size, 3 * size, seed, loops=seed % 2 == 1)
        named = nx.relabel_nodes(random_graph(size, 2 * size, seed), "node {}".format)
        yield nx.MultiGraph([*named.edges, *list(named.edges)[::3]])
    yield nx.complete_graph(70)  # more than 64 colors
    yield nx.empty_graph(3)


def draw_alike(function, *arguments):
    random.seed(7)
    return function(*arguments)


def plain(graph, strategy, interchange=False):
    return nx.greedy_color(graph, strategy, interchange, backend="networkx")


def is_proper(graph, colors):
    return set(colors) == set(graph) and all(
        u == v or colors[u] != colors[v] for u, v in graph.edges()
    )


@pytest.mark.parametrize("strategy", EXACT)
def test_colors_and_their_order_are_those_of_networkx(strategy):
    for graph in graphs():
        ours = draw_alike(greedy_color, ListedGraph(graph), strategy)
        assert list(ours.items()) == list(draw_alike(plain, graph, strategy).items())


@pytest.mark.parametrize("strategy", sorted(set(EXACT) - set(WITHOUT_INTERCHANGE)))
def test_colors_with_interchange_are_those_of_networkx(strategy):
    for seed in range(12):
        graph = random_graph(4 + 4 * seed, 12 * seed, seed)
        ours = draw_alike(greedy_color, ListedGraph(graph), strategy, True)
        assert ours == draw_alike(plain, graph, strategy, True)


@pytest.mark.parametrize("strategy", LEFT_TO_SETS)
def test_colors_of_other_strategies_are_as_few(strategy):
    for seed in range(12):
        graph = random_graph(5 + 4 * seed, 10 * seed, seed)
        ours = greedy_color(ListedGraph(graph), strategy)
        assert is_proper(graph, ours)
        theirs = plain(graph, strategy)
        assert max(ours.values()) <= max(theirs.values()) + 1


def test_smallest_last_colors_with_one_more_than_the_core_number():
    for seed in range(8):
        graph = random_graph(60, 200, seed)
        most = max(nx.core_number(graph, backend="networkx").values())
        for interchange in (False, True):
            colors = greedy_color(ListedGraph(graph), "smallest_last", interchange)
            assert is_proper(graph, colors)
            assert max(colors.values()) <= most


def test_an_independent_set_takes_the_first_of_the_smallest_degree():
    assert greedy_color(ListedGraph(nx.path_graph(5)), "independent_set") == {
        0: 0, 2: 0, 4: 0, 1: 1, 3: 1,
    }  # fmt: skip


@pytest.mark.parametrize("strategy", ["largest_first", "DSATUR", "random_sequential"])
def test_only_the_edges_that_leave_a_node_count_in_a_directed_graph(strategy):
    for seed in range(5):
        graph = random_graph(30, 90, seed, directed=True)
        ours = draw_alike(greedy_color, ListedGraph(graph), strategy)
        assert ours == draw_alike(plain, graph, strategy)


def test_directions_play_no_part_with_interchange():
    for seed in range(5):
        graph = random_graph(20, 60, seed, directed=True)
        ours = greedy_color(ListedGraph(graph), "largest_first", True)
        assert ours == plain(graph, "largest_first", True)
        assert is_proper(graph, ours)
    for strategy in LEFT_TO_SETS:
        assert set(greedy_color(ListedGraph(graph), strategy)) == set(graph)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_every_graph_can_be_colored(way, strategy, tmp_path):
    graph = random_graph(40, 120, 3, loops=True)
    assert is_proper(graph, greedy_color(backend_graph(graph, way, tmp_path), strategy))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("interchange", [False, True])
def test_a_function_gets_the_graph_and_the_colors_so_far(way, interchange, tmp_path):
    graph = random_graph(30, 60, 5)

    def by_name(given, colors):
        for turn, node in enumerate(sorted(given, reverse=True)):
            assert len(colors) == (0 if interchange else turn)
            yield node

    ours = greedy_color(backend_graph(graph, way, tmp_path), by_name, interchange)
    assert ours == plain(graph, by_name, interchange)


def test_functions_of_networkx_are_known():
    graph = random_graph(30, 60, 5)
    for function in (nx.coloring.strategy_largest_first, nx.coloring.strategy_connected_sequential):
        assert greedy_color(ListedGraph(graph), function) == plain(graph, function)
        assert backend.should_run("greedy_color", [nx.path_graph(3000), function], {}) is True
    answer = backend.should_run("greedy_color", [nx.path_graph(3000), lambda g, _: list(g)], {})
    assert "function" in answer


def test_an_empty_graph_has_no_colors():
    assert greedy_color(ListedGraph(nx.Graph())) == {}


def test_what_cannot_be_is_said_as_networkx_does():
    graph = ListedGraph(nx.path_graph(3))
    with pytest.raises(nx.NetworkXError, match="this is not valid"):
        greedy_color(graph, "this is")
    for strategy in WITHOUT_INTERCHANGE:
        with pytest.raises(nx.NetworkXPointlessConcept, match="interchange cannot be used with"):
            greedy_color(graph, strategy, interchange=True)
    with pytest.raises(nx.NetworkXNotImplemented, match="directed"):
        greedy_color(ListedGraph(nx.path_graph(3, nx.DiGraph)), "connected_sequential")

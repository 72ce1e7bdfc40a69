"""Dictionaries of NetworkX read into arrays: whatever a graph is made of, it is what it says."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.interfaces.nx import dictionaries
from penstock.interfaces.nx.listed import ListedGraph

KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
NAMES = st.one_of(
    st.integers(0, 12), st.integers(-(2**70), 2**70), st.text(max_size=3), st.booleans(),
    st.floats(allow_nan=False), st.tuples(st.integers(0, 3)), st.none().map(lambda _: "none"),
    st.integers(0, 5).map(np.int64),
)  # fmt: skip
WEIGHTS = st.one_of(
    st.just({}), st.integers(-5, 5), st.floats(-5, 5), st.booleans(), st.just(np.float32(1.5)),
    st.just(np.int64(3)), st.just(Fraction(1, 2)),
)  # fmt: skip


def rows(graph, lists):
    """The neighbours of each node, by name."""
    ends = lists.offsets.tolist()
    return {
        name: graph.names_at(lists.neighbours[begin:end])
        for name, begin, end in zip(graph.names, ends, ends[1:], strict=False)
    }


@given(
    kind=st.sampled_from(KINDS),
    edges=st.lists(st.tuples(NAMES, NAMES, WEIGHTS), max_size=12),
    alone=st.lists(NAMES, max_size=3),
)
def test_lists_and_weights_are_networkxs(kind, edges, alone):
    graph = kind()
    graph.add_nodes_from(alone)
    for u, v, weight in edges:
        graph.add_edge(u, v, **({} if weight == {} else {"w": weight}))
    found = ListedGraph(graph)
    assert list(found) == list(graph)
    assert list(map(type, found)) == list(map(type, graph))
    assert rows(found, found.lists()) == {node: list(graph[node]) for node in graph}
    assert found.find("not there") is found.find([]) is None
    for parallel, together in (("min", min), ("sum", sum)):
        lists = found.lists("out", "w", parallel)
        expected = [
            together(each.get("w", 1) for each in data.values())
            if graph.is_multigraph()
            else data.get("w", 1)
            for node in graph
            for data in graph[node].values()
        ]
        assert lists.weights.tolist() == pytest.approx([float(each) for each in expected])
        assert lists.whole == all(isinstance(each, int | np.integer) for each in expected)


def test_names_that_are_numbers_are_places_only_if_they_are_all_of_them():
    assert ListedGraph(nx.path_graph(4)).names == range(4)
    assert ListedGraph(nx.Graph([(1, 0)])).names == [1, 0]
    assert ListedGraph(nx.Graph([(0, 1.0)])).names == [0, 1.0]
    assert ListedGraph(nx.Graph([(False, True)])).names == [False, True]
    mixed = nx.Graph([(0, 1), (1, 2)])
    mixed.add_edge(2.0, np.int64(0))  # equal to nodes that are there, but of other types
    found = ListedGraph(mixed)
    assert rows(found, found.lists()) == {node: list(mixed[node]) for node in mixed}


class Anti(nx.Graph):
    """A graph whose edges are those that it does not store."""

    def __getitem__(self, node):
        there = self.adj[node]
        return {each: {} for each in self.adj if each not in there and each != node}


class Counted(nx.Graph):
    """A graph whose dictionaries are of another class."""

    class Own(dict):
        pass

    node_dict_factory = adjlist_outer_dict_factory = adjlist_inner_dict_factory = Own


@pytest.mark.parametrize(
    "graph",
    [
        Anti([(0, 1), (1, 2), (3, 0)]),
        Counted([("a", "b"), ("b", "c")]),
        nx.subgraph_view(nx.path_graph(6), filter_node=lambda node: node != 2),
        nx.path_graph(6).subgraph([4, 3, 1, 0]),
        nx.reverse_view(nx.DiGraph([(0, 1), (1, 2)])),
        nx.MultiDiGraph([(0, 1), (0, 1), (1, 0)]).to_undirected(as_view=True),
        nx.freeze(nx.path_graph(3)),
    ],
    ids=lambda graph: type(graph).__name__,
)
def test_other_graphs_are_what_they_say(graph):
    found = ListedGraph(graph)
    assert rows(found, found.lists()) == {node: list(graph[node]) for node in graph}


def test_a_node_that_is_in_lists_only_is_an_error():
    broken = nx.path_graph(3)
    broken._adj[0]["x"] = {}
    with pytest.raises(KeyError):
        ListedGraph(broken).lists()


def test_weights_of_functions_hide_edges():
    graph = nx.DiGraph([(0, 1, {"w": 2}), (1, 2, {"w": None}), (0, 2, {"w": 0.5})])
    found = ListedGraph(graph)
    assert rows(found, found.lists("out", "w")) == {0: [1, 2], 1: [], 2: []}
    assert rows(found, found.lists("in", "w")) == {0: [], 1: [0], 2: [0]}
    twice = found.lists("out", lambda u, v, data: None if v == 1 else 2 * (data["w"] or 1))
    assert rows(found, twice) == {0: [2], 1: [2], 2: []}
    assert twice.weights.tolist() == [1, 2]
    assert found.lists("out", lambda u, v, data: 7).weights.tolist() == [7, 7, 7]


def test_what_is_no_number_is_an_error():
    graph = nx.Graph([(0, 1, {"w": "heavy"})])
    with pytest.raises(TypeError, match="heavy"):
        ListedGraph(graph).lists("out", "w")


def test_compiled_code_and_python_read_the_same(monkeypatch):
    graph = nx.gnm_random_graph(300, 2000, seed=5)
    for k, (_, _, data) in enumerate(graph.edges(data=True)):
        if k % 3:
            data["w"] = k if k % 2 else k / 7
    compiled = ListedGraph(graph).lists("out", "w")
    monkeypatch.setattr(dictionaries, "_PLAIN", ())
    monkeypatch.setattr(dictionaries, "_all_dicts", lambda adjacency: False)
    plain = ListedGraph(graph).lists("out", "w")
    for one, other in zip(compiled[:3], plain[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    assert compiled.whole is plain.whole is False


def test_nan_is_a_weight_and_hides_nothing():
    lists = ListedGraph(nx.Graph([(0, 1, {"w": float("nan")}), (1, 2)])).lists("in", "w")
    assert lists.neighbours.tolist() == [1, 0, 2, 1]
    assert np.isnan(lists.weights).tolist() == [True, True, False, False]


@pytest.mark.parametrize("change", ["more", "fewer"])
def test_a_graph_that_changed_since_it_was_read_is_an_error(change):
    graph = nx.path_graph(10)
    found = ListedGraph(graph)
    found.lists()
    if change == "more":
        graph.add_edges_from((i, j) for i in range(10) for j in range(10, 500))
    else:
        graph.clear_edges()
    with pytest.raises(RuntimeError, match="changed"):
        found.lists("out", "weight")
    with pytest.raises(RuntimeError, match="changed"):
        found.lists("out", lambda u, v, data: 1)


@pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")
def test_a_view_is_read_anew_each_time():
    graph = nx.path_graph(10)
    for view in (graph.copy(as_view=True), graph.subgraph(range(8))):
        assert nx.number_connected_components(view, backend="penstock") == 1
        graph.remove_edge(4, 5)
        assert nx.number_connected_components(view, backend="penstock") == 2
        graph.add_edge(4, 5)
        graph.add_edges_from((i, j) for i in range(10) for j in range(10, 500))
        lengths = nx.single_source_dijkstra_path_length(view, 0, backend="penstock")
        assert lengths == nx.single_source_dijkstra_path_length(view, 0)
        graph.remove_nodes_from(range(10, 500))


def test_numbers_that_run_python_code_are_read_in_python():
    graph = nx.path_graph(50)

    class Spiteful:
        def __float__(self):
            graph.clear_edges()
            return 1.0

    graph[0][1]["w"] = Spiteful()
    assert len(ListedGraph(graph).lists("out", "w").weights) == 98

"""What the importer makes of NetworkX graphs."""

from __future__ import annotations

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from exchange_making import facts_of

import penstock as ps
from penstock.errors import IdError, InputError, OptionError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions


def edges_of(graph):
    return sorted(zip(*(column.tolist() for column in graph.to_edges()), strict=True))


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_every_class(kind):
    given = kind([(1, 2), (2, 3), (3, 3)])
    given.add_node(10)
    graph = ps.from_edges(given)
    assert graph.directed is given.is_directed()
    assert graph.ids.tolist() == [1, 2, 3, 10]
    assert facts_of(graph)[2] == {(1, 2): 1, (2, 3): 1, (3, 3): 1}
    assert not graph.weighted


def test_direction_can_be_told():
    assert ps.from_edges(nx.path_graph(3), directed=True).directed
    both = ps.from_edges(nx.DiGraph([(0, 1), (1, 0)]), directed=False)
    assert edges_of(both) == [(0, 1)]


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
@pytest.mark.parametrize("name", [int, str])
def test_an_undirected_graph_as_a_directed_one_has_both_directions(kind, name):
    given = kind([(2, 1, {"weight": 5}), (2, 3, {"weight": 7}), (3, 3), (1, 2, {"weight": 6})])
    given = nx.relabel_nodes(given, name)
    graph = ps.from_edges(given, directed=True, duplicates="keep")
    assert facts_of(graph) == facts_of(ps.from_edges(given.to_directed(), duplicates="keep"))
    source = open_source(given, ReadOptions(directed=True))
    assert sum(map(len, source.chunks(lambda amount: None))) == source.size == graph.num_edges


def test_fewer_vertices_than_nodes():
    for given in (nx.empty_graph(5), nx.empty_graph([1, 4])):
        with pytest.raises(IdError, match=r"names vertex 4, but the vertices are 0 \.\. 1"):
            ps.from_edges(given, num_vertices=2)
    assert ps.from_edges(nx.empty_graph(5), num_vertices=7).num_vertices == 7
    assert ps.from_edges(nx.empty_graph(0), num_vertices=0).num_vertices == 0


def test_views_are_read_like_graphs():
    given = nx.path_graph(5, create_using=nx.DiGraph)
    assert edges_of(ps.from_edges(given.reverse(copy=False))) == [(1, 0), (2, 1), (3, 2), (4, 3)]
    part = ps.from_edges(given.subgraph([0, 1, 3]))
    assert part.ids.tolist() == [0, 1, 3]
    assert edges_of(part) == [(0, 1)]


def test_weight_is_the_habit_and_missing_ones_are_1():
    given = nx.DiGraph([(0, 1), (1, 2, {"weight": 2.5})])
    graph = ps.from_edges(given)
    assert edges_of(graph) == [(0, 1, 1.0), (1, 2, 2.5)]
    assert graph.catalog.columns[0].dtype == np.float64
    assert edges_of(ps.from_edges(given, weights=False)) == [(0, 1), (1, 2)]


def test_whole_numbers_stay_whole():
    given = nx.DiGraph()
    given.add_weighted_edges_from([(0, 1, 2**60 + 1), (1, 2, True), (2, 0, np.int8(-3))])
    graph = ps.from_edges(given)
    assert edges_of(graph) == [(0, 1, 2**60 + 1), (1, 2, 1), (2, 0, -3)]
    assert graph.catalog.columns[0].dtype == np.int64


def test_named_weight_and_attributes():
    given = nx.DiGraph([("a", "b", {"cost": 2, "year": 1999}), ("b", "c", {"year": 2001})])
    table = ps.from_edges(given, weights="cost", attributes=["year"]).to_arrow()
    rows = {tuple(row.values()) for row in table.to_pylist()}
    assert table.column_names == ["src", "dst", "cost", "year"]
    assert rows == {("a", "b", 2, 1999), ("b", "c", 1, 2001)}
    with pytest.raises(InputError, match="edge attribute 'cost': some edges have no value"):
        ps.from_edges(given, attributes=["cost"])
    with pytest.raises(OptionError, match="no edge has an attribute called 'price'"):
        ps.from_edges(given, weights="price")
    with pytest.raises(OptionError, match="there are no weights in it"):
        ps.from_edges(given, weights=True)
    with pytest.raises(OptionError, match="have names, not numbers; got 2"):
        ps.from_edges(given, weights=2)


def test_a_graph_without_edges_may_have_any_weight():
    graph = ps.from_edges(nx.empty_graph(3), weights="cost")
    assert (graph.num_vertices, graph.num_edges, graph.catalog.weight) == (3, 0, "cost")
    assert ps.from_edges(nx.empty_graph(3), weights=True).weighted
    assert not ps.from_edges(nx.empty_graph(3)).weighted


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("heavy", "must hold numbers, got a str"),
        (None, "some edges have no value"),
        (float("nan"), "is nan"),
        (2**70, "does not fit int64"),
    ],
)
def test_unfit_weights(value, message):
    with pytest.raises(InputError, match=message):
        ps.from_edges(nx.DiGraph([(0, 1, {"weight": value})]))


def test_unfit_nodes_say_what_to_do():
    with pytest.raises(IdError, match=r"got \(0, 0\), a tuple; .*convert_node_labels_to_integers"):
        ps.from_edges(nx.grid_2d_graph(2, 2))
    assert ps.from_edges(nx.convert_node_labels_to_integers(nx.grid_2d_graph(2, 2))).num_edges == 4
    for node in (2.5, b"x", True, frozenset()):
        with pytest.raises(IdError, match="must be integers or strings"):
            ps.from_edges(nx.DiGraph([(node, "b")]))
    with pytest.raises(IdError, match="-1 is negative or not below"):
        ps.from_edges(nx.DiGraph([(-1, 2)]))
    with pytest.raises(IdError, match=f"{2**64} is negative or not below"):
        ps.from_edges(nx.DiGraph([(2**64, 2)]))
    with pytest.raises(IdError, match="cannot be read as UTF-8"):
        ps.from_edges(nx.DiGraph([("\ud800", "b")]))


def test_mixed_nodes_can_be_read_as_strings(tmp_path):
    given = nx.DiGraph([(1, "a"), (-2, 1)])
    with pytest.raises(IdError, match=r"some are strings; pass ids='string'.*relabel_nodes"):
        ps.build(given, tmp_path / "g")
    graph = ps.build(given, tmp_path / "g", ids="string")
    assert edges_of(graph) == [("-2", "1"), ("1", "a")]
    assert edges_of(ps.from_edges(given, ids="string")) == edges_of(graph)
    with pytest.raises(IdError, match="3 vertices have only 2 different ids"):
        ps.build(nx.DiGraph([(1, "1"), (1, 2)]), tmp_path / "h", ids="string")
    numbers = ps.build(nx.DiGraph([("7", "08")]), tmp_path / "i", ids="int")
    assert edges_of(numbers) == [(7, 8)]
    with pytest.raises(IdError, match="cannot be read as integers"):
        ps.build(given, tmp_path / "j", ids="int")


def test_columns_cannot_be_chosen(tmp_path):
    with pytest.raises(OptionError, match="source= and target= do not apply"):
        ps.build(nx.path_graph(3), tmp_path / "g", columns=("a", "b"))


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
@pytest.mark.parametrize("names", [False, True])
def test_chunks_are_as_small_as_asked_for(kind, names):
    given = kind(nx.star_graph(20))
    given.add_nodes_from(range(30, 40))
    if names:
        given = nx.relabel_nodes(given, str)
    source = open_source(given, ReadOptions(chunk_rows=3))
    done = []
    lengths = [len(chunk) for chunk in source.chunks(done.append)]
    assert sum(lengths) == sum(done) == source.size == given.number_of_edges()
    assert set(lengths) <= {1, 2, 3}
    assert sum(map(len, source.vertices())) == 31


def test_nothing_is_imported_to_find_out():
    code = (
        "import sys; from penstock.ingest.formats import importers;"
        "[each.accepts(object()) for each in importers().values()];"
        "print(sorted({'networkx', 'igraph', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

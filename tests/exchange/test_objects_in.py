"""igraph's graphs, Arrow's datasets, and one object instead of arrays."""

from __future__ import annotations

import igraph
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
import scipy.sparse
from pyarrow import dataset, parquet

import penstock as ps
from penstock.errors import IdError, InputError, OptionError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions


def edges_of(graph):
    return sorted(zip(*(column.tolist() for column in graph.to_edges()), strict=True))


def test_igraph_without_names_counts_from_0():
    graph = ps.from_edges(igraph.Graph(4, [(2, 1), (2, 0)]))
    assert graph.ids.tolist() == [0, 1, 2, 3]
    assert {frozenset(edge) for edge in edges_of(graph)} == {frozenset({1, 2}), frozenset({0, 2})}
    assert not graph.directed


def test_igraph_names_weights_and_attributes():
    given = igraph.Graph(directed=True)
    given.add_vertices(["zoe", "ann", "bob"])
    given.add_edges([("zoe", "ann"), ("ann", "zoe")], {"weight": [1, 2], "year": [1.5, 2.5]})
    table = ps.from_edges(given, attributes=["year"]).to_arrow().to_pylist()
    assert {tuple(row.values()) for row in table} == {
        ("zoe", "ann", 1, 1.5),
        ("ann", "zoe", 2, 2.5),
    }
    assert not ps.from_edges(given, weights=False).weighted
    assert ps.from_edges(given, weights="year").catalog.weight == "year"
    with pytest.raises(OptionError, match="no edge has an attribute called 'price'"):
        ps.from_edges(given, weights="price")


def test_an_undirected_igraph_as_a_directed_one_has_both_directions():
    given = igraph.Graph(3, [(2, 1), (1, 2), (2, 2), (0, 1)])
    given.es["weight"] = [5, 6, 7, 8]
    graph = ps.from_edges(given, directed=True)
    assert edges_of(graph) == [(0, 1, 8), (1, 0, 8), (1, 2, 6), (2, 1, 6), (2, 2, 7)]
    source = open_source(given, ReadOptions(directed=True, chunk_rows=2))
    assert sum(map(len, source.chunks(lambda amount: None))) == source.size == 7


def test_fewer_vertices_than_there_are():
    for given in (igraph.Graph(5), scipy.sparse.coo_array((5, 5))):
        with pytest.raises(IdError, match=r"names vertex 4, but the vertices are 0 \.\. 1"):
            ps.from_edges(given, num_vertices=2)
        assert ps.from_edges(given, num_vertices=6).num_vertices == 6


def test_igraph_refusals():
    given = igraph.Graph(2, [(0, 1)])
    given.vs["name"] = ["a", None]
    with pytest.raises(IdError, match=r"got None, a NoneType; set graph\.vs\['name'\]"):
        ps.from_edges(given)
    given.vs["name"] = ["a", "a"]
    with pytest.raises(IdError, match="2 vertices have only 1 different ids"):
        ps.from_edges(given)
    given.vs["name"] = [5, 5]
    with pytest.raises(IdError, match="2 vertices have only 1 different ids"):
        ps.from_edges(given)
    del given.vs["name"]
    given.es["weight"] = [None]
    with pytest.raises(InputError, match="igraph: edge attribute 'weight': some edges have no"):
        ps.from_edges(given)


def test_igraph_in_small_chunks():
    given = igraph.Graph(8, [(i, (3 * i + 1) % 8) for i in range(8)], directed=True)
    given.es["weight"] = [i / 4 for i in range(8)]
    whole, parts = (open_source(given, ReadOptions(chunk_rows=rows)) for rows in (100, 3))
    (chunk,) = whole.chunks(lambda amount: None)
    found = list(parts.chunks(lambda amount: None))
    assert [len(part) for part in found] == [3, 3, 2]
    for side in ("src", "dst"):
        joined = np.concatenate([getattr(part, side) for part in found])
        assert joined.tolist() == getattr(chunk, side).tolist()
    weights = np.concatenate([part.columns["weight"] for part in found])
    assert weights.tolist() == [i / 4 for i in range(8)]
    assert all(array.flags.c_contiguous for part in found for array in (part.src, part.dst))


@pytest.fixture
def files(tmp_path):
    """A dataset of several files, and all its edges."""
    rng = np.random.default_rng(5)
    edges = rng.integers(0, 50, (1000, 2))
    weights = rng.integers(0, 9, 1000)
    folder = tmp_path / "files"
    folder.mkdir()
    for part in range(4):
        rows = slice(part * 250, part * 250 + 250)
        table = pa.table({
            "when": np.zeros(250), "a": edges[rows, 0], "b": edges[rows, 1], "w": weights[rows],
        })  # fmt: skip
        parquet.write_table(table, folder / f"{part}.parquet", row_group_size=60)
        pyarrow.csv.write_csv(table, folder / f"{part}.csv")
    return folder, (*edges.T, weights)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_datasets_are_read_in_parts_and_again(files, tmp_path, kind):
    folder, arrays = files
    given = dataset.dataset(sorted(map(str, folder.glob(f"*.{kind}"))), format=kind)
    source = open_source(given, ReadOptions(source="a", target="b", weights="w", chunk_rows=40))
    for _ in range(2):
        found = list(source.chunks(lambda amount: None))
        assert max(map(len, found)) <= 40
        for side, expected in zip(("src", "dst"), arrays, strict=False):
            assert np.array_equal(np.concatenate([getattr(part, side) for part in found]), expected)
    graph = ps.build(given, tmp_path / "g", columns=("a", "b"), weights="w")
    assert edges_of(graph) == edges_of(ps.from_edges(*arrays))


def test_a_dataset_is_never_in_memory_as_a_whole(tmp_path):
    rows, files = 100_000, 6
    numbers = np.random.default_rng(3).integers(0, 1 << 40, rows)
    for part in range(files):
        table = pa.table({"a": numbers + part, "b": numbers - part + files})
        parquet.write_table(table, tmp_path / f"{part}.parquet", row_group_size=10_000)
    source = open_source(dataset.dataset(tmp_path), ReadOptions(chunk_rows=5_000))
    before = most = pa.total_allocated_bytes()
    for chunk in source.chunks(lambda amount: None):
        assert len(chunk) <= 5_000
        most = max(most, pa.total_allocated_bytes())
    assert most - before < 32 * rows  # two files of six, as far as they are read ahead


def test_datasets_with_a_filter_and_two_columns_of_one_name():
    given = dataset.dataset(pa.table({"a": [1, 2, 3], "b": [2, 3, 4]}))
    assert edges_of(ps.from_edges(given.filter(dataset.field("a") > 1))) == [(2, 3), (3, 4)]
    twins = dataset.dataset(pa.table([[1], [2], [3]], ["a", "b", "b"]))
    with pytest.raises(InputError, match="more than one column is called 'b'"):
        ps.from_edges(twins)


def test_pandas_strings_in_several_pieces():
    parts = [pd.DataFrame({"a": [each, "x"], "b": ["y", "z"]}) for each in "pqr"]
    for kind in ("str", "string[pyarrow]"):
        frame = pd.concat([part.astype(kind) for part in parts], ignore_index=True)
        expected = sorted({("p", "y"), ("q", "y"), ("r", "y"), ("x", "z")})
        assert edges_of(ps.from_edges(frame)) == expected
        assert ps.from_edges(frame[:0]).num_vertices == 0


def test_one_object_instead_of_arrays():
    table = pa.table({"src": [0, 1], "dst": [1, 2], "weight": [0.5, 2.0], "year": [1, 2]})
    expected = [(0, 1, 0.5), (1, 2, 2.0)]
    frames = (table, table.to_pandas(), pl.from_arrow(table), dataset.dataset(table))
    for given in frames:
        assert edges_of(ps.from_edges(given, weights=True)) == expected
        assert not ps.from_edges(given).weighted
        kept = ps.from_edges(given, attributes=["year"])
        assert kept.to_arrow().column_names == ["src", "dst", "year"]
    assert isinstance(frames[1], pd.DataFrame)
    matrix = scipy.sparse.coo_array(([0.5, 2.0], ([0, 1], [1, 2])), shape=(5, 5))
    graph = ps.from_edges(matrix)
    assert (edges_of(graph), graph.num_vertices, graph.directed) == (expected, 5, True)
    assert edges_of(ps.from_edges(np.array([[0, 1], [1, 2]]))) == [(0, 1), (1, 2)]


def test_arrays_are_as_before():
    assert ps.from_edges([0, 1], [1, 0]).directed
    assert ps.from_edges([0, 1], [1, 0], directed=False).num_edges == 1
    assert edges_of(ps.from_edges([0], [1], [3])) == [(0, 1, 3)]
    assert ps.from_edges([], []).num_vertices == 0
    with pytest.raises(OptionError, match="weight: goes with arrays src and dst"):
        ps.from_edges(np.array([[0, 1]]), weight=[1])
    with pytest.raises(OptionError, match="cannot read an object of type int"):
        ps.from_edges(5)


def test_ids_and_columns_can_be_told():
    assert edges_of(ps.from_edges([1, -2], ["a", "b"], ids="string")) == [("-2", "b"), ("1", "a")]
    assert edges_of(ps.from_edges(["7"], ["08"], ids="int")) == [(7, 8)]
    table = pa.table({"w": [5], "a": [1], "b": ["x"]})
    graph = ps.from_edges(table, weights="w", ids="string", columns=("b", "a"))
    assert edges_of(graph) == [("x", "1", 5)]
    for columns in ("ab", ("a",)):
        with pytest.raises(OptionError, match="columns: expected two, of source and target"):
            ps.from_edges(table, columns=columns)


def test_attributes_are_several(tmp_path):
    table = pa.table({"a": [1], "b": [2], "year": [5]})
    message = r"attributes: expected several names, got 'year'; pass \['year'\]"
    with pytest.raises(OptionError, match=message):
        ps.from_edges(table, attributes="year")
    with pytest.raises(OptionError, match=message):
        ps.build(table, tmp_path / "g", attributes="year")


def test_weights_that_are_given_and_not_wanted():
    with pytest.raises(OptionError, match="weights: False, though weight= has some"):
        ps.from_edges([1, 2], [3, 4], [1, 2], weights=False)

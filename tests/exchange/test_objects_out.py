"""What graphs and results are turned into, and what is refused."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse

import penstock as ps
from penstock.errors import BudgetError, OptionError

COLUMNS = {"weight": [1.5, 2.5], "year": [1999, 2001]}


@pytest.fixture
def with_columns(tmp_path):
    frame = pl.DataFrame({"a": ["y", "z"], "b": ["x", "y"], **COLUMNS})
    return ps.build(frame, tmp_path / "g", directed=False, weights=True, attributes=["year"])


def test_tables_have_every_column_and_the_smaller_id_first(with_columns):
    expected = [("x", "y", 1.5, 1999), ("y", "z", 2.5, 2001)]
    table = with_columns.to_arrow()
    assert table.column_names == ["src", "dst", "weight", "year"]
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == expected
    assert sorted(with_columns.to_polars().rows()) == expected
    frame = with_columns.to_pandas()
    assert sorted(frame.itertuples(index=False, name=None)) == expected
    assert frame["year"].dtype == np.int64


def test_graph_objects_have_every_attribute(with_columns):
    data = {"weight": 1.5, "year": 1999}
    graph = with_columns.to_networkx()
    assert type(graph) is nx.Graph
    assert graph.edges["x", "y"] == data
    made = with_columns.to_igraph()
    assert made.es[made.get_eid("x", "y")].attributes() == data


def test_ids_from_0_need_no_names():
    assert ps.from_edges([0], [2], num_vertices=4).to_igraph().vertex_attributes() == []
    assert ps.from_edges([1], [2]).to_igraph().vs["name"] == [1, 2]
    assert ps.from_edges(["0"], ["1"]).to_igraph().vs["name"] == ["0", "1"]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("rule", ["keep", "last"])
def test_networkx_class(directed, rule):
    graph = ps.from_edges([0, 0], [1, 1], directed=directed, duplicates=rule)
    made = graph.to_networkx()
    assert (made.is_multigraph(), made.is_directed()) == (rule == "keep", directed)
    assert made.number_of_edges() == (2 if rule == "keep" else 1)


def test_edges_in_networkx_share_their_nodes():
    big = 10**12
    made = ps.from_edges([big, big], [1, 2]).to_networkx()
    (own,) = (node for node in made if node == big)
    assert all(source is own for source, _ in made.edges)


def test_networkx_is_refused_above_a_size():
    graph = ps.from_edges([0, 1, 2], [1, 2, 3])
    with pytest.raises(BudgetError, match=r"3 edges, the limit is 2; .*graph\.nx\(\).*limit=3"):
        graph.to_networkx(limit=2)
    assert graph.to_networkx(limit=3).number_of_edges() == 3


@pytest.mark.parametrize("directions", ["out", "in", "both"])
def test_matrix_of_any_directions(tmp_path, directions):
    graph = ps.build(([9, 7, 9], [7, 7, 8], [1, 2, 3]), tmp_path / "g", directions=directions)
    matrix = graph.to_scipy()
    assert isinstance(matrix, scipy.sparse.csr_array)
    assert matrix.toarray().tolist() == [[2, 0, 0], [0, 0, 0], [1, 3, 0]]
    assert matrix.has_sorted_indices


def test_matrix_of_lists_over_many_pages(tmp_path):
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 3, 60_000), rng.integers(0, 9_000, 60_000)
    weight = rng.integers(1, 100, 60_000)
    graph = ps.build(
        (src, dst, weight), tmp_path / "g", duplicates="sum", num_vertices=9_000, page_size="64KiB"
    )
    expected = scipy.sparse.coo_array((weight, (src, dst)), shape=(9_000, 9_000)).tocsr()
    assert graph.catalog.directions["out"].num_pages > 3
    assert (graph.to_scipy() != expected).nnz == 0


def test_matrix_keeps_parallel_edges_and_zeros():
    graph = ps.from_edges([0, 0, 1], [1, 1, 0], [0.0, 2.0, 3.0], duplicates="keep")
    matrix = graph.to_scipy()
    assert (matrix.nnz, matrix.sum()) == (3, 5.0)


def test_column_called_like_an_end(tmp_path):
    (tmp_path / "in.csv").write_text("a,b,src\n1,2,3\n")
    graph = ps.build(tmp_path / "in.csv", tmp_path / "g", weights="src")
    assert graph.to_arrow().column_names == ["source", "target", "src"]


def test_columns_that_take_every_name_of_an_end(tmp_path):
    taken = ["src", "target", "from", "source of edge 1", "target of edge 2"]
    frame = pl.DataFrame({"a": [1], "b": [2], **{name: [3] for name in taken}})
    graph = ps.from_edges(frame, attributes=taken)
    ends = ["source of edge 3", "target of edge 3"]
    assert graph.to_arrow().column_names == [*ends, *taken]
    path = ps.export(graph, tmp_path / "edges.csv")
    assert pl.read_csv(path).columns == [*ends, *taken]


def test_live_graphs_give_what_they_are_now(tmp_path):
    with ps.DynamicGraph(tmp_path / "live", directed=False) as live:
        live.add_edges(["b"], ["a"])
        assert live.to_polars().rows() == [("a", "b")]
        live.delete_edges(["a"], ["b"])
        live.add_edges(["b"], ["c"])
        assert live.to_arrow().to_pylist() == [{"src": "b", "dst": "c"}]
        assert list(live.to_networkx()) == ["a", "b", "c"]
        assert live.to_scipy().toarray().tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
        file = ps.export(live, tmp_path / "e.txt")
        assert file.read_text() == "b c\n"


def test_results_are_polars_tables_too(tmp_path):
    found = ps.bfs(ps.from_edges(["a", "b"], ["b", "c"]), "a")
    frame = found.to_polars()
    assert frame["id"].to_list() == ["a", "b", "c"]
    assert frame.equals(pl.read_parquet(found.to_parquet(tmp_path / "r.parquet")))


@pytest.mark.parametrize(
    ("package", "method"),
    [
        ("pandas", "to_pandas"), ("polars", "to_polars"), ("scipy", "to_scipy"),
        ("igraph", "to_igraph"), ("networkx", "to_networkx"), ("networkx", "nx"),
    ],
)  # fmt: skip
def test_missing_libraries(monkeypatch, package, method):
    graph = ps.from_edges([0], [1])
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    message = f"{method}: {package} is not installed .*`pip install {package}`"
    with pytest.raises(OptionError, match=message):
        getattr(graph, method)()
    if method in ("to_pandas", "to_polars"):
        with pytest.raises(OptionError, match=message):
            getattr(ps.bfs(graph, 0), method)()
    assert ps.from_edges([0], [1]).num_edges == 1

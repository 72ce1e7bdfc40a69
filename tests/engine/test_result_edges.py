"""Edges of results, and rows for some vertices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.engine.algorithm import Task
from penstock.engine.needs import Needs
from penstock.engine.options import RunOptions
from penstock.engine.plan import SPARE_BYTES
from penstock.engine.result import Result
from penstock.engine.result_edges import edge_table


def some_graph(*, directed: bool, strings: bool) -> ps.Graph:
    """The largest degree, and so the first number inside, belongs to the last id."""
    ids: Any = np.array(["a", "b", "c", "d"], object) if strings else np.array([3, 5, 7, 9])
    return ps.from_edges(ids[[3, 3, 3, 1]], ids[[0, 1, 2, 2]], directed=directed)


@pytest.mark.parametrize("strings", [True, False])
@pytest.mark.parametrize("directed", [True, False])
def test_a_table_of_edges_in_the_order_of_ids(*, directed: bool, strings: bool) -> None:
    graph = some_graph(directed=directed, strings=strings)
    names = graph.ids_by_vid()
    vid = {name: k for k, name in enumerate(names.tolist())}
    a, b, c, d = graph.ids.tolist()
    pairs = [(d, b), (b, c), (d, a)]
    src, dst = (np.array([vid[x] for x in each], np.uint32) for each in zip(*pairs, strict=True))
    found = edge_table(graph, src, dst, {"weight": np.array([1.5, 2.5, 3.5])})
    rows = list(zip(found.src.tolist(), found.dst.tolist(), found.weight.tolist(), strict=True))
    if directed:
        assert rows == [(b, c, 2.5), (d, a, 3.5), (d, b, 1.5)]
    else:
        assert rows == [(a, d, 3.5), (b, c, 2.5), (b, d, 1.5)]
    assert found.edges is found


def test_columns_called_like_the_ends() -> None:
    graph = some_graph(directed=True, strings=False)
    one, two = np.array([0], np.uint32), np.array([1], np.uint32)
    found = edge_table(graph, one, two, {"src": np.array([7.0]), "dst": np.array([8.0])})
    assert (found.src_.tolist(), found.dst_.tolist()) == ([7.0], [8.0])
    assert found.src.tolist() != [7.0]


def test_edges_go_to_files(tmp_path: Path) -> None:
    graph = some_graph(directed=True, strings=True)
    none = np.empty(0, np.uint32)
    empty = edge_table(graph, none, none, {})
    assert len(empty) == 0
    one = edge_table(graph, np.array([0], np.uint32), np.array([1], np.uint32), {})
    table = pq.read_table(one.to_parquet(tmp_path / "e.parquet"))
    assert table.column_names == ["src", "dst"]
    assert table.num_rows == 1


def test_only_some_results_have_edges() -> None:
    plain = Result.table("x", [1, 2], [3, 4])
    assert not plain.has_edges
    with pytest.raises(AttributeError, match="no 'edges'"):
        _ = plain.edges
    with pytest.raises(AttributeError, match="no parents"):
        plain.path(1)
    calls = []

    def make() -> Result:
        calls.append(1)
        return plain

    late = Result.table("x", [1], [2], edges=make)
    assert not calls
    assert late.edges is late.edges is plain
    assert len(calls) == 1


@pytest.mark.parametrize("strings", [True, False])
def test_rows_for_some_vertices(*, strings: bool) -> None:
    graph = some_graph(directed=False, strings=strings)
    names = graph.ids_by_vid()
    task = Task(graph, RunOptions(memory=SPARE_BYTES * 2, threads=1))
    task.requirements = [Needs((), 0.0)]
    with task.open():
        chosen = np.array([0, 2, 1], np.uint32)
        values = np.array([10.0, 30.0, 20.0])
        found = task.partial_result(
            "x", chosen, values, more={"n": 3}, columns={"twice": values * 2}
        )
    expected = dict(zip(names[chosen].tolist(), values.tolist(), strict=True))
    assert found.ids.tolist() == sorted(expected)
    assert found.values.tolist() == [expected[name] for name in sorted(expected)]
    assert (found.twice == found.values * 2).all()
    assert found.stats["n"] == 3

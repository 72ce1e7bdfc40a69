"""A result speaks of the user's ids, in their order, whatever the vertices are called inside."""

from __future__ import annotations

import errno
import math
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.arrays import parts
from penstock.engine import result as result_module
from penstock.engine.result import Result, best
from penstock.errors import (
    AccessError,
    DiskSpaceError,
    IdError,
    InputNotFoundError,
    OptionError,
    TargetExistsError,
)
from penstock.types import NO_VERTEX

#: In order of degree, which is that of the vids, these vertices are 4, 0, 1, 2, 3.
SRC, DST = [4, 4, 4, 4, 0, 0], [0, 1, 2, 3, 1, 2]
NAMES = {
    "range": np.arange(5),
    "int": np.array([7, 20, 50, 60, 90]),
    "uint64": np.array([3, 5, 9, 2**63, 2**64 - 1], np.uint64),
    "string": np.array(["<b>,", "ann", "bob", "cy", "zoë"]),
}
KINDS = list(NAMES)


def make_graph(kind: str, tmp_path: Path | None = None) -> Any:
    src, dst = NAMES[kind][SRC], NAMES[kind][DST]
    if tmp_path is None:
        return ps.from_edges(src, dst)
    return ps.build((src, dst), tmp_path / "g")


@pytest.fixture(params=[(kind, place) for kind in KINDS for place in ("memory", "disk")])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kind, place = request.param
    return make_graph(kind, None if place == "memory" else tmp_path)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than one part, even of these graphs."""
    monkeypatch.setattr(parts, "__defaults__", (3,))
    monkeypatch.setattr(result_module, "PART_ROWS", 3)


def sample(graph: Any) -> Result:
    """Values and columns that say which vertex they belong to."""
    n = graph.num_vertices
    vids = np.arange(n)
    parents = np.roll(vids, 1).astype(np.uint32)
    parents[0] = NO_VERTEX
    return Result.from_vids(
        graph,
        "level",
        vids * 10,
        columns={"half": lambda: vids / 2},
        vid_columns={"parents": parents},
        stats={"seconds": 0.5, "iterations": 3},
        iterations=[{"step": 0}],
    )


def expected(graph: Any) -> dict[str, list[Any]]:
    """The same as lists, put together in the plainest way."""
    names = graph.ids_by_vid().tolist()
    none = -1 if graph.ids.dtype == np.int64 else None
    rows = sorted(
        (names[vid], vid * 10, vid / 2, none if vid == 0 else names[vid - 1])
        for vid in range(len(names))
    )
    columns = [list(column) for column in zip(*rows, strict=True)]
    return dict(zip(("id", "level", "half", "parents"), columns, strict=True))


def test_order_differs(graph: Any) -> None:
    assert graph.vid_of_rank.tolist() == [1, 2, 3, 4, 0]


def test_arrays(graph: Any) -> None:
    result, want = sample(graph), expected(graph)
    assert result.ids.tolist() == want["id"]
    assert result.ids.dtype == graph.ids.dtype
    assert result.values.tolist() == result.level.tolist() == want["level"]
    assert result.half.tolist() == want["half"]
    assert result.parents.tolist() == want["parents"]
    assert result.values is result.values
    assert len(result) == graph.num_vertices
    assert result.name == "level"
    assert result.stats == {"seconds": 0.5, "iterations": 3}
    assert result.iterations == [{"step": 0}]


@pytest.mark.parametrize("whole_before", [False, True])
def test_tables(graph: Any, tmp_path: Path, *, whole_before: bool) -> None:
    """The same table every way, from parts or from arrays that are there already."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    result, want = sample(graph), expected(graph)
    if whole_before:
        assert len(result.values) == len(result.parents) == len(result.ids)
    table = result.to_arrow()
    assert table.to_pydict() == want
    assert table.schema.field("id").type == table.schema.field("parents").type
    target = tmp_path / "r.parquet"
    target.write_bytes(b"old")
    assert result.to_parquet(target) == target
    assert pq.read_table(target).equals(table)
    assert pq.ParquetFile(target).num_row_groups == math.ceil(len(result) / 3)
    result.to_csv(tmp_path / "r.csv")
    read = csv.read_csv(
        tmp_path / "r.csv",
        convert_options=csv.ConvertOptions(
            column_types=table.schema, null_values=[""], strings_can_be_null=True
        ),
    )
    assert read.to_pydict() == want
    frame = result.to_pandas()
    assert list(frame.columns) == list(want)
    assert frame["id"].tolist() == want["id"]
    assert [None if p is None or p != p else p for p in frame["parents"]] == want["parents"]
    assert {path.name for path in tmp_path.iterdir()} - {"g"} == {"r.parquet", "r.csv"}


def test_one_vertex(graph: Any) -> None:
    result, want = sample(graph), expected(graph)
    for vertex, value in zip(want["id"], want["level"], strict=True):
        assert result[vertex] == value
        assert type(result[vertex]) is int
    for absent in ("", "zz", -1, 10**30, 2**63 + 1, 6.5, None, np.float64(3)):
        with pytest.raises(IdError, match="not an id of this result"):
            result[absent]


def test_number_is_not_its_name() -> None:
    assert Result.table("x", [1, 2], [5, 6])[np.int8(2)] == 6
    with pytest.raises(IdError):
        Result.table("x", [1, 2], [5, 6])["2"]
    with pytest.raises(IdError):
        Result.table("x", ["1", "2"], [5, 6])[2]


def test_values_that_are_vertices(graph: Any) -> None:
    """Labels of components are ids too."""
    n = graph.num_vertices
    result = Result.from_vids(graph, "component", np.zeros(n, np.uint32), values_are_vids=True)
    hub = graph.ids_by_vid().tolist()[0]
    assert result.values.tolist() == [hub] * n
    assert result.to_arrow()["component"].to_pylist() == [hub] * n
    assert result.top(1) == [(graph.ids.tolist()[0], hub)]
    assert result[hub] == hub


def test_no_order() -> None:
    graph = ps.from_edges([0, 1], [1, 2], vertex_order="none")
    assert graph.vid_of_rank is None
    values = np.array([1.0, 2.0, 3.0])
    result = Result.from_vids(
        graph, "x", values, vid_columns={"p": np.array([NO_VERTEX, 0, 1], np.uint32)}
    )
    assert result.values is values
    assert result.p.tolist() == [-1, 0, 1]


def test_no_vertices(tmp_path: Path) -> None:
    graph = ps.from_edges([], [])
    none = np.empty(0, np.uint32)
    result = Result.from_vids(graph, "x", none, vid_columns={"p": none})
    assert (len(result), result.top(), result.p.tolist()) == (0, [], [])
    assert result.to_arrow().num_rows == len(result.to_pandas()) == 0
    assert result.to_csv(tmp_path / "x.csv").read_text() == "id,x,p\n"
    result.to_parquet(tmp_path / "x.parquet")
    assert "<table>" in result._repr_html_()


def test_columns_are_made_once_and_late() -> None:
    calls = []

    def slow() -> Any:
        calls.append(1)
        return np.arange(5)

    result = Result.from_vids(make_graph("range"), "x", slow, columns={"y": slow})
    assert calls == []
    assert result.top(1)[0][1] == 4
    assert (result.values.tolist(), result.values.tolist()) == (result.x.tolist(),) * 2
    assert calls == [1]
    assert sorted(result.y.tolist()) == [0, 1, 2, 3, 4]
    result.to_arrow()
    assert calls == [1, 1]


def test_unknown_attribute() -> None:
    result = sample(make_graph("int"))
    with pytest.raises(AttributeError, match=r"no 'parent'; .*ids, values, level, half, parents"):
        result.parent  # noqa: B018
    assert not hasattr(result, "_repr_png_")
    assert "parents" in dir(result)
    assert not hasattr(Result.__new__(Result), "anything")


def test_names_that_cannot_be() -> None:
    for name in ("ids", "values", "top", "stats", "id", "name"):
        with pytest.raises(ValueError, match=f"called '{name}'"):
            Result.table("x", [1], [2], columns={name: np.array([3])})
    graph = make_graph("range")
    with pytest.raises(ValueError, match="same name"):
        Result.from_vids(graph, "x", np.arange(5), columns={"x": np.arange(5)})
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \(5,\)"):
        Result.from_vids(graph, "x", np.arange(3))
    with pytest.raises(ValueError, match="ids are float64"):
        Result.table("x", [1.5], [2])


def test_table_of_something_else(tmp_path: Path) -> None:
    result = Result.table(
        "count", [0, 1, 5], [10, 20, 1], id_name="degree", columns={"share": lambda: np.ones(3)}
    )
    assert result.to_csv(tmp_path / "d.csv").read_text().splitlines()[:2] == [
        "degree,count,share",
        "0,10,1",
    ]
    assert result[5] == 1
    assert repr(result) == "<Result count: 3 rows of degree, count, share>"
    texts = Result.table("label", ["a", "b"], np.array(["x", None], object))
    assert texts.to_arrow().to_pydict() == {"id": ["a", "b"], "label": ["x", None]}
    assert texts.top() == [("a", "x"), ("b", None)]


def test_for_people() -> None:
    result = sample(make_graph("string"))
    assert repr(result) == (
        "<Result level: 5 rows of id, level, half, parents; 3 iterations; 0.5 s>"
    )
    page = result._repr_html_()
    assert "&lt;b&gt;," in page
    assert "<b>" not in page
    assert page.count("<tr>") == 1 + 5
    long = Result.table("x", range(50), range(50))._repr_html_()
    assert long.count("<tr>") == 1 + 10 + 1
    assert "…" in long


# The best


def plainly(values: list[Any], k: int, *, largest: bool) -> list[int]:
    def missing(value: Any) -> bool:
        return value is None or value != value

    there = [i for i, value in enumerate(values) if not missing(value)]
    # Python's sort is stable in both directions.
    there.sort(key=lambda i: values[i], reverse=largest)
    return [*there, *(i for i, value in enumerate(values) if missing(value))][:k]


arrays = st.one_of(
    st.lists(st.integers(-3, 3), max_size=20).map(lambda x: np.array(x, np.int64)),
    st.lists(st.sampled_from([0, 1, 2**64 - 1]), max_size=20).map(lambda x: np.array(x, np.uint64)),
    st.lists(st.booleans(), max_size=20).map(lambda x: np.array(x, bool)),
    st.lists(st.sampled_from([math.nan, -math.inf, -1.0, -0.0, 0.0, math.inf]), max_size=20).map(
        lambda x: np.array(x, np.float32)
    ),
    st.lists(st.sampled_from(["", "a", "b", None]), max_size=20).map(lambda x: np.array(x, object)),
)


@settings(max_examples=300, deadline=None)
@given(values=arrays, k=st.integers(0, 25), largest=st.booleans())
def test_best(values: Any, k: int, *, largest: bool) -> None:
    want = plainly(values.tolist(), k, largest=largest)
    assert best(values, k, largest=largest).tolist() == want
    result = Result.table("x", np.arange(100, 100 + len(values)), values)
    top = result.top(k, largest=largest)
    assert [vertex for vertex, _ in top] == [100 + i for i in want]
    assert [repr(value) for _, value in top] == [repr(values.tolist()[i]) for i in want]


def test_top(graph: Any) -> None:
    result, want = sample(graph), expected(graph)
    rows = sorted(zip(want["id"], want["level"], strict=True), key=lambda row: -row[1])
    assert result.top(2) == rows[:2]
    assert result.top(1000) == result.top() == rows
    assert result.top(1, largest=False) == rows[-1:]
    with pytest.raises(OptionError, match="k: expected 0 or more, got -1"):
        result.top(-1)


def test_top_does_not_hold_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_module, "PART_ROWS", 1 << 14)
    graph = ps.from_edges([0], [1], num_vertices=1 << 21)
    result = Result.from_vids(graph, "x", np.arange(1 << 21, dtype=np.int32))
    tracemalloc.start()
    try:
        assert len(result.top(5)) == 5
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


# Files


def test_places_that_cannot_be(tmp_path: Path) -> None:
    result = Result.table("x", [1], [2])
    for write in (result.to_parquet, result.to_csv):
        with pytest.raises(InputNotFoundError, match="missing: no such directory"):
            write(tmp_path / "missing" / "x")
        with pytest.raises(TargetExistsError, match="is a directory"):
            write(tmp_path)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (errno.ENOSPC, DiskSpaceError, "x: the disk is full"),
        (errno.EROFS, AccessError, "x: no permission"),
        (errno.EIO, OSError, "Input/output error"),
    ],
)
def test_what_stops_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: Any, words: str
) -> None:
    (tmp_path / "x").write_text("old")
    result = Result.table("x", [1], [2])

    def broken(fd: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", broken)
    for write in (result.to_parquet, result.to_csv):
        with pytest.raises(kind, match=words):
            write(tmp_path / "x")
        assert os.listdir(tmp_path) == ["x"]
        assert (tmp_path / "x").read_text() == "old"


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OptionError, match="pandas is not installed"):
        Result.table("x", [1], [2]).to_pandas()

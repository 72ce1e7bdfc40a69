"""Exported files hold the same edges, and are there whole or not at all."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import penstock as ps
from penstock.errors import DiskSpaceError, OptionError, TargetExistsError
from penstock.interfaces import export as exporting
from penstock.interfaces.export import export

FILES = ("e.txt", "e.csv", "e.tsv", "e.txt.gz", "e.csv.zst", "e.parquet")


def edges_of(graph):
    return sorted(zip(*(column.tolist() for column in graph.to_edges()), strict=True))


@pytest.mark.parametrize("name", FILES)
def test_numbers_with_columns_come_back(cli, graph, tmp_path, name):
    file = tmp_path / name
    data = cli("export", graph, file, "--json").data
    assert data["num_edges"] == 4
    assert data["bytes"] == file.stat().st_size
    named = name.startswith("e.txt")
    again = ps.build(
        str(file),
        tmp_path / "again",
        weights=2 if named else "cost",
        attributes=[3 if named else "year"],
    )
    assert edges_of(again) == edges_of(ps.open(graph))
    years = [columns["column3" if named else "year"] for _, _, columns in again.iter_edges()]
    assert sorted(np.concatenate(years).tolist()) == [2000, 2001, 2002, 2003]


@pytest.mark.parametrize("name", FILES)
def test_strings_come_back(tmp_path, name):
    (tmp_path / "in.txt").write_text("zoe ann 1\nann bob 2\nbob zoe 3\nbob carl 4\n")
    graph = ps.build(str(tmp_path / "in.txt"), tmp_path / "g", weights=True)
    file = export(graph, tmp_path / name)
    again = ps.build(str(file), tmp_path / "again", weights=True)
    assert edges_of(again) == edges_of(graph)
    assert list(again.ids) == ["ann", "bob", "carl", "zoe"]


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_awkward_strings_come_back(tmp_path, name):
    (tmp_path / "in.tsv").write_text("a b\t#c,d\n;\té\n")
    graph = ps.build(str(tmp_path / "in.tsv"), tmp_path / "g", ids="string", header=False)
    file = export(graph, tmp_path / name)
    again = ps.build(str(file), tmp_path / "again", ids="string")
    assert edges_of(again) == edges_of(graph) == [(";", "é"), ("a b", "#c,d")]


def test_awkward_strings_are_refused_in_plain_text(tmp_path):
    (tmp_path / "in.tsv").write_text("a b\tc\n")
    graph = ps.build(str(tmp_path / "in.tsv"), tmp_path / "g", header=False)
    with pytest.raises(OptionError, match="'a b'"):
        export(graph, tmp_path / "e.txt")
    assert not (tmp_path / "e.txt").exists()


def test_undirected_edges_are_written_once(tmp_path):
    graph = ps.build(([1, 2, 3], [2, 3, 3]), tmp_path / "g", directed=False)
    lines = export(graph, tmp_path / "e.txt").read_text().splitlines()
    found = sorted(tuple(sorted(map(int, line.split()))) for line in lines)
    assert found == [(1, 2), (2, 3), (3, 3)]


def test_in_lists_alone_are_enough(tmp_path):
    graph = ps.build(([1, 2], [2, 3]), tmp_path / "g", directions="in")
    assert sorted(export(graph, tmp_path / "e.txt").read_text().split("\n")) == ["", "1 2", "2 3"]


def test_empty_graph(tmp_path):
    graph = ps.build((np.empty(0, int), np.empty(0, int)), tmp_path / "g")
    assert export(graph, tmp_path / "e.txt").read_text() == ""
    assert export(graph, tmp_path / "e.csv").read_text() == "source,target\n"
    assert pyarrow.parquet.read_table(export(graph, tmp_path / "e.parquet")).num_rows == 0


def test_numbers_are_exact(tmp_path):
    ids = np.array([0, 2**63 + 1, 2**64 - 1], np.uint64)
    weights = np.array([0.1, 1e-300, np.pi])
    graph = ps.build((ids, ids[::-1].copy(), weights), tmp_path / "g")
    table = pyarrow.csv.read_csv(
        export(graph, tmp_path / "e.csv"),
        convert_options=pyarrow.csv.ConvertOptions(column_types={"source": "uint64"}),
    )
    assert set(table["source"].to_pylist()) == set(ids.tolist())
    assert set(table["weight"].to_pylist()) == set(weights.tolist())


def test_parts_make_no_difference(tmp_path, monkeypatch):
    graph = ps.generate("rmat", tmp_path / "g", scale=12)
    whole = export(graph, tmp_path / "whole.txt").read_bytes()
    monkeypatch.setattr(exporting, "_GROUP_ROWS", 1000)
    assert export(graph, tmp_path / "parts.txt", threads=3).read_bytes() == whole
    parquet = pyarrow.parquet.ParquetFile(export(graph, tmp_path / "parts.parquet"))
    assert parquet.num_row_groups > 1
    assert parquet.metadata.num_rows == graph.num_edges


def test_column_called_like_an_end(tmp_path):
    (tmp_path / "in.csv").write_text("a,b,source\n1,2,3\n")
    graph = ps.build(str(tmp_path / "in.csv"), tmp_path / "g", weights="source")
    assert export(graph, tmp_path / "e.csv").read_text().startswith("src,dst,source\n")


def test_gzip_has_no_time_in_it(graph, tmp_path):
    opened = ps.open(graph)
    first = export(opened, tmp_path / "one.csv.gz").read_bytes()
    assert export(opened, tmp_path / "two.csv.gz").read_bytes() == first
    assert gzip.decompress(first).startswith(b"source,target,cost,year\n")


def test_nothing_is_overwritten_unless_asked(cli, graph, tmp_path):
    file = tmp_path / "e.csv"
    file.write_text("mine")
    shown = cli("export", graph, file)
    assert shown.code == 1
    assert "already exists" in shown.error
    assert file.read_text() == "mine"
    assert cli("export", graph, file, "--overwrite").code == 0
    assert file.read_text() != "mine"


def test_a_directory_is_never_replaced(graph, tmp_path):
    (tmp_path / "e.csv").mkdir()
    with pytest.raises(TargetExistsError):
        export(ps.open(graph), tmp_path / "e.csv", overwrite=True)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_failure_leaves_nothing(graph, tmp_path, monkeypatch, failure):
    before = sorted(os.listdir(tmp_path))

    def fail(*args: object) -> None:
        raise failure

    monkeypatch.setattr(exporting, "_together", fail)
    monkeypatch.setattr(exporting, "_groups", fail)
    with pytest.raises(KeyboardInterrupt if failure is KeyboardInterrupt else DiskSpaceError):
        export(ps.open(graph), tmp_path / "e.csv")
    assert sorted(os.listdir(tmp_path)) == before


def test_names_that_say_nothing(cli, graph, tmp_path):
    assert cli("export", graph, tmp_path / "e.foo").code == 2
    assert cli("export", graph, tmp_path / "e").code == 2
    assert cli("export", graph, tmp_path / "e.parquet.gz").code == 2
    assert cli("export", graph, tmp_path / "e.foo", "--format", "csv").code == 0
    assert (tmp_path / "e.foo").read_text().startswith("source,")

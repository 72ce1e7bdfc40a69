"""Bad lines and rows that are skipped are counted, shown, and limited."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from format_reading import read, rows, write
from pyarrow import parquet

import penstock as ps
from penstock.errors import InputError, OptionError, ParseError
from penstock.ingest.formats import open_source
from penstock.ingest.formats._skipping import most_skipped
from penstock.protocols import ReadOptions


def lines(good: int, bad: int) -> str:
    return "1,2\n" * good + "1,?\n" * bad


@pytest.mark.parametrize(
    ("good", "bad", "limit", "fails"),
    [
        (1, 11, None, True),
        (6, 6, None, False),
        (5, 6, None, True),
        (90, 10, None, False),
        (100, 11, None, True),
        (990, 10, None, False),
        (2000, 20, None, False),
        (2000, 21, None, True),
        (1, 11, 11, False),
        (1, 11, "11", False),
        (1, 11, 10, True),
        (50, 50, "50%", False),
        (49, 51, "50%", True),
        (1, 11, "100%", False),
        (100, 1, 0, True),
        (100, 1, "0.5%", True),
    ],
)
def test_limits(tmp_path, good, bad, limit, fails):
    path = write(tmp_path / "a.csv", lines(good, bad))
    source = open_source(path, ReadOptions(on_bad_line="skip", max_bad_lines=limit))
    if fails:
        words = rf"a\.csv: {bad} of {good + bad:,} lines cannot be read, and at most .*a\.csv:"
        with pytest.raises(InputError, match=words + r"\d+: found.*--max-bad-lines"):
            rows(source)
    else:
        assert len(rows(source)) == good
    assert source.bad_lines.count == bad


@pytest.mark.parametrize("limit", ["many", -1, "-1%", "101%", "1.5", True, "%"])
def test_bad_limits(tmp_path, limit):
    with pytest.raises(OptionError, match="max_bad_lines: expected a number"):
        read(write(tmp_path / "a.csv", "1,2\n"), max_bad_lines=limit)
    assert most_skipped("1e1%", 1000) == 100


def test_skipping_is_not_offered_where_it_would_leave_nothing(tmp_path):
    text = "src,dst,date,label\n" + "1,2,3,red\n" * 11 + "1,2,3,4\n"
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(ParseError, match="11 of the first 12 lines are like that") as caught:
        read(path, weights="label")
    assert "--on-bad-line" not in str(caught.value)
    path = write(tmp_path / "b.csv", text.replace("red", "4", 10))
    with pytest.raises(ParseError, match="--on-bad-line skip"):
        read(path, weights="label")
    # Lines after the bad one count.
    path = write(tmp_path / "c.csv", "1,2,?\n1,2,3\n1,2,4\n")
    with pytest.raises(ParseError, match="--on-bad-line skip"):
        read(path, weights=2)


def test_comments_are_counted(tmp_path):
    path = write(tmp_path / "a.csv", "# x\nsrc,dst\n#1,2\n3,4\n\n % y\n5,6\n")
    for _ in range(2):
        source = open_source(path, ReadOptions(block_bytes=16))
        assert rows(source) == [(3, 4), (5, 6)]
        assert source.bad_lines.comments == 3


TABLE = pa.table(
    {
        "a": [1, None, 3, -4, 5, 6, 7, 8],
        "b": [1, 2, None, 4, 5, 6, 7, 8],
        "w": [1.0, 2.0, 3.0, 4.0, None, math.nan, 7.0, 8.0],
    }
)


@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
def test_rows_of_tables_are_skipped(tmp_path, chunk_rows):
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    options = {"on_bad_line": "skip", "max_bad_lines": "100%", "chunk_rows": chunk_rows}
    for data, name in ((TABLE, "table"), (tmp_path / "a.parquet", "a.parquet")):
        source = open_source(data, ReadOptions(weights="w", **options))
        for _ in range(2):
            assert rows(source) == [(1, 1, 1.0), (7, 7, 7.0), (8, 8, 8.0)]
            assert source.bad_lines.count == 5
            assert len(source.bad_lines.examples) == 5
            assert all(name in example for example in source.bad_lines.examples)
            assert "column 'a': there is no value in row 1 " in source.bad_lines.examples[0]
        with pytest.raises(InputError, match="5 of 8 lines cannot be read"):
            read(data, weights="w", on_bad_line="skip")


def test_values_of_tables_that_do_not_fit_are_skipped():
    texts = pa.array([b"1", b"x", b"\xff", b"18446744073709551616", b"5"] * 20)
    table = pa.table({"a": texts, "b": texts})
    options = {"on_bad_line": "skip", "max_bad_lines": 60}
    assert read(table, ids="int", **options) == [(1, 1), (5, 5)] * 20
    names = read(table, on_bad_line="skip", max_bad_lines=20)
    assert names == [(n, n) for n in ("1", "x", "18446744073709551616", "5")] * 20


def test_from_edges_takes_tables_with_nulls():
    table = pa.table({"a": [1, None, 3], "b": [2, 3, 1]})
    with pytest.raises(InputError, match="no value in row 1"):
        ps.from_edges(table)
    graph = ps.from_edges(table, on_bad_line="skip")
    assert graph.num_edges == 2
    assert graph.catalog.rules["bad_lines_skipped"] == 1


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather", "csv"])
def test_files_without_rows_are_refused(tmp_path, suffix):
    table = pa.table({"source": pa.array([], pa.int64()), "target": pa.array([], pa.int64())})
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        parquet.write_table(table, path)
    elif suffix == "csv":
        path.write_text("source,target\n")
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    with pytest.raises(InputError, match=rf"a\.{suffix}: has no edges.*--num-vertices 0"):
        ps.build(path, tmp_path / "g")
    assert not (tmp_path / "g").exists()
    assert ps.build(path, tmp_path / "g", num_vertices=3).num_vertices == 3
    assert ps.build(table, tmp_path / "h").num_vertices == ps.from_edges([], []).num_vertices == 0

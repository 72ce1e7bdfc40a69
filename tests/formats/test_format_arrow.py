from __future__ import annotations

import contextlib
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from format_reading import read, rows, write
from pyarrow import parquet

from penstock.errors import IdError, InputError, OptionError, PenstockError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
INTEGERS += [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
STRINGS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()]


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_integer_ids(kind):
    table = pa.table({"a": pa.array([0, 7, 127], kind), "b": pa.array([1, 2, 3], kind)})
    assert read(table) == [(0, 1), (7, 2), (127, 3)]
    assert read(table.slice(1)) == [(7, 2), (127, 3)]
    assert read(table, ids="string") == [("0", "1"), ("7", "2"), ("127", "3")]


@pytest.mark.parametrize("kind", STRINGS, ids=str)
def test_string_ids(kind):
    table = pa.table({"a": pa.array(["x", "", "é"], kind), "b": pa.array(["y", "z", "日本"], kind)})
    expected = [("x", "y"), ("", "z"), ("é", "日本")]
    assert read(table) == expected
    assert read(table.slice(1), chunk_rows=1) == expected[1:]
    assert read(pa.concat_tables([table, table])) == expected * 2


def test_other_strings():
    expected = [("ab", "cd"), ("cd", "ab")]
    columns = [pa.array(["ab", "cd"]), pa.array(["cd", "ab"])]
    assert read(pa.table([c.dictionary_encode() for c in columns], ["a", "b"])) == expected
    assert read(pa.table([c.cast(pa.binary(2)) for c in columns], ["a", "b"])) == expected
    frame = pd.DataFrame({"a": ["ab", "cd"], "b": ["cd", "ab"]})
    assert read(frame) == read(frame.astype("category")) == read(frame.astype(object)) == expected
    assert read(pl.DataFrame({"a": ["ab", "cd"], "b": ["cd", "ab"]})) == expected
    integers = pa.table({"a": pa.array([5, 6]).dictionary_encode(), "b": [7, 8]})
    assert read(integers) == [(5, 7), (6, 8)]


def test_mixed_ids():
    table = pa.table({"a": [1, 2], "b": ["3", "4"]})
    with pytest.raises(
        IdError, match=r"'a' and column 'b' hold integers and strings.*--ids string"
    ):
        read(table)
    assert read(table, ids="string") == [("1", "3"), ("2", "4")]
    assert read(table, ids="int") == [(1, 3), (2, 4)]
    with pytest.raises(IdError, match="column 'b': cannot be read as integers"):
        read(pa.table({"a": [1], "b": ["x"]}), ids="int")


def test_columns_by_name_and_number():
    table = pa.table({"w": [1.5], "to": [2], "from": [1], "weight": [9]})
    assert read(table, source="from", target="to", weights="w") == [(1, 2, 1.5)]
    assert read(table, source=2, target=1, weights=True) == [(1, 2, 9)]
    renamed = table.rename_columns(["t", "to", "from", "x"])
    with pytest.raises(OptionError, match="asked for twice"):
        read(renamed, source=2, target=1, weights=True)
    with pytest.raises(OptionError, match="no column called 'src', only 'w', 'to'"):
        read(table, source="src")
    with pytest.raises(OptionError, match=r"no column number 2 .*, only 2 columns"):
        read(table.select([1, 2]), weights=True)
    with pytest.raises(OptionError, match="only 1 columns"):
        read(table.select([1]))
    twice = pa.table([[1], [2], [3], [4]], ["a", "b", "c", "c"])
    with pytest.raises(InputError, match="2 columns are called 'c'"):
        read(twice, weights="c")
    assert read(twice, weights=3) == [(1, 2, 4)]


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pa.array([1, 2], pa.int8()), "int8"),
        (pa.array([1, 2], pa.uint64()), "uint64"),
        (pa.array([1.5, 2.5], pa.float32()), "float32"),
        (pa.array([1.5, 2.5]), "float64"),
        (pa.array(np.array([1.5, 2.5], np.float16)), "float32"),
        (pa.array([True, False]), "uint8"),
        (pa.array([Decimal("1.5"), Decimal("2.5")]), "float64"),
        (pa.array([1.5, 2.5]).dictionary_encode(), "float64"),
    ],
    ids=str,
)
def test_edge_columns_keep_their_type(column, dtype):
    table = pa.table({"a": [1, 2], "b": [3, 4], "x": column})
    for data in (table, table.to_pandas()):
        for options in ({"weights": "x"}, {"attributes": ("x",)}):
            source = open_source(data, ReadOptions(**options))
            if data is table:
                assert source.columns == {"x": np.dtype(dtype)}
            assert [row[2] for row in rows(source)] == [float(v) for v in column.to_pylist()]


@pytest.mark.parametrize("column", [["x"], [b"x"], [[1]], [None], [pd.Timestamp(0)]], ids=str)
def test_columns_that_are_no_numbers(column):
    with pytest.raises(InputError, match="column 'x': edge columns must hold numbers, got"):
        read(pa.table({"a": [1], "b": [2], "x": column}), attributes=("x",))


def test_missing_values():
    table = pa.table({"a": [1, 2], "b": [3, 4], "x": [1.0, None], "i": [None, 1]})
    assert math.isnan(read(table, attributes=("x",))[1][2])
    with pytest.raises(InputError, match=r"column 'x': there is no value in row 1 \("):
        read(table, weights="x")
    with pytest.raises(InputError, match=r"column 'i': there is no value in row 0 \("):
        read(table, attributes=("i",))
    nan = pa.table({"a": [1, 2], "b": [3, 4], "x": [1.0, math.nan]})
    with pytest.raises(InputError, match=r"column 'x': the weight in row 1 \(.*is nan"):
        read(nan, weights="x", chunk_rows=1)
    for a in ([1, None], ["x", None]):
        with pytest.raises(InputError, match=r"column 'a': there is no value in row 1 \("):
            read(pa.table({"a": a, "b": a[:1] * 2}), chunk_rows=1)
    with pytest.raises(InputError, match="column 'a' has no values"):
        read(pa.table({"a": [None], "b": [1]}))


def test_bad_ids():
    with pytest.raises(IdError, match=r"column 'a': -5 in row 1 \(.*negative.*--ids string"):
        read(pa.table({"a": [1, -5], "b": [1, 2]}), chunk_rows=1)
    for column in ([1.0], [True], [pd.Timestamp(0)], [Decimal(1)], [[1]]):
        with pytest.raises(IdError, match="column 'a': vertex ids must be integers or strings"):
            read(pa.table({"a": column, "b": [1]}))
    with pytest.raises(InputError, match="UTF-8"):
        read(pa.table({"a": [b"\xff"], "b": [b"x"]}))


def test_one_shot_readers():
    table = pa.table({"a": [1, 2], "b": [3, 4]})

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    for data in (table.to_reader(max_chunksize=1), Stream()):
        source = open_source(data, ReadOptions())
        assert (source.cheap_to_repeat, source.size) == (False, None)
        assert rows(source) == [(1, 3), (2, 4)]
        with pytest.raises(InputError, match="read only once"):
            rows(source)


def test_a_reader_that_fails():
    def batches():
        yield pa.record_batch({"a": [1], "b": [2]})
        raise OSError("no more")

    schema = pa.schema({"a": pa.int64(), "b": pa.int64()})
    with pytest.raises(InputError, match="no more"):
        read(pa.RecordBatchReader.from_batches(schema, batches()))


def test_pandas_names_and_kinds():
    frame = pd.DataFrame([[1, 2, 5], [3, 4, 6]])
    assert read(frame) == [(1, 2), (3, 4)]
    assert read(frame, weights="2") == [(1, 2, 5), (3, 4, 6)]
    frame = pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [1, 2]})
    with pytest.raises(InputError, match="DataFrame: column 'a': there is no value in row 1"):
        read(frame)
    with pytest.raises(PenstockError, match=r"column 'a'.*several types"):
        read(pd.DataFrame({"a": [1, "x"], "b": [1, 2]}))
    late = pd.DataFrame({"a": [1] * 2000 + ["x"], "b": range(2001)}, dtype=object)
    with pytest.raises(InputError, match="DataFrame"):
        read(late)


def objects(*runs):
    return pd.Series([value for value, count in runs for _ in range(count)], dtype=object)


@pytest.mark.parametrize("count", [1000, (1 << 17) + 5])
@pytest.mark.parametrize(
    ("first", "last", "dtype"),
    [
        (1, 2.5, np.float64), (2.5, 1, np.float64), (1, 2**63 + 1, np.uint64),
        (2**64 - 1, 1, np.uint64), (Decimal("1.5"), Decimal("10.25"), np.float64),
        (True, False, np.uint8),
    ],
)  # fmt: skip
def test_pandas_objects_are_of_one_type_to_the_end(first, last, dtype, count):
    frame = pd.DataFrame({"w": objects((first, count), (last, 1)), "a": 1, "b": 2})
    source = open_source(frame, ReadOptions(source=1, target=2, weights="w", chunk_rows=500))
    chunks = [chunk.columns["w"] for chunk in source.chunks(lambda amount: None)]
    found = np.concatenate(chunks)
    assert {chunk.dtype for chunk in chunks} == {np.dtype(dtype)}
    assert (found[:-1] == dtype(first)).all()
    assert found[-1] == dtype(last)


def test_pandas_objects_as_large_ids():
    frame = pd.DataFrame({"a": objects((1, 1), (2**63 + 1, 1)), "b": [1, 2]})
    assert read(frame) == [(1, 1), (2**63 + 1, 2)]
    for unfit in (objects((-1, 1), (2**63, 1)), objects((1, 1), (2**64, 1))):
        with pytest.raises(InputError, match=r"column 'a' has no .*2\*\*63; convert it first"):
            read(frame.assign(a=unfit))
        with pytest.raises(InputError, match="column 'a': edge columns must hold numbers"):
            read(frame.assign(a=unfit, c=3), source="b", target="c", weights="a")


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["ab", "cd"])], ids=str)
def test_polars_categories(kind):
    frame = pl.DataFrame({"a": ["ab", "cd"], "b": ["cd", "ab"]}, schema={"a": kind, "b": kind})
    assert read(frame) == read(frame.lazy()) == [("ab", "cd"), ("cd", "ab")]


def test_objects_that_are_no_tables():
    for data in (pa.array([1, 2]), pa.chunked_array([[1, 2]])):
        with pytest.raises(PenstockError):
            read(data)


def test_parquet_files(tmp_path):
    first = pa.table({"a": range(100), "junk": ["x"] * 100, "b": range(100, 200)})
    parquet.write_table(first, tmp_path / "1.parquet", row_group_size=30)
    parquet.write_table(first.select(["b", "a"]), tmp_path / "2.PQ")
    found = read(tmp_path / "*", source="a", target="b", chunk_rows=7)
    assert found == [(i, i + 100) for i in range(100)] * 2
    source = open_source(tmp_path / "*", ReadOptions(source="a", target="b"))
    assert source.size == 200


def test_files_that_differ(tmp_path):
    parquet.write_table(pa.table({"a": [1], "b": [2], "w": [1.5]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"a": [1], "b": [2], "w": [1]}), tmp_path / "2.parquet")
    assert read(tmp_path) == [(1, 2)] * 2
    with pytest.raises(InputError, match=r"2\.parquet: expected the edge columns .*float64"):
        read(tmp_path, weights="w")
    parquet.write_table(pa.table({"a": ["1"], "b": ["2"]}), tmp_path / "2.parquet")
    with pytest.raises(IdError, match=r"2\.parquet: ids are of another kind"):
        read(tmp_path)
    assert read(tmp_path, ids="string") == [("1", "2")] * 2


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_damaged_files(tmp_path, name):
    table = pa.table({"a": range(1000), "b": [str(i) for i in range(1000)]})
    path = tmp_path / name
    if name == "a.parquet":
        parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    whole = path.read_bytes()
    for data in (b"", whole[:9], whole[: len(whole) // 2], whole[:-3]):
        with pytest.raises(InputError, match=rf"{name}: cannot be read as a table"):
            read(write(path, data), ids="string")
    rng = np.random.default_rng(0)
    for _ in range(60):
        data = bytearray(whole)
        for at in rng.integers(0, len(whole), 4).tolist():
            data[at] = int(rng.integers(256))
        with contextlib.suppress(PenstockError):
            read(write(path, bytes(data)), ids="string")


def test_compressed_tables_are_refused(tmp_path):
    with pytest.raises(InputError, match="decompress the file first"):
        read(write(tmp_path / "a.parquet.gz", b"x"))

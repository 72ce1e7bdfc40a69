from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from format_reading import read, rows, write

from penstock.errors import InputError, OptionError
from penstock.ingest.formats import open_source
from penstock.protocols import ReadOptions


def serialized(lists, *, directed=False, inverse=None, counts=None):
    entries, vertices = counts or (sum(map(len, lists)), len(lists))
    data = struct.pack("<Bqq", directed, entries, vertices)
    for side in [lists] + [inverse] * (inverse is not None):
        data += np.cumsum([0, *map(len, side)]).astype("<i8").tobytes()
        data += np.array([v for part in side for v in part], "<i4").tobytes()
    return data


def test_undirected_edges_come_once(tmp_path):
    path = write(tmp_path / "a.sg", serialized([[1, 2], [0], [0], []]))
    source = open_source(path, ReadOptions())
    assert rows(source) == [(0, 1), (0, 2)]
    assert (source.directed, source.declared, source.columns) == (False, range(4), {})


def test_loops_come_as_often_as_they_are_listed(tmp_path):
    assert read(write(tmp_path / "a.sg", serialized([[0, 1], [0]]))) == [(0, 0), (0, 1)]
    assert read(write(tmp_path / "b.sg", serialized([[0, 0]]))) == [(0, 0), (0, 0)]


@pytest.mark.parametrize("inverse", [None, [[], [0], [0, 1]]])
def test_directed(tmp_path, inverse):
    path = write(tmp_path / "a.sg", serialized([[1, 2], [2], []], directed=True, inverse=inverse))
    source = open_source(path, ReadOptions())
    assert (rows(source), source.directed) == ([(0, 1), (0, 2), (1, 2)], True)


def test_empty(tmp_path):
    source = open_source(write(tmp_path / "a.sg", serialized([])), ReadOptions())
    assert (rows(source), source.declared) == ([], range(0))


def test_lists_longer_than_a_chunk_and_more_vertices_than_held_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.ingest.formats.gapbs._OFFSETS", 5)
    rng = np.random.default_rng(3)
    lists = [sorted(rng.choice(50, rng.integers(0, 30), replace=False)) for _ in range(50)]
    path = write(tmp_path / "a.sg", serialized(lists, directed=True))
    expected = [(u, int(v)) for u, part in enumerate(lists) for v in part]
    for chunk_rows in (1, 7, 1000):
        assert read(path, chunk_rows=chunk_rows) == expected
    assert read(write(tmp_path / "b.sg.gz", gzip.compress(serialized(lists, directed=True)))) == (
        expected
    )


def bad_offsets(offsets, targets=()):
    data = struct.pack("<Bqq", 1, len(targets), len(offsets) - 1)
    return data + np.array(offsets, "<i8").tobytes() + np.array(targets, "<i4").tobytes()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "ends too early"),
        (b"\1\2\3", "ends too early"),
        (serialized([[1], [0]])[:-1], "announces 49 bytes, but there are 48"),
        (serialized([[1], [0]]) + b"x", "there are 50"),
        (b"\2" + serialized([[1], [0]])[1:], "no serialized GAP graph: found the direction 2"),
        (serialized([], counts=(-1, 0)), "no serialized GAP graph"),
        (serialized([], counts=(0, -1)), "no serialized GAP graph"),
        (serialized([[2], [0]]), "vertex 0 has the neighbour 2, expected 0 to 1"),
        (serialized([[-1], [0]]), "vertex 0 has the neighbour -1"),
        (serialized([[1], []]), "listed at one of their ends only"),
        (serialized([[1], [], [0]]), "listed at one of their ends only"),
        (bad_offsets([1, 1], [0]), "first offset must be 0"),
        (bad_offsets([0, 2, 1], [0]), "out of order"),
        (bad_offsets([0, 0], [0]), "the last offset is 0, expected 1"),
    ],
)
def test_bad_files(tmp_path, data, words):
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "a.sg", data))


def test_cut_short_within_compression(tmp_path):
    path = write(tmp_path / "a.sg.gz", gzip.compress(serialized([[1], [0]])[:-1]))
    with pytest.raises(InputError, match="ends too early"):
        read(path)


def test_options(tmp_path):
    path = write(tmp_path / "a.sg", serialized([[1], [0]]))
    with pytest.raises(OptionError, match="no weights"):
        read(path, weights=True)
    with pytest.raises(OptionError, match="ids='string'"):
        read(path, ids="string")
    with pytest.raises(OptionError, match="both edge lists and serialized"):
        read([path, write(tmp_path / "b.el", "0 1\n")])
    assert read(write(tmp_path / "c.wel", "0 1 2\n")) == [(0, 1, 2.0)]
    assert read(write(tmp_path / "c.wel", "0 1 2\n"), weights=False) == [(0, 1)]
    assert read(write(tmp_path / "c.el", "0 1 2\n")) == [(0, 1)]

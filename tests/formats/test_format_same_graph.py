"""One small graph, in every format: the same edges come out of all of them."""

from __future__ import annotations

import gzip
import io
import struct

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from format_reading import rows, write
from pyarrow import feather, parquet

from penstock.ingest.formats import importers, open_source
from penstock.protocols import ReadOptions

#: Vertex 6 has no edges; weights are integers so that every format can hold them.
NUM_VERTICES = 7
EDGES = [(0, 1, 5), (0, 2, 1), (1, 2, 7), (2, 3, 2), (3, 4, 2), (3, 5, 9), (4, 5, 1)]
SRC, DST, WEIGHT = (np.array(column) for column in zip(*EDGES, strict=True))


def lines(separator: str = " ", *, begin: str = "", add: int = 0) -> str:
    return "".join(
        begin + separator.join(map(str, (u + add, v + add, w))) + "\n" for u, v, w in EDGES
    )


def both_ways() -> list[list[tuple[int, int]]]:
    lists: list[list[tuple[int, int]]] = [[] for _ in range(NUM_VERTICES)]
    for u, v, w in EDGES:
        lists[u].append((v, w))
        lists[v].append((u, w))
    return [sorted(neighbours) for neighbours in lists]


def metis() -> str:
    body = "\n".join(" ".join(f"{v + 1} {w}" for v, w in entries) for entries in both_ways())
    return f"% a comment\n{NUM_VERTICES} {len(EDGES)} 001\n{body}\n"


def serialized(*, directed: bool) -> bytes:
    lists = both_ways()
    incoming: list[list[tuple[int, int]]] = [[] for _ in range(NUM_VERTICES)]
    if directed:
        lists = [[(v, w) for u, v, w in EDGES if u == vertex] for vertex in range(NUM_VERTICES)]
        incoming = [[(u, w) for u, v, w in EDGES if v == vertex] for vertex in range(NUM_VERTICES)]
    data = struct.pack("<?qq", directed, sum(map(len, lists)), NUM_VERTICES)
    for side in [lists, incoming][: 1 + directed]:
        offsets = np.cumsum([0, *map(len, side)]).astype("<i8")
        data += offsets.tobytes() + np.array([e for part in side for e in part], "<i4").tobytes()
    return data


def stored(kind: str) -> bytes:
    table = pa.table({"src": SRC, "dst": DST, "weight": WEIGHT})
    sink = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, sink, row_group_size=3)
    elif kind == "feather":
        feather.write_feather(table, sink, compression="zstd", chunksize=3)
    elif kind == "file":
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    return sink.getvalue()


MATRIX = "%%MatrixMarket matrix coordinate integer {}\n% c\n7 7 7\n"
FILES = {
    "a.txt": (lines(), 0),
    "a.csv": ("source,target,weight\n" + lines(","), 0),
    "a.tsv": (lines("\t"), 0),
    "a.txt.gz": (gzip.compress(lines().encode()), 0),
    "a.wel": (lines(), 0),
    "a.el": (lines(), 0),
    "a.parquet": (stored("parquet"), 0),
    "a.feather": (stored("feather"), 0),
    "a.arrow": (stored("file"), 0),
    "a.ipc": (stored("stream"), 0),
    "a.mtx": (MATRIX.format("general") + lines(add=1), 1),
    "b.mtx": (MATRIX.format("symmetric") + lines(add=1), 1),
    "a.mtx.zst": (
        pa.compress((MATRIX.format("general") + lines(add=1)).encode(), "zstd", asbytes=True),
        1,
    ),
    "a.gr": (f"c x\np sp {NUM_VERTICES} {len(EDGES)}\n" + lines(begin="a ", add=1), 1),
    "a.graph": (metis(), 1),
    "a.metis.gz": (gzip.compress(metis().encode()), 1),
    "a.wsg": (serialized(directed=True), 0),
    "b.wsg": (serialized(directed=False), 0),
    "a.wsg.gz": (gzip.compress(serialized(directed=False)), 0),
    "a.e": (lines(), 0),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("block_bytes", [32, 1 << 20])
@pytest.mark.parametrize("threads", [1, 2])
def test_files(tmp_path, name, block_bytes, threads):
    data, first = FILES[name]
    path = write(tmp_path / name, data)
    chunk_rows = 3 if block_bytes == 32 else 1 << 20
    options = {"block_bytes": block_bytes, "threads": threads, "chunk_rows": chunk_rows}
    source = open_source(path, ReadOptions(weights=True, **options))
    expected = [(u + first, v + first, w) for u, v, w in EDGES]
    done: list[float] = []
    assert sorted(rows(source, done.append)) == expected
    assert source.size is None or sum(done) == source.size
    assert source.weight == "weight"
    assert source.declared in (None, range(first, first + NUM_VERTICES))
    assert source.cheap_to_repeat is False
    assert sorted(rows(source)) == expected
    unweighted = open_source(path, ReadOptions(weights=False, **options))
    assert sorted(rows(unweighted)) == [edge[:2] for edge in expected]
    assert unweighted.columns == {}


def matrix(kind: type) -> object:
    return kind((WEIGHT, (SRC, DST)), shape=(NUM_VERTICES, NUM_VERTICES))


TABLE = pa.table({"src": SRC, "dst": DST, "weight": WEIGHT})
OBJECTS = {
    "arrays": (SRC, DST, WEIGHT),
    "lists": [SRC.tolist(), DST.tolist(), WEIGHT.tolist()],
    "one array": np.array(EDGES, np.int16),
    "big endian": np.array(EDGES, ">i4"),
    "read only": tuple(np.frombuffer(a.tobytes(), a.dtype) for a in (SRC, DST, WEIGHT)),
    "csr": matrix(scipy.sparse.csr_matrix),
    "csc": matrix(scipy.sparse.csc_array),
    "coo": matrix(scipy.sparse.coo_array),
    "lil": matrix(scipy.sparse.coo_matrix).tolil(),
    "table": TABLE,
    "batch": TABLE.to_batches()[0],
    "pandas": pd.DataFrame({"src": SRC, "dst": DST, "weight": WEIGHT}, index=list("gfedcba")),
    "polars": pl.DataFrame({"src": SRC, "dst": DST, "weight": WEIGHT}),
    "lazy": pl.LazyFrame({"src": SRC, "dst": DST, "weight": WEIGHT}),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("chunk_rows", [3, 1 << 20])
def test_objects(name, chunk_rows):
    source = open_source(OBJECTS[name], ReadOptions(weights=True, chunk_rows=chunk_rows))
    assert sorted(rows(source)) == EDGES
    assert source.cheap_to_repeat is (name != "lazy")
    assert sorted(rows(source)) == EDGES
    unweighted = open_source(OBJECTS[name], ReadOptions(weights=False, chunk_rows=chunk_rows))
    assert sorted(rows(unweighted)) == [edge[:2] for edge in EDGES]
    if scipy.sparse.issparse(OBJECTS[name]):
        assert source.declared == range(NUM_VERTICES)


def test_every_format_is_here():
    used = {name.removesuffix(".gz").removesuffix(".zst").rpartition(".")[2] for name in FILES}
    for importer in importers().values():
        assert not importer.SUFFIXES or used & {suffix[1:] for suffix in importer.SUFFIXES}

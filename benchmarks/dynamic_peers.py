"""Unique insertion into what else could hold edges: used by ``dynamic.py``.

Each function gives the seconds that the batches took, and the edges there are in the end. None asks
for more than its package; a package that is not installed is left out.
"""

from __future__ import annotations

import importlib.metadata
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from penstock.interfaces.bench.dynamic_workloads import Requests


def _in_batches(requests: Requests, rows: int, function: Callable[..., object]) -> float:
    seconds = 0.0
    for src, dst, _ in requests.batches(rows):
        begin = time.perf_counter()
        function(src, dst)
        seconds += time.perf_counter() - begin
    return seconds


def _sqlite(requests: Requests, rows: int, folder: Path) -> tuple[float, int]:
    """Durable: WAL, synced at each commit."""
    base = sqlite3.connect(folder / "edges.db")
    base.execute("pragma journal_mode = wal")
    base.execute("pragma synchronous = full")
    base.execute(
        "create table edges (src integer, dst integer, primary key (src, dst)) without rowid"
    )

    def add(src: Any, dst: Any) -> None:
        pairs = zip(src.tolist(), dst.tolist(), strict=True)
        base.executemany("insert or ignore into edges values (?, ?)", pairs)
        base.commit()

    seconds = _in_batches(requests, rows, add)
    count = base.execute("select count(*) from edges").fetchone()[0]
    base.close()
    return seconds, count


def _duckdb(requests: Requests, rows: int, folder: Path) -> tuple[float, int]:
    """Durable: a database on disk, a transaction a batch."""
    import duckdb
    import pyarrow as pa

    base = duckdb.connect(str(folder / "edges.duckdb"))
    base.execute("create table edges (src ubigint, dst ubigint, primary key (src, dst))")

    def add(src: Any, dst: Any) -> None:
        base.register("batch", pa.table({"src": src, "dst": dst}))
        base.execute("insert or ignore into edges select distinct src, dst from batch")
        base.unregister("batch")

    seconds = _in_batches(requests, rows, add)
    found = base.execute("select count(*) from edges").fetchone()
    base.close()
    assert found is not None
    return seconds, found[0]


def _networkit(requests: Requests, rows: int, folder: Path) -> tuple[float, int]:
    import networkit as nk

    graph = nk.Graph(requests.num_ids, directed=True)

    def add(src: Any, dst: Any) -> None:
        graph.addEdges((src, dst), checkMultiEdge=True)

    return _in_batches(requests, rows, add), graph.numberOfEdges()


def _graphblas(requests: Requests, rows: int, folder: Path) -> tuple[float, int]:
    import graphblas as gb

    matrix = gb.Matrix(bool, requests.num_ids, requests.num_ids)

    def add(src: Any, dst: Any) -> None:
        values = np.ones(len(src), bool)
        new = gb.Matrix.from_coo(
            src, dst, values, nrows=requests.num_ids, ncols=requests.num_ids, dup_op=gb.binary.any
        )
        matrix(accum=gb.binary.any) << new
        matrix.wait()

    return _in_batches(requests, rows, add), matrix.nvals


def _networkx(requests: Requests, rows: int, folder: Path) -> tuple[float, int]:
    import networkx as nx

    graph = nx.DiGraph()

    def add(src: Any, dst: Any) -> None:
        graph.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))

    return _in_batches(requests, rows, add), graph.number_of_edges()


PEERS: dict[str, Callable[[Requests, int, Path], tuple[float, int]]] = {
    "SQLite (WAL), durable": _sqlite,
    "DuckDB, durable": _duckdb,
    "NetworKit": _networkit,
    "python-graphblas": _graphblas,
    "NetworkX": _networkx,
}
_PACKAGES = {
    "DuckDB, durable": "duckdb", "NetworKit": "networkit", "python-graphblas": "python-graphblas",
    "NetworkX": "networkx",
}  # fmt: skip


def version_of(name: str) -> str | None:
    """None if it is not installed."""
    if name not in _PACKAGES:
        return sqlite3.sqlite_version
    try:
        return importlib.metadata.version(_PACKAGES[name])
    except importlib.metadata.PackageNotFoundError:
        return None

"""Arrays in another order are what NumPy makes of them, whatever their type, size and threads."""

from __future__ import annotations

import threading
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.arrays import LARGE_PAGE, fresh
from penstock.engine import gather, result_columns
from penstock.engine.result import Result
from penstock.engine.result_columns import RANKS
from penstock.types import NO_VERTEX

DTYPES = [
    *("bool", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8", "c16"),
    *(">i4", ">f8", "M8[s]", "S3", "S4", "object"),
]
WAYS = ["numpy", "kernels", "threads"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Small arrays in pieces of seven rows: NumPy's way, or the kernels'."""
    monkeypatch.setattr(gather, "FEW_ROWS", 1 << 30 if request.param == "numpy" else 1)
    monkeypatch.setattr(gather, "PIECE_ROWS", 7)
    monkeypatch.setattr(gather, "PIECES_A_THREAD", 1)
    return str(request.param)


def threads_of(way: str) -> int:
    return 2 if way == "threads" else 1


def random_values(dtype: str, length: int) -> Any:
    rng = np.random.default_rng(1)
    if dtype == "object":
        return np.array([None, "a", 2**70, *rng.random(length)], object)[:length]
    if dtype == "c16":
        return rng.random(length) + 1j * rng.random(length)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(length) < 0.5
    return np.frombuffer(rng.bytes(length * kind.itemsize), kind).copy()


def same(found: Any, wanted: Any) -> bool:
    """The same type and the same bits: NaN is equal to itself."""
    if wanted.dtype == object:
        return found.dtype == object and found.tolist() == wanted.tolist()
    return found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


# The parts


@pytest.mark.parametrize("dtype", DTYPES)
def test_take(way: str, dtype: str) -> None:
    source = random_values(dtype, 50)
    places = np.random.default_rng(2).integers(0, 50, 40).astype(np.uint32)
    wanted = source[places]
    assert same(gather.take(source, places), wanted)
    out = np.zeros(40, source.dtype)
    assert gather.take(source, places, out) is out
    assert same(out, wanted)
    assert same(gather.take(source, places[:0]), wanted[:0])


def test_take_from_what_is_mapped_or_not_in_a_row(way: str, tmp_path: Path) -> None:
    source = random_values("f8", 50)
    np.save(tmp_path / "source.npy", source)
    mapped = np.lib.format.open_memmap(tmp_path / "source.npy", mode="r")
    places = np.random.default_rng(2).integers(0, 50, 40).astype(np.uint32)
    fixed = places.copy()
    fixed.flags.writeable = False
    for each in (source, mapped, np.repeat(source, 2)[::2]):
        for order in (fixed, np.repeat(places, 3)[::3]):
            found = gather.take(each, order)
            assert same(found, source[places])
            assert type(found) is np.ndarray or way == "numpy"


def test_translate(way: str) -> None:
    rng = np.random.default_rng(3)
    ranks = rng.permutation(30).astype(np.uint32)
    vids = rng.integers(0, 30, 100).astype(np.uint32)
    assert same(gather.translate(vids, ranks, threads_of(way)), ranks[vids])
    gone = rng.random(100) < 0.4
    vids[gone] = NO_VERTEX
    found = gather.translate(vids, ranks, threads_of(way))
    assert (found[gone] == NO_VERTEX).all()
    assert same(found[~gone], ranks[vids[~gone]])
    nobody = np.full(20, NO_VERTEX, np.uint32)
    assert same(gather.translate(nobody, ranks), nobody)
    assert len(gather.translate(nobody[:0], ranks[:0])) == 0


@pytest.mark.parametrize("first", [0, 5, -7, 2**40])
def test_number(first: int) -> None:
    ranks = np.array([2, 0, NO_VERTEX, 3, 1, NO_VERTEX, 3], np.uint32)
    out = np.zeros(7, np.int64)
    gather.number(ranks, first, out)
    assert out.tolist() == [first + 2, first, -1, first + 3, first + 1, -1, first + 3]
    out[:] = 0
    gather.number(ranks, first + np.arange(4) ** 3, out)
    assert out.tolist() == [first + 8, first, -1, first + 27, first + 1, -1, first + 27]
    places = np.array([3, 2, 0], np.uint32)
    gather.number(ranks, first, out[:3], places)
    assert out[:3].tolist() == [first + 3, -1, first + 2]
    gather.number(ranks, first + np.arange(4) ** 3, out[:3], places)
    assert out[:3].tolist() == [first + 27, -1, first + 8]


def test_inverse(way: str, tmp_path: Path) -> None:
    order = np.random.default_rng(4).permutation(100).astype(np.uint32)
    np.save(tmp_path / "order.npy", order)
    wanted = np.argsort(order).astype(np.uint32)
    for given in (order, np.lib.format.open_memmap(tmp_path / "order.npy", mode="r")):
        assert same(gather.inverse(given, threads_of(way)), wanted)
    assert len(gather.inverse(order[:0])) == 0


def test_numbers_that_are_no_vertices(way: str) -> None:
    """Kernels look at no bound, so that somebody else has to."""
    five = np.arange(5, dtype=np.uint32)
    beyond = np.array([0, 5, NO_VERTEX], np.uint32)
    with pytest.raises(IndexError, match="5 is out of bounds"):
        gather.translate(beyond, five)
    with pytest.raises(IndexError, match=r"\d is out of bounds"):
        gather.take(five.astype(np.float64), beyond)
    with pytest.raises(IndexError, match="3 is out of bounds"):
        gather.inverse(np.array([0, 3, 1], np.uint32))
    with pytest.raises(IndexError, match="5 is out of bounds"):
        gather.number(beyond, np.arange(5), np.zeros(3, np.int64))
    for ids in (0, np.arange(5)):
        with pytest.raises(IndexError, match=f"{NO_VERTEX} is out of bounds"):
            gather.number(five, ids, np.zeros(3, np.int64), beyond)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("length", [0, 1, 6, 7, 8, 70, 75])
def test_pieces(monkeypatch: pytest.MonkeyPatch, threads: int, length: int) -> None:
    """Every row once, and threads only where there are rows for them."""
    monkeypatch.setattr(gather, "PIECE_ROWS", 7)
    seen = np.zeros(length, np.int64)
    workers = set()

    def work(begin: int, end: int) -> None:
        seen[begin:end] += 1
        workers.add(threading.current_thread() is threading.main_thread())

    gather.in_pieces(length, threads, work)
    assert (seen == 1).all()
    alone = threads == 1 or length < 2 * 4 * 7
    assert workers == ({alone} if length else set())


def test_an_error_in_a_piece(way: str) -> None:
    def work(begin: int, end: int) -> None:
        raise ValueError(f"rows {begin} to {end}")

    with pytest.raises(ValueError, match="rows 0 to 7"):
        gather.in_pieces(30, threads_of(way), work)


@pytest.mark.parametrize("dtype", ["u1", "i4", "f8", "object"])
def test_fresh_arrays(dtype: str) -> None:
    for size in (0, 1, LARGE_PAGE - 1, LARGE_PAGE, 3 * LARGE_PAGE + 8):
        length = size // np.dtype(dtype).itemsize
        found = fresh(length, dtype)
        assert (found.shape, found.dtype) == ((length,), np.dtype(dtype))
        assert found.flags.c_contiguous
        assert found.flags.aligned
        assert found.flags.writeable
        if found.nbytes >= LARGE_PAGE and dtype != "object":
            assert found.ctypes.data % LARGE_PAGE == 0
    other = fresh(length, dtype)
    found[:], other[:] = 1, 2
    assert (found == 1).all()


# A result


def some_graph(kind: str, *, ordered: bool, folder: Path | None = None) -> Any:
    rng = np.random.default_rng(5)
    ids: Any = {
        "range": np.arange(100),
        "range from 7": np.arange(7, 107),
        "int": np.sort(rng.choice(10**12, 100, replace=False)),
        "uint64": np.sort(rng.choice(10**6, 100, replace=False)).astype(np.uint64) + 2**63,
        "string": np.array([f"v{i:03}" for i in range(100)]),
    }[kind]
    src, dst = ids[rng.permutation(100)], ids[rng.integers(0, 100, 100)]
    options: Any = {"vertex_order": "degree" if ordered else "none"}
    if folder is None:
        return ps.from_edges(src, dst, **options)
    return ps.build((src, dst), folder, **options)


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("kind", ["range", "range from 7", "int", "uint64", "string"])
def test_result(way: str, kind: str, *, ordered: bool, place: str, tmp_path: Path) -> None:
    """Whole arrays and parts, with what is kept with the graph and without."""
    graph = some_graph(kind, ordered=ordered, folder=tmp_path / "g" if place == "disk" else None)
    assert (graph.vid_of_rank is not None) == ordered
    assert graph.catalog.ids.kind == kind.split()[0].replace("uint64", "int")
    rng = np.random.default_rng(6)
    n = graph.num_vertices
    values, parents = rng.random(n), rng.integers(0, n, n).astype(np.uint32)
    parents[rng.random(n) < 0.3] = NO_VERTEX
    names = graph.ids_by_vid().tolist()
    order = np.arange(n) if graph.vid_of_rank is None else np.array(graph.vid_of_rank)
    none = -1 if graph.ids.dtype == np.int64 else None
    wanted = [none if vid == NO_VERTEX else names[vid] for vid in parents[order].tolist()]
    for keep in (False, True, True):
        result = Result.from_vids(
            graph, "x", values.copy(), vid_columns={"parents": parents.copy()},
            threads=threads_of(way), keep=keep,
        )  # fmt: skip
        assert (graph.kept.get(RANKS) is not None) == (keep and ordered)
        assert result.to_arrow()["parents"].to_pylist() == wanted
        assert same(result.values, values[order])
        assert result.parents.tolist() == wanted
        assert result.parents.dtype == (np.int64 if none == -1 else object)
        assert result.parents is result.parents
        labels = Result.from_vids(graph, "x", parents.copy(), values_are_vids=True, keep=keep)
        assert labels.values.tolist() == wanted


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("keep", [False, True])
def test_smallest_results(way: str, n: int, *, keep: bool) -> None:
    graph = ps.from_edges([], [], num_vertices=n)
    for parent in (0, NO_VERTEX):
        result = Result.from_vids(
            graph, "x", np.full(n, 2.5, np.float32),
            vid_columns={"parents": np.full(n, parent, np.uint32)},
            threads=threads_of(way), keep=keep,
        )  # fmt: skip
        assert result.values.tolist() == [2.5] * n
        assert result.parents.tolist() == [0 if parent == 0 else -1] * n


def test_a_column_that_had_no_memory(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vids are ranks by then; whoever asks again, or for a part, gets what is right."""
    graph = some_graph("range", ordered=True)
    parents = np.random.default_rng(7).integers(0, 100, 100).astype(np.uint32)
    wanted = Result.from_vids(graph, "x", parents.copy(), values_are_vids=True).values
    result = Result.from_vids(graph, "x", parents, values_are_vids=True, threads=threads_of(way))

    def refuse(*args: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(result_columns, "fresh", refuse)
        for _ in range(2):
            with pytest.raises(MemoryError):
                result.values  # noqa: B018
            assert result[7] == wanted[7]
            assert result.to_arrow()["x"].to_pylist() == wanted.tolist()
    assert same(result.values, wanted)


# Runs


def test_the_order_is_kept_where_there_is_memory(tmp_path: Path) -> None:
    graph = ps.generate("rmat", tmp_path / "g", scale=12, edge_factor=8)
    source = int(graph.ids_by_vid()[0])
    streamed = ps.bfs(graph, source, load=False, memory="64MB")
    assert graph.kept.get(RANKS) is None
    resident = ps.bfs(graph, source, load=True, threads=2)
    kept = graph.kept.get(RANKS)
    assert np.array_equal(kept, np.argsort(graph.vid_of_rank))
    again = ps.bfs(graph, source, load=True, threads=1)
    assert graph.kept.get(RANKS) is kept
    for result in (resident, again):
        assert same(result.values, streamed.values)
        assert same(result.parents, streamed.parents)
    graph.kept.clear()
    ps.pagerank(graph, max_iter=2, tol=0, load=True)
    assert graph.kept.get(RANKS) is None  # it mentions no vertices


def test_memory_of_a_column() -> None:
    """At its peak: ranks of all vertices, ranks instead of the vids that were given, and ids."""
    n = 1 << 21
    graph = ps.from_edges([0], [n - 1], num_vertices=n)
    assert graph.vid_of_rank is not None
    tracemalloc.start()
    try:
        result = Result.from_vids(
            graph, "x", np.arange(n, dtype=np.uint32), values_are_vids=True, threads=2
        )
        assert len(result.values) == n
        peak = tracemalloc.get_traced_memory()[1]
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    pieces = 2 * 4 * gather.PIECE_ROWS
    assert peak < (4 + 4 + 8) * n + pieces + 3 * LARGE_PAGE + (1 << 18)
    assert held < (4 + 8) * n + 2 * LARGE_PAGE + (1 << 18)

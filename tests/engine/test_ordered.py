"""Lists in the order of the vertices, and lists in parts."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_making import build, options

from penstock.engine.needs import Needs
from penstock.engine.ordered import batches, best_end, scan_in_order, scan_joined
from penstock.engine.planning import open_engine
from penstock.store.graph import Graph

WAYS = [{"load": True}, {"load": False}, {"load": False, "streams": 1}]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("ordered") / "g")


def long_vertices(graph: Graph) -> list[int]:
    """Vertices whose lists have several pages."""
    table = graph.page_table("out")
    return table["first_vid"][table["run"] == 1].tolist()


def part_of(block: Any, v: int) -> Any:
    at = v - int(block.first)
    return block.neighbours[int(block.offsets[at]) : int(block.offsets[at + 1])].copy()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shift", [0, 1])
def test_lists_come_in_order(graph: Graph, way: dict[str, Any], shift: int) -> None:
    """From the beginning, from a vertex with several pages, and from the one after it."""
    for first in (0, long_vertices(graph)[-1] + shift, graph.num_vertices):
        seen: list[tuple[int, Any]] = []

        def look(block: Any, begin: int, end: int, seen: list[Any] = seen) -> None:
            seen += [(v, part_of(block, v)) for v in range(begin, end)]

        with open_engine(graph, options(**way), Needs(("out",), 1.0)) as engine:
            scan_in_order(engine, look, first=first)
        vertices = [v for v, _ in seen]
        assert vertices == sorted(vertices)
        assert set(vertices) == set(range(first, graph.num_vertices))
        found = np.concatenate([np.empty(0, np.uint32), *(each for _, each in seen)])
        whole = np.concatenate([part.neighbours for part in graph.iter_adjacency("out")])
        assert found.tolist() == whole[len(whole) - len(found) :].tolist()
        degrees = np.asarray(graph.degrees("out"))[first:]
        assert len(found) == degrees.sum()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("finishes", [True, False])
def test_parts_are_joined(graph: Graph, way: dict[str, Any], *, finishes: bool) -> None:
    sizes, most, joining = np.zeros(graph.num_vertices, np.int64), 0, threading.Lock()
    under_way: set[int] = set()
    finished: list[int] = []

    def count(block: Any, begin: int, end: int) -> None:
        for v in range(begin, end):
            sizes[v] += len(part_of(block, v))

    def join(v: int, found: Any) -> None:
        nonlocal most
        assert joining.acquire(blocking=False)
        under_way.add(v)
        most = max(most, len(under_way))
        sizes[v] += len(found)
        joining.release()

    def finish(v: int) -> None:
        under_way.remove(v)
        finished.append(v)

    with open_engine(graph, options(**way), Needs(("out",), 1.0)) as engine:
        scan_joined(engine, count, part_of, join, finish if finishes else None)
        workers = engine.workers.count
    assert (sizes == np.asarray(graph.degrees("out"))).all()
    assert len(long_vertices(graph)) > 1
    if finishes:
        assert finished == long_vertices(graph)
        assert 0 < most <= workers
    else:
        assert sorted(under_way) == long_vertices(graph)


def test_batches_of_pages() -> None:
    #           page 0  1  2  3  4  5  6  7  8
    runs = np.array([0, 1, 2, 0, 0, 1, 0, 1, 0])
    vids = np.array([0, 0, 0, 1, 5, 5, 6, 6, 7])
    table = np.rec.fromarrays([runs, vids], names="run,first_vid")
    assert batches(table, 2) == [(range(6), [0, 5]), (range(6, 9), [6])]
    assert batches(table, 1)[:2] == [(range(4), [0]), (range(4, 6), [5])]
    assert batches(table, 3) == [(range(9), [0, 5, 6])]
    assert batches(table[8:], 3) == [(range(1), [])]


def test_ranges_end_where_pages_begin(graph: Graph, tmp_path: Path) -> None:
    firsts = sorted(set(graph.page_table("out")["first_vid"].tolist()))
    a, b = firsts[-2:]
    with open_engine(graph, options(load=False), Needs(("out",), 1.0)) as engine:
        assert best_end(engine, a, b) == b
        assert best_end(engine, a, b + 1) == b
        assert best_end(engine, a, b - 1) == b - 1  # there is no better one
        assert best_end(engine, b, graph.num_vertices) == graph.num_vertices
        assert best_end(engine, a, graph.num_vertices) == graph.num_vertices
    with open_engine(graph, options(load=True), Needs(("out",), 1.0)) as engine:
        assert best_end(engine, a, b + 1) == b + 1

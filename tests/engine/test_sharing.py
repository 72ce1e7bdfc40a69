"""Work divided by what it weighs, and what is counted against the budget."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from engine_making import build, options

from penstock.engine.edge_rows import mark_neighbours
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs, Room
from penstock.engine.planning import open_engine
from penstock.engine.run_memory import CACHE_LINE
from penstock.engine.sharing import (
    NO_LIMIT,
    Scratch,
    map_chunks,
    map_shares,
    one_at_a_time,
    scratch_copies,
    shared_from,
)
from penstock.errors import BudgetError
from penstock.store.graph import Graph
from penstock.store.kept import Slot

OFFSETS = np.cumsum([0, 3, 0, 0, 90, 1, 1, 1, 40, 0, 0, 2])


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("sharing") / "g")


def opened(graph: Graph, needs: Needs | None = None, **given: Any) -> Engine:
    return open_engine(graph, options(**given), needs or Needs(("out",), 1.0))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("given", [{}, {"share": 5}, {"share": 5, "long_at_once": 1}])
def test_shares_are_about_equal(graph: Graph, threads: int, given: dict[str, int]) -> None:
    with opened(graph, threads=threads) as engine:
        ranges = map_shares(engine, lambda a, b: (a, b), OFFSETS, **given)
        pieces = map_shares(engine, lambda a, b: (a, b), OFFSETS, pieces=1)
        doubled = map_shares(engine, lambda a, b: (a, b), OFFSETS, others=OFFSETS, share=1000)
    assert [a for a, _ in ranges] == [0, *(b for _, b in ranges[:-1])]
    assert ranges[-1][1] == len(OFFSETS) - 1
    if given:
        # A range is longer than its share by its last list at most.
        assert all(OFFSETS[b - 1] - OFFSETS[a] < 5 for a, b in ranges)
    assert 1 <= len(pieces) <= threads
    assert doubled == [(0, len(OFFSETS) - 1)]


def test_few_long_ranges_at_once(graph: Graph) -> None:
    at_work, most, lock = 0, 0, threading.Lock()

    def work(begin: int, end: int) -> int:
        nonlocal at_work, most
        is_long = OFFSETS[end] - OFFSETS[begin] > 10
        with lock:
            at_work += is_long
            most = max(most, at_work)
        with lock:
            at_work -= is_long
        return begin

    with opened(graph, threads=4) as engine:
        found = map_shares(engine, work, OFFSETS, share=5, long_at_once=1)
    assert found == sorted(found)
    assert most == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_chunks_are_the_same_whatever_the_threads(graph: Graph, threads: int) -> None:
    with opened(graph, threads=threads) as engine:
        assert map_chunks(engine, list, range(25), 10) == (
            min(10 * threads, 25),
            [list(range(10)), list(range(10, 20))][:threads],
        )
        assert map_chunks(engine, list, range(7), 10) == (7, [list(range(7))])


@pytest.mark.parametrize(("threads", "expected"), [(1, NO_LIMIT), (2, 100)])
def test_sharing_takes_several(graph: Graph, threads: int, expected: int) -> None:
    with opened(graph, threads=threads) as engine:
        assert shared_from(engine, 100) == expected
        assert scratch_copies(engine) == threads


def test_scratch_is_used_again(graph: Graph) -> None:
    made: list[object] = []
    scratch = Scratch(lambda: made.append(object()) or made[-1])  # type: ignore[func-returns-value]

    def work(begin: int, end: int) -> None:
        used = scratch.take()
        scratch.give_back(used)

    with opened(graph, threads=2) as engine:
        map_shares(engine, work, np.arange(2000), share=4)
    assert 1 <= len(made) <= 2
    first, second = scratch.take(), scratch.take()
    assert first is not second


def test_one_call_at_a_time() -> None:
    inside = threading.Lock()
    total = 0

    @one_at_a_time
    def add(more: int) -> int:
        nonlocal total
        assert inside.acquire(blocking=False)
        before, total = total, total + more
        inside.release()
        return before

    threads = [threading.Thread(target=lambda: [add(1) for _ in range(500)]) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert total == 2000


@pytest.mark.parametrize("load", [True, False])
def test_neighbours_are_marked(graph: Graph, *, load: bool) -> None:
    marks = np.zeros(graph.num_vertices, np.uint8)
    marks[3] = 1
    with opened(graph, Needs(graph.directions, 1.0), load=load) as engine:
        found = mark_neighbours(engine, np.array([0, 5], np.uint32), marks, "out", "in")
    near = set()
    for direction in ("out", "in"):
        for part in graph.iter_adjacency(direction):
            vertices = np.arange(part.first_vid, part.first_vid + len(part.degrees))
            src = np.repeat(vertices, part.degrees)
            near |= set(part.neighbours[(src == 0) | (src == 5)].tolist())
    assert found.tolist() == sorted(near - {3})
    assert set(np.flatnonzero(marks).tolist()) == near | {3}


def test_what_is_held_is_counted_by_name(graph: Graph) -> None:
    needs = Needs(("out",), 1.0, room=Room(1000, 1000), worker_bytes=10)
    with opened(graph, needs, threads=2, load=True) as engine:
        before = engine.budget.used
        array = engine.array("few", np.uint16, 7, length=5)
        assert array.tolist() == [7] * 5
        assert array.ctypes.data % CACHE_LINE == 0
        pairs = engine.array("pairs", (np.float32, 2), 0, length=3)
        assert (pairs.shape, pairs.any()) == ((3, 2), False)
        engine.free("pairs")
        engine.hold("rest", 300)
        engine.hold("rest", 200)
        assert engine.take_room("room") == engine.take_room("room") == 1000
        assert engine.budget.used == before + 10 + 200 + 1000
        assert engine.take_room("room", 400) == engine.held("room") == 400
        workers = engine.plan.worker_bytes
        assert workers >= 20
        assert engine.take_room("room", with_scratch=True) == 1000 + workers
        for name in ("few", "rest", "room"):
            engine.free(name)
        assert engine.budget.used == before
        with pytest.raises(BudgetError, match="rest needs"):
            engine.hold("rest", 1 << 40)


def test_cached_pages_give_way(graph: Graph) -> None:
    with opened(graph, memory=3_000_000, load=False) as engine:
        engine.scan(lambda block, begin, end: None)
        assert engine.budget.holders["page cache"] > 0
        size = engine.budget.left + 1
        engine.hold("rest", size)
        assert "page cache" not in engine.budget.holders
        assert engine.held("rest") == size


def test_what_is_kept_stays_only_beside_lists(graph: Graph) -> None:
    slot: Slot[int] = Slot("a number")
    with opened(graph, load=False) as engine:
        engine.keep(slot, "x", value=1)
    assert graph.kept.get(slot, "x") is None
    with opened(graph, load=True) as engine:
        assert engine.kept(slot, "x") is None
        engine.keep(slot, "x", value=2)
        assert engine.kept(slot, "x") == 2
    with opened(graph, load=False) as engine:
        assert engine.kept(slot, "x") is None
    assert graph.kept.get(slot, "x") == 2


def test_the_way_is_the_one_that_the_plan_chose(graph: Graph) -> None:
    ways = [
        Needs(("out",), 1.0, forms=("memory",), way="first"),
        Needs(("out",), 1.0, forms=("stream",), way="second"),
    ]
    for load, expected in ((True, "first"), (False, "second")):
        with open_engine(graph, options(load=load), *ways) as engine:
            assert engine.way == expected

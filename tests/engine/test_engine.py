"""The verbs: scan, traverse and each, over lists in memory and on their way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine_making import build, options, resources

from penstock.engine.counts import counts_of
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.plan import SPARE_BYTES
from penstock.engine.planning import open_engine
from penstock.engine.sizes import list_bytes
from penstock.engine.topology import LISTS
from penstock.errors import BudgetError, CorruptionError, FormatError
from penstock.jit import kernel
from penstock.store.graph import Graph

WAYS = [{"load": True}, {"load": False}, {"load": False, "streams": 1, "cache_pages": 0}]


@kernel
def count_edges(block, begin, end, degrees):  # type: ignore[no-untyped-def]
    total = 0
    for v in range(begin, end):
        size = np.int64(block.offsets[v - block.first + 1]) - np.int64(
            block.offsets[v - block.first]
        )
        degrees[v] += size
        total += size
    return total


@kernel
def emit(block, vertices, found, marks):  # type: ignore[no-untyped-def]
    count = 0
    for v in vertices:
        at = np.int64(v) - block.first
        for k in range(block.offsets[at], block.offsets[at + 1]):
            found[count] = block.neighbours[k]
            count += 1
    return count


@kernel
def add_up(begin, end, values):  # type: ignore[no-untyped-def]
    return values[begin:end].sum()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("engine") / "g")


def neighbours(graph: Graph, vertices: list[int]) -> list[int]:
    found: list[int] = []
    for part in graph.iter_adjacency("out"):
        ends = np.cumsum(part.degrees)
        for v in vertices:
            at = v - part.first_vid
            if 0 <= at < len(ends):
                found += part.neighbours[ends[at] - part.degrees[at] : ends[at]].tolist()
    return sorted(found)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("direction", ["out", "in"])
def test_scan_sees_every_list(graph: Graph, how: dict[str, Any], direction: Any) -> None:
    with open_engine(graph, options(**how), Needs((direction,), 1.0, more_bytes=80_000)) as engine:
        assert engine.is_resident() == how["load"]
        degrees = engine.array("degrees", np.int64, 0)
        counts = engine.scan(count_edges, degrees, direction=direction)
        assert (degrees == graph.degrees(direction)).all()
        assert sum(counts) == engine.metrics.total().edges_traversed == graph.num_edges


@pytest.mark.parametrize("how", WAYS)
def test_traverse_passes_each_edge_of_the_vertices_once(graph: Graph, how: dict[str, Any]) -> None:
    rng = np.random.default_rng(2)
    with open_engine(graph, options(**how), Needs(("out",), 1.0)) as engine:
        for size in (0, 1, 50, 3000):
            chosen = rng.permutation(graph.num_vertices)[:size].astype(np.uint32)
            found = engine.traverse(chosen, emit, 0)
            assert sorted(found.tolist()) == neighbours(graph, chosen.tolist())
            assert found.dtype == np.uint32


@pytest.mark.parametrize("threads", [1, 3])
def test_each_covers_all_vertices_in_order(
    graph: Graph, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.engine.EACH_VERTICES", 1000)
    with open_engine(graph, options(threads=threads), Needs(("out",), 1.0)) as engine:
        values = np.arange(engine.num_vertices)
        sums = engine.map_ranges(add_up, values)
        assert sums == [values[a : a + 1000].sum() for a in range(0, engine.num_vertices, 1000)]
        assert engine.map_ranges(add_up, values, length=5) == [10]
        assert engine.map_ranges(add_up, values, length=0) == []


def test_rows_of_the_table_say_what_a_step_did(graph: Graph) -> None:
    with open_engine(graph, options(load=False, cache_pages=0), Needs(("out",), 1.0)) as engine:
        degrees = np.zeros(graph.num_vertices, np.int64)
        for _ in range(2):
            with engine.step(mode="all"):
                engine.scan(count_edges, degrees)
    pages = int((graph.page_table("out")["num_edges"] > 0).sum())
    for number, row in enumerate(engine.metrics.rows):
        assert row["step"] == number
        assert (row["mode"], row["pages_read"], row["edges"]) == ("all", pages, graph.num_edges)
        assert row["bytes_read"] == pages * graph.catalog.page_bytes


def test_undirected_lists_serve_both_ways(tmp_path: Any) -> None:
    graph = build(tmp_path / "u", directed=False)
    with open_engine(
        graph,
        options(),
        Needs(("out", "in"), 1.0),
    ) as engine:
        assert engine.lists("in") is engine.lists("out")


def test_lists_that_are_not_stored(tmp_path: Any) -> None:
    graph = build(tmp_path / "o", directions="out")
    with pytest.raises(FormatError, match="without its in-lists"):
        open_engine(graph, options(), Needs(("in",), 1.0))


def held(engine: Engine) -> int:
    blocks = [block for (slot, _), block in engine.graph.kept.items() if slot == LISTS]
    return sum(block.offsets.nbytes + block.neighbours.nbytes for block in blocks)


def test_loaded_lists_stay_with_the_graph_while_they_fit_beside_those_of_the_next_run(
    tmp_path: Any,
) -> None:
    graph = build(tmp_path / "g")

    def look(direction: Any, **how: Any) -> Engine:
        with open_engine(graph, options(**how), Needs((direction,), 1.0)) as engine:
            engine.lists(direction)
            return engine

    first = look("out")
    assert first.load_seconds > 0
    assert look("out").load_seconds == 0
    look("in")
    assert len(graph.kept.keys(LISTS)) == 2  # there is room
    just_enough = first.plan.memory_bytes + 20_000
    again = look("in", memory=just_enough)
    assert graph.kept.keys(LISTS) == {("in", ())}
    assert again.load_seconds == 0
    look("out", memory=just_enough, load=False)
    assert held(again) + again.plan.memory_bytes <= just_enough or not graph.kept.keys(LISTS)


def test_a_state_that_was_not_planned_is_refused(graph: Graph) -> None:
    sizes = list_bytes(counts_of(graph), "out", ())
    memory = SPARE_BYTES + 4 * sizes.stream_bytes
    with open_engine(graph, options(memory=memory, load=False), Needs(("out",), 1.0)) as engine:
        engine.lists("out")
        while engine.budget.left >= 8 * graph.num_vertices:
            engine.array("large", np.float64)
        with pytest.raises(BudgetError, match="state 'large' needs"):
            engine.array("large", np.float64)
    assert engine.budget.used <= memory
    engine.free("large")
    assert "state 'large'" not in engine.budget.holders


def test_nothing_is_left_behind(graph: Graph) -> None:
    def fail(begin: int, end: int) -> None:
        raise KeyError("mine")

    def use(how: dict[str, Any]) -> None:
        with open_engine(
            graph,
            options(**how),
            Needs(("out", "in"), 1.0),
        ) as engine:
            engine.scan(count_edges, np.zeros(graph.num_vertices, np.int64))
            engine.lists("in")
            engine.map_ranges(fail)

    before = resources()
    for how in WAYS:
        with pytest.raises(KeyError, match="mine"):
            use(how)
        assert resources() <= before


def test_a_page_table_that_was_changed(tmp_path: Any) -> None:
    graph = build(tmp_path / "g")
    path = tmp_path / "g" / "out.pages.npy"
    table = np.load(path)
    table["num_vertices"][3] += 1
    np.save(path, table)
    with pytest.raises(CorruptionError, match=r"out\.pages\.npy: checksum is"):
        open_engine(graph, options(), Needs(("out",), 1.0))

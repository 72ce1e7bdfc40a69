"""Sums over lists, choosing vertices, values of edges, and steps within steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_making import build, options

from penstock.engine.checkpoint import Schedule
from penstock.engine.needs import Needs
from penstock.engine.planning import open_engine
from penstock.engine.recovery import Recovery
from penstock.jit import kernel
from penstock.store.graph import Graph

WAYS = [{"load": True}, {"load": False}, {"load": False, "streams": 1, "cache_pages": 0}]


@kernel
def sum_values(block, vertices, sums, values):  # type: ignore[no-untyped-def]
    for i in range(len(vertices)):
        at = np.int64(vertices[i]) - block.first
        total = 0.0
        for k in range(block.offsets[at], block.offsets[at + 1]):
            total += values[block.neighbours[k]]
        sums[i] = total


@kernel
def choose(begin, end, chosen, values, least):  # type: ignore[no-untyped-def]
    count = 0
    for v in range(begin, end):
        if values[v] >= least:
            chosen[count] = v
            count += 1
    return count


@kernel
def write_ends(block, begin, end, values, seen):  # type: ignore[no-untyped-def]
    """Each edge gets a number made of its ends."""
    for v in range(begin, end):
        for k in range(block.offsets[v - block.first], block.offsets[v - block.first + 1]):
            values[k] += v * 10_000.0 + block.neighbours[k]
            seen[v] = 1


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("verbs") / "g")


def all_lists(graph: Graph) -> tuple[Any, Any]:
    parts = list(graph.iter_adjacency("out"))
    src = [
        np.repeat(np.arange(p.first_vid, p.first_vid + len(p.degrees)), p.degrees) for p in parts
    ]
    return np.concatenate(src), np.concatenate([p.neighbours for p in parts])


@pytest.mark.parametrize("how", WAYS)
def test_sums_over_lists_that_are_longer_than_pages(graph: Graph, how: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    values = rng.random(graph.num_vertices)
    src, dst = all_lists(graph)
    expected = np.zeros(graph.num_vertices)
    np.add.at(expected, src, values[dst])
    with open_engine(graph, options(**how), Needs(("out",), 1.0)) as engine:
        for size in (0, 1, 40, graph.num_vertices):
            vertices = rng.permutation(graph.num_vertices)[:size].astype(np.uint32)
            target = np.full(graph.num_vertices, -1.0)
            engine.reduce(vertices, sum_values, target, values)
            wanted = np.full(graph.num_vertices, -1.0)
            wanted[vertices] = expected[vertices]
            np.testing.assert_allclose(target, wanted, rtol=1e-12)


def test_sums_are_the_same_bits_wherever_lists_are(graph: Graph) -> None:
    rng = np.random.default_rng(4)
    values, found = rng.random(graph.num_vertices), []
    vertices = rng.permutation(graph.num_vertices).astype(np.uint32)
    assert (graph.page_table("out")["run"] > 0).any(), "no list is longer than a page"
    ways = [{"load": False, "streams": k} for k in (1, 2, 5)] + [
        {"load": True, "threads": k} for k in (1, 3)
    ]
    for how in ways:
        target = np.zeros(graph.num_vertices)
        with open_engine(graph, options(**how), Needs(("out",), 1.0)) as engine:
            engine.reduce(vertices, sum_values, target, values)
        found.append(target)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("length", [0, 7000])
def test_chosen_vertices_ascend(graph: Graph, length: int) -> None:
    values = np.random.default_rng(1).integers(0, 10, graph.num_vertices)
    with open_engine(graph, options(), Needs((), 1.0)) as engine:
        least = 4 if length else 11
        chosen = engine.select(choose, values, least)
        np.testing.assert_array_equal(chosen, np.flatnonzero(values >= least))
        assert chosen.dtype == np.uint32


@pytest.mark.parametrize("how", WAYS)
def test_every_edge_has_a_place(graph: Graph, how: dict[str, Any]) -> None:
    src, dst = all_lists(graph)
    column, seen = np.zeros(len(src)), np.zeros(graph.num_vertices, np.uint8)
    with open_engine(graph, options(**how), Needs(("out",), 1.0)) as engine:
        engine.scan(write_ends, seen, edge_values=column)
    np.testing.assert_array_equal(column, src * 10_000.0 + dst)
    np.testing.assert_array_equal(np.flatnonzero(seen), np.unique(src))


class Told:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def start(self, stage: str, total: float | None, unit: str) -> None:
        self.said.append(stage)

    def advance(self, amount: float) -> None:
        self.said.append("step")

    def note(self, text: str) -> None:
        self.said.append(text)


def test_what_is_within_a_step_leaves_no_trace(graph: Graph, tmp_path: Path) -> None:
    told = Told()
    given = options(progress=told, checkpoint=tmp_path / "c", checkpoint_every=Schedule.parse("1"))
    with open_engine(graph, given, Needs((), 1.0)) as engine:
        outer = engine.array("outer", np.float64, 0)
        with Recovery(engine, {"algorithm": "outer"}) as recovery:
            with engine.step(), engine.within_step():
                inner = engine.array("inner", np.float64, 0)
                engine.options.progress.start("inner", 3, "steps")
                with Recovery(engine, {"algorithm": "inner"}) as nested, engine.step() as row:
                    row["note"] = 1
                    nested.after(1, {"inner": inner}, {})
                assert engine.budget.used == outer.nbytes + inner.nbytes
            assert engine.budget.used == outer.nbytes
            recovery.after(1, {"outer": outer}, {})
            assert (tmp_path / "c").exists()
    assert told.said == ["step"]
    assert len(engine.metrics.rows) == 1

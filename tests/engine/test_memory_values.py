"""Values of vertices that do not fit the budget: no array of all vertices is ever in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_making import options, run
from engine_programs import heat_program

import penstock as ps
from penstock import algorithms
from penstock.engine.algorithm import Task
from penstock.engine.result import Result
from penstock.errors import BudgetError
from penstock.store.graph import Graph

NUM_VERTICES = 6_000_000
MEMORY = 10_000_000
#: For parts of files that pass through memory; less than one array of all vertices (24 MB).
PARTS = 23_000_000

NUMBERS = np.arange(NUM_VERTICES, dtype=np.float32)
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "pagerank": ("pagerank", {"tol": 0, "max_iter": 1}),
    "personal": ("pagerank", {"tol": 0, "max_iter": 1, "personalization": NUMBERS}),
    "rwr": ("rwr", {"source": 0, "tol": 0, "max_iter": 1}),
    "heat": ("heat", {"initial": {0: 1.0}, "max_iter": 1}),
    "circuit": ("circuit", {"fixed": {0: 1.0}, "tol": 0, "max_iter": 1}),
    "neural_network": ("neural_network", {"inputs": {0: 1.0}, "bias": {1: 0.5}, "max_iter": 1}),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("values")
    ends = np.arange(0, NUM_VERTICES, NUM_VERTICES // 100)
    edges = (ends, np.roll(ends, 1))
    ps.build(edges, folder / "g", num_vertices=NUM_VERTICES, memory="500MB")
    return folder / "g"


def peak_of(work: Callable[[], Any]) -> tuple[Any, int]:
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def call(graph: Graph, name: str, **how: Any) -> Result:
    algorithm, parameters = RUNS[name]
    return algorithms.find(algorithm).call(Task(graph, options(**how)), parameters)


@pytest.mark.parametrize("name", RUNS)
def test_what_is_given_and_what_comes_out(place: Path, name: str) -> None:
    expected = call(ps.open(place), name, load=False)  # compiles the kernels, too
    assert expected.stats["ranges"] == 1
    graph = ps.open(place)
    found, peak = peak_of(lambda: call(graph, name, memory=MEMORY))
    assert found.stats["ranges"] > 1
    assert peak <= MEMORY + PARTS
    np.testing.assert_array_equal(found.values, expected.values)


def test_a_pass_before_the_run_needs_no_more_than_the_plan(tmp_path: Path) -> None:
    """To choose its step, heat looks at the weights of all edges first."""
    n = 100_000
    src, dst = np.arange(n), np.roll(np.arange(n), 1)
    edges = (src, dst, np.ones(n, np.float32))
    graph = ps.build(edges, tmp_path / "g", page_size=65536)
    parameters = {"initial": {0: 1.0}, "max_iter": 1}
    tiers = set()
    for memory in range(2_500_000, 4_000_000, 250_000):
        given = options(memory=memory, load=False)
        try:
            tiers.add(ps.heat.plan(graph, given, parameters).state)
        except BudgetError:
            continue
        assert ps.heat.call(Task(graph, given), parameters).stats["c"] == 1
    assert tiers == {"ranges", "streamed", "memory"}


def test_a_built_in_field_that_no_file_has(place: Path) -> None:
    how = {"memory": MEMORY + NUM_VERTICES}  # a byte a vertex says whether it is active
    expected = run(ps.open(place), heat_program(), max_iter=1, strategy="pull")
    graph = ps.open(place)
    found, peak = peak_of(lambda: run(graph, heat_program(), max_iter=1, strategy="pull", how=how))
    assert found.engine.plan.state == "ranges"
    assert peak <= MEMORY + NUM_VERTICES + PARTS
    np.testing.assert_array_equal(found.values["heat"], expected.values["heat"])

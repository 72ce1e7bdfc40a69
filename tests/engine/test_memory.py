"""The memory promise: what a run holds stays within what it was given."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_making import build, labels, ranks, run
from engine_programs import label_program, rank_program

import penstock as ps
from penstock.engine.plan import SPARE_BYTES
from penstock.errors import BudgetError
from penstock.store.graph import Graph


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return build(tmp_path_factory.mktemp("memory") / "g")


@pytest.mark.parametrize("strategy", ["auto", "push"])
def test_any_budget_works_or_is_refused(graph: Graph, strategy: Any) -> None:
    """From a byte to plenty, by way of one, two and three pages beyond the least that works."""
    page = graph.catalog.page_bytes
    before = set(threading.enumerate())
    worked, refused = 0, 0
    steps = [1, page, 2 * page, 3 * page, *range(SPARE_BYTES, SPARE_BYTES + (1 << 20), 90_000)]
    for memory in [*steps, 1 << 26]:
        for program, expected in ((rank_program(), None), (label_program(), labels(graph))):
            try:
                outcome = run(
                    graph, program, max_iter=40, strategy=strategy, how={"memory": memory}
                )
            except BudgetError:
                refused += 1
                continue
            worked += 1
            engine = outcome.engine
            assert engine.budget.used <= engine.budget.limit == memory
            assert engine.plan.memory_bytes <= memory
            if expected is not None:
                assert (outcome.values["label"] == expected).all()
    assert worked > 8
    assert refused >= 6
    assert not [t for t in {*threading.enumerate()} - before if t.name.startswith("penstock")]


def test_the_figure_in_a_refusal_works(graph: Graph) -> None:
    with pytest.raises(BudgetError) as caught:
        run(graph, rank_program(), max_iter=3, how={"memory": 1000, "streams": 6})
    figure = str(caught.value).rsplit("requires at least ", 1)[1]
    enough = ps.config.parse_bytes(figure)  # type: ignore[attr-defined]
    found = run(graph, rank_program(), max_iter=3, how={"memory": enough, "streams": 6})
    np.testing.assert_allclose(found.values["rank"], ranks(graph, 3), rtol=1e-12)
    assert found.engine.plan.streams == 6


MEASURE = """
import re, sys
sys.path[:0] = {path!r}
import penstock as ps

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024

small = ps.from_edges([0, 1, 2], [1, 2, 0])
ps.pagerank(small)          # imports and compiled kernels
graph = ps.open({graph!r})
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
base = peak()
result = ps.pagerank(graph, tol=0, max_iter=3, memory={memory!r}, threads=2, load={load!r})
print(base, peak(), result.stats["resident"])
"""


def test_the_peak_of_a_process(tmp_path: Path) -> None:
    """PageRank at 32 MB on a graph of about 4 million edges in 2**18 vertices."""
    graph = ps.generate("rmat", tmp_path / "g", scale=18, edge_factor=16, memory="256MB")
    for load in (True, False):
        text = MEASURE.format(
            path=[p for p in sys.path if p.endswith("src")], graph=str(graph.path), load=load,
            memory="32MB",
        )  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == 0, done.stderr
        base, peak, resident = done.stdout.split()
        assert resident == str(load)
        assert int(peak) <= int(base) + 32_000_000 + 40_000_000


MEASURE_TIERS = """
import re, sys
sys.path[:0] = {path!r}
import penstock as ps

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024

small = ps.open({small!r})
ps.bfs(small, 0, resident_edges=1, memory="60MB")  # imports and compiled kernels
graph = ps.open({graph!r})
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
base = peak()
for source in range(20):
    result = ps.bfs(graph, source, memory={memory!r}, threads=2)
print(base, peak(), result.stats["head_edges"])
"""


def test_the_peak_with_lists_in_tiers(tmp_path: Path) -> None:
    """BFS at 48 MB on a graph whose lists take 60 MB."""
    options: dict[str, Any] = {"directed": False, "edge_factor": 32, "memory": "256MB"}
    small = ps.generate("uniform", tmp_path / "s", scale=8, **options)
    graph = ps.generate("uniform", tmp_path / "g", scale=18, **options)
    text = MEASURE_TIERS.format(
        path=[p for p in sys.path if p.endswith("src")], small=str(small.path),
        graph=str(graph.path), memory="48MB",
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    base, peak, head_edges = done.stdout.split()
    assert 0 < int(head_edges) < 64
    assert int(peak) <= int(base) + 48_000_000 + 16_000_000

"""The memory promise of the benchmark: what does not fit is refused, what runs stays within."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from penstock.errors import BudgetError
from penstock.interfaces.bench.graph500 import SEARCHES, Settings, plan_memory, run_benchmark


@pytest.mark.parametrize("threads", [1, 64])
@pytest.mark.parametrize("kernels", [("bfs",), ("bfs", "sssp")])
def test_the_arrays_of_validation_must_fit(tmp_path, kernels, threads):
    settings = Settings(22, memory="64MB", kernels=kernels, threads=threads, out=tmp_path / "out")
    with pytest.raises(BudgetError, match=f"validation of {kernels[-1]} at scale 22") as caught:
        run_benchmark(settings)
    assert not (tmp_path / "out").exists()
    figure = str(caught.value).split("memory='")[1].split("'")[0]
    plan = plan_memory(replace(settings, memory=figure))
    assert min(plan.search_bytes.values()) >= 16 << 20


def test_searches_get_what_validation_leaves():
    plan = plan_memory(Settings(20, memory=100_000_000, threads=2))
    n = 1 << 20
    for name, search in SEARCHES.items():
        lists = plan.search_bytes[name] - search.state_bytes * n
        left = plan.budget - max(search.state_bytes, search.vertex_bytes) * n - lists
        assert 0 < left == 4 * 12 * plan.part_rows < plan.budget / 8


def test_a_small_budget_is_kept(tmp_path):
    """A run does not take all into memory, and holds beyond what a tiny run does no more than its
    budget, to within 40 MB.
    """

    def run(*options):
        command = [sys.executable, "-m", "penstock", "bench", "graph500", "--roots", "1", "--json"]
        done = subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    small = ("--scale", "17", "--memory", "24MB")
    data, tiny = run(*small), run("--scale", "6")
    # Without a bound it takes 190 MB more than the tiny one.
    most = tiny["peak_memory"] + 24_000_000 + 40_000_000
    if data["peak_memory"] > most:
        data = run(*small)  # the first may have compiled kernels, which takes memory too
    assert data["peak_memory"] <= most
    assert data["validated"]
    for kernel in ("bfs", "sssp"):
        (row,) = data["searches"][kernel]
        assert row["topology"] in ("tiered", "streamed")
        assert (row["head_edges"] is None) == (row["topology"] == "streamed")
        assert row["bytes_read"] > 0
        assert tiny["searches"][kernel][0]["topology"] == "resident"

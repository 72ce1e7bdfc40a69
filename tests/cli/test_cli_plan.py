from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.engine import measuring
from penstock.engine.profile import GATHER_BYTES, Cores, Disk
from penstock.interfaces.cli import _estimates
from penstock.stream.tiers import NO_LIMIT

Cli = Callable[..., Any]


class Measured:
    """Stands for the measurements, which take a second; counts them."""

    times = 0

    def cores(self, threads: int, sizes: tuple[int, ...]) -> Cores:
        self.times += 1
        prices = (0.5, 1.0, 1.5, 4.0, 6.0)[: len(sizes)]
        return Cores(GATHER_BYTES[: len(sizes)], prices, 1.0, 9.0, 0.2, 4.0, 1e3, 0.05, 0.3, 0.9)


@pytest.fixture(autouse=True)
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    made = Measured()
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(measuring, "measure_cores", made.cores)
    monkeypatch.setattr(measuring, "measure_disk", lambda graph, threads: Disk(2e9, 1e9, 1e9, 0.1))
    return made


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that does not fit the least budget."""
    import penstock as ps

    path = tmp_path_factory.mktemp("plan") / "large.penstock"
    ps.generate("rmat", path, scale=17, edge_factor=48, memory="256MB")
    return path


def test_plan_shows_what_a_run_costs(cli: Cli, large: Path) -> None:
    found = cli("plan", "pagerank", large, "--tol", 0, "--max-iter", 7)
    assert found.code == 0, found.err
    first, *lines = found.out.splitlines()
    assert first.startswith(f"pagerank of {large}: ")
    names = [line.split()[0] for line in lines if line]
    assert names == ["how", "passes", "memory", "to", "time"]
    assert "edges in memory" in found.out
    assert "topology" in found.out
    assert " 7\n" in found.out


def test_plan_as_json(cli: Cli, large: Path) -> None:
    found = cli("plan", "pagerank", large, "--tol", 0, "--max-iter", 7, "--json").data
    assert found["algorithm"] == "pagerank"
    assert found["parameters"]["max_iter"] == 7
    assert (found["passes"], found["resident"], found["ranges"]) == (7, True, 1)
    assert found["memory_bytes"] == sum(found["memory"].values()) == found["resident_from_bytes"]
    assert found["bytes_read"] > 0
    assert found["seconds"] > 0
    assert found["limit"] in ("disk", "cores", "memory")


def test_little_memory_streams_and_says_what_would_not(cli: Cli, large: Path) -> None:
    args = ("plan", "pagerank", large, "--tol", 0, "--max-iter", 3)
    small = cli(*args, "--memory", "17MB")
    assert "edges streamed" in small.out
    enough = small.out.split("--memory ")[1].split()[0]
    assert cli(*args, "--memory", enough, "--json").data["resident"]
    assert not cli(*args, "--memory", "17MB", "--json").data["resident"]


def test_options_of_the_run_count(cli: Cli, large: Path) -> None:
    args = ("plan", "pagerank", large, "--no-load", "--json")
    found = cli(*args, "--streams", 3, "--cache-pages", 2, "--threads", 1).data
    assert (found["resident"], found["streams"], found["cache_pages"]) == (False, 3, 2)


def test_a_budget_that_is_not_enough_is_refused(cli: Cli, tmp_path: Path) -> None:
    import penstock as ps

    path = tmp_path / "wide.penstock"
    ps.build(([0], [1]), path, num_vertices=2_000_000)
    refused = cli("plan", "bfs", path, "--source", 0, "--memory", "20MB")
    assert refused.code == 3
    assert "20.0 MB is not enough" in refused.error
    assert cli("run", "bfs", path, "--source", 0, "--memory", "20MB").err == refused.err


def test_it_is_measured_once_unless_asked(cli: Cli, large: Path, measured: Measured) -> None:
    for _ in range(2):
        assert cli("plan", "pagerank", large).code == 0
    assert measured.times == 1
    assert cli("plan", "pagerank", large, "--measure").code == 0
    assert measured.times == 2


def test_mistakes(cli: Cli, large: Path, tmp_path: Path) -> None:
    assert "no algorithm" in cli("plan", "sorting", large).error
    assert cli("plan", "pagerank", tmp_path / "none").code == 1
    assert cli("plan", "pagerank", large, "--alpha", "much").code == 2
    assert "no vertex" in cli("plan", "bfs", large, "--source", -4).error


def test_the_help_shows_the_options_of_the_algorithm(cli: Cli) -> None:
    found = cli("plan", "pagerank", "--help")
    assert found.code == 0
    assert "--max-iter" in found.out
    assert "--measure" in found.out


PLAN = {
    "resident": False,
    "cut": False,
    "head_edges": None,
    "streams": 1,
    "cache_pages": 0,
    "num_pages": 9,
    "state": "memory",
    "ranges": 1,
    "passes": 2.0,
}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "edges streamed, 1 page at a time"),
        (
            {"head_edges": 1},
            "the first 1 edge of each vertex in memory; lists read when needed",
        ),
        (
            {"head_edges": NO_LIMIT},
            "all edges of each vertex in memory; lists read when needed",
        ),
        ({"streams": 4}, "edges streamed, 4 pages at a time"),
        ({"cache_pages": 3}, "edges streamed, 1 page at a time, 3 of 9 pages stay in memory"),
        (
            {"state": "streamed"},
            "edges streamed, 1 page at a time; "
            "of the values only what neighbours read is in memory",
        ),
        (
            {"state": "ranges", "ranges": 3},
            "edges streamed, 1 page at a time, once for each of 3 ranges of vertices",
        ),
        ({"resident": True}, "edges in memory"),
        (
            {"resident": True, "cut": True},
            "edges in memory, and once more in parts that fit the processor's cache",
        ),
        ({"passes": 0.0}, "no edges read"),
    ],
)
def test_how_a_run_goes(more: dict[str, Any], text: str) -> None:
    assert _estimates.how({**PLAN, **more}) == text

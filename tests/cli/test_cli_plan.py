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
    "devices": 1,
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
        (
            {"resident": True, "cut": True, "devices": 2},
            "edges in memory, and once more in parts for the devices",
        ),
        ({"passes": 0.0}, "no edges read"),
    ],
)
def test_how_a_run_goes(more: dict[str, Any], text: str) -> None:
    assert _estimates.how({**PLAN, **more}) == text


# Machines that are described

GPUS = "gpu:2x12GiB,link=16GB/s,pages=6GB/s,edges=750M/s"


def test_a_described_machine(cli: Cli, large: Path, measured: Measured) -> None:
    found = cli("plan", "pagerank", large, "--tol", 0, "--max-iter", 7, "--device", GPUS)
    assert found.code == 0, found.err
    first, second, *lines = found.out.splitlines()
    assert first.startswith(f"pagerank of {large}: ")
    assert "nothing was run or measured on a GPU" in second
    names = [line[2:15].strip() for line in lines if line]
    assert names == [
        *("machine", "graph", "pages", "passes", "values", "strategy", "on a device"),
        *("in the host", "kept", "parts", "time"),
    ]
    assert "2 GPUs of 12.9 GB" in found.out
    assert measured.times == 0


def test_a_described_machine_as_json(cli: Cli, large: Path) -> None:
    args = ("plan", "pagerank", large, "--tol", 0, "--max-iter", 7, "--json", "--device", GPUS)
    found = cli(*args, "--storage", "ssd:2x2.5GB/s,buffer=20%").data
    import penstock as ps

    graph = ps.open(large)
    assert (found["num_vertices"], found["num_edges"]) == (graph.num_vertices, graph.num_edges)
    assert (found["passes"], found["wa_bytes"]) == (7, 4 * graph.num_vertices)
    pages = found["pages"]
    assert (pages["p"], pages["q"], pages["page_bytes"]) == (2, 2, 1 << 20)
    assert pages["bytes"] == (pages["small"] + pages["large"]) * pages["page_bytes"]
    assert pages["bytes"] >= 4 * graph.num_edges + 12 * graph.num_vertices
    assert found["machine"]["devices"]["count"] == 2
    assert found["machine"]["storages"]["rate"] == 2.5e9
    assert found["bytes_read"] == pages["bytes"]  # then all are on the devices
    assert "nothing was run or measured" in found["model"]
    assert cli(*args).data["bytes_read"] == 0


def test_an_rmat_graph_that_is_not_there(cli: Cli) -> None:
    found = cli("plan", "pagerank", "--rmat", 30, "--device", GPUS)
    assert found.code == 0, found.err
    assert found.out.startswith("pagerank of an R-MAT graph of scale 30\n")
    assert "1,753 small and 0 large" in found.out
    data = cli("plan", "pagerank", "--rmat", 30, "--device", GPUS, "--json").data
    assert (data["rmat"], data["graph"], data["passes"]) == (30, None, 10)
    assert data["seconds"] == pytest.approx(153, rel=0.25)


def test_the_document_shows_what_is_printed(cli: Cli) -> None:
    document = Path(__file__).resolve().parents[2] / "docs" / "devices.md"
    printed = cli("plan", "pagerank", "--rmat", 30, "--device", GPUS).out
    assert f"```text\n{printed}```" in document.read_text()


def test_passes_and_pages_are_options(cli: Cli) -> None:
    args = ("plan", "bfs", "--rmat", 20, "--device", "gpu:64MB,link=1GB/s", "--json")
    found = cli(*args, "--passes", 2.5, "--page-size", "256KiB", "--physical-ids", "3,3").data
    assert found["passes"] == 2.5
    assert (found["pages"]["p"], found["pages"]["page_bytes"]) == (3, 256 << 10)
    assert cli(*args, "--passes", 1, "--page-size", "256KiB").data["pages"]["q"] == 2


def test_no_rate_of_kernels_is_said(cli: Cli) -> None:
    found = cli("plan", "pagerank", "--rmat", 31, "--device", "gpu:6GB,link=6GB/s")
    assert "kernels not counted: give edges=" in found.out
    assert "2 parts of them one after the other" in found.out


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("pagerank",), 2, "expected GRAPH"),
        (("pagerank", "--rmat", 9), 2, "rmat: is for a machine that is described; give --device"),
        (("pagerank", "g", "--storage", "ssd:1GB/s"), 2, "give --device too"),
        (("pagerank", "g", "--rmat", 9, "--device", GPUS), 2, "got both"),
        (("pagerank", "--rmat", 9, "--device", "gpu:1GB"), 2, "expected link=RATE"),
        (("pagerank", "--rmat", 99, "--device", GPUS), 2, "from 1 to 40, got 99"),
        (("pagerank", "--rmat", 9, "--device", GPUS, "--max-iter", 3), 2, "--max-iter"),
        (("pagerank", "--rmat", 9, "--device", GPUS, "--passes", 0), 2, "more than 0"),
        (("pagerank", "--rmat", 9, "--device", GPUS, "--physical-ids", "2,4"), 2, "--page-size"),
        (("pagerank", "--rmat", 9, "--device", GPUS, "--storage", "ssd"), 2, "storage: expected"),
        (("bfs", "--rmat", 9, "--device", GPUS), 2, "give --passes N"),
        (("triangles", "--rmat", 9, "--device", GPUS), 2, "got triangles"),
        (("pagerank", "--rmat", 9, "--device", "gpu:9kB,link=1GB/s"), 3, "9.0 kB is not enough"),
        (("pagerank", "--rmat", 9, "--device", GPUS, "--cache-pages", 0), 2, "cache-pages: is for"),
        (("pagerank", "--rmat", 9, "--device", GPUS, "--no-load"), 2, "no-load: is for runs on"),
    ],
)
def test_mistakes_with_machines(cli: Cli, args: tuple[object, ...], code: int, said: str) -> None:
    found = cli("plan", *args)
    assert found.code == code
    assert said in found.error


def test_the_time_of_a_gpu_is_not_known(cli: Cli, large: Path, measured: Measured) -> None:
    found = cli("plan", "pagerank", large, "--devices", "cuda")
    assert found.code == 0, found.err
    assert "not known on a GPU; describe it with --device" in found.out
    data = cli("plan", "pagerank", large, "--devices", "cuda", "--json").data
    assert data["seconds"] is None

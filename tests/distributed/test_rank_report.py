"""What people see of a run over hosts: the table of ranks, and progress on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.distributed import rank_progress
from penstock.distributed.rank_progress import RankProgress, ShownProgress
from penstock.interfaces.cli._rank_report import ranks_text
from penstock.interfaces.cli._run_report import iterations_text


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("ranks"), directed=True)


class Heard:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, float | None, str]] = []
        self.done: list[float] = []
        self.notes: list[str] = []

    def start(self, stage: str, total: float | None, unit: str) -> None:
        self.stages.append((stage, total, unit))
        self.done.append(0.0)

    def advance(self, amount: float) -> None:
        self.done[-1] += amount

    def note(self, text: str) -> None:
        self.notes.append(text)


# The table


def _row(rank: int, busy: float) -> dict[str, Any]:
    return {
        "rank": rank, "host": "abc"[rank], "own_vertices": 1000, "own_edges": 20_000,
        "bytes_read": 3_000_000, "io_seconds": 0.5, "decode_seconds": 0.25, "kernel_seconds": 1.0,
        "exchange_seconds": 0.125, "waiting_seconds": 4.0 - busy, "seconds": 4.0,
        "busy_seconds": busy, "sent_bytes": [0, 1500, 500], "received_bytes": [0, 0, 7],
        "peak_memory": 200_000_000, "base_memory": 100_000_000,
    }  # fmt: skip


def test_the_slowest_rank_is_marked() -> None:
    rows = [_row(0, 1.0), _row(1, 3.0), _row(2, 2.0)]
    text = ranks_text({"ranks": rows, "slowest_rank": 1, "dashboard": "http://h1:8787/status"})
    _, head, *lines = text.splitlines()
    assert head.split()[:4] == ["rank", "host", "vertices", "edges"]
    assert [line.split()[:2] for line in lines[:3]] == [["0", "a"], ["1", "*"], ["2", "c"]]
    assert "2.0 kB" in lines[0]
    assert "7 B" in lines[0]
    assert lines[3].strip() == (
        "* worked longest: rank 1 was busy for 3 s without waiting, half of the ranks for at most "
        "2 s"
    )
    assert lines[4].strip() == "Dask's dashboard: http://h1:8787/status"


def test_one_rank_is_not_slow() -> None:
    text = ranks_text({"ranks": [_row(0, 1.0)], "slowest_rank": 0, "dashboard": None})
    assert "*" not in text
    assert "ashboard" not in text


def test_one_host_has_no_table(graph: ps.Graph) -> None:
    assert ranks_text(ps.pagerank(graph, max_iter=1, tol=0).stats) == ""


def test_a_run_can_be_shown(graph: ps.Graph) -> None:
    found = ps.bfs(graph, 5, hosts=ThreadHosts(2))
    assert len(ranks_text(found.stats).splitlines()) == 5
    assert "waiting seconds" in iterations_text(found.iterations)


# Progress


def test_the_first_rank_reports_to_the_caller(graph: ps.Graph) -> None:
    heard, alone = Heard(), Heard()
    ps.pagerank(graph, max_iter=7, tol=0, load=False, hosts=ThreadHosts(3), progress=heard)
    ps.pagerank(graph, max_iter=7, tol=0, load=False, progress=alone)
    assert heard.stages[0][0] == "pagerank over 3 hosts"
    assert heard.stages[1:] == alone.stages
    assert heard.done[1:] == alone.done
    assert heard.done[-1] == 7


def test_messages_are_few(monkeypatch: Any) -> None:
    now = [100.0]
    monkeypatch.setattr(rank_progress, "clock", lambda: now[0])
    said: list[list[Any]] = []
    progress = RankProgress(said.append)
    progress.start("iterations", 1000, "iterations")
    for _ in range(1000):
        now[0] += 0.001
        progress.advance(1)
    assert 3 <= len(said) <= 6
    assert progress.state() == ["stage", 0, "iterations", 1000.0, "iterations", 1000.0]


def test_lost_and_late_messages_do_no_harm() -> None:
    heard = Heard()
    shown = ShownProgress(heard)
    shown.hear(["stage", 1, "b", 10.0, "edges", 4.0])
    shown.hear(["stage", 0, "a", None, "edges", 9.0])
    shown.hear(["stage", 1, "b", 10.0, "edges", 3.0])
    shown.hear(["note", "look"])
    shown.finish(["stage", 2, "c", 5.0, "pages", 5.0])
    shown.hear(["stage", 3, "d", 5.0, "pages", 5.0])
    assert [stage for stage, _, _ in heard.stages] == ["b", "c"]
    assert heard.done == [4.0, 5.0]
    assert heard.notes == ["look"]


def test_a_run_without_stages() -> None:
    heard = Heard()
    ShownProgress(heard).finish(RankProgress(None).state())
    assert heard.stages == []


def test_a_folder_on_the_command_line_needs_hosts(
    graph: ps.Graph, tmp_path: Path, capsys: Any
) -> None:
    from penstock.interfaces.cli.main import run

    assert run(["run", "pagerank", str(graph.path), "--out", str(tmp_path / "ranks")]) == 2
    assert "results in parts" in capsys.readouterr().err
    assert run(["run", "pagerank", str(graph.path), "--out", str(tmp_path / "ranks.txt")]) == 2
    assert ".parquet or .csv" in capsys.readouterr().err

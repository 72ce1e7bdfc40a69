"""Timelines of runs over hosts: those of all ranks in one file, on one clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.distributed.clocks import ClockOffset, clock_offsets, measure_offsets
from penstock.distributed.thread_peers import run_on_threads
from penstock.distributed.timelines import Timeline, rank_events
from penstock.drawing.timeline import lane_names, lanes_of
from penstock.errors import TargetExistsError
from penstock.trace import read_trace


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("ranks"), directed=True)


# Clocks


@pytest.mark.parametrize("offset", [0.0, 5.0, -7200.0])
def test_offsets_are_found_within_their_error(offset: float) -> None:
    rng = np.random.default_rng(2)
    sent, received = np.empty((2, 2, 8))
    now = 100.0
    for k in range(8):
        begins = now + rng.random(2) * 1e-3
        there, back = rng.random(2) * 1e-3
        sent[:, k] = begins
        received[:, k] = max(begins[0], begins[1] + back), max(begins[1], begins[0] + there)
        now = received[:, k].max()
    sent[1] += offset
    received[1] += offset
    first, second = clock_offsets(sent, received)
    assert first.seconds == 0.0
    assert abs(second.seconds - offset) <= second.error < 2e-3


def test_a_late_rank_is_measured_in_other_rounds() -> None:
    sent = np.array([[0.0, 10.0], [9.0, 10.0]])
    received = np.array([[9.5, 10.5], [9.0, 10.5]])
    assert clock_offsets(sent, received)[1] == ClockOffset(0.0, 0.5)


def test_ranks_of_one_host_share_a_clock() -> None:
    for found in run_on_threads(3, measure_offsets):
        assert [each.seconds for each in found] == [0.0, 0.0, 0.0]


# One file


def _timeline(host: str, begins: list[float], offsets: tuple[ClockOffset, ...]) -> Timeline:
    times = np.array(begins)
    kinds = np.zeros(len(times), np.uint8)
    return Timeline(
        host, 1, 0, kinds, kinds.astype(np.int32), np.arange(len(times)), times, times + 0.5,
        offsets,
    )  # fmt: skip


def test_events_are_on_the_clock_of_the_first_rank() -> None:
    offsets = (ClockOffset(0.0, 0.0), ClockOffset(1000.0, 0.001))
    timelines = [_timeline("a", [7.0], offsets), _timeline("b", [1006.0, 1008.0], offsets)]
    events = [each for each in rank_events(timelines) if each["ph"] == "X"]
    assert [(each["pid"], each["ts"]) for each in events] == [(1, 1e6), (2, 0.0), (2, 2e6)]
    assert [each["dur"] for each in events] == [5e5] * 3


def test_no_events_at_all() -> None:
    offsets = (ClockOffset(0.0, 0.0),)
    assert [each["ph"] for each in rank_events([_timeline("a", [], offsets)])] == ["M", "M"]


@pytest.mark.parametrize("size", [1, 3])
def test_a_run_writes_one_file(graph: ps.Graph, tmp_path: Path, size: int) -> None:
    path = tmp_path / "trace.json"
    result = ps.pagerank(graph, hosts=ThreadHosts(size), load=False, max_iter=3, tol=0, trace=path)
    assert result.stats["trace"] == path
    assert [each.name for each in tmp_path.iterdir()] == ["trace.json"]
    document = json.loads(path.read_text())
    names = {
        each["pid"]: each["args"]["name"]
        for each in document["traceEvents"]
        if each["name"] == "process_name"
    }
    assert [name.split(" (")[0] for _, name in sorted(names.items())] == [
        f"rank {rank}" for rank in range(size)
    ]
    clocks = document["otherData"]["clocks"]
    assert all(each["clock_ahead_seconds"] == 0.0 for each in clocks.values())
    assert len(clocks) == size
    spans = read_trace(path)
    assert {span.rank for span in spans} == set(range(size))
    for rank in range(size):
        parts = {span.part for span in spans if span.rank == rank}
        assert parts >= ({"read", "kernel", "wait", "exchange"} if size > 1 else {"read", "kernel"})
    assert min(span.begin_ms for span in spans) == 0.0
    assert max(span.begin_ms + span.length_ms for span in spans) < 1e3 * result.stats["seconds"]


def test_a_file_that_is_there_stays(graph: ps.Graph, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("mine")
    with pytest.raises(TargetExistsError, match="already exists"):
        ps.pagerank(graph, hosts=ThreadHosts(2), trace=path)
    assert path.read_text() == "mine"
    ps.pagerank(graph, hosts=ThreadHosts(2), max_iter=1, tol=0, trace=path, overwrite=True)
    assert read_trace(path)


def test_lanes_are_grouped_by_rank(graph: ps.Graph, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    result = ps.bfs(graph, 5, hosts=ThreadHosts(2), threads=2, load=False, trace=path)
    lanes, _ = lanes_of(read_trace(path))
    assert list(lanes) == sorted(lanes)
    places, names, what = lane_names(list(lanes))
    assert (names, what) == (["0", "1"], "rank")
    assert [list(lanes)[place][0] for place in places] == [0, 1]
    pytest.importorskip("matplotlib")
    result.plot("timeline", path=tmp_path / "trace.png")
    assert (tmp_path / "trace.png").stat().st_size > 1000

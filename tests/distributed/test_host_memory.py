"""What each of several hosts holds in memory: by its own arrays, and by what the system counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.distributed.thread_peers import ThreadPeers
from penstock.engine import shared_state
from penstock.engine.exchange import Chunks
from penstock.engine.host_memory import MOST_CHUNKS
from penstock.engine.peers import Peers
from penstock.types import Array

#: What a run may hold beyond what is planned.
SPARE_BYTES = 40_000_000


def _arrays(state: Any) -> dict[str, Array]:
    found = {**state.old, **{f"{name}'": array for name, array in state.new.items()}}
    found.update(state._read_only)
    return found


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The values of the ranks of every run."""
    made: list[Any] = []
    init = shared_state.SharedState.__init__

    def keep(self: Any, *args: Any) -> None:
        made.append(self)
        init(self, *args)

    monkeypatch.setattr(shared_state.SharedState, "__init__", keep)
    return made


def test_only_what_is_gathered_is_there_in_full(tmp_path: Path, states: list[Any]) -> None:
    graph = build_hard(tmp_path, directed=True)
    given = {3: 1.0, 5: 2.0}
    everyone = np.ones(graph.num_vertices)
    for options in ({}, {"personalization": given}, {"personalization": everyone}):
        ps.pagerank(graph, hosts=ThreadHosts(3), max_iter=3, tol=0, **options)
    assert len(states) == 9
    for state in states:
        lengths = {name: len(array) for name, array in _arrays(state).items()}
        assert lengths.pop("share") == graph.num_vertices
        assert set(lengths.values()) == {state._own.count}
        assert state._own.count < graph.num_vertices / 2
        assert "named" not in state._engine.budget.holders


def test_what_is_counted_is_what_arrays_take(tmp_path: Path, states: list[Any]) -> None:
    graph = build_hard(tmp_path, directed=False)
    ps.heat(graph, {3: 1.0}, hosts=ThreadHosts(2), max_iter=2)
    for state in states:
        counted = {
            name: size
            for name, size in state._engine.budget.holders.items()
            if name.startswith("state ")
        }
        for name, array in _arrays(state).items():
            assert counted[f"state {name!r}"] == array.nbytes


def test_a_rank_that_needs_nothing_is_sent_nothing(tmp_path: Path) -> None:
    """Every list names vertex 0 alone: after the first pass only its value is sent."""
    n = 4000
    star = ps.build((np.zeros(n - 1, int), np.arange(1, n)), tmp_path / "star.penstock")
    sent: list[int] = []

    def count(self: Any, rank: int, *arrays: Array) -> None:
        sent.append(max((each.nbytes for each in arrays), default=0))
        post(self, rank, *arrays)

    with pytest.MonkeyPatch.context() as patch:
        post = ThreadPeers.post
        patch.setattr(ThreadPeers, "post", count)
        hosts = ThreadHosts(2)
        ps.pagerank(star, hosts=hosts, max_iter=12, tol=0)
        first = len(sent)
        ps.pagerank(star, hosts=hosts, max_iter=12, tol=0)
    assert max(sent[:first]) >= n // 3  # everything at first
    assert max(sent[first - 12 :]) <= 64, "the next call remembers"


# Processes


def _reset_peak(peers: Peers, _: None) -> int:
    """Forget the peak of this process; what it holds now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak(peers: Peers, _: None) -> int:
    return _status("VmHWM")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(name)]
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the system cannot reset the peak of memory"
)
def test_peak_of_processes(tmp_path: Path) -> None:
    """Ranks grow by no more than what was planned, and 40 MB."""
    pytest.importorskip("distributed")
    n = 4_000_000
    rng = np.random.default_rng(1)
    edges = rng.integers(0, n, n // 4), rng.integers(0, n, n // 4)
    graph = ps.build(edges, tmp_path / "wide.penstock", num_vertices=n)
    small = ps.build(([0, 1], [1, 2]), tmp_path / "small.penstock")
    expected = ps.pagerank(graph, max_iter=3, tol=0)
    with ps.Hosts(2) as hosts:
        for load, rows in [(False, 1), (True, 1), (False, 2), (True, 2)]:
            given = {"max_iter": 3, "tol": 0, "load": load, "division": f"S{rows}", "hosts": hosts}
            ps.pagerank(small, threads=1, **given)  # brings the kernels
            before = hosts.run(_reset_peak, None)
            found = ps.pagerank(graph, threads=1, memory="180MB", **given)
            grown = [b - a for a, b in zip(before, hosts.run(_peak, None), strict=True)]
            planned = found.stats["planned_memory"]
            assert found.stats["host_rows"] == rows
            assert max(grown) <= planned + SPARE_BYTES
            assert min(grown) >= 4 * n // rows
            np.testing.assert_array_equal(found.values, expected.values)
            if rows == 1:  # what is gathered, three times, beside what is local
                assert planned < (3 * 4 + 12) * n + 12_000_000


def test_chunks_are_few() -> None:
    for length, width in [(0, 4), (1, 8), (1 << 20, 4), (1 << 28, 4), (999_999, 1)]:
        chunks = Chunks.of(length, width)
        assert chunks.number <= MOST_CHUNKS
        assert (chunks.number - 1) * chunks.size < max(length, 1) <= chunks.number * chunks.size

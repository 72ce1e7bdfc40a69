"""A rank that is slow passes pages to the others when an epoch ends; the bits stay the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.distributed import jobs
from penstock.distributed.balancing import MOST_TIMES
from penstock.engine import plan
from penstock.engine.pace import SLOW, TIMES, Pace
from penstock.engine.peers import Arrays, Collectives, Peers
from penstock.errors import BudgetError
from penstock.types import Array

SLOW_RANK = 1


class SlowPeers(Collectives):
    """A rank that takes long before each exchange: as if its processor was slow."""

    def __init__(self, peers: Peers, seconds: Callable[[], float]) -> None:
        self.rank, self.size = peers.rank, peers.size
        self._peers = peers
        self._seconds = seconds
        self._slept = False

    def post(self, rank: int, *arrays: Array) -> None:
        if not self._slept:
            self._slept = True
            time.sleep(self._seconds())
        self._peers.post(rank, *arrays)

    def drain(self) -> list[list[Arrays]]:
        self._slept = False
        return self._peers.drain()


class SlowHosts(ThreadHosts):
    """Hosts of which one is slow."""

    def __init__(self, size: int, seconds: float = 0.02) -> None:
        super().__init__(size)
        self.seconds = seconds

    def run(self, function: Callable[..., Any], *args: Any, heard: Any = None) -> list[Any]:
        def slow(peers: Peers, *args: Any) -> Any:
            if peers.rank == SLOW_RANK:
                return function(SlowPeers(peers, lambda: self.seconds), *args)
            return function(peers, *args)

        return super().run(slow, *args, heard=heard)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("slow"), directed=True)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.setenv("PENSTOCK_SCRATCH", str(tmp_path))
    return tmp_path


OFTEN: dict[str, Any] = {"checkpoint_every": "0.1s", "threads": 1}
CALLS: dict[str, Callable[..., ps.Result]] = {
    "pagerank": lambda g, **k: ps.pagerank(g, tol=0, max_iter=40, **k),
    "heat": lambda g, **k: ps.heat(g, {3: 1.0}, max_iter=40, **k),
    "sssp": lambda g, **k: ps.sssp(g, 5, **k),
}


def assert_less(found: ps.Result, size: int) -> None:
    """The slow rank has fewer pages than others."""
    row = found.stats["redealt"][-1]
    assert row["slow_rank"] == SLOW_RANK
    assert row["shares"][SLOW_RANK] < 1 / size < max(row["shares"])
    assert abs(sum(row["shares"]) - 1) < 1e-9
    edges = [each["own_edges"] for each in found.stats["ranks"]]
    assert edges[SLOW_RANK] == min(edges)


@pytest.mark.parametrize("where", [{"load": True}, {"load": False}], ids=["memory", "streamed"])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("size", [2, 3])
def test_a_slow_rank_gets_fewer_pages(
    graph: ps.Graph, name: str, where: Any, size: int, scratch: Path
) -> None:
    expected = CALLS[name](graph)
    found = CALLS[name](graph, hosts=SlowHosts(size), **where, **OFTEN)
    np.testing.assert_array_equal(found.values, expected.values)
    if name == "sssp":
        np.testing.assert_array_equal(found.parents, expected.parents)
    else:
        assert_less(found, size)
        assert found.stats["epochs"]["resumed_after"] is not None
        assert len(found.stats["redealt"]) <= MOST_TIMES
    assert [path for path in scratch.rglob("*") if path.is_file()] == []


def test_in_a_folder_of_the_user(graph: ps.Graph, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    notes: list[str] = []

    class Progress:
        def start(self, stage: str, total: float | None, unit: str) -> None: ...
        def advance(self, amount: float) -> None: ...
        def note(self, text: str) -> None:
            notes.append(text)

    found = CALLS["pagerank"](
        graph, hosts=SlowHosts(3), checkpoint=folder, overwrite=True, progress=Progress(), **OFTEN
    )
    np.testing.assert_array_equal(found.values, CALLS["pagerank"](graph).values)
    assert_less(found, 3)
    assert not folder.exists()
    assert any(note.startswith("rank 1 is slow; after step ") for note in notes)


def test_ranks_of_one_speed_keep_their_pages(graph: ps.Graph) -> None:
    found = CALLS["pagerank"](graph, hosts=SlowHosts(3, 0.0), **OFTEN)
    assert "redealt" not in found.stats


def test_stripes_pass_to_hosts_that_have_copies(graph: ps.Graph, tmp_path: Path) -> None:
    from penstock.distributed.dealing import deal

    paths = [tmp_path / f"host{k}" for k in range(3)]
    for path in paths:
        path.mkdir()
    deal(graph, paths, copies=2, num_stripes=12)

    class Dealt(SlowHosts):
        def run(self, function: Callable[..., Any], *args: Any, heard: Any = None) -> list[Any]:
            def on_rank(peers: Peers, job: Any, *more: Any) -> Any:
                if isinstance(job, jobs.Job):
                    job = replace(job, path=paths[peers.rank] / "hard.penstock")
                return function(peers, job, *more)

            return super().run(on_rank, *args, heard=heard)

    found = CALLS["pagerank"](graph, hosts=Dealt(3), load=False, **OFTEN)
    np.testing.assert_array_equal(found.values, CALLS["pagerank"](graph).values)
    assert_less(found, 3)


def test_pages_stay_where_others_have_no_room(graph: ps.Graph, monkeypatch: Any) -> None:
    make, planned = plan.make_plan, []

    def refuse(counts: Any, requirements: Any, options: Any, **more: Any) -> Any:
        planned.append(options.dealt)
        if options.dealt:
            raise BudgetError("no room")
        return make(counts, requirements, options, **more)

    monkeypatch.setattr("penstock.engine.planning.make_plan", refuse)
    found = CALLS["pagerank"](graph, hosts=SlowHosts(2), **OFTEN)
    np.testing.assert_array_equal(found.values, CALLS["pagerank"](graph).values)
    assert any(planned)
    assert "redealt" not in found.stats


def test_slow_is_slow_every_time() -> None:
    pace = Pace()
    for _ in range(TIMES - 1):
        pace.add([1.0, SLOW + 0.1, 1.1])
        assert pace.slow is None
    pace.add([1.0, SLOW, 1.0])
    assert pace.slow is None, "once it was not"
    for _ in range(TIMES):
        pace.add([1.0, 1.0, 9.0])
    assert pace.slow is not None
    assert pace.slow.rank == 2
    assert pace.slow.seconds[0] == TIMES


def test_one_of_two_can_be_slow() -> None:
    pace = Pace()
    for _ in range(TIMES):
        pace.add([1.0, 1.6])
    assert pace.slow is not None

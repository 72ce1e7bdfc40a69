"""Processes that run ranks are killed or frozen in the middle of a run, which goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_making import build_hard

import penstock as ps
from penstock.distributed.losses import RankLostError
from penstock.errors import WorkerError

pytest.importorskip("distributed")

PATIENCE = 2.0
Until = Callable[[Mapping[str, float]], bool]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("lost"), directed=True)


@pytest.fixture(scope="module", autouse=True)
def scratch(tmp_path_factory: Any) -> Iterator[Path]:
    """The scratch folder of all workers."""
    folder = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_SCRATCH", str(folder))
        yield folder


@pytest.fixture(scope="module")
def hosts(scratch: Path) -> Iterator[ps.Hosts]:
    with ps.Hosts(3, threads=1, patience=PATIENCE) as made:
        yield made


def _program() -> ps.Program:
    return ps.Program(
        state={"level": np.float64},
        init=lambda vertex: vertex.index * 1.0,
        gather=lambda src, edge, dst: src.level * edge.weight,
        sum="add",
        identity=0.0,
        apply=lambda old, a: 0.5 * old.level + 1e-3 * a,
        totals={"change": lambda new, old: abs(new.level - old.level)},
        name="slow",
    )


def _signalling(marker: Path, number: int) -> Until:
    """Called after each iteration on each rank: the first process that comes to its fourth call
    gets a signal.
    """
    calls: list[int] = []

    def until(totals: Mapping[str, float]) -> bool:
        calls.append(1)
        if len(calls) == 4:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            except FileExistsError:
                return False
            marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), number)
            time.sleep(0.1)
        return False

    return until


def _run(graph: ps.Graph, **more: Any) -> Any:
    return ps.run(graph, _program(), max_iter=8, params={"change": 0.0}, **more)


def left(folder: Path) -> list[Path]:
    """The files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def assert_went_on(found: Any, expected: Any) -> None:
    """The result has the same bits, after one loss."""
    np.testing.assert_array_equal(found.values, expected.values)
    assert len(found.stats["losses"]) == 1
    assert found.stats["epochs"]["resumed_after"] in (3, 4)
    assert found.stats["totals"] == expected.stats["totals"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_worker_is_lost(
    graph: ps.Graph, hosts: ps.Hosts, scratch: Path, tmp_path: Path, number: int
) -> None:
    marker = tmp_path / "marker"
    began = time.monotonic()
    found = _run(graph, hosts=hosts, until=_signalling(marker, number), checkpoint_every="1")
    assert_went_on(found, _run(graph))
    (loss,) = found.stats["losses"]
    assert loss["pid"] == int(marker.read_text())
    assert time.monotonic() - began < 60
    assert left(scratch) == []
    # The workers are all there again, for the next call.
    deadline = time.monotonic() + 60
    while hosts.size < 3 and time.monotonic() < deadline:
        hosts.recover()
    assert _run(graph, hosts=hosts).stats["hosts"] == 3


def test_a_worker_that_is_frozen_before_the_call(graph: ps.Graph, hosts: ps.Hosts) -> None:
    """It is no rank yet, and is replaced."""
    count = hosts.size
    os.kill(hosts.describe()[-1]["pid"], signal.SIGSTOP)
    found = _run(graph, hosts=hosts)
    np.testing.assert_array_equal(found.values, _run(graph).values)
    assert [loss["rank"] for loss in found.stats["losses"]] == [count - 1]
    deadline = time.monotonic() + 60
    while hosts.size < count and time.monotonic() < deadline:
        hosts.recover()
    assert hosts.size == count


def test_only_own_processes_are_ended(tmp_path: Path) -> None:
    """The number of a process on another machine may be that of one here."""
    from penstock.distributed.dask_crew import DaskCrew
    from penstock.distributed.dask_local import start_cluster

    with start_cluster(1) as cluster:
        crew = DaskCrew.connect(cluster.scheduler_address, cluster=cluster, patience=PATIENCE)
        with crew:
            (rank,) = crew.describe()
            os.kill(rank["pid"], signal.SIGSTOP)
            with pytest.raises(RankLostError, match="did not begin in time"):
                crew.run(len)
            assert Path(f"/proc/{rank['pid']}").exists()
            os.kill(rank["pid"], signal.SIGCONT)


def test_a_frozen_worker_of_a_cluster_that_was_there(graph: ps.Graph, tmp_path: Path) -> None:
    """It is left out, also when it goes on."""
    from distributed import Client, LocalCluster

    marker = tmp_path / "marker"
    until = _signalling(marker, signal.SIGSTOP)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
            memory_limit=0, silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        ps.Hosts(client, threads=1, patience=PATIENCE) as hosts,
    ):  # fmt: skip
        found = _run(graph, hosts=hosts, until=until, checkpoint_every="1")
        assert_went_on(found, _run(graph))
        assert found.stats["hosts"] == 1
        os.kill(int(marker.read_text()), signal.SIGCONT)
        again = _run(graph, hosts=hosts)
        np.testing.assert_array_equal(again.values, found.values)
        assert again.stats["hosts"] == 1


def test_an_interrupted_run_goes_on_later(graph: ps.Graph, hosts: ps.Hosts, tmp_path: Path) -> None:
    """Every attempt loses a worker; what was saved stays in the folder of the user's."""
    folder = tmp_path / "kept"

    def until(totals: Mapping[str, float]) -> bool:
        raise ValueError("a fault of the program's")

    with pytest.raises(ValueError, match="a fault of the program's") as caught:
        _run(graph, hosts=hosts, until=until, checkpoint=folder, checkpoint_every="1")
    assert not isinstance(caught.value, WorkerError)
    assert not isinstance(caught.value, RankLostError)
    marker = tmp_path / "marker"
    found = _run(
        graph, hosts=hosts, until=_signalling(marker, signal.SIGKILL), checkpoint=folder,
        checkpoint_every="1",
    )  # fmt: skip
    assert_went_on(found, _run(graph))
    assert not folder.exists()

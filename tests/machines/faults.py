"""What can happen to machines during a run, and the results that are accepted."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machines.asking import Answer
from machines.cluster import Cluster, kill
from machines.local import LocalWorkers

#: Seconds in which a call must end after a fault.
MOST_SECONDS = 60.0
#: Whether a run goes on after the loss of a rank. If not, an error is as good as the same bits.
RUNS_SURVIVE = True
#: The faults after which a run goes on.
SURVIVED = frozenset({"worker killed", "host killed"})
#: Faults for which there need be no machines.
LOCAL = ("worker killed", "worker stopped", "caller killed")

#: What an error says of where it happened, and of what to do.
_WHERE = re.compile(r"\brank \d+|\bworkers? |\bscheduler\b|\bhost\b|machine\d|tcp://|tls://")
_WHAT_TO_DO = re.compile(r"\bagain\b|\bresume\b")


@dataclass(frozen=True)
class Fault:
    """``strike`` makes it happen to a rank; ``heal`` takes it away. What was killed is started
    again by the cluster.
    """

    strike: Callable[[Any, Mapping[str, Any]], None]
    heal: Callable[[Any, Mapping[str, Any]], None]


def _nothing(cluster: Any, rank: Mapping[str, Any]) -> None:
    """What was killed needs no help."""


def _kill_worker(cluster: Cluster | LocalWorkers, rank: Mapping[str, Any]) -> None:
    kill(rank["pid"])


def _kill_host(cluster: Cluster, rank: Mapping[str, Any]) -> None:
    machine = cluster.machine_of(rank)
    assert machine.number != 0, "the caller is there"
    for pid in machine.pids():
        kill(pid)


def _stop_worker(cluster: Cluster | LocalWorkers, rank: Mapping[str, Any]) -> None:
    kill(rank["pid"], signal.SIGSTOP)


def _continue_worker(cluster: Cluster | LocalWorkers, rank: Mapping[str, Any]) -> None:
    kill(rank["pid"], signal.SIGCONT)


def _unplug(cluster: Cluster, rank: Mapping[str, Any]) -> None:
    cluster.machine_of(rank).unplug()


def _plug(cluster: Cluster, rank: Mapping[str, Any]) -> None:
    cluster.machine_of(rank).plug()


def _flap(cluster: Cluster, rank: Mapping[str, Any]) -> None:
    """For less than it takes to count as lost."""
    _unplug(cluster, rank)
    time.sleep(2.0)
    _plug(cluster, rank)


def _losing(percent: int) -> Fault:
    return Fault(
        lambda cluster, rank: cluster.machine_of(rank).lose(percent),
        lambda cluster, rank: cluster.machine_of(rank).lose_nothing(),
    )


def _filler(cluster: Cluster, rank: Mapping[str, Any]) -> Path:
    """A file on the disk of a machine, which only its own processes have."""
    folder = cluster.machine_of(rank).folder
    return Path(f"/proc/{rank['pid']}/root{folder}") / "filler"


def _fill(cluster: Cluster, rank: Mapping[str, Any]) -> None:
    assert cluster.network.share.disk_bytes is not None, "it would fill the disk of this machine"
    with suppress(OSError), open(_filler(cluster, rank), "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):
                while file.write(bytes(size)):
                    pass


def _empty(cluster: Cluster, rank: Mapping[str, Any]) -> None:
    with suppress(OSError):
        os.unlink(_filler(cluster, rank))


def _kill_scheduler(cluster: Cluster, rank: Mapping[str, Any]) -> None:
    assert cluster.scheduler is not None
    kill(cluster.scheduler.pid)
    cluster.scheduler.wait(30)


def _kill_caller(cluster: Cluster | LocalWorkers, rank: Mapping[str, Any]) -> None:
    assert cluster.caller is not None
    kill(cluster.caller.process.pid)
    cluster.caller.process.wait(30)


FAULTS: dict[str, Fault] = {
    "worker killed": Fault(_kill_worker, _nothing),
    "host killed": Fault(_kill_host, _nothing),
    "worker stopped": Fault(_stop_worker, _continue_worker),
    "link down": Fault(_unplug, _plug),
    "link down for 2 s": Fault(_flap, _nothing),
    "5 % of packets lost": _losing(5),
    "30 % of packets lost": _losing(30),
    "disk full": Fault(_fill, _empty),
    "scheduler killed": Fault(_kill_scheduler, _nothing),
    "caller killed": Fault(_kill_caller, _nothing),
}


def must_survive(kind: str) -> bool:
    """Whether a run must end with the same bits after a fault."""
    return RUNS_SURVIVE and kind in SURVIVED


def judge(answer: Answer | None, expected: str, *, survives: bool) -> str:
    """What is wrong with how a call ended after a fault; empty if nothing is."""
    if answer is None:
        return f"no answer within {MOST_SECONDS:.0f} s"
    if "digest" in answer:
        return "" if answer["digest"] == expected else "a wrong answer"
    text = answer["error"]
    if not answer["planned"]:
        return f"an error that is not Penstock's: {answer['type']}"
    if "\n" in text or not text.strip():
        return "an error that is not one line"
    if not _WHERE.search(text):
        return "an error that does not say where"
    if not _WHAT_TO_DO.search(text):
        return "an error that does not say what to do"
    return "an error where the run should go on" if survives else ""

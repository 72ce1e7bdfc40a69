"""What Dask workers run: a rank is opened, takes part in a run, and ends.

A rank is opened by one call and run by a task, so its connections are kept in between, by name of
the job. A rank that is opened but not run ends by itself; so does one whose client is gone.
"""

from __future__ import annotations

import os
import pickle
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from distributed import get_worker

from penstock.distributed.dask_peers import CommPeers
from penstock.distributed.rank_limits import limits_here
from penstock.engine.peers import PeerLost
from penstock.errors import WorkerError

#: Seconds without a message from the client after which a rank ends.
LEASE_SECONDS = 120.0
#: The topic of Dask's events for messages of ranks to their caller: [job, message].
TOPIC = "penstock"
#: The ranks of this process, by name of the job and rank.
_OPEN: dict[tuple[str, int], CommPeers] = {}


@dataclass(frozen=True)
class Job:
    """What is the same for all ranks of a run."""

    name: str
    secret: str = field(repr=False)
    epoch: int
    size: int
    patience: float
    begin_seconds: float
    #: Whether ranks may listen beyond their machine without encryption.
    insecure: bool = False
    #: Whether the caller wants the messages of the first rank.
    is_heard: bool = False


@dataclass(frozen=True)
class Place:
    """Where a rank is."""

    rank: int
    worker: str
    address: str
    host: str
    pid: int

    def __str__(self) -> str:
        return f"rank {self.rank} (host {self.host}, process {self.pid}, worker {self.worker})"


@dataclass(frozen=True)
class Outcome:
    """How a rank ended: with a value, an error of its own, or the loss of another."""

    rank: int
    value: Any = None
    error: BaseException | None = None
    lost: tuple[int, str] | None = None
    #: Why the rank itself is gone, if it is.
    gone: str | None = None
    when: float = 0.0

    @property
    def good(self) -> bool:
        """Whether it ended with a value."""
        return self.error is None and self.lost is None and self.gone is None


def open_rank(job: Job, rank: int, host: str, dask_worker: Any) -> Place | None:
    """Begin to listen; None if the worker is busy. Dask passes the worker."""
    worker = dask_worker
    if worker.state.executing_count:
        return None
    for key in [key for key, peers in _OPEN.items() if peers.closed]:
        del _OPEN[key]
    encrypted = worker.address.startswith("tls://")
    peers = CommPeers(
        rank,
        job.size,
        secret=job.secret,
        epoch=job.epoch,
        host=host,
        security=worker.security if encrypted else None,
        patience=job.patience,
        insecure=job.insecure,
    )
    peers.expire_in(job.begin_seconds)
    _OPEN[job.name, rank] = peers
    return Place(rank, worker.address, peers.address, socket.gethostname(), os.getpid())


def run_rank(
    job: Job, rank: int, addresses: Sequence[str], function: Callable[..., Any], args: Any
) -> Outcome:
    """Take part in a run, and close all connections."""
    peers = _OPEN.get((job.name, rank))
    if peers is None:
        return Outcome(rank, gone="its process was restarted")
    peers.expire_in(LEASE_SECONDS)
    if rank == 0 and job.is_heard:
        peers.tell = partial(_tell, get_worker(), job.name)
    reason: str | None = "it was interrupted"
    try:
        peers.connect(addresses, seconds=job.begin_seconds)
        value = function(peers, *args)
        reason = None
        return Outcome(rank, value=value)
    except PeerLost as lost:
        reason = str(lost)
        return Outcome(rank, lost=(lost.rank, lost.reason), when=time.time())
    except BaseException as error:
        when, reason = time.time(), f"{type(error).__name__}: {error}"
        return Outcome(rank, error=_portable(error), when=when)
    finally:
        peers.close(reason)
        _OPEN.pop((job.name, rank), None)


def _tell(worker: Any, name: str, message: list[Any]) -> None:
    """Report progress to the caller, unless the scheduler is gone, which ends the run anyway."""
    with suppress(OSError):
        worker.log_event(TOPIC, [name, message])


def end_rank(name: str, rank: int, reason: str) -> None:
    """Make a rank end at its next exchange, or at once if it was not run."""
    peers = _OPEN.get((name, rank))
    if peers is not None:
        peers.abort(reason)
        peers.expire_in(0.0)


def keep_rank(name: str, rank: int) -> bool:
    """Called by the client while it is there. Returns whether the rank is."""
    peers = _OPEN.get((name, rank))
    if peers is not None:
        peers.expire_in(LEASE_SECONDS)
    return peers is not None


def open_ranks() -> int:
    """How many ranks are open in this process."""
    return sum(not peers.closed for peers in _OPEN.values())


def describe_worker() -> dict[str, Any]:
    """The machine of a worker."""
    import psutil

    limits = limits_here()
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "memory_bytes": limits.memory or psutil.virtual_memory().total,
        "processors": len(os.sched_getaffinity(0)),
        "threads": limits.threads,
    }


def _portable(error: BaseException) -> BaseException:
    """The error, with its traceback in a note. If it cannot be pickled, a :class:`WorkerError` that
    quotes it.
    """
    lines = "".join(traceback.format_exception(error))
    found = error.with_traceback(None)
    found.__cause__ = found.__context__ = None
    try:
        again = pickle.loads(pickle.dumps(found))
        if type(again) is not type(found):
            raise TypeError(type(again).__name__)
    except Exception:
        found = WorkerError(f"{type(error).__name__}: {error}")
    found.add_note(lines.rstrip())
    return found

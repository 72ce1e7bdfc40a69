"""What a rank may use of its machine, as its worker was started: in the worker's environment."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.config import memory_budget
from penstock.engine.peers import Peers

_MEMORY, _THREADS = "PENSTOCK_RANK_MEMORY", "PENSTOCK_RANK_THREADS"


@dataclass(frozen=True, slots=True)
class RankLimits:
    """Bytes and threads; None: not given."""

    memory: int | None = None
    threads: int | None = None

    def memory_for(self, asked: int | None, share: int) -> int:
        """Bytes of a run: what was asked for, but no more than the worker has; or all that it has;
        or a share of the machine.

        >>> RankLimits(memory=100).memory_for(300, 50), RankLimits().memory_for(300, 50)
        (100, 300)
        """
        if asked is None:
            return share if self.memory is None else self.memory
        return asked if self.memory is None else min(asked, self.memory)

    def threads_for(self, asked: int | None, share: int) -> int:
        """Threads of a run: those that were asked for, or those of the worker, or a share."""
        return asked or self.threads or share


def limits_here(environment: Mapping[str, str] = os.environ) -> RankLimits:
    """Those of this process."""
    memory, threads = environment.get(_MEMORY), environment.get(_THREADS)
    return RankLimits(int(memory) if memory else None, int(threads) if threads else None)


class Means(NamedTuple):
    """What a run may use on one rank."""

    memory: int
    threads: int


def means_of(peers: Peers, *, memory: int | None = None, threads: int | None = None) -> Means:
    """The memory and threads of this rank, of which so much was asked for. Ranks on one machine
    divide what is there; all ranks call it at once.
    """
    name = np.frombuffer(socket.gethostname().encode().ljust(64, b"\0")[:64], np.uint8)
    together = sum(bool((each == name).all()) for (each,) in peers.allgather(name))
    limits = limits_here()
    return Means(
        limits.memory_for(memory, memory_budget(None) // together),
        limits.threads_for(threads, max(len(os.sched_getaffinity(0)) // together, 1)),
    )


def limits_as_environment(limits: RankLimits) -> dict[str, str]:
    """The environment variables for the same limits.

    >>> limits_here(limits_as_environment(RankLimits(5, 2)))
    RankLimits(memory=5, threads=2)
    """
    given = {_MEMORY: limits.memory, _THREADS: limits.threads}
    return {name: str(value) for name, value in given.items() if value is not None}

"""The offsets of the ranks' clocks, measured with messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.engine.peers import Peers
from penstock.metrics import clock
from penstock.types import Array

#: Rounds of messages; the best of them is used.
ROUNDS = 8


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """How far a rank's clock is ahead of that of rank 0, in seconds, and the error bound."""

    seconds: float
    error: float


def measure_offsets(peers: Peers) -> list[ClockOffset]:
    """The offset of every rank's clock. All ranks take part."""
    sent: Array = np.empty(ROUNDS)
    received: Array = np.empty(ROUNDS)
    nothing: Array = np.empty(0)
    for k in range(ROUNDS):
        sent[k] = clock()
        peers.allgather(nothing)
        received[k] = clock()
    times = peers.allgather(sent, received)
    return clock_offsets(*(np.array(each) for each in zip(*times, strict=True)))


def clock_offsets(sent: Array, received: Array) -> list[ClockOffset]:
    """The offset of each clock, from the times at which each rank sent to all others and had
    received from all of them, both by rank and round.

    The time from rank 0 to another rank, by their clocks, is the delay plus the offset; the time
    back is the delay minus the offset. Half of the difference of the shortest times is the offset,
    with an error of at most half of the round trip. An offset smaller than its error counts as 0:
    the ranks of one host share its clock.

    >>> sent = np.array([[0.0], [100.0]])
    >>> clock_offsets(sent, np.array([[0.25], [100.75]]))[1]
    ClockOffset(seconds=100.25, error=0.5)
    """
    found = []
    for rank in range(len(sent)):
        there = float((received[rank] - sent[0]).min())
        back = float((received[0] - sent[rank]).min())
        seconds, error = (there - back) / 2, max((there + back) / 2, 0.0)
        found.append(ClockOffset(0.0 if rank == 0 or abs(seconds) <= error else seconds, error))
    return found

"""How several devices divide an iteration. Pure functions of measured numbers.

Strategy P (GStream): every device has all values that lists are gathered from, and a page goes to
one device. Strategy S: each device has a part of the values, and every page goes to all of them.

Devices that differ share an iteration page by page, a page to whichever is free. Those that only
pull (GPUs) go over all pages; the *host* can look at fewer of them if few vertices are active. So
before each iteration it is decided whether the host works alone, its own way, or all pull.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from penstock.config import format_bytes
from penstock.errors import BudgetError

#: Gathered values are divided into at most this many ranges: the topology passes once for each.
MOST_RANGES = 256


@dataclass(frozen=True, slots=True)
class Shares:
    """A division of the gathered values."""

    division: Literal["P", "S"]
    #: Into so many ranges altogether; in S each device has one at a time, in P all have the same.
    ranges: int


#: Nothing is divided.
ONE = Shares("P", 1)


def divide(gathered_bytes: int, rooms: Sequence[int | None], asked: str = "auto") -> Shares:
    """Which strategy, and in how many ranges; ``rooms`` are the bytes that each device has for the
    values (None: as many as they take).
    """
    count = len(rooms)
    limits = [room for room in rooms if room is not None]
    room = min(limits, default=gathered_bytes)
    fits = gathered_bytes <= room
    division: Literal["P", "S"] = "S" if asked == "S" or (asked == "auto" and not fits) else "P"
    if count == 1:
        division = "P"
    together = count if division == "S" else 1
    rounds = 1 if room >= gathered_bytes else -(-gathered_bytes // max(together * room, 1))
    if rounds * together > MOST_RANGES:
        enough = -(-gathered_bytes // (MOST_RANGES // together * together))
        raise BudgetError(
            f"devices: {format_bytes(room)} on a device is not enough: the values that lists are "
            f"gathered from take {format_bytes(gathered_bytes)} and come in {MOST_RANGES} parts at "
            f"most; requires at least {format_bytes(enough)} each"
        )
    return Shares(division, rounds * together)


def alpha(f: float, rho: float, ratio: float) -> float:
    """Garaph's alpha, the host's time over the GPU's: ``ratio`` is T_pull / T_gpu, ``rho`` 1 in
    memory, else how many times faster storage reads in sequence than at random. Below 1 the host
    works alone.
    """
    return min(2 * f * rho, 1.0) * ratio


def all_pull(host_alone: float, host_pull: float, others_pull: float) -> bool:
    """Whether all devices should pull: together they take the harmonic sum of their times, the
    host alone what its own way takes.
    """
    together = 1 / (1 / host_pull + 1 / others_pull)
    return together < host_alone


def takes_another(mine: float | None, others: Sequence[float | None], left: int) -> bool:
    """Whether a stream should take one more page of those that are ``left``, from the seconds that
    it and the others have needed for one (None: not known yet).

    It should not if the others would have done all of them before it is through with one, each of
    them page by page: the fastest never declines.
    """
    known = [each for each in others if each is not None]
    if mine is None or not known:
        return True
    return sum(ceil(mine / max(each, 1e-9)) - 1 for each in known) < left

"""Which of the ranks of a run is too slow for its share of the pages, and how a run ends that goes
on with other shares.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

#: A rank is slow that takes so many times as long as the median of the ranks,
SLOW = 1.5
#: each of so many times in a row that the ranks have compared.
TIMES = 3

#: New owners of pages, from the seconds that each rank has worked: see
#: :func:`penstock.distributed.assignment.balance`.
Balance = Callable[[Sequence[float]], tuple[int, ...]]


class SlowRank(NamedTuple):
    """A rank that others wait for."""

    rank: int
    #: Of each rank, the seconds that it has worked while the others were compared with it.
    seconds: tuple[float, ...]


class Redeal(Exception):  # noqa: N818 - ends an attempt of a run, on all ranks at once
    """The state of the run is saved; it goes on from there with other owners of the pages."""

    def __init__(self, step: int, slow: SlowRank, dealt: tuple[int, ...]) -> None:
        super().__init__(f"rank {slow.rank} is slow")
        self.step = step
        self.slow = slow
        self.dealt = dealt


class Pace:
    """The seconds that the ranks have worked, without waiting for each other; the same numbers on
    all ranks.
    """

    def __init__(self) -> None:
        self._rows: deque[tuple[float, ...]] = deque(maxlen=TIMES)

    def add(self, seconds: Sequence[float]) -> None:
        """What each rank has worked since the last time."""
        self._rows.append(tuple(seconds))

    @property
    def slow(self) -> SlowRank | None:
        """The slowest rank, if it was slow each of the last times.

        >>> pace = Pace()
        >>> for _ in range(3):
        ...     pace.add([1.0, 1.6, 1.0])
        >>> pace.slow
        SlowRank(rank=1, seconds=(3.0, 4.8, 3.0))
        """
        if len(self._rows) < TIMES:
            return None
        seconds = tuple(round(sum(each), 6) for each in zip(*self._rows, strict=True))
        rank = max(range(len(seconds)), key=seconds.__getitem__)
        if all(row[rank] > SLOW * _median(row) for row in self._rows):
            return SlowRank(rank, seconds)
        return None


def _median(row: Sequence[float]) -> float:
    """The lower one of two, so that one of two ranks can be slow."""
    return sorted(row)[(len(row) - 1) // 2]

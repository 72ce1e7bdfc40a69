"""Batches that are logged together take effect in the order of the log."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class _Place:
    #: The batch's number in the log, when it is known.
    number: int | None = None


class CommitQueue:
    """Several threads log at once; each then works in the order of the numbers they got."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way: list[_Place] = []
        self._alone: object = None

    def run(self, log: Callable[[], int], work: Callable[[], R]) -> R:
        """Call ``log``, which gives a number, then ``work`` when all with smaller numbers have
        worked. If ``log`` raises, there is no work.
        """
        mine = _Place()
        with self._changed:
            self._changed.wait_for(lambda: self._alone is None)
            self._under_way.append(mine)
        try:
            number = log()
            with self._changed:
                mine.number = number
                self._changed.notify_all()
                # Whoever begins to log from now on gets a larger number.
                others = [each for each in self._under_way if each is not mine]
                self._changed.wait_for(lambda: not any(self._is_first(e, number) for e in others))
            return work()
        finally:
            with self._changed:
                self._under_way.remove(mine)
                self._changed.notify_all()

    def _is_first(self, other: _Place, number: int) -> bool:
        """Whether another one must, or may have to, work before a number."""
        if other not in self._under_way:
            return False
        return other.number is None or other.number < number

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody is between logging and working meanwhile."""
        me = object()
        with self._changed:
            self._changed.wait_for(lambda: self._alone is None)
            self._alone = me
            self._changed.wait_for(lambda: not self._under_way)
        try:
            yield
        finally:
            with self._changed:
                self._alone = None
                self._changed.notify_all()

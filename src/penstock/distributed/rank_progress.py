"""The progress that the first rank of a run reports, and that the caller is shown.

A message is the state of the current stage, so one that is lost or arrives twice does no harm.
Their number does not depend on the work. The last state is returned with the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.metrics import clock
from penstock.progress import Progress

#: Seconds between messages about one stage.
EVERY_SECONDS = 0.25
#: Sends a message to the caller: a list of plain values.
Tell = Callable[[list[Any]], None]


class RankProgress:
    """The progress of a rank: a :class:`~penstock.progress.Progress` that reports to its
    caller.
    """

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._number = -1
        self._stage: tuple[str, float | None, str] = ("", None, "")
        self._done = 0.0
        self._said = 0.0

    def start(self, stage: str, total: float | None, unit: str) -> None:
        """See :class:`~penstock.progress.Progress`."""
        with self._lock:
            self._number += 1
            known = None if total is None else float(total)
            self._stage, self._done = (stage, known, unit), 0.0
            self._say()

    def advance(self, amount: float) -> None:
        """See :class:`~penstock.progress.Progress`."""
        with self._lock:
            self._done += float(amount)
            if clock() - self._said >= EVERY_SECONDS:
                self._say()

    def note(self, text: str) -> None:
        """See :class:`~penstock.progress.Progress`."""
        if self._tell is not None:
            self._tell(["note", text])

    def state(self) -> list[Any]:
        """The number of the current stage, its name, total and unit, and how much is done."""
        return ["stage", self._number, *self._stage, self._done]

    def _say(self) -> None:
        self._said = clock()
        if self._tell is not None:
            self._tell(self.state())


class ShownProgress:
    """Shows the caller what the first rank reports. Messages arrive in a thread of their own."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._number = -1
        self._shown = 0.0
        self._ended = False

    def hear(self, message: list[Any]) -> None:
        """Take a message."""
        with self._lock:
            if not self._ended:
                self._take(message)

    def finish(self, last: list[Any]) -> None:
        """End with this state."""
        with self._lock:
            self._take(last)
            self._ended = True

    def _take(self, message: list[Any]) -> None:
        kind, *rest = message
        if kind == "note":
            self._progress.note(rest[0])
            return
        number, stage, total, unit, done = rest
        if number > self._number:
            self._progress.start(stage, total, unit)
            self._number, self._shown = number, 0.0
        if number == self._number and done > self._shown:
            self._progress.advance(done - self._shown)
            self._shown = done

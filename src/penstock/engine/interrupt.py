"""Stopping signals wait until there is a checkpoint."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Deferred:
    """Within it, the first stopping signal is kept until :meth:`deliver`; a second one acts at
    once. Does nothing if not active, or outside of the main thread, where signals cannot be taken.
    """

    def __init__(self, *, active: bool) -> None:
        self._active = active and threading.current_thread() is threading.main_thread()
        self._before: dict[int, Any] = {}
        self.pending: int | None = None

    def __enter__(self) -> Deferred:
        if self._active:
            for number in _STOPPING:
                if signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()
        if self.pending is not None and error[0] is None:
            self.deliver()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.pending is None:
            self.pending = number
            return
        self.deliver()

    def deliver(self) -> None:
        """Let the signal that came act as it would have."""
        number, self.pending = self.pending, None
        self._restore()
        if number is not None:
            signal.raise_signal(number)

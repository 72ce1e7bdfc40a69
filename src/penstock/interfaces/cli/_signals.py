"""Ctrl-C, SIGTERM and SIGHUP: the same clean-up, different exit codes."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

#: Further signals within this time are taken for impatience: cleaning up goes on.
GRACE_SECONDS = 3.0
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Received:
    """The signal that came first, if one came."""

    received: int | None = None
    at: float = 0.0


@contextmanager
def stopping_cleanly() -> Iterator[Received]:
    """Within it, each stopping signal becomes a KeyboardInterrupt in the main thread.

    A hang-up that the parent made the process ignore (``nohup``) stays ignored; an interrupt does
    not, since shells make every background job of a script ignore it.
    """
    state = Received()

    def stop(signum: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if state.received is not None and now - state.at < GRACE_SECONDS:
            return
        state.received = state.received or signum
        state.at = now
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        for each in STOPPING:
            if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN:
                before[each] = signal.signal(each, stop)
    try:
        yield state
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)

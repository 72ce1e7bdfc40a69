"""What changes the whole process: its allocators, garbage collection and signal handlers.

The policy:

* Only functions of this module change such settings.
* A setting is changed for a block of code and restored after it, also after an error. Exceptions:
  how much freed memory the C library retains (:func:`retain_freed_memory`): it has no effect on
  results, and the value before cannot be asked for; and processes that another one ends
  (:func:`ignore_sigint`).
* Signal handlers are changed in the main thread only, which is where Python runs them; elsewhere
  the same code runs without.
"""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

R = TypeVar("R")

#: Signals that ask a process to stop.
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Further signals within this time do not interrupt the clean-up.
GRACE_SECONDS = 3.0
# What mallopt() calls them.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


# Memory


def return_freed_memory() -> None:
    """Return memory to the system that the allocators retain."""
    gc.collect(1)
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it; others need it less
    if trim is not None:
        trim(0)


@contextmanager
def arrow_from_system() -> Iterator[None]:
    """Within the block, Arrow allocates from the C library. Its own allocator retains tens of
    megabytes of freed memory, and is no faster for tables.
    """
    import pyarrow as pa

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


#: Bytes that are retained whatever is asked for.
_always = 0


def retain_freed_memory(most: int, *, always: bool = False) -> None:
    """From now on let the C library retain up to ``most`` bytes that were freed, and arrays of up
    to half of that among them. A loop that takes and frees the same sizes needs some, because
    memory from the system costs more than working on it; between stages of different sizes it would
    add up, see :func:`return_freed_memory`. ``always``: later calls do not ask for less, in a
    process whose work is one run after another.
    """
    global _always
    _always = most if always else _always
    most = max(most, _always)
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_TRIM_THRESHOLD, most)
        option(_MMAP_THRESHOLD, min(most // 2, 32 << 20))  # glibc allows no more


@contextmanager
def garbage_collection_disabled() -> Iterator[None]:
    """Within the block no cycles are collected. For making many small objects that are in no cycle:
    the collector would look through all of them again and again.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


# Signals


def defer_sigint(work: Callable[[], R]) -> R:
    """Do work that Ctrl-C must not interrupt; an interrupt takes effect when the work is over."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        return work()
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        return work()
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])


@contextmanager
def sigint_at_checks() -> Iterator[Callable[[], None]]:
    """Within the block, Ctrl-C takes effect only where the function is called that this gives, and
    when the block is left.
    """
    before = signal.getsignal(signal.SIGINT)
    came: list[tuple[int, FrameType | None]] = []

    def check() -> None:
        if came and callable(before):
            before(*came.pop(0))

    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield check
        return
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
        check()


def ignore_sigint() -> None:
    """From now on Ctrl-C does nothing to this process: another one ends it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def stops_call(call: Callable[[], object]) -> Iterator[None]:
    """Within the block, each stopping signal calls a function, in the main thread, and nothing
    else happens.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for each in STOPPING:
            before[each] = signal.signal(each, lambda number, frame: call())
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class DeferredSignals:
    """Within it, the first stopping signal is kept until :meth:`deliver`; a second one acts at
    once. Does nothing if not active, or outside of the main thread, where signals cannot be taken.
    """

    def __init__(self, *, active: bool) -> None:
        self._active = active and threading.current_thread() is threading.main_thread()
        self._before: dict[int, Any] = {}
        self.pending: int | None = None

    def __enter__(self) -> DeferredSignals:
        if self._active:
            for number in STOPPING:
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


@dataclass(slots=True)
class Received:
    """The signal that came first, if one came."""

    received: int | None = None
    at: float = 0.0


@contextmanager
def stops_as_interrupts() -> Iterator[Received]:
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

"""Running pieces of work on all cores.

Everything here is threads: the work is compiled kernels and I/O, which leave the interpreter free.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
#: Which piece a worker gets next, None if there is none for it; called by one worker at a time.
Take = Callable[[int], int | None]


def ordered_map(
    function: Callable[[T], R], pieces: Iterable[T], threads: int, ahead: int | None = None
) -> Iterator[R]:
    """Yield ``function(piece)`` for each piece, in order, with at most ``ahead`` under way or
    waiting (default ``threads + 1``). Stopping early, or an error, cancels what has not begun.
    """
    ahead = threads + 1 if ahead is None else ahead
    pending: deque[Future[R]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="penstock") as pool:
        try:
            for piece in pieces:
                pending.append(pool.submit(function, piece))
                if len(pending) >= ahead:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


class Workers:
    """Threads that stay, each with a number of its own, and take pieces one after another."""

    def __init__(self, count: int) -> None:
        self.count = count
        #: How many of them take part, unless a call says otherwise.
        self.at_once = count
        #: Whether the run that is going on begins no further piece.
        self.stopping = False
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="penstock")

    def run(
        self,
        function: Callable[[int, T], R],
        pieces: Sequence[T],
        at_once: int | None = None,
        take: Take | None = None,
    ) -> list[R]:
        """``function(worker, piece)`` for each piece; the results in the order of the pieces.
        ``at_once``: workers that take part, if not all are to. ``take`` says which piece a worker
        gets next, if it is not the next one for everybody.

        After an error, and after an interrupt in the calling thread, no further piece is begun;
        the error of the earliest piece is raised once all threads are idle.
        """
        results: list[Any] = [None] * len(pieces)
        errors: list[tuple[int, BaseException]] = []
        turn = iter(range(len(pieces)))
        choose = (lambda worker: next(turn, None)) if take is None else take
        lock = threading.Lock()
        stopped = self.stopping = False

        def work(worker: int) -> None:
            nonlocal stopped
            while not stopped:
                with lock:
                    index = choose(worker)
                if index is None:
                    return
                try:
                    results[index] = function(worker, pieces[index])
                except BaseException as error:
                    errors.append((index, error))
                    stopped = self.stopping = True

        if len(pieces) == 1 and take is None:
            return [function(0, pieces[0])]
        count = min(at_once or self.at_once, self.count)
        futures: list[Future[None]] = []
        try:
            for k in range(count if take is not None else min(count, len(pieces))):
                futures.append(self._pool.submit(work, k))
            wait(futures)
        finally:
            stopped = self.stopping = True
            wait(futures)
        if errors:
            earliest = min(errors, key=lambda each: each[0])[1]
            # An error that its own traceback leads to would keep all that a run holds.
            errors.clear()
            try:
                raise earliest
            finally:
                del earliest
        for future in futures:
            future.result()  # raises an error of ``take``
        return results

    def close(self, *, wait: bool = True) -> None:
        """End the threads. Unless this is to ``wait``, they end by themselves: the garbage
        collector may run where waiting for a thread never ends.
        """
        self._pool.shutdown(wait=wait)


class Turns:
    """Lets threads pass one after another in the order of their numbers 0, 1, 2, ..."""

    def __init__(self) -> None:
        self._next = 0
        self._failed: int | None = None
        self._changed = threading.Condition()

    def take(self, number: int, function: Callable[[], R]) -> R:
        """Call the function when all smaller numbers have passed."""

        def ready() -> bool:
            return self._next == number or (self._failed is not None and self._failed < number)

        with self._changed:
            self._changed.wait_for(ready)
            if self._next != number:
                raise RuntimeError(f"turn {self._failed} failed")
        result = function()
        with self._changed:
            self._next += 1
            self._changed.notify_all()
        return result

    def fail(self, number: int) -> None:
        """This number will never pass: those that wait behind it get an error."""
        with self._changed:
            if self._failed is None or number < self._failed:
                self._failed = number
            self._changed.notify_all()

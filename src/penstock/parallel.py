"""Running pieces of work on all cores, with the results in the order of the pieces.

Everything here is threads: the work is compiled kernels and I/O, which leave the interpreter free.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


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

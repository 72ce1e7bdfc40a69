"""Work that is divided by what it weighs, and what those who share it have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np

from penstock.engine.engine import Engine, Kernel
from penstock.jit import kernel
from penstock.types import Array

T = TypeVar("T")
R = TypeVar("R")

#: Pieces for each worker, unless a share is given.
PIECES = 16
#: More work than there can be.
NO_LIMIT = 1 << 62


def shared_from(engine: Engine, many: int) -> int:
    """How much work one kernel does alone before it is better shared: ``many``, or any amount where
    nothing works beside it.
    """
    return many if engine.workers.count > 1 else NO_LIMIT


def one_at_a_time(function: Callable[..., R]) -> Callable[..., R]:
    """The function, with calls that come at once made one after another: kernels that work beside
    each other put what they find together with it.
    """
    lock = threading.Lock()

    def called(*args: Any) -> R:
        with lock:
            return function(*args)

    return called


class Scratch(Generic[T]):
    """What a kernel needs while it works, used again by the next: there are as many as kernels
    that work at once.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._free: list[T] = []

    def take(self) -> T:
        """One that nothing else uses."""
        try:
            return self._free.pop()
        except IndexError:
            return self._make()

    def give_back(self, used: T) -> None:
        """For the next."""
        self._free.append(used)


def scratch_copies(engine: Engine) -> int:
    """How many scratches of a kind there can be."""
    return engine.workers.count


def map_chunks(
    engine: Engine, function: Callable[[Any], R], values: Sequence[Any] | Array, size: int
) -> tuple[int, list[R]]:
    """``function(chunk)`` for the first chunks of some values, as many as are worked on at once:
    how many values they have, and what was returned, in order. Chunks have ``size``
    values whatever the number of threads.
    """
    firsts = range(0, len(values), size)[: engine.workers.count]

    def work(stream: int, first: int) -> R:
        with engine.metrics.timed("kernel", stream):
            return function(values[first : first + size])

    return min(firsts[-1] + size, len(values)), engine.workers.run(work, firsts)


def map_shares(
    engine: Engine,
    kernel: Kernel,
    offsets: Array,
    *args: Any,
    others: Array | None = None,
    share: int | None = None,
    pieces: int = PIECES,
    long_at_once: int | None = None,
) -> list[Any]:
    """``kernel(begin, end, *args)`` for ranges of lists that have about equal numbers of entries;
    what it returned, in order.

    Lists begin and end at ``offsets``, and so do further entries of the same lists at ``others``.
    A range has ``share`` entries (a list counts as one more), or there are ``pieces`` ranges for
    each worker. ``long_at_once``: how many ranges may be worked on at once that have more than two
    shares because of a long list.
    """
    more: Array = np.broadcast_to(offsets[:1], len(offsets)) if others is None else others
    if share is None:
        total = sum(int(each[-1]) - int(each[0]) for each in (offsets, more)) + len(offsets) - 1
        share = -(-total // (pieces * engine.workers.count))
    ranges = list(pairwise(_cut(offsets, more, share).tolist()))

    def work(stream: int, place: int) -> Any:
        with engine.metrics.timed("kernel", stream):
            return kernel(*ranges[place], *args)

    def is_long(place: int) -> bool:
        begin, end = ranges[place]
        return sum(int(each[end]) - int(each[begin]) for each in (offsets, more)) > 2 * share

    places = range(len(ranges))
    if long_at_once is None:
        return engine.workers.run(work, places)
    long = [place for place in places if is_long(place)]
    short = sorted(set(places).difference(long))
    found = dict(zip(long, engine.workers.run(work, long, at_once=long_at_once), strict=True))
    found.update(zip(short, engine.workers.run(work, short), strict=True))
    return [found[place] for place in places]


@kernel
def _cut(offsets, others, share):  # type: ignore[no-untyped-def]
    """Where to cut lists so that ranges have about ``share`` entries, in both kinds together."""
    cuts = [0]
    begin = np.int64(offsets[0]) + np.int64(others[0])
    for v in range(1, len(offsets)):
        here = np.int64(offsets[v]) + np.int64(others[v])
        if here - begin + (v - cuts[-1]) >= share or v == len(offsets) - 1:
            cuts.append(v)
            begin = here
    return np.array(cuts)

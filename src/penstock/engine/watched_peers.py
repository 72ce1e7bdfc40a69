"""The ranks of a run as :class:`~penstock.engine.peers.Peers`, with measurements: bytes by rank,
seconds in exchanges, seconds of waiting for others.

A section within another is counted separately: the seconds of :func:`in_exchange` do not include
waiting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from penstock.engine.peers import Arrays, Collectives, Peers
from penstock.metrics import clock
from penstock.types import Array

P = ParamSpec("P")
R = TypeVar("R")
#: Shorter sections are not in timelines.
SHORTEST_SPAN = 20e-6


class Section(NamedTuple):
    """What a thread of a rank did in an interval: "exchange" or "wait"."""

    what: str
    thread: int
    begin: float
    end: float


class WatchedPeers(Collectives):
    """Other peers, with measurements.

    Parameters
    ----------
    peers
        The ranks.
    tracing
        Whether sections are kept, for a timeline; sums always are.
    """

    def __init__(self, peers: Peers, *, tracing: bool = False) -> None:
        self.rank = peers.rank
        self.size = peers.size
        #: By rank: bytes of arrays that were posted to it, and received from it.
        self.sent_bytes = [0] * peers.size
        self.received_bytes = [0] * peers.size
        #: Seconds spent packing, posting and storing values, summed over threads.
        self.exchange_seconds = 0.0
        #: Seconds in ``drain``: until all others had ended the exchange, and everything was sent.
        self.waiting_seconds = 0.0
        self.sections: list[Section] = []
        self._peers = peers
        self._tracing = tracing
        self._lock = threading.Lock()
        self._within = threading.local()

    def post(self, rank: int, *arrays: Array) -> None:
        """See :class:`~penstock.engine.peers.Peers`."""
        with self.section("exchange"):
            self._peers.post(rank, *arrays)
        with self._lock:
            self.sent_bytes[rank] += sum(array.nbytes for array in arrays)

    def drain(self) -> list[list[Arrays]]:
        """See :class:`~penstock.engine.peers.Peers`."""
        with self.section("wait"):
            found = self._peers.drain()
        for rank, messages in enumerate(found):
            self.received_bytes[rank] += sum(
                array.nbytes for message in messages for array in message
            )
        return found

    @contextmanager
    def section(self, what: str) -> Iterator[None]:
        """Count the seconds of the block, without those of inner sections, as ``what``."""
        outer = getattr(self._within, "seconds", None)
        self._within.seconds = 0.0
        begin = clock()
        try:
            yield
        finally:
            end = clock()
            own = end - begin - self._within.seconds
            self._within.seconds = None if outer is None else outer + end - begin
            with self._lock:
                if what == "wait":
                    self.waiting_seconds += own
                else:
                    self.exchange_seconds += own
                # A section within another is part of its span.
                is_seen = what == "wait" or outer is None
                if self._tracing and is_seen and end - begin >= SHORTEST_SPAN:
                    self.sections.append(Section(what, threading.get_ident(), begin, end))


def in_exchange(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], R]:
    """Count the time of a method as exchange; its object has ``_peers``."""

    @wraps(method)
    def timed(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        peers = self._peers
        if not isinstance(peers, WatchedPeers):
            return method(self, *args, **kwargs)
        with peers.section("exchange"):
            return method(self, *args, **kwargs)

    return timed


@contextmanager
def seconds_into(peers: Peers, row: dict[str, Any]) -> Iterator[None]:
    """Write the seconds of the block in exchanges and of waiting into a row of the iterations."""
    if not isinstance(peers, WatchedPeers):
        yield
        return
    exchange, waiting = peers.exchange_seconds, peers.waiting_seconds
    yield
    row["exchange_seconds"] = peers.exchange_seconds - exchange
    row["waiting_seconds"] = peers.waiting_seconds - waiting

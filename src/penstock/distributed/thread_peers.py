"""Ranks that are threads of one process: for tests, and as the simplest implementation of
:class:`~penstock.engine.peers.Peers`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from penstock.engine.peers import Arrays, Collectives, PeerLost
from penstock.types import Array

#: Seconds without a message after which a rank counts as lost.
PATIENCE = 60.0


class ThreadPeers(Collectives):
    """One rank among threads. What one rank posts to another goes through a queue of the two; None
    ends an exchange, an exception ends the rank. ``tell`` sends a message to the caller.
    """

    def __init__(
        self,
        rank: int,
        queues: list[list[SimpleQueue[Any]]],
        tell: Callable[[list[Any]], None] | None = None,
    ) -> None:
        self.tell = tell
        self.rank = rank
        self.size = len(queues)
        self._queues = queues
        self._lost: PeerLost | None = None

    def post(self, rank: int, *arrays: Array) -> None:
        """See :class:`~penstock.engine.peers.Peers`. Arrays are copied, as over a network."""
        self._queues[self.rank][rank].put(tuple(array.copy() for array in arrays))

    def drain(self) -> list[list[Arrays]]:
        """See :class:`~penstock.engine.peers.Peers`."""
        if self._lost is not None:
            raise PeerLost(self._lost.rank, self._lost.reason)
        others = [rank for rank in range(self.size) if rank != self.rank]
        for rank in others:
            self._queues[self.rank][rank].put(None)
        found: list[list[Arrays]] = [[] for _ in range(self.size)]
        for rank in others:
            while (message := self._receive(rank)) is not None:
                found[rank].append(message)
        return found

    def _receive(self, rank: int) -> Arrays | None:
        try:
            message = self._queues[rank][self.rank].get(timeout=PATIENCE)
        except Empty:
            message = PeerLost(rank, f"no message for {PATIENCE:.0f} seconds")
        if isinstance(message, PeerLost):
            self._lost = message
            raise message
        found: Arrays | None = message
        return found

    def leave(self) -> None:
        """Tell the others that this rank takes no further part."""
        for rank in range(self.size):
            self._queues[self.rank][rank].put(PeerLost(self.rank, "its thread ended"))


def run_on_threads(
    size: int,
    function: Callable[..., Any],
    *args: Any,
    heard: Callable[[list[Any]], None] | None = None,
) -> list[Any]:
    """``function(peers, *args)`` on ``size`` ranks at once; what each returned. Raises the first
    error that is not the loss of another rank. ``heard`` receives the messages of the first rank.
    """
    queues: list[list[SimpleQueue[Any]]] = [
        [SimpleQueue() for _ in range(size)] for _ in range(size)
    ]
    found: list[Any] = [None] * size
    errors: list[BaseException] = []

    def work(rank: int) -> None:
        peers = ThreadPeers(rank, queues, heard if rank == 0 else None)
        try:
            found[rank] = function(peers, *args)
        except BaseException as error:
            errors.append(error)
        finally:
            peers.leave()

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        causes = [error for error in errors if not isinstance(error, PeerLost)]
        raise (causes or errors)[0]
    return found

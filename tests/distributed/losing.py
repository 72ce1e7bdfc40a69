"""Ranks that are lost at a certain exchange, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rank_making import ThreadHosts

from penstock.distributed.losses import Loss, RankLostError
from penstock.engine.peers import Arrays, Collectives, PeerLost, Peers
from penstock.errors import WorkerError
from penstock.types import Array


class Fragile(Collectives):
    """A rank that counts its exchanges, and is lost when one of them begins."""

    def __init__(self, peers: Peers, last: int | None, counts: list[int]) -> None:
        self.rank, self.size = peers.rank, peers.size
        self._peers = peers
        self._last = last
        self._counts = counts

    def post(self, rank: int, *arrays: Array) -> None:
        self._peers.post(rank, *arrays)

    def drain(self) -> list[list[Arrays]]:
        self._counts[self.rank] += 1
        if self._last is not None and self._counts[self.rank] > self._last:
            raise PeerLost(self.rank, "the test has ended it")
        return self._peers.drain()


class FragileHosts(ThreadHosts):
    """Hosts of which one is lost after so many exchanges, in each of the first attempts; each loss
    makes them ``fewer``.
    """

    def __init__(
        self, size: int, last: int | None = None, *, rank: int = 1, fewer: int = 0, times: int = 1
    ) -> None:
        super().__init__(size)
        self._last = last
        self._rank = rank
        self._fewer = fewer
        self.times = times
        #: Of each call, the exchanges of each rank.
        self.runs: list[list[int]] = []
        #: Whether any host is left after a loss.
        self.alive = True
        self.before_recovery: Callable[[], None] = lambda: None

    def run(self, function: Callable[..., Any], *args: Any, heard: Any = None) -> list[Any]:
        counts = [0] * self.size
        self.runs.append(counts)
        last = self._last if self.times > 0 else None

        def fragile(peers: Peers, *args: Any) -> Any:
            given = last if peers.rank == self._rank % self.size else None
            return function(Fragile(peers, given, counts), *args)

        try:
            return super().run(fragile, *args, heard=heard)
        except PeerLost as lost:
            self.times -= 1
            loss = Loss(lost.rank, "here", 1, lost.reason)
            raise RankLostError(f"rank {lost.rank} is lost: {lost.reason}", [loss]) from None

    def recover(self) -> int:
        if not self.alive:
            raise WorkerError("no worker is left")
        self._size = max(1, self._size - self._fewer)
        self.before_recovery()
        return self._size

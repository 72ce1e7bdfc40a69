"""What every transport between ranks must do when one of them ends: part of the suite in
:mod:`penstock.testing.peers`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from unittest import SkipTest

import numpy as np

from penstock.engine.peers import PeerLost, Peers

#: Seconds that a loss may be noticed late, on a busy machine.
_LATE_SECONDS = 15.0


class LossTests:
    """The description of a transport, and the tests in which a rank ends."""

    #: The size of the large array that is sent.
    large_bytes = 100_000_000
    #: About the size of a frame of the transport: arrays around this size are tried.
    frame_bytes = 16 << 20
    #: Seconds of silence after which a rank counts as lost. None: that is not tested.
    patience: float | None = None
    #: Whether ranks are threads of the process of the test.
    shares_memory = True

    def run(self, size: int, function: Callable[[Peers], Any]) -> list[Any]:
        """``function(peers)`` on ``size`` ranks at once; what each returned, or raised."""
        raise NotImplementedError

    def vanish(self, peers: Peers) -> None:
        """End this rank as a killed process ends: without a message."""
        raise SkipTest("vanish is not defined")

    def freeze(self, peers: Peers, seconds: float) -> None:
        """Stop all threads of this rank for a time, as SIGSTOP does; then return."""
        raise SkipTest("freeze is not defined")

    def good(self, size: int, function: Callable[[Peers], Any]) -> list[Any]:
        """As :meth:`run`; raises what a rank raised."""
        found = self.run(size, function)
        for each in found:
            if isinstance(each, BaseException):
                raise each
        return found

    def test_failed_rank_ends_the_others(self) -> None:
        """One raises while the others wait for it."""

        def work(peers: Peers) -> None:
            peers.drain()
            if peers.rank == 1:
                raise ArithmeticError("on purpose")
            peers.drain()

        found = self.run(3, work)
        assert isinstance(found[1], ArithmeticError)
        assert isinstance(found[0], PeerLost)
        assert isinstance(found[2], PeerLost)

    def test_rank_that_ends_early_is_lost(self) -> None:
        """A rank that returns takes part in no further exchange."""

        def work(peers: Peers) -> str:
            peers.drain()
            if peers.rank == 0:
                try:
                    peers.drain()
                except PeerLost as lost:
                    return f"lost {lost.rank}"
            return "ended"

        assert self.good(2, work) == ["lost 1", "ended"]

    def test_last_words_arrive(self) -> None:
        """What a rank posts before it ends arrives, however late the other asks for it."""

        def work(peers: Peers) -> int:
            if peers.rank == 0:
                time.sleep(0.3)
            peers.post(1 - peers.rank, np.arange(100_000))
            return len(peers.drain()[1 - peers.rank][0][0])

        assert self.good(2, work) == [100_000] * 2

    def test_a_lost_rank_stays_lost(self) -> None:
        """Every further exchange fails at once, and names it."""

        def work(peers: Peers) -> Any:
            peers.drain()
            found = []
            if peers.rank == 0:
                for _ in range(3):
                    try:
                        peers.drain()
                    except PeerLost as lost:
                        found.append(lost.rank)
            return found

        assert self.good(2, work) == [[1, 1, 1], []]

    def test_vanished_rank_is_named(self) -> None:
        """A rank ends without a message: each other raises within its patience."""
        self._lose(self.vanish)

    def test_frozen_rank_is_named(self) -> None:
        """A rank stands still, with its connections open."""
        self._lose(lambda peers: self.freeze(peers, 3.0 * (self.patience or 0.0)))

    def _lose(self, lose: Callable[[Peers], None]) -> None:
        patience = self.patience
        if patience is None:
            raise SkipTest("the suite is not told how patient ranks are")

        def work(peers: Peers) -> Any:
            peers.drain()
            begun = time.monotonic()
            if peers.rank == 1:
                lose(peers)
            try:
                peers.drain()
            except PeerLost as lost:
                return lost.rank, time.monotonic() - begun
            return None

        found = self.run(2, work)
        assert isinstance(found[0], tuple), found
        rank, seconds = found[0]
        assert rank == 1
        assert seconds < patience + _LATE_SECONDS
        assert found[1] is None or isinstance(found[1], PeerLost | tuple)

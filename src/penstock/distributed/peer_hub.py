"""All connections of a rank at work: what is written to them and read from them, exchanges, and
heartbeats. Everything here runs in the thread of one asyncio loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue

from penstock.distributed import frames
from penstock.distributed.exchanges import Exchanges
from penstock.distributed.frames import Buffer, FrameError
from penstock.distributed.peer_link import HEARTBEAT_SECONDS, Link, Reader
from penstock.engine.peers import Arrays, PeerLost

#: Seconds after the connection to a rank has ended until the rank counts as lost.
BROKEN_SECONDS = 2.0
_HEARTBEAT = frames.plain_frame("heartbeat")
#: What ``drain`` receives.
Drained = list[list[Arrays]] | PeerLost


class Hub:
    """The connections to and from other ranks. ``results`` receives what ``drain`` waits for."""

    def __init__(
        self, rank: int, size: int, patience: float, results: SimpleQueue[Drained]
    ) -> None:
        self.links: dict[int, Link] = {}
        self.readers: dict[int, Reader] = {}
        #: Set when all ranks have connected to this one, or none is waited for any more.
        self.everyone = asyncio.Event()
        if size == 1:
            self.everyone.set()
        #: Why the run is not to go on, if it is not.
        self.aborted: str | None = None
        #: Whether this rank takes part in a run; before, it only listens.
        self.started = False
        self._rank = rank
        self._size = size
        self._patience = patience
        self._results = results
        self._exchanges = Exchanges(rank, size)
        self._draining = False
        self._unflushed: set[int] = set()
        self._expiry: float | None = None
        self._clock: Callable[[], float] = asyncio.get_running_loop().time

    def add_reader(self, rank: int, reader: Reader) -> None:
        """Add a rank that has connected."""
        self.readers[rank] = reader
        if len(self.readers) == self._size - 1:
            self.everyone.set()

    async def receive(self, rank: int, reader: Reader) -> None:
        """Receive what a rank sends, until its goodbye."""
        while True:
            head, body = await reader.frame()
            if head["kind"] == "messages":
                messages = frames.read_messages(head, body)
                number, end = frames.read_number(head, "number"), head.get("end") is True
                self._exchanges.put(rank, number, messages, end=end)
                if end:
                    self._settle()
            elif head["kind"] == "large":
                arrays = await reader.large(head)
                self._exchanges.put(rank, frames.read_number(head, "number"), [arrays], end=False)
            elif head["kind"] == "goodbye":
                reason = head.get("reason")
                text = f"it failed: {reason}" if reason else "it has ended its part of the run"
                self.lose(rank, text, failed=bool(reason))
                return
            elif head["kind"] != "heartbeat":
                raise FrameError(f"a frame is of the unknown kind {head['kind']!r}")

    def write(self, rank: int, buffers: list[Buffer]) -> None:
        """Send buffers to a rank."""
        link = self.links.get(rank)
        if link is not None:
            link.write(buffers, self._clock())

    def end_exchange(self, last: list[tuple[int, list[Buffer]]]) -> None:
        """Send the last frame of the exchange to each rank; ``drain`` waits from now on."""
        self._draining = True
        for rank, buffers in last:
            self.write(rank, buffers)
            link = self.links.get(rank)
            if link is None:
                self._exchanges.lose(rank, "it is not connected", failed=True)
            elif link.busy:
                self._unflushed.add(rank)
                link.when_flushed(partial(self._flushed, rank))
        self._settle()

    def _flushed(self, rank: int) -> None:
        self._unflushed.discard(rank)
        self._settle()

    def _settle(self) -> None:
        """Make ``drain`` return if everything has arrived and was sent, or if it never will be."""
        if not self._draining:
            return
        lost = self._exchanges.lost()
        if lost is not None:
            self._draining = False
            self._results.put(lost)
        elif self._exchanges.complete and not self._unflushed:
            self._draining = False
            self._results.put(self._exchanges.take())

    def lose(self, rank: int, reason: str, *, failed: bool) -> None:
        """Nothing more will arrive from a rank; if it failed, the run cannot go on."""
        self._exchanges.lose(rank, reason, failed=failed)
        self._settle()

    def abort(self, reason: str) -> None:
        """The run is not to go on."""
        self.aborted = reason
        self.everyone.set()
        self.lose(self._rank, reason, failed=True)

    def expire_in(self, seconds: float) -> None:
        """Abort unless this is called again in time."""
        self._expiry = self._clock() + seconds

    async def tick(self) -> None:
        """Send heartbeats, and find ranks that have been silent for too long. Returns if this rank
        was not started in time.
        """
        pause = min(HEARTBEAT_SECONDS, self._patience / 4)
        while True:
            due = self._clock() + pause
            await asyncio.sleep(pause)
            now = self._clock()
            if now - due > pause:  # this process was frozen; the others need not have been
                for reader in self.readers.values():
                    reader.heard += now - due
            self._beat(now)
            self._find_silent(now)
            if self._expiry is not None and now > self._expiry:
                self.abort("the client that started the run has not been heard of for too long")
                if not self.started:
                    return

    def _beat(self, now: float) -> None:
        for rank, link in self.links.items():
            if self._exchanges.is_lost(rank):
                continue
            if not link.busy:
                self.write(rank, [_HEARTBEAT])
            # A rank that ends closes both connections. What it sent before may not have arrived
            # yet, so the end of the connection to it does not yet mean that it is lost.
            if link.broken_at is not None and now - link.broken_at > BROKEN_SECONDS:
                self.lose(rank, "it no longer takes messages", failed=True)

    def _find_silent(self, now: float) -> None:
        for rank, reader in self.readers.items():
            if now - reader.heard > self._patience and not self._exchanges.is_lost(rank):
                text = f"nothing was heard of it for {self._patience:.0f} seconds"
                self.lose(rank, text, failed=True)

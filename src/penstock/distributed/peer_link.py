"""The two ends of a connection between ranks: what is written, and what is read. Streams are those
of Tornado, as Dask's connections have them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.distributed import frames
from penstock.distributed.frames import Buffer, FrameError, Head
from penstock.engine.peers import Arrays
from penstock.types import U8

#: Seconds between heartbeats.
HEARTBEAT_SECONDS = 1.0
#: A long body is read in steps of this many bytes, each of which counts as a heartbeat.
_STEP_BYTES = 4 << 20
#: What has arrived is read up to this many bytes at once, whatever frame it belongs to.
_AHEAD_BYTES = 16 << 10


class Traffic(NamedTuple):
    """Bytes by rank, and seconds in ``drain``."""

    sent_bytes: tuple[int, ...]
    received_bytes: tuple[int, ...]
    waiting_seconds: float


class Link:
    """A connection to a rank, for writing."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.sent_bytes = 0
        #: When writing first failed.
        self.broken_at: float | None = None
        self._stream = comm.stream
        self._last: asyncio.Future[None] | None = None

    def write(self, buffers: list[Buffer], now: float) -> None:
        """Send buffers, now or when the connection takes them; they must not change before."""
        try:
            for buffer in buffers:
                self._last = self._stream.write(buffer)
                self.sent_bytes += len(buffer)
        except OSError:
            if self.broken_at is None:
                self.broken_at = now

    @property
    def busy(self) -> bool:
        """Whether something has not been sent yet."""
        return not self._stream.closed() and bool(self._stream.writing())

    def when_flushed(self, call: Callable[[], None]) -> None:
        """Call a function when all that was written is sent, or cannot be sent."""
        assert self._last is not None
        self._last.add_done_callback(lambda _: call())

    def flushed(self) -> asyncio.Future[None]:
        """Done when all that was written is sent, or cannot be sent."""
        assert self._last is not None
        return self._last


class Reader:
    """A connection from a rank, for reading."""

    def __init__(self, stream: Any, clock: Callable[[], float]) -> None:
        self.stream = stream
        self.received_bytes = 0
        #: When something last arrived.
        self.heard = clock()
        self._clock = clock
        #: What has been read and not been asked for yet.
        self._ahead = b""

    async def greeting(self) -> Head:
        """The first frame, from an unknown sender: short, and without a body."""
        head, _ = await self.frame(most_head=frames.MOST_GREETING_BYTES, most_body=0)
        return head

    async def frame(
        self,
        most_head: int = frames.MOST_HEAD_BYTES,
        most_body: int = frames.MOST_BODY_BYTES,
    ) -> tuple[Head, U8]:
        """The next frame, with all of its body."""
        head, length = await self._head(most_head, most_body)
        body: U8 = np.empty(length, np.uint8)
        await self._fill(body.data)
        return head, body

    async def large(self, announced: Head) -> Arrays:
        """The arrays of a message that is sent in pieces."""
        body: U8 = np.empty(frames.read_size(announced), np.uint8)
        # They are checked before the bytes arrive; memory is allocated as these arrive.
        arrays, end = frames.read_arrays(announced.get("arrays"), body)
        if end != len(body):
            raise FrameError(f"a message of {len(body)} bytes has arrays of {end}")
        view, filled = body.data, 0
        while filled < len(body):
            head, length = await self._head(frames.MOST_HEAD_BYTES, frames.MOST_BODY_BYTES)
            if head["kind"] == "heartbeat" and not length:
                continue
            if head["kind"] != "piece" or not 0 < length <= len(body) - filled:
                raise FrameError(f"a {head['kind']} of {length} bytes came within a large message")
            await self._fill(view[filled : filled + length])
            filled += length
        return arrays

    async def _head(self, most_head: int, most_body: int) -> tuple[Head, int]:
        prefix = await self._bytes(frames.PREFIX.size)
        self.heard = self._clock()
        lengths = frames.read_prefix(prefix, most_head=most_head, most_body=most_body)
        return frames.read_head(await self._bytes(lengths.head)), lengths.body

    async def _bytes(self, count: int) -> bytes:
        # Each read takes as long as thousands of bytes: a small frame arrives with one.
        while len(self._ahead) < count:
            self._ahead += await self.stream.read_bytes(_AHEAD_BYTES, partial=True)
        return self._take(count)

    def _take(self, count: int) -> bytes:
        data, self._ahead = self._ahead[:count], self._ahead[count:]
        self.received_bytes += len(data)
        return data

    async def _fill(self, view: memoryview) -> None:
        there = self._take(len(view))
        view[: len(there)] = there
        for start in range(len(there), len(view), _STEP_BYTES):
            part = view[start : start + _STEP_BYTES]
            await self.stream.read_into(part)
            self.heard = self._clock()
            self.received_bytes += len(part)

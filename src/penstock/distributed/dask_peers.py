"""Ranks that send arrays over Dask's own connections, plain or encrypted.

Each rank listens, and has one connection to every other for what it sends: two connections a pair,
one for each direction. An asyncio loop in a thread of its own does all reading and writing; threads
of the run only encode what they post, and wait in ``drain``.

Dask opens the connections (addresses, TLS, timeouts of sockets), but its message format is not
used: the decoder of ``distributed.protocol`` unpickles a message that asks for it whatever
``deserializers`` say, does so in the greeting of its own connections before anything could be
checked, and allocates whatever length a frame claims. :mod:`.frames` does none of these.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from distributed.comm.addressing import parse_address
from distributed.comm.core import FatalCommClosedError
from distributed.comm.tcp import TCPConnector, TLSConnector

from penstock.distributed import frames
from penstock.distributed.addresses import check_address
from penstock.distributed.dask_listeners import GREETING_SECONDS, Guests, make_listener
from penstock.distributed.frames import Buffer, FrameError
from penstock.distributed.greeting import (
    Greeting,
    process_facts,
    read_greeting,
    reason_to_refuse,
)
from penstock.distributed.peer_hub import Drained, Hub
from penstock.distributed.peer_link import Link, Reader, Traffic
from penstock.engine.peers import Arrays, Collectives, PeerLost
from penstock.errors import WorkerError
from penstock.types import Array

#: Seconds of silence after which a rank counts as lost.
PATIENCE = 10.0
#: Seconds in which all ranks must be connected.
CONNECT_SECONDS = 30.0
#: Characters of a text from another process that are logged.
_LOGGED = 300
#: Small messages are held back until there are this many bytes of them, or until ``drain``.
BATCH_BYTES = 64 << 10
_log = logging.getLogger(__name__)


class CommPeers(Collectives):
    """One rank, which listens from the start; :meth:`connect` connects it with the others of a run.

    Parameters
    ----------
    rank, size
        The number of this rank, and how many there are.
    secret, epoch
        Of the job; ranks with others are refused.
    facts
        What must be the same on all ranks, besides versions and processor features.
    host
        The only address to listen on.
    security
        A ``distributed.Security`` with certificates: connections are encrypted. None: they are not.
    patience
        Seconds of silence after which a rank counts as lost.
    frame_bytes
        Larger messages are sent in pieces of this size.
    insecure
        Listen beyond this machine without encryption.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        *,
        secret: str,
        epoch: int,
        facts: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
        security: Any = None,
        patience: float = PATIENCE,
        frame_bytes: int = frames.FRAME_BYTES,
        insecure: bool = False,
    ) -> None:
        check_address(f"{'tcp' if security is None else 'tls'}://{host}", insecure=insecure)
        self.rank = rank
        self.size = size
        self.patience = patience
        #: Sends a message to the caller during the run, if the caller wants any.
        self.tell: Callable[[list[Any]], None] | None = None
        self._greeting = Greeting(secret, epoch, rank, size, {**process_facts(), **(facts or {})})
        self._security = security
        # Dask writes certificates to the disk for a moment: only before the run begins.
        self._arguments = security.get_connection_args("worker") if security else {}
        self._guests = Guests(size)
        self._frame_bytes = min(frame_bytes, frames.MOST_BODY_BYTES)
        self._lock = threading.Lock()
        self._number = 0
        self._held: dict[int, list[Arrays]] = {}
        self._held_bytes: dict[int, int] = {}
        self._results: SimpleQueue[Drained] = SimpleQueue()
        self._waiting_seconds = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._serve, name=f"penstock-peers-{rank}", daemon=True
        )
        self._thread.start()
        try:
            self._sync(self._listen(host), CONNECT_SECONDS)
        except BaseException:
            self.close("it could not listen")
            raise
        #: Where others connect to.
        self.address: str = self._listener.contact_address

    # Called by threads of the run.

    def connect(self, addresses: Sequence[str], *, seconds: float = CONNECT_SECONDS) -> None:
        """Connect to all other ranks, and wait until they have connected to this one.

        Raises
        ------
        PeerLost
            A rank cannot be reached, or does not connect, within ``seconds``.
        WorkerError
            A rank refuses this one: because of its epoch or version, for instance.
        """
        self._sync(self._connect(addresses, seconds), seconds + 2 * GREETING_SECONDS)

    def post(self, rank: int, *arrays: Array) -> None:
        """See :class:`~penstock.engine.peers.Peers`."""
        if not 0 <= rank < self.size or rank == self.rank:
            raise ValueError(f"rank {self.rank} of {self.size} cannot post to rank {rank}")
        size = frames.message_bytes(arrays)
        with self._lock:
            held = self._held.setdefault(rank, [])
            if size > self._frame_bytes:
                self._ship(rank)
                for frame in frames.large_frames(self._number, arrays, self._frame_bytes):
                    self._call(self._hub.write, rank, frame)
                return
            if self._held_bytes.get(rank, 0) + size > self._frame_bytes:
                self._ship(rank)
                held = self._held.setdefault(rank, [])
            held.append(arrays)
            self._held_bytes[rank] = self._held_bytes.get(rank, 0) + size
            if self._held_bytes[rank] >= BATCH_BYTES or len(held) >= frames.BATCH_ARRAYS:
                self._ship(rank)

    def drain(self) -> list[list[Arrays]]:
        """See :class:`~penstock.engine.peers.Peers`."""
        begun = time.perf_counter()
        with self._lock:
            others = [rank for rank in range(self.size) if rank != self.rank]
            last = frames.last_frames(
                self._number, {rank: self._held.get(rank, []) for rank in others}
            )
            self._held, self._held_bytes = {}, {}
            self._number += 1
            self._call(self._hub.end_exchange, last)
        while True:
            try:
                found = self._results.get(timeout=1.0)
                break
            except Empty:
                if not self._thread.is_alive():
                    raise PeerLost(self.rank, "its connections were closed") from None
        self._waiting_seconds += time.perf_counter() - begun
        if isinstance(found, PeerLost):
            raise PeerLost(found.rank, found.reason)
        return found

    def traffic(self) -> Traffic:
        """Bytes sent to and received from each rank so far, and seconds spent in ``drain``."""
        links, readers = dict(self._hub.links), dict(self._hub.readers)
        return Traffic(
            tuple(links[k].sent_bytes if k in links else 0 for k in range(self.size)),
            tuple(readers[k].received_bytes if k in readers else 0 for k in range(self.size)),
            self._waiting_seconds,
        )

    def abort(self, reason: str) -> None:
        """Make ``drain`` raise from now on: the run must not go on."""
        self._call(self._hub.abort, reason, strict=False)

    def expire_in(self, seconds: float) -> None:
        """Abort unless this is called again within ``seconds``."""
        self._call(self._hub.expire_in, seconds, strict=False)

    @property
    def closed(self) -> bool:
        """Whether the connections and the thread of this rank have ended."""
        return not self._thread.is_alive()

    def close(self, reason: str | None = None) -> None:
        """End all connections; with a reason, the others learn that this rank has failed."""
        if self._thread.is_alive():
            try:
                self._sync(self._shut(reason), self.patience + 5.0)
            except (TimeoutError, PeerLost):
                _log.warning("rank %d: its connections did not close in time", self.rank)
            self._call(self._loop.stop, strict=False)
            self._thread.join(5.0)

    def _ship(self, rank: int) -> None:
        """Send what was held back. The caller has the lock."""
        held = self._held.pop(rank, None)
        self._held_bytes.pop(rank, None)
        if held:
            self._call(self._hub.write, rank, frames.message_frame(self._number, held, end=False))

    def _call(self, function: Callable[..., Any], *args: Any, strict: bool = True) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            if strict:
                raise PeerLost(self.rank, "its connections were closed") from None

    def _sync(self, work: Coroutine[Any, Any, None], seconds: float) -> None:
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            raise PeerLost(self.rank, "its connections were closed") from None
        try:
            future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise
        except asyncio.CancelledError:
            raise PeerLost(self.rank, "its connections were closed") from None

    # The loop's thread.

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _listen(self, host: str) -> None:
        self._hub = Hub(self.rank, self.size, self.patience, self._results)
        self._listener = make_listener(host, self._accept, self._guests, self._security)
        await self._listener.start()
        self._keep(asyncio.ensure_future(self._watch()))

    async def _watch(self) -> None:
        await self._hub.tick()
        await self._shut("it was not started")
        self._loop.stop()

    def _keep(self, task: asyncio.Task[Any] | None) -> None:
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, comm: Any) -> None:
        """Serve a connection from another rank, or from anyone."""
        self._keep(asyncio.current_task())
        rank = None
        try:
            reader = Reader(comm.stream, self._loop.time)
            async with asyncio.timeout(GREETING_SECONDS):
                rank = await self._welcome(reader)
            self._guests.leave(comm.stream)
            if rank is not None:
                await self._hub.receive(rank, reader)
        except TimeoutError:
            _log.warning("rank %d: %s did not say who it is", self.rank, comm.peer_address)
        except OSError:
            if rank is None:
                _log.warning(
                    "rank %d: %s ended before it said who it is", self.rank, comm.peer_address
                )
            else:
                self._hub.lose(rank, "its connection ended", failed=False)
        except Exception as error:
            known = isinstance(error, FrameError | MemoryError)
            text = (f"{error}" if known else f"{error!r}")[:_LOGGED]
            _log.warning("rank %d: closes %s: %s", self.rank, comm.peer_address, text)
            if rank is not None:
                self._hub.lose(rank, f"its connection was closed: {text}", failed=True)
        finally:
            self._guests.leave(comm.stream)
            comm.abort()

    async def _welcome(self, reader: Reader) -> int | None:
        """The rank that connects, or None if it is refused."""
        greeting = read_greeting(await reader.greeting())
        reason = reason_to_refuse(greeting, self._greeting)
        if reason is None and greeting.rank in self._hub.readers:
            reason = f"rank {greeting.rank} is connected already"
        answer = frames.plain_frame("answer", rank=self.rank, refused=reason)
        await reader.stream.write(answer)
        if reason is not None:
            _log.warning("rank %d: refuses a connection: %s", self.rank, reason)
            return None
        self._hub.add_reader(greeting.rank, reader)
        return greeting.rank

    async def _connect(self, addresses: Sequence[str], seconds: float) -> None:
        others = [rank for rank in range(self.size) if rank != self.rank]
        # All ranks listen already, so that one that does not answer stands still; but others may
        # have to wait before they begin.
        patience = min(seconds, self.patience)
        try:
            async with asyncio.timeout(seconds):
                async with asyncio.timeout(patience):
                    await asyncio.gather(*(self._open(rank, addresses[rank]) for rank in others))
                await self._hub.everyone.wait()
        except TimeoutError:
            for rank in others:
                if rank not in self._hub.links:
                    text = f"it does not answer at {addresses[rank]} within {patience:.0f} seconds"
                    raise PeerLost(rank, text) from None
                if rank not in self._hub.readers:
                    text = f"it did not connect within {seconds:.0f} seconds"
                    raise PeerLost(rank, text) from None
            raise
        if self._hub.aborted is not None:
            raise PeerLost(self.rank, self._hub.aborted)
        self._hub.started = True

    async def _open(self, rank: int, address: str) -> None:
        scheme, location = parse_address(address)
        connector = TLSConnector() if scheme == "tls" else TCPConnector()
        try:
            comm = await _retry(lambda: connector.connect(location, **self._arguments))
        except FatalCommClosedError as error:
            raise WorkerError(
                f"rank {rank} at {address} has no valid certificate: {error}"
            ) from None
        try:
            await comm.stream.write(self._greeting.frame())
            answer = await Reader(comm.stream, self._loop.time).greeting()
            if answer["kind"] != "answer" or answer.get("rank") != rank:
                raise WorkerError(f"what listens at {address} is not rank {rank} of this run")
            if answer.get("refused") is not None:
                raise WorkerError(
                    f"rank {rank} at {address} refuses rank {self.rank}: {answer['refused']}"
                )
        except (OSError, FrameError) as error:
            comm.abort()
            raise PeerLost(rank, f"its connection ended in the greeting ({error})") from None
        except BaseException:
            comm.abort()
            raise
        self._hub.links[rank] = Link(comm)

    async def _shut(self, reason: str | None) -> None:
        frame: list[Buffer] = [frames.plain_frame("goodbye", reason=reason)]
        for rank in self._hub.links:
            self._hub.write(rank, frame)
        patience = self.patience if reason is None else min(1.0, self.patience)
        waiting = [link.flushed() for link in self._hub.links.values() if link.busy]
        if waiting:
            await asyncio.wait(waiting, timeout=patience)
        for link in self._hub.links.values():
            link.comm.abort()
        if hasattr(self, "_listener"):
            self._listener.stop()
        self._guests.close()
        for reader in self._hub.readers.values():
            reader.stream.close()
        own = asyncio.current_task()
        left = [task for task in self._tasks if task is not own]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=2.0)


async def _retry(connect: Callable[[], Awaitable[Any]]) -> Any:
    """Try until it works; the caller sets the deadline."""
    pause = 0.01
    while True:
        try:
            return await connect()
        except FatalCommClosedError:
            raise
        except OSError:
            await asyncio.sleep(pause)
            pause = min(1.0, 2 * pause)

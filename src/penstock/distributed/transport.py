"""How messages get from one endpoint to another.

Endpoints 0 .. ranks-1 are the ranks; the last one is the runner, which gives them their commands.
A message is bytes, and nothing else is shared, so a transport may lead to another machine: a
:class:`SocketTransport` does not know whether its sockets do. What a transport has to promise is in
:class:`Transport`; quiescence is detected by messages like all others.
"""

from __future__ import annotations

import selectors
import socket
import struct
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple, Protocol

from penstock.distributed.visitors import Buffer

_LENGTH = struct.Struct("<Q")


class Message(NamedTuple):
    """What came, and from where."""

    sender: int
    data: Buffer


class PeerLost(Exception):  # noqa: N818 - never shown: the runner makes a WorkerError of it
    """An endpoint is gone for good."""

    def __init__(self, rank: int) -> None:
        super().__init__(f"endpoint {rank} is gone")
        self.rank = rank


class Transport(Protocol):
    """One endpoint.

    A message arrives whole and once, or its sender or receiver is gone. Messages of one endpoint to
    another arrive in the order they were sent in; those of different endpoints in any order.
    """

    @property
    def rank(self) -> int:
        """The number of this endpoint."""

    @property
    def size(self) -> int:
        """How many endpoints there are."""

    def send(self, rank: int, data: Buffer) -> None:
        """Send a message. May wait for room, but not for the receiver to call :meth:`receive`. The
        data must not be changed afterwards. Raises :class:`PeerLost`.
        """

    def receive(self, timeout: float | None) -> Message | None:
        """The next message; None if there is none for so many seconds (0: do not wait, None: wait
        for ever). Raises :class:`PeerLost` after the last message of an endpoint that ended without
        being asked to.
        """

    def close(self) -> None:
        """Nothing is sent or received any more; the others see that this endpoint is gone."""


def _take(inbox: SimpleQueue[Message | PeerLost], timeout: float | None) -> Message | None:
    try:
        found = inbox.get_nowait() if timeout == 0 else inbox.get(timeout=timeout)
    except Empty:
        return None
    if isinstance(found, PeerLost):
        raise found
    return found


class ThreadTransport:
    """An endpoint among threads of one process: a queue each."""

    def __init__(self, rank: int, inboxes: list[SimpleQueue[Message | PeerLost]]) -> None:
        self.rank = rank
        self._inboxes = inboxes

    @property
    def size(self) -> int:
        """How many endpoints there are."""
        return len(self._inboxes)

    def send(self, rank: int, data: Buffer) -> None:
        """Put it in the other's queue."""
        self._inboxes[rank].put(Message(self.rank, data))

    def receive(self, timeout: float | None) -> Message | None:
        """The next of the queue."""
        return _take(self._inboxes[self.rank], timeout)

    def close(self) -> None:
        """The others find a notice in their queues."""
        for rank, inbox in enumerate(self._inboxes):
            if rank != self.rank:
                inbox.put(PeerLost(self.rank))


class SocketTransport:
    """An endpoint with a connected stream socket to each of the others.

    A thread takes what comes in out of the sockets at once, so that whoever sends never waits for
    this endpoint's work: two that send to each other do not block each other.
    """

    def __init__(self, rank: int, sockets: dict[int, socket.socket]) -> None:
        self.rank = rank
        self._sockets = sockets
        self._inbox: SimpleQueue[Message | PeerLost] = SimpleQueue()
        self._reader = threading.Thread(
            target=self._read, name=f"penstock-reader-{rank}", daemon=True
        )
        self._reader.start()

    @property
    def size(self) -> int:
        """How many endpoints there are."""
        return len(self._sockets) + 1

    def send(self, rank: int, data: Buffer) -> None:
        """Write it to the socket of the other."""
        try:
            self._sockets[rank].sendall(_LENGTH.pack(len(data)))
            self._sockets[rank].sendall(data)
        except OSError:
            raise PeerLost(rank) from None

    def receive(self, timeout: float | None) -> Message | None:
        """The next that the thread has read."""
        return _take(self._inbox, timeout)

    def close(self) -> None:
        """Close the sockets."""
        for each in self._sockets.values():
            with suppress(OSError):  # the other side may have been quicker
                each.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        for each in self._sockets.values():
            each.close()

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            for rank, each in self._sockets.items():
                selector.register(each, selectors.EVENT_READ, rank)
            while selector.get_map():
                for key, _ in selector.select():
                    data = self._read_message(self._sockets[key.data])
                    if data is not None:
                        self._inbox.put(Message(key.data, data))
                    else:
                        selector.unregister(key.fileobj)
                        self._inbox.put(PeerLost(key.data))

    def _read_message(self, source: socket.socket) -> bytearray | None:
        """A whole message; None if the other side is gone."""
        length = bytearray(_LENGTH.size)
        if not _fill(source, length):
            return None
        data = bytearray(*_LENGTH.unpack(length))
        return data if _fill(source, data) else None


def _fill(source: socket.socket, data: bytearray) -> bool:
    """Read until the buffer is full; False if there is no more."""
    view = memoryview(data)
    while view:
        try:
            count = source.recv_into(view)
        except OSError:
            return False
        if not count:
            return False
        view = view[count:]
    return True

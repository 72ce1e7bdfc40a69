"""The loop of a rank while a command runs: take visitors, apply them, visit, send, all without a
barrier, until no rank has anything to do.

Visitors for one rank travel together: they are sent when there is no room for more, when this rank
would have to wait, and after each step of visits. Those for the rank itself take the same way, less
the transport. What has come in is applied before anything new is begun, in large batches, one call
of a compiled kernel each.

A rank begins nothing new while some rank has :data:`WINDOW` of its messages that are not applied
yet: so what waits in inboxes is bounded. Applying is never held up, so nobody waits in a circle.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.distributed.outbox import Outbox
from penstock.distributed.quiescence import Quiescence, Token
from penstock.distributed.transport import Message, Transport
from penstock.distributed.visitors import Kind, message, read_head, visitors_message, visitors_of
from penstock.types import Array

#: Messages to one rank that may wait there before this one holds back.
WINDOW = 4


class Stopped(Exception):  # noqa: N818 - not an error
    """The runner wants this rank to end."""


class Program(Protocol):
    """What visitors do."""

    @property
    def busy(self) -> bool:
        """Whether there is work of its own: vertices to visit, requests to send."""

    def room_needed(self) -> int:
        """How many visitors to one rank the next piece of work may make, at most."""

    def work(self) -> bool:
        """Do a piece of work; true if the visitors it made are worth sending at once."""

    def receive(self, visitors: Array) -> None:
        """Apply a batch; this makes at most as many visitors as there are in it."""


@dataclass
class Traffic:
    """What a rank sent to others during a command."""

    messages: int = 0
    visitors: int = 0


class VisitorQueue:
    """One rank's queue for one command."""

    def __init__(self, transport: Transport, outbox: Outbox, command: int) -> None:
        self.traffic = Traffic()
        self._transport = transport
        self._rank = transport.rank
        self._outbox = outbox
        self._command = command
        self._ranks = len(outbox.filled)
        self._quiescence = Quiescence(self._rank, self._ranks)
        self._quiet = False
        #: Batches that have come, and who is to be told when they are applied.
        self._inbox: deque[tuple[int, Array]] = deque()
        self._unapplied = [0] * self._ranks

    def run(self, program: Program) -> None:
        """Go on until all ranks are quiet."""
        while not self._quiet:
            self._take_what_is_there()
            if self._inbox:
                self._apply(program)
            elif program.busy and max(self._unapplied) < WINDOW:
                self._work(program)
            else:
                self._send_all()
                if not self._inbox:
                    self._wait(program)

    def take(self, received: Message) -> None:
        """Look at a message."""
        head = read_head(received.data)
        if head.kind == Kind.STOP:
            raise Stopped
        if head.command != self._command:
            # Nobody waits for what a finished command had to say.
            assert head.kind == Kind.APPLIED
        elif head.kind == Kind.VISITORS:
            self._quiescence.received()
            self._inbox.append((received.sender, visitors_of(received.data)))
        elif head.kind == Kind.APPLIED:
            self._unapplied[received.sender] -= head.number
        elif head.kind == Kind.TOKEN:
            self._quiescence.take(Token(head.number >> 1, bool(head.number & 1)))
        else:
            assert head.kind == Kind.QUIET
            self._quiet = True

    def _take_what_is_there(self) -> None:
        while (received := self._transport.receive(0)) is not None:
            self.take(received)

    def _wait(self, program: Program) -> None:
        """Nothing to do here now: pass the token on, and wait for a message."""
        if not program.busy:
            token = self._quiescence.idle()
            if self._quiescence.over:
                for rank in range(1, self._ranks):
                    self._tell(rank, Kind.QUIET)
                self._quiet = True
                return
            if token is not None:
                self._tell(
                    self._quiescence.next_rank, Kind.TOKEN, 2 * token.missing + token.tainted
                )
        received = self._transport.receive(None)
        if received is not None:
            self.take(received)

    def _tell(self, rank: int, kind: Kind, number: int = 0) -> None:
        self._transport.send(rank, message(kind, self._command, number))

    def _work(self, program: Program) -> None:
        self._make_room(program.room_needed())
        if program.work():
            self._send_all()

    def _apply(self, program: Program) -> None:
        """Apply what has come, not more at a time than half of what there is room for: then what
        that makes need not be sent before it is worth it.
        """
        limit = max(1, self._outbox.room // 2)
        batches = [self._inbox.popleft()]
        total = len(batches[0][1])
        while self._inbox and total + len(self._inbox[0][1]) <= limit:
            batches.append(self._inbox.popleft())
            total += len(batches[-1][1])
        parts = [visitors for _, visitors in batches]
        together = parts[0] if len(parts) == 1 else np.concatenate(parts)
        for begin in range(0, total, limit):
            visitors = together[begin : begin + limit]
            self._make_room(len(visitors))
            program.receive(visitors)
        for sender in {sender for sender, _ in batches} - {self._rank}:
            count = sum(each == sender for each, _ in batches)
            self._tell(sender, Kind.APPLIED, count)

    def _make_room(self, room: int) -> None:
        """Send what is in the way of so many visitors to one rank."""
        if room > self._outbox.room:
            self._send_all()
            self._outbox.widen(room)
        for rank in np.flatnonzero(self._outbox.filled + room > self._outbox.room).tolist():
            self._send(rank)

    def _send_all(self) -> None:
        for rank in np.flatnonzero(self._outbox.filled).tolist():
            self._send(rank)

    def _send(self, rank: int) -> None:
        visitors = self._outbox.rows[rank, : self._outbox.filled[rank]]
        self._outbox.filled[rank] = 0
        data = visitors_message(self._command, visitors)
        if rank == self._rank:
            self._inbox.append((rank, visitors_of(data)))
            return
        self._quiescence.sent()
        self._unapplied[rank] += 1
        self.traffic.messages += 1
        self.traffic.visitors += len(visitors)
        self._transport.send(rank, data)

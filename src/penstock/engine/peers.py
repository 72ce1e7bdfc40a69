"""What the engine knows of other ranks: how many there are, and how to exchange arrays with them.

A run over several hosts is the same program on every *rank*; each scans its own pages. Ranks take
part in *exchanges*: each posts any number of messages to others, and then drains what was posted
to it. All ranks take part in the same exchanges in the same order, so every decision
that leads to one must be made from numbers that all of them have.

A transport implements ``post`` and ``drain``; the collective calls follow from these, once, in
:class:`Collectives`. :data:`ALONE` is the default: one rank, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np

from penstock.types import Array

#: One message: arrays of plain types, of any shape.
Arrays = tuple[Array, ...]
Number = TypeVar("Number", int, float)


class PeerLost(Exception):  # noqa: N818 - ends a run on one rank; callers turn it into an error
    """A rank is gone, or has been silent for too long."""

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank} is lost: {reason}")
        self.rank = rank
        self.reason = reason

    def __reduce__(self) -> tuple[type[PeerLost], tuple[int, str]]:
        return PeerLost, (self.rank, self.reason)


class Peers(Protocol):
    """The ranks of a run, as one of them sees the others."""

    @property
    def rank(self) -> int:
        """The number of this rank."""

    @property
    def size(self) -> int:
        """How many ranks there are."""

    def post(self, rank: int, *arrays: Array) -> None:
        """Send arrays to another rank, without waiting for it. They must not be changed before the
        next :meth:`drain` has returned. May be called from several threads.
        """

    def drain(self) -> list[list[Arrays]]:
        """End the exchange, after waiting for all others to end theirs. Returns what each rank has
        posted to this one, in the order of its calls; an empty list for this rank. Arrays may be
        read-only.

        Raises
        ------
        PeerLost
            A rank is gone: the run cannot go on.
        """

    def allgather(self, *arrays: Array) -> list[Arrays]:
        """What each rank gives, by rank."""

    def alltoall(self, messages: Sequence[Arrays]) -> list[Arrays]:
        """Send message r to rank r; returns what each rank sent to this one, by rank."""

    def allreduce(self, values: Array) -> Array:
        """The sums of what each rank gives, added in the order of the ranks: the same bits
        everywhere.
        """


class Collectives:
    """The calls of :class:`Peers` that follow from ``post`` and ``drain``."""

    rank: int
    size: int

    def post(self, rank: int, *arrays: Array) -> None:
        """See :class:`Peers`."""
        raise NotImplementedError

    def drain(self) -> list[list[Arrays]]:
        """See :class:`Peers`."""
        raise NotImplementedError

    def allgather(self, *arrays: Array) -> list[Arrays]:
        """See :class:`Peers`."""
        return self.alltoall([arrays] * self.size)

    def alltoall(self, messages: Sequence[Arrays]) -> list[Arrays]:
        """See :class:`Peers`."""
        for rank, arrays in enumerate(messages):
            if rank != self.rank:
                self.post(rank, *arrays)
        found = self.drain()
        return [
            messages[rank] if rank == self.rank else received[0]
            for rank, received in enumerate(found)
        ]

    def allreduce(self, values: Array) -> Array:
        """See :class:`Peers`."""
        total = np.zeros_like(values)
        for (part,) in self.allgather(values):
            total += part
        return total


class Alone(Collectives):
    """One rank that has everything."""

    rank = 0
    size = 1

    def drain(self) -> list[list[Arrays]]:
        """See :class:`Peers`."""
        return [[]]


class Planned(Collectives):
    """The first of some ranks that do not exist: for plans of runs over them."""

    rank = 0

    def __init__(self, size: int) -> None:
        self.size = size


ALONE: Peers = Alone()

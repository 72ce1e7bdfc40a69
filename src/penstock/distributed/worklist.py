"""Vertices of a rank that wait to be visited: each at most once, first in, first out.

Kernels get the three arrays: see :mod:`.visiting` for how vertices are put in and taken out.
``ring`` has as many places as a power of two, more than there are numbers; ``ends`` is where the
first one is, and how many there are.
"""

from __future__ import annotations

import numpy as np

from penstock.types import I64, U8, U32, Array


class Worklist:
    """The waiting vertices, and room for all of them."""

    def __init__(self) -> None:
        self.ring: U32 = np.empty(1024, np.uint32)
        self.waiting: U8 = np.zeros(1024, np.uint8)
        self.ends: I64 = np.zeros(2, np.int64)

    def __len__(self) -> int:
        return int(self.ends[1])

    def first(self) -> int:
        """The one whose turn is next."""
        return int(self.ring[self.ends[0]])

    def grow(self, size: int) -> None:
        """Have room for vertices with numbers below ``size``."""
        room = len(self.ring)
        if room > size:
            return
        more = 1 << size.bit_length()
        ring: U32 = np.empty(more, np.uint32)
        ring[: len(self)] = self._in_order()
        waiting: U8 = np.zeros(more, np.uint8)
        waiting[:room] = self.waiting
        self.ring, self.waiting = ring, waiting
        self.ends[0] = 0

    def put_all(self, vertices: U32) -> None:
        """Put vertices, each once, into the empty list."""
        assert not len(self)
        self.ends[:] = 0, len(vertices)
        self.ring[: len(vertices)] = vertices
        self.waiting[vertices] = 1

    def taken_since(self, first: int) -> int:
        """How many were taken since ``ends[0]`` was ``first``; fewer than there is room for."""
        return (int(self.ends[0]) - first) & (len(self.ring) - 1)

    def sort(self, keys: Array) -> None:
        """Order those that wait by their keys."""
        waiting = self._in_order()
        self.ends[0] = 0
        self.ring[: len(waiting)] = waiting[np.argsort(keys[waiting])]

    def _in_order(self) -> U32:
        first, count = (int(end) for end in self.ends)
        waiting: U32 = self.ring[(first + np.arange(count)) & (len(self.ring) - 1)]
        return waiting

    def arrays(self) -> tuple[Array, ...]:
        """What kernels get."""
        return self.ring, self.waiting, self.ends

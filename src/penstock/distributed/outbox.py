"""Visitors on their way out, side by side for each rank they go to."""

from __future__ import annotations

import numpy as np

from penstock.distributed.visitors import VISITOR
from penstock.types import I64, Array

#: Visitors in all of an outbox, and to one rank at least and at most. The more are applied
#: together, the less each costs.
VISITORS = 1 << 20
LEAST_ROOM, MOST_ROOM = 1 << 14, 1 << 19


def room_for(ranks: int) -> int:
    """How many visitors to one rank travel together, unless one vertex makes more of them."""
    return min(max(VISITORS // ranks, LEAST_ROOM), MOST_ROOM)


class Outbox:
    """Room for ``room`` visitors to each rank. Kernels put visitor k for rank r at ``rows[r, k]``,
    with ``filled[r]`` = k before it; they never put in more than there is room for, because the
    caller asks for that room first.
    """

    def __init__(self, ranks: int) -> None:
        room = room_for(ranks)
        self.rows: Array = np.zeros((ranks, room), VISITOR)
        self.filled: I64 = np.zeros(ranks, np.int64)

    @property
    def room(self) -> int:
        """How many visitors to one rank fit, of a vertex or a batch."""
        return int(self.rows.shape[1])

    def widen(self, room: int) -> None:
        """Have room for so many; nothing may be in it."""
        assert not self.filled.any()
        if room > self.room:
            self.rows = np.zeros((len(self.filled), room), VISITOR)

    def arrays(self) -> tuple[Array, ...]:
        """What kernels get."""
        return self.rows, self.filled

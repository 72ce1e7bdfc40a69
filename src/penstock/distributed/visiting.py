"""What programs have in common whose vertices wait to be visited: a visit may put visitors for
other ranks into the outbox, and other vertices of this rank into the worklist.
"""

from __future__ import annotations

import numpy as np

from penstock.distributed.outbox import Outbox
from penstock.distributed.shard import Shard
from penstock.distributed.worklist import Worklist
from penstock.jit import always_inline


@always_inline
def enlist(ring, waiting, ends, v):  # type: ignore[no-untyped-def]
    """Let a vertex wait, unless it does."""
    if waiting[v] == 0:
        waiting[v] = 1
        ring[(ends[0] + ends[1]) & np.int64(len(ring) - 1)] = v
        ends[1] += 1


@always_inline
def take_first(ring, waiting, ends, starts, stops, room):  # type: ignore[no-untyped-def]
    """The first vertex that waits, and its degree; it waits no longer. If there is none, or if it
    has more neighbours than there is room for, the degree is -1 and it stays.
    """
    v = ring[ends[0]]
    degree = np.int64(stops[v] - starts[v]) if ends[1] > 0 else np.int64(-1)
    if degree < 0 or degree > room:
        return v, np.int64(-1)
    ends[0] = (ends[0] + 1) & np.int64(len(ring) - 1)
    ends[1] -= 1
    waiting[v] = 0
    return v, degree


@always_inline
def send(rows, filled, owner, target, other, value, operation):  # type: ignore[no-untyped-def]
    """Put a visitor into the outbox; gives how many go to that rank by now."""
    k = filled[owner]
    rows[owner, k].target = target
    rows[owner, k].other = other
    rows[owner, k].value = value
    rows[owner, k].operation = operation
    filled[owner] = k + 1
    return k + 1


@always_inline
def smallest_free(taken, mark):  # type: ignore[no-untyped-def]
    """The smallest colour that does not have the mark of those that are taken."""
    color = np.uint32(0)
    while taken[color] == mark:
        color += np.uint32(1)
    return color


class Visiting:
    """The vertices of a shard that wait to be visited."""

    def __init__(self, shard: Shard, outbox: Outbox) -> None:
        self._shard = shard
        self._outbox = outbox
        self._worklist = Worklist()

    @property
    def busy(self) -> bool:
        """Whether vertices wait."""
        return len(self._worklist) > 0

    def room_needed(self) -> int:
        """The degree of the first one that waits."""
        return self._shard.degree(self._worklist.first())

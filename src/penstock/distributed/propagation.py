"""Programs whose values only go down, from vertex to neighbour: what they have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.distributed.outbox import Outbox
from penstock.distributed.shard import Shard
from penstock.distributed.visiting import Visiting, enlist
from penstock.jit import kernel
from penstock.types import Array


@kernel
def _arrive(brought, numbers, values, ring, waiting, ends):  # type: ignore[no-untyped-def]
    """Take the values that are lower, and list the vertices that got one."""
    for i in range(len(numbers)):
        v = numbers[i]
        if brought[i] < values[v]:
            values[v] = brought[i]
            enlist(ring, waiting, ends, v)


class Propagation(Visiting, ABC):
    """Vertices that got a lower value wait, and are visited to offer it on."""

    #: The field of a visitor that has the value it brings.
    _brings: str
    #: A kernel: HavoqGT's ``visit`` for many vertices at once (its ``pre_visit`` is ``_arrive``),
    #: (rank, values, ids, owners, starts, ends, neighbours, worklist, outbox): visit some; returns
    #: how many.
    _visit: Callable[..., int]

    def __init__(self, shard: Shard, outbox: Outbox, values: Array) -> None:
        super().__init__(shard, outbox)
        self._values = values
        self._worklist.grow(shard.size)
        self.visits = 0

    def work(self) -> bool:
        """Visit some."""
        self.visits += self._visit(
            self._shard.rank, self._values, *self._shard.arrays(), *self._worklist.arrays(),
            *self._outbox.arrays(),
        )  # fmt: skip
        return True

    def receive(self, visitors: Array) -> None:
        """Take what visitors bring."""
        numbers = self._shard.find(np.ascontiguousarray(visitors["target"]))
        brought = np.ascontiguousarray(visitors[self._brings])
        _arrive(brought, numbers, self._values, *self._worklist.arrays())

    @abstractmethod
    def values(self) -> Array:
        """The values of this rank's own vertices, by ascending id."""

    def result(self) -> dict[str, Any]:
        """Ids and values of this rank's own vertices, and how many visits it took."""
        own_ids = self._shard.ids[self._shard.own()]
        return {"ids": own_ids, "values": self.values(), "visits": self.visits}

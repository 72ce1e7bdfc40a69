"""The memory of a run: arrays and other things it holds, counted against its budget."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

from penstock.engine.plan import Plan
from penstock.engine.topology import Topology
from penstock.store.graph import Graph
from penstock.store.kept import Slot
from penstock.stream.budget import Budget
from penstock.types import U64, Array

Value = TypeVar("Value")
#: Bytes that a processor fetches together.
CACHE_LINE = 64


def _holder(name: str) -> str:
    """What the budget calls an array of the engine."""
    return f"state {name!r}"


class RunMemory:
    """What :class:`~penstock.engine.engine.Engine` offers to hold values in memory."""

    graph: Graph
    plan: Plan
    budget: Budget
    num_vertices: int
    _topology: Topology

    def array(
        self, name: str, dtype: DTypeLike, fill: object = None, length: int | None = None
    ) -> Array:
        """An array with an entry for each vertex, or of another length, counted against the budget.
        It begins where a cache line does.
        """
        kind = np.dtype(dtype)
        count = self.num_vertices if length is None else length
        size = count * kind.itemsize
        self.budget.take(size, _holder(name))
        # Zeros cost nothing until they are touched.
        zero = fill is not None and np.isscalar(fill) and not fill
        room = (np.zeros if zero else np.empty)(size + CACHE_LINE, np.uint8)
        begin = -room.ctypes.data % CACHE_LINE
        array = room[begin : begin + size].view(kind.base).reshape(count, *kind.shape)
        if fill is not None and not zero:
            array[:] = fill
        return array

    def hold(self, name: str, size: int) -> None:
        """Count bytes that are held in other forms than arrays of the engine, in place of what was
        counted by that name before. Pages that are cached give way to them.
        """
        self.budget.give_back(name)
        if size > self.budget.left and not self.plan.resident:
            self._topology.drop_cache()
        self.budget.take(size, name)

    @property
    def room(self) -> int:
        """How many bytes the plan grants of those that the run can do with more or fewer of."""
        return self.plan.room

    def take_room(self, name: str, most: int | None = None, *, with_scratch: bool = False) -> int:
        """The :attr:`room`, which is counted by a name from now on. ``with_scratch``: and the bytes
        for everything that works at once.
        """
        size = self.room + (self.plan.worker_bytes if with_scratch else 0)
        size = size if most is None else min(size, most)
        self.hold(name, size)
        return size

    def held(self, name: str) -> int:
        """How many bytes are counted by a name."""
        return self.budget.holders.get(name, 0)

    def vertex_set(self, name: str) -> U64:
        """A bit for each vertex, none of them set, counted against the budget."""
        words = -(-self.num_vertices // 64)
        return self.array(name, np.uint64, 0, length=words)

    def free(self, name: str) -> None:
        """Give back what is counted by a name; the caller has let go of it."""
        self.budget.give_back(_holder(name))
        self.budget.give_back(name)

    def _held_arrays(self) -> dict[str, int]:
        """What the arrays with an entry for each vertex have taken of the budget."""
        return {k: size for k, size in self.budget.holders.items() if k.startswith("state ")}

    def kept(self, slot: Slot[Value], *key: Hashable) -> Value | None:
        """What an earlier run left with the graph by :meth:`keep`, if it is of use for this one."""
        return self.graph.kept.get(slot, *key) if self.plan.resident else None

    def keep(self, slot: Slot[Value], *key: Hashable, value: Value) -> None:
        """Leave something that the plan has room for with the graph, for the next run; but only if
        the lists stay there, too.
        """
        if self.plan.resident:
            self.graph.kept.put(slot, *key, value=value)

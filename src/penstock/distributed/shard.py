"""What one rank holds of the graph: the lists of its own vertices, and numbers for all ids it has
met, its own and those of their neighbours ("ghosts", whose lists are empty here).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.distributed.visitors import owners
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.robin_hood import RobinHoodTable
from penstock.errors import AddressingError
from penstock.types import MAX_VERTICES, NO_VERTEX, U16, U32, U64, Array


def grown(array: Array, length: int, fill: Any) -> Array:
    """The array if it is long enough, else one of twice the length or more with the same
    beginning.
    """
    if len(array) >= length:
        return array
    more = np.full(max(length, 2 * len(array)), fill, array.dtype)
    more[: len(array)] = array
    return more


class Shard:
    """Ids, owners and lists by local number; numbers are given in the order ids are first met."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.rank = rank
        self.ranks = ranks
        self.size = 0
        self.lists = DegreeAwareLists(threads=1)
        self._table = RobinHoodTable()
        self._ids: U64 = np.empty(1024, np.uint64)
        self._owners: U16 = np.empty(1024, np.uint16)
        #: What :meth:`own` gave when there were so many numbers.
        self._own: tuple[int, U32] = 0, np.empty(0, np.uint32)

    @property
    def ids(self) -> U64:
        """The id of each number."""
        return self._ids[: self.size]

    @property
    def owners(self) -> U16:
        """The owner of each number."""
        return self._owners[: self.size]

    def own(self) -> U32:
        """The numbers of this rank's own vertices, by ascending id."""
        size, own = self._own
        if size != self.size:
            mine = np.flatnonzero(self.owners == self.rank).astype(np.uint32)
            own = mine[np.argsort(self.ids[mine])]
            self._own = self.size, own
        return own

    def degree(self, number: int) -> int:
        """How long the list of a number is."""
        return int(self.lists.ends[number] - self.lists.starts[number])

    def arrays(self) -> tuple[Array, ...]:
        """What kernels get: ids, owners, where lists begin and end, neighbours."""
        lists = self.lists
        return self.ids, self.owners, lists.starts, lists.ends, lists.neighbours

    def find(self, ids: U64) -> U32:
        """The number of each id, ``NO_VERTEX`` if it was never met."""
        numbers: U32 = np.empty(len(ids), np.uint32)
        self._table.find(ids, numbers)
        return numbers

    def number(self, ids: U64) -> U32:
        """The number of each id; ids that were never met get one."""
        numbers: U32 = np.empty(len(ids), np.uint32)
        if self._table.find(ids, numbers):
            new = self._table.insert(ids, numbers)
            self._add(new)
        return numbers

    def _add(self, new: U64) -> None:
        end = self.size + len(new)
        if end > MAX_VERTICES:
            raise AddressingError(
                f"rank {self.rank} of {self.ranks} would hold {end:,} vertices and neighbours; "
                f"a rank can number {MAX_VERTICES:,}; use more ranks"
            )
        self._ids = grown(self._ids, end, 0)
        self._owners = grown(self._owners, end, 0)
        self._ids[self.size : end] = new
        self._owners[self.size : end] = owners(new, self.ranks)
        self.size = end
        self.lists.grow(end)

    def close(self) -> None:
        """End the threads of the lists."""
        self.lists.close()


assert NO_VERTEX == MAX_VERTICES, "the number that marks absence is never given"

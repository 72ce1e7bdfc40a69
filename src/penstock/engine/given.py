"""Numbers that are given for vertices, by vertex number, without an array of all vertices.

A run decides where they are: in an array that its plan counts, in a file, or made for each range
that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.store.mapped import PART, read_range
from penstock.types import U32, Array


@dataclass(frozen=True, slots=True)
class SparseNumbers:
    """Numbers for some vertices (ascending, each once); all others have the same one."""

    length: int
    vids: U32
    numbers: Array
    #: What the others have, as an array of one entry.
    other: Array

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.numbers.dtype

    @property
    def held_bytes(self) -> int:
        """What it holds in memory."""
        return self.vids.nbytes + self.numbers.nbytes

    def entries(self) -> Iterator[tuple[Array, int]]:
        """All numbers that occur, in parts, and for how many vertices each counts."""
        if len(self.vids):
            yield self.numbers, 1
        if len(self.vids) < self.length:
            yield self.other, self.length - len(self.vids)

    def divided_by(self, divisor: float) -> SparseNumbers:
        """All numbers divided, in float64."""
        return replace(
            self,
            numbers=_divide(self.numbers, divisor),
            other=_divide(self.other, divisor),
        )

    def read(self, begin: int, end: int) -> Array:
        """The numbers of vertices ``begin`` to ``end``."""
        found: Array = np.full(end - begin, self.other[0], self.dtype)
        first, last = np.searchsorted(self.vids, [begin, end])
        found[self.vids[first:last] - np.uint32(begin)] = self.numbers[first:last]
        return found

    def fill(self, target: Array) -> None:
        """Write the numbers of all vertices."""
        target[:] = self.other[0]
        target[self.vids] = self.numbers

    def whole(self) -> Array:
        """The numbers of all vertices."""
        return self.read(0, self.length)


@dataclass(frozen=True, slots=True)
class DenseNumbers:
    """A number for every vertex, in the order of the user's ids."""

    #: As the user gave them, of any type.
    given: Array
    dtype: np.dtype[Any]
    #: The vertex of each id, ascending; None: their numbers are in this order.
    vid_of_rank: U32 | None
    divisor: float | None = None

    @property
    def length(self) -> int:
        """How many vertices there are."""
        return len(self.given)

    @property
    def held_bytes(self) -> int:
        """What it holds in memory, besides what the user holds."""
        return 0

    def entries(self) -> Iterator[tuple[Array, int]]:
        """All numbers, in parts, and for how many vertices each counts."""
        for begin in range(0, self.length, PART):
            yield self._part(begin, min(begin + PART, self.length)), 1

    def divided_by(self, divisor: float) -> DenseNumbers:
        """All numbers divided, in float64."""
        return replace(self, divisor=divisor)

    def fill(self, target: Array) -> None:
        """Write the numbers of all vertices."""
        for begin in range(0, self.length, PART):
            end = min(begin + PART, self.length)
            part = self._part(begin, end)
            if self.vid_of_rank is None:
                target[begin:end] = part
            else:
                target[read_range(self.vid_of_rank, begin, end)] = part

    def whole(self) -> Array:
        """The numbers of all vertices."""
        found: Array = np.empty(self.length, self.dtype)
        self.fill(found)
        return found

    def _part(self, begin: int, end: int) -> Array:
        """Some numbers in the order of ids."""
        part = self.given[begin:end].astype(self.dtype)
        return part if self.divisor is None else _divide(part, self.divisor)


Numbers = SparseNumbers | DenseNumbers


def given_bytes(values: Any, dtype: np.dtype[Any]) -> int:
    """What is held of numbers that a user gives for vertices (a mapping of ids, one number, or an
    array, which the user holds), before it is known of which graph.
    """
    return len(values) * (4 + dtype.itemsize) if isinstance(values, Mapping) else 0


def _divide(numbers: Array, divisor: float) -> Array:
    return (numbers / np.float64(divisor)).astype(numbers.dtype)

"""Lists in memory as their readers see them: by consecutive vertices, in one layer or several."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from penstock.jit import no_refcount
from penstock.types import U32, U64, Array


class Tables(Protocol):
    """Lists in memory, in no order; ``columns`` are aligned with ``neighbours``."""

    def bounds(self, begin: int, end: int) -> tuple[U64, U64]:
        """Where the lists of consecutive vertices begin and end in ``neighbours``. Vertices that
        there are no lists of have empty ones.
        """

    @property
    def neighbours(self) -> U32:
        """The lists."""

    @property
    def columns(self) -> tuple[Array, ...]:
        """What edges have besides."""


class FrozenTables(NamedTuple):
    """The arrays of lists in memory that are changed no more. ``numbers``: lists are by the number
    that each vertex has there; numbers that are given later are of no list here.
    """

    starts: U64
    ends: U64
    neighbours: U32
    columns: tuple[Array, ...]
    numbers: U32 | None = None

    def bounds(self, begin: int, end: int) -> tuple[U64, U64]:
        """See :class:`Tables`."""
        if self.numbers is None:
            return _padded(self.starts, begin, end), _padded(self.ends, begin, end)
        return pick_bounds(_padded(self.numbers, begin, end), self.starts, self.ends)


def _padded(array: Array, begin: int, end: int) -> Array:
    """A part of an array, with zeros for what it does not have."""
    part = array[begin:end]
    missing = end - begin - len(part)
    return np.append(part, np.zeros(missing, part.dtype)) if missing else part


class Layer(NamedTuple):
    """Changes of the lists below: edges that were added, and edges of those that were removed. The
    lowest layer of a graph without a base has all edges, and removes none. It may have fewer
    vertices than the layers above.
    """

    added: Tables
    removed: Tables | None = None


def pick_bounds(numbers: U32, starts: U64, ends: U64) -> tuple[U64, U64]:
    """Where the lists of some numbers begin and end."""
    begins, stops = np.empty((2, len(numbers)), np.uint64)
    _copy_bounds(numbers, starts, ends, begins, stops)
    return begins, stops


@no_refcount
def _copy_bounds(numbers, starts, ends, out_starts, out_ends):  # type: ignore[no-untyped-def]
    """Where the lists of some numbers begin and end; those that are not known have the empty list
    of number 0.
    """
    count = np.uint64(len(starts))
    for i in range(np.uint64(len(numbers))):
        number = np.uint64(numbers[i])
        if number >= count:
            number = np.uint64(0)
        out_starts[i] = starts[number]
        out_ends[i] = ends[number]

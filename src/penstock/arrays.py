"""Small things that NumPy does less well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from penstock.types import Array

#: Rows of a table that are worked on at a time: a row group of Parquet.
PART_ROWS = 1 << 19
#: Bytes of a large page of memory, as most systems have them.
LARGE_PAGE = 2 << 20


def distinct(values: Array) -> Array:
    """The values in ascending order, each once. NumPy's ``unique`` hashes integers, which takes
    forty to a hundred times as long as sorting them does.

    >>> distinct(np.array([3, 1, 3, 2]))
    array([1, 2, 3])
    """
    if (values[1:] > values[:-1]).all():
        return values
    found = np.sort(values)
    keep = np.ones(len(found), bool)
    np.not_equal(found[1:], found[:-1], out=keep[1:])
    return found[keep]


def sequential_sum(values: Iterable[Any]) -> Any:
    """The sum of numbers from left to right. Python's ``sum`` makes up for the rounding of floats
    from version 3.12 on, and so gives other bits than before.

    >>> sequential_sum([0.1] * 10)
    0.9999999999999999
    """
    total: Any = 0
    for value in values:
        total += value
    return total


def fresh(length: int, dtype: DTypeLike) -> Array:
    """An array that nothing is in yet. A large one begins where the system can give it large pages:
    getting a few megabytes in small ones takes several times as long as filling them.
    """
    kind = np.dtype(dtype)
    size = length * kind.itemsize
    if size < LARGE_PAGE or kind.hasobject:
        return np.empty(length, kind)
    room: Array = np.empty(size + LARGE_PAGE, np.uint8)
    begin = -room.ctypes.data % LARGE_PAGE
    return room[begin : begin + size].view(kind)


def parts(length: int, rows: int = PART_ROWS) -> Iterator[tuple[int, int]]:
    """Cut rows into parts: begin and end of each."""
    return ((begin, min(begin + rows, length)) for begin in range(0, length, rows))

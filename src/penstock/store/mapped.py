"""Parts of index arrays, without mapping them into memory.

A mapped array's pages count as the process's memory once they are touched, for as long as it is
open. Whoever goes through one from end to end reads it in parts instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.types import Array

#: Entries in a part.
PART = 1 << 20


def read_range(array: Array, begin: int, end: int) -> Array:
    """``array[begin:end]``, read from its file if the array is mapped from one."""
    if not isinstance(array, np.memmap) or array.filename is None:
        return array[begin:end]
    place = array.offset + begin * array.dtype.itemsize
    return np.fromfile(array.filename, array.dtype, end - begin, offset=place)


def iter_parts(array: Array) -> Iterator[tuple[int, Array]]:
    """Where each part begins, and the part."""
    for begin in range(0, len(array), PART):
        yield begin, read_range(array, begin, min(begin + PART, len(array)))

"""From arrays of any kind to the ids and columns that chunks are made of, with checks.

What comes out is contiguous, writable and in the machine's byte order, so that kernels need
compiling for one kind of array only; but it may be the caller's own memory: read it, do not write.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import IdError, InputError
from penstock.types import COLUMN_DTYPES, I64, U64, Array, Names


def settle(array: Array, dtype: Any = None) -> Array:
    """The same values as an array that kernels take."""
    wanted = array.dtype.newbyteorder("=") if dtype is None else np.dtype(dtype)
    return np.require(array, wanted, ["C", "W"])


def row_words(row: int) -> str:
    """How messages speak of a row."""
    return f"row {row} (counted from 0)"


def integer_ids(array: Array, what: str, first_row: int = 0) -> U64:
    """Ids from integers of any width; ``what`` is what to call them."""
    if array.dtype.kind not in "iu":
        raise IdError(
            f"{what}: vertex ids must be integers or strings, got {array.dtype}; convert them first"
        )
    if array.dtype.kind == "i" and len(array) and array.min() < 0:
        row = int(np.argmax(array < 0))
        raise IdError(
            f"{what}: {array[row]} in {row_words(first_row + row)} is negative; "
            "pass ids='string' (--ids string) if ids may be like that"
        )
    array = settle(array)
    return array.view(np.uint64) if array.dtype.itemsize == 8 else array.astype(np.uint64)


def require_values(column: Any, what: str, first_row: int) -> None:
    """Raise an InputError if an Arrow array has a null."""
    if column.null_count:
        row = int(np.argmax(np.asarray(column.is_null())))
        raise InputError(f"{what}: there is no value in {row_words(first_row + row)}")


def name_ids(column: Any, what: str, first_row: int = 0) -> Names:
    """Ids from an Arrow array of anything that Arrow can turn into strings."""
    import pyarrow as pa

    require_values(column, what, first_row)
    try:
        column = column.cast(pa.large_string())
        column.validate(full=True)
    except pa.ArrowException as error:
        raise InputError(f"{what}: cannot be read as UTF-8 strings: {error}") from None
    if len(column) == 0:
        return Names(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))
    _, offsets_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[column.offset :][: len(column) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.empty(0, np.uint8)
    if last > first:
        data = np.frombuffer(data_buffer, np.uint8)[first:last].copy()
    return Names(data, offsets[:-1] - first, np.diff(offsets))


def column_dtype(dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    """The dtype an edge column is stored with."""
    if dtype == np.bool_:
        return np.dtype(np.uint8)
    if dtype == np.float16:
        return np.dtype(np.float32)
    if dtype.name not in COLUMN_DTYPES:
        raise InputError(f"{what}: edge columns must hold numbers, got {dtype}; convert it first")
    return dtype.newbyteorder("=")


def check_weight(array: Array, what: str, first_row: int = 0) -> None:
    """Raise an InputError if a weight is nan."""
    if array.dtype.kind == "f" and np.isnan(array).any():
        row = int(np.argmax(np.isnan(array)))
        raise InputError(f"{what}: the weight in {row_words(first_row + row)} is nan")


def expand(offsets: I64, first: int, start: int, stop: int) -> U64:
    """The owners of entries ``start`` to ``stop`` of lists, where list ``first + i`` has the
    entries ``offsets[i]`` to ``offsets[i + 1]``.
    """
    low = max(int(np.searchsorted(offsets, start, "right")) - 1, 0)
    high = int(np.searchsorted(offsets, stop, "left"))
    bounds: I64 = np.clip(offsets[low : high + 1], start, stop)
    counts: I64 = bounds[1:] - bounds[:-1]
    return np.repeat(np.arange(first + low, first + low + len(counts), dtype=np.uint64), counts)

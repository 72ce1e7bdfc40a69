"""Rows with sort keys: as blocks of bytes and back, and in order of their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.radix import sort_pairs
from penstock.sorting.packing import unpack, width_of
from penstock.types import U8, U32, U64, Array

#: The type of each column.
ColumnTypes = Mapping[str, np.dtype[Any]]


class Rows(NamedTuple):
    """Rows of a range of keys: keys relative to ``low``, which are below ``stop``, and columns."""

    low: int
    stop: int
    keys: U64
    columns: dict[str, Array]

    def taken(self, places: Array) -> dict[str, Array]:
        """The columns of the rows at some places."""
        return {name: values[places] for name, values in self.columns.items()}


def row_bytes(low: int, stop: int, types: ColumnTypes) -> int:
    """Bytes of a row with a key of a range."""
    return width_of(stop - low - 1) + column_bytes(types)


def column_bytes(types: ColumnTypes) -> int:
    """Bytes of the columns of a row."""
    return sum(dtype.itemsize for dtype in types.values())


def load_rows(blocks: Sequence[U8], low: int, stop: int, types: ColumnTypes) -> Rows:
    """Put blocks together again: each has its packed keys, then the values of each column."""
    width, size = width_of(stop - low - 1), row_bytes(low, stop, types)
    counts = [len(block) // size for block in blocks]
    total = sum(counts)
    keys: U64 = np.empty(total, np.uint64)
    columns = {name: np.empty(total, dtype) for name, dtype in types.items()}
    row = 0
    for block, count in zip(blocks, counts, strict=True):
        at = count * width
        unpack(block[:at], width, 0, keys[row : row + count])
        for values in columns.values():
            taken = count * values.dtype.itemsize
            values[row : row + count].view(np.uint8)[:] = block[at : at + taken]
            at += taken
        row += count
    return Rows(low, stop, keys, columns)


def join_rows(first: Rows, second: Rows) -> Rows:
    """Rows of one range, one after another."""
    keys = np.concatenate([first.keys, second.keys])
    columns = {k: np.concatenate([v, second.columns[k]]) for k, v in first.columns.items()}
    return Rows(first.low, first.stop, keys, columns)


def sort_keys(rows: Rows) -> tuple[U64, U32]:
    """The keys in order, and where each row was; rows with the same key stay in order."""
    keys = rows.keys
    order: U32 = np.arange(len(keys), dtype=np.uint32)
    keys2, order2 = np.empty_like(keys), np.empty_like(order)
    bits = max(1, (rows.stop - rows.low - 1).bit_length())
    if sort_pairs(keys, order, keys2, order2, bits):
        return keys2, order2
    return keys, order

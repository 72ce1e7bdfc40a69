"""Sending rows to buckets by their keys.

Bucket b has the keys from ``lows[b]`` up to the next one's low, and keeps them relative to its low
in as few bytes as its range needs. Within a bucket rows stay in the order in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.jit import helper, kernel
from penstock.sorting.packing import width_of
from penstock.types import I64, U8, U32, U64, Array


@dataclass(frozen=True, slots=True)
class Buckets:
    """The ranges of keys; ``lows[0]`` is 0."""

    lows: U64
    stop: int
    widths: I64
    #: Where to begin looking for the bucket of a key.
    cells: Array

    def range_of(self, bucket: int) -> tuple[int, int]:
        """First key of a bucket, and first key after it."""
        last = bucket + 1 == len(self.lows)
        return int(self.lows[bucket]), self.stop if last else int(self.lows[bucket + 1])


def make_buckets(samples: U64, num_buckets: int, start: int, stop: int, align: int = 0) -> Buckets:
    """Splitters from a sample of keys so that buckets get about equally many.

    ``align`` clears that many low bits of each splitter, so that no source is divided. A key (or
    source) that would fill more than one bucket gets one of its own.
    """
    ordered = np.sort(samples)
    picks: Any = (
        ordered[(np.arange(1, num_buckets) * len(ordered)) // num_buckets] if len(ordered) else []
    )
    lows = np.asarray(picks, np.uint64) >> np.uint64(align) << np.uint64(align)
    after = lows[1:][lows[1:] == lows[:-1]] + (np.uint64(1) << np.uint64(align))
    lows = np.unique(np.concatenate([lows, after]))
    lows = lows[(lows > np.uint64(start)) & (lows < np.uint64(stop))]
    lows = np.concatenate([np.array([start], np.uint64), lows])
    ends = np.append(lows[1:], np.uint64(stop))
    widths = np.array([width_of(int(b) - int(a) - 1) for a, b in zip(lows, ends, strict=True)])
    return Buckets(lows, stop, widths, _make_cells(lows))


#: Bits of a key, after its leading one, that choose a cell.
_CELL_BITS = 7


@helper
def _cell(offset):  # type: ignore[no-untyped-def]
    """A number that grows with the offset, about in proportion to its logarithm: the exponent and
    the first bits of the fraction, as floating point has them.
    """
    return np.float64(offset + np.uint64(1)).view(np.int64) >> (52 - _CELL_BITS)


@kernel
def _make_cells(lows):  # type: ignore[no-untyped-def]
    """For each cell the last bucket that begins at or before every key of it."""
    first = _cell(np.uint64(0))
    cells = np.zeros(_cell(np.uint64(0xFFFFFFFFFFFFFFFE)) + 2 - first, np.uint16)
    bucket = 0
    for cell in range(len(cells)):
        while bucket + 1 < len(lows) and _cell(lows[bucket + 1] - lows[0]) - first < cell:
            bucket += 1
        cells[cell] = bucket
    return cells


@kernel
def _scatter(keys, rows, lows, cells, widths, starts, moved, out, order):  # type: ignore[no-untyped-def]
    """Group keys by bucket, in order, packed. ``starts`` receives each bucket's first byte; returns
    the keys in each.
    """
    num_buckets = len(lows)
    first = _cell(np.uint64(0))
    bucket = np.empty(len(keys), np.uint16)
    counts = np.zeros(num_buckets, np.int64)
    for i in range(len(keys)):
        b = np.int64(cells[_cell(keys[i] - lows[0]) - first])
        while b + 1 < num_buckets and lows[b + 1] <= keys[i]:
            b += 1
        bucket[i] = b
        counts[b] += 1
    row_at = np.zeros(num_buckets, np.int64)
    total = 0
    for b in range(num_buckets):
        row_at[b] = total
        total += counts[b]
    track = len(order) > 0
    for i in range(len(keys)):
        b = bucket[i]
        to = row_at[b]
        row_at[b] = to + 1
        moved[to] = keys[i] - lows[b]
        if track:
            order[to] = rows[i]
    at = 0
    row = 0
    for b in range(num_buckets):
        starts[b] = at
        width = widths[b]
        for _ in range(counts[b]):
            value = moved[row]
            row += 1
            for _k in range(width):
                out[at] = np.uint8(value & np.uint64(0xFF))
                value >>= np.uint64(8)
                at += 1
    starts[num_buckets] = at
    return counts


def scatter(
    keys: U64, rows: U32, columns: list[Array], buckets: Buckets
) -> list[tuple[int, list[U8]]]:
    """Divide the keys of a chunk among buckets: for each bucket its packed keys, then each
    column's values as bytes.
    """
    num_buckets = len(buckets.lows)
    starts: I64 = np.zeros(num_buckets + 1, np.int64)
    out: U8 = np.empty(len(keys) * int(buckets.widths.max()), np.uint8)
    order: U32 = np.empty(len(keys) if columns else 0, np.uint32)
    counts = _scatter(
        keys, rows, buckets.lows, buckets.cells, buckets.widths, starts, np.empty_like(keys), out,
        order,
    )  # fmt: skip
    moved = [column[order] for column in columns]
    row_ends = np.cumsum(counts)
    found = []
    for b in np.flatnonzero(counts):
        parts = [out[starts[b] : starts[b + 1]]]
        for column in moved:
            parts.append(column[row_ends[b] - counts[b] : row_ends[b]].view(np.uint8))
        found.append((int(b), parts))
    return found

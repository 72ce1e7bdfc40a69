"""More rows than memory holds, in order of their keys: sample sort (record 2).

Splitters from a sample of the keys send rows to buckets, which wait in memory or, packed, on disk.
A bucket is then taken as a whole; one that is too large to be sorted at once is reduced first, if
rows with the same key become one, or divided again. Rows with the same key stay in input order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np

from penstock.parallel import ordered_map
from penstock.sorting.buckets import make_buckets, scatter
from penstock.sorting.limits import MAX_BUCKETS, Limits
from penstock.sorting.rows import ColumnTypes, Rows, join_rows, load_rows, row_bytes
from penstock.sorting.spill import Spill
from penstock.types import U8, U32, U64, Array

T = TypeVar("T")
#: A column for the place of a row in its bucket.
_PLACE = "\0place"


@dataclass(frozen=True, slots=True)
class Order:
    """What rows are, and what becomes of those with the same key."""

    #: Keys are below it.
    stop: int
    columns: ColumnTypes
    #: Makes one of all rows with the same key and puts them in order; None: all of them stay.
    reduce: Callable[[Rows], Rows] | None = None
    #: Rows whose keys differ in this many low bits at most are not divided. They are wanted in
    #: input order: unless they are reduced, they may come in parts.
    together_bits: int = 0
    #: Raises because so many rows can be neither divided nor reduced nor given at once; needed if
    #: rows are reduced and some are not divided.
    refuse: Callable[[int], NoReturn] | None = None


class Packed(NamedTuple):
    """Rows of a range of keys that are not loaded."""

    low: int
    stop: int
    blocks: list[U8]


#: Rows that have been divided: how many, and by bucket.
Divided = tuple[int, list[tuple[int, U8]]]


class ExternalSort:
    """Takes rows, and gives them back in ranges of keys, ascending."""

    def __init__(self, samples: U64, order: Order, limits: Limits, folder: Path | None) -> None:
        self._order = order
        self._limits = limits
        self._buckets = make_buckets(
            samples, limits.num_buckets, 0, order.stop, order.together_bits
        )
        self._spill = Spill(folder, limits.held_bytes)
        self.num_rows = 0

    def divide(self, keys: U64, places: U32, columns: list[Array]) -> Divided:
        """Rows by bucket: some keys, and where in the columns the rows are. May be called by
        several threads.
        """
        found = scatter(keys, places, columns, self._buckets)
        return len(keys), [(bucket, _joined(arrays)) for bucket, arrays in found]

    def add(self, divided: Divided) -> None:
        """Keep rows; in input order."""
        count, blocks = divided
        self.num_rows += count
        for bucket, block in blocks:
            self._spill.append(bucket, block)

    def finished(self, finish: Callable[[Rows], T], threads: int) -> Iterator[T]:
        """``finish`` of all rows, a range of keys after another; each call has one thread."""

        def work(part: Rows | Packed) -> T:
            if isinstance(part, Packed):
                part = load_rows(part.blocks, part.low, part.stop, self._order.columns)
            return finish(part)

        yield from ordered_map(work, self._parts(), threads)

    def _parts(self) -> Iterator[Rows | Packed]:
        for bucket in range(len(self._buckets.lows)):
            yield from self._parts_of(self._spill, bucket, *self._buckets.range_of(bucket))

    def _parts_of(self, spill: Spill, bucket: int, low: int, stop: int) -> Iterator[Rows | Packed]:
        """A bucket, or what it must be divided into because it is too large to sort at once."""
        order, limits = self._order, self._limits
        count = spill.num_bytes(bucket) // row_bytes(low, stop, order.columns)
        indivisible = low >> order.together_bits == (stop - 1) >> order.together_bits
        if indivisible and order.reduce is None and count > limits.bucket_rows:
            yield from self._batches(spill, bucket, low, stop, take=True)
            return
        if count <= (limits.whole_rows if indivisible else 2 * limits.bucket_rows):
            yield Packed(low, stop, list(spill.read(bucket, take=True)))
            return
        reduced = self._reduced(spill, bucket, low, stop)
        if reduced is not None:
            spill.drop(bucket)
            yield reduced
            return
        if indivisible:
            assert order.refuse is not None
            order.refuse(count)
        yield from self._divided(spill, bucket, low, stop)

    def _reduced(self, spill: Spill, bucket: int, low: int, stop: int) -> Rows | None:
        """A bucket with one row for each key, in the order of the first ones, or None if these are
        too many.

        What is made of the rows so far stands before those to come, so that sums are added up in
        the order of the input, however the rows are divided.
        """
        reduce, limit = self._order.reduce, self._limits.bucket_rows
        if reduce is None:
            return None
        held: Rows | None = None
        at = 0
        for rows in self._batches(spill, bucket, low, stop, take=False):
            places = np.arange(at, at + len(rows.keys), dtype=np.uint64)
            at += len(rows.keys)
            rows = rows._replace(columns={**rows.columns, _PLACE: places})
            held = reduce(rows if held is None else join_rows(held, rows))
            if len(held.keys) > limit:
                return None
        assert held is not None
        order = np.argsort(held.columns.pop(_PLACE))
        return Rows(low, stop, held.keys[order], held.taken(order))

    def _divided(self, spill: Spill, bucket: int, low: int, stop: int) -> Iterator[Rows | Packed]:
        """Send the rows of a bucket to buckets of its own, and take those."""
        types, limit = self._order.columns, self._limits.bucket_rows
        count = spill.num_bytes(bucket) // row_bytes(low, stop, types)
        num_buckets = min(MAX_BUCKETS, -(-count // limit))
        step = max(1, count // (64 * num_buckets))
        samples = [
            rows.keys[::step] + np.uint64(low)
            for rows in self._batches(spill, bucket, low, stop, take=False)
        ]
        bits = self._order.together_bits
        inner = make_buckets(np.concatenate(samples), num_buckets, low, stop, bits)
        below = spill.sibling(bucket)
        for rows in self._batches(spill, bucket, low, stop, take=True):
            places: U32 = np.arange(len(rows.keys), dtype=np.uint32)
            keys = rows.keys + np.uint64(low)
            for b, arrays in scatter(keys, places, list(rows.columns.values()), inner):
                below.append(b, _joined(arrays))
        for b in range(len(inner.lows)):
            yield from self._parts_of(below, b, *inner.range_of(b))

    def _batches(
        self, spill: Spill, bucket: int, low: int, stop: int, *, take: bool
    ) -> Iterator[Rows]:
        """The rows of a bucket in input order, about as many at a time as are sorted at once."""
        types, limit = self._order.columns, self._limits.bucket_rows
        size = row_bytes(low, stop, types)
        held: list[U8] = []
        count = 0
        for block in spill.read(bucket, take=take, at_once=limit * size):
            held.append(block)
            count += len(block) // size
            if count >= limit:
                yield load_rows(held, low, stop, types)
                held, count = [], 0
        if held:
            yield load_rows(held, low, stop, types)


def _joined(arrays: list[U8]) -> U8:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

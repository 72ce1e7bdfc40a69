"""Sorting pairs on the CPU: see :mod:`penstock.device.sorting`.

The room is for the second copy that radix sort needs; threads share it, each with a job of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from penstock.arrays import fresh
from penstock.config import format_bytes
from penstock.device.sorting import Groups, Job, Limits, gather
from penstock.errors import BudgetError
from penstock.jit import kernel
from penstock.parallel import Workers
from penstock.radix import sort_pairs as radix_sort
from penstock.types import I64, Array

R = TypeVar("R")

#: Bytes of no limit.
NO_LIMIT = 1 << 62
#: Bytes for each pair that is put into a bucket: the number of the bucket.
NUMBER_BYTES = 2
#: Pairs that a thread takes at once, at most, if there are several threads.
SHARED = 1 << 20


@kernel
def _choose(keys, splitters, numbers, counts):  # type: ignore[no-untyped-def]
    """The bucket of each key, and how many each has."""
    one = np.uint64(1)
    for i in range(len(keys)):
        low, high = np.uint64(0), np.uint64(len(splitters))
        while low < high:
            middle = (low + high) >> one
            if splitters[middle] <= keys[i]:
                low = middle + one
            else:
                high = middle
        numbers[i] = low
        counts[low] += 1


@kernel
def _move(keys, values, numbers, starts, keys2, values2):  # type: ignore[no-untyped-def]
    """Each pair to its bucket, where the next one is to go to ``starts``."""
    for i in range(len(keys)):
        to = starts[numbers[i]]
        starts[numbers[i]] = to + 1
        keys2[to] = keys[i]
        values2[to] = values[i]


class CpuSorter:
    """Sorts with some threads in some bytes of room besides the arrays; None: as much as it
    takes.
    """

    def __init__(self, room: int | None = None, threads: int = 1) -> None:
        self.room = NO_LIMIT if room is None else room
        self.threads = threads

    def limits(self, key: np.dtype[Any], value: np.dtype[Any]) -> Limits:
        """See :class:`~penstock.device.sorting.PairSorter`."""
        pair, share = key.itemsize + value.itemsize, self.room // self.threads
        if share < pair:
            raise BudgetError(
                f"room: {format_bytes(self.room)} is not enough to sort pairs of {pair} bytes with "
                f"{self.threads} threads; {format_bytes(pair * self.threads)} is the least"
            )
        if self.threads == 1:
            return Limits(share // pair, share // pair, share // NUMBER_BYTES)
        most = min(share // pair, SHARED)
        return Limits(most, most, min(share // NUMBER_BYTES, SHARED))

    def sort(self, jobs: Sequence[Job]) -> None:
        """See :class:`~penstock.device.sorting.PairSorter`."""
        longest = max(map(len, jobs))
        keys, values = jobs[0].target
        rooms = [
            (fresh(longest, keys.dtype), fresh(longest, values.dtype))
            for _ in range(min(self.threads, len(jobs)))
        ]

        def work(worker: int, job: Job) -> None:
            gather(job.pieces, job.target)
            keys, values = job.target
            keys2, values2 = (each[: len(keys)] for each in rooms[worker])
            if radix_sort(keys, values, keys2, values2, job.bits):
                keys[:], values[:] = keys2, values2

        self._run(work, jobs)

    def divide(self, jobs: Sequence[Job], splitters: Array) -> list[I64]:
        """See :class:`~penstock.device.sorting.PairSorter`."""
        longest = max(map(len, jobs))
        rooms = [np.empty(longest, np.uint16) for _ in range(min(self.threads, len(jobs)))]

        def work(worker: int, job: Job) -> I64:
            counts: I64 = np.zeros(len(splitters) + 1, np.int64)
            at = 0
            for keys, _ in job.pieces:
                _choose(keys, splitters, rooms[worker][at:], counts)
                at += len(keys)
            bounds = self.scan(counts)
            starts, at = bounds[:-1].copy(), 0
            for keys, values in job.pieces:
                _move(keys, values, rooms[worker][at:], starts, *job.target)
                at += len(keys)
            return bounds

        return self._run(work, jobs)

    def _run(self, work: Callable[[int, Job], R], jobs: Sequence[Job]) -> list[R]:
        workers = Workers(self.threads)
        try:
            return workers.run(work, jobs)
        finally:
            workers.close()

    def scan(self, numbers: Array) -> I64:
        """See :class:`~penstock.device.sorting.PairSorter`."""
        sums: I64 = np.zeros(len(numbers) + 1, np.int64)
        np.copyto(sums[1:], numbers, casting="same_kind")
        np.cumsum(sums, out=sums)
        return sums

    def compact(self, keys: Array) -> Groups:
        """See :class:`~penstock.device.sorting.PairSorter`."""
        first = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=first[1:])
        firsts = np.flatnonzero(first)
        return Groups(keys[firsts], np.append(firsts, len(keys)))

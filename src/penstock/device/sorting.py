"""Sorting of more pairs of keys and values than a device holds, and grouping them by key.

Method: a random sample of the keys gives splitters. Chunks that fit the device are put into
buckets there, one between each two splitters. The parts of a bucket that came out of different
chunks are not brought together in memory: where they are is all that is kept, and they are copied
when their bucket is sorted. What fits at once is sorted at once. Pairs with the same key keep their
order. A bucket that turns out too large is divided again; one of a single key needs no sorting.

Grouping by key as MapReduce has it: what a map gave as pairs is sorted, keys are compacted, and the
values of each are reduced, here to their sum.

>>> sorter = make_sorter(Device("cpu"))
>>> keys, values = np.array([3, 1, 3, 2], np.uint32), np.array([1.0, 2.0, 4.0, 8.0])
>>> keys, values = sort_pairs(keys, values, sorter)
>>> groups = sorter.compact(keys)
>>> groups.unique.tolist(), groups.firsts.tolist()
([1, 2, 3], [0, 1, 2, 4])
>>> np.add.reduceat(values, groups.firsts[:-1]).tolist()
[2.0, 8.0, 5.0]

Ye, Du, Bader: "GPUMemSort", 2011. Shirahata, Sato, Matsuoka: "Out-of-core GPU memory management for
MapReduce-based large-scale graph processing", 2014.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator

from penstock.arrays import distinct, fresh
from penstock.device.spec import Device
from penstock.errors import OptionError
from penstock.types import I64, Array

#: Keys and their values, of the same length.
Pairs = tuple[Array, Array]

#: Keys in a sample: at least so many, and so many for each bucket.
LEAST_SAMPLE = 1024
SAMPLE_OF_BUCKET = 128
#: How full a bucket is expected to be; by chance some are fuller.
FILLING = 0.75
#: Buckets at most; what is still too large then is divided again.
MOST_BUCKETS = 256


class Job(NamedTuple):
    """Pairs to be put in order: those of the pieces, one after another, into ``target``. Keys
    differ in the lowest ``bits`` at most. Values are unsigned, whatever their bits stand for.
    """

    pieces: Sequence[Pairs]
    target: Pairs
    bits: int

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.target[0])


class Groups(NamedTuple):
    """Sorted keys, each once, and where the values of each begin. ``firsts`` has one number more,
    the number of values.
    """

    unique: Array
    firsts: I64


class Limits(NamedTuple):
    """How many pairs fit: of one job alone, and of each if there are many to sort or to divide."""

    alone: int
    sorted: int
    divided: int


class PairSorter(Protocol):
    """What sorts in the memory of a device. Arrays are the host's."""

    def limits(self, key: np.dtype[Any], value: np.dtype[Any]) -> Limits:
        """The pairs it takes; an error if there is no room for any."""

    def sort(self, jobs: Sequence[Job]) -> None:
        """Sort the pairs of each job by key; those with the same key stay in order."""

    def divide(self, jobs: Sequence[Job], splitters: Array) -> list[I64]:
        """Put the pairs of each job into buckets: bucket b has the keys from ``splitters[b - 1]``
        on and below ``splitters[b]``. Pairs with the same key stay in order. Returns where in the
        target of each job buckets begin, and the end.
        """

    def scan(self, numbers: Array) -> I64:
        """The sum of all numbers (integers) before each, and behind them the sum of all."""

    def compact(self, keys: Array) -> Groups:
        """Each key once; equal ones are next to each other."""


def make_sorter(device: Device) -> PairSorter:
    """What sorts on a device."""
    if device.kind == "cuda":
        from penstock.device.cuda.sort import CudaSorter

        return CudaSorter(device)
    from penstock.device.cpu_sort import CpuSorter

    return CpuSorter(device.memory, device.threads or 1)


def sort_pairs(
    keys: Array, values: Array, sorter: PairSorter, *, out: Pairs | None = None, seed: int = 0
) -> Pairs:
    """Pairs in ascending order of keys (uint32 or uint64); those with the same key stay in order.

    ``out`` receives them; it may be ``(keys, values)`` themselves. If not all pairs fit the device
    at once, memory of the host holds them once more. ``seed``: of the sample, which changes nothing
    but the time it takes.
    """
    _check(keys, values)
    result = _room_for(keys, values) if out is None else out
    for name, given, there in zip(("keys", "values"), (keys, values), result, strict=True):
        if (there.dtype, there.shape) != (given.dtype, given.shape):
            raise OptionError(
                f"out: expected {len(given):,} {name} of {given.dtype}, got {len(there):,} of "
                f"{there.dtype}"
            )
    if len(keys) == 0:
        return result
    values, target = _unsigned(values), (result[0], _unsigned(result[1]))
    limits = sorter.limits(keys.dtype, values.dtype)
    bucket = _Bucket([(keys, values)], target, int(keys.min()), int(keys.max()))
    if bucket.is_settled():
        return result
    if len(keys) <= limits.alone:
        sorter.sort([bucket.job()])
    else:
        _sort_bucket(bucket, sorter, limits, np.random.default_rng(seed))
    return result


def choose_splitters(sample: Array, parts: int, low: int, high: int) -> Array:
    """The first keys of all buckets but the first, at least one, so that buckets get about equally
    many of the keys from ``low`` to ``high``, of which there are several. A key that would fill
    more than one bucket gets one of its own.
    """
    ordered = np.sort(sample)
    picks = ordered[np.arange(1, parts) * len(ordered) // parts]
    often = picks[1:][picks[1:] == picks[:-1]]
    after = often[often < high] + sample.dtype.type(1)
    found = distinct(np.concatenate([picks, after]))
    found = found[found > low]
    return found if len(found) else np.array([low + 1], sample.dtype)


def _check(keys: Array, values: Array) -> None:
    if keys.dtype not in (np.uint32, np.uint64) or keys.ndim != 1:
        raise OptionError(f"keys: expected an array of uint32 or uint64, got {_kind(keys)}")
    if values.ndim != 1 or values.dtype.itemsize not in (1, 2, 4, 8) or values.dtype.hasobject:
        raise OptionError(
            f"values: expected an array of numbers of 1, 2, 4 or 8 bytes, got {_kind(values)}; "
            "sort their positions instead, and take them in that order"
        )
    if len(keys) != len(values):
        raise OptionError(
            f"values: expected one for each of {len(keys):,} keys, got {len(values):,}"
        )


def _room_for(keys: Array, values: Array) -> Pairs:
    return fresh(len(keys), keys.dtype), fresh(len(values), values.dtype)


def _unsigned(values: Array) -> Array:
    return values.view(f"u{values.dtype.itemsize}")


def _kind(array: Array) -> str:
    return f"{array.ndim} dimensions of {array.dtype}"


class _Bucket(NamedTuple):
    """Pairs with keys from ``low`` to ``high``, and where they are to be."""

    pieces: Sequence[Pairs]
    target: Pairs
    low: int
    high: int

    def __len__(self) -> int:
        return len(self.target[0])

    def job(self) -> Job:
        """To sort it, if it fits."""
        return Job(self.pieces, self.target, (self.low ^ self.high).bit_length())

    def is_settled(self) -> bool:
        """Whether there is nothing to sort: then the pairs are where they are to be."""
        if self.low < self.high:
            return False
        gather(self.pieces, self.target)
        return True


def gather(pieces: Sequence[Pairs], target: Pairs) -> None:
    """Copy pieces one after another."""
    at = 0
    for keys, values in pieces:
        end = at + len(keys)
        target[0][at:end], target[1][at:end] = keys, values
        at = end


def _sort_bucket(bucket: _Bucket, sorter: PairSorter, limits: Limits, random: Generator) -> None:
    """Sort more pairs than fit: divide them, and sort what fits then."""
    parts = -(-len(bucket) // max(int(limits.sorted * FILLING), 1))
    parts = min(max(parts, 2), MOST_BUCKETS)
    sample = _sample(bucket.pieces, max(LEAST_SAMPLE, SAMPLE_OF_BUCKET * parts), random)
    splitters = choose_splitters(sample, parts, bucket.low, bucket.high)
    found = [each for each in _divide(bucket, splitters, sorter, limits) if not each.is_settled()]
    jobs = [each.job() for each in found if len(each) <= limits.sorted]
    if jobs:
        sorter.sort(jobs)
    del jobs
    for each in found:
        if len(each) > limits.sorted:
            _sort_bucket(each, sorter, limits, random)


def _sample(pieces: Sequence[Pairs], count: int, random: Generator) -> Array:
    """Keys at random places, some perhaps more than once."""
    ends = np.cumsum([len(keys) for keys, _ in pieces])
    places = np.sort(random.integers(0, ends[-1], count))
    cuts = np.searchsorted(places, ends)
    found, begin, cut = [], 0, 0
    for (keys, _), end, stop in zip(pieces, ends.tolist(), cuts.tolist(), strict=True):
        found.append(keys[places[cut:stop] - begin])
        begin, cut = end, stop
    return np.concatenate(found)


def _divide(
    bucket: _Bucket, splitters: Array, sorter: PairSorter, limits: Limits
) -> Iterator[_Bucket]:
    """The buckets between splitters, without those that are empty."""
    keys, values = _room_for(*bucket.target)
    chunks = -(-len(bucket) // limits.divided)
    jobs, at = [], 0
    for pieces in _chunks(bucket.pieces, -(-len(bucket) // chunks)):
        end = at + sum(len(each) for each, _ in pieces)
        job = _Bucket(pieces, (keys[at:end], values[at:end]), bucket.low, bucket.high).job()
        jobs.append(job)
        at = end
    bounds = sorter.divide(jobs, splitters)
    lows = [bucket.low, *splitters.tolist()]
    highs = [*(each - 1 for each in lows[1:]), bucket.high]
    at = 0
    for b, (low, high) in enumerate(zip(lows, highs, strict=True)):
        pieces = [
            (job.target[0][ends[b] : ends[b + 1]], job.target[1][ends[b] : ends[b + 1]])
            for job, ends in zip(jobs, bounds, strict=True)
            if ends[b] < ends[b + 1]
        ]
        end = at + sum(len(each) for each, _ in pieces)
        if pieces:
            yield _Bucket(pieces, (bucket.target[0][at:end], bucket.target[1][at:end]), low, high)
        at = end


def _chunks(pieces: Sequence[Pairs], most: int) -> Iterator[list[Pairs]]:
    """Pieces, cut so that so many pairs come at a time."""
    chunk: list[Pairs] = []
    left = most
    for keys, values in pieces:
        at = 0
        while at < len(keys):
            end = min(at + left, len(keys))
            chunk.append((keys[at:end], values[at:end]))
            left -= end - at
            at = end
            if left == 0:
                yield chunk
                chunk, left = [], most
    if chunk:
        yield chunk

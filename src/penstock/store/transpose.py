"""Lists turned round: from the list of each source, that of each target.

A pass over the lists counts how often each vertex is a target, which says where its list goes;
another writes the sources there. Each worker fills the lists of a range of targets, and reads all
lists for that: nothing but the result takes memory. Sources ascend in each list that is made, and
the result does not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from penstock.jit import kernel
from penstock.parallel import Workers
from penstock.types import I64, U8, U32, U64, Array

#: Bytes of cursors for a range of targets, about, and the most ranges: what is written at random
#: should be in the cache, but reading all lists once more costs more than a few misses.
RANGE_BYTES = 32 << 20
MOST_RANGES = 8
#: Edges that a worker counts at a time, about.
PIECE_EDGES = 1 << 20


class Sources(NamedTuple):
    """Lists of sources: that of vertex ``first + i`` is ``neighbours[starts[i] : ends[i]]``."""

    starts: Array
    ends: Array
    neighbours: U32
    first: int = 0


class Values(NamedTuple):
    """What stands beside the entries of the lists, and where it goes: bytes, ``width`` of them
    for each entry.
    """

    old: U8
    new: U8
    width: int

    @classmethod
    def of(cls, old: Array, new: Array) -> Values:
        """Those of two columns of the same type."""
        return cls(_bytes(old), _bytes(new), old.dtype.itemsize)


def count_targets(sources: Sources, workers: Workers) -> U32:
    """How often each vertex is a target of the lists of all vertices."""
    counts: U32 = np.zeros((workers.count, len(sources.starts)), np.uint32)
    sizes = np.subtract(sources.ends, sources.starts, dtype=np.uint64)
    pieces = cut_evenly(sizes, int(sizes.sum(dtype=np.uint64)) // PIECE_EDGES)

    def work(worker: int, piece: tuple[int, int]) -> None:
        some = slice(*piece)
        count(sources.starts[some], sources.ends[some], sources.neighbours, counts[worker])

    workers.run(work, pieces)
    total: U32 = counts[0]
    for other in counts[1:]:
        total += other
    return total


def fill_lists(
    sources: Sources, cursors: U64, degrees: U32, neighbours: U32, columns: Sequence[Values],
    workers: Workers,
) -> None:  # fmt: skip
    """Write the lists of all targets to where the ``cursors`` of each begin; afterwards these are
    where each list ends. ``degrees``: how long each is.
    """
    wanted = min(8 * len(cursors) // RANGE_BYTES, MOST_RANGES)

    def work(_: int, piece: tuple[int, int]) -> None:
        scatter(sources, piece, cursors[slice(*piece)], neighbours, columns)

    workers.run(work, cut_evenly(degrees, max(wanted, workers.count)))


def scatter(
    sources: Sources, targets: tuple[int, int], cursors: U64, neighbours: U32,
    columns: Sequence[Values],
) -> None:  # fmt: skip
    """Write what some lists have for a range of targets to where their ``cursors`` are, and move
    these on.
    """
    starts, ends, old, first = sources
    for values in columns:
        _scatter_bytes(*targets, starts, ends, old, cursors.copy(), values)
    _scatter(*targets, starts, ends, old, first, cursors, neighbours)


def cut_evenly(weights: Array, parts: int) -> list[tuple[int, int]]:
    """Cut a sequence into at most this number of parts of about the same weight.

    >>> cut_evenly(np.array([4, 1, 1, 1, 1]), 2), cut_evenly(np.array([0, 0]), 3)
    ([(0, 1), (1, 5)], [(0, 2)])
    >>> cut_evenly(np.array([]), 2)
    []
    """
    totals: I64 = np.cumsum(weights, dtype=np.int64)
    last = int(totals[-1]) if len(totals) else 0
    cuts = {0, len(totals)}
    if last and parts > 1:
        wanted = np.arange(1, parts) * (last / parts)
        cuts.update((np.searchsorted(totals, wanted) + 1).tolist())
    return list(pairwise(sorted(cuts)))


def _bytes(values: Array) -> U8:
    return np.ascontiguousarray(values).view(np.uint8) if len(values) else np.empty(0, np.uint8)


@kernel
def count(starts, ends, neighbours, counts):  # type: ignore[no-untyped-def]
    """Add to the counts of each target."""
    for v in range(np.uint64(len(starts))):
        for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
            counts[neighbours[k]] += np.uint32(1)


@kernel
def _scatter(begin, end, starts, ends, neighbours, source, cursors, out):  # type: ignore[no-untyped-def]
    """Write the sources of the targets from ``begin`` to ``end`` to their lists. ``source``: the
    first source; the cursors are those of the range.
    """
    first, many, one = np.uint32(begin), np.uint32(end - begin), np.uint64(1)
    for v in range(np.uint64(len(starts))):
        for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
            place = np.uint32(neighbours[k] - first)
            if place < many:
                at = cursors[place]
                out[at] = np.uint32(source + v)
                cursors[place] = at + one


@kernel
def _scatter_bytes(begin, end, starts, ends, neighbours, cursors, values):  # type: ignore[no-untyped-def]
    """The same for what stands beside the entries."""
    first, many, one = np.uint32(begin), np.uint32(end - begin), np.uint64(1)
    old, new, width = values.old, values.new, np.uint64(values.width)
    for v in range(np.uint64(len(starts))):
        for k in range(np.uint64(starts[v]), np.uint64(ends[v])):
            place = np.uint32(neighbours[k] - first)
            if place < many:
                at = cursors[place]
                for b in range(width):
                    new[at * width + b] = old[k * width + b]
                cursors[place] = at + one

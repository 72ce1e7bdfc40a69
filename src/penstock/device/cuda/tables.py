"""Tables that tell a GPU's threads which lists are theirs, written on the host."""

from __future__ import annotations

import numpy as np

from penstock.jit import kernel
from penstock.types import I64, U8, U32, Array

#: Lists shorter than the first are one thread's, than the second a warp's; others a block's.
BUCKETS = (32, 1024)


def list_kinds(offsets: U32) -> U8:
    """For each list, 0 if it is a thread's, 1 if it is a warp's, 2 if it is a block's."""
    lengths = np.diff(offsets)
    return (lengths >= BUCKETS[0]).view(np.uint8) + (lengths >= BUCKETS[1])


def group_lists(offsets: U32) -> tuple[U32, U32]:
    """Vertices, those with the longest lists first, and where each 32 of them have messages."""
    lengths = np.diff(offsets)
    order: U32 = np.argsort(lengths, kind="stable")[::-1].astype(np.uint32)
    bases: U32 = np.zeros(-(-len(order) // 32) + 1, np.uint32)
    np.cumsum(lengths[order[::32]] * np.uint32(32), out=bases[1:])
    return order, bases


@kernel
def rebase(starts, begin, end, offsets):  # type: ignore[no-untyped-def]
    """Offsets from 0, of the edges from ``begin`` to ``end``."""
    low, high = np.uint64(begin), np.uint64(end)
    for i in range(np.uint64(len(starts))):
        at = min(max(np.uint64(starts[i]), low), high)
        offsets[i] = np.uint32(at - low)


@kernel
def fill_slots(offsets, order, bases, slots):  # type: ignore[no-untyped-def]
    """Where the message of each edge goes."""
    one, group = np.uint64(1), np.uint64(32)
    for c in range(np.uint64(len(order))):
        i = np.uint64(order[c])
        at = np.uint64(bases[c // group]) + c % group
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + one])):
            slots[k] = np.uint32(at)
            at += group


@kernel
def fill_owners(offsets, owners):  # type: ignore[no-untyped-def]
    """The vertex of each edge."""
    one = np.uint64(1)
    for i in range(np.uint64(len(offsets) - 1)):
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + one])):
            owners[k] = np.uint32(i)


# The lists of some vertices: ``places`` are where their offsets are


@kernel
def count_edges(starts, places):  # type: ignore[no-untyped-def]
    """Edges of these lists."""
    one, total = np.uint64(1), 0
    for k in range(np.uint64(len(places))):
        place = np.uint64(places[k])
        total += np.int64(np.uint64(starts[place + one]) - np.uint64(starts[place]))
    return total


def cut_vertices(
    starts: Array, places: U32, vertices: U32, most: tuple[int, int], skip: int
) -> list[int]:
    """Where to cut vertices (ascending) so that a group spans at most so many ids and has at most
    so many edges, unless it is a single vertex; groups have no gap longer than ``skip``.
    """
    cuts: I64 = np.empty(len(vertices) + 1, np.int64)
    count = _cut_vertices(starts, places, vertices, most[0], most[1], skip, cuts)
    return [*cuts[:count].tolist(), len(vertices)]


@kernel
def _cut_vertices(starts, places, vertices, most_span, most_edges, skip, cuts):  # type: ignore[no-untyped-def]
    one, count, edges, first = np.uint64(1), 0, np.uint64(0), np.uint64(0)
    for k in range(np.uint64(len(vertices))):
        v, place = np.uint64(vertices[k]), np.uint64(places[k])
        length = np.uint64(starts[place + one]) - np.uint64(starts[place])
        if (
            count == 0
            or v - first >= np.uint64(most_span)
            or edges + length > np.uint64(most_edges)
            or v - np.uint64(vertices[k - one]) > np.uint64(skip)
        ):
            cuts[count] = k
            count += 1
            edges, first = np.uint64(0), v
        edges += length
    return count


@kernel
def fill_offsets(starts, places, vertices, offsets):  # type: ignore[no-untyped-def]
    """Offsets of the range that some vertices are in; those between have no lists."""
    one, low = np.uint64(1), np.uint64(vertices[0])
    offsets[:] = 0
    for k in range(np.uint64(len(vertices))):
        place = np.uint64(places[k])
        length = np.uint64(starts[place + one]) - np.uint64(starts[place])
        offsets[np.uint64(vertices[k]) - low + one] = np.uint32(length)
    total = np.uint64(0)
    for i in range(np.uint64(len(offsets))):
        total += np.uint64(offsets[i])
        offsets[i] = np.uint32(total)


@kernel
def fill_lists(starts, places, source, target):  # type: ignore[no-untyped-def]
    """Copy what the edges of some vertices have, one list after another."""
    one, j = np.uint64(1), np.uint64(0)
    for k in range(np.uint64(len(places))):
        place = np.uint64(places[k])
        for e in range(np.uint64(starts[place]), np.uint64(starts[place + one])):
            target[j] = source[e]
            j += one

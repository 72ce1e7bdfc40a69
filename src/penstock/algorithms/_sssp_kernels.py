"""The kernels of shortest paths: see :mod:`penstock.algorithms.sssp` for what they are for.

Vertices are in groups. ``nearest`` has the smallest distance of a pending vertex in each, or less,
so that those that go over all vertices open only groups that have one near enough. Their ranges are
of groups if ``span`` is 1, else of vertices, ``span`` to a group: then they do the groups that
begin there.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import atomic_add, compare_and_swap, helper, kernel

#: Vertices of a group.
GROUP = 256
#: How many vertices are looked at to estimate the edges of pending ones: one of so many.
STRIDE = 16


@helper
def _lower(array, index, value, seen):  # type: ignore[no-untyped-def]
    """``array[index] = min(array[index], value)``, atomically; whether it was lowered. ``seen``:
    what was there just now.
    """
    while value < seen:
        found = compare_and_swap(array, index, seen, value)
        if found == seen:
            return True
        seen = found
    return False


@kernel
def relax(  # type: ignore[no-untyped-def]
    block, vertices, found, distances, pending, nearest, lowered, bound, limit, spare, tally
):
    """Relax the edges of some vertices; nothing is found. Vertices are marked in ``lowered``, too,
    unless it has no entries.

    Vertices of the block that come below the bound meanwhile have their turn in the same call, as
    far as there is room for them in ``found``, which is used as a ring, and until about ``spare``
    edges were relaxed for them. ``tally``: whether a weight was refused, and how many those were.
    """
    offsets, ends = block.offsets, block.ends
    neighbours, weights = block.neighbours, block.columns[0]
    first, one, group = np.uint64(block.first), np.uint64(1), np.uint64(GROUP)
    size, room, given = np.uint64(len(ends)), np.uint64(len(found)), len(vertices)
    if size == one:  # perhaps a part of a list
        room = np.uint64(0)
    turn, extra = 0, 0
    read, write, waiting = np.uint64(0), np.uint64(0), np.uint64(0)
    while turn < given or waiting > 0:
        if turn < given:
            u = np.uint64(vertices[turn])
            edge, end = np.uint64(offsets[u - first]), np.uint64(ends[u - first])
            turn += 1
        else:
            u = np.uint64(found[read])
            edge, end = np.uint64(offsets[u - first]), np.uint64(ends[u - first])
            extra += np.int64(end - edge)
            read = read + one if read + one < room else np.uint64(0)
            waiting -= one
            if pending[u]:
                compare_and_swap(pending, u, np.uint8(1), np.uint8(0))
        distance = distances[u]
        while edge < end:
            v = np.uint64(neighbours[edge])
            weight = weights[edge]
            if not (weight >= 0 and weight <= limit):
                tally[0] = 1
            longer = distance + weight
            seen = distances[v]
            if longer < seen and _lower(distances, v, longer, seen):
                if len(lowered) > 0:
                    lowered[v] = 1
                if longer < bound and waiting < room and extra < spare and v - first < size:
                    found[write] = v
                    write = write + one if write + one < room else np.uint64(0)
                    waiting += one
                else:
                    pending[v] = 1
                    _lower(nearest, v // group, longer, nearest[v // group])
            edge += one
    atomic_add(tally, 1, extra)
    return 0


@kernel
def take_lowered(distances, pending, nearest, lowered, words, chosen):  # type: ignore[no-untyped-def]
    """The vertices that are marked in ``lowered``, and are no more; how many. All of them are
    pending: lists of a vertex may be on other hosts. ``words``: ``lowered``, eight at a time.
    """
    count, eight = np.uint64(0), np.uint64(8)
    for word in range(len(words)):
        if words[word] == 0:
            continue
        for v in range(np.uint64(word) * eight, (np.uint64(word) + np.uint64(1)) * eight):
            if lowered[v]:
                lowered[v] = 0
                pending[v] = 1
                group = v // np.uint64(GROUP)
                _lower(nearest, group, distances[v], nearest[group])
                chosen[count] = v
                count += np.uint64(1)
    return count


@kernel
def lower(vertices, told, distances, pending, nearest):  # type: ignore[no-untyped-def]
    """Take in what another host says of the distances of vertices."""
    for k in range(len(vertices)):
        v, distance = np.uint64(vertices[k]), told[k]
        if distance < distances[v]:
            distances[v] = distance
            pending[v] = 1
            group = v // np.uint64(GROUP)
            if distance < nearest[group]:
                nearest[group] = distance


@helper
def _groups(begin, end, span):  # type: ignore[no-untyped-def]
    """The groups that begin in a range."""
    return np.uint64((begin + span - 1) // span), np.uint64((end + span - 1) // span)


@kernel
def find_nearest(begin, end, span, distances, pending, nearest, far):  # type: ignore[no-untyped-def]
    """Set the nearest of groups."""
    first, last = _groups(begin, end, span)
    count, size = np.uint64(len(distances)), np.uint64(GROUP)
    for group in range(first, last):
        least = far
        for v in range(group * size, min(count, (group + np.uint64(1)) * size)):
            if pending[v] and distances[v] < least:
                least = distances[v]
        nearest[group] = least


@kernel
def count_edges(begin, end, span, distances, pending, nearest, degrees, bounds):  # type: ignore[no-untyped-def]
    """For each bound, edges of a sample of the pending vertices between the last bound and it."""
    first, last = _groups(begin, end, span)
    count, size = np.uint64(len(distances)), np.uint64(GROUP)
    edges = np.zeros(len(bounds), np.int64)
    farthest = bounds[-1]
    for group in range(first, last):
        if nearest[group] < farthest:
            stop = min(count, (group + np.uint64(1)) * size)
            for v in range(group * size, stop, np.uint64(STRIDE)):
                if pending[v] and distances[v] < farthest:
                    k = 0
                    while distances[v] >= bounds[k]:
                        k += 1
                    edges[k] += degrees[v]
    return edges


@kernel
def choose(begin, end, span, distances, pending, nearest, bound, far, chosen):  # type: ignore[no-untyped-def]
    """Write the pending vertices below the bound into their part of ``chosen``, which begins and
    ends where the two numbers returned say.
    """
    first, last = _groups(begin, end, span)
    count, size = np.uint64(len(distances)), np.uint64(GROUP)
    start = at = first * size
    for group in range(first, last):
        if nearest[group] < bound:
            least = far
            for v in range(group * size, min(count, (group + np.uint64(1)) * size)):
                waits, distance = pending[v], distances[v]
                taken = np.uint8(waits & (distance < bound))
                chosen[at] = v
                at += np.uint64(taken)
                pending[v] = waits - taken
                least = min(least, distance if waits > taken else far)
            nearest[group] = least
    return start, at


@kernel
def widen(begin, end, distances, far, wide):  # type: ignore[no-untyped-def]
    """Distances as float64, inf instead of ``far``."""
    for v in range(np.uint64(begin), np.uint64(end)):
        wide[v] = distances[v] if distances[v] < far else np.inf


@kernel
def mean_weights(block, vertices, found, sample, means):  # type: ignore[no-untyped-def]
    """The mean of the first few weights of each vertex of a sample."""
    offsets, ends, weights = block.offsets, block.ends, block.columns[0]
    for k in range(len(sample)):
        for u in vertices:
            if u == sample[k]:
                begin = np.int64(offsets[u - block.first])
                end = min(np.int64(ends[u - block.first]), begin + 256)
                total = 0.0
                for edge in range(begin, end):
                    total += weights[edge]
                if end > begin:
                    means[k] = total / (end - begin)
    return 0

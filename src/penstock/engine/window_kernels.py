"""The kernels that fill windows: see :mod:`penstock.engine.windows`."""

from __future__ import annotations

import numpy as np

from penstock.jit import atomic_add, helper, kernel


@helper
def lower_bound(array, begin, end, value):  # type: ignore[no-untyped-def]
    """The first place from ``begin`` on where an ascending array is not below a value."""
    low, high = begin, end
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if np.uint64(array[middle]) < value:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low


@kernel
def measure(block, begin, end, in_order, shift, sizes, meets):  # type: ignore[no-untyped-def]
    """How many entries of each list are smaller than its vertex; and, if lists are ascending, in
    ``meets`` the strips that they are in, for the strip of the vertex.
    """
    offsets, neighbours = block.offsets, block.neighbours
    first, one, strips = np.uint64(block.first), np.uint64(1), np.uint64(shift)
    for v in range(np.uint64(begin), np.uint64(end)):
        edge, stop = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        strip, size, seen = v >> strips, np.uint32(0), np.uint64(len(meets))
        if in_order:
            stop = lower_bound(neighbours, edge, stop, v)
        for k in range(edge, stop):
            u = np.uint64(neighbours[k])
            if u < v:
                size += np.uint32(1)
                if u >> strips != seen:
                    seen = u >> strips
                    meets[strip, seen] = 1
        sizes[v - np.uint64(begin)] = size


@kernel
def reach(sizes, entry_bytes, place_bytes, room):  # type: ignore[no-untyped-def]
    """How many of the lists have room, and how much is left."""
    count = 0
    while count < len(sizes):
        need = entry_bytes * np.int64(sizes[count]) + place_bytes
        if need > room:
            break
        room -= need
        count += 1
    return count, room


@kernel
def take(block, begin, end, start, offsets, lengths, entries, in_order):  # type: ignore[no-untyped-def]
    """Append the entries that are smaller than their vertex to the lists of a window. A block of
    one vertex may be a part of its list.
    """
    ends, neighbours = block.offsets, block.neighbours
    first, one, whole = np.uint64(block.first), np.uint64(1), len(block.offsets) > 2
    for v in range(np.uint64(begin), np.uint64(end)):
        edge, stop = np.uint64(ends[v - first]), np.uint64(ends[v - first + one])
        if in_order:
            stop = lower_bound(neighbours, edge, stop, v)
        size = np.uint32(0)
        for k in range(edge, stop):
            size += np.uint32(neighbours[k] < v)
        before = lengths[v - start]
        if whole:
            lengths[v - start] = before + size
        else:
            before = atomic_add(lengths, v - start, size)
        at = np.uint64(offsets[v - start]) + np.uint64(before)
        for k in range(edge, stop):
            if neighbours[k] < v:
                entries[at] = neighbours[k]
                at += one


@kernel
def tidy(begin, end, offsets, lengths, entries, pairs, middles):  # type: ignore[no-untyped-def]
    """Make lists ascending, with each entry once. Up to ``middles`` (if given) they are so already;
    what comes behind is of the other direction, and entries that are in both parts are of a pair of
    edges.
    """
    one = np.uint64(1)
    for i in range(np.uint64(begin), np.uint64(end)):
        low = np.uint64(offsets[i])
        middle, high = low, low + np.uint64(lengths[i])
        if len(middles) > 0:
            middle += np.uint64(middles[i])
        ascending = True
        for k in range(middle + one, high):
            if entries[k] <= entries[k - one]:
                ascending = False
                break
        if middle == high or (ascending and middle == low):
            continue
        if not ascending:
            entries[middle:high].sort()
        old, new = entries[low:middle].copy(), entries[middle:high].copy()
        a, b, at = np.uint64(0), np.uint64(0), low
        while a < np.uint64(len(old)) or b < np.uint64(len(new)):
            from_old = b == np.uint64(len(new)) or (a < np.uint64(len(old)) and old[a] <= new[b])
            value = old[a] if from_old else new[b]
            a += np.uint64(from_old)
            again = False
            while b < np.uint64(len(new)) and new[b] == value:
                again = True
                b += one
            entries[at] = value
            if len(pairs) > 0:
                pairs[at] = 2 if from_old and again else 1
            at += one
        lengths[i] = np.uint32(at - low)


@kernel
def compact(offsets, lengths, entries, pairs):  # type: ignore[no-untyped-def]
    """Close the gaps that dropped entries left; how many entries there are."""
    at, one = np.uint64(0), np.uint64(1)
    for i in range(np.uint64(len(lengths))):
        low = np.uint64(offsets[i])
        offsets[i] = at
        if low == at:
            at += np.uint64(lengths[i])
            continue
        for k in range(low, low + np.uint64(lengths[i])):
            entries[at] = entries[k]
            if len(pairs) > 0:
                pairs[at] = pairs[k]
            at += one
    offsets[len(lengths)] = at
    return at

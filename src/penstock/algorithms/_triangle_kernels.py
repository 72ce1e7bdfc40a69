"""The kernels of counting triangles: see :mod:`penstock.algorithms._triangles`.

A window comes as six arguments: the first vertex and the one after the last, and its arrays.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import atomic_add, count_ones, inlined, kernel

#: A list that is so many times longer than the marked one is searched.
SEARCHED = 16


@inlined
def _place(array, begin, end, value):  # type: ignore[no-untyped-def]
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
def measure(block, begin, end, sizes, in_order):  # type: ignore[no-untyped-def]
    """Add to ``sizes`` how many entries of each list are smaller than its vertex. A block of one
    vertex may be a part of its list.
    """
    offsets, neighbours = block.offsets, block.neighbours
    first, one, whole = np.uint64(block.first), np.uint64(1), len(offsets) > 2
    for v in range(np.uint64(begin), np.uint64(end)):
        edge, stop = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        size = np.uint32(0)
        if in_order:
            size = np.uint32(_place(neighbours, edge, stop, v) - edge)
        else:
            while edge < stop:
                size += np.uint32(neighbours[edge] < v)
                edge += one
        if whole:
            sizes[v] += size
        else:
            atomic_add(sizes, v, size)


@kernel
def reach(sizes, first, entry_bytes, place_bytes, room):  # type: ignore[no-untyped-def]
    """The vertex after the last whose list still has room."""
    v, held = first, 0
    while v < len(sizes):
        held += entry_bytes * np.int64(sizes[v]) + place_bytes
        if held > room:
            break
        v += 1
    return v


@kernel
def take(block, begin, end, start, last, places, lengths, entries, pairs, in_order):  # type: ignore[no-untyped-def]
    """Append the entries that are smaller than their vertex to the lists of a window."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one, whole = np.uint64(block.first), np.uint64(1), len(offsets) > 2
    for v in range(np.uint64(begin), np.uint64(end)):
        edge, stop = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        if in_order:
            stop = _place(neighbours, edge, stop, v)
        size = np.uint32(0)
        for k in range(edge, stop):
            size += np.uint32(neighbours[k] < v)
        before = lengths[v - start]
        if whole:
            lengths[v - start] = before + size
        else:
            before = atomic_add(lengths, v - start, size)
        at = places[v - start] + np.uint64(before)
        for k in range(edge, stop):
            if neighbours[k] < v:
                entries[at] = neighbours[k]
                at += one


@kernel
def tidy(begin, end, start, last, places, lengths, entries, pairs, middles):  # type: ignore[no-untyped-def]
    """Make lists ascending, with each entry once. Up to ``middles`` they are so already; what comes
    behind is of the other direction, and entries that are in both parts are of a pair of edges.
    """
    one = np.uint64(1)
    for i in range(np.uint64(begin), np.uint64(end)):
        low = places[i]
        middle, high = low + np.uint64(middles[i]), low + np.uint64(lengths[i])
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
def add_degrees(begin, end, start, last, places, lengths, entries, pairs, degrees):  # type: ignore[no-untyped-def]
    """Count both ends of each entry."""
    for i in range(np.uint64(begin), np.uint64(end)):
        low = places[i]
        atomic_add(degrees, start + i, lengths[i])
        for k in range(low, low + np.uint64(lengths[i])):
            atomic_add(degrees, np.uint64(entries[k]), np.uint32(1))


@inlined
def _row(v):  # type: ignore[no-untyped-def]
    """Where the row of a vertex begins: rows of 64 vertices each are a word longer than those of
    the 64 before.
    """
    group = v >> np.uint64(6)
    words = group + np.uint64(1)
    return np.uint64(32) * group * words + (v & np.uint64(63)) * words


@kernel
def fill_rows(begin, end, start, last, places, lengths, entries, pairs, rows):  # type: ignore[no-untyped-def]
    """The first lists of a window once more, as bits."""
    six, low_bits, base = np.uint64(6), np.uint64(63), _row(start)
    for i in range(np.uint64(begin), np.uint64(end)):
        row = _row(start + i) - base
        for k in range(places[i], places[i] + np.uint64(lengths[i])):
            w = np.uint64(entries[k])
            rows[row + (w >> six)] |= np.uint64(1) << (w & low_bits)


@kernel
def count(  # type: ignore[no-untyped-def]
    begin, end, start, last, places, lengths, entries, pairs,
    start2, last2, places2, lengths2, entries2, pairs2, rows, hubs, tally,
):  # fmt: skip
    """Add twice the triangles of each vertex to its tally, whose lowest bit is the mark. Vertices
    of the inner window below ``hubs`` have a row of bits as well, with a bit of ``marks`` for each.
    """
    one, searched = np.uint64(1), np.uint64(SEARCHED)
    six, low_bits, base = np.uint64(6), np.uint64(63), _row(start2)
    marks = np.zeros((hubs + low_bits) >> six, np.uint64)
    for i in range(np.uint64(begin), np.uint64(end)):
        low, high = places[i], places[i] + np.uint64(lengths[i])
        edge = _place(entries, low, high, start2)
        if edge == high or np.uint64(entries[edge]) >= last2 or high - low == one:
            continue
        for k in range(low, high):
            w = np.uint64(entries[k])
            tally[w] += 1
            if w < hubs:
                marks[w >> six] |= one << (w & low_bits)
        mine = np.int64(0)
        while edge < high and np.uint64(entries[edge]) < last2:
            u = np.uint64(entries[edge])
            low2, size2 = places2[u - start2], np.uint64(lengths2[u - start2])
            hits = np.int64(0)
            if u < hubs and u >> six < size2 + size2:
                row = _row(u) - base
                for j in range((u >> six) + one):
                    both = rows[row + j] & marks[j]
                    while both != 0:
                        rest = both & (both - one)
                        tally[(j << six) + count_ones((both ^ rest) - one)] += 2
                        hits += 1
                        both = rest
            elif size2 > searched * (high - low):
                for k in range(low, edge):
                    at = _place(entries2, low2, low2 + size2, np.uint64(entries[k]))
                    if at < low2 + size2 and entries2[at] == entries[k]:
                        tally[np.uint64(entries[k])] += 2
                        hits += 1
            else:
                for k in range(low2, low2 + size2):
                    w = np.uint64(entries2[k])
                    seen = tally[w]
                    hit = seen & 1
                    tally[w] = seen + (hit << 1)
                    hits += hit
            tally[u] += hits << 1
            mine += hits
            edge += one
        for k in range(low, high):
            w = np.uint64(entries[k])
            tally[w] -= 1
            if w < hubs:
                marks[w >> six] = 0
        tally[start + i] += mine << 1


@kernel
def count_pairs(  # type: ignore[no-untyped-def]
    begin, end, start, last, places, lengths, entries, pairs,
    start2, last2, places2, lengths2, entries2, pairs2, rows, hubs, tally,
):  # fmt: skip
    """For each triangle, add four times the directions of the opposite edge to the tally of each
    corner; its two lowest bits are the mark, which is the directions of the edge to v. Rows of bits
    are not used: they would not say how many directions an edge has.
    """
    one, searched = np.uint64(1), np.uint64(SEARCHED)
    for i in range(np.uint64(begin), np.uint64(end)):
        low, high = places[i], places[i] + np.uint64(lengths[i])
        edge = _place(entries, low, high, start2)
        if edge == high or np.uint64(entries[edge]) >= last2 or high - low == one:
            continue
        for k in range(low, high):
            tally[np.uint64(entries[k])] += np.int64(pairs[k])
        of_v = np.int64(0)
        while edge < high and np.uint64(entries[edge]) < last2:
            u, of_w = np.uint64(entries[edge]), np.int64(pairs[edge])
            low2, size2 = places2[u - start2], np.uint64(lengths2[u - start2])
            of_u = np.int64(0)
            if size2 > searched * (high - low):
                for k in range(low, edge):
                    at = _place(entries2, low2, low2 + size2, np.uint64(entries[k]))
                    if at < low2 + size2 and entries2[at] == entries[k]:
                        tally[np.uint64(entries[k])] += of_w << 2
                        of_u += np.int64(pairs[k])
                        of_v += np.int64(pairs2[at])
            else:
                for k in range(low2, low2 + size2):
                    w = np.uint64(entries2[k])
                    seen = tally[w]
                    mark = seen & 3
                    if mark != 0:
                        tally[w] = seen + (of_w << 2)
                        of_u += mark
                        of_v += np.int64(pairs2[k])
            tally[u] += of_u << 2
            edge += one
        for k in range(low, high):
            tally[np.uint64(entries[k])] -= np.int64(pairs[k])
        tally[start + i] += of_v << 2


@kernel
def join(begin, end, tally, other):  # type: ignore[no-untyped-def]
    """Move what was counted to the first of two tallies."""
    for v in range(np.uint64(begin), np.uint64(end)):
        tally[v] += other[v]
        other[v] = 0


@kernel
def shift(begin, end, tally, bits):  # type: ignore[no-untyped-def]
    """Take the bits of the mark off."""
    for v in range(np.uint64(begin), np.uint64(end)):
        tally[v] >>= bits

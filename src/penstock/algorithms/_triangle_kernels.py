"""The kernels of counting triangles: see :mod:`penstock.algorithms._triangles`.

A window comes as four arguments: its first vertex, offsets, entries and values; so may lists of a
page that have later neighbours as well, behind the others. What is counted for
each entry of the list of v, ``found``, is the threads' own until the list is done. An entry's place
in the list is found from the bits that mark it: for each word of ``marks`` it is known how many
entries come before it, ``ranks``.

``MODE``: what is counted. Twice the triangles of each vertex; the triangles of each edge, in the
values of windows; or, for each corner of each triangle, how many directions the opposite edge has,
which is what the values of windows then say.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.window_kernels import lower_bound
from penstock.jit import atomic_add, count_ones, helper, kernel

OF_VERTICES, OF_EDGES, OF_DIRECTIONS = 0, 1, 2
#: Vertices that a thread takes at once.
CLAIM = 256


@helper
def _is_searched(few, many):  # type: ignore[no-untyped-def]
    """Whether finding each of a few in a list takes fewer steps than looking at all of it."""
    steps, left = few, many
    while left > np.uint64(1) and steps < many:
        left >>= np.uint64(1)
        steps += few
    return steps < many


@helper
def _mark(entries, low, high, marks, ranks):  # type: ignore[no-untyped-def]
    """Mark the entries of a list."""
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    for k in range(low, high):
        w = np.uint64(entries[k])
        if marks[w >> six] == 0:
            ranks[w >> six] = np.uint32(k - low)
        marks[w >> six] |= one << (w & low_bits)


@helper
def _finish(entries, values, low, high, found, tally, mode, marks):  # type: ignore[no-untyped-def]
    """Take the marks of a list off, and what was found of it to where it is counted."""
    six = np.uint64(6)
    times = np.int64(2) if mode == OF_VERTICES else np.int64(1)
    for k in range(low, high):
        marks[np.uint64(entries[k]) >> six] = np.uint64(0)
        count = found[k - low]
        if count != 0:
            found[k - low] = 0
            if mode == OF_EDGES:
                atomic_add(values, k, count)
            else:
                atomic_add(tally, np.uint64(entries[k]), times * np.int64(count))


@helper
def _compare(row, last, mask, rows, marks, ranks, row_ranks, start, row_values, found, mode):  # type: ignore[no-untyped-def]
    """Find all marks in a row at once: ``mask`` has the bits of its last word that count."""
    one, hits = np.uint64(1), np.uint32(0)
    for j in range(last + one):
        word = rows[row + j]
        both = word & marks[j]
        if j == last:
            both &= mask
        while both != 0:
            below = (both ^ (both & (both - one))) - one
            both &= both - one
            found[np.uint64(ranks[j]) + count_ones(marks[j] & below)] += np.uint32(1)
            hits += np.uint32(1)
            if mode == OF_EDGES:
                at = start + np.uint64(row_ranks[row + j]) + count_ones(word & below)
                atomic_add(row_values, at, np.uint32(1))
    return hits


@helper
def _search(entries, values, low, edge, entries2, values2, low2, high2, of_w, found, mode):  # type: ignore[no-untyped-def]
    """Find the entries of a list that are before one of them in the list of that one: what they
    come to for this one, and for the first list's vertex.
    """
    of_u, of_v, at = np.uint32(0), np.int64(0), low2
    for k in range(low, edge):
        at = lower_bound(entries2, at, high2, np.uint64(entries[k]))
        if at == high2:
            break
        if entries2[at] == entries[k]:
            found[k - low] += of_w
            if mode == OF_DIRECTIONS:
                of_u += np.uint32(values[k])
                of_v += np.int64(values2[at])
            else:
                of_u += np.uint32(1)
                of_v += np.int64(1)
                if mode == OF_EDGES:
                    atomic_add(values2, at, np.uint32(1))
    return of_u, of_v


@kernel
def fill_rows(first, offsets, entries, values, hubs, words, rows):  # type: ignore[no-untyped-def]
    """The lists of hubs in a window once more, as bits, so many ``words`` for each; both ends of an
    edge have the other.
    """
    one, six, low_bits, width = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(words)
    for i in range(min(np.uint64(len(offsets) - 1), np.uint64(hubs) - np.uint64(first))):
        v = np.uint64(first) + i
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + one])):
            w = np.uint64(entries[k])
            rows[v * width + (w >> six)] |= one << (w & low_bits)
            rows[w * width + (v >> six)] |= one << (v & low_bits)


@kernel
def rank_rows(begin, end, words, rows, ranks):  # type: ignore[no-untyped-def]
    """For each word of each row, how many bits of the row come before it."""
    width = np.uint64(words)
    for v in range(np.uint64(begin), np.uint64(end)):
        before = np.uint64(0)
        for j in range(v * width, (v + np.uint64(1)) * width):
            ranks[j] = np.uint16(before)
            before += count_ones(rows[j])


@kernel
def within_rows(claims, hubs, words, rows, offsets, values, tally, mode):  # type: ignore[no-untyped-def]
    """The triangles of the first vertices: two of them have as many as their rows have bits in
    common. In those of a vertex each triangle is found twice.
    """
    one, six, width = np.uint64(1), np.uint64(6), np.uint64(words)
    while True:
        begin = np.uint64(atomic_add(claims, 0, 64))
        if begin >= np.uint64(hubs):
            break
        for v in range(begin, min(begin + np.uint64(64), np.uint64(hubs))):
            row, mine, at = v * width, np.int64(0), np.uint64(0)
            if mode == OF_EDGES:
                at = np.uint64(offsets[v])
            for word in range((v >> six) + one):
                bits = rows[row + word]
                if word == v >> six:
                    bits &= (one << (v & np.uint64(63))) - one
                while bits != 0:
                    rest = bits & (bits - one)
                    u = (word << six) + count_ones((bits ^ rest) - one)
                    bits, other, count = rest, u * width, np.uint64(0)
                    for j in range(width):
                        count += count_ones(rows[row + j] & rows[other + j])
                    if mode == OF_EDGES:
                        values[at] = np.uint32(count)
                        at += one
                    else:
                        atomic_add(tally, u, np.int64(count))
                        mine += np.int64(count)
            if mode != OF_EDGES:
                atomic_add(tally, v, mine)


@kernel
def through_rows(  # type: ignore[no-untyped-def]
    claims, first, offsets, entries, values, begins,
    hubs, words, rows, row_ranks, row_offsets, row_values, longest, tally, mode,
):  # fmt: skip
    """The triangles whose middle vertex has a row and whose last one is in a window, at place
    ``begins`` or after. The entries before the middle one are looked up in its row, or all of them
    are compared with it at once, whichever takes fewer steps.
    """
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    marks, ranks = np.zeros(words, np.uint64), np.zeros(words, np.uint32)
    found, length = np.zeros(longest, np.uint32), np.uint64(len(offsets) - 1)
    while True:
        begin = np.uint64(begins) + np.uint64(atomic_add(claims, 0, CLAIM))
        if begin >= length:
            break
        for i in range(begin, min(begin + np.uint64(CLAIM), length)):
            low = np.uint64(offsets[i])
            high = lower_bound(entries, low, np.uint64(offsets[i + one]), np.uint64(hubs))
            if high - low < np.uint64(2):
                continue
            _mark(entries, low, high, marks, ranks)
            mine = np.uint32(0)
            for k in range(low + one, high):
                u, hits = np.uint64(entries[k]), np.uint32(0)
                row, last = u * np.uint64(words), u >> six
                if k - low <= last:
                    for j in range(low, k):
                        w = np.uint64(entries[j])
                        word, bit = rows[row + (w >> six)], one << (w & low_bits)
                        if word & bit != 0:
                            found[j - low] += np.uint32(1)
                            hits += np.uint32(1)
                            if mode == OF_EDGES:
                                at = row_offsets[u] + np.uint64(row_ranks[row + (w >> six)])
                                atomic_add(
                                    row_values, at + count_ones(word & (bit - one)), np.uint32(1)
                                )
                else:
                    mask = (one << (u & low_bits)) - one
                    start = row_offsets[u] if mode == OF_EDGES else np.uint64(0)
                    hits = _compare(
                        row, last, mask, rows, marks, ranks, row_ranks, start, row_values, found,
                        mode,
                    )  # fmt: skip
                found[k - low] += hits
                mine += hits
            _finish(entries, values, low, high, found, tally, mode, marks)
            if mode == OF_VERTICES:
                atomic_add(tally, np.uint64(first) + i, np.int64(2) * np.int64(mine))


@kernel
def through_lists(  # type: ignore[no-untyped-def]
    claims, first, offsets, entries, values, begins,
    first2, offsets2, entries2, values2, low_u, num_vertices, longest, tally, mode,
):  # fmt: skip
    """The triangles whose last vertex is in one window, at place ``begins`` or after, and whose
    middle one, from ``low_u`` on, in another. The entries of the middle one are looked up among the
    marks, or the marked ones that are before it among its own, whichever takes fewer steps.
    """
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    words, length = (np.uint64(num_vertices) >> six) + one, np.uint64(len(offsets) - 1)
    marks, ranks = np.zeros(words, np.uint64), np.zeros(words, np.uint32)
    found, end2 = np.zeros(longest, np.uint32), np.uint64(first2) + np.uint64(len(offsets2) - 1)
    while True:
        begin = np.uint64(begins) + np.uint64(atomic_add(claims, 0, CLAIM))
        if begin >= length:
            break
        for i in range(begin, min(begin + np.uint64(CLAIM), length)):
            low, high = np.uint64(offsets[i]), np.uint64(offsets[i + one])
            v = np.uint64(first) + i
            if low < high and np.uint64(entries[high - one]) >= v:
                high = lower_bound(entries, low, high, v)
            edge = max(lower_bound(entries, low, high, np.uint64(low_u)), low + one)
            if edge >= high or np.uint64(entries[edge]) >= end2:
                continue
            _mark(entries, low, high, marks, ranks)
            mine = np.int64(0)
            while edge < high and np.uint64(entries[edge]) < end2:
                i2, of_u = np.uint64(entries[edge]) - np.uint64(first2), np.uint32(0)
                low2, high2 = np.uint64(offsets2[i2]), np.uint64(offsets2[i2 + one])
                of_w = np.uint32(values[edge]) if mode == OF_DIRECTIONS else np.uint32(1)
                if _is_searched(edge - low, high2 - low2):
                    of_u, of_v = _search(
                        entries, values, low, edge, entries2, values2, low2, high2, of_w, found,
                        mode,
                    )  # fmt: skip
                    mine += of_v
                    low2 = high2
                for k in range(low2, high2):
                    w = np.uint64(entries2[k])
                    word, bit = marks[w >> six], one << (w & low_bits)
                    if word & bit != 0:
                        place = np.uint64(ranks[w >> six]) + count_ones(word & (bit - one))
                        found[place] += of_w
                        if mode == OF_DIRECTIONS:
                            of_u += np.uint32(values[low + place])
                            mine += np.int64(values2[k])
                        else:
                            of_u += np.uint32(1)
                            mine += np.int64(1)
                            if mode == OF_EDGES:
                                atomic_add(values2, k, np.uint32(1))
                found[edge - low] += of_u
                edge += one
            _finish(entries, values, low, high, found, tally, mode, marks)
            if mode != OF_EDGES:
                atomic_add(tally, v, mine << np.int64(mode == OF_VERTICES))


@kernel
def add_degrees(begin, end, first, offsets, entries, values, degrees):  # type: ignore[no-untyped-def]
    """Count both ends of each entry."""
    one = np.uint64(1)
    for i in range(np.uint64(begin), np.uint64(end)):
        low, high = np.uint64(offsets[i]), np.uint64(offsets[i + one])
        atomic_add(degrees, np.uint64(first) + i, np.uint32(high - low))
        for k in range(low, high):
            atomic_add(degrees, np.uint64(entries[k]), np.uint32(1))


@kernel
def halve(begin, end, tally):  # type: ignore[no-untyped-def]
    """What was counted twice, once."""
    for v in range(np.uint64(begin), np.uint64(end)):
        tally[v] >>= 1

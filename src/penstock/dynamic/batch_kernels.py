"""Putting the rows of a batch in order: by part, and within a part by source."""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_sizes import BLOCK_BITS, PARTS
from penstock.jit import kernel

_DIGIT = 9
#: Keys for :func:`sort_rows`, a shift and a gap each: sources within a part, and targets.
BY_SOURCE, BY_TARGET = (32, PARTS.bit_length() - 1), (0, 0)


@kernel
def both_ways(src, dst, src2, dst2, first):  # type: ignore[no-untyped-def]
    """Each row in both directions, one right after the other, a loop once; ``first`` says where
    those of each row begin. Returns how many rows there are then.
    """
    to = 0
    for i in range(len(src)):
        first[i] = to
        src2[to] = src[i]
        dst2[to] = dst[i]
        to += 1
        if src[i] != dst[i]:
            src2[to] = dst[i]
            dst2[to] = src[i]
            to += 1
    first[len(src)] = to
    return to


@kernel
def count_parts(begin, end, src, counts):  # type: ignore[no-untyped-def]
    """How many rows of a range each part has."""
    mask, bits = np.uint64(PARTS - 1), np.uint64(BLOCK_BITS)
    for i in range(begin, end):
        counts[(np.uint64(src[i]) >> bits) & mask] += 1


@kernel
def place_parts(counts, cuts):  # type: ignore[no-untyped-def]
    """Where each part begins, and where the rows of each range go in it, instead of how many they
    are. Range after range within a part: equal sources stay in their order.
    """
    total = 0
    for part in range(PARTS):
        cuts[part] = total
        for k in range(len(counts)):
            here = counts[k, part]
            counts[k, part] = total
            total += here
    cuts[PARTS] = total


@kernel
def deal(begin, end, src, dst, at, out):  # type: ignore[no-untyped-def]
    """Move the rows of a range to their parts, in order, as :class:`SortedRows` have them; ``at``
    says where each part goes on.
    """
    pairs, rows = out.pairs, out.rows
    mask, bits = np.uint64(PARTS - 1), np.uint64(BLOCK_BITS)
    for i in range(begin, end):
        u = np.uint64(src[i])
        part = (u >> bits) & mask
        to = at[part]
        pairs[to] = (u << np.uint64(32)) | np.uint64(dst[i])
        rows[to] = i
        at[part] = to + 1


@kernel
def sort_rows(begin, end, most, key, given, room):  # type: ignore[no-untyped-def]
    """Sort rows, stably, by a key: the end whose bits begin at a shift; ``most`` is the largest. Of
    it some bits above those of a block, which are all the same, are left out. ``room`` has the
    result if 1 is returned.
    """
    shift, gap = key
    low_mask, word_mask = np.uint64((1 << BLOCK_BITS) - 1), np.uint64(0xFFFFFFFF)
    down, less, high_mask = np.uint64(shift), np.uint64(gap), ~low_mask
    largest = ((np.uint64(most) >> less) & high_mask) | low_mask
    mask = np.uint64((1 << _DIGIT) - 1)
    counts = np.empty(1 << _DIGIT, np.int64)
    a, b, c, d = given.pairs, given.rows, room.pairs, room.rows
    digit = np.uint64(0)
    passes = 0
    while (largest >> digit) != np.uint64(0):
        counts[:] = 0
        for i in range(begin, end):
            word = (a[i] >> down) & word_mask
            number = ((word >> less) & high_mask) | (word & low_mask)
            counts[(number >> digit) & mask] += 1
        total = begin
        for k in range(len(counts)):
            here = counts[k]
            counts[k] = total
            total += here
        for i in range(begin, end):
            word = (a[i] >> down) & word_mask
            number = ((word >> less) & high_mask) | (word & low_mask)
            k = (number >> digit) & mask
            to = counts[k]
            c[to] = a[i]
            d[to] = b[i]
            counts[k] = to + 1
        a, b, c, d = c, d, a, b
        digit += np.uint64(_DIGIT)
        passes += 1
    return passes & 1


@kernel
def longest_run(begin, end, pairs):  # type: ignore[no-untyped-def]
    """Rows of the source that has most of them."""
    most = here = 0
    for i in range(begin, end):
        if i == begin or pairs[i] >> np.uint64(32) != pairs[i - 1] >> np.uint64(32):
            here = 0
        here += 1
        most = max(most, here)
    return most

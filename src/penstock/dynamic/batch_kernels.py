"""Putting the rows of a batch in order: by part, and within a part by source."""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_sizes import BLOCK_BITS, PARTS
from penstock.jit import kernel

_DIGIT = 9
PART_BITS = PARTS.bit_length() - 1


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
def deal(begin, end, src, dst, at, pairs, rows):  # type: ignore[no-untyped-def]
    """Move the rows of a range to their parts, in order, as ``source << 32 | target``; ``at`` says
    where each part goes on.
    """
    mask, bits = np.uint64(PARTS - 1), np.uint64(BLOCK_BITS)
    for i in range(begin, end):
        u = np.uint64(src[i])
        part = (u >> bits) & mask
        to = at[part]
        pairs[to] = (u << np.uint64(32)) | np.uint64(dst[i])
        rows[to] = i
        at[part] = to + 1


@kernel
def sort_targets(begin, end, most, pairs, rows, pairs2, rows2):  # type: ignore[no-untyped-def]
    """Sort rows by target, stably; ``most`` is the largest. The second arrays are room for it, and
    have the result if 1 is returned.
    """
    mask, low = np.uint64((1 << _DIGIT) - 1), np.uint64(0xFFFFFFFF)
    counts = np.empty(1 << _DIGIT, np.int64)
    a, b, c, d = pairs, rows, pairs2, rows2
    shift = np.uint64(0)
    passes = 0
    while (np.uint64(most) >> shift) != np.uint64(0):
        counts[:] = 0
        for i in range(begin, end):
            counts[((a[i] & low) >> shift) & mask] += 1
        total = begin
        for k in range(len(counts)):
            here = counts[k]
            counts[k] = total
            total += here
        for i in range(begin, end):
            k = ((a[i] & low) >> shift) & mask
            to = counts[k]
            c[to] = a[i]
            d[to] = b[i]
            counts[k] = to + 1
        a, b, c, d = c, d, a, b
        shift += np.uint64(_DIGIT)
        passes += 1
    return passes & 1


@kernel
def sort_part(begin, end, most, pairs, rows, pairs2, rows2):  # type: ignore[no-untyped-def]
    """Sort the rows of a part by source, stably; ``most`` is the largest source. The second arrays
    are room for it, and have the result if 1 is returned.
    """
    # Within a part the bits that choose it are all the same: they are left out of the key.
    low_mask = np.uint64((1 << BLOCK_BITS) - 1)
    low, middle = np.uint64(32), np.uint64(32 + PART_BITS)
    high_mask = ~low_mask
    largest = ((np.uint64(most) >> np.uint64(PART_BITS)) & high_mask) | low_mask
    mask = np.uint64((1 << _DIGIT) - 1)
    counts = np.empty(1 << _DIGIT, np.int64)
    a, b, c, d = pairs, rows, pairs2, rows2
    shift = np.uint64(0)
    passes = 0
    while (largest >> shift) != np.uint64(0):
        counts[:] = 0
        for i in range(begin, end):
            key = ((a[i] >> middle) & high_mask) | ((a[i] >> low) & low_mask)
            counts[(key >> shift) & mask] += 1
        total = begin
        for k in range(len(counts)):
            here = counts[k]
            counts[k] = total
            total += here
        for i in range(begin, end):
            key = ((a[i] >> middle) & high_mask) | ((a[i] >> low) & low_mask)
            k = (key >> shift) & mask
            to = counts[k]
            c[to] = a[i]
            d[to] = b[i]
            counts[k] = to + 1
        a, b, c, d = c, d, a, b
        shift += np.uint64(_DIGIT)
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

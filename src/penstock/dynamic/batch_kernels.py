"""Putting the rows of a batch in order: by part, and within a part by source."""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_sizes import BLOCK_BITS, PART_BITS, PARTS
from penstock.jit import always_inline, bit_length, kernel, no_refcount

#: The most bits that a pass of a sort goes by.
MOST_DIGIT = 11
#: Where keys for :func:`sort_rows` begin in a pair.
BY_SOURCE, BY_TARGET = 32, 0

_BLOCK = np.uint64(BLOCK_BITS)
_WITHIN = np.uint64((1 << BLOCK_BITS) - 1)
_ABOVE = np.uint64(BLOCK_BITS + PART_BITS)


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


@always_inline
def _part_of(u):  # type: ignore[no-untyped-def]
    """The part of a vertex."""
    return (np.uint64(u) >> _BLOCK) & np.uint64(PARTS - 1)


@always_inline
def _number_within(u):  # type: ignore[no-untyped-def]
    """The number of a vertex within its part."""
    return ((np.uint64(u) >> _ABOVE) << _BLOCK) | (np.uint64(u) & _WITHIN)


@always_inline
def source_of(pair, part):  # type: ignore[no-untyped-def]
    """The source of a pair of a part, as :class:`SortedRows` have it."""
    number = pair >> np.uint64(32)
    return ((number >> _BLOCK) << _ABOVE) | (np.uint64(part) << _BLOCK) | (number & _WITHIN)


@kernel
def count_parts(begin, end, src, counts):  # type: ignore[no-untyped-def]
    """How many rows of a range each part has."""
    for i in range(begin, end):
        counts[_part_of(src[i])] += 1


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
def deal(begin, end, given, at, dealt):  # type: ignore[no-untyped-def]
    """Move the rows of a range to their parts, in order; ``at`` says where each part goes on."""
    src, dst, adds, values = given
    wide = len(values) // max(len(src), 1)
    for i in range(begin, end):
        part = _part_of(src[i])
        to = at[part]
        dealt.pairs[to] = (_number_within(src[i]) << np.uint64(32)) | np.uint64(dst[i])
        if len(adds) > 0:
            dealt.adds[to] = adds[i]
        for k in range(wide):
            dealt.values[to * wide + k] = values[i * wide + k]
        at[part] = to + 1


@kernel
def collect(begin, end, src, at, dealt, out):  # type: ignore[no-untyped-def]
    """Bring what there is of dealt rows back to where the rows of a range were given."""
    for i in range(begin, end):
        part = _part_of(src[i])
        out[i] = dealt[at[part]]
        at[part] += 1


@no_refcount
def sort_rows(begin, end, most, shift, named, given, room, digits):  # type: ignore[no-untyped-def]
    """Sort rows of a part, stably, by the end whose bits begin at a shift; ``most``: the largest
    vertex. Rows that are not ``named`` yet are named by their places. ``room`` has the result if 1
    is returned.
    """
    largest = np.uint64(most) if shift == BY_TARGET else _number_within(most) | _WITHIN
    bits = bit_length(largest | np.uint64(1))
    passes = (bits + np.uint64(MOST_DIGIT - 1)) // np.uint64(MOST_DIGIT)
    wide = (bits + passes - np.uint64(1)) // passes
    a, b, c, d = given.pairs, given.rows, room.pairs, room.rows
    begin, end, down = np.uint64(begin), np.uint64(end), np.uint64(shift)
    for _ in range(passes):
        wide = min(wide, bits)
        slots = np.uint64(1) << wide
        mask = slots - np.uint64(1)
        for k in range(slots):
            digits[k] = 0
        for i in range(begin, end):
            digits[(a[i] >> down) & mask] += np.uint64(1)
        total = begin
        for k in range(slots):
            total += digits[k]
            digits[k] = total - digits[k]
        if len(b) == 0:
            for i in range(begin, end):
                k = (a[i] >> down) & mask
                c[digits[k]] = a[i]
                digits[k] += np.uint64(1)
        else:
            for i in range(begin, end):
                k = (a[i] >> down) & mask
                c[digits[k]] = a[i]
                d[digits[k]] = b[i] if named else np.uint32(i)
                digits[k] += np.uint64(1)
        a, b, c, d = c, d, a, b
        down += wide
        bits -= wide
        named = True
    return np.int64(passes & np.uint64(1))

"""Lists looked up and copied inside pages of an immutable store, without the rest of the page.

A banded page says by its marks and counts where the ids of a list are in each of its bands (see
:mod:`penstock.store.banded`), and a list is ascending: so an edge is found by a binary search among
the ids of its band, as they stand in the page. Pages of other kinds are decoded first.

Everywhere ``keys`` or ``src`` are ascending vertex numbers that have their lists in the page: all
of them, or those from ``lo`` to ``hi``. Pages have been checked before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.jit import helper, kernel, load32
from penstock.store.banded_decode import MARK_EVERY, copy2, copy3, copy4
from penstock.store.page import HEADER_BYTES
from penstock.types import I64, U32

_ENTRY_BYTES = 8
_AT_ONCE = 8
_U = np.uint64


class PageFacts(NamedTuple):
    """What kernels need to know of a page."""

    small: bool
    first: int
    vertices: int
    first_edge: int
    edges: int


class Pairs(NamedTuple):
    """Edges that are looked for."""

    src: U32
    dst: U32


class Wanted(NamedTuple):
    """Lists that are copied from a page: of which vertices, to where; and, found on the way, where
    each begins among the edges of the page, and how many of its edges are there.
    """

    keys: U32
    targets: I64
    starts: I64
    sizes: I64


@helper
def _aligned(count):  # type: ignore[no-untyped-def]
    return (count + _U(7)) & ~_U(7)


@helper
def _open_page(page, small, vertices, bands, where):  # type: ignore[no-untyped-def]
    """Fill in, for each band: where its counts begin, bytes of a count, where its ids begin, number
    of ids. Returns where the columns begin.
    """
    num_bands = _U(len(bands))
    at = _U(HEADER_BYTES) + _U(_ENTRY_BYTES) * num_bands
    if small:
        at += _aligned(_U(4) * ((vertices + _U(MARK_EVERY - 1)) // _U(MARK_EVERY)) * num_bands)
    for b in range(len(bands)):
        entry = HEADER_BYTES + _ENTRY_BYTES * b
        where[b, 3] = load32(page, entry)
        if small:
            where[b, 0] = at
            where[b, 1] = page[entry + 4]
            at += _aligned(vertices * where[b, 1])
    for b in range(len(bands)):
        where[b, 2] = at
        at += _aligned(where[b, 3] * bands[b])
    return at


@helper
def _go_to(page, where, reached, place, before, counts):  # type: ignore[no-untyped-def]
    """Count the ids of each band before the list at a place of a small page, and in it: on from the
    list at ``reached`` (-1: none), or from the mark before the place.
    """
    num_bands = len(before)
    begin = reached
    if reached < 0 or place < reached or place - reached >= MARK_EVERY:
        group = place // MARK_EVERY
        begin = group * MARK_EVERY
        mark = HEADER_BYTES + _ENTRY_BYTES * num_bands + 4 * group * num_bands
        for b in range(num_bands):
            before[b] = load32(page, mark + 4 * b)
    for b in range(num_bands):
        width = where[b, 1]
        mask = (_U(1) << (_U(8) * width)) - _U(1)
        at = where[b, 0] + width * _U(begin)
        passed = before[b]
        for _ in range(begin, place):
            passed += _U(load32(page, at)) & mask
            at += width
        before[b] = passed
        counts[b] = _U(load32(page, at)) & mask


@helper
def _lower_bound(page, at, width, count, value):  # type: ignore[no-untyped-def]
    """How many of ``count`` ascending ids that begin at a byte are less than a value."""
    mask = (_U(1) << (_U(8) * width)) - _U(1)
    low, size = _U(0), count
    while size > _U(0):
        half = size >> _U(1)
        if (_U(load32(page, at + width * (low + half))) & mask) < value:
            low += half + _U(1)
            size -= half + _U(1)
        else:
            size = half
    return low


@kernel
def find_banded(page, facts, bands, asked, lo, hi, counting, out):  # type: ignore[no-untyped-def]
    """The position among all edges of each edge that is in the page; what is not, or was found
    before, is left alone. ``counting``: add how many there are of each instead.
    """
    small, src, dst = facts.small, asked.src, asked.dst
    num_bands = len(bands)
    where = np.zeros((num_bands, 4), np.uint64)
    before, counts = np.zeros(num_bands, np.uint64), np.zeros(num_bands, np.uint64)
    _open_page(page, small, _U(facts.vertices), bands, where)
    if not small:
        counts[:] = where[:, 3]
    reached = np.int64(-1)
    for i in range(lo, hi):
        place = np.int64(src[i]) - facts.first
        if small and place != reached:
            _go_to(page, where, reached, place, before, counts)
            reached = place
        value = _U(dst[i])
        b = 0
        while b < num_bands - 1 and value >> (_U(8) * bands[b]) != _U(0):
            b += 1
        width, count = bands[b], counts[b]
        if count == _U(0):
            continue
        at = where[b, 2] + width * before[b]
        found = _lower_bound(page, at, width, count, value)
        if counting:
            after = found + _lower_bound(
                page, at + width * found, width, count - found, value + _U(1)
            )
            out[i] += np.int64(after - found)
            continue
        mask = (_U(1) << (_U(8) * width)) - _U(1)
        if found == count or (_U(load32(page, at + width * found)) & mask) != value:
            continue
        if out[i] < 0:
            position = found
            for k in range(num_bands):
                position += before[k] + (counts[k] if k < b else _U(0))
            out[i] = facts.first_edge + np.int64(position)


@kernel
def gather_banded(page, small, first, vertices, bands, wanted, out):  # type: ignore[no-untyped-def]
    """Copy lists, and say where they are in the page. Returns the largest id."""
    keys, targets = wanted.keys, wanted.targets
    starts, sizes = wanted.starts, wanted.sizes
    num_bands = len(bands)
    where = np.zeros((num_bands, 4), np.uint64)
    before, counts = np.zeros(num_bands, np.uint64), np.zeros(num_bands, np.uint64)
    _open_page(page, small, _U(vertices), bands, where)
    if not small:
        counts[:] = where[:, 3]
    reached = np.int64(-1)
    largest = np.uint32(0)
    for i in range(len(keys)):
        place = np.int64(keys[i]) - first
        if small and place != reached:
            _go_to(page, where, reached, place, before, counts)
            reached = place
        start, size = _U(0), _U(0)
        e = _U(targets[i])
        for b in range(num_bands):
            start += before[b]
            count, width = counts[b], bands[b]
            size += count
            at = where[b, 2] + width * before[b]
            whole = count & ~_U(_AT_ONCE - 1)
            # A copy of eight writes no further than its list, because others may be beside it.
            k = _U(0)
            while k < whole:
                if width == _U(2):
                    copy2(page, at, out, e + k)
                elif width == _U(3):
                    copy3(page, at, out, e + k)
                else:
                    copy4(page, at, out, e + k)
                at += _U(_AT_ONCE) * width
                k += _U(_AT_ONCE)
            mask = (_U(1) << (_U(8) * width)) - _U(1)
            while k < count:
                out[e + k] = np.uint32(_U(load32(page, at)) & mask)
                at += width
                k += _U(1)
            e += count
            if count > _U(0):
                largest = max(largest, out[e - _U(1)])
        starts[i] = start
        sizes[i] = size
    return largest


@kernel
def columns_begin(page, small, vertices, bands):  # type: ignore[no-untyped-def]
    """The byte of a banded page at which its first column begins."""
    where = np.zeros((len(bands), 4), np.uint64)
    return np.int64(_open_page(page, small, _U(vertices), bands, where))


@kernel
def find_decoded(lists, facts, ascending, asked, lo, hi, counting, out):  # type: ignore[no-untyped-def]
    """As :func:`find_banded`, in a page that has been decoded; lists may be in any order."""
    offsets, neighbours, src, dst = lists.offsets, lists.neighbours, asked.src, asked.dst
    for i in range(lo, hi):
        place = np.int64(src[i]) - facts.first
        begin, end = np.int64(offsets[place]), np.int64(offsets[place + 1])
        value = dst[i]
        if ascending:
            size = end - begin
            while size > 0:
                half = size >> 1
                if neighbours[begin + half] < value:
                    begin += half + 1
                    size -= half + 1
                else:
                    size = half
        for e in range(begin, end):
            if neighbours[e] == value:
                if counting:
                    out[i] += 1
                elif out[i] < 0:
                    out[i] = facts.first_edge + e
                    break
            elif ascending:
                break


@kernel
def place_decoded(offsets, first, wanted):  # type: ignore[no-untyped-def]
    """Where each list is in a page that has been decoded, and how long it is."""
    keys, starts, sizes = wanted.keys, wanted.starts, wanted.sizes
    for i in range(len(keys)):
        place = np.int64(keys[i]) - first
        starts[i] = offsets[place]
        sizes[i] = offsets[place + 1] - offsets[place]


@kernel
def copy_lists(values, wanted, out):  # type: ignore[no-untyped-def]
    """Copy what belongs to lists from where they are in a page to where their targets say."""
    starts, sizes, targets = wanted.starts, wanted.sizes, wanted.targets
    for i in range(len(starts)):
        start, target = _U(starts[i]), _U(targets[i])
        for k in range(_U(sizes[i])):
            out[target + _U(k)] = values[start + _U(k)]


@kernel
def is_ascending(values):  # type: ignore[no-untyped-def]
    """Whether no value is less than the one before."""
    ascending = True
    for i in range(1, len(values)):
        ascending &= values[i] >= values[i - 1]
    return ascending

"""Decoding a banded page at nearly the speed of copying it.

First counts become offsets. This also shows whether the counts of each band add up to its ids, so
that copying needs no more checks: no cursor can leave its array. Then the ids are copied list by
list, eight at a time. What a copy has too much the next one overwrites; so every list can begin
with a copy, even of a band it has nothing in, and most lists are over with it, without a branch.
Near the end of the page, where eight ids would be too far to read, they are copied one by one.

A band that the page or the graph lacks has counts of no bytes, which are all zero, and its cursor
stays at the beginning of the page. In a large page the totals of the bands are the only counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core import types as nbtypes
from numba.extending import intrinsic

from penstock.jit import helper, kernel, load32
from penstock.store.layout import DECODE_ROOM
from penstock.store.page import HEADER_BYTES, TAIL_BYTES

MARK_EVERY = 64
#: Bytes of a band's entry: how many ids (u32), bytes of a count (u8), 3 unused.
_ENTRY_BYTES = 8
#: Ids that are copied together. Most lists are short, and a loop costs more than its copies.
_AT_ONCE = DECODE_ROOM
#: How many bytes that reads, by the bytes of an id, and at most.
_READS = {2: 16, 3: 28, 4: 32}
_REACH = 32

_U = np.uint64
_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_IDS = ir.VectorType(_I32, _AT_ONCE)


def _load_ids(builder: Any, pointer: Any, width: int) -> Any:
    """Code for a vector of _AT_ONCE ids of this many bytes."""

    def load(begin: int, kind: Any) -> Any:
        place = builder.gep(pointer, [_I64(begin)])
        loaded = builder.load(builder.bitcast(place, kind.as_pointer()))
        loaded.align = 1
        return loaded

    if width == 2:
        return builder.zext(load(0, ir.VectorType(_I16, _AT_ONCE)), _IDS)
    if width == 4:
        return load(0, _IDS)
    # Two loads of 16 bytes, of which the first 12 are four ids each: bytes 0, 1, 2 and a zero ...
    half, whole = ir.VectorType(_I8, 16), ir.VectorType(_I8, 32)
    every = ir.Constant(ir.VectorType(_I32, 32), list(range(32)))
    halves = builder.shuffle_vector(load(0, half), load(12, half), every)
    order = [byte for k in (*range(0, 12, 3), *range(16, 28, 3)) for byte in (k, k + 1, k + 2, 32)]
    zeros = ir.Constant(whole, [0] * 32)
    spread = builder.shuffle_vector(halves, zeros, ir.Constant(every.type, order))
    return builder.bitcast(spread, _IDS)


def _copier(width: int) -> Any:
    """An intrinsic ``copy(page, at, neighbours, e)``: the _AT_ONCE ids of this many bytes that
    begin at byte ``at`` become neighbours ``e``, ``e + 1``, ... Bounds are looked at only if the
    compiler is told to.
    """

    @intrinsic
    def copy(typingctx, page, at, neighbours, e):  # type: ignore[no-untyped-def]
        for array, dtype in ((page, nbtypes.uint8), (neighbours, nbtypes.uint32)):
            if (array.dtype, array.ndim, array.layout) != (dtype, 1, "C"):
                return None
        signature = nbtypes.void(page, nbtypes.uint64, neighbours, nbtypes.uint64)

        def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
            source = context.make_array(sig.args[0])(context, builder, args[0])
            target = context.make_array(sig.args[2])(context, builder, args[2])
            if context.enable_boundscheck:
                touched = ((source, args[1], _READS[width]), (target, args[3], _AT_ONCE))
                for view, first, count in touched:
                    last = builder.add(first, _I64(count - 1))
                    length = builder.extract_value(view.shape, 0)
                    cgutils.do_boundscheck(context, builder, last, length)
            ids = _load_ids(builder, builder.gep(source.data, [args[1]]), width)
            place = builder.gep(target.data, [args[3]])
            builder.store(ids, builder.bitcast(place, _IDS.as_pointer())).align = 4
            return context.get_dummy_value()

        return signature, codegen

    return copy


copy2, copy3, copy4 = (_copier(width) for width in (2, 3, 4))


@helper
def _aligned(count):  # type: ignore[no-untyped-def]
    return (count + 7) & ~7


@helper
def _find_arrays(page, small, vertices, edges, bands, column_sizes, arrays):  # type: ignore[no-untyped-def]
    """Fill in, for ids of 2, 3 and 4 bytes: where the counts begin, bytes of a count, where the ids
    begin, number of ids. Returns where the columns begin, or -1 if the sizes contradict each other
    or do not fit the page. Nothing is read from where they point.
    """
    at = HEADER_BYTES + _ENTRY_BYTES * len(bands)
    if small:
        at += _aligned(4 * ((vertices + MARK_EVERY - 1) // MARK_EVERY) * len(bands))
    for b in range(len(bands)):
        entry = HEADER_BYTES + _ENTRY_BYTES * b
        width = np.int64(page[entry + 4]) if small else 4
        if width > 4 or width == 3:
            return -1
        arrays[bands[b] - 2, 0] = at if small else entry
        arrays[bands[b] - 2, 1] = width
        if small:
            at += _aligned(vertices * width)
    total = np.int64(0)
    for b in range(len(bands)):
        count = np.int64(load32(page, HEADER_BYTES + _ENTRY_BYTES * b))
        arrays[bands[b] - 2, 2] = at if count > 0 else 0
        arrays[bands[b] - 2, 3] = count
        total += count
        at += _aligned(count * bands[b])
    columns = at
    for c in range(len(column_sizes)):
        at += _aligned(edges * column_sizes[c])
    return columns if total == edges and at <= len(page) - TAIL_BYTES else -1


@helper
def _mask(width):  # type: ignore[no-untyped-def]
    """What a number of this many bytes keeps of a load of 4 bytes."""
    return (_U(1) << (_U(8) * width)) - _U(1)


@helper
def _fill_offsets(page, vertices, arrays, offsets):  # type: ignore[no-untyped-def]
    """Turn counts into offsets; returns whether each band's counts add up to its ids."""
    at2, width2, at3, width3 = arrays[0, 0], arrays[0, 1], arrays[1, 0], arrays[1, 1]
    mask2, mask3 = _mask(width2), _mask(width3)
    sum2, sum3, sum4 = _U(0), _U(0), _U(0)
    offsets[_U(0)] = 0
    v = _U(0)
    while v < vertices:
        sum2 += _U(load32(page, at2)) & mask2
        sum3 += _U(load32(page, at3)) & mask3
        at2 += width2
        at3 += width3
        v += _U(1)
        offsets[v] = np.uint32(sum2 + sum3)
    at4, width4 = arrays[2, 0], arrays[2, 1]
    if width4 > _U(0):
        mask4 = _mask(width4)
        v = _U(0)
        while v < vertices:
            sum4 += _U(load32(page, at4)) & mask4
            at4 += width4
            v += _U(1)
            offsets[v] = np.uint32(_U(offsets[v]) + sum4)
    return sum2 == arrays[0, 3] and sum3 == arrays[1, 3] and sum4 == arrays[2, 3]


@helper
def _copy_within(page, at, width, count, neighbours, e):  # type: ignore[no-untyped-def]
    """Copy a band's part of a list without a look beyond the page; returns where it ends."""
    end = at + width * count
    while at < end and at + _U(_REACH) <= _U(len(page)):
        if width == _U(2):
            copy2(page, at, neighbours, e)
        elif width == _U(3):
            copy3(page, at, neighbours, e)
        else:
            copy4(page, at, neighbours, e)
        at += _U(_AT_ONCE) * width
        e += _U(_AT_ONCE)
    while at < end:
        value = np.uint32(0)
        for k in range(width):
            value |= np.uint32(page[at + _U(k)]) << np.uint32(_U(8) * _U(k))
        neighbours[e] = value
        at += width
        e += _U(1)
    return end


@kernel
def decode_body(page, small, vertices, edges, bands, column_sizes, offsets, neighbours):  # type: ignore[no-untyped-def]
    """Read everything but the columns; returns where those begin, or -1 if it cannot be right.

    ``neighbours`` needs room for DECODE_ROOM entries more than there are.
    """
    arrays = np.zeros((3, 4), np.uint64)
    columns = _find_arrays(page, small, vertices, edges, bands, column_sizes, arrays)
    if columns < 0 or not _fill_offsets(page, _U(vertices), arrays, offsets):
        return -1
    counts2, width2, at2 = arrays[0, 0], arrays[0, 1], arrays[0, 2]
    counts3, width3, at3 = arrays[1, 0], arrays[1, 1], arrays[1, 2]
    mask2, mask3 = _mask(width2), _mask(width3)
    at4 = arrays[2, 2]
    wide = arrays[2, 3] > _U(0)
    last = _U(max(len(page) - _REACH, 0))
    e = _U(0)
    v = _U(0)
    while e < _U(edges):
        count2 = _U(load32(page, counts2)) & mask2
        count3 = _U(load32(page, counts3)) & mask3
        end2 = at2 + _U(2) * count2
        end3 = at3 + _U(3) * count3
        if end2 <= last and end3 <= last:
            copy2(page, at2, neighbours, e)
            k = _U(_AT_ONCE)
            while k < count2:
                copy2(page, at2 + _U(2) * k, neighbours, e + k)
                k += _U(_AT_ONCE)
            e += count2
            copy3(page, at3, neighbours, e)
            k = _U(_AT_ONCE)
            while k < count3:
                copy3(page, at3 + _U(3) * k, neighbours, e + k)
                k += _U(_AT_ONCE)
            e += count3
        else:
            _copy_within(page, at2, _U(2), count2, neighbours, e)
            _copy_within(page, at3, _U(3), count3, neighbours, e + count2)
            e += count2 + count3
        if wide:
            v += _U(1)
            at4 = _copy_within(page, at4, _U(4), _U(offsets[v]) - e, neighbours, e)
            e = _U(offsets[v])
        counts2 += width2
        counts3 += width3
        at2, at3 = end2, end3
    return columns

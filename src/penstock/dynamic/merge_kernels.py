"""Kernels that put lists together: those of a base, less what was removed, and what was added.

Lists are :class:`~penstock.dynamic.changes.PlainLists`. Removed ones are sorted; an empty array of
offsets means that nothing is removed, or nothing added. A removed pair takes all its parallel edges
away.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import helper, kernel

_U = np.uint64
_SHORT = 24


@helper
def _lower_bound(values, begin, end, value):  # type: ignore[no-untyped-def]
    """The first place of an ascending list whose value is not less."""
    while begin < end:
        middle = (begin + end) >> _U(1)
        if values[middle] < value:
            begin = middle + _U(1)
        else:
            end = middle
    return begin


@kernel
def sort_lists(lo, hi, offsets, values):  # type: ignore[no-untyped-def]
    """Put each list in order."""
    for i in range(lo, hi):
        begin, end = _U(offsets[i]), _U(offsets[i + 1])
        if end - begin > _U(_SHORT):
            values[begin:end].sort()
            continue
        for k in range(begin + _U(1), end):
            value, at = values[k], _U(k)
            while at > begin and values[at - _U(1)] > value:
                values[at] = values[at - _U(1)]
                at -= _U(1)
            values[at] = value


@kernel
def count_merged(lo, hi, old, gone, new, sizes):  # type: ignore[no-untyped-def]
    """How long each list is when it is put together."""
    base_at, base, removed_at, removed = old.offsets, old.neighbours, gone.offsets, gone.neighbours
    added_at = new.offsets
    for i in range(lo, hi):
        begin, end = _U(base_at[i]), _U(base_at[i + 1])
        size = end - begin
        if len(removed_at) > 0 and removed_at[i] < removed_at[i + 1]:
            first, last = _U(removed_at[i]), _U(removed_at[i + 1])
            for e in range(begin, end):
                at = _lower_bound(removed, first, last, base[e])
                if at < last and removed[at] == base[e]:
                    size -= _U(1)
        if len(added_at) > 0:
            size += _U(added_at[i + 1] - added_at[i])
        sizes[i] = size


@kernel
def merge_lists(lo, hi, in_order, old, gone, new, target, origin):  # type: ignore[no-untyped-def]
    """Put lists together: ``in_order``: merged, of lists that are ascending; else one after the
    other. ``origin``, unless empty, becomes the place of each neighbour in the base, or behind it
    among what was added.
    """
    base_at, base, removed_at, removed = old.offsets, old.neighbours, gone.offsets, gone.neighbours
    added_at, added, out_at, out = new.offsets, new.neighbours, target.offsets, target.neighbours
    tracing = len(origin) > 0
    for i in range(lo, hi):
        b, b_end = _U(base_at[i]), _U(base_at[i + 1])
        r, r_end, a, a_end = _U(0), _U(0), _U(0), _U(0)
        if len(removed_at) > 0:
            r, r_end = _U(removed_at[i]), _U(removed_at[i + 1])
        if len(added_at) > 0:
            a, a_end = _U(added_at[i]), _U(added_at[i + 1])
        e = _U(out_at[i])
        while b < b_end:
            value = base[b]
            if r < r_end:
                at = _lower_bound(removed, r, r_end, value)
                if at < r_end and removed[at] == value:
                    b += _U(1)
                    continue
            if in_order and a < a_end and added[a] < value:
                out[e] = added[a]
                if tracing:
                    origin[e] = _U(len(base)) + a
                a += _U(1)
            else:
                out[e] = value
                if tracing:
                    origin[e] = b
                b += _U(1)
            e += _U(1)
        while a < a_end:
            out[e] = added[a]
            if tracing:
                origin[e] = _U(len(base)) + a
            a += _U(1)
            e += _U(1)


@kernel
def take_values(lo, hi, origin, base, added, out):  # type: ignore[no-untyped-def]
    """Values of edges by their origins, see :func:`merge_lists`."""
    for e in range(lo, hi):
        at = origin[e]
        out[e] = base[at] if at < _U(len(base)) else added[at - _U(len(base))]


@kernel
def add_counts(places, more, counts):  # type: ignore[no-untyped-def]
    """Add to the counts at some places, which may repeat."""
    for i in range(len(places)):
        counts[places[i]] += np.uint32(more[i])


@kernel
def count_loops(first, degrees, neighbours):  # type: ignore[no-untyped-def]
    """Edges from a vertex to itself, in the lists of vertices that follow each other."""
    loops = np.int64(0)
    e = _U(0)
    for i in range(len(degrees)):
        for _ in range(degrees[i]):
            loops += np.int64(neighbours[e]) == first + i
            e += _U(1)
    return loops


@kernel
def list_keys(shift, lists, keys, places):  # type: ignore[no-untyped-def]
    """The entries of lists as keys to sort by: the number of the list, shifted, and the neighbour.
    ``places``, unless empty, becomes the place of each.
    """
    starts, ends, neighbours = lists.starts, lists.ends, lists.neighbours
    k = _U(0)
    for i in range(len(starts)):
        high = _U(i) << _U(shift)
        for e in range(starts[i], ends[i]):
            keys[k] = high | _U(neighbours[_U(e)])
            if len(places) > 0:
                places[k] = _U(e)
            k += _U(1)

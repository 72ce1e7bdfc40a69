"""The indexes of degree-aware lists.

The index of a list is a Robin Hood table of places in the list, keyed by the neighbour at the
place. A mark is 0, or the probe distance plus one, with the highest bit for a tombstone. A slot has
a place in its low bits and some bits of the neighbour's hash above them (see :func:`_tag`), so that
the list itself is seldom looked at in vain.
"""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_heap import free, move_list, take
from penstock.dynamic.list_sizes import INDEX_SIZES, MOST_DISTANCE, NOWHERE, SIZES, WIDE_CLASS
from penstock.jit import always_inline, no_refcount

_TOMB = np.uint8(0x80)
_DISTANCE = np.uint8(0x7F)


@always_inline
def home(v, size):  # type: ignore[no-untyped-def]
    """Where a neighbour belongs in an index of so many slots."""
    mixed = np.uint64(np.uint32(np.uint64(v) * np.uint64(0x9E3779B1)))
    return (mixed * np.uint64(size)) >> np.uint64(32)


@always_inline
def _tag(v, c):  # type: ignore[no-untyped-def]
    """What stands above the place in a slot of an index of class c."""
    if c >= WIDE_CLASS:
        return np.uint32(0)
    return np.uint32(np.uint64(v) * np.uint64(0x9E3779B1) << np.uint64(24))


@always_inline
def _tag_bits(c):  # type: ignore[no-untyped-def]
    """The bits of a slot that are not the place."""
    return np.uint32(0) if c >= WIDE_CLASS else np.uint32(0xFF000000)


@always_inline
def _put(entry, slot, distance, at, size, slots, marks):  # type: ignore[no-untyped-def]
    """Put an entry into an index from a slot on, where its key cannot be found. 1: into a
    tombstone, 0: into an unused slot, -1: some entry came too far from home, and the index must be
    made anew, larger.
    """
    one, result = np.uint64(1), -1
    while distance <= MOST_DISTANCE:
        mark = marks[at + slot]
        here = np.uint64(mark & _DISTANCE)
        if mark == 0 or (mark >= _TOMB and here <= distance):
            marks[at + slot] = np.uint8(distance)
            slots[at + slot] = entry
            result = 1 if mark >= _TOMB else 0
            break
        if here < distance:
            marks[at + slot] = np.uint8(distance)
            slots[at + slot], entry = entry, slots[at + slot]
            distance = here
        slot = np.uint64(0) if slot + one == size else slot + one
        distance += one
    return result


@always_inline
def look(v, c, at, start, neighbours, slots, marks):  # type: ignore[no-untyped-def]
    """Search an index: the place of a neighbour or NOWHERE, where the search ended, its distance
    there, and the first tombstone on the way that the neighbour could take (or the size).
    """
    one, size = np.uint64(1), INDEX_SIZES[c]
    tag, bits = _tag(v, c), _tag_bits(c)
    place, slot, distance, spare = NOWHERE, home(v, size), one, size
    while True:
        mark = marks[at + slot]
        here = np.uint64(mark & _DISTANCE)
        if here < distance:
            break
        if here == distance:
            if mark >= _TOMB:
                if spare == size:
                    spare = slot
            elif slots[at + slot] & bits == tag:
                found = np.uint64(slots[at + slot] & ~bits)
                if neighbours[start + found] == v:
                    place = found
                    break
        slot = np.uint64(0) if slot + one == size else slot + one
        distance += one
    return place, slot, distance, spare


@no_refcount
def build_index(  # type: ignore[no-untyped-def]
    part, u, c, starts, ends, index_at, indexes, dead, neighbours, slots, marks, slot_heads,
    extents, tops,
):  # fmt: skip
    """Make the index of a list anew, of class c or, if entries come too far from home, larger."""
    if indexes[u] != 0:
        free(part, indexes[u], index_at[u], slots, slot_heads)
    start = starts[u]
    dead[u] = 0
    fits = False
    c = (c | 1) - 2
    while not fits:
        c += 2
        size = INDEX_SIZES[c]
        at = take(part, c, INDEX_SIZES, slots, slot_heads, extents, tops, 1)
        for k in range(at, at + size):
            marks[k] = 0
        fits = True
        for place in range(ends[u] - start):
            v = neighbours[start + place]
            entry = np.uint32(place) | _tag(v, c)
            if _put(entry, home(v, size), np.uint64(1), at, size, slots, marks) < 0:
                free(part, c, at, slots, slot_heads)
                fits = False
                break
        index_at[u] = at
    indexes[u] = c


@no_refcount
def take_out(  # type: ignore[no-untyped-def]
    u, place, width, starts, ends, index_at, indexes, neighbours, payload, slots, marks
):  # fmt: skip
    """Fill the place of an entry that goes with the last entry of its list."""
    start = starts[u]
    last = ends[u] - start - np.uint64(1)
    ends[u] = start + last
    if place == last:
        return
    w = neighbours[start + last]
    neighbours[start + place] = w
    for k in range(width):
        payload[(start + place) * width + k] = payload[(start + last) * width + k]
    c = indexes[u]
    if c == 0:
        return
    at, size = index_at[u], INDEX_SIZES[c]
    slot, distance, one = home(w, size), np.uint64(1), np.uint64(1)
    entry = np.uint32(last) | _tag(w, c)
    while np.uint64(marks[at + slot] & _DISTANCE) >= distance:
        if slots[at + slot] == entry and marks[at + slot] < _TOMB:
            slots[at + slot] = np.uint32(place) | _tag(w, c)
            return
        slot = np.uint64(0) if slot + one == size else slot + one
        distance += one


@no_refcount
def add_to_index(  # type: ignore[no-untyped-def]
    part, u, v, place, slot, distance, spare, starts, ends, index_at, indexes, dead, neighbours,
    slots, marks, slot_heads, extents, tops,
):  # fmt: skip
    """Let the index know of a neighbour that has come to the end of its list, from where the search
    for it ended.
    """
    c, at = indexes[u], index_at[u]
    size = INDEX_SIZES[c]
    entry = np.uint32(place) | _tag(v, c)
    placed = -1
    if spare != size:
        marks[at + spare] &= _DISTANCE
        slots[at + spare] = entry
        placed = 1
    elif (place + np.uint64(1)) * np.uint64(10) <= size * np.uint64(9):
        placed = _put(entry, slot, distance, at, size, slots, marks)
    if placed < 0:
        build_index(
            part, u, c + 1, starts, ends, index_at, indexes, dead, neighbours, slots, marks,
            slot_heads, extents, tops,
        )  # fmt: skip
    elif placed == 1:
        dead[u] -= np.uint32(1)


@no_refcount
def settle(  # type: ignore[no-untyped-def]
    part, u, threshold, width, starts, ends, sizes, index_at, indexes, dead, neighbours, payload,
    slots, marks, heads, slot_heads, extents, tops,
):  # fmt: skip
    """After deletions: a list much too small for its chunk moves to a smaller one, and one that is
    well below the threshold loses its index.
    """
    count = ends[u] - starts[u]
    if count == np.uint64(0):
        free(part, sizes[u], starts[u], neighbours, heads)
        sizes[u] = 0
        starts[u] = ends[u] = np.uint64(0)
    elif sizes[u] > 2 and count * np.uint64(4) < SIZES[sizes[u]]:
        move_list(
            part, u, count * np.uint64(2), width, starts, ends, sizes, neighbours, payload, heads,
            extents, tops,
        )  # fmt: skip
    if indexes[u] == 0:
        return
    size = INDEX_SIZES[indexes[u]]
    if count * np.uint64(2) < np.uint64(threshold):
        free(part, indexes[u], index_at[u], slots, slot_heads)
        indexes[u] = 0
    elif np.uint64(dead[u]) * np.uint64(4) > size or INDEX_SIZES[sizes[u]] * np.uint64(4) < size:
        build_index(
            part, u, sizes[u], starts, ends, index_at, indexes, dead, neighbours, slots, marks,
            slot_heads, extents, tops,
        )  # fmt: skip

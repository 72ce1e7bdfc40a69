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
    """Where a neighbour belongs in an index of ``size`` slots."""
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
def look(v, u, lists):  # type: ignore[no-untyped-def]
    """Search the index of a list: the place of a neighbour or NOWHERE, where the search ended, its
    distance there, and the first tombstone on the way that the neighbour could take (or the size).
    """
    slots, marks = lists.slots, lists.marks
    c, at, start = lists.indexes[u], lists.index_at[u], lists.starts[u]
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
                if lists.neighbours[start + found] == v:
                    place = found
                    break
        slot = np.uint64(0) if slot + one == size else slot + one
        distance += one
    return place, slot, distance, spare


@no_refcount
def build_index(part, u, c, lists):  # type: ignore[no-untyped-def]
    """Make the index of a list anew, of class c or, if entries come too far from home, larger."""
    slots, marks, heads = lists.slots, lists.marks, lists.slot_heads
    if lists.indexes[u] != 0:
        free(part, lists.indexes[u], lists.index_at[u], slots, heads)
    start, end = lists.starts[u], lists.ends[u]
    lists.dead[u] = 0
    fits = False
    c = (c | 1) - 2
    while not fits:
        c += 2
        size = INDEX_SIZES[c]
        at = take(part, c, INDEX_SIZES, slots, heads, lists, 1)
        for k in range(at, at + size):
            marks[k] = 0
        fits = True
        for place in range(end - start):
            v = lists.neighbours[start + place]
            entry = np.uint32(place) | _tag(v, c)
            if _put(entry, home(v, size), np.uint64(1), at, size, slots, marks) < 0:
                free(part, c, at, slots, heads)
                fits = False
                break
        lists.index_at[u] = at
    lists.indexes[u] = c


@no_refcount
def take_out(u, place, lists):  # type: ignore[no-untyped-def]
    """Fill the place of an entry that goes with the last entry of its list."""
    neighbours, payload, width = lists.neighbours, lists.payload, lists.width
    slots, marks = lists.slots, lists.marks
    start = lists.starts[u]
    last = lists.ends[u] - start - np.uint64(1)
    lists.ends[u] = start + last
    if place == last:
        return
    w = neighbours[start + last]
    neighbours[start + place] = w
    for k in range(width):
        payload[(start + place) * width + k] = payload[(start + last) * width + k]
    c = lists.indexes[u]
    if c == 0:
        return
    at, size = lists.index_at[u], INDEX_SIZES[c]
    slot, distance, one = home(w, size), np.uint64(1), np.uint64(1)
    entry = np.uint32(last) | _tag(w, c)
    while np.uint64(marks[at + slot] & _DISTANCE) >= distance:
        if slots[at + slot] == entry and marks[at + slot] < _TOMB:
            slots[at + slot] = np.uint32(place) | _tag(w, c)
            return
        slot = np.uint64(0) if slot + one == size else slot + one
        distance += one


@no_refcount
def add_to_index(part, u, v, place, searched, lists):  # type: ignore[no-untyped-def]
    """Let the index know of a neighbour that has come to the end of its list, from where the search
    for it ended: slot, distance, and a tombstone that it can take.
    """
    slot, distance, spare = searched
    slots, marks = lists.slots, lists.marks
    c, at = lists.indexes[u], lists.index_at[u]
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
        build_index(part, u, c + 1, lists)
    elif placed == 1:
        lists.dead[u] -= np.uint32(1)


@no_refcount
def shrink(part, u, threshold, lists):  # type: ignore[no-untyped-def]
    """After deletions: a list much too small for its chunk moves to a smaller one, and one that is
    well below the threshold loses its index.
    """
    sizes, indexes = lists.sizes, lists.indexes
    count = lists.ends[u] - lists.starts[u]
    if count == np.uint64(0):
        free(part, sizes[u], lists.starts[u], lists.neighbours, lists.heads)
        sizes[u] = 0
        lists.starts[u] = lists.ends[u] = np.uint64(0)
    elif sizes[u] > 2 and count * np.uint64(4) < SIZES[sizes[u]]:
        move_list(part, u, count * np.uint64(2), lists)
    if indexes[u] == 0:
        return
    size = INDEX_SIZES[indexes[u]]
    dead = np.uint64(lists.dead[u])
    if count * np.uint64(2) < np.uint64(threshold):
        free(part, indexes[u], lists.index_at[u], lists.slots, lists.slot_heads)
        indexes[u] = 0
    elif dead * np.uint64(4) > size or INDEX_SIZES[sizes[u]] * np.uint64(4) < size:
        build_index(part, u, sizes[u], lists)

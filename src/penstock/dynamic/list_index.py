"""The indexes of degree-aware lists.

The index of a list is a Robin Hood table of places in the list. An entry is keyed by the neighbour
at its place and, in a multigraph, by its *turn*: parallel edges have the turns 0, 1, 2, ... So keys
are distinct, and any number of parallel edges is spread over the table like other entries: with
equal keys, a pair with more parallel edges than the longest probe distance would have no place in
a table of any size. The turns in use have no gap, because parallel edges are deleted together; so
the next one is found by doubling and halving. The table is followed by the turn of each place: an
entry that moves within the list is found by it.

A mark is 0, or the probe distance plus one, with the highest bit for a tombstone. A slot has a
place in its low bits and some bits of the key's hash above them (see :func:`_tag`), so that the
list itself is seldom looked at in vain.
"""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_heap import free, move_list, move_values, take
from penstock.dynamic.list_sizes import INDEX_SIZES, MOST_DISTANCE, NOWHERE, SIZES, WIDE_CLASS
from penstock.jit import always_inline, no_refcount

_TOMB = np.uint8(0x80)
_DISTANCE = np.uint8(0x7F)
_ONE = np.uint64(1)


@always_inline
def _hashed(v, turn):  # type: ignore[no-untyped-def]
    """All bits of a key in each bit of the result."""
    key = (np.uint64(turn) << np.uint64(32)) | np.uint64(v)
    mixed = key * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)


@always_inline
def _home(hashed, size):  # type: ignore[no-untyped-def]
    """Where a key belongs in an index of ``size`` slots."""
    return ((hashed >> np.uint64(32)) * size) >> np.uint64(32)


@always_inline
def _tag(hashed, c):  # type: ignore[no-untyped-def]
    """What stands above the place in a slot of an index of class c."""
    if c >= WIDE_CLASS:
        return np.uint32(0)
    return np.uint32(hashed << np.uint64(24))


@always_inline
def _tag_bits(c):  # type: ignore[no-untyped-def]
    """The bits of a slot that are not the place."""
    return np.uint32(0) if c >= WIDE_CLASS else np.uint32(0xFF000000)


@always_inline
def first_slot(v, u, lists):  # type: ignore[no-untyped-def]
    """Where a search for a neighbour in the index of a list begins."""
    return lists.index_at[u] + _home(_hashed(v, 0), INDEX_SIZES[lists.indexes[u]])


@always_inline
def _put(entry, slot, distance, at, size, slots, marks):  # type: ignore[no-untyped-def]
    """Put an entry into an index from a slot on, where its key cannot be found. 1: into a
    tombstone, 0: into an unused slot, -1: some entry came too far from home, and the index must be
    built again, larger.
    """
    result = -1
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
        slot = np.uint64(0) if slot + _ONE == size else slot + _ONE
        distance += _ONE
    return result


@always_inline
def look(v, turn, u, lists):  # type: ignore[no-untyped-def]
    """Search the index of a list: the place of a neighbour or NOWHERE, where the search ended, its
    distance there, and the first tombstone on the way that the neighbour could take (or the size).
    """
    slots, marks = lists.slots, lists.marks
    c, at, start = lists.indexes[u], lists.index_at[u], lists.starts[u]
    hashed, size = _hashed(v, turn), INDEX_SIZES[c]
    tag, bits = _tag(hashed, c), _tag_bits(c)
    place, slot, distance, spare = NOWHERE, _home(hashed, size), _ONE, size
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
                if lists.neighbours[start + found] == v and (
                    not lists.multi or slots[at + size + found] == turn
                ):
                    place = found
                    break
        slot = np.uint64(0) if slot + _ONE == size else slot + _ONE
        distance += _ONE
    return place, slot, distance, spare


@no_refcount
def next_turn(v, u, lists):  # type: ignore[no-untyped-def]
    """The first turn that no edge to a neighbour has: as many as there are."""
    first, stop = np.uint64(0), np.uint64(0)
    while look(v, stop, u, lists)[0] != NOWHERE:
        first = stop + _ONE
        stop = first * np.uint64(2) - _ONE
    while first < stop:
        middle = (first + stop) // np.uint64(2)
        if look(v, middle, u, lists)[0] == NOWHERE:
            stop = middle
        else:
            first = middle + _ONE
    return first


@always_inline
def _fill(u, lists):  # type: ignore[no-untyped-def]
    """Put all entries of a list into its index, which is empty; whether all have a place."""
    slots, marks = lists.slots, lists.marks
    c, at, start = lists.indexes[u], lists.index_at[u], lists.starts[u]
    size = INDEX_SIZES[c]
    for place in range(lists.ends[u] - start):
        v = lists.neighbours[start + place]
        turn = np.uint64(0)
        if lists.multi:
            turn = next_turn(v, u, lists)
            slots[at + size + place] = np.uint32(turn)
        hashed = _hashed(v, turn)
        entry = np.uint32(place) | _tag(hashed, c)
        if _put(entry, _home(hashed, size), _ONE, at, size, slots, marks) < 0:
            return False
    return True


@no_refcount
def build_index(part, u, c, lists):  # type: ignore[no-untyped-def]
    """Build the index of a list, of class c or, if entries come too far from home, larger."""
    slots, marks, heads, double = lists.slots, lists.marks, lists.slot_heads, int(lists.multi)
    lists.dead[u] = 0
    c = c | 1
    while True:
        if lists.indexes[u] != 0:
            free(part, lists.indexes[u], lists.index_at[u], slots, heads)
        at = take(part, c, INDEX_SIZES, double, slots, heads, lists, 1)
        for k in range(at, at + INDEX_SIZES[c]):
            marks[k] = 0
        lists.index_at[u] = at
        lists.indexes[u] = c
        if _fill(u, lists):
            break
        c += 2


@always_inline
def take_out(u, place, lists):  # type: ignore[no-untyped-def]
    """Fill the place of an entry that goes with the last entry of its list."""
    neighbours, slots, marks = lists.neighbours, lists.slots, lists.marks
    start = lists.starts[u]
    last = lists.ends[u] - start - _ONE
    lists.ends[u] = start + last
    if place == last:
        return
    w = neighbours[start + last]
    neighbours[start + place] = w
    move_values(start + last, start + place, lists)
    c = lists.indexes[u]
    if c == 0:
        return
    at, size, turn = lists.index_at[u], INDEX_SIZES[c], np.uint64(0)
    if lists.multi:
        turn = np.uint64(slots[at + size + last])
        slots[at + size + place] = np.uint32(turn)
    hashed = _hashed(w, turn)
    slot, distance, tag = _home(hashed, size), _ONE, _tag(hashed, c)
    while np.uint64(marks[at + slot] & _DISTANCE) >= distance:
        if slots[at + slot] == np.uint32(last) | tag and marks[at + slot] < _TOMB:
            slots[at + slot] = np.uint32(place) | tag
            return
        slot = np.uint64(0) if slot + _ONE == size else slot + _ONE
        distance += _ONE


@always_inline
def bury(u, slot, lists):  # type: ignore[no-untyped-def]
    """Make a tombstone of a slot of an index."""
    lists.marks[lists.index_at[u] + slot] |= _TOMB
    lists.dead[u] += np.uint32(1)


@always_inline
def add_to_index(part, u, v, turn, place, searched, lists):  # type: ignore[no-untyped-def]
    """Let the index know of a neighbour that has come to the end of its list, from where the search
    for it ended: slot, distance, and a tombstone that it can take.
    """
    slot, distance, spare = searched
    slots, marks = lists.slots, lists.marks
    c, at = lists.indexes[u], lists.index_at[u]
    size = INDEX_SIZES[c]
    entry = np.uint32(place) | _tag(_hashed(v, turn), c)
    placed = -1
    if spare != size:
        marks[at + spare] &= _DISTANCE
        slots[at + spare] = entry
        placed = 1
    elif (place + _ONE) * np.uint64(10) <= size * np.uint64(9):
        placed = _put(entry, slot, distance, at, size, slots, marks)
    if placed < 0:
        build_index(part, u, c + 1, lists)
        return
    if lists.multi:
        slots[at + size + place] = np.uint32(turn)
    if placed == 1:
        lists.dead[u] -= np.uint32(1)


@always_inline
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

"""The kernels of the degree-aware lists; :mod:`penstock.dynamic.lists` says what there is,
:mod:`penstock.dynamic.list_sizes` how it is cut up.

Everything here belongs to one *part* of the vertices, and one thread works on a part at a time:
nothing is shared but the tops of the two pools, which are moved atomically.

The index of a list is a Robin Hood table of places in the list, keyed by the neighbour at the
place. A mark is 0, or the probe distance plus one, with the highest bit for a tombstone. A slot has
a place in its low bits and some bits of the neighbour's hash above them (see :func:`_tag`), so that
the list itself is seldom looked at in vain.
"""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_sizes import (
    EXTENT,
    INDEX_SIZES,
    MOST_DISTANCE,
    NOWHERE,
    SIZES,
    WIDE_CLASS,
)
from penstock.jit import atomic_add, borrowing, borrowing_kernel, prefetch, spliced

#: Rows that the work is ahead of itself by, in fetching what it will look at.
AHEAD = 12
_TOMB = np.uint8(0x80)
_DISTANCE = np.uint8(0x7F)

# The arrays of the kernels, in this order:
#   by vertex: starts, ends (places in the pool), sizes (class of the chunk), index_at, indexes
#   (class of the index, 0: none), dead (tombstones in it), twice (1: parallel edges may be there)
#   pools: neighbours, payload (``width`` bytes for each entry), slots, marks
#   heap: free heads [part, class], those of the slots, extents [part, 4], the tops of both pools


@spliced
def _home(v, size):  # type: ignore[no-untyped-def]
    """Where a neighbour belongs in an index of so many slots."""
    mixed = np.uint64(np.uint32(np.uint64(v) * np.uint64(0x9E3779B1)))
    return (mixed * np.uint64(size)) >> np.uint64(32)


@spliced
def _tag(v, c):  # type: ignore[no-untyped-def]
    """What stands above the place in a slot of an index of class c."""
    if c >= WIDE_CLASS:
        return np.uint32(0)
    return np.uint32(np.uint64(v) * np.uint64(0x9E3779B1) << np.uint64(24))


@spliced
def _tag_bits(c):  # type: ignore[no-untyped-def]
    """The bits of a slot that are not the place."""
    return np.uint32(0) if c >= WIDE_CLASS else np.uint32(0xFF000000)


@borrowing
def _take(part, c, size, words, heads, extents, tops, which):  # type: ignore[no-untyped-def]
    """A chunk of the pool that ``words`` are of (``which``: 0 neighbours, 1 slots)."""
    head = heads[part, c]
    if head != np.uint64(0):
        at = head - np.uint64(1)
        high = np.uint64(words[at + np.uint64(1)]) << np.uint64(32)
        heads[part, c] = np.uint64(words[at]) | high
        return at
    if size > EXTENT:
        return np.uint64(atomic_add(tops, which, np.uint64(size)))
    begin, end = 2 * which, 2 * which + 1
    if extents[part, begin] + size > extents[part, end]:
        at = np.uint64(atomic_add(tops, which, EXTENT))
        if at != extents[part, end]:
            extents[part, begin] = at
        extents[part, end] = at + EXTENT
    at = extents[part, begin]
    extents[part, begin] = at + size
    return at


@borrowing
def _free(part, c, at, words, heads):  # type: ignore[no-untyped-def]
    """Keep a chunk for the next list of its size."""
    head = heads[part, c]
    words[at] = np.uint32(head & np.uint64(0xFFFFFFFF))
    words[at + np.uint64(1)] = np.uint32(head >> np.uint64(32))
    heads[part, c] = at + np.uint64(1)


@spliced
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


@spliced
def _look(v, c, at, start, neighbours, slots, marks):  # type: ignore[no-untyped-def]
    """Search an index: the place of a neighbour or NOWHERE, where the search ended, its distance
    there, and the first tombstone on the way that the neighbour could take (or the size).
    """
    one, size = np.uint64(1), INDEX_SIZES[c]
    tag, bits = _tag(v, c), _tag_bits(c)
    place, slot, distance, spare = NOWHERE, _home(v, size), one, size
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


@borrowing
def _build_index(  # type: ignore[no-untyped-def]
    part, u, c, starts, ends, index_at, indexes, dead, twice, multi, neighbours, slots, marks,
    slot_heads, extents, tops,
):  # fmt: skip
    """Make the index of a list anew, of class c or, if entries come too far from home, larger. Of
    parallel edges the first stands for all.
    """
    if indexes[u] != 0:
        _free(part, indexes[u], index_at[u], slots, slot_heads)
    start = starts[u]
    dead[u] = 0
    fits = False
    c = (c | 1) - 2
    while not fits:
        c += 2
        size = INDEX_SIZES[c]
        at = _take(part, c, size, slots, slot_heads, extents, tops, 1)
        for k in range(at, at + size):
            marks[k] = 0
        fits = True
        for place in range(ends[u] - start):
            v = neighbours[start + place]
            slot, distance = _home(v, size), np.uint64(1)
            if multi:
                found, slot, distance, _ = _look(v, c, at, start, neighbours, slots, marks)
                if found != NOWHERE:
                    twice[u] = 1
                    continue
            entry = np.uint32(place) | _tag(v, c)
            if _put(entry, slot, distance, at, size, slots, marks) < 0:
                _free(part, c, at, slots, slot_heads)
                fits = False
                break
        index_at[u] = at
    indexes[u] = c


@borrowing
def _move_list(  # type: ignore[no-untyped-def]
    part, u, c, width, starts, ends, sizes, neighbours, payload, heads, extents, tops
):  # fmt: skip
    """Move a list to a chunk of class c."""
    at = _take(part, c, SIZES[c], neighbours, heads, extents, tops, 0)
    start, count = starts[u], ends[u] - starts[u]
    for k in range(count):
        neighbours[at + k] = neighbours[start + k]
    for k in range(count * width):
        payload[at * width + k] = payload[start * width + k]
    if sizes[u] != 0:
        _free(part, sizes[u], start, neighbours, heads)
    starts[u] = at
    ends[u] = at + count
    sizes[u] = c


@borrowing
def _take_out(  # type: ignore[no-untyped-def]
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
    # A parallel edge need not be in the index.
    at, size = index_at[u], INDEX_SIZES[c]
    slot, distance, one = _home(w, size), np.uint64(1), np.uint64(1)
    entry = np.uint32(last) | _tag(w, c)
    while np.uint64(marks[at + slot] & _DISTANCE) >= distance:
        if slots[at + slot] == entry and marks[at + slot] < _TOMB:
            slots[at + slot] = np.uint32(place) | _tag(w, c)
            return
        slot = np.uint64(0) if slot + one == size else slot + one
        distance += one


@borrowing
def _settle(  # type: ignore[no-untyped-def]
    part, u, threshold, width, multi, starts, ends, sizes, index_at, indexes, dead, twice,
    neighbours, payload, slots, marks, heads, slot_heads, extents, tops,
):  # fmt: skip
    """After deletions: a list much too small for its chunk moves to a smaller one, and one that is
    well below the threshold loses its index.
    """
    count = ends[u] - starts[u]
    if count == np.uint64(0):
        _free(part, sizes[u], starts[u], neighbours, heads)
        sizes[u] = 0
        starts[u] = ends[u] = np.uint64(0)
    elif sizes[u] > 2 and count * np.uint64(4) < SIZES[sizes[u]]:
        c = 1
        while SIZES[c] < count * np.uint64(2):
            c += 1
        _move_list(
            part, u, c, width, starts, ends, sizes, neighbours, payload, heads, extents, tops
        )
    if indexes[u] == 0:
        return
    size = INDEX_SIZES[indexes[u]]
    if count * np.uint64(2) < np.uint64(threshold):
        _free(part, indexes[u], index_at[u], slots, slot_heads)
        indexes[u] = 0
        twice[u] = 0
    elif np.uint64(dead[u]) * np.uint64(4) > size or INDEX_SIZES[sizes[u]] * np.uint64(4) < size:
        _build_index(
            part, u, sizes[u], starts, ends, index_at, indexes, dead, twice, multi, neighbours,
            slots, marks, slot_heads, extents, tops,
        )  # fmt: skip


@spliced
def _fetch(pair, starts, ends, index_at, indexes, neighbours, slots, marks):  # type: ignore[no-untyped-def]
    """Begin to bring what a search for an edge will look at first, and the end of its list."""
    u = pair >> np.uint64(32)
    c = indexes[u]
    prefetch(neighbours, ends[u])
    if c == 0:
        prefetch(neighbours, starts[u])
    else:
        slot = index_at[u] + _home(np.uint32(pair), INDEX_SIZES[c])
        prefetch(marks, slot)
        prefetch(slots, slot)


@borrowing
def _remove(  # type: ignore[no-untyped-def]
    u, v, place, several, width, starts, ends, index_at, indexes, neighbours, payload, slots, marks
):  # fmt: skip
    """Take an entry out of a list, or all entries of a neighbour; returns how many went."""
    if not several:
        _take_out(
            u, place, width, starts, ends, index_at, indexes, neighbours, payload, slots, marks
        )
        return 1
    count = 0
    start, k = starts[u], ends[u]
    while k > start:
        k -= np.uint64(1)
        if neighbours[k] == v:
            _take_out(
                u, k - start, width, starts, ends, index_at, indexes, neighbours, payload, slots,
                marks,
            )  # fmt: skip
            count += 1
    return count


@spliced
def _add_to_index(  # type: ignore[no-untyped-def]
    part, u, v, place, slot, distance, spare, starts, ends, index_at, indexes, dead, twice, multi,
    neighbours, slots, marks, slot_heads, extents, tops,
):  # fmt: skip
    """Let the index know of a neighbour that has come to the end of its list, from where the search
    for it ended.
    """
    c, at = indexes[u], index_at[u]
    size = INDEX_SIZES[c]
    entry = np.uint32(place) | _tag(v, c)
    placed = -1
    if (place + np.uint64(1)) * np.uint64(10) <= size * np.uint64(9):
        if spare != size:
            marks[at + spare] &= _DISTANCE
            slots[at + spare] = entry
            placed = 1
        else:
            placed = _put(entry, slot, distance, at, size, slots, marks)
    if placed < 0:
        _build_index(
            part, u, c + 1, starts, ends, index_at, indexes, dead, twice, multi, neighbours, slots,
            marks, slot_heads, extents, tops,
        )  # fmt: skip
    elif placed == 1:
        dead[u] -= np.uint32(1)


@borrowing_kernel
def apply_rows(  # type: ignore[no-untyped-def]
    part, begin, end, pairs, rows, adds, values, threshold, width, multi, looking, out, places,
    tally, starts, ends, sizes, index_at, indexes, dead, twice, neighbours, payload, slots, marks,
    heads, slot_heads, extents, tops,
):  # fmt: skip
    """Add and delete the edges of rows that are sorted by source, all of this part. A pair is
    ``source << 32 | target``; ``rows`` leads to ``adds``, ``values`` (new properties), ``out`` and
    ``places``, in the order they came in. ``tally``: edges added, edges that went. ``looking``:
    only find, into ``places``.
    """
    one, high, stop = np.uint64(1), np.uint64(32), np.uint64(end)
    for i in range(np.uint64(begin), stop):
        ahead = pairs[min(i + np.uint64(AHEAD), stop - one)]
        _fetch(ahead, starts, ends, index_at, indexes, neighbours, slots, marks)
        u, v, row = pairs[i] >> high, np.uint32(pairs[i]), np.uint64(rows[i])
        adding = not looking and (len(adds) == 0 or adds[row] != 0)
        searching = not (multi and adding)
        start, count = starts[u], ends[u] - starts[u]
        place = NOWHERE
        slot = distance = spare = np.uint64(0)
        if indexes[u] == 0 and count > np.uint64(threshold) and searching:
            _build_index(
                part, u, sizes[u], starts, ends, index_at, indexes, dead, twice, multi,
                neighbours, slots, marks, slot_heads, extents, tops,
            )  # fmt: skip
        c, at = indexes[u], index_at[u]
        if c != 0:
            place, slot, distance, spare = _look(v, c, at, start, neighbours, slots, marks)
        elif searching:
            for k in range(start, start + count):
                if neighbours[k] == v:
                    place = k - start
                    break
        there = place != NOWHERE
        if looking:
            places[row] = np.int64(start + place) if there else -1
        elif not adding:
            out[row] = 1 if there else 0
            if there:
                if c != 0:
                    marks[at + slot] |= _TOMB
                    dead[u] += np.uint32(1)
                several = multi and (c == 0 or twice[u] != 0)
                tally[1] += _remove(
                    u, v, place, several, width, starts, ends, index_at, indexes, neighbours,
                    payload, slots, marks,
                )  # fmt: skip
                _settle(
                    part, u, threshold, width, multi, starts, ends, sizes, index_at, indexes, dead,
                    twice, neighbours, payload, slots, marks, heads, slot_heads, extents, tops,
                )  # fmt: skip
        else:
            new = multi or not there
            if new and count == SIZES[sizes[u]]:
                _move_list(
                    part, u, sizes[u] + 1, width, starts, ends, sizes, neighbours, payload, heads,
                    extents, tops,
                )  # fmt: skip
            out[row] = 1 if new else 0
            to = starts[u] + (count if new else place)
            for k in range(width):
                payload[to * width + k] = values[row * width + k]
            if not new:
                continue
            neighbours[to] = v
            ends[u] = to + one
            tally[0] += 1
            if there:
                twice[u] = 1
            elif c != 0:
                _add_to_index(
                    part, u, v, count, slot, distance, spare, starts, ends, index_at, indexes,
                    dead, twice, multi, neighbours, slots, marks, slot_heads, extents, tops,
                )  # fmt: skip

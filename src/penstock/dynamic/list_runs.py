"""Letting all rows of one source take effect together, by one pass over its list.

A small table has the targets that the rows name. Before it, a filter of 32 bits for each slot of
the table passes over nearly all entries of the list that no row names, without a branch.
"""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_heap import come_first, move_list, move_values
from penstock.dynamic.list_sizes import SIZES
from penstock.jit import always_inline, no_refcount

#: What is known of a target: how often it was in the list and is by now, a place it had, and the
#: last turn that added or deleted it (from 1 on).
BEFORE, NOW, PLACE, ADDED, DELETED = range(5)
FACTS = 5
#: Rows that one pass is for, at most: what is known of them fits the caches.
MOST_RUN = 1 << 14
#: Entries of a list that are held against the filter at a time.
PIECE = 256

_ONE = np.uint64(1)
#: Bits of the filter for each slot of the table, as a power of two; bits of a word of it.
_FILTER_BITS = np.uint64(5)
_WORD = np.uint64(6)
_WITHIN = np.uint64(63)


@always_inline
def _hashed(v):  # type: ignore[no-untyped-def]
    """32 bits of hash, the first of which say where a target is."""
    return np.uint64(np.uint32(np.uint64(v) * np.uint64(0x9E3779B1)))


@always_inline
def _filter_bit(v, bits):  # type: ignore[no-untyped-def]
    """The bit of a target in the filter before a table of 2**bits slots."""
    return _hashed(v) >> (np.uint64(32) - bits - _FILTER_BITS)


@always_inline
def _seek(v, bits, keys):  # type: ignore[no-untyped-def]
    """Where a target is in the small table, or the unused slot that it would be in."""
    slot = _hashed(v) >> (np.uint64(32) - bits)
    mask = (_ONE << bits) - _ONE
    key = np.uint32(np.uint64(v) + _ONE)
    while keys[slot] != key and keys[slot] != 0:
        slot = (slot + _ONE) & mask
    return slot


@always_inline
def _name_targets(i, j, bits, pairs, room):  # type: ignore[no-untyped-def]
    """Give each target of rows a number, from 0 on, in a table of 2**bits slots."""
    keys, facts = room.keys, room.facts
    count = np.uint32(0)
    for k in range(i, j):
        v = np.uint32(pairs[k])
        slot = _seek(v, bits, keys)
        if keys[slot] == 0:
            keys[slot] = np.uint32(np.uint64(v) + _ONE)
            room.numbers[slot] = count
            for f in range(FACTS):
                facts[count, f] = 0
            bit = _filter_bit(v, bits)
            room.filter[bit >> _WORD] |= _ONE << (bit & _WITHIN)
            count += np.uint32(1)
        room.targets[k - i] = room.numbers[slot]


@always_inline
def _find_targets(u, bits, room, lists):  # type: ignore[no-untyped-def]
    """Count how often each target is in a list, and note a place it has there. Unless there may be
    parallel edges, those that are found are listed by their places; returns how many.
    """
    facts, neighbours = room.facts, lists.neighbours
    start, end, count = lists.starts[u], lists.ends[u], np.uint64(0)
    for first in range(start, end, np.uint64(PIECE)):
        likely = np.uint64(0)
        for at in range(first, min(first + np.uint64(PIECE), end)):
            bit = _filter_bit(neighbours[at], bits)
            room.likely[likely] = np.uint32(at - start)
            likely += (room.filter[bit >> _WORD] >> (bit & _WITHIN)) & _ONE
        for k in range(likely):
            place = np.uint64(room.likely[k])
            slot = _seek(neighbours[start + place], bits, room.keys)
            if room.keys[slot] != 0:
                t = np.uint64(room.numbers[slot])
                facts[t, BEFORE] += np.uint32(1)
                facts[t, NOW] += np.uint32(1)
                facts[t, PLACE] = np.uint32(place)
                if not lists.multi:
                    room.found[count] = np.uint32(t)
                    count += _ONE
    return count


@always_inline
def _tell_found(i, j, start, given, batch, room):  # type: ignore[no-untyped-def]
    """Say of rows where their edges are, or how many."""
    for k in range(i, j):
        t, row = np.uint64(room.targets[k - i]), np.uint64(given.rows[k])
        count, place = room.facts[t, BEFORE], np.uint64(room.facts[t, PLACE])
        if len(batch.counts) > 0:
            batch.counts[row] = count
        else:
            batch.places[row] = np.int64(start + place) if count != 0 else -1


@always_inline
def _take_turns(i, j, given, batch, tally, room, multi):  # type: ignore[no-untyped-def]
    """Go through rows in their order as if each took effect. Returns how many new edges are left in
    the end, and whether old ones go.
    """
    facts, adds = room.facts, batch.adds
    more, went = np.uint64(0), False
    for k in range(i, j):
        t, turn = np.uint64(room.targets[k - i]), np.uint32(k - i + _ONE)
        row = np.uint64(given.rows[k]) if len(given.rows) > 0 else np.uint64(0)
        count = now = facts[t, NOW]
        if len(adds) == 0 or adds[row] != 0:
            count = np.uint32(multi or now == 0)
            facts[t, ADDED] = turn
            facts[t, NOW] = now + count
            tally[0] += count
            more += np.uint64(count)
        else:
            old = facts[t, BEFORE] if facts[t, DELETED] == 0 else np.uint32(0)
            went = went or old != 0
            more -= np.uint64(now - old)
            facts[t, NOW] = 0
            facts[t, DELETED] = turn
            tally[1] += count
        if len(batch.counts) > 0:
            batch.counts[row] = count
    return more, went


@always_inline
def _change_values(i, j, start, given, batch, room, lists):  # type: ignore[no-untyped-def]
    """Give edges that were there the properties that the last row has for each."""
    facts, width = room.facts, lists.width
    for k in range(i, j):
        t, turn = np.uint64(room.targets[k - i]), np.uint32(k - i + _ONE)
        if facts[t, BEFORE] != 0 and facts[t, ADDED] == turn:
            at, row = start + np.uint64(facts[t, PLACE]), np.uint64(given.rows[k])
            for b in range(width):
                lists.payload[at * width + b] = batch.values[row * width + b]


@always_inline
def _take_out_found(u, found, room, lists):  # type: ignore[no-untyped-def]
    """Fill the places of edges that go with the last of their list, from the last place on: what
    stands there stays.
    """
    for k in range(found):
        t = np.uint64(room.found[found - k - _ONE])
        if room.facts[t, DELETED] != 0:
            last, at = lists.ends[u] - _ONE, lists.starts[u] + np.uint64(room.facts[t, PLACE])
            lists.neighbours[at] = lists.neighbours[last]
            move_values(last, at, lists)
            lists.ends[u] = last


@always_inline
def _take_out_parallel(u, bits, room, lists):  # type: ignore[no-untyped-def]
    """Take all entries out of a list whose targets were deleted, by another pass."""
    to = lists.starts[u]
    for at in range(lists.starts[u], lists.ends[u]):
        w = lists.neighbours[at]
        bit = _filter_bit(w, bits)
        if (room.filter[bit >> _WORD] >> (bit & _WITHIN)) & _ONE != np.uint64(0):
            slot = _seek(w, bits, room.keys)
            known, t = room.keys[slot] != 0, np.uint64(room.numbers[slot])
            if known and room.facts[t, DELETED] != 0:
                continue
        lists.neighbours[to] = w
        move_values(at, to, lists)
        to += _ONE
    lists.ends[u] = to


@always_inline
def _append_new(u, i, j, given, batch, room, lists):  # type: ignore[no-untyped-def]
    """Put the edges that are new, and left, at the end of a list, which has room for them."""
    facts, adds, width = room.facts, batch.adds, lists.width
    start, to, least = lists.starts[u], lists.ends[u], np.uint64(0)
    for k in range(i, j):
        t, turn = np.uint64(room.targets[k - i]), np.uint32(k - i + _ONE)
        row = np.uint64(given.rows[k]) if len(given.rows) > 0 else np.uint64(0)
        if lists.multi:
            new = len(adds) == 0 or adds[row] != 0
        else:
            # Of equal edges the last row counts.
            old = facts[t, BEFORE] != 0 and facts[t, DELETED] == 0
            new = facts[t, ADDED] == turn and not old
        if new and turn > facts[t, DELETED]:
            v = np.uint32(given.pairs[k])
            lists.neighbours[to] = v
            for b in range(width):
                lists.payload[to * width + b] = batch.values[row * width + b]
            if v < lists.neighbours[start + least]:
                least = to - start
            to += _ONE
    lists.ends[u] = to
    if to > start:
        come_first(start, least, lists)


@no_refcount
def apply_run(part, u, i, j, given, batch, rules, tally, room, lists):  # type: ignore[no-untyped-def]
    """Let rows ``i`` to ``j``, all of the list of u, which has no index, take effect in one pass
    over it. Returns whether edges went.
    """
    bits, went = np.uint64(4), False
    while _ONE << bits < np.uint64(2) * (j - i):
        bits += _ONE
    _name_targets(i, j, bits, given.pairs, room)
    found = _find_targets(u, bits, room, lists)
    if rules.looking:
        _tell_found(i, j, lists.starts[u], given, batch, room)
    else:
        more, went = _take_turns(i, j, given, batch, tally, room, lists.multi)
        if lists.width > 0 and not lists.multi:
            _change_values(i, j, lists.starts[u], given, batch, room, lists)
        if went and lists.multi:
            _take_out_parallel(u, bits, room, lists)
        elif went:
            _take_out_found(u, found, room, lists)
        count = lists.ends[u] - lists.starts[u] + more
        if count > SIZES[lists.sizes[u]]:
            move_list(part, u, count, lists)
        _append_new(u, i, j, given, batch, room, lists)
    for slot in range(_ONE << bits):
        room.keys[slot] = 0
    for word in range(_ONE << (bits + _FILTER_BITS - _WORD)):
        room.filter[word] = 0
    return went

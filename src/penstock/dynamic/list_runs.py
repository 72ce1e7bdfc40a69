"""Letting all rows of one source take effect together, by one pass over its list.

A small table has the targets that the rows name. A filter before it, of 64 bits or more for each
row, passes over nearly all entries of the list that no row names, without a branch.
"""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_heap import come_first, move_list
from penstock.dynamic.list_sizes import SIZES
from penstock.jit import always_inline, no_refcount

#: What is known of a target: how often it was in the list and is by now, a place it had, and the
#: last turn that added or deleted it (from 1 on).
BEFORE, NOW, PLACE, ADDED, DELETED = range(5)
FACTS = 5
#: Entries of a list that are held against the filter at a time.
PIECE = 256

_ONE = np.uint64(1)
_WORD = np.uint64(6)
_BITS = np.uint64(63)


@always_inline
def _hashed(v):  # type: ignore[no-untyped-def]
    return np.uint64(np.uint32(np.uint64(v) * np.uint64(0x9E3779B1)))


@always_inline
def _seek(v, keys, bits):  # type: ignore[no-untyped-def]
    """Where a target is in the small table, or the unused slot that it would be in."""
    h = _hashed(v) >> (np.uint64(32) - bits)
    mask = (_ONE << bits) - _ONE
    key = np.uint32(np.uint64(v) + _ONE)
    while keys[h] != key and keys[h] != 0:
        h = (h + _ONE) & mask
    return h


@no_refcount
def _name_targets(i, j, pairs, bits, room):  # type: ignore[no-untyped-def]
    """Give each target of rows a number, from 0 on, in a table of 2**bits slots."""
    keys, numbers, targets, facts = room.keys, room.numbers, room.targets, room.facts
    down = np.uint64(32) - min(bits + np.uint64(5), np.uint64(32))
    count = np.uint32(0)
    for k in range(i, j):
        v = np.uint32(pairs[k])
        h = _seek(v, keys, bits)
        if keys[h] == 0:
            keys[h] = np.uint32(np.uint64(v) + _ONE)
            numbers[h] = count
            for f in range(FACTS):
                facts[count, f] = 0
            bit = _hashed(v) >> down
            room.filter[bit >> _WORD] |= _ONE << (bit & _BITS)
            count += np.uint32(1)
        targets[k - i] = numbers[h]


@no_refcount
def _find_targets(u, bits, room, lists):  # type: ignore[no-untyped-def]
    """Count how often each target is in a list, and note a place it has there."""
    keys, filter_, candidates, facts = room.keys, room.filter, room.candidates, room.facts
    neighbours = lists.neighbours
    down = np.uint64(32) - min(bits + np.uint64(5), np.uint64(32))
    start, end = lists.starts[u], lists.ends[u]
    for first in range(start, end, np.uint64(PIECE)):
        found = np.uint64(0)
        for at in range(first, min(first + np.uint64(PIECE), end)):
            bit = _hashed(neighbours[at]) >> down
            candidates[found] = np.uint32(at - start)
            found += (filter_[bit >> _WORD] >> (bit & _BITS)) & _ONE
        for c in range(found):
            place = candidates[c]
            h = _seek(neighbours[start + np.uint64(place)], keys, bits)
            if keys[h] != 0:
                t = np.uint64(room.numbers[h])
                facts[t, BEFORE] += np.uint32(1)
                facts[t, NOW] += np.uint32(1)
                facts[t, PLACE] = place


@no_refcount
def _drop(u, bits, room, lists):  # type: ignore[no-untyped-def]
    """Take all entries out of a list whose targets were deleted."""
    neighbours, payload, width = lists.neighbours, lists.payload, lists.width
    keys, facts, filter_, start = room.keys, room.facts, room.filter, lists.starts[u]
    down = np.uint64(32) - min(bits + np.uint64(5), np.uint64(32))
    to = start
    for k in range(start, lists.ends[u]):
        w = neighbours[k]
        bit = _hashed(w) >> down
        if (filter_[bit >> _WORD] >> (bit & _BITS)) & _ONE != np.uint64(0):
            h = _seek(w, keys, bits)
            if keys[h] != 0:
                t = np.uint64(room.numbers[h])
                if facts[t, DELETED] != 0:
                    continue
                facts[t, PLACE] = np.uint32(to - start)
        neighbours[to] = w
        for b in range(width):
            payload[to * width + b] = payload[k * width + b]
        to += _ONE
    lists.ends[u] = to


@no_refcount
def apply_run(part, u, i, j, given, batch, rules, tally, room, lists):  # type: ignore[no-untyped-def]
    """Let rows ``i`` to ``j``, all of the list of u, which has no index, take effect in one pass
    over it. Returns whether edges went.

    Rows are gone through in their order as if each took effect; what is left in the end is done.
    """
    multi, pairs, adds = lists.multi, given.pairs, batch.adds
    starts, ends, neighbours, width = lists.starts, lists.ends, lists.neighbours, lists.width
    keys, targets, facts = room.keys, room.targets, room.facts
    numbered, telling = len(given.rows) > 0, len(batch.counts) > 0
    bits = np.uint64(4)
    while _ONE << bits < np.uint64(2) * (j - i):
        bits += _ONE
    _name_targets(i, j, pairs, bits, room)
    _find_targets(u, bits, room, lists)
    more, went = np.uint64(0), False
    for k in range(i, j):
        row, turn = np.uint64(given.rows[k]) if numbered else np.uint64(0), np.uint32(k - i + _ONE)
        t = np.uint64(targets[k - i])
        now = facts[t, NOW]
        if rules.looking:
            there = now != 0
            batch.places[row] = np.int64(starts[u] + np.uint64(facts[t, PLACE])) if there else -1
        elif len(adds) == 0 or adds[row] != 0:
            new = multi or now == 0
            facts[t, ADDED] = turn
            if new:
                facts[t, NOW] = now + np.uint32(1)
                tally[0] += 1
                more += _ONE
            if telling:
                batch.counts[row] = np.uint32(new)
        else:
            old = facts[t, BEFORE] if facts[t, DELETED] == 0 else np.uint32(0)
            went = went or old != 0
            tally[1] += now
            more -= np.uint64(now - old)
            facts[t, NOW] = 0
            facts[t, DELETED] = turn
            if telling:
                batch.counts[row] = now
    if went:
        _drop(u, bits, room, lists)
    if ends[u] - starts[u] + more > SIZES[lists.sizes[u]]:
        move_list(part, u, ends[u] - starts[u] + more, lists)
    if not rules.looking:
        least = np.uint64(0)
        for k in range(i, j):
            row, turn = np.uint64(given.rows[k]) if numbered else np.uint64(0), np.uint32(k - i + _ONE)
            t = np.uint64(targets[k - i])
            # Of equal edges the last row counts, unless they are edges of their own.
            last = facts[t, ADDED] == turn or (multi and (len(adds) == 0 or adds[row] != 0))
            if not last or turn < facts[t, DELETED]:
                continue
            to = ends[u]
            if multi or facts[t, BEFORE] == 0 or facts[t, DELETED] != 0:
                v = np.uint32(pairs[k])
                neighbours[to] = v
                ends[u] = to + _ONE
                if v < neighbours[starts[u] + least]:
                    least = to - starts[u]
            else:
                to = starts[u] + np.uint64(facts[t, PLACE])
            for b in range(width):
                lists.payload[to * width + b] = batch.values[row * width + b]
        if ends[u] > starts[u]:
            come_first(starts[u], least, lists)
    for h in range(_ONE << bits):
        keys[h] = 0
    for h in range(max((_ONE << bits) >> _ONE, _ONE)):
        room.filter[h] = 0
    return went

"""Letting all rows of one source take effect together, by one pass over its list.

A small table has the targets that the rows name.
"""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_heap import come_first, move_list
from penstock.dynamic.list_sizes import SIZES
from penstock.jit import always_inline, no_refcount
from penstock.types import NO_VERTEX

#: What the small table knows of a target: how often it was in the list and is by now, a place it
#: had, and the last turn that added or deleted it (from 1 on).
BEFORE, NOW, PLACE, ADDED, DELETED = range(5)
FACTS = 5


@always_inline
def _seek(v, keys, shift, mask):  # type: ignore[no-untyped-def]
    """Where a target is in the small table, or the unused slot that it would be in."""
    h = np.uint64(np.uint32(np.uint64(v) * np.uint64(0x9E3779B1))) >> shift
    while keys[h] != v and keys[h] != NO_VERTEX:
        h = (h + np.uint64(1)) & mask
    return h


@no_refcount
def _name_targets(i, j, u, pairs, table, lists):  # type: ignore[no-untyped-def]
    """A small table of the targets of rows, with how often each is in the list now, and a place it
    has there. Returns how to look in it.
    """
    keys, facts = table.keys, table.facts
    bits = np.uint64(4)
    while np.uint64(1) << bits < np.uint64(4) * (j - i):
        bits += np.uint64(1)
    shift, mask = np.uint64(32) - bits, (np.uint64(1) << bits) - np.uint64(1)
    for k in range(i, j):
        v = np.uint32(pairs[k])
        h = _seek(v, keys, shift, mask)
        if keys[h] != v:
            keys[h] = v
            for f in range(FACTS):
                facts[h, f] = 0
    start = lists.starts[u]
    for k in range(lists.ends[u] - start):
        w = lists.neighbours[start + k]
        h = _seek(w, keys, shift, mask)
        if keys[h] == w:
            facts[h, BEFORE] += np.uint32(1)
            facts[h, NOW] += np.uint32(1)
            facts[h, PLACE] = np.uint32(k)
    return shift, mask


@no_refcount
def _drop(u, table, shift, mask, lists):  # type: ignore[no-untyped-def]
    """Take all entries out of a list whose targets were deleted."""
    neighbours, payload, width = lists.neighbours, lists.payload, lists.width
    keys, facts, start = table.keys, table.facts, lists.starts[u]
    to = start
    for k in range(start, lists.ends[u]):
        w = neighbours[k]
        h = _seek(w, keys, shift, mask)
        if keys[h] == w:
            if facts[h, DELETED] != 0:
                continue
            facts[h, PLACE] = np.uint32(to - start)
        neighbours[to] = w
        for b in range(width):
            payload[to * width + b] = payload[k * width + b]
        to += np.uint64(1)
    lists.ends[u] = to


@no_refcount
def apply_run(part, i, j, given, batch, rules, tally, table, lists):  # type: ignore[no-untyped-def]
    """Let rows ``i`` to ``j``, all of one list that has no index, take effect in one pass over it.
    Returns whether edges went.

    Rows are gone through in their order as if each took effect; what is left in the end is done.
    """
    one, multi = np.uint64(1), rules.multigraph
    pairs, adds, out = given.pairs, batch.adds, batch.out
    starts, ends, neighbours, width = lists.starts, lists.ends, lists.neighbours, lists.width
    keys, facts = table.keys, table.facts
    u = pairs[i] >> np.uint64(32)
    shift, mask = _name_targets(i, j, u, pairs, table, lists)
    more, went = np.uint64(0), False
    for k in range(i, j):
        row, turn = np.uint64(given.rows[k]), np.uint32(k - i + one)
        h = _seek(np.uint32(pairs[k]), keys, shift, mask)
        there = facts[h, NOW] != 0
        if rules.looking:
            batch.places[row] = np.int64(starts[u] + np.uint64(facts[h, PLACE])) if there else -1
        elif len(adds) == 0 or adds[row] != 0:
            out[row] = 1 if multi or not there else 0
            facts[h, ADDED] = turn
            if out[row]:
                facts[h, NOW] += np.uint32(1)
                tally[0] += 1
                more += one
        else:
            out[row] = 1 if there else 0
            tally[1] += facts[h, NOW]
            went = went or facts[h, BEFORE] != 0
            facts[h, NOW] = 0
            facts[h, DELETED] = turn
    if went:
        _drop(u, table, shift, mask, lists)
    if ends[u] - starts[u] + more > SIZES[lists.sizes[u]]:
        move_list(part, u, ends[u] - starts[u] + more, lists)
    if not rules.looking:
        least = np.uint64(0)
        for k in range(i, j):
            v, row, turn = np.uint32(pairs[k]), np.uint64(given.rows[k]), np.uint32(k - i + one)
            h = _seek(v, keys, shift, mask)
            # Of equal edges the last row counts, unless they are edges of their own.
            last = facts[h, ADDED] == turn or (multi and (len(adds) == 0 or adds[row] != 0))
            if not last or turn < facts[h, DELETED]:
                continue
            to = ends[u]
            if multi or facts[h, BEFORE] == 0 or facts[h, DELETED] != 0:
                neighbours[to] = v
                ends[u] = to + one
                if v < neighbours[starts[u] + least]:
                    least = to - starts[u]
            else:
                to = starts[u] + np.uint64(facts[h, PLACE])
            for b in range(width):
                lists.payload[to * width + b] = batch.values[row * width + b]
        if ends[u] > starts[u]:
            come_first(starts[u], least, lists)
    for h in range(mask + one):
        keys[h] = NO_VERTEX
    return went

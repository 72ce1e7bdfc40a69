"""The kernel that changes degree-aware lists; :mod:`penstock.dynamic.lists` says what there is.

Everything here belongs to one *part* of the vertices, and one thread works on a part at a time:
nothing is shared but the tops of the two pools, which are moved atomically.

Rows come sorted by source. If a list has an index, rows take effect one by one through it. If not,
and it is not too long for the rows that ask for it, it is searched from its beginning, several
entries at a time, for each row; or, if there are many rows, gone through once for all of them. If
it is too long for that, it gets an index.
"""

from __future__ import annotations

import numpy as np

from penstock.dynamic.batch_kernels import BY_SOURCE, sort_rows, source_of
from penstock.dynamic.list_heap import come_first, move_list
from penstock.dynamic.list_index import (
    add_to_index,
    build_index,
    bury,
    first_slot,
    look,
    next_turn,
    shrink,
    take_out,
)
from penstock.dynamic.list_runs import MOST_RUN, apply_run
from penstock.dynamic.list_sizes import AT_ONCE, NOWHERE, SIZES
from penstock.jit import always_inline, match8, match16, no_refcount, prefetch, trailing_zeros

#: Rows that the work is ahead of itself by, in fetching what it will look at.
AHEAD = 12
#: From this number of rows on, those of a source take effect together.
RUN_ROWS = 32

_ONE = np.uint64(1)
_HIGH = np.uint64(32)


@always_inline
def _fetch_slot(v, u, lists):  # type: ignore[no-untyped-def]
    """Begin to bring what a search in an index will look at first."""
    slot = first_slot(v, u, lists)
    prefetch(lists.marks, slot)
    prefetch(lists.slots, slot)


@always_inline
def _fetch(k, part, pairs, lists):  # type: ignore[no-untyped-def]
    """Begin to bring what a search for an edge will look at first, and the end of its list."""
    u = source_of(pairs[k], part)
    if lists.indexes[u] != 0:
        _fetch_slot(np.uint32(pairs[k]), u, lists)
    elif k > np.uint64(0) and pairs[k - _ONE] >> _HIGH == pairs[k] >> _HIGH:
        return
    prefetch(lists.neighbours, lists.starts[u])
    prefetch(lists.neighbours, lists.ends[u])


@always_inline
def _scan(v, begin, end, neighbours):  # type: ignore[no-untyped-def]
    """Where a neighbour is in the pool, in a list or what is left of it, or NOWHERE."""
    at = begin
    while at + np.uint64(8) < end:
        equal = match16(neighbours, at, v)
        if equal != np.uint32(0):
            at += np.uint64(trailing_zeros(equal))
            return at if at < end else NOWHERE
        at += np.uint64(AT_ONCE)
    if at < end:
        equal = match8(neighbours, at, v)
        if equal != np.uint32(0):
            at += np.uint64(trailing_zeros(equal))
            return at if at < end else NOWHERE
    return NOWHERE


@always_inline
def _append(part, u, v, row, batch, lists):  # type: ignore[no-untyped-def]
    """Put a neighbour at the end of a list."""
    if lists.ends[u] - lists.starts[u] == SIZES[lists.sizes[u]]:
        move_list(part, u, lists.ends[u] - lists.starts[u] + _ONE, lists)
    to = lists.ends[u]
    lists.neighbours[to] = v
    lists.ends[u] = to + _ONE
    _set_values(to, row, batch, lists)


@always_inline
def _set_values(at, row, batch, lists):  # type: ignore[no-untyped-def]
    """Give an entry the properties that a row has."""
    width = lists.width
    for k in range(width):
        lists.payload[at * width + k] = batch.values[row * width + k]


@always_inline
def _apply_scanning(part, u, i, j, given, batch, looking, tally, lists):  # type: ignore[no-untyped-def]
    """Let rows take effect one by one, on a list that has no index. Returns whether edges went."""
    starts, ends, multi = lists.starts, lists.ends, lists.multi
    numbered, telling = len(given.rows) > 0, len(batch.counts) > 0
    went = False
    for k in range(i, j):
        v, row = np.uint32(given.pairs[k]), np.uint64(given.rows[k]) if numbered else np.uint64(0)
        adding = not looking and (len(batch.adds) == 0 or batch.adds[row] != 0)
        at = NOWHERE
        if not (adding and multi):
            at = _scan(v, starts[u], ends[u], lists.neighbours)
        count = np.uint32(0)
        if looking and not telling:
            batch.places[row] = np.int64(at)
        elif looking:
            while at != NOWHERE:
                count += np.uint32(1)
                at = _scan(v, at + _ONE, ends[u], lists.neighbours) if multi else NOWHERE
        elif not adding:
            while at != NOWHERE:
                take_out(u, at - starts[u], lists)
                count += np.uint32(1)
                at = _scan(v, at, ends[u], lists.neighbours) if multi else NOWHERE
            tally[1] += count
            went = went or count != 0
        elif at != NOWHERE:
            _set_values(at, row, batch, lists)
        else:
            _append(part, u, v, row, batch, lists)
            come_first(starts[u], ends[u] - starts[u] - _ONE, lists)
            tally[0] += 1
            count = np.uint32(1)
        if telling:
            batch.counts[row] = count
    return went


@no_refcount
def _apply_indexed(part, u, i, j, given, batch, looking, tally, lists):  # type: ignore[no-untyped-def]
    """Let rows take effect one by one, on a list that has an index. Returns whether edges went."""
    starts, ends, multi = lists.starts, lists.ends, lists.multi
    numbered, telling = len(given.rows) > 0, len(batch.counts) > 0
    went = False
    for k in range(i, j):
        if k + np.uint64(AHEAD) < j:
            _fetch_slot(np.uint32(given.pairs[k + np.uint64(AHEAD)]), u, lists)
        v, row = np.uint32(given.pairs[k]), np.uint64(given.rows[k]) if numbered else np.uint64(0)
        place, slot, distance, spare = look(v, 0, u, lists)
        there, count = place != NOWHERE, np.uint32(0)
        if looking and not telling:
            batch.places[row] = np.int64(starts[u] + place) if there else -1
        elif looking:
            count = np.uint32(next_turn(v, u, lists) if multi else there)
        elif len(batch.adds) != 0 and batch.adds[row] == 0:
            while place != NOWHERE:
                bury(u, slot, lists)
                take_out(u, place, lists)
                count += np.uint32(1)
                place = NOWHERE
                if multi:
                    place, slot, distance, spare = look(v, count, u, lists)
            tally[1] += count
            went = went or count != 0
        elif there and not multi:
            _set_values(starts[u] + place, row, batch, lists)
        else:
            turn = np.uint64(0)
            if there:
                turn = next_turn(v, u, lists)
                place, slot, distance, spare = look(v, turn, u, lists)
            _append(part, u, v, row, batch, lists)
            last = ends[u] - starts[u] - _ONE
            add_to_index(part, u, v, turn, last, (slot, distance, spare), lists)
            tally[0] += 1
            count = np.uint32(1)
        if telling:
            batch.counts[row] = count
    return went


@always_inline
def _is_searched(i, j, given, batch, looking, lists):  # type: ignore[no-untyped-def]
    """Whether rows search their list at all: an edge is added to a multigraph without."""
    if looking or not lists.multi:
        return True
    if len(batch.adds) > 0:
        for k in range(i, j):
            if batch.adds[np.uint64(given.rows[k])] == 0:
                return True
    return False


@no_refcount
def _apply_rows(part, begin, end, given, batch, rules, tally, room, lists):  # type: ignore[no-untyped-def]
    """Add and delete the edges of rows that are ``given`` sorted by source, all of this part.
    ``tally``: edges added, edges that went. The arguments from ``given`` on, except ``tally``, are
    those of :mod:`penstock.dynamic.list_memory`.
    """
    pairs, starts, ends, indexes = given.pairs, lists.starts, lists.ends, lists.indexes
    stop, looking = np.uint64(end), rules.looking
    i = fetched = np.uint64(begin)
    while i < stop:
        u = source_of(pairs[i], part)
        j = i + _ONE
        most = min(i + np.uint64(MOST_RUN), stop)
        while j < most and pairs[j] >> _HIGH == pairs[i] >> _HIGH:
            j += _ONE
        fetched = max(fetched, j)
        while fetched < min(j + np.uint64(AHEAD), stop):
            _fetch(fetched, part, pairs, lists)
            fetched += _ONE
        long = ends[u] - starts[u] > np.uint64(rules.threshold) * (j - i)
        searched = _is_searched(i, j, given, batch, looking, lists)
        if indexes[u] == 0 and long and searched:
            build_index(part, u, lists.sizes[u], lists)
        if indexes[u] != 0:
            went = _apply_indexed(part, u, i, j, given, batch, looking, tally, lists)
        elif searched and j - i >= np.uint64(RUN_ROWS):
            went = apply_run(part, u, i, j, given, batch, rules, tally, room, lists)
        else:
            went = _apply_scanning(part, u, i, j, given, batch, looking, tally, lists)
        if went:
            shrink(part, u, rules.threshold, lists)
        i = j


@no_refcount
def apply_parts(first, last, cuts, most, given, room, batch, rules, tallies, run_room, lists):  # type: ignore[no-untyped-def]
    """Sort the rows of some parts, which are between their ``cuts``, and let them take effect.
    ``room`` is for sorting; ``most``: the largest vertex.
    """
    for part in range(first, last):
        begin, end = cuts[part], cuts[part + 1]
        if begin == end:
            continue
        mine = given
        if sort_rows(begin, end, most, BY_SOURCE, False, given, room, run_room.digits):
            mine = room
        _apply_rows(part, begin, end, mine, batch, rules, tallies[part], run_room, lists)

"""The kernel that changes degree-aware lists; :mod:`penstock.dynamic.lists` says what there is.

Everything here belongs to one *part* of the vertices, and one thread works on a part at a time:
nothing is shared but the tops of the two pools, which are moved atomically.

Rows come sorted by source. If a list has an index, rows take effect one by one through it. If not,
and it is not too long for the rows that ask for it, it is searched from its beginning, several
entries at a time, for each row; or, if there are many rows, gone through once for all of them. If
it is too long for that, it gets an index. Lists that may have parallel edges have none.
"""

from __future__ import annotations

import numpy as np

from penstock.dynamic.batch_kernels import BY_SOURCE, longest_run, sort_rows
from penstock.dynamic.list_heap import come_first, move_list
from penstock.dynamic.list_index import add_to_index, build_index, home, look, shrink, take_out
from penstock.dynamic.list_memory import RunTable
from penstock.dynamic.list_runs import FACTS, apply_run
from penstock.dynamic.list_sizes import INDEX_SIZES, NOWHERE, SIZES
from penstock.jit import always_inline, kernel, no_refcount, prefetch
from penstock.types import NO_VERTEX

#: Rows that the work is ahead of itself by, in fetching what it will look at.
AHEAD = 12
#: From this number of rows on, those of a source take effect together.
RUN_ROWS = 16

_TOMB = np.uint8(0x80)


@always_inline
def _fetch(pair, lists):  # type: ignore[no-untyped-def]
    """Begin to bring what a search for an edge will look at first, and the end of its list."""
    u = pair >> np.uint64(32)
    c = lists.indexes[u]
    prefetch(lists.neighbours, lists.ends[u])
    if c == 0:
        prefetch(lists.neighbours, lists.starts[u])
    else:
        slot = lists.index_at[u] + home(np.uint32(pair), INDEX_SIZES[c])
        prefetch(lists.marks, slot)
        prefetch(lists.slots, slot)


@always_inline
def _scan(v, start, count, neighbours):  # type: ignore[no-untyped-def]
    """The place of a neighbour in a list, or NOWHERE. Counting first goes several entries at a
    time.
    """
    hits, place = np.uint32(0), NOWHERE
    for k in range(start, start + count):
        # 32 bits throughout, as the entries are.
        hits = np.uint32(hits + np.uint32(neighbours[k] == v))
    if hits != np.uint32(0):
        place = np.uint64(0)
        while neighbours[start + place] != v:
            place += np.uint64(1)
    return place


@no_refcount
def _apply_row(part, u, v, row, batch, looking, tally, lists):  # type: ignore[no-untyped-def]
    """Let one row take effect. Returns whether an edge went."""
    neighbours, payload, width = lists.neighbours, lists.payload, lists.width
    values, one = batch.values, np.uint64(1)
    adding = len(batch.adds) == 0 or batch.adds[row] != 0
    start, count = lists.starts[u], lists.ends[u] - lists.starts[u]
    indexed = lists.indexes[u] != 0
    slot = distance = spare = np.uint64(0)
    if indexed:
        place, slot, distance, spare = look(v, u, lists)
    else:
        place = _scan(v, start, count, neighbours)
    there = place != NOWHERE
    if looking:
        batch.places[row] = np.int64(start + place) if there else -1
        return False
    batch.out[row] = 1 if there != adding else 0
    if there and adding:
        for k in range(width):
            payload[(start + place) * width + k] = values[row * width + k]
    elif there:
        if indexed:
            lists.marks[lists.index_at[u] + slot] |= _TOMB
            lists.dead[u] += np.uint32(1)
        take_out(u, place, lists)
        tally[1] += 1
        return True
    elif adding:
        if count == SIZES[lists.sizes[u]]:
            move_list(part, u, count + one, lists)
        to = lists.starts[u] + count
        neighbours[to] = v
        for k in range(width):
            payload[to * width + k] = values[row * width + k]
        lists.ends[u] = to + one
        tally[0] += 1
        if indexed:
            add_to_index(part, u, v, count, (slot, distance, spare), lists)
        else:
            come_first(lists.starts[u], count, lists)
    return False


@no_refcount
def _apply_rows(part, begin, end, given, batch, rules, tally, table, lists):  # type: ignore[no-untyped-def]
    """Add and delete the edges of rows that are ``given`` sorted by source, all of this part.
    ``tally``: edges added, edges that went. The arguments from ``given`` on, except ``tally``, are
    those of :mod:`penstock.dynamic.list_memory`.
    """
    pairs, starts, ends, indexes = given.pairs, lists.starts, lists.ends, lists.indexes
    one, high, stop = np.uint64(1), np.uint64(32), np.uint64(end)
    i = fetched = np.uint64(begin)
    while i < stop:
        u = pairs[i] >> high
        j = i + one
        while j < stop and pairs[j] >> high == u:
            j += one
        while fetched < min(j + np.uint64(AHEAD), stop):
            _fetch(pairs[fetched], lists)
            fetched += one
        few = ends[u] - starts[u] <= np.uint64(rules.threshold) * (j - i)
        if indexes[u] == 0 and not rules.multigraph and not few:
            build_index(part, u, lists.sizes[u], lists)
        went = False
        if rules.multigraph or (indexes[u] == 0 and j - i >= np.uint64(RUN_ROWS)):
            went = apply_run(part, i, j, given, batch, rules, tally, table, lists)
            i = j
        while i < j:
            v, row = np.uint32(pairs[i]), np.uint64(given.rows[i])
            went |= _apply_row(part, u, v, row, batch, rules.looking, tally, lists)
            i += one
        if went:
            shrink(part, u, rules.threshold, lists)


@kernel
def apply_part(part, cuts, most, given, room, batch, rules, tallies, lists):  # type: ignore[no-untyped-def]
    """Sort the rows of a part, which are between its ``cuts``, and let them take effect. ``room``
    is for sorting; ``most``: the largest vertex.
    """
    begin, end = cuts[part], cuts[part + 1]
    mine = given
    if sort_rows(begin, end, most, BY_SOURCE, given, room):
        mine = room
    # Four slots for each row of the longest run, in a power of two.
    slots, wanted = 16, 4 * longest_run(begin, end, mine.pairs)
    while slots < wanted:
        slots *= 2
    keys = np.full(slots, np.uint32(NO_VERTEX), np.uint32)
    table = RunTable(keys, np.empty((slots, FACTS), np.uint32))
    _apply_rows(part, begin, end, mine, batch, rules, tallies[part], table, lists)

"""The kernel that changes degree-aware lists; :mod:`penstock.dynamic.lists` says what there is.

Everything here belongs to one *part* of the vertices, and one thread works on a part at a time:
nothing is shared but the tops of the two pools, which are moved atomically.

Rows come sorted by source. If a list has an index, rows are settled one by one through it. If not,
and it is not too long for the rows that ask for it, it is searched from its beginning, several
entries at a time, for each row; or, if there are many rows, gone through once for all of them. If
it is too long for that, it gets an index. Lists that may have parallel edges have none.
"""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_heap import come_first, move_list
from penstock.dynamic.list_index import add_to_index, build_index, home, look, settle, take_out
from penstock.dynamic.list_runs import apply_run
from penstock.dynamic.list_sizes import INDEX_SIZES, NOWHERE, SIZES
from penstock.jit import always_inline, no_refcount, prefetch

#: Rows that the work is ahead of itself by, in fetching what it will look at.
AHEAD = 12
#: From so many rows on, those of a source are settled together.
RUN_ROWS = 16

_TOMB = np.uint8(0x80)

# The arrays of the kernels, in this order:
#   by vertex: starts, ends (places in the pool), sizes (class of the chunk), index_at, indexes
#   (class of the index, 0: none), dead (tombstones in it)
#   pools: neighbours, payload (``width`` bytes for each entry), slots, marks
#   heap: free heads [part, class], those of the slots, extents [part, 4], the tops of both pools


@always_inline
def _fetch(pair, starts, ends, index_at, indexes, neighbours, slots, marks):  # type: ignore[no-untyped-def]
    """Begin to bring what a search for an edge will look at first, and the end of its list."""
    u = pair >> np.uint64(32)
    c = indexes[u]
    prefetch(neighbours, ends[u])
    if c == 0:
        prefetch(neighbours, starts[u])
    else:
        slot = index_at[u] + home(np.uint32(pair), INDEX_SIZES[c])
        prefetch(marks, slot)
        prefetch(slots, slot)


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
def _apply_row(  # type: ignore[no-untyped-def]
    part, u, v, row, adding, looking, values, width, out, places, tally, starts, ends, sizes,
    index_at, indexes, dead, neighbours, payload, slots, marks, heads, slot_heads, extents, tops,
):  # fmt: skip
    """Settle one row. Returns whether an edge went."""
    one = np.uint64(1)
    start, count = starts[u], ends[u] - starts[u]
    c, at = indexes[u], index_at[u]
    slot = distance = spare = np.uint64(0)
    if c != 0:
        place, slot, distance, spare = look(v, c, at, start, neighbours, slots, marks)
    else:
        place = _scan(v, start, count, neighbours)
    there = place != NOWHERE
    if looking:
        places[row] = np.int64(start + place) if there else -1
        return False
    out[row] = 1 if there != adding else 0
    if there and adding:
        for k in range(width):
            payload[(start + place) * width + k] = values[row * width + k]
    elif there:
        if c != 0:
            marks[at + slot] |= _TOMB
            dead[u] += np.uint32(1)
        take_out(
            u, place, width, starts, ends, index_at, indexes, neighbours, payload, slots, marks
        )
        tally[1] += 1
        return True
    elif adding:
        if count == SIZES[sizes[u]]:
            move_list(
                part, u, count + one, width, starts, ends, sizes, neighbours, payload, heads,
                extents, tops,
            )  # fmt: skip
        to = starts[u] + count
        neighbours[to] = v
        for k in range(width):
            payload[to * width + k] = values[row * width + k]
        ends[u] = to + one
        tally[0] += 1
        if c == 0:
            come_first(starts[u], count, width, neighbours, payload)
        else:
            add_to_index(
                part, u, v, count, slot, distance, spare, starts, ends, index_at, indexes, dead,
                neighbours, slots, marks, slot_heads, extents, tops,
            )  # fmt: skip
    return False


@no_refcount
def apply_rows(  # type: ignore[no-untyped-def]
    part, begin, end, pairs, rows, adds, values, threshold, width, multi, looking, out, places,
    tally, keys, facts, starts, ends, sizes, index_at, indexes, dead, neighbours, payload, slots,
    marks, heads, slot_heads, extents, tops,
):  # fmt: skip
    """Add and delete the edges of rows that are sorted by source, all of this part. A pair is
    ``source << 32 | target``; ``rows`` leads to ``adds``, ``values`` (new properties), ``out`` and
    ``places``, in the order they came in. ``tally``: edges added, edges that went. ``looking``:
    only find, into ``places``. ``keys`` (all unused) and ``facts`` are room for the small table.
    """
    one, high, stop = np.uint64(1), np.uint64(32), np.uint64(end)
    i = fetched = np.uint64(begin)
    while i < stop:
        u = pairs[i] >> high
        j = i + one
        while j < stop and pairs[j] >> high == u:
            j += one
        while fetched < min(j + np.uint64(AHEAD), stop):
            _fetch(pairs[fetched], starts, ends, index_at, indexes, neighbours, slots, marks)
            fetched += one
        few = ends[u] - starts[u] <= np.uint64(threshold) * (j - i)
        if indexes[u] == 0 and not multi and not few:
            build_index(
                part, u, sizes[u], starts, ends, index_at, indexes, dead, neighbours, slots,
                marks, slot_heads, extents, tops,
            )  # fmt: skip
        went = False
        if multi or (indexes[u] == 0 and j - i >= np.uint64(RUN_ROWS)):
            went = apply_run(
                part, i, j, u, pairs, rows, adds, looking, multi, values, width, out, places,
                tally, keys, facts, starts, ends, sizes, neighbours, payload, heads, extents, tops,
            )  # fmt: skip
            i = j
        while i < j:
            row = np.uint64(rows[i])
            went |= _apply_row(
                part, u, np.uint32(pairs[i]), row, len(adds) == 0 or adds[row] != 0, looking,
                values, width, out, places, tally, starts, ends, sizes, index_at, indexes, dead,
                neighbours, payload, slots, marks, heads, slot_heads, extents, tops,
            )  # fmt: skip
            i += one
        if went:
            settle(
                part, u, threshold, width, starts, ends, sizes, index_at, indexes, dead,
                neighbours, payload, slots, marks, heads, slot_heads, extents, tops,
            )  # fmt: skip

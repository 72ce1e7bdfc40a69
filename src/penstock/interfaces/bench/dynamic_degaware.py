"""DegAwareRHH as it was published (Iwabuchi 2017, chapter 4), to be measured beside ours.

A Robin Hood table is a power of two of records with linear probing; the byte ``mark`` of a record
has the distance from the place that its key asks for (7 bits) and, on top, whether the record is a
tombstone, which keeps key and distance; 0xFF is an empty place. Records that follow each other are
in the order of the places they ask for, tombstones among them. The paper says so of inserting; of
searching, and of taking the place of a tombstone, it has the comparison the other way round, which
would lose edges. A distance of 126 stands for itself and all longer ones: they happen when an edge
is there a hundred times, which no larger table cures.

- low-degree table: edges of vertices with fewer edges than the threshold, by source;
- middle-high-degree table: the other vertices, each with the number of its edge chunk;
- edge chunks: Robin Hood tables by target, out of a pool, those given back linked by size.

Records have the bytes of the paper's Table 4.2: 19, 18 and 10. A table doubles when more than 0.9
of it is taken (not counting tombstones) or a distance is too long; all are made anew after
``rehash_every`` updates. After a delete, a vertex with at most as many edges as the threshold goes
back to the low-degree table. ``delay`` is how long each access to another place in memory waits,
in rounds of :func:`.dynamic_store_kernels.wait`: one for each table that is looked into.
"""

from __future__ import annotations

import numpy as np

from penstock.interfaces.bench.dynamic_store_kernels import doubled, wait
from penstock.jit import helper, kernel

EMPTY, TOMBSTONE, DISTANCE, LONGEST = 0xFF, 0x80, 0x7F, 126
NONE = -1
#: Edges; bits of the two tables, records in them and whether distances are too long; chunks, a free
#: one, the bits of the largest; places taken of the pool; updates since all tables were made anew;
#: what waiting left.
(EDGES, LOW_BITS, LOW_COUNT, LOW_LONG, HIGH_BITS, HIGH_COUNT, HIGH_LONG, CHUNKS, FREE_CHUNK,
 LARGEST, TAKEN, SINCE, WAITED, NUM_COUNTERS) = range(14)  # fmt: skip
FIRST_BITS, CHUNK_BITS, FIRST_CHUNKS, FIRST_POOL = 6, 2, 64, 1024

LOW = np.dtype([("mark", "u1"), ("key", "<u8"), ("value", "<u8"), ("properties", "u1", 2)])
HIGH = np.dtype([("mark", "u1"), ("key", "<u8"), ("value", "<u8"), ("property", "u1")])
EDGE = np.dtype([("mark", "u1"), ("key", "<u8"), ("value", "u1")])
CHUNK = np.dtype([("start", "<i8"), ("count", "<i8"), ("dead", "<i4"), ("bits", "<i4")])


# A Robin Hood table: 2**bits records from ``base`` on. Places are counted from there.


@helper
def home_of(key, bits):  # type: ignore[no-untyped-def]
    """The place that a key asks for."""
    return np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))


@helper
def distance_of(table, base, bits, at):  # type: ignore[no-untyped-def]
    """How far from home a record is."""
    found = np.int64(table[base + at].mark & DISTANCE)
    if found == LONGEST:
        return (at - home_of(table[base + at].key, bits)) & ((1 << bits) - 1)
    return found


@helper
def find(table, base, bits, key, begin):  # type: ignore[no-untyped-def]
    """The place of the first record with that key, ``begin`` or more from home; or NONE."""
    last = (1 << bits) - 1
    home = home_of(key, bits)
    for far in range(begin, last + 1):
        at = (home + far) & last
        mark = table[base + at].mark
        if mark == EMPTY or distance_of(table, base, bits, at) < far:
            return NONE
        if mark < TOMBSTONE and table[base + at].key == key:
            return at
    return NONE


@helper
def _insert(table, base, bits, key, value):  # type: ignore[no-untyped-def]
    """There must be a place without a live record. Gives whether it was a tombstone's, and the
    longest distance of what was put there or moved on.
    """
    last = (1 << bits) - 1
    at, far = home_of(key, bits), 0
    while table[base + at].mark != EMPTY and distance_of(table, base, bits, at) > far:
        at, far = (at + 1) & last, far + 1
    end, longest = at, far
    while table[base + end].mark < TOMBSTONE:
        longest = max(longest, distance_of(table, base, bits, end) + 1)
        end = (end + 1) & last
    took_tombstone = table[base + end].mark != EMPTY
    while end != at:
        before = (end - 1) & last
        table[base + end].mark = min(distance_of(table, base, bits, before) + 1, LONGEST)
        table[base + end].key = table[base + before].key
        table[base + end].value = table[base + before].value
        end = before
    table[base + at].mark = min(far, LONGEST)
    table[base + at].key = key
    table[base + at].value = value
    return took_tombstone, longest


@helper
def _clear(table, base, bits):  # type: ignore[no-untyped-def]
    for at in range(base, base + (1 << bits)):
        table[at].mark = EMPTY


@helper
def _move(source, base, bits, target, to, to_bits):  # type: ignore[no-untyped-def]
    """Live records of a table into another, which is made empty first."""
    _clear(target, to, to_bits)
    for at in range(base, base + (1 << bits)):
        if source[at].mark < TOMBSTONE:
            _insert(target, to, to_bits, source[at].key, source[at].value)


@helper
def _rebuilt(table, bits, new_bits):  # type: ignore[no-untyped-def]
    made = np.empty(1 << new_bits, table.dtype)
    _move(table, 0, bits, made, 0, new_bits)
    return made


@helper
def _put(table, counters, which, key, value):  # type: ignore[no-untyped-def]
    """Insert into the low-degree or the middle-high-degree table, and see whether it must grow."""
    counters[which + 1] += 1
    _, longest = _insert(table, 0, counters[which], key, value)
    if longest > LONGEST and 4 * counters[which + 1] >= 1 << counters[which]:
        counters[which + 2] = 1


@helper
def _kill(table, base, at):  # type: ignore[no-untyped-def]
    table[base + at].mark |= TOMBSTONE


# Edge chunks


@helper
def _take(pool, free, counters, bits):  # type: ignore[no-untyped-def]
    """Room for a chunk."""
    start = free[bits]
    if start != NONE:
        free[bits] = np.int64(pool[start].key)
        return start
    start = counters[TAKEN]
    counters[TAKEN] = start + (1 << bits)
    return start


@helper
def _remake_chunk(chunks, pool, free, counters, c, bits):  # type: ignore[no-untyped-def]
    """A chunk anew with so many bits."""
    start = _take(pool, free, counters, bits)
    old, old_bits = chunks[c].start, chunks[c].bits
    _move(pool, old, old_bits, pool, start, bits)
    pool[old].key = np.uint64(free[old_bits])
    free[old_bits] = old
    chunks[c].start = start
    chunks[c].bits = bits
    chunks[c].dead = 0
    counters[LARGEST] = max(counters[LARGEST], bits)


@helper
def _new_chunk(chunks, pool, free, counters):  # type: ignore[no-untyped-def]
    """The number of an empty chunk."""
    c = counters[FREE_CHUNK]
    if c != NONE:
        counters[FREE_CHUNK] = chunks[c].count
    else:
        c = counters[CHUNKS]
        counters[CHUNKS] += 1
    start = _take(pool, free, counters, CHUNK_BITS)
    _clear(pool, start, CHUNK_BITS)
    chunks[c].start = start
    chunks[c].bits = CHUNK_BITS
    chunks[c].count = 0
    chunks[c].dead = 0
    return c


@helper
def _free_chunk(chunks, pool, free, counters, c):  # type: ignore[no-untyped-def]
    start, bits = chunks[c].start, chunks[c].bits
    pool[start].key = np.uint64(free[bits])
    free[bits] = start
    chunks[c].start = NONE
    chunks[c].count = counters[FREE_CHUNK]
    counters[FREE_CHUNK] = c


@helper
def _put_edge(chunks, pool, free, counters, c, target):  # type: ignore[no-untyped-def]
    """Insert into a chunk, which grows if it is too full or a distance too long."""
    count = chunks[c].count + 1
    chunks[c].count = count
    if 10 * count > 9 << chunks[c].bits:
        _remake_chunk(chunks, pool, free, counters, c, chunks[c].bits + 1)
    bits = chunks[c].bits
    took_tombstone, longest = _insert(pool, chunks[c].start, bits, target, 0)
    if took_tombstone:
        chunks[c].dead -= 1
    if longest > LONGEST and 4 * count >= 1 << bits:
        _remake_chunk(chunks, pool, free, counters, c, bits + 1)


# Updates


@helper
def _add(low, high, chunks, pool, free, counters, unique, threshold, delay, source, target):  # type: ignore[no-untyped-def]
    """There must be room in all tables, see :func:`_is_tight`."""
    counters[WAITED] = wait(counters[WAITED], delay)
    bits = counters[LOW_BITS]
    home, last = home_of(source, bits), (1 << bits) - 1
    at, held = find(low, 0, bits, source, 0), 0
    while at != NONE:
        if unique and low[at].value == target:
            return
        held += 1
        at = find(low, 0, bits, source, ((at - home) & last) + 1)
    counters[WAITED] = wait(counters[WAITED], delay)
    if held and held + 1 >= threshold:
        c = _new_chunk(chunks, pool, free, counters)
        for _ in range(held):
            at = find(low, 0, bits, source, 0)
            _put_edge(chunks, pool, free, counters, c, low[at].value)
            _kill(low, 0, at)
        counters[LOW_COUNT] -= held
        _put_edge(chunks, pool, free, counters, c, target)
        _put(high, counters, HIGH_BITS, source, np.uint64(c))
        counters[EDGES] += 1
        return
    at = NONE if held else find(high, 0, counters[HIGH_BITS], source, 0)
    if at == NONE:
        _put(low, counters, LOW_BITS, source, target)
        counters[EDGES] += 1
        return
    c = np.int64(high[at].value)
    counters[WAITED] = wait(counters[WAITED], delay)
    if unique and find(pool, chunks[c].start, chunks[c].bits, target, 0) != NONE:
        return
    _put_edge(chunks, pool, free, counters, c, target)
    counters[EDGES] += 1


@helper
def _delete(low, high, chunks, pool, free, counters, threshold, delay, source, target):  # type: ignore[no-untyped-def]
    """Take out all edges of a pair."""
    counters[WAITED] = wait(counters[WAITED], delay)
    bits = counters[LOW_BITS]
    home, last = home_of(source, bits), (1 << bits) - 1
    at, held = find(low, 0, bits, source, 0), 0
    while at != NONE:
        held += 1
        if low[at].value == target:
            _kill(low, 0, at)
            counters[LOW_COUNT] -= 1
            counters[EDGES] -= 1
        at = find(low, 0, bits, source, ((at - home) & last) + 1)
    if held:
        return
    counters[WAITED] = wait(counters[WAITED], delay)
    at = find(high, 0, counters[HIGH_BITS], source, 0)
    if at == NONE:
        return
    c = np.int64(high[at].value)
    counters[WAITED] = wait(counters[WAITED], delay)
    gone, start = 0, chunks[c].start
    edge = find(pool, start, chunks[c].bits, target, 0)
    while edge != NONE:
        _kill(pool, start, edge)
        gone += 1
        edge = find(pool, start, chunks[c].bits, target, 0)
    chunks[c].count -= gone
    chunks[c].dead += gone
    counters[EDGES] -= gone
    if gone and chunks[c].count <= threshold:
        for k in range(start, start + (1 << chunks[c].bits)):
            if pool[k].mark < TOMBSTONE:
                _put(low, counters, LOW_BITS, source, pool[k].key)
        _free_chunk(chunks, pool, free, counters, c)
        _kill(high, 0, at)
        counters[HIGH_COUNT] -= 1


@helper
def _crowded(counters, which, more):  # type: ignore[no-untyped-def]
    return counters[which + 2] or 10 * (counters[which + 1] + more) > 9 << counters[which]


@helper
def _is_tight(chunks, pool, counters, threshold):  # type: ignore[no-untyped-def]
    """Whether a row might not find the room that it needs; it may make the largest chunk larger
    twice.
    """
    return (
        _crowded(counters, LOW_BITS, threshold)
        or _crowded(counters, HIGH_BITS, 1)
        or counters[CHUNKS] == len(chunks)
        or counters[TAKEN] + (8 << counters[LARGEST]) > len(pool)
    )


@helper
def _grown(table, counters, which, more):  # type: ignore[no-untyped-def]
    if not _crowded(counters, which, more):
        return table
    counters[which] += 1
    counters[which + 2] = 0
    return _rebuilt(table, counters[which] - 1, counters[which])


@kernel
def update_degaware(  # type: ignore[no-untyped-def]
    low, high, chunks, pool, free, counters, src, dst, adds, unique, threshold, rehash_every, delay
):
    """Apply rows in order; gives the arrays, which may have grown."""
    for i in range(len(src)):
        while _is_tight(chunks, pool, counters, threshold):
            low = _grown(low, counters, LOW_BITS, threshold)
            high = _grown(high, counters, HIGH_BITS, 1)
            if counters[CHUNKS] == len(chunks):
                chunks = doubled(chunks, counters[CHUNKS])
            if counters[TAKEN] + (8 << counters[LARGEST]) > len(pool):
                pool = doubled(pool, counters[TAKEN])
        if len(adds) == 0 or adds[i]:
            _add(low, high, chunks, pool, free, counters, unique, threshold, delay, src[i], dst[i])
        else:
            _delete(low, high, chunks, pool, free, counters, threshold, delay, src[i], dst[i])
        counters[SINCE] += 1
        if counters[SINCE] == rehash_every:
            counters[SINCE] = 0
            low = _rebuilt(low, counters[LOW_BITS], counters[LOW_BITS])
            high = _rebuilt(high, counters[HIGH_BITS], counters[HIGH_BITS])
            for c in range(counters[CHUNKS]):
                if chunks[c].start != NONE and chunks[c].dead:
                    while counters[TAKEN] + (1 << chunks[c].bits) > len(pool):
                        pool = doubled(pool, counters[TAKEN])
                    _remake_chunk(chunks, pool, free, counters, c, chunks[c].bits)
    return low, high, chunks, pool

"""What is read from DegAwareRHH (see :mod:`.dynamic_degaware`): neighbours, ranks, distances."""

from __future__ import annotations

import numpy as np

from penstock.interfaces.bench.dynamic_degaware import NONE, TOMBSTONE, distance_of, find, home_of
from penstock.interfaces.bench.dynamic_store_kernels import begin_search, visit
from penstock.jit import helper, kernel


@helper
def _next(table, bits, key, at):  # type: ignore[no-untyped-def]
    """The next record with the same key, or NONE."""
    return find(table, 0, bits, key, ((at - home_of(key, bits)) & ((1 << bits) - 1)) + 1)


@kernel
def bfs_degaware(low, low_bits, high, high_bits, chunks, pool, source, levels):  # type: ignore[no-untyped-def]
    """Levels by id; those that are not reached stay as they are."""
    visited, frontier, found = begin_search(source, levels)
    size, level = 1, 0
    while size > 0:
        level, new = level + 1, 0
        for k in range(size):
            at = find(low, 0, low_bits, frontier[k], 0)
            if at != NONE:
                while at != NONE:
                    new = visit(visited, levels, level, found, new, low[at].value)
                    at = _next(low, low_bits, frontier[k], at)
                continue
            at = find(high, 0, high_bits, frontier[k], 0)
            if at != NONE:
                c = np.int64(high[at].value)
                for edge in range(chunks[c].start, chunks[c].start + (1 << chunks[c].bits)):
                    if pool[edge].mark < TOMBSTONE:
                        new = visit(visited, levels, level, found, new, pool[edge].key)
        frontier, found, size = found, frontier, new


@helper
def _give(low, low_bits, high, high_bits, low_work, high_work, id, share):  # type: ignore[no-untyped-def]
    """Add to the value of a vertex, found by its id; a vertex without edges has none."""
    at = find(low, 0, low_bits, id, 0)
    if at != NONE:
        low_work[at] += share
        return
    at = find(high, 0, high_bits, id, 0)
    if at != NONE:
        high_work[at] += share


@kernel
def superstep_degaware(  # type: ignore[no-untyped-def]
    low, low_bits, high, high_bits, chunks, pool, low_ranks, high_ranks
):
    """Each vertex gives its rank to its neighbours in equal parts. Ranks stand beside the tables,
    at the place of a vertex: in the low-degree table, that of its first edge.
    """
    low_work, high_work = np.zeros(len(low_ranks)), np.zeros(len(high_ranks))
    for k in range(len(low)):
        if low[k].mark >= TOMBSTONE:
            continue
        first = find(low, 0, low_bits, low[k].key, 0)
        at, held = first, 0
        while at != NONE:
            held += 1
            at = _next(low, low_bits, low[k].key, at)
        share = low_ranks[first] / held
        _give(low, low_bits, high, high_bits, low_work, high_work, low[k].value, share)
    for k in range(len(high)):
        if high[k].mark >= TOMBSTONE:
            continue
        c = np.int64(high[k].value)
        share = high_ranks[k] / chunks[c].count
        for edge in range(chunks[c].start, chunks[c].start + (1 << chunks[c].bits)):
            if pool[edge].mark < TOMBSTONE:
                _give(low, low_bits, high, high_bits, low_work, high_work, pool[edge].key, share)
    low_ranks[:], high_ranks[:] = low_work, high_work


@kernel
def edges_degaware(low, high, chunks, pool, src, dst):  # type: ignore[no-untyped-def]
    """All edges, into arrays that are long enough."""
    to = 0
    for k in range(len(low)):
        if low[k].mark < TOMBSTONE:
            src[to], dst[to] = low[k].key, low[k].value
            to += 1
    for k in range(len(high)):
        if high[k].mark < TOMBSTONE:
            c = np.int64(high[k].value)
            for edge in range(chunks[c].start, chunks[c].start + (1 << chunks[c].bits)):
                if pool[edge].mark < TOMBSTONE:
                    src[to], dst[to] = high[k].key, pool[edge].key
                    to += 1


@helper
def _mean_distance(table, base, bits):  # type: ignore[no-untyped-def]
    """Of live records; NaN if there are none."""
    total, count = 0, 0
    for at in range(1 << bits):
        if table[base + at].mark < TOMBSTONE:
            total += distance_of(table, base, bits, at)
            count += 1
    return total / count if count else np.nan


@kernel
def table_distance(table, bits):  # type: ignore[no-untyped-def]
    """The average distance from home in one table."""
    return _mean_distance(table, 0, bits)


@kernel
def chunk_distances(chunks, count, pool, means):  # type: ignore[no-untyped-def]
    """The average distance from home in each edge chunk; NaN for those not in use."""
    for c in range(count):
        means[c] = np.nan
        if chunks[c].start != NONE:
            means[c] = _mean_distance(pool, chunks[c].start, chunks[c].bits)

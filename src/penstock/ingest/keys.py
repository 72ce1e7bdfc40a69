"""Edges as sort keys: an edge is one 64-bit key, ``source << shift | target``."""

from __future__ import annotations

import numpy as np

from penstock.jit import kernel


@kernel
def make_keys(src, dst, table, target_table, first_id, shift, mirrored, drop_loops, keys, rows):  # type: ignore[no-untyped-def]
    """Keys of a chunk. ``table`` takes ids (less ``first_id``) to vertex numbers; empty: they are
    the numbers. ``target_table``, unless empty, says what stands in a key for a target (by vertex
    number). ``rows``, unless empty, receives the row each key comes from. Returns how many.
    """
    relabel = len(table) > 0
    by_rank = len(target_table) > 0
    track = len(rows) > 0
    bits = np.uint64(shift)
    count = 0
    for i in range(len(src)):
        u = src[i] - first_id
        v = dst[i] - first_id
        if u == v and drop_loops:
            continue
        if relabel:
            u = np.uint64(table[np.int64(u)])
            v = np.uint64(table[np.int64(v)])
        to = np.uint64(target_table[np.int64(v)]) if by_rank else v
        keys[count] = (u << bits) | to
        if track:
            rows[count] = i
        count += 1
        if mirrored and u != v:
            to = np.uint64(target_table[np.int64(u)]) if by_rank else u
            keys[count] = (v << bits) | to
            if track:
                rows[count] = i
            count += 1
    return count

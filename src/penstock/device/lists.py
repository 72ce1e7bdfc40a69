"""Kernels over lists that no program changes: telling neighbours, and cutting lists to a range."""

from __future__ import annotations

import numpy as np

from penstock.jit import kernel


@kernel
def notify(block, vertices, found, marks):  # type: ignore[no-untyped-def]
    """Mark the neighbours of some vertices; those that were not marked before are found."""
    count = 0
    first = np.uint64(block.first)
    for w in vertices:
        v = np.uint64(w) - first
        for k in range(np.uint64(block.offsets[v]), np.uint64(block.ends[v])):
            u = block.neighbours[k]
            if marks[u] == 0:
                marks[u] = 1
                found[count] = u
                count += 1
    return count


@kernel
def restrict_lists(starts, stops, neighbours, begin, end, low, high, places):  # type: ignore[no-untyped-def]
    """Lists without what is outside of a range: offsets, ids from its beginning, and, if asked,
    where each of them was.
    """
    first = np.uint32(low)
    size = np.uint32(high - low)
    ends = np.empty(end - begin + 1, np.uint32)
    ends[0] = 0
    count = 0
    for v in range(np.uint64(begin), np.uint64(end)):
        for k in range(np.uint64(starts[v]), np.uint64(stops[v])):
            if np.uint32(neighbours[k] - first) < size:
                count += 1
        ends[v - np.uint64(begin) + np.uint64(1)] = count
    kept = np.empty(count, np.uint32)
    where = np.empty(count if places else 0, np.int64)
    count = 0
    for v in range(np.uint64(begin), np.uint64(end)):
        for k in range(np.uint64(starts[v]), np.uint64(stops[v])):
            u = np.uint32(neighbours[k] - first)
            if u < size:
                kept[count] = u
                if places:
                    where[count] = k
                count += 1
    return ends, kept, where

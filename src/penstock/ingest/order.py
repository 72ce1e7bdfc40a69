"""Counting degrees, and numbering vertices by them."""

from __future__ import annotations

import numpy as np

from penstock.jit import atomic_add, kernel
from penstock.types import I64, NO_VERTEX, U32

#: Degrees below this are sorted by counting; the few above, by comparing.
_COUNTED = 1 << 16
#: Marks, among degrees, an id that is a vertex though no edge names it.
ISOLATED = 0xFFFFFFFF


@kernel
def count_degrees(src, dst, first_id, drop_loops, degrees):  # type: ignore[no-untyped-def]
    """Add a chunk's ends to ``degrees`` (by id less ``first_id``; may be empty: only checks ids).

    Safe to call from several threads. Returns (fingerprint, loops dropped, row with an id that is
    out of range or -1). The fingerprint is a sum over rows: it does not depend on their order.
    """
    bound = np.uint64(len(degrees))
    fingerprint = np.uint64(0)
    loops = 0
    for i in range(len(src)):
        u = src[i] - first_id
        v = dst[i] - first_id
        if u >= bound or v >= bound:
            return fingerprint, loops, i
        x = u * np.uint64(0x9E3779B97F4A7C15) + v
        x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        fingerprint += x ^ (x >> np.uint64(32))
        if drop_loops and u == v:
            loops += 1
            continue
        atomic_add(degrees, np.int64(u), np.uint32(1))
        atomic_add(degrees, np.int64(v), np.uint32(1))
    return fingerprint, loops, -1


@kernel
def _histogram(degrees, everyone, counts):  # type: ignore[no-untyped-def]
    for i in range(len(degrees)):
        degree = degrees[i]
        if degree == np.uint32(0xFFFFFFFF) or (degree == 0 and everyone):
            counts[0] += 1
        elif degree > 0:
            counts[min(np.int64(degree), np.int64(65536))] += 1


@kernel
def _assign(degrees, everyone, by_degree, hubs, next_vid):  # type: ignore[no-untyped-def]
    """Turn degrees into vertex numbers in place; hubs keep their degree, and are listed."""
    absent = np.uint32(0xFFFFFFFF)
    found = 0
    for i in range(len(degrees)):
        degree = degrees[i]
        if degree == absent or (degree == 0 and everyone):
            group = 0
        elif degree == 0:
            degrees[i] = absent
            continue
        else:
            group = min(np.int64(degree), np.int64(65536))
        if by_degree and group == 65536:
            hubs[found] = i
            found += 1
            continue
        if not by_degree:
            group = 0
        degrees[i] = np.uint32(next_vid[group])
        next_vid[group] += 1


def number_vertices(degrees: U32, *, everyone: bool, by_degree: bool) -> int:
    """Replace degrees by vertex numbers, in place; ids that are not vertices get ``NO_VERTEX``.

    With ``by_degree`` the highest degree comes first and equal ones in order of their ids; else
    all in order of ids. ``everyone``: ids that no edge names are vertices too. Returns how many
    vertices there are.
    """
    assert ISOLATED == NO_VERTEX
    counts: I64 = np.zeros(_COUNTED + 1, np.int64)
    _histogram(degrees, everyone, counts)
    total = int(counts.sum())
    if by_degree:
        # Descending: group k begins after all groups above it.
        next_vid = total - np.cumsum(counts)
    else:
        next_vid = np.zeros(1, np.int64)
    hubs: I64 = np.empty(int(counts[_COUNTED]) if by_degree else 0, np.int64)
    _assign(degrees, everyone, by_degree, hubs, next_vid)
    if len(hubs):
        descending = np.lexsort((hubs, -degrees[hubs].astype(np.int64)))
        degrees[hubs[descending]] = np.arange(len(hubs), dtype=np.uint32)
    return total

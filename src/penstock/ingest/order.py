"""Counting degrees, and numbering vertices by them."""

from __future__ import annotations

import numpy as np

from penstock.jit import atomic_add, kernel
from penstock.types import I64, NO_VERTEX, U32, U64

#: Degrees below this are sorted by counting; the few above, by comparing.
_COUNTED = 1 << 16
#: Marks, among degrees, an id that is a vertex though no edge names it.
ISOLATED = 0xFFFFFFFF


@kernel
def _fingerprint(src, dst):  # type: ignore[no-untyped-def]
    total = np.uint64(0)
    for i in range(len(src)):
        x = src[i] * np.uint64(0x9E3779B97F4A7C15) + dst[i]
        x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        total += x ^ (x >> np.uint64(32))
    return total


def fingerprint(src: U64, dst: U64) -> int:
    """A number that tells sets of rows apart; those of several chunks add up (modulo 2**64)."""
    return int(_fingerprint(src, dst))


@kernel
def count_degrees(src, dst, first_id, drop_loops, degrees, looped):  # type: ignore[no-untyped-def]
    """Add a chunk's ends to ``degrees`` (by id less ``first_id``).

    Safe to call from several threads. Returns the loops dropped, and a row with an id that is out
    of range or -1. ``looped``, unless empty, is set where a loop was dropped.
    """
    bound = np.uint64(len(degrees))
    loops = 0
    for i in range(len(src)):
        u = src[i] - first_id
        v = dst[i] - first_id
        if u >= bound or v >= bound:
            return loops, i
        if drop_loops and u == v:
            loops += 1
            if len(looped) > 0:
                looped[np.int64(u)] = 1
            continue
        atomic_add(degrees, np.int64(u), np.uint32(1))
        atomic_add(degrees, np.int64(v), np.uint32(1))
    return loops, -1


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

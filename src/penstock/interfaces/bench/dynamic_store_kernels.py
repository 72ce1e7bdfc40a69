"""What the kernels of the stores that are compared have in common: waiting, growing, searching."""

from __future__ import annotations

import numpy as np

from penstock.jit import helper


@helper
def wait(x, rounds):  # type: ignore[no-untyped-def]
    """Steps of a random generator, each of which needs the one before."""
    for _ in range(rounds):
        x ^= x << np.int64(13)
        x ^= x >> np.int64(7)
        x ^= x << np.int64(17)
    return x


@helper
def doubled(array, used):  # type: ignore[no-untyped-def]
    """An array of twice the length that begins with the places in use."""
    larger = np.empty(2 * len(array), array.dtype)
    larger[:used] = array[:used]
    return larger


@helper
def begin_search(source, levels):  # type: ignore[no-untyped-def]
    """The bits of vertices that were visited, the frontier with the source in it, and room for the
    next one.
    """
    visited = np.zeros((len(levels) + 7) // 8, np.uint8)
    frontier, found = np.empty(len(levels), np.uint64), np.empty(len(levels), np.uint64)
    visit(visited, levels, 0, frontier, 0, np.uint64(source))
    return visited, frontier, found


@helper
def visit(visited, levels, level, found, new, id):  # type: ignore[no-untyped-def]
    """Add a vertex to the ``new`` found ones unless it was visited; gives how many there are."""
    target = np.int64(id)
    bit = np.uint8(1 << (target & 7))
    if visited[target >> 3] & bit:
        return new
    visited[target >> 3] |= bit
    levels[target] = level
    found[new] = id
    return new + 1

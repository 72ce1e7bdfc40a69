"""Kernels of the maintained colouring."""

from __future__ import annotations

import numpy as np

from penstock.jit import helper, kernel


@helper
def _before(v, w, first, keys):  # type: ignore[no-untyped-def]
    """Whether v has priority over w."""
    return first[v] > first[w] or (first[v] == first[w] and keys[v] < keys[w])


@kernel
def find_losers(src, dst, colours, first, keys, marks, losers):  # type: ignore[no-untyped-def]
    """The ends that must give way: of each edge between two vertices of one colour, the one of
    lower priority, each vertex once. Returns how many; ``marks`` is zeros before and after.
    """
    count = 0
    for i in range(len(src)):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        if u == v or colours[u] != colours[v]:
            continue
        loser = v if _before(u, v, first, keys) else u
        if marks[loser] == 0:
            marks[loser] = 1
            losers[count] = loser
            count += 1
    for i in range(count):
        marks[np.uint64(losers[i])] = 0
    return count


@kernel
def recolour(  # type: ignore[no-untyped-def]
    vertices, offsets, neighbours, more_offsets, more_neighbours, colours, first, keys, stamps, uses
):  # fmt: skip
    """Go over vertices in the order of priority, with their lists from one or two sides. One
    without a colour (-1), or of the same colour as a neighbour of higher priority, takes the
    smallest colour that no neighbour has. Returns how many did. ``stamps`` is zeros before.
    """
    changed = 0
    for i in range(len(vertices)):
        v = np.uint64(vertices[i])
        mine, stamp = colours[v], np.int32(i + 1)
        must = mine < 0
        for k in range(offsets[i], offsets[i + 1]):
            w = np.uint64(neighbours[k])
            c = colours[w]
            if c >= 0 and w != v:
                stamps[c] = stamp
                if c == mine and _before(w, v, first, keys):
                    must = True
        for k in range(more_offsets[i], more_offsets[i + 1]):
            w = np.uint64(more_neighbours[k])
            c = colours[w]
            if c >= 0 and w != v:
                stamps[c] = stamp
                if c == mine and _before(w, v, first, keys):
                    must = True
        if must:
            c = 0
            while stamps[c] == stamp:
                c += 1
            if mine >= 0:
                uses[mine] -= 1
            uses[c] += 1
            colours[v] = c
            changed += 1
    return changed


@kernel
def scramble(numbers, seed, out):  # type: ignore[no-untyped-def]
    """A random number for each number, always the same one: SplitMix64, which maps no two numbers
    to one.
    """
    for i in range(len(numbers)):
        z = np.uint64(numbers[i]) + (np.uint64(seed) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out[i] = z ^ (z >> np.uint64(31))

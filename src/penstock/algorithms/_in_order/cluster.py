"""Triangles of single nodes, over lists: those of one direction, or of both as if one followed the
other.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import kernel


@kernel
def add_triangles(offsets, neighbours, values, places, marks, sums):  # type: ignore[no-untyped-def]
    """To ``sums``, for the node i at each of some places: the sum, over the entries j of its list
    and k of the lists of these, of ``value(i, j) * value(i, k) * value(j, k)``. Values are 1 if
    there are none. Loops count nowhere. ``marks`` is zeros, one for each node, and is left so.
    """
    plain = len(values[0]) == 0
    for number in range(len(places)):
        node = places[number]
        for side in range(len(offsets)):
            for entry in range(np.int64(offsets[side][node]), np.int64(offsets[side][node + 1])):
                value = 1.0 if plain else values[side][entry]
                marks[np.int64(neighbours[side][entry])] += value
        marks[node] = 0.0
        total = 0.0
        for side in range(len(offsets)):
            for entry in range(np.int64(offsets[side][node]), np.int64(offsets[side][node + 1])):
                other = np.int64(neighbours[side][entry])
                if other == node:
                    continue
                own, beyond = marks[other], 0.0
                marks[other] = 0.0
                for way in range(len(offsets)):
                    begin = np.int64(offsets[way][other])
                    end = np.int64(offsets[way][other + 1])
                    thirds, rates = neighbours[way], values[way]
                    if plain:
                        for step in range(begin, end):
                            beyond += marks[np.int64(thirds[step])]
                    else:
                        for step in range(begin, end):
                            beyond += rates[step] * marks[np.int64(thirds[step])]
                marks[other] = own
                total += beyond * (1.0 if plain else values[side][entry])
        sums[number] = total
        for side in range(len(offsets)):
            for entry in range(np.int64(offsets[side][node]), np.int64(offsets[side][node + 1])):
                marks[np.int64(neighbours[side][entry])] = 0.0


@kernel
def count_mutual(offsets, neighbours, places, marks, counts):  # type: ignore[no-untyped-def]
    """To ``counts``, for each of some places: the other nodes that both lists have, which have each
    node once.
    """
    for number in range(len(places)):
        node = places[number]
        ahead, back = offsets
        for entry in range(np.int64(ahead[node]), np.int64(ahead[node + 1])):
            marks[np.int64(neighbours[0][entry])] = 1.0
        marks[node] = 0.0
        count = 0
        for entry in range(np.int64(back[node]), np.int64(back[node + 1])):
            count += marks[np.int64(neighbours[1][entry])] > 0.0
        counts[number] = count
        for entry in range(np.int64(ahead[node]), np.int64(ahead[node + 1])):
            marks[np.int64(neighbours[0][entry])] = 0.0


@kernel
def count_triangles(offsets, neighbours, starts, ahead, marks, counts):  # type: ignore[no-untyped-def]
    """To ``counts``, the triangles of each node of undirected lists. Each is found once, from the
    corner with the shortest list: an edge is kept in the list of the end whose own is shorter, in
    ``ahead`` from ``starts`` on, and two such lists are compared by marks. ``ahead`` has room for
    all entries and one more; marks are zeros, and are left so.
    """
    at = np.int64(0)
    for node in range(len(offsets) - 1):
        starts[node] = at
        degree = offsets[node + 1] - offsets[node]
        for entry in range(np.int64(offsets[node]), np.int64(offsets[node + 1])):
            other = np.int64(neighbours[entry])
            longer = offsets[other + 1] - offsets[other]
            # Written in any case: a branch here would be guessed wrong half of the time.
            ahead[at] = other
            at += np.int64((longer > degree) | ((longer == degree) & (other > node)))
    starts[len(offsets) - 1] = at
    for node in range(len(offsets) - 1):
        begin, end = np.int64(starts[node]), np.int64(starts[node + 1])
        for entry in range(begin, end):
            marks[np.int64(ahead[entry])] = 1
        for entry in range(begin, end):
            other = np.int64(ahead[entry])
            common = 0
            for step in range(np.int64(starts[other]), np.int64(starts[other + 1])):
                third = np.int64(ahead[step])
                if marks[third]:
                    counts[third] += 1
                    common += 1
            counts[other] += common
            counts[node] += common
        for entry in range(begin, end):
            marks[np.int64(ahead[entry])] = 0

"""Core numbers over lists in memory."""

from __future__ import annotations

import numpy as np

from penstock.jit import kernel


@kernel
def peel(offsets, neighbours, cores, order, ranks, begins):  # type: ignore[no-untyped-def]
    """To ``cores``, the core number of each node: of those that are left, one of the smallest
    degree is taken away, and its degree is its number. ``offsets`` and ``neighbours`` are those of
    one direction, or of both.

    ``order`` has the nodes by degree, ``ranks`` where each is in it, and ``begins`` where each
    degree begins; it is zeros at first, two more than the largest degree.
    """
    for node in range(len(cores)):
        degree = 0
        for side in range(len(offsets)):
            degree += np.int64(offsets[side][node + 1]) - np.int64(offsets[side][node])
        cores[node] = degree
        begins[degree + 1] += 1
    for degree in range(1, len(begins)):
        begins[degree] += begins[degree - 1]
    for node in range(len(cores)):
        rank = begins[cores[node]]
        begins[cores[node]] += 1
        order[rank], ranks[node] = node, rank
    for degree in range(len(begins) - 1, 0, -1):
        begins[degree] = begins[degree - 1]
    begins[0] = 0
    for rank in range(len(order)):
        node = np.int64(order[rank])
        for side in range(len(offsets)):
            for entry in range(np.int64(offsets[side][node]), np.int64(offsets[side][node + 1])):
                other = np.int64(neighbours[side][entry])
                degree = cores[other]
                if degree > cores[node]:
                    # It changes places with the first of its degree, which then begins after it.
                    first = begins[degree]
                    mover = order[first]
                    order[ranks[other]], ranks[np.int64(mover)] = mover, ranks[other]
                    order[first], ranks[other] = other, first
                    begins[degree] += 1
                    cores[other] -= 1

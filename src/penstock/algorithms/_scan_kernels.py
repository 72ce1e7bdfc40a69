"""Kernels of structural clustering, over windows of earlier neighbours with the number of common
neighbours of each edge.

Rows of a window are divided among threads, but an edge concerns both of its ends: what is written
for the other end is written atomically, and comes out the same in any order.
"""

from __future__ import annotations

import math

import numpy as np

from penstock.algorithms._trees import link
from penstock.jit import atomic_add, atomic_min, compare_and_swap, helper, kernel
from penstock.types import NO_VERTEX

#: What a vertex is.
CORE, BORDER, HUB, OUTLIER = range(4)


@helper
def _is_similar(common, size, other, limits):  # type: ignore[no-untyped-def]
    """Whether the closed neighbourhoods, of so many vertices, of two neighbours are similar.

    The square decides without a root, but near the border it might round another way than the
    definition, which is then followed to the letter. ``limits``: epsilon, and the squares below and
    from which there is no doubt.
    """
    epsilon, low, high = limits
    shared = np.float64(common) + 2.0
    square, product = shared * shared, np.float64(size) * np.float64(other)
    if square < low * product:
        return False
    if square >= high * product:
        return True
    return shared / math.sqrt(np.float64(size * other)) >= epsilon


@kernel
def count_similar(begin, end, first, offsets, neighbours, common, degrees, limits, enough, counts):  # type: ignore[no-untyped-def]
    """How many neighbours each vertex is similar to, but no more than are enough: counts that have
    come that far may stay behind.
    """
    one = np.uint64(1)
    for row in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(first) + row
        size, mine = np.uint64(degrees[v]) + one, np.uint32(0)
        missing = enough - min(counts[v], enough)
        for edge in range(np.uint64(offsets[row]), np.uint64(offsets[row + one])):
            u = np.uint64(neighbours[edge])
            wanted = counts[u] < enough
            if (wanted or mine < missing) and _is_similar(
                common[edge], size, np.uint64(degrees[u]) + one, limits
            ):
                mine += np.uint32(1)
                if wanted:
                    atomic_add(counts, u, np.uint32(1))
        if mine:
            atomic_add(counts, v, mine)


@kernel
def name_cores(begin, end, counts, enough, roles, labels):  # type: ignore[no-untyped-def]
    """Cores have their own number; how many they are. All others are outliers for now."""
    cores = 0
    for v in range(np.uint64(begin), np.uint64(end)):
        is_core = counts[v] >= enough
        roles[v] = CORE if is_core else OUTLIER
        labels[v] = v if is_core else NO_VERTEX
        cores += is_core
    return cores


@kernel
def join_cores(begin, end, first, offsets, neighbours, common, degrees, limits, roles, labels):  # type: ignore[no-untyped-def]
    """Similar cores are in one tree."""
    one = np.uint64(1)
    for row in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(first) + row
        if roles[v] != CORE:
            continue
        size, label = np.uint64(degrees[v]) + one, labels[v]
        for edge in range(np.uint64(offsets[row]), np.uint64(offsets[row + one])):
            u = np.uint64(neighbours[edge])
            if roles[u] != CORE:
                continue
            other = labels[u]
            if other != label and _is_similar(
                common[edge], size, np.uint64(degrees[u]) + one, limits
            ):
                link(labels, label, other)
                label = labels[v]


@kernel
def compress(begin, end, labels):  # type: ignore[no-untyped-def]
    """Every core has the number of its root."""
    for v in range(np.uint64(begin), np.uint64(end)):
        label = labels[v]
        if label == NO_VERTEX:
            continue
        above = labels[label]
        while above != label:
            label = above
            above = labels[label]
        labels[v] = label


@kernel
def count_roots(begin, end, labels):  # type: ignore[no-untyped-def]
    """How many vertices have their own number."""
    found = 0
    for v in range(np.uint64(begin), np.uint64(end)):
        found += labels[v] == v
    return found


@kernel
def rank_roots(vertices, rank, labels, least):  # type: ignore[no-untyped-def]
    """The rank of the first core of each tree, of vertices in the order of their ids that are given
    part by part, from ``rank`` on; how many trees were met for the first time.
    """
    found = 0
    for i in range(len(vertices)):
        label = labels[vertices[i]]
        if label != NO_VERTEX and least[label] == NO_VERTEX:
            least[label] = rank + i
            found += 1
    return found


@kernel
def name_clusters(begin, end, least, labels):  # type: ignore[no-untyped-def]
    """Labels that are roots become ranks."""
    for v in range(np.uint64(begin), np.uint64(end)):
        if labels[v] != NO_VERTEX:
            labels[v] = least[labels[v]]


@kernel
def reach_borders(begin, end, first, offsets, neighbours, common, degrees, limits, roles, labels):  # type: ignore[no-untyped-def]
    """Others that are similar to a core have the smallest label of such cores: they have none
    before, which is the largest number.
    """
    one = np.uint64(1)
    for row in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(first) + row
        size, is_core = np.uint64(degrees[v]) + one, roles[v] == CORE
        label = labels[v]
        for edge in range(np.uint64(offsets[row]), np.uint64(offsets[row + one])):
            u = np.uint64(neighbours[edge])
            if (roles[u] == CORE) == is_core or (label >= labels[u]) == is_core:
                continue
            if _is_similar(common[edge], size, np.uint64(degrees[u]) + one, limits):
                if is_core:
                    atomic_min(labels, u, label)
                else:
                    label = labels[u]
        if not is_core and label != NO_VERTEX:
            atomic_min(labels, v, label)


@kernel
def name_borders(begin, end, labels, roles):  # type: ignore[no-untyped-def]
    """Others that have a label are borders; how many they are."""
    borders = 0
    for v in range(np.uint64(begin), np.uint64(end)):
        if roles[v] != CORE and labels[v] != NO_VERTEX:
            roles[v] = BORDER
            borders += 1
    return borders


@helper
def _see(seen, roles, v, label):  # type: ignore[no-untyped-def]
    """A vertex without a cluster has a neighbour in one: with a second one it is a hub."""
    before = seen[v]
    if before == NO_VERTEX:
        before = compare_and_swap(seen, v, np.uint32(NO_VERTEX), label)
    if before != NO_VERTEX and before != label:
        roles[v] = HUB


@kernel
def find_hubs(begin, end, first, offsets, neighbours, common, labels, roles, seen):  # type: ignore[no-untyped-def]
    """Vertices without a cluster that have neighbours in two of them become hubs."""
    one = np.uint64(1)
    for row in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(first) + row
        label = labels[v]
        for edge in range(np.uint64(offsets[row]), np.uint64(offsets[row + one])):
            u = np.uint64(neighbours[edge])
            other = labels[u]
            if label != NO_VERTEX:
                if other == NO_VERTEX and roles[u] != HUB:
                    _see(seen, roles, u, label)
            elif other != NO_VERTEX:
                _see(seen, roles, v, other)
                if roles[v] == HUB:
                    break


@kernel
def count_role(begin, end, roles, role):  # type: ignore[no-untyped-def]
    """How many vertices are this."""
    found = 0
    for v in range(np.uint64(begin), np.uint64(end)):
        found += roles[v] == role
    return found

"""Kernels of the minimum spanning forest: the lightest edge of each vertex, edges between trees,
and Kruskal's method on edges in memory.

Edges are ordered by weight, then by their smaller vertex number, their larger one, and whether they
lead from the smaller to the larger (that comes first). Two edges that are equal in this are the
same for the forest. For the edges of one vertex, that is the order of (weight, neighbour).
"""

from __future__ import annotations

import numpy as np

from penstock.algorithms._trees import root_of
from penstock.jit import helper, kernel
from penstock.types import NO_VERTEX

#: So few edges are sorted by insertion.
FEW = 24
#: Ranges of edges that can wait; so many halvings never happen.
WAITING = 512


@kernel
def lightest(first, offsets, neighbours, weights, begin, end, base, inward, near, least, outward):  # type: ignore[no-untyped-def]
    """The lightest edge of each vertex to another: where it leads (``near``), its weight
    (``least``) and whether the vertex is its source; entry 0 belongs to vertex ``base``. Gives a
    vertex that has an edge whose weight is NaN, or ``end``.
    """
    one, base, first = np.uint64(1), np.uint64(base), np.uint64(first)
    for v in range(np.uint64(begin), np.uint64(end)):
        edge, last = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        best, weight, out = near[v - base], least[v - base], outward[v - base]
        while edge < last:
            other, heavy = neighbours[edge], weights[edge]
            edge += one
            if heavy != heavy:
                if other != v:
                    return np.uint64(v)
            elif heavy < weight or best == NO_VERTEX or (heavy == weight and other <= best):
                # The same edge both ways: the one that leads up is taken.
                if other == v or (other == best and heavy == weight and (other < v) != inward):
                    continue
                best, weight, out = other, heavy, not inward
        near[v - base], least[v - base], outward[v - base] = best, weight, out
    return np.uint64(end)


@kernel
def hook(near, least, outward, labels, src, dst, weights):  # type: ignore[no-untyped-def]
    """Every vertex hangs under the other end of its lightest edge, or is a root if it has none or
    if it is the smaller end of the lightest edge of both. Writes these edges; how many they are.
    """
    count = np.uint64(0)
    for v in range(np.uint64(len(near))):
        other = np.uint64(near[v])
        if other == NO_VERTEX or (v < other and near[other] == v):
            labels[v] = v
            continue
        labels[v] = other
        src[count] = v if outward[v] else other
        dst[count] = other if outward[v] else v
        weights[count] = least[v]
        count += np.uint64(1)
    return count


@kernel
def compress(begin, end, labels):  # type: ignore[no-untyped-def]
    """Every vertex of a range, and those above it, point at their root."""
    for v in range(np.uint64(begin), np.uint64(end)):
        root = labels[v]
        while labels[root] != root:
            root = labels[root]
        here = np.uint32(v)
        while here != root:
            above = labels[here]
            labels[here] = root
            here = above


@kernel
def lower(labels, first):  # type: ignore[no-untyped-def]
    """Labels that are any vertex of a tree become its smallest one."""
    first[:] = NO_VERTEX
    for v in range(np.uint64(len(labels))):
        label = labels[v]
        if first[label] == NO_VERTEX:
            first[label] = v
        labels[v] = first[label]


@kernel
def crossing(lists, v, edge, end, labels, sieve, once, in_order, inward, out):  # type: ignore[no-untyped-def]
    """Edges between vertices of different labels, from place ``edge`` of the list of ``v`` on, till
    the arrays of ``out`` are full. Gives how many, and where to go on; the place is -1 after a
    weight that is NaN. ``once``: an edge is in the lists of both ends.

    The sieve is what edges up to one with the weight ``heavy`` and the smaller end ``lowest`` have
    joined: edges within that come later are left out.
    """
    first, offsets, neighbours, weights = lists
    joined, heavy, lowest = sieve
    src, dst, kept = out
    count, one, first = np.uint64(0), np.uint64(1), np.uint64(first)
    room, end, place = np.uint64(len(src)), np.uint64(end), np.uint64(edge)
    v = np.uint64(v)
    while v < end:
        start, last = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        edge = max(start, place)
        label, mine = labels[v], joined[v]
        while edge < last:
            other = np.uint64(neighbours[edge])
            if once and other >= v:
                if in_order:
                    break
            elif labels[other] != label:
                if joined[other] == mine and (
                    weights[edge] > heavy or (weights[edge] == heavy and min(v, other) > lowest)
                ):
                    edge += one
                    continue
                if count == room:
                    return np.int64(count), np.int64(v), np.int64(edge)
                weight = weights[edge]
                if weight != weight:
                    return np.int64(count), np.int64(v), np.int64(-1)
                src[count] = other if inward else v
                dst[count] = v if inward else other
                kept[count] = weight
                count += one
            edge += one
        v += one
    return np.int64(count), np.int64(v), np.int64(0)


@helper
def _before(u, v, weight, other_u, other_v, other_weight):  # type: ignore[no-untyped-def]
    """Whether an edge comes before another."""
    if weight != other_weight:
        return weight < other_weight
    low, other_low = min(u, v), min(other_u, other_v)
    if low != other_low:
        return low < other_low
    high, other_high = max(u, v), max(other_u, other_v)
    if high != other_high:
        return high < other_high
    return u < other_u


@helper
def _swap(src, dst, weights, i, j):  # type: ignore[no-untyped-def]
    src[i], src[j] = src[j], src[i]
    dst[i], dst[j] = dst[j], dst[i]
    weights[i], weights[j] = weights[j], weights[i]


@helper
def _insertion_sort(src, dst, weights, begin, end):  # type: ignore[no-untyped-def]
    for i in range(begin + 1, end):
        u, v, weight = src[i], dst[i], weights[i]
        j = i
        while j > begin and _before(u, v, weight, src[j - 1], dst[j - 1], weights[j - 1]):
            src[j], dst[j], weights[j] = src[j - 1], dst[j - 1], weights[j - 1]
            j -= 1
        src[j], dst[j], weights[j] = u, v, weight


@helper
def _part(src, dst, weights, begin, end, seed):  # type: ignore[no-untyped-def]
    """Swap edges until those before the place that is given come no later than those behind it."""
    middle = begin + seed % (end - begin)
    u, v, weight = src[middle], dst[middle], weights[middle]
    i, j = begin, end - 1
    while i <= j:
        while _before(src[i], dst[i], weights[i], u, v, weight):
            i += 1
        while _before(u, v, weight, src[j], dst[j], weights[j]):
            j -= 1
        if i <= j:
            _swap(src, dst, weights, i, j)
            i += 1
            j -= 1
    return i if i < end else j + 1


@helper
def _without_inner(src, dst, weights, begin, end, trees):  # type: ignore[no-untyped-def]
    """Move edges between different trees to the front; where they end."""
    kept = begin
    for i in range(begin, end):
        if root_of(trees, src[i]) != root_of(trees, dst[i]):
            src[kept], dst[kept], weights[kept] = src[i], dst[i], weights[i]
            kept += 1
    return kept


@kernel
def kruskal(src, dst, weights, begin, end, trees):  # type: ignore[no-untyped-def]
    """The spanning forest of the edges ``begin`` to ``end``, moved to the front of them; where it
    ends. ``trees`` is a union-find structure, to begin with and afterwards.

    Filter-Kruskal: quicksort, but what is left of the heavier part once the lighter one is done is
    looked through for edges inside trees before it is sorted. (Osipov, Sanders, Singler: "The
    Filter-Kruskal minimum spanning tree algorithm", ALENEX 2009.)
    """
    begins, ends = np.empty(WAITING, np.int64), np.empty(WAITING, np.int64)
    begins[0], ends[0] = begin, end
    waiting, done = 1, begin
    seed = np.int64(12345)
    while waiting:
        waiting -= 1
        a, b = begins[waiting], ends[waiting]
        if a > begin:
            b = _without_inner(src, dst, weights, a, b, trees)
        if b - a > FEW and waiting + 2 <= WAITING:
            seed = (seed * 1103515245 + 12345) & 0x3FFFFFFF
            middle = _part(src, dst, weights, a, b, seed >> 4)
            begins[waiting], ends[waiting] = middle, b
            begins[waiting + 1], ends[waiting + 1] = a, middle
            waiting += 2
            continue
        _insertion_sort(src, dst, weights, a, b)
        for i in range(a, b):
            u, v = root_of(trees, src[i]), root_of(trees, dst[i])
            if u != v:
                trees[max(u, v)] = min(u, v)
                _swap(src, dst, weights, i, done)
                done += 1
    return done


@kernel
def join(src, dst, begin, end, trees):  # type: ignore[no-untyped-def]
    """Join the trees at both ends of edges."""
    for i in range(begin, end):
        u, v = root_of(trees, src[i]), root_of(trees, dst[i])
        trees[max(u, v)] = min(u, v)

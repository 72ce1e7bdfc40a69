"""Kernels of a tree of shortest paths that is kept up to date; ``paths`` calls them.

``keys`` are distances, ``far`` where no path leads: uint32 numbers of edges, or float64 sums of
weights. An edge from u to v is *tight* if ``keys[u] + weight == keys[v]``, and can be that of a
parent only if u is nearer than v, so that parents never go in circles. ``weights`` is empty where
every edge counts 1. A vertex of ``pending`` has its mark in ``queued``.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import helper, kernel
from penstock.types import NO_VERTEX


@helper
def _offer(u, v, key, keys, parents, queued, pending, count):  # type: ignore[no-untyped-def]
    """Let v be reached from u with some key, if that is better; gives the vertices pending. A call
    takes longer than a look at an edge: callers look first.
    """
    if key < keys[v]:
        keys[v] = key
        parents[v] = u
        if not queued[v]:
            queued[v] = 1
            pending[count] = v
            count += 1
    elif key == keys[v] and keys[u] < key:
        parent = parents[v]
        if parent != NO_VERTEX and (u < parent or not keys[parent] < key):
            parents[v] = u
    return count


@kernel
def relax_lists(vertices, offsets, neighbours, weights, keys, parents, queued, pending, count):  # type: ignore[no-untyped-def]
    """Offer the neighbours of vertices a path through them. Gives the vertices pending, and the
    place of an edge whose weight is negative or NaN, -1 if there is none.
    """
    weighted = len(weights) > 0
    for i in range(len(vertices)):
        u = vertices[i]
        for edge in range(offsets[i], offsets[i + 1]):
            if weighted:
                weight = weights[edge]
                if not weight >= 0:
                    return count, edge
                key = keys[u] + weight
            else:
                key = keys[u] + 1
            v = neighbours[edge]
            if key <= keys[v]:
                count = _offer(u, v, key, keys, parents, queued, pending, count)
    return count, -1


@kernel
def find_useful(src, dst, least, keys, parents, queued, useful):  # type: ignore[no-untyped-def]
    """Which ends of edges could be better off with them, if a weight is ``least``, each once; they
    are marked. Gives how many.
    """
    count = 0
    for edge in range(len(src)):
        u, v = src[edge], dst[edge]
        if not keys[u] < keys[v] or queued[v]:
            continue
        key = keys[u] + least
        if key < keys[v] or (key == keys[v] and u < parents[v]):
            queued[v] = 1
            useful[count] = v
            count += 1
    return count


@kernel
def unmark(vertices, queued):  # type: ignore[no-untyped-def]
    """Take the marks of vertices away."""
    for i in range(len(vertices)):
        queued[vertices[i]] = 0


@kernel
def take_nearest(keys, width, queued, pending, count, taken):  # type: ignore[no-untyped-def]
    """Move the pending vertices that are at most ``width`` farther than the nearest of them to
    ``taken``. Gives how many are pending still, and how many were taken.
    """
    nearest = keys[pending[0]]
    for i in range(1, count):
        nearest = min(nearest, keys[pending[i]])
    bound = nearest + width
    left = 0
    num_taken = 0
    for i in range(count):
        v = pending[i]
        if keys[v] <= bound:
            queued[v] = 0
            taken[num_taken] = v
            num_taken += 1
        else:
            pending[left] = v
            left += 1
    return left, num_taken


@kernel
def doubt_edges(src, dst, parents, queued, pending, count):  # type: ignore[no-untyped-def]
    """Make pending the vertices whose parent is at the other end of these edges. Gives how many are
    pending.
    """
    for edge in range(len(src)):
        v = dst[edge]
        if src[edge] != v and parents[v] == src[edge] and not queued[v]:
            queued[v] = 1
            pending[count] = v
            count += 1
    return count


@kernel
def judge(vertices, offsets, neighbours, weights, far, keys, parents, lost):  # type: ignore[no-untyped-def]
    """Find each vertex whose parent is in doubt the smallest one at the other end of a tight
    in-edge. One that has no such edge is lost, which makes it far. Gives how many are, and who.
    """
    weighted = len(weights) > 0
    count = 0
    for i in range(len(vertices)):
        v = vertices[i]
        best = np.uint32(NO_VERTEX)
        for edge in range(offsets[i], offsets[i + 1]):
            u = neighbours[edge]
            if keys[u] < keys[v]:
                key = keys[u] + weights[edge] if weighted else keys[u] + 1
                if key == keys[v]:
                    best = min(best, u)
        parents[v] = best
        if best == NO_VERTEX:
            keys[v] = far
            lost[count] = v
            count += 1
    return count


@kernel
def doubt_children(vertices, offsets, neighbours, parents, queued, pending, count):  # type: ignore[no-untyped-def]
    """Make pending the vertices that have one of these for their parent."""
    for i in range(len(vertices)):
        for edge in range(offsets[i], offsets[i + 1]):
            v = neighbours[edge]
            if parents[v] == vertices[i] and not queued[v]:
                queued[v] = 1
                pending[count] = v
                count += 1
    return count


@kernel
def pull_lists(vertices, offsets, neighbours, weights, far, keys, parents, queued, pending, count):  # type: ignore[no-untyped-def]
    """Offer vertices the paths through their in-neighbours. Gives what :func:`relax_lists` does."""
    weighted = len(weights) > 0
    for i in range(len(vertices)):
        for edge in range(offsets[i], offsets[i + 1]):
            u = neighbours[edge]
            if keys[u] == far:
                continue
            if weighted and not weights[edge] >= 0:
                return count, edge
            key = keys[u] + weights[edge] if weighted else keys[u] + 1
            if key <= keys[vertices[i]]:
                count = _offer(u, vertices[i], key, keys, parents, queued, pending, count)
    return count, -1

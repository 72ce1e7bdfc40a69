"""Kernels of PageRank that is kept up to date; ``pagerank`` calls them and says what they reckon
with. A ``tally`` has the sum of the sizes of all residuals, the sum of the residuals, and the sum
of the weights.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import helper, kernel, prefetch

#: Edges ahead of which residuals are brought into the cache.
AHEAD = 16


@helper
def _add(residuals, v, amount, tally):  # type: ignore[no-untyped-def]
    before = residuals[v]
    residuals[v] = before + amount
    tally[0] += abs(before + amount) - abs(before)
    tally[1] += amount


@kernel
def count_edges(src, change, degrees):  # type: ignore[no-untyped-def]
    """Edges out of vertices have come (1) or gone (-1)."""
    for i in range(len(src)):
        degrees[src[i]] += change


@kernel
def move_ends(src, dst, sign, alpha, old, new, weights, residuals, tally):  # type: ignore[no-untyped-def]
    """Give the ends of edges that have come what flows to them (sign 1), or take it from the ends
    of those that have gone (-1).
    """
    for i in range(len(src)):
        u = src[i]
        degree = old[u] if old[u] > 0 else new[u]
        if degree > 0:
            _add(residuals, dst[i], sign * alpha * weights[u] / degree, tally)


@kernel
def keep_shares(src, old, new, weights, residuals, tally):  # type: ignore[no-untyped-def]
    """Change the weights of vertices with their degrees, so that what flows along each edge stays
    as it is. Where there was no edge, or is none now, the weight stays.
    """
    for i in range(len(src)):
        u = src[i]
        if old[u] == new[u]:
            continue
        if old[u] > 0 and new[u] > 0:
            weight = weights[u] / old[u] * new[u]
            more = weight - weights[u]
            weights[u] = weight
            tally[2] += more
            _add(residuals, u, -more, tally)
        old[u] = new[u]


@kernel
def measure(begin, end, drift, offset, degrees, weights, residuals, tally):  # type: ignore[no-untyped-def]
    """The sums of a range, and (last of the tally) that of the sizes of ``residual - drift *
    degree - offset``.
    """
    size = total = weight = moved = 0.0
    for v in range(begin, end):
        residual = residuals[v]
        size += abs(residual)
        total += residual
        weight += weights[v]
        moved += abs(residual - drift * degrees[v] - offset)
    tally[0], tally[1], tally[2], tally[3] = size, total, weight, moved


@kernel
def shift(begin, end, drift, offset, more, factor, degrees, weights, residuals):  # type: ignore[no-untyped-def]
    """Take ``drift`` for each edge and ``offset`` from the residuals of a range, and add ``more``
    for each edge to the weights; then multiply both.
    """
    for v in range(begin, end):
        weights[v] = (weights[v] + more * degrees[v]) * factor
        residuals[v] = (residuals[v] - drift * degrees[v] - offset) * factor


@kernel
def select(begin, end, least, degrees, residuals, found):  # type: ignore[no-untyped-def]
    """The vertices of a range that gain at least so much by a push, for each edge and one more.
    Gives how many, and the sizes of their residuals in all.
    """
    count = 0
    size = 0.0
    for v in range(begin, end):
        residual = abs(residuals[v])
        if residual >= least * (np.float64(degrees[v]) + 1.0) and residual > 0.0:
            found[count] = v
            count += 1
            size += residual
    return count, size


@kernel
def select_among(vertices, least, degrees, residuals, found):  # type: ignore[no-untyped-def]
    """How many of some vertices do; ``found`` may be their array."""
    count = 0
    for i in range(len(vertices)):
        v = vertices[i]
        residual = abs(residuals[v])
        if residual >= least * (np.float64(degrees[v]) + 1.0) and residual > 0.0:
            found[count] = v
            count += 1
    return count


@kernel
def push(vertices, offsets, neighbours, alpha, weights, residuals, tally):  # type: ignore[no-untyped-def]
    """Turn residuals into weights, one vertex after another: what flows on from there comes to the
    residuals of the neighbours.
    """
    size, total, weight = tally[0], tally[1], tally[2]
    last = len(neighbours) - 1
    for i in range(len(vertices)):
        u = vertices[i]
        residual = residuals[u]
        residuals[u] = 0.0
        weights[u] += residual
        weight += residual
        size -= abs(residual)
        total -= residual
        degree = offsets[i + 1] - offsets[i]
        if degree == 0:
            continue
        share = alpha * residual / degree
        total += alpha * residual
        for edge in range(offsets[i], offsets[i + 1]):
            prefetch(residuals, np.int64(neighbours[min(edge + AHEAD, last)]))
            v = neighbours[edge]
            before = residuals[v]
            residuals[v] = before + share
            size += abs(before + share) - abs(before)
    tally[0], tally[1], tally[2] = size, total, weight

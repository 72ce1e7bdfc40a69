"""Kernels over the vertices of a frontier, as a queue or as bits; they do not look at edges.

Bit v % 64 of word v // 64 stands for vertex v. Ranges of vertices begin at multiples of 64, so that
no two threads write to a word.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.push_kernels import EDGES_AHEAD, HELD, LONG_LIST
from penstock.jit import (
    always_inline,
    atomic_add,
    atomic_or,
    count_ones,
    kernel,
    no_refcount,
    prefetch,
)


@always_inline
def edges_of(offsets, v):  # type: ignore[no-untyped-def]
    """Edges of a vertex by offsets that may end before it."""
    one = np.uint64(1)
    if v + one >= np.uint64(len(offsets)):
        return np.uint64(0)
    return np.uint64(offsets[v + one]) - np.uint64(offsets[v])


@always_inline
def _edges_between(starts, ends, v):  # type: ignore[no-untyped-def]
    """Edges of a vertex by where lists begin and end, if there is an entry for it."""
    if v >= np.uint64(len(ends)):
        return np.uint64(0)
    return np.uint64(ends[v]) - np.uint64(starts[v])


@kernel
def parts_of_long_lists(offsets, ends, queue, begin, end):  # type: ignore[no-untyped-def]
    """Rows of a vertex and the edges where a part of its list begins and ends, for the vertices of
    a frontier that have long lists.
    """
    one, step = np.uint64(1), np.uint64(LONG_LIST)
    count = np.uint64(0)
    rows = np.empty((0, 3), np.uint64)
    for turn in range(2):
        if turn == 1:
            if count == 0:
                break
            rows = np.empty((count, 3), np.uint64)
            count = np.uint64(0)
        for i in range(np.uint64(begin), np.uint64(end)):
            u = np.uint64(queue[i])
            edge, stop = np.uint64(offsets[u]), np.uint64(ends[u])
            if stop - edge <= step:
                continue
            while edge < stop:
                if turn == 1:
                    rows[count, 0], rows[count, 1] = u, edge
                    rows[count, 2] = min(edge + step, stop)
                edge += step
                count += one
    return rows


@no_refcount
def enter_queue(claims, queue, begin, end, visited, extents):  # type: ignore[no-untyped-def]
    """Vertices of a part of the queue are visited. Returns how many edges they have."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    edges, ahead = np.uint64(0), np.uint64(EDGES_AHEAD)
    offsets, ends, more_offsets, more_ends = extents
    scattered = len(offsets) == len(ends)
    while True:
        place = np.uint64(begin) + np.uint64(atomic_add(claims, 0, np.int64(HELD)))
        if place >= np.uint64(end):
            break
        for i in range(place, min(place + np.uint64(HELD), np.uint64(end))):
            if scattered and i + ahead < np.uint64(end):
                prefetch(offsets, queue[i + ahead])
                prefetch(ends, queue[i + ahead])
            v = np.uint64(queue[i])
            atomic_or(visited, v >> six, one << (v & low))
            edges += _edges_between(offsets, ends, v)
            edges += _edges_between(more_offsets, more_ends, v)
    return edges


@no_refcount
def vertices_of(begin, end, chosen, bits):  # type: ignore[no-untyped-def]
    """The vertices of a range whose bits are set, ascending; how many."""
    one, six, zero = np.uint64(1), np.uint64(6), np.uint64(0)
    count = zero
    for word in range(np.uint64(begin) >> six, (np.uint64(end) + np.uint64(63)) >> six):
        left = bits[word]
        while left != zero:
            chosen[count] = (word << six) + count_ones(~left & (left - one))
            left &= left - one
            count += one
    return count


@no_refcount
def unvisited_with_edges(begin, end, chosen, visited, degrees):  # type: ignore[no-untyped-def]
    """The vertices of a range that are not visited and have edges, ascending; how many."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        if (visited[v >> six] >> (v & low)) & one == 0 and degrees[v] > 0:
            chosen[count] = v
            count += one
    return count


@no_refcount
def enter_listed(begin, end, found, visited, next_bits, degrees):  # type: ignore[no-untyped-def]
    """Vertices of a list are visited, and no longer in ``next_bits``. Returns how many edges they
    have, by ``degrees`` if there are any.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    edges = 0
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(found[i])
        atomic_or(visited, v >> six, one << (v & low))
        next_bits[v >> six] = 0
        if len(degrees) > 0:
            edges += np.int64(degrees[v])
    return edges


@no_refcount
def enter_bits(begin, end, bits, visited, degrees):  # type: ignore[no-untyped-def]
    """Vertices of a range whose bits are set are visited. Returns how many they are, and how many
    edges they have, by ``degrees`` if there are any.
    """
    one, six, zero = np.uint64(1), np.uint64(6), np.uint64(0)
    count, edges = zero, 0
    for word in range(np.uint64(begin) >> six, (np.uint64(end) + np.uint64(63)) >> six):
        left = bits[word]
        visited[word] |= left
        count += count_ones(left)
        while left != zero and len(degrees) > 0:
            v = (word << six) + count_ones(~left & (left - one))
            left &= left - one
            edges += np.int64(degrees[v])
    return count, edges


@no_refcount
def count_edges(begin, end, visited, bits, extents, degrees):  # type: ignore[no-untyped-def]
    """Of the vertices of a range: how many have their bit set in ``bits``, how many are visited,
    and the edges of both, by ``extents`` or ``degrees``, whichever there are.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    offsets, ends, more_offsets, more_ends = extents
    count, reached, edges, explored = 0, 0, 0, 0
    for v in range(np.uint64(begin), np.uint64(end)):
        if (visited[v >> six] >> (v & low)) & one == 0:
            continue
        degree = np.int64(_edges_between(offsets, ends, v))
        degree += np.int64(_edges_between(more_offsets, more_ends, v))
        if len(degrees) > 0:
            degree = np.int64(degrees[v])
        reached, explored = reached + 1, explored + degree
        if (bits[v >> six] >> (v & low)) & one != 0:
            count, edges = count + 1, edges + degree
    return count, reached, edges, explored


@no_refcount
def ask_some(visited, offsets, neighbours, rest, most):  # type: ignore[no-untyped-def]
    """About ``most`` vertices at even distances, those that are not visited and have edges: how
    many they are, how many edges they look at until they see a visited neighbour, and how many see
    none in a list that goes on.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    asked, looked, unresolved = 0, 0, 0
    n = np.uint64(len(offsets) - 1)
    step = max(n // most, one)
    for v in range(step >> one, n, step):
        edge, stop = np.uint64(offsets[v]), np.uint64(offsets[v + one])
        longer = edges_of(rest, v) > np.uint64(0)
        if (edge == stop and not longer) or (visited[v >> six] >> (v & low)) & one != 0:
            continue
        asked += 1
        found = False
        while edge < stop and not found:
            u = np.uint64(neighbours[edge])
            found = (visited[u >> six] >> (u & low)) & one != 0
            edge += one
            looked += 1
        if longer and not found:
            unresolved += 1
    return asked, looked, unresolved


@no_refcount
def split_queue(queue, begin, end, lists_end, rest):  # type: ignore[no-untyped-def]
    """Put the vertices of a frontier first whose lists go on, and last those that are after all
    lists; where the ones end and the others begin.
    """
    at, stop = np.uint64(begin), np.uint64(end)
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(queue[i])
        if edges_of(rest, v) > np.uint64(0):
            queue[i] = queue[at]
            queue[at] = v
            at += np.uint64(1)
    i = at
    while i < stop:
        v = np.uint64(queue[i])
        if v < np.uint64(lists_end):
            i += np.uint64(1)
            continue
        stop -= np.uint64(1)
        queue[i] = queue[stop]
        queue[stop] = v
    return at, stop


@no_refcount
def unresolved(begin, end, chosen, visited, next_bits, rest):  # type: ignore[no-untyped-def]
    """The vertices of a range that are neither visited nor found, and have lists that go on; how
    many.
    """
    one, six, low, zero = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(0)
    count = zero
    for word in range(np.uint64(begin) >> six, (np.uint64(end) + low) >> six):
        left = ~(visited[word] | next_bits[word])
        while left != zero:
            v = (word << six) + count_ones(~left & (left - one))
            left &= left - one
            if edges_of(rest, v) > zero:
                chosen[count] = v
                count += one
    return count


@no_refcount
def count_found(vertices, next_bits, offsets, rest):  # type: ignore[no-untyped-def]
    """How many of some vertices are found, and their edges."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    count, edges = np.uint64(0), np.uint64(0)
    for i in range(len(vertices)):
        v = np.uint64(vertices[i])
        if (next_bits[v >> six] >> (v & low)) & one != 0:
            count += one
            edges += edges_of(offsets, v) + edges_of(rest, v)
    return count, edges

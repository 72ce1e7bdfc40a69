"""The kernels of a search by levels; ``_levels`` says what its arrays mean.

A kernel whose first argument is ``claims`` is called once by each thread at work on a level: the
threads share ``claims``, where the next piece that nobody has taken yet stands, and take pieces
until there are none.

While a level is found, ``visited`` stays as it is. A vertex found is one that had no parent; its
bit and its level are set afterwards (top-down), or by the one thread that looks after it
(bottom-up).
"""

from __future__ import annotations

import numpy as np

from penstock.jit import atomic_add, atomic_min, helper, kernel, prefetch
from penstock.stream.block import BY_PLACE
from penstock.types import NO_VERTEX

#: Vertices of a frontier that it takes at a time, top-down ...
PUSH_VERTICES = 64
#: ... and edges of a list that is longer than so many.
LONG_LIST = 1 << 14
#: Vertices found that it holds before it hands them on.
HELD = 1 << 12
#: How many edges, or vertices, ahead of the one at work memory is fetched.
EDGES_AHEAD = 16


@helper
def _offer(  # type: ignore[no-untyped-def]
    first, offsets, ends, neighbours, vertices, begin, end, found, at, shared, tail, visited,
    parents, levels, above, alone,
):  # fmt: skip
    """Vertices offer themselves as parents to their unvisited neighbours; those that had none are
    written to ``found`` from ``at`` on, and when that is full, moved to ``shared``.

    Returns where ``found`` goes on, how many edges were looked at, how many led to unvisited
    vertices and, if ``levels`` is given, how many to vertices of the level ``above``.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    ahead, further, near = np.uint64(EDGES_AHEAD), np.uint64(8), np.uint64(4)
    looked, children, peers = np.uint64(0), np.uint64(0), np.uint64(0)
    scattered = len(offsets) == len(ends)
    counting, by_place = len(levels) > 0, first == np.uint64(BY_PLACE & 0xFFFFFFFFFFFFFFFF)
    for i in range(begin, end):
        u = np.uint64(vertices[i])
        place = np.uint64(i) if by_place else u - first
        edge, stop = np.uint64(offsets[place]), np.uint64(ends[place])
        looked += stop - edge
        if i + further < end and not by_place:
            prefetch(offsets, np.uint64(vertices[i + further]) - first)
            if scattered:
                prefetch(ends, np.uint64(vertices[i + further]) - first)
            prefetch(neighbours, offsets[np.uint64(vertices[i + near]) - first])
        while edge < stop:
            v = np.uint64(neighbours[edge])
            edge += one
            if edge + ahead < stop:
                prefetch(parents, neighbours[edge + ahead])
            if (visited[v >> six] >> (v & low)) & one != 0:
                if counting and levels[v] == above:
                    peers += one
                continue
            children += one
            before = parents[v]
            if np.uint64(before) <= u:
                continue
            if alone:
                parents[v] = u
            else:
                before = atomic_min(parents, v, np.uint32(u))
            if before != NO_VERTEX:
                continue
            if at == np.uint64(len(found)):
                _hand_on(found, at, shared, tail)
                at = np.uint64(0)
            found[at] = v
            at += one
    return at, looked, children, peers


@helper
def _hand_on(found, count, shared, tail):  # type: ignore[no-untyped-def]
    """Append what a thread found to what all have found."""
    place = np.uint64(atomic_add(tail, 0, np.int64(count)))
    for k in range(count):
        shared[place + k] = found[k]


@kernel
def push(  # type: ignore[no-untyped-def]
    claims, tail, offsets, ends, neighbours, queue, begin, end, long_lists, visited, parents,
    levels, above,
):  # fmt: skip
    """The vertices of a frontier (from ``begin`` to ``end`` in ``queue``) offer themselves; who is
    found is appended to the queue. ``long_lists``: rows of a vertex and the edges where a part of
    its long list begins and ends; these vertices are left out otherwise.

    Returns how many edges were looked at, led to children, and to peers (if ``levels`` is given).
    """
    held = np.empty(HELD, np.uint32)
    own, part = np.empty(1, np.uint32), np.empty(2, np.uint64)
    at, one, parts = np.uint64(0), np.uint64(1), np.uint64(len(long_lists))
    looked, children, peers = np.uint64(0), np.uint64(0), np.uint64(0)
    while True:
        k = np.uint64(atomic_add(claims, 1, np.int64(1)))
        if k >= parts:
            break
        own[0] = long_lists[k, 0]
        part[0], part[1] = long_lists[k, 1], long_lists[k, 2]
        at, a, b, c = _offer(
            np.uint64(own[0]), part, part[1:], neighbours, own, np.uint64(0), one, held, at, queue,
            tail, visited, parents, levels, above, False,
        )  # fmt: skip
        looked, children, peers = looked + a, children + b, peers + c
    short = np.empty(PUSH_VERTICES, np.uint32)
    while True:
        place = np.uint64(begin) + np.uint64(atomic_add(claims, 0, np.int64(PUSH_VERTICES)))
        if place >= np.uint64(end):
            break
        count = np.uint64(0)
        for i in range(place, min(place + np.uint64(PUSH_VERTICES), np.uint64(end))):
            u = np.uint64(queue[i])
            if parts == 0 or np.uint64(ends[u]) - np.uint64(offsets[u]) <= LONG_LIST:
                short[count] = u
                count += one
        at, a, b, c = _offer(
            np.uint64(0), offsets, ends, neighbours, short, np.uint64(0), count, held, at, queue,
            tail, visited, parents, levels, above, False,
        )  # fmt: skip
        looked, children, peers = looked + a, children + b, peers + c
    _hand_on(held, at, queue, tail)
    return looked, children, peers


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


@kernel
def settle(  # type: ignore[no-untyped-def]
    claims, found, begin, end, visited, levels, level, offsets, ends, more_offsets, more_ends
):
    """Vertices found get their bit and their level. Returns how many edges they have by both pairs
    of arrays, which may end before some of them.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    edges, ahead = np.uint64(0), np.uint64(EDGES_AHEAD)
    scattered = len(offsets) == len(ends)
    while True:
        place = np.uint64(begin) + np.uint64(atomic_add(claims, 0, np.int64(HELD)))
        if place >= np.uint64(end):
            break
        for i in range(place, min(place + np.uint64(HELD), np.uint64(end))):
            if scattered and i + ahead < np.uint64(end):
                prefetch(offsets, found[i + ahead])
                prefetch(ends, found[i + ahead])
            v = np.uint64(found[i])
            # Each vertex is found once, so that adding its bit sets it.
            atomic_add(visited, v >> six, one << (v & low))
            levels[v] = level
            if v < np.uint64(len(ends)):
                edges += np.uint64(ends[v]) - np.uint64(offsets[v])
            if v < np.uint64(len(more_ends)):
                edges += np.uint64(more_ends[v]) - np.uint64(more_offsets[v])
    return edges


@kernel
def run_levels(  # type: ignore[no-untyped-def]
    offsets, ends, neighbours, more_offsets, more_ends, more_neighbours, queue, begin, end, visited,
    parents, levels, level, most_levels, tiny, small, unexplored, most_work, counting,
):  # fmt: skip
    """Find levels top-down, one after another, while they are small: until ``most_levels`` are
    found, a frontier has more than ``small`` edges (or ``tiny``, if fewer are ``unexplored``), or
    ``most_work`` is done. ``level``: that
    of the frontier. ``more_...``: further lists to follow, if any.

    Returns where the last frontier begins and ends in the queue, its edges and those of all that
    were found, how many levels were found, and edges as :func:`push` has them.
    """
    one, six, low, zero = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(0)
    begin, end, ahead = np.uint64(begin), np.uint64(end), np.uint64(EDGES_AHEAD)
    further, scattered = len(more_ends) > 0, len(offsets) == len(ends)
    nowhere = np.empty(0, np.int64)
    seen = levels if counting else levels[:0]
    looked, children, peers, edges, explored = zero, zero, zero, zero, zero
    done = np.int64(0)
    while done < most_levels:
        above = np.int32(level + done)
        done += 1
        tail, a, b, c = _offer(
            zero, offsets, ends, neighbours, queue, begin, end, queue, end, queue, nowhere, visited,
            parents, seen, above, True,
        )  # fmt: skip
        looked, children, peers = looked + a, children + b, peers + c
        if further:
            tail, a, b, c = _offer(
                zero, more_offsets, more_ends, more_neighbours, queue, begin, end, queue, tail,
                queue, nowhere, visited, parents, seen, above, True,
            )  # fmt: skip
            looked, children, peers = looked + a, children + b, peers + c
        edges = zero
        for i in range(end, tail):
            if scattered and i + ahead < tail:
                prefetch(offsets, queue[i + ahead])
                prefetch(ends, queue[i + ahead])
            v = np.uint64(queue[i])
            visited[v >> six] |= one << (v & low)
            levels[v] = above + np.int32(1)
            edge = np.uint64(offsets[v])
            prefetch(neighbours, edge)
            edges += np.uint64(ends[v]) - edge
            if further:
                edges += np.uint64(more_ends[v]) - np.uint64(more_offsets[v])
        explored += edges
        begin, end = end, tail
        most = small if edges + explored <= unexplored else tiny
        if begin == end or edges > most or looked + np.uint64(16 * done) > most_work:
            break
    return begin, end, edges, explored, done, looked, children, peers


@kernel
def offer_block(block, vertices, found, next_bits, visited, parents, levels, above, counts):  # type: ignore[no-untyped-def]
    """Vertices offer themselves to their unvisited neighbours; who is found is also set in
    ``next_bits``. Edges that led to children, and to peers if ``levels`` is given, are added to
    ``counts``.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    count, _, children, peers = _offer(
        np.uint64(block.first), block.offsets, block.ends, block.neighbours, vertices, np.uint64(0),
        np.uint64(len(vertices)), found, np.uint64(0), found, counts, visited, parents,
        levels, above, False,
    )  # fmt: skip
    for k in range(count):
        v = np.uint64(found[k])
        atomic_add(next_bits, v >> six, one << (v & low))
    atomic_add(counts, 0, np.int64(children))
    atomic_add(counts, 1, np.int64(peers))
    return count

"""The kernels of a search by levels that look from vertices up, and those over sets of bits;
``_levels`` says what the arrays mean, ``_level_kernels`` what ``claims`` are.

Ranges of vertices begin at multiples of 64, so that no two threads write to a word.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import atomic_add, atomic_min, count_ones, kernel, prefetch
from penstock.stream.block import BY_PLACE
from penstock.types import NO_VERTEX

#: Words of 64 vertices that a thread takes at a time.
PULL_WORDS = 64
#: Scanned edges of a vertex that the breakdown tells apart.
TOLD_APART = 64


@kernel
def pull(  # type: ignore[no-untyped-def]
    claims, words, fetch, offsets, ends, neighbours, out_offsets, out_ends, out_rest, out_rest_ends,
    visited, next_bits, parents, levels, level, first_will_do, histogram,
):  # fmt: skip
    """Unvisited vertices look for their smallest visited neighbour, or their first one if that will
    do; those that find one are set in ``next_bits``. ``out_offsets``, ``out_ends``: of the
    out-lists, if they are others; ``out_rest...``: of further edges of the first vertices.
    ``histogram``, if it has entries, counts the vertices that looked at 1, 2, ... edges. ``fetch``
    is None (then the kernel is compiled without it) unless lists stand anywhere: of lists one after
    another the processor fetches the next by itself.

    Returns how many found one, how many edges lead away from them, and how many were looked at.
    """
    one, six, low, zero = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(0)
    count, edges, looked = zero, zero, zero
    while True:
        begin = np.uint64(atomic_add(claims, 0, np.int64(PULL_WORDS)))
        if begin >= np.uint64(words):
            break
        end = min(begin + np.uint64(PULL_WORDS), np.uint64(words))
        for word in range(begin, end):
            later, base = zero, (word + one) << six
            if fetch is not None and word + one < end:
                later = ~visited[word + one]
            todo, found = ~visited[word], zero
            while todo != zero:
                bit = count_ones(~todo & (todo - one))
                todo &= todo - one
                v = (word << six) + bit
                if fetch is not None and later != zero:
                    prefetch(neighbours, offsets[base + count_ones(~later & (later - one))])
                    later &= later - one
                start, stop = np.uint64(offsets[v]), np.uint64(ends[v])
                edge, parent = start, np.uint32(NO_VERTEX)
                while edge < stop:
                    u = np.uint64(neighbours[edge])
                    edge += one
                    if (visited[u >> six] >> (u & low)) & one != zero:
                        parent = min(parent, np.uint32(u))
                        if first_will_do:
                            break
                looked += edge - start
                if len(histogram) > 0 and edge > start:
                    histogram[min(edge - start, np.uint64(len(histogram))) - one] += 1
                if parent != NO_VERTEX:
                    parents[v] = parent
                    levels[v] = level
                    found |= one << bit
                    if len(out_ends) == 0:
                        edges += stop - start
                    elif v < np.uint64(len(out_ends)):
                        edges += np.uint64(out_ends[v]) - np.uint64(out_offsets[v])
                    if v < np.uint64(len(out_rest_ends)):
                        edges += np.uint64(out_rest_ends[v]) - np.uint64(out_rest[v])
            if fetch is not None:
                while later != zero:
                    prefetch(neighbours, offsets[base + count_ones(~later & (later - one))])
                    later &= later - one
            next_bits[word] = found
            count += count_ones(found)
    return count, edges, looked


@kernel
def look_up_block(  # type: ignore[no-untyped-def]
    block, vertices, found, next_bits, visited, parents, first_will_do, known, counts, histogram
):
    """Unvisited vertices look for their smallest visited neighbour, or their first one if that will
    do; those that find one are set in ``next_bits``. Edges that were looked at are added to
    ``counts``, and vertices that looked at 1, 2, ... edges to the ``histogram``, if it has entries.
    ``known``: so many edges at the beginning of each list were looked at before.

    A block of one vertex may be a part of its list, with others at work on other parts.
    """
    offsets, ends, neighbours = block.offsets, block.ends, block.neighbours
    first = np.uint64(block.first)
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    looked = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        place = i if block.first == BY_PLACE else v - first
        edge, stop = np.uint64(offsets[place]), np.uint64(ends[place])
        start, parent = edge, np.uint32(NO_VERTEX)
        if len(vertices) > 1:
            edge = min(edge + np.uint64(known), stop)
        while edge < stop:
            u = np.uint64(neighbours[edge])
            edge += one
            if (visited[u >> six] >> (u & low)) & one != 0:
                parent = min(parent, np.uint32(u))
                if first_will_do:
                    break
        looked += edge - start
        if len(histogram) > 0 and edge > start:
            place = min(edge - start, np.uint64(len(histogram))) - one
            atomic_add(histogram, place, np.int64(1))
        if parent != NO_VERTEX and atomic_min(parents, v, parent) == NO_VERTEX:
            atomic_add(next_bits, v >> six, one << (v & low))
    atomic_add(counts, 0, np.int64(looked))
    return 0


@kernel
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


@kernel
def unvisited(begin, end, chosen, visited, degrees):  # type: ignore[no-untyped-def]
    """The vertices of a range that are not visited and have edges, ascending; how many."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        if (visited[v >> six] >> (v & low)) & one == 0 and degrees[v] > 0:
            chosen[count] = v
            count += one
    return count


@kernel
def settle_listed(begin, end, found, visited, next_bits, levels, level, degrees):  # type: ignore[no-untyped-def]
    """Vertices found get their bit and their level, and are no longer in ``next_bits``; how many
    edges they have, by ``degrees`` if there are any.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    edges = 0
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(found[i])
        atomic_add(visited, v >> six, one << (v & low))
        next_bits[v >> six] = 0
        levels[v] = level
        if len(degrees) > 0:
            edges += np.int64(degrees[v])
    return edges


@kernel
def settle_bits(begin, end, bits, visited, levels, level, degrees):  # type: ignore[no-untyped-def]
    """Vertices of a range whose bits are set get their level, and are
    visited. Returns how many they are, and their edges, by ``degrees`` if there are any.
    """
    one, six, zero = np.uint64(1), np.uint64(6), np.uint64(0)
    count, edges = zero, 0
    for word in range(np.uint64(begin) >> six, (np.uint64(end) + np.uint64(63)) >> six):
        left = bits[word]
        visited[word] |= left
        count += count_ones(left)
        while left != zero:
            v = (word << six) + count_ones(~left & (left - one))
            left &= left - one
            levels[v] = level
            if len(degrees) > 0:
                edges += np.int64(degrees[v])
    return count, edges


@kernel
def recount(  # type: ignore[no-untyped-def]
    begin, end, levels, level, visited, frontier_bits, offsets, ends, rest, rest_ends, degrees
):
    """Set the bits of a range by the levels. Returns how many vertices are of a level, how many are
    reached, and the edges of both, by ``offsets`` and ``ends`` (and those of the ``rest``, of the
    first vertices) or ``degrees``, whichever there are.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    count, reached, edges, explored = 0, 0, 0, 0
    for v in range(np.uint64(begin), np.uint64(end)):
        if levels[v] < 0:
            continue
        degree = 0
        if v < np.uint64(len(ends)):
            degree = np.int64(ends[v]) - np.int64(offsets[v])
            if v < np.uint64(len(rest_ends)):
                degree += np.int64(rest_ends[v]) - np.int64(rest[v])
        elif len(degrees) > 0:
            degree = np.int64(degrees[v])
        reached, explored = reached + 1, explored + degree
        visited[v >> six] |= one << (v & low)
        if levels[v] == level:
            frontier_bits[v >> six] |= one << (v & low)
            count, edges = count + 1, edges + degree
    return count, reached, edges, explored

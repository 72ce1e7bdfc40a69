"""Kernels of the strong components: marks that spread over lists, and depth-first search in memory.

Every vertex has a byte of marks; a phase sets one kind of them, so that threads that write to the
same byte at once write the same.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import atomic_add, atomic_min, kernel
from penstock.types import NO_VERTEX


@kernel
def choose(begin, end, chosen, marks, mask, wanted):  # type: ignore[no-untyped-def]
    """The vertices whose marks, as far as the mask says, are those wanted."""
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        if marks[v] & mask == wanted:
            chosen[count] = v
            count += np.uint64(1)
    return count


@kernel
def begin(begin, end, marks, among, mark, visited, bits):  # type: ignore[no-untyped-def]
    """Vertices of a range that have not all marks of ``among`` are left out, as if visited; those
    that have the ``mark`` already are the frontier.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for v in range(np.uint64(begin), np.uint64(end)):
        left_out = marks[v] & among != among
        if left_out or marks[v] & mark != 0:
            visited[v >> six] |= one << (v & low)
        if not left_out and marks[v] & mark != 0:
            bits[v >> six] |= one << (v & low)


@kernel
def pull(block, vertices, found, marks, source, mark):  # type: ignore[no-untyped-def]
    """Vertices get a mark if a neighbour has all marks of ``source``; how many got it."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        edge, last = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        while edge < last:
            if marks[neighbours[edge]] & source == source:
                marks[v] |= mark
                found[count] = v
                count += one
                break
            edge += one
    return count


@kernel
def push(block, vertices, found, marks, source, target, mark, done):  # type: ignore[no-untyped-def]
    """Vertices that have all marks of ``source`` give a mark to their neighbours that have those of
    ``target``; how many got it. Who has given to all of them is ``done``.
    """
    offsets, neighbours = block.offsets, block.neighbours
    first, one, whole = np.uint64(block.first), np.uint64(1), len(block.offsets) > 2
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        if marks[v] & source != source:
            continue
        edge, last = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        while edge < last:
            w = np.uint64(neighbours[edge])
            if marks[w] & (target | mark) == target:
                marks[w] |= mark
                found[count] = w
                count += one
            edge += one
        if whole:
            marks[v] |= done
    return count


@kernel
def take_edges(block, vertices, found, marks, core, active, places, counts):  # type: ignore[no-untyped-def]
    """The active neighbours of vertices, by their places; those in the core have the last place,
    and one of them is enough. Counts them for each vertex, and gives how many there are.
    """
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    total = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        edge, last = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        start, to_core = total, False
        while edge < last:
            w = np.uint64(neighbours[edge])
            if marks[w] & core == core:
                to_core = True
            elif marks[w] & active and w != v:
                found[total] = places[w]
                total += one
            edge += one
        if to_core:
            found[total] = np.uint32(len(counts) - 1)
            total += one
        if total > start:
            atomic_add(counts, np.int64(places[v]), np.uint32(total - start))
    return total


@kernel
def components(offsets, neighbours, numbers):  # type: ignore[no-untyped-def]
    """Strong components by depth-first search. ``numbers`` are 0 where a vertex is to be looked at
    and ``NO_VERTEX`` where it is not there; they become the components' numbers.

    Pearce: "A space-efficient algorithm for finding strongly connected components", IPL 2016.
    Vertices that are being visited are at the front of one array, those that wait for their
    component to be complete at its back.
    """
    n = len(numbers)
    stack, places = np.empty(n, np.uint32), np.empty(n, offsets.dtype)
    is_root = np.empty(n, np.bool_)
    index, component, waiting = np.uint32(1), np.uint32(n + 1), n
    one = np.uint64(1)
    for start in range(n):
        if numbers[start] != 0:
            continue
        stack[0], places[0], is_root[0] = start, offsets[start], True
        numbers[start] = index
        index += np.uint32(1)
        depth = 1
        while depth > 0:
            v = np.uint64(stack[depth - 1])
            edge, last = np.uint64(places[depth - 1]), np.uint64(offsets[v + one])
            mine, root = numbers[v], is_root[depth - 1]
            below = np.uint64(n)
            while edge < last:
                w = np.uint64(neighbours[edge])
                other = numbers[w]
                if other == 0:
                    below = w
                    break
                if other < mine:
                    mine, root = other, False
                edge += one
            numbers[v], is_root[depth - 1] = mine, root
            if below < np.uint64(n):
                # It is looked at again afterwards, when it has a number.
                places[depth - 1] = edge
                stack[depth], places[depth], is_root[depth] = below, offsets[below], True
                numbers[below] = index
                index += np.uint32(1)
                depth += 1
                continue
            depth -= 1
            if not root:
                waiting -= 1
                stack[waiting] = v
                continue
            index -= np.uint32(1)
            while waiting < n and mine <= numbers[stack[waiting]]:
                numbers[stack[waiting]] = component
                index -= np.uint32(1)
                waiting += 1
            numbers[v] = component
            component -= np.uint32(1)


@kernel
def name(numbers, labels):  # type: ignore[no-untyped-def]
    """The first vertex of each component, for those that have a number."""
    first = np.full(len(numbers) + 2, NO_VERTEX, np.uint32)
    for v in range(len(numbers)):
        number = numbers[v]
        if number == NO_VERTEX:
            continue
        if first[number] == NO_VERTEX:
            first[number] = v
        labels[v] = first[number]


@kernel
def push_colours(block, vertices, found, marks, active, mark, colours):  # type: ignore[no-untyped-def]
    """Vertices give their colour to active neighbours of a larger one, and a mark."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        colour = colours[v]
        edge, last = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        while edge < last:
            w = np.uint64(neighbours[edge])
            if marks[w] & active and colours[w] > colour:
                atomic_min(colours, np.int64(w), colour)
                marks[w] |= mark
            edge += one
    return 0


@kernel
def pull_back(block, vertices, found, marks, mark, colours):  # type: ignore[no-untyped-def]
    """Vertices get a mark if a neighbour of the same colour has it; how many got it."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        edge, last = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        while edge < last:
            w = np.uint64(neighbours[edge])
            if marks[w] & mark and colours[w] == colours[v]:
                marks[v] |= mark
                found[count] = v
                count += one
                break
            edge += one
    return count


@kernel
def settle_colours(begin, end, marks, mark, colours, labels):  # type: ignore[no-untyped-def]
    """Vertices that have the mark are in the component of their colour, and done with."""
    for v in range(np.uint64(begin), np.uint64(end)):
        if marks[v] & mark:
            labels[v] = colours[v]
            marks[v] = 0

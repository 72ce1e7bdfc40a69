"""Searches by weight over lists: the shortest paths from a source, and what they carry.

Nodes are settled as NetworkX settles them: in the order of distances, and of those that are equal
in the order in which they were found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.algorithms._in_order.lists import Lists
from penstock.jit import always_inline, no_refcount
from penstock.types import U32, Array


class Paths(NamedTuple):
    """Shortest paths from one source. Distances are inf, and everything else is 0, before a search
    and after its results were used.
    """

    #: The nodes that were reached, in the order in which they were settled.
    order: Array
    distance: Array
    settled: Array
    #: How many shortest paths lead to each node.
    number: Array
    #: The entries of lists that such paths come by: those of node w are ``counts[w]`` ones from
    #: ``first[w]`` on.
    entries: Array
    first: Array
    counts: Array
    #: What later nodes depend on each.
    share: Array
    #: A heap of entries to settle: distances, when they were found, entries.
    heap_distance: Array
    heap_found: Array
    heap_entry: Array


def paths_over(lists: Lists) -> Paths:
    """Room for searches over these lists."""
    n, total = len(lists.offsets) - 1, len(lists.neighbours)
    first: Array = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(lists.neighbours, minlength=n), out=first[1:])
    return Paths(
        order=np.empty(n, np.int64),
        distance=np.full(n, np.inf),
        settled=np.zeros(n, np.bool_),
        number=np.zeros(n),
        entries=np.empty(total, np.int64),
        first=first,
        counts=np.zeros(n, np.int64),
        share=np.zeros(n),
        heap_distance=np.empty(total),
        heap_found=np.empty(total, np.int64),
        heap_entry=np.empty(total, np.int64),
    )


def owners_of(lists: Lists) -> U32:
    """The place that each entry of the lists belongs to."""
    places: U32 = np.arange(len(lists.offsets) - 1, dtype=np.uint32)
    return np.repeat(places, np.diff(lists.offsets))


@no_refcount
def add_dependencies(  # type: ignore[no-untyped-def]
    offsets, neighbours, weights, owners, sources, sums, extra, of_edges, paths
):
    """To ``sums``, what all sources depend on each node, and ``extra`` for each end of a path; or,
    ``of_edges``, what they depend on each entry.
    """
    for number in range(len(sources)):
        source = sources[number]
        reached = _search(offsets, neighbours, weights, owners, source, paths)
        if not of_edges:
            sums[source] += extra * (reached - 1)
        for rank in range(reached - 1, -1, -1):
            node = paths.order[rank]
            rate = (1.0 + paths.share[node]) / paths.number[node]
            begin = paths.first[node]
            for place in range(begin, begin + paths.counts[node]):
                entry = paths.entries[place]
                before = np.int64(owners[entry])
                part = paths.number[before] * rate
                paths.share[before] += part
                if of_edges:
                    sums[entry] += part
            if node != source and not of_edges:
                sums[node] += paths.share[node] + extra
        _forget(paths, reached)


@no_refcount
def add_distances(  # type: ignore[no-untyped-def]
    offsets, neighbours, weights, owners, sources, paths, sums, counts
):
    """For each source, the sum of the distances to the nodes that it reaches and how many they are.
    False if a weight below 0 makes a path shorter.
    """
    for number in range(len(sources)):
        reached = _search(offsets, neighbours, weights, owners, sources[number], paths)
        total = 0.0
        for rank in range(reached):
            node = paths.order[rank]
            total += paths.distance[node]
            for entry in range(np.int64(offsets[node]), np.int64(offsets[node + 1])):
                if weights[entry] < 0.0:
                    other = np.int64(neighbours[entry])
                    if paths.distance[node] + weights[entry] < paths.distance[other]:
                        return False
        sums[number] = total
        counts[number] = reached
        _forget(paths, reached)
    return True


@no_refcount
def _search(offsets, neighbours, weights, owners, source, paths):  # type: ignore[no-untyped-def]
    """Dijkstra's. Returns how many nodes were reached."""
    paths.distance[source], paths.number[source] = 0.0, 1.0
    node, reached, found, size = source, 0, 0, 0
    while True:
        paths.settled[node] = True
        paths.order[reached] = node
        reached += 1
        for entry in range(np.int64(offsets[node]), np.int64(offsets[node + 1])):
            other = np.int64(neighbours[entry])
            distance = paths.distance[node] + weights[entry]
            # By its distance, a node that was not seen is like one that is infinitely far.
            if not paths.settled[other] and (
                distance < paths.distance[other] or paths.counts[other] == 0
            ):
                paths.distance[other] = distance
                paths.number[other] = 0.0
                paths.entries[paths.first[other]] = entry
                paths.counts[other] = 1
                _push(paths, size, distance, found, entry)
                size += 1
                found += 1
            elif distance == paths.distance[other]:
                paths.number[other] += paths.number[node]
                paths.entries[paths.first[other] + paths.counts[other]] = entry
                paths.counts[other] += 1
        while size and paths.settled[np.int64(neighbours[paths.heap_entry[0]])]:
            size -= 1
            _pop(paths, size)
        if size == 0:
            return reached
        entry = paths.heap_entry[0]
        node = np.int64(neighbours[entry])
        # Only now: an edge of weight 0 may have led more paths to the node before.
        paths.number[node] += paths.number[np.int64(owners[entry])]


@always_inline
def _push(paths, size, distance, found, entry):  # type: ignore[no-untyped-def]
    """Add to a heap of so many."""
    at = size
    while at:
        above = (at - 1) // 2
        if paths.heap_distance[above] <= distance:  # it was found earlier, too
            break
        _move(paths, above, at)
        at = above
    paths.heap_distance[at], paths.heap_found[at] = distance, found
    paths.heap_entry[at] = entry


@always_inline
def _pop(paths, size):  # type: ignore[no-untyped-def]
    """Take the first from a heap that has so many others."""
    distance, found = paths.heap_distance[size], paths.heap_found[size]
    entry = paths.heap_entry[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _is_before(paths, below + 1, below):
            below += 1
        if paths.heap_distance[below] > distance or (
            paths.heap_distance[below] == distance and paths.heap_found[below] > found
        ):
            break
        _move(paths, below, at)
        at = below
    paths.heap_distance[at], paths.heap_found[at] = distance, found
    paths.heap_entry[at] = entry


@always_inline
def _is_before(paths, one, other):  # type: ignore[no-untyped-def]
    if paths.heap_distance[one] == paths.heap_distance[other]:
        return paths.heap_found[one] < paths.heap_found[other]
    return paths.heap_distance[one] < paths.heap_distance[other]


@always_inline
def _move(paths, begin, end):  # type: ignore[no-untyped-def]
    paths.heap_distance[end] = paths.heap_distance[begin]
    paths.heap_found[end] = paths.heap_found[begin]
    paths.heap_entry[end] = paths.heap_entry[begin]


@no_refcount
def _forget(paths, reached):  # type: ignore[no-untyped-def]
    for rank in range(reached):
        node = paths.order[rank]
        paths.distance[node] = np.inf
        paths.settled[node] = False
        paths.number[node] = 0.0
        paths.counts[node] = 0
        paths.share[node] = 0.0


@no_refcount
def match_entries(offsets, neighbours, back, back_entries, marks, reverse):  # type: ignore[no-untyped-def]
    """To ``reverse``, for each entry of undirected lists the one of the same edge in the other
    node's list. ``back`` and ``back_entries``: the lists turned around, and which entry each was.
    """
    for node in range(len(offsets) - 1):
        begin, end = np.int64(offsets[node]), np.int64(offsets[node + 1])
        for place in range(begin, end):
            marks[np.int64(back[place])] = np.int64(back_entries[place])
        for entry in range(begin, end):
            reverse[entry] = marks[np.int64(neighbours[entry])]

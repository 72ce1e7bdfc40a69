"""Breadth-first searches over lists in memory, node by node in NetworkX's order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.algorithms._in_order.lists import Lists
from penstock.jit import helper, kernel
from penstock.types import U32, Array

#: Sources of a batch of searches: each has a bit of a word.
BITS = 64
#: One active node of so many is enough to look at all of them.
MANY = 16


class Search(NamedTuple):
    """What a search found, in the order in which it did."""

    #: The places.
    order: U32
    #: For each of them, where in ``order`` the node is that it was found from; a source is its own.
    above: U32
    #: Where each level begins in ``order``, and where the last one ends.
    starts: Array


def search(lists: Lists, sources: Array, limit: int | None = None) -> Search:
    """Breadth-first search from the nodes at some places, each given once, for at most so many
    levels.
    """
    levels = len(lists.offsets) if limit is None else limit
    return Search(
        *_search(lists.offsets, lists.neighbours, np.asarray(sources, np.int64), np.int64(levels))
    )


def levels_above(lists: Lists, found: Search) -> tuple[Array, U32]:
    """Of each node in ``found.order``, all that lead to it from one level above: of the k-th they
    are ``places[offsets[k] : offsets[k + 1]]``, in the order in which they were found.
    """
    offsets, places = _levels_above(lists.offsets, lists.neighbours, *found)
    return offsets, places


def meet(forward: Lists, backward: Lists, source: int, target: int) -> U32:
    """The places of a path with the fewest edges, by levels from both ends, the smaller one next,
    until they meet; empty if they do not.
    """
    found: U32 = _meet(
        forward.offsets, forward.neighbours, backward.offsets, backward.neighbours,
        np.int64(source), np.int64(target),
    )  # fmt: skip
    return found


def eccentricities(lists: Lists, sources: Array) -> Array:
    """The distance of the farthest node from each source, -1 if there is one that it does not
    reach.
    """
    parts = [
        _farthest(lists.offsets, lists.neighbours, np.asarray(sources[k : k + BITS], np.int64))
        for k in range(0, len(sources), BITS)
    ]
    return np.concatenate([*parts, np.empty(0, np.int64)])


@kernel
def _search(offsets, neighbours, sources, limit):  # type: ignore[no-untyped-def]
    n = len(offsets) - 1
    order, above = np.empty(n, np.uint32), np.empty(n, np.uint32)
    seen = np.zeros(n, np.uint8)
    starts = np.zeros(n + 2, np.int64)
    end = 0
    for source in sources:
        order[end] = source
        above[end] = end
        seen[source] = 1
        end += 1
    levels, begin = 1, 0
    starts[1] = end
    while begin < end and levels <= limit:
        last = end
        for at in range(begin, last):
            place = np.int64(order[at])
            for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
                other = np.int64(neighbours[entry])
                if not seen[other]:
                    seen[other] = 1
                    order[end] = other
                    above[end] = at
                    end += 1
        begin = last
        if end > last:
            levels += 1
            starts[levels] = end
    return order[:end], above[:end], starts[: levels + 1]


@kernel
def _levels_above(offsets, neighbours, order, above, starts):  # type: ignore[no-untyped-def]
    n, found = len(offsets) - 1, len(order)
    rank = np.full(n, -1, np.int64)
    level = np.empty(found, np.int64)
    for k in range(len(starts) - 1):
        for at in range(starts[k], starts[k + 1]):
            rank[order[at]] = at
            level[at] = k
    ends = np.zeros(found + 1, np.int64)
    # Once to count, once to write.
    places = np.empty(0, np.uint32)
    for writing in (False, True):
        for at in range(found):
            place = np.int64(order[at])
            for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
                other = rank[np.int64(neighbours[entry])]
                if other >= 0 and level[other] == level[at] + 1:
                    if writing:
                        places[ends[other]] = place
                        ends[other] += 1
                    else:
                        ends[other + 1] += 1
        if not writing:
            for at in range(found):
                ends[at + 1] += ends[at]
            places = np.empty(ends[found], np.uint32)
    # Each end has moved to where the next begins.
    ends[1:] = ends[:found].copy()
    ends[0] = 0
    return ends, places


#: In what leads to a node: nothing yet; nothing, as it is an end.
_UNSEEN, _NOTHING = np.int64(-1), np.int64(-2)


@kernel
def _meet(offsets, neighbours, in_offsets, in_neighbours, source, target):  # type: ignore[no-untyped-def]
    n = len(offsets) - 1
    before, after = np.full(n, _UNSEEN), np.full(n, _UNSEEN)
    before[source] = after[target] = _NOTHING
    if source == target:
        return _joined(before, after, source)
    fringe, in_fringe = np.empty(n, np.int64), np.empty(n, np.int64)
    fringe[0], in_fringe[0] = source, target
    begin = in_begin = 0
    end = in_end = 1
    while begin < end and in_begin < in_end:
        if end - begin <= in_end - in_begin:
            last = end
            end, met = _step(offsets, neighbours, fringe, begin, end, before, after)
            begin = last
        else:
            last = in_end
            in_end, met = _step(
                in_offsets, in_neighbours, in_fringe, in_begin, in_end, after, before
            )
            in_begin = last
        if met >= 0:
            return _joined(before, after, met)
    return np.empty(0, np.uint32)


@helper
def _step(offsets, neighbours, fringe, begin, end, mine, others):  # type: ignore[no-untyped-def]
    """One more level; the end of the fringe, and a node that the other side knows, or -1."""
    last = end
    for at in range(begin, last):
        place = fringe[at]
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other = np.int64(neighbours[entry])
            if mine[other] == _UNSEEN:
                mine[other] = place
                fringe[end] = other
                end += 1
            if others[other] != _UNSEEN:
                return end, other
    return end, np.int64(-1)


@helper
def _joined(before, after, met):  # type: ignore[no-untyped-def]
    """The path through a node that both sides know."""
    length = 0
    place = met
    while place != _NOTHING:
        length += 1
        place = before[place]
    first, place = length, after[met]
    while place != _NOTHING:
        length += 1
        place = after[place]
    path = np.empty(length, np.uint32)
    place = met
    for at in range(first):
        path[first - 1 - at] = place
        place = before[place]
    place = after[met]
    for at in range(first, length):
        path[at] = place
        place = after[place]
    return path


@kernel
def _farthest(offsets, neighbours, sources):  # type: ignore[no-untyped-def]
    """Searches from up to 64 sources at once."""
    n = len(offsets) - 1
    seen, frontier, coming = np.zeros(n, np.uint64), np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    active, touched = np.empty(n, np.uint32), np.empty(n, np.uint32)
    farthest = np.zeros(len(sources), np.int64)
    everyone, one = np.uint64(0), np.uint64(1)
    size = level = 0
    for k in range(len(sources)):
        bit = one << np.uint64(k)
        everyone |= bit
        if not seen[sources[k]]:
            active[size] = sources[k]
            size += 1
        seen[sources[k]] |= bit
        frontier[sources[k]] |= bit
    while size:
        level += 1
        if size > n // MANY:
            reached = _push_many(offsets, neighbours, seen, frontier, coming, touched)
        else:
            reached = _push_few(offsets, neighbours, active[:size], seen, frontier, coming, touched)
        alive = np.uint64(0)
        for at in range(reached):
            place = np.int64(touched[at])
            frontier[place] = coming[place]
            seen[place] |= coming[place]
            alive |= coming[place]
            coming[place] = 0
        for k in range(len(sources)):
            if (alive >> np.uint64(k)) & one:
                farthest[k] = level
        active, touched, size = touched, active, reached
    for place in range(n):
        everyone &= seen[place]
    for k in range(len(sources)):
        if not (everyone >> np.uint64(k)) & one:
            farthest[k] = -1
    return farthest


@helper
def _push_few(offsets, neighbours, active, seen, frontier, coming, touched):  # type: ignore[no-untyped-def]
    """Active nodes OR their word into what comes to their neighbours; how many were touched."""
    reached = 0
    for at in range(len(active)):
        place = np.int64(active[at])
        word, frontier[place] = frontier[place], 0
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other = np.int64(neighbours[entry])
            new = word & ~seen[other]
            if new:
                if not coming[other]:
                    touched[reached] = other
                    reached += 1
                coming[other] |= new
    return reached


@helper
def _push_many(offsets, neighbours, seen, frontier, coming, touched):  # type: ignore[no-untyped-def]
    """The same if most nodes are active: without a branch for each entry."""
    n = len(offsets) - 1
    for place in range(n):
        word, frontier[place] = frontier[place], 0
        if word:
            for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
                coming[np.int64(neighbours[entry])] |= word
    reached = 0
    for place in range(n):
        coming[place] &= ~seen[place]
        if coming[place]:
            touched[reached] = place
            reached += 1
    return reached

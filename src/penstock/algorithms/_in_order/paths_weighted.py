"""Dijkstra's algorithm over lists, with NetworkX's choice among paths of the same length.

Of two nodes at the same distance the one that was given that distance first has its turn first: a
heap is by distance, then by *turn*, which counts how often a distance was set.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from penstock.algorithms._in_order.lists import Lists
from penstock.jit import always_inline, kernel, no_refcount
from penstock.types import Array

#: What a node has instead of its position in the heap.
_UNSEEN, _FINAL = -1, -2
#: What kernels answer instead of a number of nodes, or of a node. A contradiction is that a
#: distance was final and then could be lowered: there are negative weights.
_CONTRADICTION, _NO_MEETING = -1, -2


class Search(NamedTuple):
    """What a search found."""

    #: The places in the order in which their distances became final; sources come first, unless
    #: there are negative weights.
    order: Array
    #: By place; inf for those that are not in ``order``, unless the search ended early.
    distances: Array
    #: By place: the one before it on a shortest path; a source is its own.
    parents: Array


def search(
    lists: Lists, sources: Array, cutoff: float | None = None, target: int | None = None
) -> Search:
    """Search from the nodes at some places, no farther than ``cutoff``, until the distance of
    ``target`` is final. Edges of lists without weights weigh 1.
    """
    n = len(lists.offsets) - 1
    distances, positions = np.full(n, np.inf), np.full(n, _UNSEEN)
    order, parents, turns, nodes = (np.empty(n, np.int64) for _ in range(4))
    done = _search(
        *_arrays(lists), np.asarray(sources, np.int64), *_limits(cutoff, target),
        distances, parents, order, positions, np.empty(n), turns, nodes,
    )  # fmt: skip
    if done == _CONTRADICTION:
        raise ValueError("Contradictory paths found:", "negative weights?")
    return Search(order[:done], distances, parents)


def predecessors(
    lists: Lists, found: Search, cutoff: float | None = None
) -> tuple[Array, Array, Array]:
    """After a search from one source: the places in the order in which they were first seen, and
    all that are before each on shortest paths: of a place they are ``before[starts[place] :
    starts[place + 1]]``, in the order of the search.
    """
    limit, _ = _limits(cutoff, None)
    seen, starts, before = _predecessors(*_arrays(lists), limit, found.order, found.distances)
    return seen, starts, before


def meet(forward: Lists, backward: Lists, source: int, target: int) -> tuple[float, Array]:
    """The length of a shortest path and its places, by searches from both ends in turns; no places
    if there is none.
    """
    middle, distance, parents = _meet(
        *_arrays(forward), *_arrays(backward), np.int64(source), np.int64(target)
    )
    if middle == _CONTRADICTION:
        raise ValueError("Contradictory paths found: negative weights?")
    if middle == _NO_MEETING:
        return distance, np.empty(0, np.int64)
    return distance, np.concatenate([_way(parents[0], middle)[::-1], _way(parents[1], middle)[1:]])


def _arrays(lists: Lists) -> tuple[Array, Array, Array]:
    weights = np.empty(0) if lists.weights is None else lists.weights
    return lists.offsets, lists.neighbours, weights


def _limits(cutoff: float | None, target: int | None) -> tuple[float, np.int64]:
    return np.inf if cutoff is None else float(cutoff), np.int64(-1 if target is None else target)


def _way(parents: Array, place: int) -> Array:
    """From a place along its parents to the one that has none (-1)."""
    places = []
    while place >= 0:
        places.append(place)
        place = int(parents[place])
    return np.array(places, np.int64)


@always_inline
def _rise(keys, turns, nodes, positions, at, key, turn, node):  # type: ignore[no-untyped-def]
    """Put a node into the heap at a position or above. It is the last one to get its key."""
    while at > 0:
        up = (at - 1) >> 2
        if keys[up] <= key:
            break
        keys[at], turns[at], nodes[at] = keys[up], turns[up], nodes[up]
        positions[nodes[at]] = at
        at = up
    keys[at], turns[at], nodes[at] = key, turn, node
    positions[node] = at


@always_inline
def _refill(keys, turns, nodes, positions, size):  # type: ignore[no-untyped-def]
    """Take the first node out of the heap, whose last one is at position ``size`` until then."""
    key, turn, node = keys[size], turns[size], nodes[size]
    at = 0
    while True:
        first = 4 * at + 1
        if first >= size:
            break
        least = first
        for other in range(first + 1, min(first + 4, size)):
            if keys[other] < keys[least] or (
                keys[other] == keys[least] and turns[other] < turns[least]
            ):
                least = other
        if key < keys[least] or (key == keys[least] and turn < turns[least]):
            break
        keys[at], turns[at], nodes[at] = keys[least], turns[least], nodes[least]
        positions[nodes[at]] = at
        at = least
    keys[at], turns[at], nodes[at] = key, turn, node
    positions[node] = at


@no_refcount
def _search(  # type: ignore[no-untyped-def]
    offsets, neighbours, weights, sources, cutoff, target,
    distances, parents, order, positions, keys, turns, nodes,
):  # fmt: skip
    """Fill ``distances``, ``parents`` and ``order``; returns how many are in order."""
    turn = size = done = 0
    for source in sources:
        if positions[source] == _UNSEEN:
            distances[source] = 0
            parents[source] = source
            _rise(keys, turns, nodes, positions, size, 0.0, turn, source)
            turn += 1
            size += 1
    while size:
        distance, place = keys[0], nodes[0]
        size -= 1
        if size:
            _refill(keys, turns, nodes, positions, size)
        positions[place] = _FINAL
        order[done] = place
        done += 1
        if place == target:
            break
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other = np.int64(neighbours[entry])
            length = distance + (weights[entry] if len(weights) else 1.0)
            if length > cutoff or (length >= distances[other] and length < np.inf):
                continue
            at = positions[other]
            if at == _UNSEEN or length < distances[other]:
                if at == _FINAL:
                    return _CONTRADICTION
                if at == _UNSEEN:
                    at = size
                    size += 1
                distances[other] = length
                parents[other] = place
                _rise(keys, turns, nodes, positions, at, length, turn, other)
                turn += 1
    return done


@kernel
def _predecessors(  # type: ignore[no-untyped-def]
    offsets, neighbours, weights, cutoff, order, distances
):
    n = len(offsets) - 1
    starts = np.zeros(n + 1, np.int64)
    seen = np.empty(len(order), np.int64)
    is_seen = np.zeros(n, np.bool_)
    seen[0], is_seen[order[0]], count = order[0], True, 1
    for filling in (False, True):
        if filling:
            starts[1:] = np.cumsum(starts[1:])
            found = np.empty(starts[n], np.int64)
            ends = starts[:n].copy()
        for place in order:
            for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
                other = np.int64(neighbours[entry])
                length = distances[place] + (weights[entry] if len(weights) else 1.0)
                if length > cutoff:
                    continue
                if not is_seen[other]:
                    is_seen[other] = True
                    seen[count] = other
                    count += 1
                if length == distances[other]:
                    if filling:
                        found[ends[other]] = place
                        ends[other] += 1
                    else:
                        starts[other + 1] += 1
    return seen, starts, found


@kernel
def _meet(  # type: ignore[no-untyped-def]
    offsets, neighbours, weights, in_offsets, in_neighbours, in_weights, source, target
):
    """A place in the middle, the distance of the ends, and parents towards the source and towards
    the target. A node stays in a heap under its old distances as well: as in NetworkX, taking it
    out again is a turn.
    """
    n = len(offsets) - 1
    parents = np.empty((2, n), np.int64)
    distances = np.empty((2, n))
    states = np.zeros((2, n), np.uint8)  # 1: seen, 2: final
    heaps = ([(0.0, 0, source)], [(0.0, 1, target)])
    parents[0, source] = parents[1, target] = -1
    distances[0, source] = distances[1, target] = 0
    states[0, source] = states[1, target] = 1
    turn, side, middle, best = 2, 1, _NO_MEETING, np.inf
    while len(heaps[0]) and len(heaps[1]):
        side = 1 - side
        distance, _, place = heappop(heaps[side])
        if states[side, place] == 2:
            continue
        states[side, place] = 2
        if states[1 - side, place] == 2:
            return middle, best, parents
        here = (offsets if side == 0 else in_offsets)[place : place + 2]
        for entry in range(np.int64(here[0]), np.int64(here[1])):
            other = np.int64((neighbours if side == 0 else in_neighbours)[entry])
            length = distance
            length += (weights if side == 0 else in_weights)[entry] if len(weights) else 1.0
            state = states[side, other]
            if state == 2:
                if length < distances[side, other]:
                    return _CONTRADICTION, best, parents
            elif state == 0 or length < distances[side, other]:
                states[side, other] = 1
                distances[side, other] = length
                parents[side, other] = place
                heappush(heaps[side], (length, turn, other))
                turn += 1
                if states[1 - side, other]:
                    total = length + distances[1 - side, other]
                    if middle == _NO_MEETING or total < best:
                        best, middle = total, other
    return _NO_MEETING, best, parents

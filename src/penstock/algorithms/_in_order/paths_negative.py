"""Bellman and Ford's algorithm over lists, with a queue, as NetworkX has it: weights may be
negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.algorithms._in_order.lists import Lists
from penstock.jit import helper, kernel
from penstock.types import Array


class Search(NamedTuple):
    """What a search from one source found."""

    #: The places in the order in which they were first reached.
    order: Array
    #: By place, inf for those that are not reached.
    distances: Array
    #: Those before a place on shortest paths are ``before[starts[place] : starts[place + 1]]``.
    starts: Array
    before: Array


def search(lists: Lists, source: int, *, early: bool = True) -> Search | None:
    """Search from the node at a place; None if a cycle whose weights sum up to less than 0 is
    within reach. ``early``: look for signs of a negative cycle on the way, so
    that the search need not go round it n times.
    """
    weights = np.ones(len(lists.neighbours)) if lists.weights is None else lists.weights
    cycle, *found = _search(lists.offsets, lists.neighbours, weights, np.int64(source), early)
    return None if cycle else Search(*found)


def first_paths(found: Search, ends: Array) -> list[Array]:
    """The places of the first shortest path to each of some places that were reached, always by the
    first of those before that is not on the path already.
    """
    flat, offsets = _first_paths(found.starts, found.before, found.order[0], ends)
    return np.split(flat, offsets[1:-1])


@kernel
def _search(offsets, neighbours, weights, source, early):  # type: ignore[no-untyped-def]
    n = len(offsets) - 1
    distances, order, reached = np.full(n, np.inf), np.empty(n, np.int64), 1
    distances[source], order[0] = 0, source
    # Those before each place are a chain of links, which begins at its first and ends at its last.
    first, last = np.full(n, -1), np.full(n, -1)
    link_place, link_next, links, free = np.empty(n, np.int64), np.empty(n, np.int64), 0, -1
    queue, begin, size = np.empty(n, np.int64), 0, 1
    queue[0] = source
    is_queued, times = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    is_queued[source] = True
    # The last edge on the path to a place that did not only pass an update on.
    changed_from, changed_to, lowered_by = np.full(n, -1), np.full(n, -1), np.full(n, -1)
    while size:
        place = queue[begin]
        begin, size = (begin + 1) % n, size - 1
        is_queued[place] = False
        if _any_queued(first[place], link_place, link_next, is_queued):
            continue
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other = np.int64(neighbours[entry])
            length = distances[place] + weights[entry]
            if length < distances[other]:
                if early:
                    if other == changed_from[place] or other == changed_to[place]:
                        return True, order, distances, first, link_place
                    if lowered_by[other] == place:
                        changed_from[other] = changed_from[place]
                        changed_to[other] = changed_to[place]
                    else:
                        changed_from[other], changed_to[other] = place, other
                    lowered_by[other] = place
                if not is_queued[other]:
                    queue[(begin + size) % n] = other
                    size += 1
                    is_queued[other] = True
                    times[other] += 1
                    if times[other] == n:
                        return True, order, distances, first, link_place
                if distances[other] == np.inf:
                    order[reached] = other
                    reached += 1
                distances[other] = length
                if first[other] >= 0:
                    link_next[last[other]] = free
                    free = first[other]
                first[other] = -1
            elif distances[other] == np.inf or length != distances[other]:
                continue
            if free < 0:
                link_place, link_next = _with_room(link_place, links), _with_room(link_next, links)
                free, link_next[links] = links, -1
                links += 1
            link, free = free, link_next[free]
            link_place[link], link_next[link] = place, -1
            if first[other] < 0:
                first[other] = link
            else:
                link_next[last[other]] = link
            last[other] = link
    starts, before = _in_rows(first, link_place, link_next)
    return False, order[:reached], distances, starts, before


@helper
def _any_queued(link, link_place, link_next, is_queued):  # type: ignore[no-untyped-def]
    while link >= 0:
        if is_queued[link_place[link]]:
            return True
        link = link_next[link]
    return False


@helper
def _with_room(array, used):  # type: ignore[no-untyped-def]
    """The array, or a larger one with the same values if it is used up."""
    if used < len(array):
        return array
    larger = np.empty(2 * len(array), array.dtype)
    larger[:used] = array
    return larger


@helper
def _in_rows(first, link_place, link_next):  # type: ignore[no-untyped-def]
    starts = np.zeros(len(first) + 1, np.int64)
    before = np.empty(len(link_place), np.int64)
    at = 0
    for place in range(len(first)):
        link = first[place]
        while link >= 0:
            before[at] = link_place[link]
            at += 1
            link = link_next[link]
        starts[place + 1] = at
    return starts, before[:at]


@kernel
def _first_paths(starts, before, source, ends):  # type: ignore[no-untyped-def]
    n = len(starts) - 1
    path, tried = np.empty(n, np.int64), np.empty(n, np.int64)
    is_on_path = np.zeros(n, np.bool_)
    flat, offsets, total = np.empty(n, np.int64), np.zeros(len(ends) + 1, np.int64), 0
    for k in range(len(ends)):
        top = 0
        path[0], tried[0] = ends[k], 0
        is_on_path[ends[k]] = True
        while path[top] != source:
            place = path[top]
            at = starts[place] + tried[top]
            if at == starts[place + 1]:
                is_on_path[place] = False
                top -= 1
                continue
            tried[top] += 1
            if not is_on_path[before[at]]:
                top += 1
                path[top], tried[top] = before[at], 0
                is_on_path[before[at]] = True
        while total + top + 1 > len(flat):
            flat = _with_room(flat, len(flat))
        for at in range(top + 1):
            flat[total + at] = path[top - at]
            is_on_path[path[at]] = False
        total += top + 1
        offsets[k + 1] = total
    return flat[:total], offsets

"""Chunks of the pools that degree-aware lists are in; ``list_sizes`` says what they are."""

from __future__ import annotations

import numpy as np

from penstock.dynamic.list_sizes import CLASSES, EXTENT, SIZES, SPLIT_CLASSES
from penstock.jit import always_inline, atomic_add


@always_inline
def _pop(part, c, words, heads):  # type: ignore[no-untyped-def]
    """A free chunk of a class that has some."""
    at = heads[part, c] - np.uint64(1)
    high = np.uint64(words[at + np.uint64(1)]) << np.uint64(32)
    heads[part, c] = np.uint64(words[at]) | high
    return at


@always_inline
def free(part, c, at, words, heads):  # type: ignore[no-untyped-def]
    """Keep a chunk for the next list of its size."""
    head = heads[part, c]
    words[at] = np.uint32(head & np.uint64(0xFFFFFFFF))
    words[at + np.uint64(1)] = np.uint32(head >> np.uint64(32))
    heads[part, c] = at + np.uint64(1)


@always_inline
def take(part, c, sizes, double, words, heads, lists, which):  # type: ignore[no-untyped-def]
    """A chunk of the pool that ``words`` are of (``which``: 0 neighbours, 1 slots), of a size or
    ``double`` (1) of it. If there is no free one, the beginning of a larger one, the rest of which
    is free again.
    """
    extents, tops, twice = lists.extents, lists.tops, np.uint64(double)
    size = sizes[c] << twice
    for k in range(c, min(c + SPLIT_CLASSES, CLASSES)):
        if heads[part, k] != np.uint64(0):
            at = _pop(part, k, words, heads)
            rest = (sizes[k] << twice) - size
            while k > 0:
                if sizes[k] << twice <= rest:
                    rest -= sizes[k] << twice
                    free(part, k, at + size + rest, words, heads)
                else:
                    k -= 1
            return at
    if size > EXTENT:
        return np.uint64(atomic_add(tops, which, np.uint64(size)))
    begin, end = 2 * which, 2 * which + 1
    if extents[part, begin] + size > extents[part, end]:
        at = np.uint64(atomic_add(tops, which, EXTENT))
        if at != extents[part, end]:
            extents[part, begin] = at
        extents[part, end] = at + EXTENT
    at = extents[part, begin]
    extents[part, begin] = at + size
    return at


@always_inline
def move_list(part, u, room, lists):  # type: ignore[no-untyped-def]
    """Move a list to a chunk with room for ``room`` entries."""
    neighbours, payload, width = lists.neighbours, lists.payload, lists.width
    c = 1
    while SIZES[c] < np.uint64(room):
        c += 1
    at = take(part, c, SIZES, 0, neighbours, lists.heads, lists, 0)
    start, count = lists.starts[u], lists.ends[u] - lists.starts[u]
    for k in range(count):
        neighbours[at + k] = neighbours[start + k]
    for k in range(count * width):
        payload[at * width + k] = payload[start * width + k]
    if lists.sizes[u] != 0:
        free(part, lists.sizes[u], start, neighbours, lists.heads)
    lists.starts[u] = at
    lists.ends[u] = at + count
    lists.sizes[u] = c


@always_inline
def move_values(at, to, lists):  # type: ignore[no-untyped-def]
    """Give an entry the properties of another."""
    width = lists.width
    for b in range(width):
        lists.payload[to * width + b] = lists.payload[at * width + b]


@always_inline
def come_first(start, place, lists):  # type: ignore[no-untyped-def]
    """Let an entry change places with the first of its list, if its number is smaller. Vertices of
    high degree tend to come early and have small numbers: a search bottom-up finds them first.
    """
    neighbours, payload, width = lists.neighbours, lists.payload, lists.width
    here = start + place
    if neighbours[here] >= neighbours[start]:
        return
    neighbours[here], neighbours[start] = neighbours[start], neighbours[here]
    for b in range(width):
        one, other = here * width + b, start * width + b
        payload[one], payload[other] = payload[other], payload[one]

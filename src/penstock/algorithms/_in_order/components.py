"""Nodes of each component side by side."""

from __future__ import annotations

import numpy as np

from penstock.algorithms._in_order.lists import Lists
from penstock.jit import kernel
from penstock.types import U32, Array


def group(labels: U32) -> tuple[U32, Array]:
    """All places, those of the same label side by side and by ascending label, and where each label
    ends. A label is below the number of places.
    """
    places, ends = _group(labels)
    return places, ends


def strong_components(lists: Lists) -> tuple[U32, Array]:
    """All places, those of a strong component side by side, in the order in which a depth-first
    search through the lists completes them, and where each component ends.
    """
    places, ends = _strong_components(lists.offsets, lists.neighbours)
    return places, ends


@kernel
def _group(labels):  # type: ignore[no-untyped-def]
    n = len(labels)
    at = np.zeros(n + 1, np.int64)
    for place in range(n):
        at[np.int64(labels[place]) + 1] += 1
    ends = np.empty(n, np.int64)
    count = 0
    for label in range(n):
        at[label + 1] += at[label]
        if at[label + 1] > at[label]:
            ends[count] = at[label + 1]
            count += 1
    places = np.empty(n, np.uint32)
    for place in range(n):
        label = np.int64(labels[place])
        places[at[label]] = place
        at[label] += 1
    return places, ends[:count]


@kernel
def _strong_components(offsets, neighbours):  # type: ignore[no-untyped-def]
    """Tarjan's algorithm: nodes wait on a stack until the first one of their component is done."""
    n = len(offsets) - 1
    number, low = np.zeros(n, np.int64), np.zeros(n, np.int64)
    done = np.zeros(n, np.uint8)
    next_entry = offsets[:n].astype(np.int64)
    path, waiting = np.empty(n, np.int64), np.empty(n, np.int64)
    places, ends = np.empty(n, np.uint32), np.empty(n, np.int64)
    depth = waiters = numbered = placed = components = 0
    for root in range(n):
        if number[root]:
            continue
        path[0] = root
        depth = 1
        while depth:
            place = path[depth - 1]
            if not number[place]:
                numbered += 1
                number[place] = low[place] = numbered
                waiting[waiters] = place
                waiters += 1
            entry, end = next_entry[place], np.int64(offsets[place + 1])
            while entry < end and number[np.int64(neighbours[entry])]:
                other = np.int64(neighbours[entry])
                if not done[other]:
                    low[place] = min(low[place], number[other])
                entry += 1
            next_entry[place] = entry + 1
            if entry < end:
                path[depth] = np.int64(neighbours[entry])
                depth += 1
                continue
            depth -= 1
            if depth:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[place])
            if low[place] == number[place]:
                member = np.int64(-1)
                while member != place:
                    waiters -= 1
                    member = waiting[waiters]
                    done[member] = 1
                    places[placed] = member
                    placed += 1
                ends[components] = placed
                components += 1
    return places, ends[:components]

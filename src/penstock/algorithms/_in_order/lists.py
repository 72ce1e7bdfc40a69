"""Lists by place: put into order, turned around, without some of their entries."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from penstock.jit import kernel
from penstock.types import U32, Array

#: What several edges between two nodes weigh together.
Parallel = Literal["min", "sum"]


class Lists(NamedTuple):
    """Neighbours by place: those of the node at place p are ``neighbours[offsets[p] :
    offsets[p + 1]]``, each once, in NetworkX's order. ``weights`` (float64) are aligned with them.
    """

    offsets: Array
    neighbours: U32
    weights: Array | None = None
    #: Whether every weight is a whole number that Python would show as one.
    whole: bool = True


def transpose(lists: Lists) -> Lists:
    """The lists of the other direction; each ascends by place."""
    n, total = len(lists.offsets) - 1, len(lists.neighbours)
    offsets: Array = np.zeros(n + 1, lists.offsets.dtype)
    neighbours: U32 = np.empty(total, np.uint32)
    given: Array = np.empty(0) if lists.weights is None else lists.weights
    weights = np.empty_like(given)
    _transpose(lists.offsets, lists.neighbours, given, offsets, neighbours, weights)
    return lists._replace(
        offsets=offsets,
        neighbours=neighbours,
        weights=None if lists.weights is None else weights,
    )


def weigh_backwards(lists: Lists, forwards: Lists) -> Lists:
    """Lists of one direction with the weights that the same edges have in those of the other,
    without edges that are not there.
    """
    ascending = transpose(forwards)
    weights: Array = np.empty(len(lists.neighbours))
    there: Array = np.zeros(len(lists.neighbours), np.bool_)
    _find_weights(
        ascending.offsets, ascending.neighbours, ascending.weights,
        lists.offsets, lists.neighbours, weights, there,
    )  # fmt: skip
    return keep(lists._replace(weights=weights, whole=forwards.whole), there)


def join(first: Lists, second: Lists) -> Lists:
    """Each list of the first followed by that of the second; both have weights or neither."""
    offsets = offsets_of(np.diff(first.offsets) + np.diff(second.offsets))
    neighbours: U32 = np.empty(int(offsets[-1]), np.uint32)
    _join(first.offsets, first.neighbours, second.offsets, second.neighbours, offsets, neighbours)
    if first.weights is None or second.weights is None:
        return Lists(offsets, neighbours)
    weights: Array = np.empty(int(offsets[-1]), np.float64)
    _join(first.offsets, first.weights, second.offsets, second.weights, offsets, weights)
    return Lists(offsets, neighbours, weights, first.whole and second.whole)


def keep(lists: Lists, there: Array) -> Lists:
    """The lists with those entries only that are there; the same ones if all are."""
    if there.all():
        return lists
    assert lists.weights is not None
    before: Array = np.concatenate([[0], np.cumsum(there)])
    return lists._replace(
        offsets=before[lists.offsets].astype(lists.offsets.dtype),
        neighbours=lists.neighbours[there],
        weights=lists.weights[there],
    )


def arrange(
    degrees: Array, neighbours: U32, weights: Array | None, order: U32, places: U32
) -> Lists:
    """Lists by vertex number as lists by place, each ascending; ``order`` has the vertex number at
    each place and ``places`` the reverse.
    """
    starts = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    offsets = offsets_of(degrees[order])
    given: Array = np.empty(0) if weights is None else weights
    moved, moved_weights = np.empty_like(neighbours), np.empty_like(given)
    _arrange(starts, neighbours, given, order, places, offsets, moved, moved_weights)
    lists = Lists(offsets, moved, None if weights is None else moved_weights)
    return transpose(transpose(lists))


def merge_parallel(lists: Lists, parallel: Parallel) -> Lists:
    """Ascending lists with each neighbour once."""
    given: Array = np.empty(0) if lists.weights is None else lists.weights.copy()
    offsets, neighbours = np.empty_like(lists.offsets), lists.neighbours.copy()
    total = _merge(lists.offsets, neighbours, given, parallel == "sum", offsets)
    return lists._replace(
        offsets=offsets,
        neighbours=neighbours[:total],
        weights=None if lists.weights is None else given[:total],
    )


def offsets_of(degrees: Array) -> Array:
    """Where lists of these sizes begin, one after another, in the type that graphs have."""
    ends = np.cumsum(degrees, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    offsets: Array = np.zeros(len(degrees) + 1, np.uint32 if total < 1 << 32 else np.uint64)
    offsets[1:] = ends
    return offsets


@kernel
def _transpose(offsets, neighbours, weights, to, out, out_weights):  # type: ignore[no-untyped-def]
    n = len(offsets) - 1
    for entry in range(len(neighbours)):
        to[np.int64(neighbours[entry]) + 1] += 1
    for place in range(n):
        to[place + 1] += to[place]
    next_at = to[:n].astype(np.int64)
    for place in range(n):
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other = np.int64(neighbours[entry])
            at = next_at[other]
            next_at[other] = at + 1
            out[at] = place
            if len(weights):
                out_weights[at] = weights[entry]


@kernel
def _find_weights(  # type: ignore[no-untyped-def]
    offsets, neighbours, weights, wanted_offsets, wanted, out, there
):
    n = len(offsets) - 1
    entries = np.full(n, -1, np.int64)
    for place in range(n):
        begin, end = np.int64(offsets[place]), np.int64(offsets[place + 1])
        for entry in range(begin, end):
            entries[np.int64(neighbours[entry])] = entry
        for entry in range(np.int64(wanted_offsets[place]), np.int64(wanted_offsets[place + 1])):
            found = entries[np.int64(wanted[entry])]
            if found >= begin:
                out[entry], there[entry] = weights[found], True


@kernel
def _join(starts, values, more_starts, more_values, offsets, out):  # type: ignore[no-untyped-def]
    for place in range(len(offsets) - 1):
        at = np.int64(offsets[place])
        for entry in range(np.int64(starts[place]), np.int64(starts[place + 1])):
            out[at] = values[entry]
            at += 1
        for entry in range(np.int64(more_starts[place]), np.int64(more_starts[place + 1])):
            out[at] = more_values[entry]
            at += 1


@kernel
def _arrange(  # type: ignore[no-untyped-def]
    starts, neighbours, weights, order, places, offsets, out, out_weights
):
    for place in range(len(order)):
        vertex = np.int64(order[place])
        at = np.int64(offsets[place])
        for entry in range(starts[vertex], starts[vertex + 1]):
            out[at] = places[np.int64(neighbours[entry])]
            if len(weights):
                out_weights[at] = weights[entry]
            at += 1


@kernel
def _merge(offsets, neighbours, weights, is_sum, to):  # type: ignore[no-untyped-def]
    """In place; returns how many entries are left."""
    at = 0
    to[0] = 0
    for place in range(len(offsets) - 1):
        begin = at
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            if at > begin and neighbours[at - 1] == neighbours[entry]:
                if len(weights) and is_sum:
                    weights[at - 1] += weights[entry]
                elif len(weights):
                    weights[at - 1] = min(weights[at - 1], weights[entry])
                continue
            neighbours[at] = neighbours[entry]
            if len(weights):
                weights[at] = weights[entry]
            at += 1
        to[place + 1] = at
    return at

"""Orders of the vertices of a graph, for algorithms that take them one after the other.

An order is an array of vertex numbers, or None where it is 0, 1, 2, ...
"""

from __future__ import annotations

import numpy as np

from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.store.mapped import PART, read_range
from penstock.types import I64, U32, VID


def largest_first(graph: Graph) -> U32 | None:
    """Vertices by descending degree, in all directions together; of equal ones the smaller id is
    first.
    """
    n = graph.num_vertices
    degrees: U32 = np.zeros(n, np.uint32)
    for direction in graph.directions:
        for begin in range(0, n, PART):
            end = min(begin + PART, n)
            degrees[begin:end] += read_range(graph.degrees(direction), begin, end)
    ends: I64 = np.zeros(int(degrees.max(initial=0)) + 2, np.int64)
    _count_degrees(degrees, ends)
    places = np.cumsum(ends[::-1])[::-1].copy()  # of degree d, they begin at places[d + 1]
    order: U32 = np.empty(n, VID)
    for begin in range(0, n, PART):
        end = min(begin + PART, n)
        _place(_by_id(graph, begin, end), degrees, places, order)
    return None if _is_counting(order) else order


def by_id(graph: Graph) -> U32 | None:
    """Vertices by ascending ids."""
    if graph.vid_of_rank is None:
        return None
    order: U32 = np.empty(graph.num_vertices, VID)
    for begin in range(0, len(order), PART):
        order[begin : begin + PART] = _by_id(graph, begin, min(begin + PART, len(order)))
    return order


def shuffled(graph: Graph, seed: int) -> U32 | None:
    """Vertices in an order that a seed says."""
    order = by_id(graph)
    if order is None:
        order = np.arange(graph.num_vertices, dtype=VID)
    _shuffle(order, np.uint64(seed % (1 << 64)))
    return order


def _by_id(graph: Graph, begin: int, end: int) -> U32:
    """The vertices of a range of ids."""
    order = graph.vid_of_rank
    return np.arange(begin, end, dtype=VID) if order is None else read_range(order, begin, end)


@kernel
def _count_degrees(degrees, counts):  # type: ignore[no-untyped-def]
    for degree in degrees:
        counts[degree] += 1


@kernel
def _place(vertices, degrees, places, order):  # type: ignore[no-untyped-def]
    """Put vertices, in the order given, behind those of larger degrees."""
    for v in vertices:
        above = np.uint64(degrees[v]) + np.uint64(1)
        order[places[above]] = v
        places[above] += 1


@kernel
def _is_counting(order):  # type: ignore[no-untyped-def]
    """Whether the vertices are 0, 1, 2, ..."""
    place = 0
    while place < len(order) and order[place] == place:
        place += 1
    return place == len(order)


@kernel
def _shuffle(order, seed):  # type: ignore[no-untyped-def]
    """Fisher and Yates, with numbers of splitmix64."""
    state = seed
    for k in range(len(order) - 1, 0, -1):
        state += np.uint64(0x9E3779B97F4A7C15)
        x = state
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x = (x ^ (x >> np.uint64(31))) >> np.uint64(32)
        other = np.int64((x * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[other] = order[other], order[k]

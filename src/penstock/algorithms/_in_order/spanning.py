"""Spanning forests over undirected lists by place, of edges in NetworkX's order."""

from __future__ import annotations

import heapq

import numpy as np

from penstock.algorithms._trees import root_of
from penstock.jit import kernel


@kernel
def edges_once(offsets, neighbours, weights):  # type: ignore[no-untyped-def]
    """Ends and weight of each edge that is no loop, where NetworkX comes to it first."""
    count = 0
    for place in range(len(offsets) - 1):
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            count += np.int64(neighbours[entry]) > place
    src, dst = np.empty(count, np.int64), np.empty(count, np.int64)
    their_weights = np.empty(count, np.float64)
    at = 0
    for place in range(len(offsets) - 1):
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other = np.int64(neighbours[entry])
            if other > place:
                src[at], dst[at], their_weights[at] = place, other, weights[entry]
                at += 1
    return src, dst, their_weights


@kernel
def join_trees(order, src, dst, parents):  # type: ignore[no-untyped-def]
    """Those of the edges, in the order given, that join two trees; they do join them."""
    chosen = np.empty(min(len(order), len(parents)), np.int64)
    count = 0
    for edge in order:
        one, other = root_of(parents, src[edge]), root_of(parents, dst[edge])
        if one != other:
            parents[max(one, other)] = min(one, other)
            chosen[count] = edge
            count += 1
    return chosen[:count]


@kernel
def heavy_between_trees(limit, src, dst, weights, parents):  # type: ignore[no-untyped-def]
    """The edges above a weight whose ends are in different trees."""
    found = np.empty(len(src), np.int64)
    count = 0
    for edge in range(len(src)):
        if weights[edge] > limit and root_of(parents, src[edge]) != root_of(parents, dst[edge]):
            found[count] = edge
            count += 1
    return found[:count]


@kernel
def grow_tree(  # type: ignore[no-untyped-def]
    source, offsets, neighbours, weights, sign, visited, best, src, dst, end
):
    """The edges by which a tree grows from a source, the lightest first, of equal ones that found
    first; they are written from ``end`` on, and the new end is returned. ``best`` is NaN where no
    edge has been found yet.
    """
    # Weight, number, place, and neighbour of each edge that might be the next.
    frontier = [(0.0, np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    visited[source] = True
    place, found = np.int64(source), np.int64(0)
    while True:
        for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
            other, weight = np.int64(neighbours[entry]), sign * weights[entry]
            # One that is not lighter than an earlier one to the same node would never be taken.
            if not visited[other] and not weight >= best[other]:
                best[other] = weight
                heapq.heappush(frontier, (weight, found, place, other))
                found += 1
        while len(frontier) and visited[frontier[0][3]]:
            heapq.heappop(frontier)
        if not len(frontier):
            return end
        _, _, src[end], dst[end] = heapq.heappop(frontier)
        place = dst[end]
        visited[place] = True
        end += 1


@kernel
def merge_trees(offsets, neighbours, weights, sign, src, dst):  # type: ignore[no-untyped-def]
    """Every tree takes its lightest edge to another one, round after round; returns how many edges
    were written. An infinite weight is none.
    """
    n = len(offsets) - 1
    parents, trees = np.arange(n), np.empty(n, np.int64)
    lightest = np.empty(n, np.float64)
    begins, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    count, before = 0, -1
    while count > before:
        before = count
        lightest[:] = np.inf
        for place in range(n):
            trees[place] = root_of(parents, place)
        for place in range(n):
            tree = trees[place]
            for entry in range(np.int64(offsets[place]), np.int64(offsets[place + 1])):
                other, weight = np.int64(neighbours[entry]), sign * weights[entry]
                if trees[other] != tree and weight < lightest[tree]:
                    lightest[tree], begins[tree], ends[tree] = weight, place, other
        # The root of a tree is the first of its nodes, so the trees are in NetworkX's order.
        for tree in range(n):
            if trees[tree] != tree or lightest[tree] == np.inf:
                continue
            one, other = root_of(parents, begins[tree]), root_of(parents, ends[tree])
            if one != other:
                parents[max(one, other)] = min(one, other)
                src[count], dst[count] = begins[tree], ends[tree]
                count += 1
    return count

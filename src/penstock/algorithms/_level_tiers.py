"""Steps of a search whose first edges are in memory and whose lists are on the disk.

Top-down, vertices whose whole list is in memory are expanded from there; the lists of the others
are read, long ones in long runs. Bottom-up, an unvisited vertex looks through its first edges; only
if none of them leads to a visited vertex, and the list goes on, the list is read, with many others
at once. Vertices with many edges have neighbours of high degree, which are visited early: on
scale-free graphs hardly a list is read bottom-up.

In the *dual* model, which is there to compare with, whole lists are in memory for bottom-up, and
top-down reads every list.

Iwabuchi: "Locality-aware graph data store for large-scale graph analytics", thesis, Tokyo Institute
of Technology 2017, chapter 3 (NETALX).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms import _level_bits as bits
from penstock.algorithms import _level_kernels as kernels
from penstock.algorithms._direction import Mode, Sample, choose_tiered, few_to_read
from penstock.algorithms._level_state import LISTED, Search
from penstock.algorithms._level_steps import (
    facts_of_pull,
    facts_of_push,
    look_up_lists,
    move_to_next_bits,
    new_histogram,
    pull_lists,
    push_lists,
    settle,
)
from penstock.jit import count_ones, helper, kernel
from penstock.types import I64, U32

#: Vertices that are asked.
SAMPLE = 1 << 12


def choose(search: Search) -> Mode:
    """Which way to find the next level: some vertices are asked how bottom-up would go."""
    engine = search.engine
    out, into = engine.tier(search.directions[0]), engine.tier("in")
    lists = min(search.count, search.edges // (out.head_edges + 1))
    if search.dual:
        lists = search.count
    elif search.frontier is not None:
        begin = search.queued - len(search.frontier)
        lists = int(split_queue(search.queue, begin, search.queued, out.lists_end, out.rest)[0])
        lists -= begin
    if few_to_read(search.edges, lists):
        return "top-down"
    heads = into.heads
    found = _ask_some(search.visited, heads.offsets, heads.neighbours, into.rest, np.uint64(SAMPLE))
    return choose_tiered(search.known(), lists, Sample(*map(int, found)), into.num_edges)


def push(search: Search) -> dict[str, Any]:
    """Find a level top-down."""
    engine, frontier = search.engine, search.listed()
    direction = search.directions[0]
    tier = engine.tier(direction)
    end = search.queued
    begin = end - len(frontier)
    middle, stop = map(int, split_queue(search.queue, begin, end, tier.lists_end, tier.rest))
    if search.dual:
        middle = stop
    tail: I64 = np.array([end], np.int64)
    looked, children, peers = push_lists(
        search, tier.heads, tail, middle, stop, single=stop - middle <= kernels.HELD
    )
    search.queued = int(tail[0])
    facts = {"lists_read": middle - begin, "edges_in_memory": looked}
    if middle > begin:
        counts: I64 = np.zeros(2, np.int64)
        seen = search.levels if search.breakdown else search.levels[:0]
        before = engine.metrics.total().edges_traversed
        most = engine.num_vertices // LISTED
        search.next_bits.fill(0)
        found = engine.traverse(
            search.queue[begin:middle], kernels.offer_block, search.next_bits, search.visited,
            search.parents, seen, np.int32(search.level), counts, direction=direction, most=most,
        )  # fmt: skip
        rest = search.queue[search.queued :]
        if len(found) > most:
            search.queued += int(bits.vertices_of(0, engine.num_vertices, rest, search.next_bits))
        else:
            rest[: len(found)] = found
            search.queued += len(found)
        looked += engine.metrics.total().edges_traversed - before
        children, peers = children + int(counts[0]), peers + int(counts[1])
    settle(search, end, search.level + 1)
    return facts_of_push(search, looked, children, peers) | facts


def pull(search: Search) -> dict[str, Any]:
    """Find a level bottom-up."""
    engine = search.engine
    tier, out = engine.tier("in"), engine.tier("out")
    histogram = new_histogram(search)
    count, edges, looked = pull_lists(
        search, -(-tier.lists_end // 64), tier.heads,
        (out.heads.offsets, out.heads.ends, out.rest, out.rest[1:]), histogram, single=False,
    )  # fmt: skip
    cold = engine.select(
        _unresolved, search.visited, search.next_bits, tier.rest, length=len(tier.rest) - 1
    )
    if len(cold):
        more, further = _pull_cold(search, cold, tier.head_edges, histogram)
        count, edges = count + more, edges + further
    move_to_next_bits(search, count, edges)
    facts = {"lists_read": len(cold), "edges_in_memory": looked}
    return facts_of_pull(search, histogram) | facts


def _pull_cold(search: Search, cold: U32, head: int, histogram: I64) -> tuple[int, int]:
    """Read the lists of vertices that found nobody in their ``head`` first edges; how many find
    somebody there, and edges that lead away from them.
    """
    if len(histogram) and head:  # they are counted again, with all edges that they look at
        histogram[min(head, len(histogram)) - 1] -= len(cold)
    look_up_lists(search, cold, head, histogram)
    out = search.engine.tier("out")
    more, further = _settle_cold(
        cold, search.next_bits, search.levels, np.int32(search.level + 1),
        out.heads.offsets, out.rest,
    )  # fmt: skip
    return int(more), int(further)


@helper
def _edges(offsets, v):  # type: ignore[no-untyped-def]
    """Edges of a vertex by offsets that may end before it."""
    one = np.uint64(1)
    if v + one >= np.uint64(len(offsets)):
        return np.uint64(0)
    return np.uint64(offsets[v + one]) - np.uint64(offsets[v])


@kernel
def _ask_some(visited, offsets, neighbours, rest, most):  # type: ignore[no-untyped-def]
    """About ``most`` vertices at even distances, those that are not visited and have edges: how
    many they are, how many edges they look at, and how many find nobody in a list that goes on.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    asked, looked, unresolved = 0, 0, 0
    n = np.uint64(len(offsets) - 1)
    step = max(n // most, one)
    for v in range(step >> one, n, step):
        edge, stop = np.uint64(offsets[v]), np.uint64(offsets[v + one])
        longer = _edges(rest, v) > np.uint64(0)
        if (edge == stop and not longer) or (visited[v >> six] >> (v & low)) & one != 0:
            continue
        asked += 1
        found = False
        while edge < stop and not found:
            u = np.uint64(neighbours[edge])
            found = (visited[u >> six] >> (u & low)) & one != 0
            edge += one
            looked += 1
        if longer and not found:
            unresolved += 1
    return asked, looked, unresolved


@kernel
def split_queue(queue, begin, end, lists_end, rest):  # type: ignore[no-untyped-def]
    """Put the vertices of a frontier first whose lists go on, and last those that are after all
    lists; where the ones end and the others begin.
    """
    at, stop = np.uint64(begin), np.uint64(end)
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(queue[i])
        if _edges(rest, v) > np.uint64(0):
            queue[i] = queue[at]
            queue[at] = v
            at += np.uint64(1)
    i = at
    while i < stop:
        v = np.uint64(queue[i])
        if v < np.uint64(lists_end):
            i += np.uint64(1)
            continue
        stop -= np.uint64(1)
        queue[i] = queue[stop]
        queue[stop] = v
    return at, stop


@kernel
def _unresolved(begin, end, chosen, visited, next_bits, rest):  # type: ignore[no-untyped-def]
    """The vertices of a range (from a multiple of 64 on) that are not visited, found nobody, and
    have lists that go on; how many.
    """
    one, six, low, zero = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(0)
    count = zero
    for word in range(np.uint64(begin) >> six, (np.uint64(end) + low) >> six):
        left = ~(visited[word] | next_bits[word])
        while left != zero:
            v = (word << six) + count_ones(~left & (left - one))
            left &= left - one
            if _edges(rest, v) > zero:
                chosen[count] = v
                count += one
    return count


@kernel
def _settle_cold(cold, next_bits, levels, level, offsets, rest):  # type: ignore[no-untyped-def]
    """Vertices that found somebody in a list that was read get their level; how many, and their
    edges.
    """
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    count, edges = np.uint64(0), np.uint64(0)
    for i in range(len(cold)):
        v = np.uint64(cold[i])
        if (next_bits[v >> six] >> (v & low)) & one != 0:
            levels[v] = level
            count += one
            edges += _edges(offsets, v) + _edges(rest, v)
    return count, edges

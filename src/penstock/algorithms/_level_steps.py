"""The steps of a search by levels: one level, or several small ones, over lists in memory or on a
stream. Each returns what there is to say about it; ``_levels`` says what the arrays mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms import _direction
from penstock.algorithms import _level_bits as bits
from penstock.algorithms import _level_kernels as kernels
from penstock.algorithms._direction import bottom_up_cost
from penstock.algorithms._level_state import LISTED, Search
from penstock.stream.block import Block
from penstock.types import I64, U32, VID, Array

#: Edges looked at in one call for small levels, about: then others may have a word.
CALL_EDGES = 1 << 22


def begin_at(search: Search, sources: U32) -> None:
    """The sources are the frontier."""
    search.parents[sources] = sources
    if not search.streamed:
        search.queue[: len(sources)] = sources
        search.queued = len(sources)
        settle(search, 0, 0)
    else:
        _settle_listed(search, sources, 0)


def restore(search: Search, level: int) -> None:
    """After a resume: everything else from the levels."""
    extents = (search.degrees[:0],) * 4 if search.streamed else search.extents()
    rows = search.engine.map_ranges(
        bits.recount, search.levels, np.int32(level), search.visited, search.frontier_bits,
        *extents, search.degrees,
    )  # fmt: skip
    count, reached, edges, explored = (sum(column) for column in zip(*rows, strict=True))
    search.move(count, edges, None, level)
    search.unreached += count - reached
    search.unexplored += edges - explored


def facts_of_push(search: Search, looked: int, children: int, peers: int) -> dict[str, Any]:
    """What became of the edges of a level that was found top-down."""
    if not search.breakdown:
        return {"levels": 1, "found": search.count}
    return {
        "levels": 1, "found": search.count, "claimed": search.count,
        "failed": children - search.count, "peer": peers, "parent": looked - children - peers,
    }  # fmt: skip


def facts_of_pull(search: Search, histogram: I64) -> dict[str, Any]:
    """What there is to say about a level that was found bottom-up."""
    facts: dict[str, Any] = {"levels": 1, "found": search.count}
    return facts | {"scanned": histogram.tolist()} if search.breakdown else facts


def new_histogram(search: Search) -> I64:
    """Counts vertices by the edges that they look at, if that is asked for."""
    return np.zeros(bits.TOLD_APART + 1 if search.breakdown else 0, np.int64)


def look_up_lists(search: Search, vertices: U32, known: int, histogram: I64) -> None:
    """Vertices look through their lists, which come from the disk, for a visited neighbour; so many
    edges of each are ``known`` to lead to none.
    """
    engine, counts = search.engine, np.zeros(1, np.int64)
    before = engine.metrics.total().edges_traversed
    engine.traverse(
        vertices, bits.look_up_block, search.next_bits, search.visited, search.parents,
        search.first_will_do, known, counts, histogram, direction="in", most=0,
    )  # fmt: skip
    # Lists are read as a whole; what counts is how far they were looked at, and that once.
    listed = engine.metrics.total().edges_traversed - before
    engine.count_edges(int(counts[0]) - known * len(vertices) - listed)


# In memory


def push_lists(
    search: Search, block: Block, tail: I64, begin: int, end: int, *, single: bool = False
) -> list[int]:
    """The vertices of a part of the queue offer themselves along lists in memory; those found are
    added to it at its ``tail``. Returns edges as :func:`facts_of_push` takes them.
    """
    seen = search.levels if search.breakdown else search.levels[:0]
    parts = kernels.parts_of_long_lists(block.offsets, block.ends, search.queue, begin, end)
    rows = search.engine.run_per_thread(
        kernels.push, tail, block.offsets, block.ends, block.neighbours, search.queue, begin, end,
        parts, search.visited, search.parents, seen, np.int32(search.level), single=single,
    )  # fmt: skip
    looked, children, peers = (sum(column) for column in zip(*rows, strict=True))
    search.engine.count_edges(looked)
    return [looked, children, peers]


def pull_lists(
    search: Search, words: int, block: Block, out: tuple[Array, ...], histogram: I64, *,
    single: bool,
) -> tuple[int, int, int]:  # fmt: skip
    """The unvisited vertices of the first words look through lists in memory for a visited
    neighbour; ``out`` are the extents of the out-lists, if they are others. Returns what
    :func:`bits.pull` does.
    """
    search.next_bits[words:] = 0
    rows = search.engine.run_per_thread(
        bits.pull, words, None if block.is_packed else 1, block.offsets, block.ends,
        block.neighbours, *out, search.visited, search.next_bits, search.parents, search.levels,
        np.int32(search.level + 1), search.first_will_do, histogram,
        single=single or search.breakdown,
    )  # fmt: skip
    count, edges, looked = (int(sum(column)) for column in zip(*rows, strict=True))
    search.engine.count_edges(looked)
    return count, edges, looked


def move_to_next_bits(search: Search, count: int, edges: int) -> None:
    """The vertices in ``next_bits`` are the frontier now."""
    search.frontier_bits, search.next_bits = search.next_bits, search.frontier_bits
    np.bitwise_or(search.visited, search.frontier_bits, out=search.visited)
    search.move(count, edges, None)


def _more_lists(search: Search) -> Block:
    """Further lists to follow; none if there is one direction."""
    if len(search.directions) == 2:
        return search.block(search.directions[1])
    first = search.block(search.directions[0])
    return Block(0, first.offsets[:0], first.neighbours[:0], (), first.ends[:0])


def push_small(search: Search, left: int) -> dict[str, Any]:
    """Find small levels top-down, several in one call."""
    engine, frontier = search.engine, search.listed()
    here, more = search.block(search.directions[0]), _more_lists(search)
    every = engine.options.checkpoint_every.every_steps
    if search.breakdown or search.thresholds is not None:
        left = 1
    elif engine.options.checkpoint is not None and every is not None:
        left = min(left, every)
    tiny, small = np.uint64(_direction.TINY_EDGES), np.uint64(_direction.SMALL_EDGES)
    unexplored = max(search.unexplored, 0) if search.can_pull else 1 << 63
    with engine.metrics.timed("kernel", 0):
        begin, end, edges, explored, levels, looked, children, peers = kernels.run_levels(
            here.offsets, here.ends, here.neighbours, more.offsets, more.ends, more.neighbours,
            search.queue, search.queued - len(frontier), search.queued, search.visited,
            search.parents, search.levels, search.level, left, tiny, small, np.uint64(unexplored),
            np.uint64(CALL_EDGES), search.breakdown,
        )  # fmt: skip
    engine.count_edges(looked)
    found = end - search.queued
    search.queued = end
    search.move(end - begin, edges, search.queue[begin:end], levels)
    search.unreached -= found - search.count
    search.unexplored -= explored - edges
    return facts_of_push(search, looked, children, peers) | {"levels": levels, "found": found}


def push(search: Search) -> dict[str, Any]:
    """Find a level top-down."""
    frontier = search.listed()
    end = search.queued
    tail: I64 = np.array([end], np.int64)
    rows = [
        push_lists(search, search.block(direction), tail, end - len(frontier), end)
        for direction in search.directions
    ]
    search.queued = int(tail[0])
    settle(search, end, search.level + 1)
    return facts_of_push(search, *(sum(column) for column in zip(*rows, strict=True)))


def settle(search: Search, begin: int, level: int) -> None:
    """The vertices of the queue from ``begin`` on are the frontier now."""
    end = search.queued
    rows = search.engine.run_per_thread(
        kernels.settle, search.queue, begin, end, search.visited, search.levels,
        np.int32(level), *search.extents(),
        single=end - begin <= kernels.HELD,
    )  # fmt: skip
    search.move(end - begin, sum(rows), search.queue[begin:end], level - search.level)


def pull(search: Search) -> dict[str, Any]:
    """Find a level bottom-up."""
    here, out = search.block("in"), search.block("out")
    none = out.offsets[:0]
    other = (none,) * 4 if out is here else (out.offsets, out.ends, none, none)
    # Vertices after the last one that has edges need not be looked at, if that is easily known.
    last = len(here.ends)
    if here.is_packed:
        last = int(np.searchsorted(here.offsets, here.offsets[-1]))
    words = -(-last // 64)
    histogram = new_histogram(search)
    small = bottom_up_cost(search.known()) < _direction.SMALL_EDGES
    count, edges, _ = pull_lists(search, words, here, other, histogram, single=small)
    move_to_next_bits(search, count, edges)
    return facts_of_pull(search, histogram)


# On a stream


def push_streamed(search: Search) -> dict[str, Any]:
    """Find a level top-down."""
    engine, frontier = search.engine, search.listed()
    most = engine.num_vertices // LISTED
    counts: I64 = np.zeros(2, np.int64)
    seen = search.levels if search.breakdown else search.levels[:0]
    before = engine.metrics.total().edges_traversed
    found: U32 = np.empty(0, VID)
    for direction in search.directions:
        here = engine.traverse(
            frontier, kernels.offer_block, search.next_bits, search.visited, search.parents, seen,
            np.int32(search.level), counts, direction=direction, most=most,
        )  # fmt: skip
        found = np.concatenate([found, here]) if len(found) else here
    if len(found) > most:
        del found, frontier
        _settle_bits(search)
    else:
        _settle_listed(search, found, 1)
    looked = engine.metrics.total().edges_traversed - before
    return facts_of_push(search, looked, *counts.tolist())


def pull_streamed(search: Search) -> dict[str, Any]:
    """Find a level bottom-up."""
    histogram = new_histogram(search)
    search.frontier = None
    unvisited = search.engine.select(bits.unvisited, search.visited, search.degrees)
    look_up_lists(search, unvisited, 0, histogram)
    _settle_bits(search)
    return facts_of_pull(search, histogram)


def _settle_listed(search: Search, found: U32, levels: int) -> None:
    """Vertices found are the frontier now, ``levels`` further than the last."""
    edges = search.engine.map_ranges(
        bits.settle_listed, found, search.visited, search.next_bits, search.levels,
        np.int32(search.level + levels), search.degrees, length=len(found),
    )  # fmt: skip
    search.move(len(found), sum(edges), found, levels)


def _settle_bits(search: Search) -> None:
    """Vertices in ``next_bits`` are the frontier now."""
    rows = search.engine.map_ranges(
        bits.settle_bits, search.next_bits, search.visited, search.levels,
        np.int32(search.level + 1), search.degrees,
    )  # fmt: skip
    search.frontier_bits, search.next_bits = search.next_bits, search.frontier_bits
    search.next_bits.fill(0)
    search.move(sum(row[0] for row in rows), sum(row[1] for row in rows), None)

"""Kernels that push: the vertices of a frontier visit their neighbours. Each is made around the
functions of an expansion (:mod:`penstock.engine.expansion`).
"""

from __future__ import annotations

import numpy as np

from penstock.jit import Function, always_inline, atomic_add, atomic_or, no_refcount, prefetch
from penstock.stream.block import BY_PLACE

#: Vertices of a frontier that a thread takes at a time ...
PUSH_VERTICES = 64
#: ... and edges of a list that is longer than this.
LONG_LIST = 1 << 14
#: Vertices found that a thread holds before it hands them on.
HELD = 1 << 12
#: How many edges, or vertices, ahead of the one at work memory is fetched.
EDGES_AHEAD = 16


@always_inline
def _hand_on(found, count, shared, tail):  # type: ignore[no-untyped-def]
    """Append what a thread found to what all have found."""
    place = np.uint64(atomic_add(tail, 0, np.int64(count)))
    for k in range(count):
        shared[place + k] = found[k]


def make_push_kernels(
    visit: Function, fetch: Function, passes_by: Function
) -> tuple[Function, Function, Function]:
    """``push``, ``push_steps`` and ``push_block``; see below."""
    expand_list = _make_expand_list(visit, fetch, passes_by)
    expand_lists = _make_expand_lists(expand_list)
    push = _make_push(expand_list, expand_lists)
    return push, _make_push_steps(expand_lists), _make_push_block(expand_lists)


def _make_expand_list(visit: Function, fetch: Function, passes_by: Function) -> Function:
    @always_inline
    def expand_list(  # type: ignore[no-untyped-def]
        u, edge, stop, neighbours, columns, found, at, shared, tail, step, state, alone
    ):
        """Visit the edges of a list; vertices that are found are written to ``found`` from ``at``
        on, and when that is full, moved to ``shared``. Returns where ``found`` goes on.
        """
        one, ahead = np.uint64(1), np.uint64(EDGES_AHEAD + 1)
        while edge < stop:
            v = np.uint64(neighbours[edge])
            if edge + ahead < stop:
                fetch(neighbours[edge + ahead], state)
            if not passes_by(v, state) and visit(u, v, edge, columns, step, state, alone):
                if at == np.uint64(len(found)):
                    _hand_on(found, at, shared, tail)
                    at = np.uint64(0)
                found[at] = v
                at += one
            edge += one
        return at

    return expand_list


def _make_expand_lists(expand_list: Function) -> Function:
    @always_inline
    def expand_lists(  # type: ignore[no-untyped-def]
        first, block, vertices, begin, end, longest, found, at, shared, tail, step, state, alone
    ):
        """The same for some vertices, but those whose list is longer than ``longest``. Returns also
        how many edges were looked at.
        """
        offsets, ends, neighbours = block.offsets, block.ends, block.neighbours
        further, near, looked = np.uint64(8), np.uint64(4), np.uint64(0)
        by_place = first == np.uint64(BY_PLACE & 0xFFFFFFFFFFFFFFFF)
        scattered = len(offsets) == len(ends)
        for i in range(begin, end):
            u = np.uint64(vertices[i])
            place = np.uint64(i) if by_place else u - first
            edge, stop = np.uint64(offsets[place]), np.uint64(ends[place])
            if i + further < end and not by_place:
                prefetch(offsets, np.uint64(vertices[i + further]) - first)
                if scattered:
                    prefetch(ends, np.uint64(vertices[i + further]) - first)
                prefetch(neighbours, offsets[np.uint64(vertices[i + near]) - first])
            if stop - edge > longest:
                continue
            looked += stop - edge
            at = expand_list(
                u, edge, stop, neighbours, block.columns, found, at, shared, tail, step, state,
                alone,
            )  # fmt: skip
        return at, looked

    return expand_lists


def _make_push(expand_list: Function, expand_lists: Function) -> Function:
    @no_refcount
    def push(  # type: ignore[no-untyped-def]
        held, claims, tail, block, queue, begin, end, long_lists, step, state
    ):
        """The vertices of a frontier (from ``begin`` to ``end`` in ``queue``) are expanded;
        those found are appended to the queue. ``long_lists``: rows of a vertex and the edges where
        a part of its long list begins and ends; these vertices are left out otherwise. ``held`` is
        the thread's own. Returns how many edges were looked at.
        """
        at, looked, parts = np.uint64(0), np.uint64(0), np.uint64(len(long_lists))
        while True:
            k = np.uint64(atomic_add(claims, 1, np.int64(1)))
            if k >= parts:
                break
            edge, stop = long_lists[k, 1], long_lists[k, 2]
            looked += stop - edge
            at = expand_list(
                long_lists[k, 0], edge, stop, block.neighbours, block.columns, held, at, queue,
                tail, step, state, False,
            )  # fmt: skip
        longest = np.uint64(LONG_LIST) if parts > 0 else np.uint64(0xFFFFFFFFFFFFFFFF)
        while True:
            place = np.uint64(begin) + np.uint64(atomic_add(claims, 0, np.int64(PUSH_VERTICES)))
            if place >= np.uint64(end):
                break
            last = min(place + np.uint64(PUSH_VERTICES), np.uint64(end))
            at, edges = expand_lists(
                np.uint64(0), block, queue, place, last, longest, held, at, queue, tail, step,
                state, False,
            )  # fmt: skip
            looked += edges
        _hand_on(held, at, queue, tail)
        return looked

    return push


def _make_push_steps(expand_lists: Function) -> Function:
    @no_refcount
    def push_steps(  # type: ignore[no-untyped-def]
        block, more, queue, nowhere, begin, end, step, most_steps, limits, state
    ):
        """Find frontiers one after another on one thread while they are small: until ``most_steps``
        are found, or the ``limits`` are reached: a frontier has more than ``small`` edges (or
        ``tiny``, if fewer are ``unexplored``), or so much work is done. ``step``: that of the
        frontier there is. ``more``: further lists to follow, if it has any.

        Returns where the last frontier begins and ends in the queue, its edges and those of all
        that were found, how many steps were done, and edges that were looked at.
        """
        one, six, low, zero = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(0)
        begin, end, ahead = np.uint64(begin), np.uint64(end), np.uint64(EDGES_AHEAD)
        tiny, small, unexplored, most_work = limits
        offsets, ends, visited = block.offsets, block.ends, state.visited
        further, scattered = len(more.ends) > 0, len(offsets) == len(ends)
        longest = np.uint64(0xFFFFFFFFFFFFFFFF)
        looked, edges, explored, done = zero, zero, zero, np.int64(0)
        while done < most_steps:
            done += 1
            tail, some = expand_lists(
                zero, block, queue, begin, end, longest, queue, end, queue, nowhere,
                np.int32(step + done), state, True,
            )  # fmt: skip
            looked += some
            if further:
                tail, some = expand_lists(
                    zero, more, queue, begin, end, longest, queue, tail, queue, nowhere,
                    np.int32(step + done), state, True,
                )  # fmt: skip
                looked += some
            edges = zero
            for i in range(end, tail):
                if scattered and i + ahead < tail:
                    prefetch(offsets, queue[i + ahead])
                    prefetch(ends, queue[i + ahead])
                v = np.uint64(queue[i])
                visited[v >> six] |= one << (v & low)
                edge = np.uint64(offsets[v])
                prefetch(block.neighbours, edge)
                edges += np.uint64(ends[v]) - edge
                if further:
                    edges += np.uint64(more.ends[v]) - np.uint64(more.offsets[v])
            explored += edges
            begin, end = end, tail
            most = small if edges + explored <= unexplored else tiny
            if begin == end or edges > most or looked + np.uint64(16 * done) > most_work:
                break
        return begin, end, edges, explored, done, looked

    return push_steps


def _make_push_block(expand_lists: Function) -> Function:
    @no_refcount
    def push_block(block, vertices, found, nowhere, next_bits, step, state):  # type: ignore[no-untyped-def]
        """Expand vertices of a block; those found are also set in ``next_bits``, if it has words.
        Returns how many are found.
        """
        one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
        count, _ = expand_lists(
            np.uint64(block.first), block, vertices, np.uint64(0), np.uint64(len(vertices)),
            np.uint64(0xFFFFFFFFFFFFFFFF), found, np.uint64(0), found, nowhere, step, state, False,
        )  # fmt: skip
        if len(next_bits) > 0:
            for k in range(count):
                v = np.uint64(found[k])
                atomic_or(next_bits, v >> six, one << (v & low))
        return count

    return push_block

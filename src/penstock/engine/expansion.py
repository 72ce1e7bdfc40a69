"""What an expansion does with edges, and the kernels that do it.

An algorithm that goes from vertices to their neighbours says what to do with one edge, in compiled
functions (an :class:`Expansion`). The kernels here call them for every edge in question, over lists
 in memory or in blocks that were read, on one thread or on several.

``visit(u, v, edge, columns, step, state, alone)``: an edge leads from a vertex that is expanded, u,
to v. True if v is found by it: then v is among the vertices of the next frontier. If several
threads may be at it, one of them must get True, and the others not.

``look(v, u, place, left, step, state, alone)``: vertex v looks at its neighbour u, which is at a
place in its list, with so many after it. It says ``MISSED``, ``FOUND`` (v is found, but looks on)
or ``ENOUGH`` (v is found, and does not look any further).

``fetch(v, state)`` begins to bring into the cache what ``visit`` needs of v.

``step`` is the number of the frontier that is being found. ``state`` is a named tuple of arrays;
if it takes part in a :class:`~penstock.engine.frontier.Frontier`, ``state.visited`` has a bit for
each vertex that has been in a frontier, and does not change while the next one is found. ``alone``:
no other thread is at work on v. ``edge`` and ``columns``: the place of the edge in each array of
the block's columns.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from penstock.jit import (
    Function,
    always_inline,
    atomic_add,
    atomic_or,
    count_ones,
    no_refcount,
    prefetch,
)
from penstock.stream.block import BY_PLACE

#: What ``look`` says.
MISSED, FOUND, ENOUGH = 0, 1, 2

#: Vertices of a frontier that a thread takes at a time ...
PUSH_VERTICES = 64
#: ... and edges of a list that is longer than this.
LONG_LIST = 1 << 14
#: Vertices found that a thread holds before it hands them on.
HELD = 1 << 12
#: Words of 64 vertices that look at a time.
PULL_WORDS = 64
#: How many edges, or vertices, ahead of the one at work memory is fetched.
EDGES_AHEAD = 16


@always_inline
def no_visit(u, v, edge, columns, step, state, alone):  # type: ignore[no-untyped-def]
    """For expansions that only look."""
    return False


@always_inline
def no_look(v, u, place, left, step, state, alone):  # type: ignore[no-untyped-def]
    """For expansions that only visit."""
    return MISSED


@always_inline
def no_fetch(v, state):  # type: ignore[no-untyped-def]
    """For state that is in the cache anyway."""


class Expansion(NamedTuple):
    """What to do with an edge; see the beginning of this file."""

    visit: Function = no_visit
    look: Function = no_look
    fetch: Function = no_fetch
    #: Whether ``visit`` is called for edges to visited vertices, too.
    every_edge: bool = False


class Kernels(NamedTuple):
    """The kernels of an expansion."""

    push: Function
    push_steps: Function
    push_block: Function
    pull: Function
    pull_block: Function


@always_inline
def is_set(bits, v):  # type: ignore[no-untyped-def]
    """Whether vertex v (uint64) is in a set of bits."""
    return (bits[v >> np.uint64(6)] >> (v & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@always_inline
def _is_visited(v, state):  # type: ignore[no-untyped-def]
    return is_set(state.visited, v)


@always_inline
def _never(v, state):  # type: ignore[no-untyped-def]
    return False


@always_inline
def _hand_on(found, count, shared, tail):  # type: ignore[no-untyped-def]
    """Append what a thread found to what all have found."""
    place = np.uint64(atomic_add(tail, 0, np.int64(count)))
    for k in range(count):
        shared[place + k] = found[k]


@cache
def kernels_of(expansion: Expansion) -> Kernels:
    """The kernels that call an expansion's functions."""
    visit, look, fetch, every_edge = expansion
    passes_by = _never if every_edge else _is_visited
    push, push_steps, push_block = _push_kernels(visit, fetch, passes_by)
    pull, pull_block = _pull_kernels(look)
    return Kernels(push, push_steps, push_block, pull, pull_block)


def _push_kernels(
    visit: Function, fetch: Function, passes_by: Function
) -> tuple[Function, Function, Function]:
    @always_inline
    def expand_list(  # type: ignore[no-untyped-def]
        u, edge, stop, neighbours, columns, found, at, shared, tail, step, state, alone
    ):
        """Visit the edges of a list; who is found is written to ``found`` from ``at`` on, and when
        that is full, moved to ``shared``. Returns where ``found`` goes on.
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

    @no_refcount
    def push(  # type: ignore[no-untyped-def]
        held, claims, tail, block, queue, begin, end, long_lists, step, state
    ):
        """The vertices of a frontier (from ``begin`` to ``end`` in ``queue``) are expanded; who is
        found is appended to the queue. ``long_lists``: rows of a vertex and the edges where a part
        of its long list begins and ends; these vertices are left out otherwise. ``held`` is the
        thread's own. Returns how many edges were looked at.
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

    @no_refcount
    def push_block(block, vertices, found, nowhere, next_bits, step, state):  # type: ignore[no-untyped-def]
        """Expand vertices of a block; who is found is also set in ``next_bits``, if it has words.
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

    return push, push_steps, push_block


def _pull_kernels(look: Function) -> tuple[Function, Function]:
    @always_inline
    def look_through(v, begin, stop, known, more, neighbours, step, state, alone):  # type: ignore[no-untyped-def]
        """A vertex looks through a list from its edge ``known`` on; ``more`` edges follow the list.
        Returns whether it is found, and how many edges it knows now.
        """
        one = np.uint64(1)
        edge, found = begin + np.uint64(known), False
        while edge < stop:
            u = np.uint64(neighbours[edge])
            place = edge - begin
            edge += one
            said = look(v, u, place, stop - edge + more, step, state, alone)
            if said != MISSED:
                found = True
                if said == ENOUGH:
                    break
        return found, edge - begin

    @no_refcount
    def pull(  # type: ignore[no-untyped-def]
        claims, words, ahead, block, rest, out, next_bits, step, state
    ):
        """Vertices that are not visited look through their lists; those that are found are set in
        ``next_bits``. ``rest``: offsets of further edges of the first vertices, which are not here.
        ``out``: where lists begin and end whose edges lead away from those found, and the same of
        further edges; without entries where lists are the same. ``ahead`` is None (then the kernel
        is compiled without it) unless lists stand anywhere: of lists one after another the
        processor fetches the next by itself.

        Returns how many are found, how many edges lead away from them, and how many were looked at.
        """
        one, six, zero = np.uint64(1), np.uint64(6), np.uint64(0)
        count, edges, looked = zero, zero, zero
        offsets, ends, neighbours, visited = (
            block.offsets, block.ends, block.neighbours, state.visited
        )  # fmt: skip
        out_offsets, out_ends, out_rest, out_rest_ends = out
        while True:
            begin = np.uint64(atomic_add(claims, 0, np.int64(PULL_WORDS)))
            if begin >= np.uint64(words):
                break
            end = min(begin + np.uint64(PULL_WORDS), np.uint64(words))
            for word in range(begin, end):
                later, base = zero, (word + one) << six
                if ahead is not None and word + one < end:
                    later = ~visited[word + one]
                todo, found = ~visited[word], zero
                while todo != zero:
                    bit = count_ones(~todo & (todo - one))
                    todo &= todo - one
                    v = (word << six) + bit
                    if ahead is not None and later != zero:
                        prefetch(neighbours, offsets[base + count_ones(~later & (later - one))])
                        later &= later - one
                    start, stop = np.uint64(offsets[v]), np.uint64(ends[v])
                    more = zero
                    if v + one < np.uint64(len(rest)):
                        more = np.uint64(rest[v + one]) - np.uint64(rest[v])
                    hit, known = look_through(
                        v, start, stop, zero, more, neighbours, step, state, True
                    )
                    looked += known
                    if hit:
                        found |= one << bit
                        if len(out_ends) == 0:
                            edges += stop - start
                        elif v < np.uint64(len(out_ends)):
                            edges += np.uint64(out_ends[v]) - np.uint64(out_offsets[v])
                        if v < np.uint64(len(out_rest_ends)):
                            edges += np.uint64(out_rest_ends[v]) - np.uint64(out_rest[v])
                if ahead is not None:
                    while later != zero:
                        prefetch(neighbours, offsets[base + count_ones(~later & (later - one))])
                        later &= later - one
                next_bits[word] = found
                count += count_ones(found)
        return count, edges, looked

    @no_refcount
    def pull_block(block, vertices, found, next_bits, known, looked, step, state):  # type: ignore[no-untyped-def]
        """Vertices of a block look through their lists, from edge ``known`` of each on; those that
        are found are set in ``next_bits``, if it has words. The edges that they know then are
        counted in ``looked``. Returns how many are found.

        A block of one vertex may be a part of its list, with others at work on other parts.
        """
        one, six, low, zero = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(0)
        offsets, ends, first = block.offsets, block.ends, np.uint64(block.first)
        total, count, whole = zero, zero, len(vertices) > 1
        for i in range(np.uint64(len(vertices))):
            v = np.uint64(vertices[i])
            place = i if block.first == BY_PLACE else v - first
            begin, stop = np.uint64(offsets[place]), np.uint64(ends[place])
            skipped = min(np.uint64(known), stop - begin) if whole else zero
            hit, end = look_through(
                v, begin, stop, skipped, zero, block.neighbours, step, state, False
            )
            total += end
            if hit:
                found[count] = v
                count += one
                if len(next_bits) > 0:
                    atomic_or(next_bits, v >> six, one << (v & low))
        atomic_add(looked, 0, np.int64(total))
        return count

    return pull, pull_block

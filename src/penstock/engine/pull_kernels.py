"""Kernels that pull: vertices that are not visited look through their lists. Each is made around
the function of an expansion (:mod:`penstock.engine.expansion`).
"""

from __future__ import annotations

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
#: Words of 64 vertices that look at a time.
PULL_WORDS = 64


def make_pull_kernels(look: Function) -> tuple[Function, Function]:
    """``pull`` and ``pull_block``; see below."""
    look_through = _make_look_through(look)
    return _make_pull(look_through), _make_pull_block(look_through)


def _make_look_through(look: Function) -> Function:
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

    return look_through


def _make_pull(look_through: Function) -> Function:
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

    return pull


def _make_pull_block(look_through: Function) -> Function:
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

    return pull_block

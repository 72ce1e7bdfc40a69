"""Joining what ranks have found, for algorithms that are loops over the verbs. On one host there is
nothing to join, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from penstock.engine.engine import Engine, Kernel
from penstock.engine.exchange import pack_places, unpack_places
from penstock.engine.peers import Arrays
from penstock.stream.lists import Piece
from penstock.types import NO_VERTEX, U32, Array, Direction


def join_in_pairs(
    engine: Engine,
    *,
    give: Callable[[], Arrays],
    merge: Callable[..., object],
    take: Callable[..., object],
) -> None:
    """Merge what all ranks have, in log2 P steps between pairs of ranks: ``give()`` returns what a
    rank has, and ``merge(*theirs)`` merges what another rank has into it. The order of the two must
    not matter. Ranks beyond a power of 2 send theirs to another rank first, and
    ``take(*result)`` replaces theirs by the result at the end.
    """
    rank, size, post, drain = (
        engine.peers.rank, engine.peers.size, engine.peers.post, engine.peers.drain
    )  # fmt: skip
    paired = 1 << (size.bit_length() - 1)
    if paired < size:
        if rank >= paired:
            post(rank - paired, *give())
        for theirs in chain.from_iterable(drain()):
            merge(*theirs)
    for step in (1 << k for k in range(paired.bit_length() - 1)):
        if rank < paired:
            post(rank ^ step, *give())
        for theirs in chain.from_iterable(drain()):
            merge(*theirs)
    if paired < size:
        if rank < size - paired:
            post(rank + paired, *give())
        for result in chain.from_iterable(drain()):
            take(*result)


def join_pairwise(engine: Engine, mine: Array, merge: Callable[[Array], object]) -> None:
    """Every rank has an array of its own; afterwards all have the merged array in ``mine``.
    ``merge(theirs)`` merges another rank's array into ``mine``.
    """

    def take(result: Array) -> None:
        mine[:] = result

    join_in_pairs(engine, give=lambda: (mine,), merge=merge, take=take)


def join_smallest(engine: Engine, mine: Array) -> None:
    """Each entry becomes the smallest that any rank has."""

    def take_smaller(theirs: Array) -> None:
        np.minimum(mine, theirs, out=mine)

    join_pairwise(engine, mine, take_smaller)


def agreed(engine: Engine, number: float | None) -> float | None:
    """A number that was kept from an earlier run, if all ranks have kept the same one."""
    if engine.peers.size == 1:
        return number
    mine: Array = np.array([np.nan if number is None else number])
    said = {float(each[0]) for (each,) in engine.peers.allgather(mine)}
    return number if len(said) == 1 and number in said else None


def join_largest(engine: Engine, mine: Array) -> None:
    """Each entry becomes the largest that any rank has."""
    if engine.peers.size > 1:
        for (theirs,) in engine.peers.allgather(mine.copy()):
            np.maximum(mine, theirs, out=mine)


def smallest_at_owners(engine: Engine, mine: U32) -> None:
    """The entry of each own vertex becomes the smallest that any rank has; ``NO_VERTEX`` stands for
    none. Entries of others are left as they are.
    """
    peers, own = engine.peers, engine.own_vertices
    for rank, vertices in enumerate(engine.vertices_of_ranks):
        if rank != peers.rank:
            theirs = vertices.take(mine)
            places = np.flatnonzero(theirs != NO_VERTEX)
            peers.post(rank, pack_places(places, vertices.count), theirs[places])
    found = own.take(mine) if peers.size > 1 else mine[:0]
    for messages in peers.drain():
        for packed, values in messages:
            places = unpack_places(packed, own.count)
            found[places] = np.minimum(found[places], values)
    if peers.size > 1:
        own.put(mine, found)


def join_found(engine: Engine, vertices: U32) -> U32:
    """The vertices that any rank has found; ascending if there are several ranks."""
    if engine.peers.size == 1:
        return vertices
    return np.unique(np.concatenate([each for (each,) in engine.peers.allgather(vertices)]))


def join_sums(engine: Engine, mine: Array) -> None:
    """Each entry becomes the sum of those of all ranks; exact if only one of them is not 0."""

    def add(theirs: Array) -> None:
        np.add(mine, theirs, out=mine)

    join_pairwise(engine, mine, add)


def scan_everywhere(
    engine: Engine, kernel: Kernel, *args: Any, direction: Direction = "out"
) -> list[Any]:
    """:meth:`Engine.scan <penstock.engine.engine.Engine.scan>` with a kernel that returns a tuple
    of numbers that float64 holds: those of all ranks, in the order of the pages.
    """
    if engine.peers.size == 1:
        return engine.scan(kernel, *args, direction=direction)

    def work(stream: int, piece: Piece) -> tuple[Any, ...]:
        given = (piece.block, piece.begin, piece.end, *args)
        row = engine.timed_call(stream, piece, kernel, *given)
        return piece.page, piece.begin, *row

    mine: Array = np.array(engine.lists(direction).scan(work), np.float64)
    rows = [row for (each,) in engine.peers.allgather(mine) for row in each.tolist()]
    return [tuple(row[2:]) for row in sorted(rows, key=lambda row: (row[0], row[1]))]


def join_owned(engine: Engine, values: Array) -> None:
    """Each entry becomes that of the owner of its vertex."""
    if engine.peers.size == 1:
        return
    given = engine.own_vertices.take(values)
    parts = engine.peers.allgather(given)
    for vertices, (part,) in zip(engine.vertices_of_ranks, parts, strict=True):
        vertices.put(values, part)

"""Whole lists of some vertices at a time, of a graph that streams.

What a kernel gets of a stream is a page: a part of a long list, and one direction of a directed
graph. An algorithm that needs all neighbours of a vertex together, or looks at the same lists many
times, has them gathered here: vertices are cut into groups (a page each, or a long list, or less),
and as many groups as there is room for are in memory at once, with the lists of all directions of
a vertex one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.store.mapped import PART, read_range
from penstock.stream.lists import Piece
from penstock.types import I64, NO_VERTEX, U32, VID, Array, Direction

#: Words that a vertex takes besides its neighbours: its number, where its list begins (twice), its
#: degrees, its place in a queue or an order.
VERTEX_WORDS = 12
#: Pieces of what is gathered, for each thread.
PIECES = 16


class Whole(NamedTuple):
    """Lists of vertices (ascending): that of ``vertices[i]`` is ``neighbours[offsets[i] :
    offsets[i + 1]]``.
    """

    vertices: U32
    offsets: I64
    neighbours: U32


def degrees_of(graph: Graph, direction: Direction, vertices: U32) -> U32:
    """The degrees of some vertices (ascending), as they are stored."""
    found: U32 = np.empty(len(vertices), np.uint32)
    begin = 0
    while begin < len(vertices):
        first = int(vertices[begin])
        end = int(np.searchsorted(vertices, VID.type(min(first + PART, NO_VERTEX))))
        part = read_range(graph.degrees(direction), first, int(vertices[end - 1]) + 1)
        found[begin:end] = part[vertices[begin:end] - VID.type(first)]
        begin = end
    return found


def gather(engine: Engine, vertices: U32) -> Whole:
    """The lists of some vertices (ascending); each page that holds some of them is read once."""
    graph = engine.graph
    degrees = [degrees_of(graph, each, vertices) for each in graph.directions]
    offsets: I64 = np.zeros(len(vertices) + 1, np.int64)
    for each in degrees:
        offsets[1:] += each
    np.cumsum(offsets, out=offsets)
    neighbours: U32 = np.empty(offsets[-1], VID)
    starts = offsets[:-1].copy()
    for direction, counts in zip(graph.directions, degrees, strict=True):
        _gather_direction(engine, direction, vertices, starts, neighbours)
        starts += counts
    return Whole(vertices, offsets, neighbours)


def _gather_direction(
    engine: Engine, direction: Direction, vertices: U32, starts: I64, neighbours: U32
) -> None:
    """Lists of one direction to the places where they start."""
    lists = engine.lists(direction)
    table = lists.table

    def work(stream: int, piece: Piece) -> None:
        assert piece.vertices is not None
        row = table[piece.page]
        # A page may hold a later part of a list.
        before = int(row["first_edge"]) - int(table[piece.page - row["run"]]["first_edge"])
        place = int(np.searchsorted(vertices, piece.vertices[0]))
        engine.timed_call(
            stream, piece, _copy, piece.block, piece.vertices,
            starts[place : place + len(piece.vertices)], before, neighbours,
        )  # fmt: skip

    lists.visit(vertices, work)


def least_words(counts: Counts) -> int:
    """The room that the longest list needs."""
    return max(counts.max_degree + VERTEX_WORDS, 1 << 12)


class WholeLists:
    """Groups of vertices, and what is needed to gather their lists into ``words`` words."""

    def __init__(self, engine: Engine, words: int) -> None:
        self.engine = engine
        self.words = max(words, least_words(engine.counts))
        engine.budget.take(4 * self.words, "gathered lists")
        n, table = engine.num_vertices, engine.graph.page_table(engine.graph.directions[0])
        firsts = table["first_vid"].astype(np.int64)
        cuts, sizes = [], []
        for begin in range(0, n, PART):
            end = min(begin + PART, n)
            room: I64 = np.full(end - begin, VERTEX_WORDS, np.int64)
            for each in engine.graph.directions:
                room += read_range(engine.graph.degrees(each), begin, end)
            inside = firsts[(firsts >= begin) & (firsts < end)]
            found = _cut(begin, room, inside, max(self.words // 8, 1 << 10))
            cuts.append(found[0])
            sizes.append(found[1])
        #: Where groups begin, and the number of vertices; the words that each needs.
        self.cuts: I64 = np.concatenate([*cuts, [n]]).astype(np.int64)
        self.sizes: I64 = np.concatenate([np.empty(0, np.int64), *sizes])

    def fitting(self, groups: Array) -> int:
        """How many of these groups, from the first on, can be gathered together."""
        return int(np.count_nonzero(np.cumsum(self.sizes[groups]) <= self.words))

    def gather(self, groups: Sequence[int]) -> Whole:
        """The lists of some groups, ascending."""
        ranges = [np.arange(self.cuts[k], self.cuts[k + 1], dtype=VID) for k in groups]
        return gather(self.engine, np.concatenate(ranges))

    def run(self, whole: Whole, kernel: Any, *args: Any, pieces: int | None = None) -> list[Any]:
        """``kernel(begin, end, *whole, *args)`` for so many ``pieces`` of about equal numbers of
        edges; what it returned, in order.
        """
        workers, metrics = self.engine.workers, self.engine.metrics
        count = PIECES * workers.count if pieces is None else pieces
        shares = np.linspace(0, int(whole.offsets[-1]), count + 1)[1:-1]
        inner = np.searchsorted(whole.offsets, shares)
        cuts = [0, *np.minimum(inner, len(whole.vertices)).tolist(), len(whole.vertices)]
        ranges = [(a, b) for a, b in pairwise(cuts) if a < b]

        def work(stream: int, piece: tuple[int, int]) -> Any:
            with metrics.timed("kernel", stream):
                return kernel(*piece, *whole, *args)

        return workers.run(work, ranges)


@kernel
def _cut(begin, room, firsts, most):  # type: ignore[no-untyped-def]
    """Where groups begin: at the first vertex of a page, or where they would need too much room;
    and the room of each.
    """
    cuts, sizes = [begin], [0]
    page, held = 0, 0
    for i in range(len(room)):
        at_page = page < len(firsts) and firsts[page] == begin + i
        while page < len(firsts) and firsts[page] == begin + i:
            page += 1
        if held > 0 and (at_page or held + room[i] > most):
            sizes[-1] = held
            cuts.append(begin + i)
            sizes.append(0)
            held = 0
        held += room[i]
    sizes[-1] = held
    return np.array(cuts), np.array(sizes)


@kernel
def _copy(block, vertices, starts, before, neighbours):  # type: ignore[no-untyped-def]
    """Put lists, or the part of one that follows ``before`` others, to their places."""
    first, one = np.uint64(block.first), np.uint64(1)
    for i in range(np.uint64(len(vertices))):
        at = np.uint64(vertices[i]) - first
        edge, end = np.uint64(block.offsets[at]), np.uint64(block.offsets[at + one])
        place = np.uint64(starts[i]) + np.uint64(before)
        while edge < end:
            neighbours[place] = block.neighbours[edge]
            edge += one
            place += one

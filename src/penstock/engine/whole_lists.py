"""Whole lists of some vertices at a time, wherever the lists of the graph are.

What a kernel gets of a stream is a page: a part of a long list, and one direction of a directed
graph. An algorithm that needs all neighbours of a vertex together, or looks at the same lists many
times, has them gathered here: vertices are cut into groups (a page each, or a long list, or less),
and as many groups as the plan has room for are in memory at once, with the lists of all directions
of a vertex one after the other. Lists that are in memory are used where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from penstock.engine.counts import Counts
from penstock.engine.engine import Engine, Kernel
from penstock.engine.ordered import best_end
from penstock.engine.sharing import map_shares
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.store.mapped import PART, read_range
from penstock.stream.lists import Piece
from penstock.types import I64, NO_VERTEX, U32, VID, Array, Direction

#: Words that a vertex takes besides its neighbours: its number, where its list begins (twice), its
#: degrees, its place in a queue or an order ...
VERTEX_WORDS = 12
#: ... or the first three of these, if its list is looked at once.
SPAN_WORDS = 5
#: What the room for lists is counted as.
ROOM = "gathered lists"


class Whole(NamedTuple):
    """Lists of vertices (ascending): that of ``vertices[i]`` is ``neighbours[offsets[i] :
    offsets[i + 1]]``.
    """

    vertices: U32
    offsets: Array
    neighbours: U32


class Span(NamedTuple):
    """Lists of consecutive vertices, those of ``first + i``: ``neighbours[offsets[i] : offsets[i +
    1]]``, and behind them those of the other direction, if the two are apart, in the same way.
    """

    first: np.uint64
    offsets: Array
    neighbours: U32
    other_offsets: Array
    other_neighbours: U32


def all_lists(engine: Engine, direction: Direction = "out") -> tuple[Array, U32]:
    """All lists of a direction: where each begins and the last ends, and the neighbours. For ways
    to run that are declared to have their lists in memory.
    """
    block = engine.block(direction)
    return block.offsets, block.neighbours


def all_sides(engine: Engine) -> tuple[Array, U32, Array, U32]:
    """The same of both directions, or of the only one twice."""
    return *all_lists(engine, engine.directions[0]), *all_lists(engine, engine.directions[-1])


def degrees_of(graph: Graph, direction: Direction, vertices: U32) -> U32:
    """The degrees of some vertices (ascending), as they are stored."""
    if len(vertices) and int(vertices[-1]) - int(vertices[0]) == len(vertices) - 1:
        return read_range(graph.degrees(direction), int(vertices[0]), int(vertices[-1]) + 1)
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
    total = sum(int(each.sum(dtype=np.int64)) for each in degrees)
    offsets: Array = np.zeros(len(vertices) + 1, np.uint32 if total < 1 << 32 else np.int64)
    for each in degrees:
        offsets[1:] += each
    np.cumsum(offsets, out=offsets, dtype=offsets.dtype)
    neighbours: U32 = np.empty(offsets[-1], VID)
    starts = offsets[:-1]
    for k, direction in enumerate(graph.directions):
        starts = starts + degrees[k - 1] if k else starts
        _gather_direction(engine, direction, vertices, starts, neighbours)
    return Whole(vertices, offsets, neighbours)


def _gather_direction(
    engine: Engine, direction: Direction, vertices: U32, starts: Array, neighbours: U32
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


def least_bytes(counts: Counts) -> int:
    """The room that the longest list needs."""
    return 4 * max(counts.max_degree + VERTEX_WORDS, 1 << 12)


class WholeLists:
    """What is needed to gather whole lists into the room that the plan grants: those of groups of
    vertices, which are for ways to run on a stream, or of all vertices, span by span. Lists in
    memory are one span, for which no room is taken.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._in_memory = engine.is_resident()
        self._words = 0
        if not self._in_memory:
            self._words = max(engine.take_room(ROOM), least_bytes(engine.counts)) // 4

    @cached_property
    def _groups(self) -> tuple[I64, I64]:
        return _cut_groups(self.engine, max(self._words // 8, 1 << 10), VERTEX_WORDS)

    @property
    def cuts(self) -> I64:
        """Where groups begin, and the number of vertices."""
        return self._groups[0]

    @property
    def sizes(self) -> I64:
        """The words that each group needs."""
        return self._groups[1]

    def close(self) -> None:
        """Give the room back."""
        self.engine.free(ROOM)

    def fitting(self, groups: Array) -> int:
        """How many of these groups, from the first on, can be gathered together."""
        return int(np.count_nonzero(np.cumsum(self.sizes[groups]) <= self._words))

    def gather(self, groups: Sequence[int]) -> Whole:
        """The lists of some groups, ascending."""
        ranges = [np.arange(self.cuts[k], self.cuts[k + 1], dtype=VID) for k in groups]
        return gather(self.engine, np.concatenate(ranges))

    def map(self, kernel: Kernel, *args: Any, **shares: Any) -> list[Any]:
        """``kernel(begin, end, *span, *args)`` for ranges of all vertices, with the lists of as
        many at a time as there is room for; see :meth:`run`.
        """
        if self._in_memory:
            return self.run(self._everything(), kernel, *args, **shares)
        found = []
        for begin, end in pairwise(self._spans):
            found += self.run(self._span(begin, end), kernel, *args, **shares)
        return found

    def _span(self, begin: int, end: int) -> Span:
        whole = gather(self.engine, np.arange(begin, end, dtype=VID))
        nothing = np.broadcast_to(whole.offsets[:1], len(whole.offsets))
        return Span(np.uint64(begin), whole.offsets, whole.neighbours, nothing, whole.neighbours)

    def _everything(self) -> Span:
        engine = self.engine
        offsets, neighbours, others, other_neighbours = all_sides(engine)
        if len(engine.directions) == 1:
            others = np.broadcast_to(offsets[:1], len(offsets))
        engine.count_edges(int(offsets[-1]) + int(others[-1]))
        return Span(np.uint64(0), offsets, neighbours, others, other_neighbours)

    @cached_property
    def _spans(self) -> list[int]:
        """Where spans begin, and the number of vertices: as many pages as fit, or a part of one."""
        cuts, sizes = _cut_groups(self.engine, self._words, SPAN_WORDS)
        ends, places = np.append(0, np.cumsum(sizes)), [0]
        while places[-1] < self.engine.num_vertices:
            group = int(np.searchsorted(cuts, places[-1]))
            fits = int(np.searchsorted(ends, ends[group] + self._words, side="right")) - 1
            last = int(cuts[max(fits, group + 1)])
            places.append(best_end(self.engine, places[-1], last))
        return places

    def run(self, lists: Whole | Span, kernel: Kernel, *args: Any, **shares: Any) -> list[Any]:
        """``kernel(begin, end, *lists, *args)`` for ranges of what was gathered; see
        :func:`~penstock.engine.sharing.map_shares`.
        """
        others = lists.other_offsets if isinstance(lists, Span) else None
        return map_shares(
            self.engine, kernel, lists.offsets, *lists, *args, others=others, **shares
        )


def _cut_groups(engine: Engine, most: int, vertex_words: int) -> tuple[I64, I64]:
    """Where groups begin, and the number of vertices; and the words that each needs, not more than
    ``most`` unless it is one vertex.
    """
    graph, n = engine.graph, engine.num_vertices
    firsts = graph.page_table(graph.directions[0])["first_vid"].astype(np.int64)
    cuts, sizes = [], []
    for begin in range(0, n, PART):
        end = min(begin + PART, n)
        room: I64 = np.full(end - begin, vertex_words, np.int64)
        for each in graph.directions:
            room += read_range(graph.degrees(each), begin, end)
        inside = firsts[(firsts >= begin) & (firsts < end)]
        found = _cut(begin, room, inside, most)
        cuts.append(found[0])
        sizes.append(found[1])
    return (
        np.concatenate([*cuts, [n]]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *sizes]),
    )


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

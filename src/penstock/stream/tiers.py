"""Lists in two tiers: the first edges of each vertex in memory, everything on the disk.

In memory are the *heads*, the first ``k`` neighbours of each vertex (those of highest degree, if
vertices are in order of degree), and the fronts of all pages, which say where each list is. Of the
lists on the disk only the blocks are read that hold what is asked for, many at once: a disk is as
fast as its queue is deep.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from penstock.jit import kernel
from penstock.metrics import Metrics
from penstock.parallel import Workers
from penstock.store.banded_audit import audit_front
from penstock.store.banded_lists import (
    BLOCK_BYTES,
    FRONT,
    check_requests,
    cut_lists,
    front_bytes,
    gather_batch,
    list_edges,
    page_places,
    plan_batch,
    read_requests,
    sum_blocks,
)
from penstock.store.first_use import damaged
from penstock.store.graph import Graph
from penstock.store.page import PageHeader
from penstock.store.paged import FilePages, PagedGraph
from penstock.stream.arena import Arena, ReadStream
from penstock.stream.block import BY_PLACE, Block
from penstock.stream.blocks import PageBlocks
from penstock.stream.cache import PageCache
from penstock.stream.lists import Dealer, Piece, StreamedLists, Work
from penstock.stream.policy import POLICIES
from penstock.types import I64, U8, U32, U64, Array, Direction

#: A visit to more than one of so many lists goes over whole pages.
DENSE = 8
#: If lists have more edges than this on average, or are more than so many a page, few streams read
#: long.
LONG_EDGES, MANY_LISTS = 1 << 14, 12
#: Two reads closer than this are one, because it takes no longer than a read of its own; many lists
#: are nearly everywhere.
GAP, MANY_GAP = 1 << 15, 1 << 18
#: A piece of work has so many edges at most. A few lists are divided among the streams; of more,
#: each stream has so many rounds.
PIECE_EDGES, FEW_LISTS, ROUNDS = 1 << 18, 16, 4
#: Plans look at heads of so many edges at most, besides whole lists.
MOST_HEAD = 4096
#: Bytes of an edge in a head.
HEAD_BYTES = 4
#: As edges of a head: the whole list.
NO_LIMIT = 1 << 62


#: "deep": many streams read lists of their own. "long lists": few streams do. "long runs": few
#: streams read what lies between lists, too. "pages": whole pages, as on a stream.
Reading = Literal["deep", "long lists", "long runs", "pages"]


def choose_reading(lists: int, edges: int, num_vertices: int, num_pages: int) -> Reading:
    """How some lists of so many edges together are read."""
    if DENSE * lists > num_vertices:
        return "pages"
    if lists > MANY_LISTS * num_pages:
        return "long runs"
    return "long lists" if edges > LONG_EDGES * lists else "deep"


def can_tier(graph: Graph, direction: Direction) -> bool:
    """Whether lists can be read one by one, from files of banded pages, and the first neighbours
    are the smallest.
    """
    if not isinstance(graph, PagedGraph) or graph.neighbour_order != "id":
        return False
    return isinstance(graph.pages(direction), FilePages) and graph.catalog.layout == "banded"


class Tier(NamedTuple):
    """What stays in memory of one direction of a graph."""

    #: The first neighbours of each vertex, and how many they are at most.
    heads: Block
    head_edges: int
    #: Offsets of what follows the heads, up to the last vertex whose list goes on.
    rest: Array
    #: No vertex from this one on has edges, and offsets end at the next multiple of 64; how many
    #: edges there are.
    lists_end: int
    num_edges: int
    #: The fronts of all pages, and what kernels need to know of each page.
    fronts: U8
    places: I64
    #: A checksum of each block of each page.
    block_sums: U64


def tier_bytes(graph: PagedGraph, direction: Direction, degrees: U32) -> tuple[int, I64]:
    """What a tier takes without edges; and what more for each number of first edges, the last entry
    for whole lists.
    """
    table = graph.page_table(direction)
    fronts = front_bytes(table, degrees, len(graph.catalog.page_spec().bands))
    width = _width(int(table["num_edges"].sum(dtype=np.int64))).itemsize
    sums, ends = _heads_and_rests(degrees, MOST_HEAD)
    offsets = _offsets_end(int(ends[0]), graph.num_vertices) + 1
    page_bytes = 48 + 8 * (graph.catalog.page_bytes // BLOCK_BYTES)
    fixed = int(fronts.sum()) + 8 + page_bytes * len(table) + width * offsets
    return fixed, HEAD_BYTES * sums + width * (ends + 1)


def _offsets_end(lists_end: int, num_vertices: int) -> int:
    """The vertex that offsets end with: bottom-up goes by words of 64 vertices."""
    return min(-(-lists_end // 64) * 64, num_vertices)


def _width(edges: int) -> np.dtype[Any]:
    """What counts so many edges."""
    return np.dtype(np.uint32 if edges < 1 << 32 else np.uint64)


def head_sums(degrees: U32) -> I64:
    """Entry k: edges in memory if each list has its first k there; the last: all edges."""
    sums: I64 = _heads_and_rests(degrees, MOST_HEAD)[0]
    return sums


class TieredLists(StreamedLists):
    """Lists of which the first edges are in memory; others are read one by one when visited."""

    def __init__(
        self,
        graph: PagedGraph,
        direction: Direction,
        workers: Workers,
        metrics: Metrics,
        *,
        arena: Arena,
        head_edges: int,
        tier: Tier | None = None,
    ) -> None:
        super().__init__(graph, direction, (), workers, metrics, PageCache(0, POLICIES["lru"]))
        assert isinstance(self._blocks, PageBlocks)
        self._pages = self._blocks
        self._reader = self._pages.reader
        self._head_edges = head_edges
        self._graph = graph
        self._direction: Direction = graph.stored(direction)
        self._bands: I64 = np.array(graph.catalog.page_spec().bands, np.int64)
        self._arena = arena
        self._files: I64 = np.array(self._reader.descriptors(), np.int64)
        self.tier = self._load() if tier is None else tier
        self._readers = Workers(max(len(arena.deep), len(arena.wide)))

    def close(self) -> None:
        """See :class:`StreamedLists`."""
        self._readers.close()
        super().close()

    def visit(
        self,
        vertices: U32,
        work: Work,
        *,
        dealer: Dealer | None = None,
        as_scanned: bool = False,
    ) -> list[Any]:
        """See :class:`~penstock.stream.lists.Lists`; unless it visits whole pages, blocks have the
        lists by their places.
        """
        ends = (self.tier.heads.offsets, self.tier.rest)
        edges = int(list_edges(vertices, *ends))
        how = choose_reading(len(vertices), edges, self._graph.num_vertices, len(self.table))
        if how == "pages" or as_scanned:
            return super().visit(vertices, work, dealer=dealer)
        streams = self._arena.deep if how == "deep" else self._arena.wide
        gap = MANY_GAP if how == "long runs" else GAP
        rounds = 1 if len(vertices) < FEW_LISTS * len(streams) else ROUNDS
        lists = max(1, min(len(vertices) // (rounds * len(streams)), len(streams[0].segments)))
        cuts = cut_lists(vertices, *ends, PIECE_EDGES, lists).tolist()

        def one(stream: int, k: int) -> list[Any]:
            some = vertices[cuts[k] : cuts[k + 1]]
            return self._visit_some(streams[stream], stream, some, gap, work)

        results = self._readers.run(one, range(len(cuts) - 1), at_once=len(streams))
        return list(chain.from_iterable(results))

    def _visit_some(
        self, mine: ReadStream, stream: int, vertices: U32, gap: int, work: Work
    ) -> list[Any]:
        metrics, tier = self._metrics, self.tier
        page_bytes, results = self._reader.page_bytes, []
        start = done = 0
        while start < len(vertices):
            begin = start
            start, done, lists, count = plan_batch(
                vertices, start, done, tier.places, tier.fronts, self._bands, page_bytes,
                mine.room, gap, mine.requests, mine.segments,
            )  # fmt: skip
            with metrics.timed("io", stream):
                failed = read_requests(self._files, page_bytes, mine.address, mine.requests, count)
                if failed >= 0:
                    self._read_again(mine, failed, count)
            counters = metrics.per_stream[stream]
            counters.reads += count
            if count:
                _, first, end, at = mine.requests[count - 1].tolist()
                counters.bytes_read += at + end - first
            with metrics.timed("decode", stream):
                wrong = check_requests(
                    mine.words, mine.requests, count, page_bytes, tier.block_sums
                )
                if wrong >= 0:
                    page = int(mine.requests[wrong, 0])
                    raise damaged(self._reader.where(page), "its lists are not what they were")
                gather_batch(
                    mine.arena, lists, mine.requests, mine.segments, self._bands, mine.offsets,
                    mine.neighbours,
                )  # fmt: skip
            offsets = mine.offsets[: lists + 1]
            block = Block(BY_PLACE, offsets, mine.neighbours[: int(offsets[-1])], ())
            chosen = vertices[begin : begin + lists]
            results.append(work(stream, Piece(-1, block, 0, 0, chosen)))
        return results

    def _read_again(self, mine: ReadStream, first: int, count: int) -> None:
        """What a kernel could not read: the interpreter can, or says why not."""
        for page, begin, end, at in mine.requests[first:count].tolist():
            self._reader.read_part(page, begin, mine.arena[at : at + end - begin])

    def _load(self) -> Tier:
        """Read every page once, check it, and keep what is to stay in memory."""
        table, most = self.table, self._head_edges
        degrees = np.asarray(self._graph.degrees(self._direction))
        sizes = front_bytes(table, degrees, len(self._bands))
        fronts: U8 = np.zeros(int(sizes.sum()) + 8, np.uint8)
        places = page_places(table, sizes)
        width = _width(int(table["num_edges"].sum(dtype=np.int64)))
        lists_end = int(_last_longer(degrees, 0)) + 1
        ends: Array = np.empty(_offsets_end(lists_end, len(degrees)) + 1, width)
        rest: Array = np.empty(int(_last_longer(degrees, most)) + 2, width)
        _add_up(degrees, 0, most, ends)
        _add_up(degrees, most, NO_LIMIT, rest)
        neighbours: U32 = np.empty(int(ends[-1]), np.uint32)
        blocks = self._reader.page_bytes // BLOCK_BYTES
        block_sums: U64 = np.zeros(len(table) * blocks, np.uint64)

        def one(stream: int, page: int) -> None:
            mine = self._pages.streams[stream]
            self._reader.read(page, mine.page, self._metrics, stream)
            with self._metrics.timed("decode", stream, page):
                block = self._pages.decode(page, mine.page, mine)
                header = PageHeader.read(mine.page, self._reader.where(page))
                audit_front(mine.page, header, self._bands)
                sum_blocks(
                    mine.page.view(np.uint64), block_sums[page * blocks : (page + 1) * blocks]
                )
                at, size = int(places[page, FRONT]), min(int(sizes[page]), len(mine.page))
                fronts[at : at + size] = mine.page[:size]
                first = int(table["first_edge"][page])
                before = first - int(table["first_edge"][page - int(table["run"][page])])
                _take_heads(
                    block.first, block.offsets, block.neighbours, before, most, ends, neighbours
                )

        self._workers.run(one, np.flatnonzero(table["num_edges"] > 0).tolist())
        edges = int(ends[-1]) + int(rest[-1])
        heads = Block(0, ends, neighbours, ())
        return Tier(heads, most, rest, lists_end, edges, fronts, places, block_sums)


@kernel
def _add_up(degrees, begin, end, offsets):  # type: ignore[no-untyped-def]
    """Offsets of the edges from ``begin`` to ``end`` of each list."""
    total = np.uint64(0)
    offsets[0] = 0
    for v in range(len(offsets) - 1):
        total += np.uint64(max(min(np.int64(degrees[v]), end) - begin, 0))
        offsets[v + 1] = total


@kernel
def _last_longer(degrees, most):  # type: ignore[no-untyped-def]
    """The last list that has more than so many edges; -1 if there is none."""
    for v in range(len(degrees) - 1, -1, -1):
        if np.int64(degrees[v]) > most:
            return v
    return -1


@kernel
def _take_heads(first, offsets, neighbours, before, most, ends, heads):  # type: ignore[no-untyped-def]
    """Copy the first edges of each list of a block; ``before``: edges of the list in earlier pages
    of its run.
    """
    for k in range(min(len(offsets), len(ends) - first) - 1):
        begin = np.int64(offsets[k])
        size = min(np.int64(offsets[k + 1]) - begin, most - before)
        at = np.int64(ends[first + k]) + before
        for e in range(size):
            heads[at + e] = neighbours[begin + e]


@kernel
def _heads_and_rests(degrees, most):  # type: ignore[no-untyped-def]
    """For each k up to ``most``, and for whole lists: edges in heads of k, and the vertex after the
    last whose list goes on.
    """
    longer = np.zeros(most + 2, np.int64)  # lists of so many edges or more
    ends = np.zeros(most + 2, np.int64)
    total = 0
    for v in range(len(degrees)):
        size = min(np.int64(degrees[v]), most + 1)
        total += np.int64(degrees[v])
        longer[size] += 1
        if size > 0:
            ends[size - 1] = v + 1
    sums = np.zeros(most + 2, np.int64)
    for k in range(most, -1, -1):
        longer[k] += longer[k + 1]
        ends[k] = max(ends[k], ends[k + 1])
    for k in range(most):
        sums[k + 1] = sums[k] + longer[k + 1]
    sums[most + 1] = total
    return sums, ends

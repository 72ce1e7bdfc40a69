"""One direction of a graph as blocks: streamed page by page, or resident as a whole.

Both kinds offer the same two ways to go over the lists: :meth:`scan` visits all of them,
:meth:`visit` those of some vertices. ``work(stream, piece)`` is called on several threads at once;
the results come back in the order of the pages, whatever the order they were visited in. Pieces
depend on the graph alone, not on the number of threads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from penstock.errors import OptionError
from penstock.jit import kernel
from penstock.metrics import Metrics
from penstock.parallel import Take, Turns, Workers
from penstock.store.graph import Graph
from penstock.store.page import LARGE
from penstock.stream.block import BY_PLACE, Block
from penstock.stream.blocks import open_blocks
from penstock.stream.cache import PageCache
from penstock.stream.order import pages_of, slices_of, visiting_order
from penstock.types import I64, U32, Array, Direction

#: Vertices in a piece, at most: their values may have to be fetched together.
PIECE_VERTICES = 1 << 17


class Piece(NamedTuple):
    """Some lists: those of vertices ``begin`` to ``end``, or of ``vertices`` among them."""

    page: int
    block: Block
    begin: int
    end: int
    vertices: U32 | None = None


Work = Callable[[int, Piece], Any]


def split(piece: Piece) -> Iterator[Piece]:
    """A piece in parts that have not too many vertices; pages of low degrees hold millions."""
    for begin in range(piece.begin, piece.end, PIECE_VERTICES):
        yield piece._replace(begin=begin, end=min(begin + PIECE_VERTICES, piece.end))


def piece_edges(piece: Piece) -> int:
    """Edges of the lists, or parts of lists, that a piece stands for."""
    block = piece.block
    if piece.vertices is None:
        begin, end, offsets = piece.begin - block.first, piece.end - block.first, block.offsets
        if block.is_packed:
            return int(offsets[end]) - int(offsets[begin])
        return int(_count_range(offsets[begin:end], block.ends[begin:end]))
    if block.first == BY_PLACE:
        return len(block.neighbours)
    return int(_count_edges(block.offsets, block.ends, block.first, piece.vertices))


@kernel
def _count_range(starts, ends):  # type: ignore[no-untyped-def]
    total = np.uint64(0)
    for i in range(np.uint64(len(starts))):
        total += np.uint64(ends[i]) - np.uint64(starts[i])
    return total


@kernel
def _count_edges(offsets, ends, first, vertices):  # type: ignore[no-untyped-def]
    begin, total = np.uint64(first), np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i]) - begin
        total += np.uint64(ends[v]) - np.uint64(offsets[v])
    return total


def by_page(piece: Piece, first_vids: I64) -> list[Piece]:
    """A piece cut where pages begin; ``first_vids`` has the first vertex of each page."""
    # Not NumPy's search: it releases the interpreter, and then waits for it.
    low = bisect_right(first_vids, piece.begin)
    high = bisect_left(first_vids, piece.end)
    cuts = [piece.begin, *first_vids[low:high].tolist(), piece.end]
    return [piece._replace(begin=a, end=b) for a, b in pairwise(cuts)]


class Own(NamedTuple):
    """The pages of one rank, in a run over several hosts."""

    #: Their numbers, ascending.
    pages: I64
    #: The page table, in which pages of other ranks have no edges.
    table: Array


def among(pages: I64, some: range) -> I64:
    """Those of some pages (ascending) that are in a range."""
    return pages[(pages >= some.start) & (pages < some.stop)]


class Dealer(Protocol):
    """Hands pieces out to streams that differ."""

    #: How often each piece is handed out.
    copies: int

    def deal(self, numbers: Sequence[int]) -> Take:
        """Which place a stream takes next of so many as there are ``numbers``, which are those of
        the pieces there and stay what they are from scan to scan.
        """

    def has(self, stream: int, piece: Piece) -> bool:
        """Whether the stream needs no block for this piece, which then has an empty one."""


class Lists(Protocol):
    """One direction of a graph as blocks."""

    #: Whether all of it is in memory, ready for kernels.
    resident: bool
    #: A row a page. Pages that another rank has are without edges, and are passed over.
    table: Array

    def scan(
        self,
        work: Work,
        *,
        ordered: bool = False,
        pages: range | None = None,
        dealer: Dealer | None = None,
    ) -> list[Any]:
        """Call ``work`` for every piece, or those of some pages; ``ordered``: one at a time, in the
        order of the pages. Which stream gets which piece is nobody's business, or a dealer's.
        """

    def visit(
        self,
        vertices: U32,
        work: Work,
        *,
        dealer: Dealer | None = None,
        as_scanned: bool = False,
    ) -> list[Any]:
        """Call ``work`` for pieces that hold these vertices (ascending, each once). For a dealer,
        or if asked to, the pieces are cut ``as_scanned``.
        """

    def visit_in_parts(self, vertices: U32, work: Work) -> list[Any]:
        """The same, but a list that is longer than a page comes in parts, each in a block of its
        own, wherever lists are.
        """


def column_positions(graph: Graph, columns: Sequence[str]) -> tuple[str, ...]:
    """The names, after checking that the edges have such columns."""
    known = [column.name for column in graph.columns]
    for name in columns:
        if name not in known:
            raise OptionError(
                f"the edges have no column {name!r} (they have: {', '.join(known) or 'none'}); "
                "build the graph with weights= or attributes="
            )
    return tuple(columns)


class StreamedLists:
    """Pages go through K streams, each of which reads a page, decodes it and calls ``work``. Lists
    that are no pages go the same way: their source fills the buffers of the streams.
    """

    resident = False

    def __init__(
        self,
        graph: Graph,
        direction: Direction,
        columns: Sequence[str],
        workers: Workers,
        metrics: Metrics,
        cache: PageCache,
        own: Own | None = None,
    ) -> None:
        self.table = graph.page_table(direction) if own is None else own.table
        self._own_pages = np.arange(len(self.table)) if own is None else own.pages
        self._columns = column_positions(graph, columns)
        self._workers = workers
        self._metrics = metrics
        self._cache = cache
        self._blocks = open_blocks(graph, direction, self._columns, workers.count, metrics, cache)
        dtypes = {column.name: column.dtype for column in graph.columns}
        self._no_columns = tuple(np.empty(0, dtypes[name]) for name in self._columns)
        # Nobody writes to it, so the system never gives it memory of its own.
        self._no_offsets: U32 = np.zeros(
            int(self.table["num_vertices"].max(initial=0)) + 1, np.uint32
        )

    @property
    def others(self) -> I64:
        """The pages that another rank has."""
        return np.setdiff1d(np.arange(len(self.table)), self._own_pages, assume_unique=True)

    def close(self) -> None:
        """Close the files and forget the cached pages."""
        self._blocks.close()
        self._cache.clear()

    def drop_cache(self) -> None:
        """Forget the cached pages, and cache no more."""
        self._cache.capacity = 0
        self._cache.clear()

    def scan(
        self,
        work: Work,
        *,
        ordered: bool = False,
        pages: range | None = None,
        dealer: Dealer | None = None,
    ) -> list[Any]:
        """See :class:`Lists`."""
        chosen = self._own_pages if pages is None else among(self._own_pages, pages)
        if not ordered:
            order = visiting_order(self.table, chosen, self._cache)
            return self._run(order, None, work, dealer)
        turns = Turns()

        def one(stream: int, number: int) -> list[Any]:
            def waiting(pieces: list[Piece]) -> list[Any]:
                return turns.take(number, lambda: [work(stream, piece) for piece in pieces])

            try:
                return self._one(stream, int(chosen[number]), None, waiting, None)
            except BaseException:
                turns.fail(number)
                raise

        return list(chain.from_iterable(self._workers.run(one, range(len(chosen)))))

    def visit(
        self,
        vertices: U32,
        work: Work,
        *,
        dealer: Dealer | None = None,
        as_scanned: bool = False,
    ) -> list[Any]:
        """See :class:`Lists`."""
        pages = visiting_order(self.table, pages_of(self.table, vertices), self._cache)
        return self._run(pages, slices_of(self.table, pages, vertices), work, dealer)

    def visit_in_parts(self, vertices: U32, work: Work) -> list[Any]:
        """See :class:`Lists`."""
        return self.visit(vertices, work)

    def _run(
        self,
        pages: list[int],
        parts: list[U32] | None,
        work: Work,
        dealer: Dealer | None = None,
    ) -> list[Any]:
        take = None
        if dealer is not None:
            pages = [page for page in pages for _ in range(dealer.copies)]
            if parts is not None:
                parts = [part for part in parts for _ in range(dealer.copies)]
            take = dealer.deal(pages)

        def one(stream: int, position: int) -> list[Any]:
            def each(pieces: list[Piece]) -> list[Any]:
                return [work(stream, piece) for piece in pieces]

            part = None if parts is None else parts[position]
            return self._one(stream, pages[position], part, each, dealer)

        results = self._workers.run(one, range(len(pages)), take=take)
        in_order = np.argsort(pages, kind="stable").tolist()
        return list(chain.from_iterable(results[k] for k in in_order))

    def _one(
        self,
        stream: int,
        page: int,
        vertices: U32 | None,
        each: Callable[[list[Piece]], list[Any]],
        dealer: Dealer | None,
    ) -> list[Any]:
        """Read and decode a page, and have each of its pieces worked on."""
        row = self.table[page]
        begin, count = int(row["first_vid"]), int(row["num_vertices"])
        empty: U32 = np.empty(0, np.uint32)
        nothing = Block(begin, self._no_offsets[: count + 1], empty, self._no_columns)
        pieces = _pieces(Piece(page, nothing, begin, begin + count, vertices))
        known = dealer is not None and all(dealer.has(stream, piece) for piece in pieces)
        if known and dealer is not None and vertices is None:
            # Their lists are not here to be counted; if all devices go over them, each has a part.
            edges = int(row["num_edges"]) // dealer.copies
            self._metrics.per_stream[stream].edges_traversed += edges
        if known or row["num_edges"] == 0:
            return each(pieces)
        with self._blocks.opened(stream, page) as block:
            return each(_pieces(Piece(page, block, begin, begin + count, vertices)))


def _pieces(piece: Piece) -> list[Piece]:
    return list(split(piece)) if piece.vertices is None else [piece]


def load(streamed: StreamedLists, num_vertices: int, dtypes: Sequence[np.dtype[Any]]) -> Block:
    """All lists of a direction as one block, read through its streams."""
    total = int(streamed.table["num_edges"].sum(dtype=np.int64))
    width = np.uint32 if total < 1 << 32 else np.uint64
    offsets: Array = np.zeros(num_vertices + 1, width)
    neighbours: U32 = np.empty(total, np.uint32)
    columns = tuple(np.empty(total, dtype) for dtype in dtypes)

    def take(stream: int, piece: Piece) -> None:
        row, block = streamed.table[piece.page], piece.block
        start = int(row["first_edge"])
        stop = start + int(row["num_edges"])
        if piece.begin == block.first:
            neighbours[start:stop] = block.neighbours
            for whole, part in zip(columns, block.columns, strict=True):
                whole[start:stop] = part
        if row["kind"] != LARGE or row["run"] == 0:
            inside = block.offsets[piece.begin - block.first + 1 : piece.end - block.first + 1]
            ends = offsets[piece.begin + 1 : piece.end + 1]
            np.add(inside, width(start), out=ends, casting="unsafe")

    streamed.scan(take)
    _finish_runs(streamed.table, offsets)
    _finish_others(streamed.table, streamed.others, offsets)
    return Block(0, offsets, neighbours, columns)


def _finish_runs(table: Array, offsets: Array) -> None:
    """The end of the list of a vertex with several pages is where its last page ends."""
    for row in table[table["kind"] == LARGE]:
        offsets[int(row["first_vid"]) + 1] = int(row["first_edge"]) + int(row["num_edges"])


def _finish_others(table: Array, pages: I64, offsets: Array) -> None:
    """Lists that another rank has are empty here."""
    for row in table[pages]:
        if row["kind"] != LARGE:
            first, count = int(row["first_vid"]), int(row["num_vertices"])
            offsets[first + 1 : first + count + 1] = row["first_edge"]

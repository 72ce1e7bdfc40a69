"""One direction of a graph in memory as a whole: the kin of :class:`StreamedLists`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from penstock.jit import kernel
from penstock.parallel import Workers
from penstock.store.page import LARGE
from penstock.stream import lists as streamed
from penstock.stream.block import Block
from penstock.stream.lists import Dealer, Own, Piece, Work, among, split
from penstock.types import I64, U32, Array, Direction

#: Edges in a piece, at least (if they have so many).
PIECE_EDGES = 1 << 17
#: Edges in a part of a frontier, at most (a longer list is a part by itself).
PART_EDGES = 1 << 19


class ResidentLists:
    """A whole direction in memory, as one block. Pieces end where pages end."""

    resident = True

    def __init__(
        self,
        block: Block,
        table: Array,
        direction: Direction,
        workers: Workers,
        own: Own | None = None,
    ) -> None:
        self.block = block
        self.table = table if own is None else own.table
        self._own_pages = np.arange(len(table)) if own is None else own.pages
        self.direction = direction
        self._workers = workers

    @cached_property
    def pieces(self) -> list[Piece]:
        """All of it, in the pieces of a scan."""
        return _cut_pieces(self.block, self.table, self._own_pages)

    def scan(
        self,
        work: Work,
        *,
        ordered: bool = False,
        pages: range | None = None,
        dealer: Dealer | None = None,
    ) -> list[Any]:
        """See :class:`Lists`."""
        pieces = self.pieces
        if pages is not None:
            pieces = _cut_pieces(self.block, self.table, among(self._own_pages, pages))
        if ordered:
            return [work(0, piece) for piece in pieces]
        if dealer is None:
            return self._workers.run(work, pieces)
        return self._deal(work, list(enumerate(pieces)), dealer)

    def _deal(self, work: Work, pieces: list[tuple[int, Piece]], dealer: Dealer) -> list[Any]:
        """Pieces with their numbers, each to whoever is to have it."""
        copies = [each for each in pieces for _ in range(dealer.copies)]
        take = dealer.deal([number for number, _ in copies])
        return self._workers.run(lambda stream, each: work(stream, each[1]), copies, take=take)

    @cached_property
    def _long_parts(self) -> dict[int, list[Piece]]:
        """The parts of each list that is longer than a page, by vertex."""
        kinds = self.table["kind"]
        parts: dict[int, list[Piece]] = {}
        for piece in self.pieces:
            if kinds[piece.page] == LARGE:
                parts.setdefault(piece.begin, []).append(piece)
        return parts

    def visit(
        self,
        vertices: U32,
        work: Work,
        *,
        dealer: Dealer | None = None,
        as_scanned: bool = False,
    ) -> list[Any]:
        """See :class:`Lists`; if pieces are cut as they like, the vertices may come in any
        order.
        """
        if len(vertices) == 0:
            return []
        if dealer is not None or as_scanned:
            holding = [
                (k, piece._replace(vertices=vertices[a:b]))
                for k, piece in enumerate(self.pieces)
                for a, b in [np.searchsorted(vertices, [piece.begin, piece.end]).tolist()]
                if a < b
            ]
            if dealer is None:
                return self._workers.run(work, [piece for _, piece in holding])
            return self._deal(work, holding, dealer)
        return self._workers.run(work, self._cut_visit(vertices))

    def visit_in_parts(self, vertices: U32, work: Work) -> list[Any]:
        """See :class:`Lists`; the vertices may come in any order."""
        if not self._long_parts:
            return self.visit(vertices, work)
        short, long = _set_apart(vertices, sorted(self._long_parts))
        own = [long[k : k + 1] for k in range(len(long))]
        parts = [p._replace(vertices=v) for v in own for p in self._long_parts[int(v[0])]]
        return self._workers.run(work, [*self._cut_visit(short), *parts])

    def _cut_visit(self, vertices: U32) -> list[Piece]:
        """The lists of some vertices in pieces of about equal numbers of edges."""
        share = PART_EDGES if self._workers.count > 1 else 1 << 62
        block = self.block
        cuts = _cut_frontier(block.offsets, block.ends, vertices, share, self._workers.count)
        return [
            Piece(-1, block, 0, len(block.ends), vertices[a:b])
            for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        ]


def _set_apart(vertices: U32, some: list[int]) -> tuple[U32, U32]:
    """Those of the vertices that are not among ``some`` (ascending), and those that are."""
    near = np.flatnonzero(vertices <= some[-1])  # few, if vertices are in order of degree
    chosen = near[np.isin(vertices[near], some)]
    if len(chosen) == 0:
        return vertices, vertices[:0]
    return np.delete(vertices, chosen), vertices[chosen]


def _cut_pieces(block: Block, table: Array, pages: I64) -> list[Piece]:
    """Neighbouring small pages together until they are worth a call; large pages each alone, and
    pages of too many vertices, which are split where streams split them.
    """
    pieces: list[Piece] = []
    rows, numbers = table[pages], pages.tolist()
    kinds, counts = rows["kind"].tolist(), rows["num_edges"].tolist()
    firsts, sizes = rows["first_vid"].tolist(), rows["num_vertices"].tolist()
    start, edges = 0, 0
    for k, kind in enumerate(kinds):
        if kind == LARGE:
            where = int(rows[k]["first_edge"])
            ends: Array = np.array([where, where + counts[k]], block.offsets.dtype)
            part = Block(firsts[k], ends, block.neighbours, block.columns)
            pieces.append(Piece(numbers[k], part, firsts[k], firsts[k] + 1))
            start, edges = k + 1, 0
            continue
        edges += counts[k]
        last = k + 1 == len(kinds) or kinds[k + 1] == LARGE or numbers[k + 1] != numbers[k] + 1
        if (
            last
            or edges >= PIECE_EDGES
            or firsts[k + 1] + sizes[k + 1] - firsts[start] > streamed.PIECE_VERTICES
        ):
            pieces += split(Piece(numbers[start], block, firsts[start], firsts[k] + sizes[k]))
            start, edges = k + 1, 0
    return pieces


@kernel
def _cut_frontier(offsets, ends, vertices, most, parts):  # type: ignore[no-untyped-def]
    """Where to cut a list of vertices so that parts have about equal numbers of edges: at least
    8 parts for each thread if there is enough work for so many, none longer than ``most`` if it has
    more than one vertex.
    """
    total = 0
    for v in vertices:
        total += np.int64(ends[v]) - np.int64(offsets[v])
    share = min(most, max(total // (8 * parts), 2048))
    cuts = [0]
    edges = 0
    for k in range(len(vertices)):
        v = vertices[k]
        edges += np.int64(ends[v]) - np.int64(offsets[v]) + 1
        if edges >= share:
            cuts.append(k + 1)
            edges = 0
    if cuts[-1] != len(vertices):
        cuts.append(len(vertices))
    return np.array(cuts)

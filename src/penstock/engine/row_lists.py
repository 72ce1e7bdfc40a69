"""The lists that a rank goes over in a run over rows of hosts: those of its pages, without the
neighbours outside of the range of its row. Neighbours are numbered from the beginning of the range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.engine.narrowing import Narrow
from penstock.parallel import Workers
from penstock.stream.lists import Piece, StreamedLists, Work
from penstock.types import Array


class RowLists:
    """Lists that are streamed, and reduced to the range as they are read; or that have been reduced
    once and are in memory: then ``kept`` has them, in the order of the pages.
    """

    def __init__(
        self,
        table: Array,
        narrow: Narrow,
        workers: Workers,
        *,
        streamed: StreamedLists | None = None,
        kept: Sequence[Piece] = (),
    ) -> None:
        #: A row a page.
        self.table = table
        self._narrow = narrow
        self._workers = workers
        self._streamed = streamed
        self._kept: dict[int, list[Piece]] = {}
        for piece in kept:
            self._kept.setdefault(piece.page, []).append(piece)

    def scan(self, work: Work, pages: range) -> None:
        """Call ``work`` for the entries in the range, of the lists of some pages."""
        if self._streamed is not None:
            self._streamed.scan(narrowed(self._narrow, work), pages=pages)
            return
        pieces = [piece for page in pages for piece in self._kept.get(page, ())]
        self._workers.run(work, pieces)


def narrowed(narrow: Narrow, work: Work) -> Callable[[int, Piece], Any]:
    """Work on what is in a range."""

    def one(stream: int, piece: Piece) -> Any:
        inside = narrow(piece)
        return work(stream, inside) if len(inside.block.neighbours) else None

    return one

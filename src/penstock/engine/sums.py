"""Accumulators between pages and ranges, and the cells that totals are added up over.

A sum is made from left to right (record 19): a list longer than a page has a part for each page, a
list that is gathered in ranges goes on where the range before ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.engine.engine import Engine
from penstock.engine.scratch import ScratchColumn
from penstock.program import Program
from penstock.store.page import LARGE
from penstock.stream import lists as streamed
from penstock.stream.lists import Piece
from penstock.types import U32, Array

Arrays = tuple[Array, ...]
#: Vertices ``begin`` to ``end``.
Cell = tuple[int, int]

#: Vertices whose values are handled together.
SPAN = 1 << 16


def spans(num_vertices: int) -> list[Cell]:
    """All vertices, in ranges."""
    return [(a, min(a + SPAN, num_vertices)) for a in range(0, num_vertices, SPAN)]


def total_cells(table: Array) -> list[Cell]:
    """All vertices as totals are added up over them: page by page, pages of very many vertices in
    parts.
    """
    rows = table[(table["kind"] != LARGE) | (table["run"] == 0)]
    firsts = rows["first_vid"].astype(np.int64)
    ends = firsts + rows["num_vertices"].astype(np.int64)
    size = streamed.PIECE_VERTICES
    return [
        (a, min(a + size, end))
        for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)
        for a in range(first, end, size)
    ]


def grouped(cells: list[Cell]) -> list[list[Cell]]:
    """Consecutive cells, as many together as there are in a span."""
    groups: list[list[Cell]] = []
    for cell in cells:
        if groups and cell[1] - groups[-1][0][0] <= SPAN:
            groups[-1].append(cell)
        else:
            groups.append([cell])
    return groups


def identities(program: Program, count: int) -> Arrays:
    """Accumulators to begin with."""
    pairs = zip(program.identities, program.accumulators, strict=True)
    return tuple(np.full(count, value, dtype) for value, dtype in pairs)


class Slots:
    """Accumulators for pages that hold a part of a list."""

    def __init__(self, table: Array, program: Program, among: range | None = None) -> None:
        pages = np.flatnonzero(table["kind"] == LARGE)
        if among is not None:
            pages = pages[(pages >= among.start) & (pages < among.stop)]
        #: The page of each slot, ascending.
        self.pages = pages
        self._slot = {int(page): k for k, page in enumerate(pages)}
        self.sums = identities(program, len(pages))
        firsts = np.flatnonzero(table["run"][pages] == 0).tolist()
        vertices = table["first_vid"][pages]
        #: Vertex, first slot, slot after the last.
        self.runs = [
            (int(vertices[a]), a, b)
            for a, b in zip(firsts, [*firsts[1:], len(pages)], strict=False)
        ]

    def __contains__(self, piece: Piece) -> bool:
        return piece.page in self._slot

    def pages_of(self, run: tuple[int, int, int]) -> range:
        """The pages of a vertex's list."""
        return range(int(self.pages[run[1]]), int(self.pages[run[2] - 1]) + 1)

    @property
    def vertices(self) -> U32:
        """The vertices whose lists have slots, ascending."""
        return np.array([run[0] for run in self.runs], np.uint32)

    def keep(self, vertices: U32) -> None:
        """Forget all runs but those of these vertices (ascending)."""
        owners = np.array([run[0] for run in self.runs], np.int64)
        there = np.isin(owners, vertices)
        self.runs = [run for run, kept in zip(self.runs, there.tolist(), strict=True) if kept]

    def at(self, piece: Piece) -> int:
        """The vertex that accumulators would begin with for this piece to meet its own."""
        return piece.begin - self._slot[piece.page]


class RangeSums:
    """Accumulators of all vertices before they are applied, in memory or in files."""

    def __init__(self, arrays: Arrays = (), columns: Sequence[ScratchColumn] = ()) -> None:
        self._arrays = arrays
        self._columns = columns

    @classmethod
    def of(cls, engine: Engine, program: Program, *, in_memory: bool) -> RangeSums:
        """Those that ranges begin with."""
        n = engine.num_vertices
        if in_memory:
            return cls(identities(program, n))
        folder = engine.scratch_folder()
        columns = [ScratchColumn(folder, dtype, n) for dtype in program.accumulators]
        for begin, end in spans(n):
            for column, values in zip(columns, identities(program, end - begin), strict=True):
                column.write(begin, values)
        return cls(columns=columns)

    def open(self, begin: int, end: int) -> tuple[int, Arrays]:
        """Accumulators of a range, and the vertex that they begin with."""
        if self._arrays:
            return 0, self._arrays
        return begin, tuple(column.read(begin, end) for column in self._columns)

    def close(self, begin: int, values: Arrays) -> None:
        """Keep what was changed."""
        for column, part in zip(self._columns, values, strict=False):
            column.write(begin, part)

    def set(self, vertex: int, values: list[Any]) -> None:
        """Set the accumulators of one vertex."""
        for array, value in zip(self._arrays, values, strict=False):
            array[vertex] = value
        for column, value in zip(self._columns, values, strict=False):
            column.write(vertex, np.array([value], column.dtype))

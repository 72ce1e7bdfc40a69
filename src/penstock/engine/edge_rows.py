"""Some edges of a graph as rows, and the neighbours of some vertices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.arrays import distinct
from penstock.device.lists import notify
from penstock.engine.engine import Engine
from penstock.engine.sharing import one_at_a_time
from penstock.jit import atomic_add, kernel
from penstock.stream.lists import Piece
from penstock.types import U8, U32, Array, Direction

#: Vertex numbers of both ends, and the columns that the engine has.
Edges = tuple[U32, U32, dict[str, Array]]

#: Ends and places that are not asked for.
_NO_ENDS: U32 = np.empty(0, np.uint32)
_NOWHERE = np.empty(0, np.uint64)
#: What rows are counted as.
_HELD = "edges"


def mark_neighbours(engine: Engine, vertices: U32, marks: U8, *directions: Direction) -> U32:
    """Mark the neighbours of some vertices; those that were not marked before, ascending."""
    found = [engine.traverse(vertices, notify, marks, direction=each) for each in directions]
    return distinct(np.concatenate(found))  # some are found twice, by two that work at once


def stored_edges(engine: Engine, values: Array) -> Iterator[tuple[U32, U32, Array]]:
    """All edges as they are stored in out-lists, some at a time, as ends and what belongs to them
    in an array of their order; an undirected edge once.
    """
    graph, begin = engine.graph, 0
    for part in graph.iter_adjacency("out", engine.threads):
        vertices = np.arange(part.first_vid, part.first_vid + len(part.degrees), dtype=np.uint32)
        src, end = np.repeat(vertices, part.degrees), begin + len(part.neighbours)
        keep = slice(None) if graph.directed else src <= part.neighbours
        yield src[keep], part.neighbours[keep], values[begin:end][keep]
        begin = end


def collect_edges(
    engine: Engine,
    vertices: U32,
    near: U8,
    far: U8,
    direction: Direction,
    counts: U32 | None = None,
    *,
    must_fit: bool = False,
) -> Edges | None:
    """The edges in the lists of some vertices (those that are ``near``, ascending) that lead to
    ``far`` ones; an undirected edge that is found from both its ends, once. None if there are too
    many for the memory that is left, or if they ``must_fit`` a BudgetError. How many ends of them
    are at each vertex is added to ``counts`` in any case; a loop has both at one.
    """
    lists = engine.lists(direction)
    rows = _Rows(engine, direction, vertices)
    directed = engine.graph.directed

    def work(stream: int, piece: Piece) -> tuple[int, int]:
        block = piece.block
        given = (
            block.first, block.offsets, block.neighbours, piece.vertices, near, far, not directed,
        )  # fmt: skip
        found = engine.timed_call(stream, piece, _gather, *given, _NO_ENDS, _NO_ENDS, _NOWHERE)
        begin, end = rows.place(int(found))
        if rows.fit(end) or counts is not None:
            ends, where = rows.open(begin, end)
            with engine.metrics.timed("kernel", stream, piece.page):
                _gather(*given, *ends, where)
                for each in ends if counts is not None else ():
                    count_ends(0, end - begin, each, counts)
            if rows.fit(end):
                rows.fill(begin, end, [column[where] for column in block.columns])
        return begin, end

    places = lists.visit(vertices, work)
    return rows.finish(places) if rows.fit(rows.total) or must_fit else None


class _Rows:
    """Columns that rows are written to, as far as there is memory: both ends and the columns of
    the engine.
    """

    def __init__(self, engine: Engine, direction: Direction, vertices: U32) -> None:
        graph = engine.graph
        dtypes = {column.name: column.dtype for column in graph.columns}
        ends = [np.dtype(np.uint32), np.dtype(np.uint32)]
        kinds = [*ends, *(dtypes[name] for name in engine.columns)]
        widths = [kind.itemsize for kind in kinds]
        # Where there are columns, one is held twice when they are put in order.
        self._row_bytes = sum(widths)
        self._edge_bytes = sum(widths) + (max(widths) if engine.columns else 0)
        most = int(graph.degrees(direction)[vertices].sum(dtype=np.int64))
        if not engine.is_resident() and most * self._edge_bytes > engine.budget.left:
            engine.drop_cache()  # no page is visited twice
        self._room = max(min(most, engine.budget.left // self._edge_bytes), 0)
        # What is not written to takes no memory.
        self._table: list[Array] = [np.empty(self._room, kind) for kind in kinds]
        self._engine, self._direction = engine, direction
        self.total = 0
        self.place = one_at_a_time(self._place)

    def _place(self, count: int) -> tuple[int, int]:
        """The range that a number of rows goes to."""
        begin = self.total
        self.total += count
        return begin, self.total

    def fit(self, end: int) -> bool:
        """Whether there is memory for the rows up to one."""
        return end <= self._room

    def open(self, begin: int, end: int) -> tuple[list[U32], Array]:
        """Where ends of edges go, and their places in a block; aside if they do not fit."""
        if not self.fit(end):
            return [np.empty(end - begin, np.uint32) for _ in range(2)], _NOWHERE
        where = np.empty(end - begin, np.uint64) if self._engine.columns else _NOWHERE
        return [whole[begin:end] for whole in self._table[:2]], where

    def fill(self, begin: int, end: int, columns: list[Array]) -> None:
        """Set the columns of rows."""
        for whole, column in zip(self._table[2:], columns, strict=True):
            whole[begin:end] = column

    def finish(self, places: list[tuple[int, int]]) -> Edges:
        """All rows; if they have columns, which tell duplicates apart, in order of places."""
        engine, table = self._engine, self._table
        engine.hold(_HELD, self.total * self._edge_bytes)
        for k, whole in enumerate(table):
            whole.resize(self.total, refcheck=False)
            if engine.columns:
                table[k] = np.concatenate([whole[:0], *(whole[a:b] for a, b in places)])
        engine.hold(_HELD, self.total * self._row_bytes)
        src, dst = table[:2] if self._direction == "out" else table[1::-1]
        return src, dst, dict(zip(engine.columns, table[2:], strict=True))


@kernel
def count_ends(begin, end, ends, counts):  # type: ignore[no-untyped-def]
    """Count how many of some ends of edges are at each vertex."""
    for k in range(np.uint64(begin), np.uint64(end)):
        atomic_add(counts, ends[k], np.uint32(1))


@kernel
def _gather(first, offsets, neighbours, vertices, near, far, undirected, here, there, where):  # type: ignore[no-untyped-def]
    """Count the edges that lead to ``far`` vertices, and write their ends and their places in the
    block to arrays that are not empty. Of an undirected edge that the other end finds, too, the
    smaller end is the one to write it.
    """
    begin, one = np.uint64(first), np.uint64(1)
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        edge, end = np.uint64(offsets[u - begin]), np.uint64(offsets[u - begin + one])
        back = undirected and far[u] != 0
        while edge < end:
            v = np.uint64(neighbours[edge])
            if far[v] and not (back and v < u and near[v]):
                if len(here) > 0:
                    here[count] = u
                    there[count] = v
                if len(where) > 0:
                    where[count] = edge
                count += one
            edge += one
    return count

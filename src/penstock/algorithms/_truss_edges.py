"""The edges of a run that looks for trusses: those that are left, and what was found of others.

Edges that are left are lists of earlier neighbours: first those of the graph, then, after each
round, the ones that were kept of them, in a temporary file if they do not fit. Edges whose
trussness is known go to columns: both ends and the number, in no order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from penstock.algorithms import _triangle_kernels
from penstock.algorithms._triangles import Counting, Wanted, counting_needs
from penstock.algorithms._truss import (
    MOST_EDGES,
    PEELED_BYTES,
    PEELED_VERTEX_BYTES,
    rounds,
)
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.pairs import EdgeColumn, Pairs
from penstock.engine.recovery import Recovery
from penstock.engine.scratch import InMemory, ScratchColumn
from penstock.engine.windows import ROOM, EarlierLists, KeptLists, PageLists, Window, lists_bytes
from penstock.errors import CorruptionError
from penstock.jit import kernel
from penstock.types import U32, Array

#: What is counted: the triangles of each edge; and a number of each vertex is found in the end.
WANTED = Wanted(_triangle_kernels.OF_EDGES, other_bytes=4)
#: What edges whose trussness is known are counted as.
FOUND = "edges with their trussness"
#: Edges that are looked at together.
PART = 1 << 18
#: To find the largest truss of more edges than that ...
SMALL = 1 << 16
#: ... one of so many is looked at first. Counts up to this are told apart to choose them.
FEW = 4
MOST_LEVELS = 1 << 16
#: One of so many bytes is for a window whose edges are dropped or kept: that takes several times as
#: much for a while.
WINDOW_SHARE = 8


def truss_needs(counts: Counts, then_bytes: int = 0) -> Needs:
    """To peel in memory, if there is room; and what the run needs then."""
    more = _more_room(counts)
    return replace(counting_needs(counts, WANTED, more, then_bytes), work=180.0)


def _more_room(counts: Counts) -> int:
    """Bytes that peeling takes besides the lists that are counted with."""
    whole = PEELED_BYTES * counts.num_edges + PEELED_VERTEX_BYTES * counts.num_vertices
    return max(whole - lists_bytes(counts, WANTED.entry_bytes), 0)


class FoundEdges:
    """Edges whose trussness is known."""

    def __init__(self, engine: Engine, most: int, *, in_memory: bool) -> None:
        folder, kind = engine.scratch_folder(), np.dtype(np.uint32)
        self._engine, self._in_memory = engine, in_memory
        self.count, self._most = 0, most
        self.largest = 0
        self._columns = [
            InMemory(np.empty(most, kind)) if in_memory else ScratchColumn(folder, kind, most)
            for _ in range(3)
        ]

    def add(self, window: Window, numbers: U32, least: int = 1) -> None:
        """Those of a window that have at least this number."""
        rows: list[U32] = [np.empty(min(PART, window.num_entries), np.uint32) for _ in range(3)]
        i, e, more = 0, 0, True
        while more:
            count, i, e, more = _copy(*window.arrays()[:3], numbers, least, i, e, *rows)
            if self.count + count > self._most:
                raise CorruptionError(
                    "the two directions of the graph do not hold the same edges; see `penstock "
                    "verify`: restore or rebuild the graph"
                )
            for column, values in zip(self._columns, rows, strict=True):
                column.write(self.count, values[:count])
            self.count += count
            self.largest = max(self.largest, int(rows[2][:count].max(initial=0)))

    def finish(self) -> None:
        """All are there: instead of the room for windows, what is in memory of them is counted."""
        self._engine.free(ROOM)
        self._engine.hold(FOUND, 12 * self.count if self._in_memory else 0)

    def keep(self, least: int) -> None:
        """Only those that have at least this number."""
        count = 0
        for part in self.parts(least):
            for column, values in zip(self._columns, part, strict=True):
                column.write(count, values)
            count += len(part[0])
        self.count = count
        if self._in_memory:
            self._columns = [InMemory(column.read(0, count).copy()) for column in self._columns]
            self._engine.hold(FOUND, 12 * count)

    def parts(self, least: int = 0) -> Iterator[tuple[U32, U32, U32]]:
        """Both ends and numbers of edges that have at least this one, some at a time."""
        for begin in range(0, self.count, PART):
            end = min(begin + PART, self.count)
            src, dst, numbers = (column.read(begin, end) for column in self._columns)
            some = slice(None) if least <= 2 else numbers >= least
            yield src[some], dst[some], numbers[some]

    def whole(self, least: int = 0) -> tuple[U32, U32, U32]:
        """All of them."""
        none: U32 = np.empty(0, np.uint32)
        rows = zip((none, none, none), *self.parts(least), strict=True)
        src, dst, numbers = (np.concatenate(each) for each in rows)
        return src, dst, numbers


class _Left:
    """The edges that are left; see :class:`penstock.algorithms._truss.EdgesLeft`. ``least``: edges
    of a smaller trussness need not be found.
    """

    def __init__(self, engine: Engine, least: int = 2) -> None:
        graph = engine.graph
        self._engine, self._room, self.least = engine, engine.take_room(ROOM), least
        self._lists: EarlierLists = PageLists(
            engine, fit=self._room >= lists_bytes(engine.counts, WANTED.entry_bytes)
        )
        self.num_edges = graph.num_edges  # or fewer
        self._pairs: Pairs | None = None
        self._values: EdgeColumn | None = None
        self.found = FoundEdges(engine, graph.num_edges, in_memory=self.fits())

    def fits(self) -> bool:
        size = PEELED_BYTES * self.num_edges + PEELED_VERTEX_BYTES * self._lists.num_vertices
        return size <= self._room and self.num_edges < MOST_EDGES

    def few(self) -> int:
        """The smallest k such that edges that may be in the k-truss, as far as their triangles tell
        after they were counted, are few enough to fit, and to begin with.
        """
        sizes = np.zeros(MOST_LEVELS, np.int64)
        for part in self._counts():
            sizes += np.bincount(np.minimum(part, MOST_LEVELS - 1), minlength=MOST_LEVELS)
        room = self._room - PEELED_VERTEX_BYTES * self._lists.num_vertices
        most = min(room // PEELED_BYTES, self.num_edges // FEW)
        return int(np.argmax(np.cumsum(sizes[::-1])[::-1] <= most)) + 2  # 2 if there is none

    def count(self) -> int:
        if self._values is None:
            self._count()
        return min((int(part.min()) for part in self._counts()), default=0)

    def _count(self) -> None:
        with self._engine.within_step():
            counting = Counting(self._engine, WANTED, self._lists)
            self._pairs = counting.run({})
        self._values, self.num_edges = counting.values, self._lists.total

    def _counts(self) -> Iterator[Array]:
        assert self._values is not None
        for begin in range(0, self.num_edges, PART):
            yield self._values.read(begin, min(begin + PART, self.num_edges))

    def drop(self, least: int, trussness: int) -> None:
        engine, old, values = self._engine, self._lists, self._values
        assert values is not None
        total = sum(int(np.count_nonzero(part >= least)) for part in self._counts())
        self._pairs = None
        # While windows of the old lists are read, the new ones are there too.
        room = max(self._room // WINDOW_SHARE, 2 * old.longest_bytes(WANTED.entry_bytes))
        size = WANTED.entry_bytes * total + old.place_bytes * old.num_vertices
        kept = KeptLists(engine, total, fit=size <= self._room // 2)
        for window in old.windows(room, WANTED.entry_bytes):
            place = old.place(window.first)
            stays = values.read(place, place + window.num_entries) >= least
            kept.add(window, stays)
            if trussness >= self.least:
                self.found.add(window, np.where(stays, 0, trussness).astype(np.uint32))
        kept.finish()
        self._lists, self._values, self.num_edges = kept, None, total

    def window(self) -> Window:
        with self._engine.step(mode="count", left=self.num_edges):
            self.count()
        assert self._pairs is not None
        assert self._pairs.whole
        window = self._pairs.open(0, self._lists.num_vertices)
        self._pairs = self._values = None
        return window

    def settle(self, window: Window, trussness: U32) -> None:
        self.found.add(window, trussness, self.least)
        self.num_edges = 0

    def keep(self, trussness: int) -> None:
        assert self._pairs is not None
        for window in self._pairs.windows():
            self.found.add(window, np.full(window.num_entries, trussness, np.uint32))
        self.num_edges = 0


def find_edges(engine: Engine, k: int | None = None) -> FoundEdges:
    """All edges with their trussness; or those of the k-truss, with k."""
    with _beginning(engine):
        left = _Left(engine, 2 if k is None else max(k, 2))
        engine.facts["rounds"] = rounds(engine, left, k)
    left.found.finish()
    return left.found


def find_largest(engine: Engine) -> FoundEdges:
    """Edges with their trussness, among them all of the largest.

    First only few edges are looked at, those in most triangles: the truss of the largest k is
    likely to be among them. What is found there is right if the others can only have less.
    """
    with _beginning(engine):
        left, lowest, done = _Left(engine), 2, 0
        if left.num_edges > SMALL or not left.fits():
            with engine.step(mode="count", left=left.num_edges):
                left.count()
            lowest = left.few()
        while True:
            left.least = lowest
            done += rounds(engine, left, lowest=lowest)
            if left.found.largest >= lowest or lowest == 2:
                break
            lowest = max(lowest // 2, 2)
            left = _Left(engine)
        engine.facts["rounds"] = done
    left.found.finish()
    return left.found


@contextmanager
def _beginning(engine: Engine) -> Iterator[None]:
    engine.options.progress.start("steps", None, "steps")
    with Recovery(engine, {"algorithm": "truss_number"}) as recovery:
        recovery.resume({})  # nothing is saved on the way
        yield


@kernel
def _copy(first, offsets, neighbours, numbers, least, i, e, src, dst, chosen):  # type: ignore[no-untyped-def]
    """Copy the entries of a window that have at least this number, from entry e of list i on, until
    there is no room for another: how many, where to go on, and whether there are more.
    """
    count, one, room = np.uint64(0), np.uint64(1), np.uint64(len(src))
    here, edge = np.uint64(i), np.uint64(e)
    while here + one < np.uint64(len(offsets)):
        while edge < np.uint64(offsets[here + one]):
            if numbers[edge] >= least:
                if count == room:
                    return count, here, edge, True
                src[count], dst[count] = neighbours[edge], first + here
                chosen[count] = numbers[edge]
                count += one
            edge += one
        here += one
    return count, here, edge, False


# What is made of it


def largest_of_vertices(engine: Engine, found: FoundEdges) -> NDArray[np.int32]:
    """The largest trussness of each vertex's edges; 0 for those without edges."""
    values: NDArray[np.int32] = engine.array("largest", np.int32, 0)
    for src, dst, numbers in found.parts():
        _raise(src, dst, numbers, values)
    return values


@kernel
def _raise(src, dst, numbers, values):  # type: ignore[no-untyped-def]
    for e in range(np.uint64(len(src))):
        number = np.int32(numbers[e])
        values[src[e]] = max(values[src[e]], number)
        values[dst[e]] = max(values[dst[e]], number)

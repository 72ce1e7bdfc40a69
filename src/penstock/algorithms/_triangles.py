"""Counting triangles: lists of earlier neighbours in memory, and every pair of them intersected.

A(v) is the sorted list of the neighbours of v with smaller numbers, each once, whatever direction
the edge has. Vertices are numbered in descending order of degree, so that the lists of hubs are
short. A triangle w < u < v is found once, as w in A(u) and A(v) with u in A(v).

A *window* has the lists of consecutive vertices. If there is room for one window with all lists, it
is intersected with itself. Otherwise an inner window takes most of the room, and small outer ones
go over all later vertices: u is in the inner window, v in the outer (or both in the inner one). The
topology is read once to learn how long lists are, once for all inner windows, and after each inner
window, for the outer ones, from where it ends. Nothing is written to disk.

For each v, A(v) is marked, and the lists A(u) are compared with the marks. Each thread has a number
for each vertex whose low bits are the mark and whose high bits count, so that one access does both
and no two threads meet. A list A(u) that is much longer than A(v) is searched instead. The lists of
the first vertices, which most edges lead to, are kept as rows of bits as well, and compared with 64
marks at once where they are not too thin for that.

Chu, Cheng: "Triangle listing in massive networks", KDD 2011 (windows). Latapy: "Main-memory
triangle computations for very large (sparse (power-law)) graphs", Theoretical Computer Science 2008
(orientation and marks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np

from penstock.algorithms import _triangle_kernels as kernels
from penstock.config import format_bytes
from penstock.engine.algorithm import Cost, Task
from penstock.engine.engine import Engine
from penstock.engine.recovery import Recovery
from penstock.engine.topology import list_bytes
from penstock.errors import BudgetError
from penstock.store.graph import Graph
from penstock.stream.budget import spell_enough
from penstock.stream.lists import Piece
from penstock.types import I64, U8, U32, U64, Array, Direction

#: Bytes for each vertex of a window: where its list begins and how long it is, and how much of it
#: came from out-lists.
PLACE_BYTES = 16
#: The share of the room for windows that the outer one gets.
OUTER_SHARE = 1 / 8
#: Vertices that have rows of bits, at most, and the share of the room that these get if not all
#: lists fit.
HUBS = 1 << 14
ROW_SHARE = 1 / 8
#: Pieces of a window for each thread, at least.
PIECES = 32
#: Threads that a cost counts with before it is known how many there are.
USUAL_THREADS = 2


@dataclass(frozen=True, slots=True)
class Window:
    """The lists of vertices ``first`` to ``last``: vertex v has ``lengths[v - first]`` entries from
    ``offsets[v - first]`` on. ``pairs`` says, if asked for, how many directions each edge has.
    """

    first: int
    last: int
    offsets: U64
    lengths: U32
    neighbours: U32
    pairs: U8

    def arrays(self) -> tuple[Any, ...]:
        """What kernels see."""
        ends = np.uint64(self.first), np.uint64(self.last)
        return (*ends, self.offsets, self.lengths, self.neighbours, self.pairs)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is counted besides triangles: for each corner how many directions the opposite edge has,
    and the neighbours of each vertex.
    """

    pairs: bool = False
    degrees: bool = False

    @property
    def entry_bytes(self) -> int:
        """Bytes of an entry of a window."""
        return 5 if self.pairs else 4

    def cost(self, graph: Graph, threads: int, window_bytes: int = 0) -> Cost:
        """With windows of so many bytes."""
        return Cost(
            4 + (4 if self.degrees else 0) + 8 * threads, directions(graph), 4.0,
            more_bytes=window_bytes, gathered_bytes=8, work=23.0,
        )  # fmt: skip


def directions(graph: Graph) -> tuple[Direction, ...]:
    """The lists that have all neighbours of a vertex."""
    return ("out", "in") if graph.directed else ("out",)


def usual_cost(graph: Graph, wanted: Wanted) -> Cost:
    """Before it is known how much memory and how many threads there are."""
    return wanted.cost(graph, USUAL_THREADS, _whole_bytes(graph, wanted))


def _whole_bytes(graph: Graph, wanted: Wanted) -> int:
    """Bytes of one window with all lists, and of the rows of bits."""
    hubs = 0 if wanted.pairs else min(graph.num_vertices, HUBS)
    return _list_bytes(graph, wanted) + row_bytes(hubs)


def _list_bytes(graph: Graph, wanted: Wanted) -> int:
    """Bytes of one window with all lists: an edge is in one of them."""
    return wanted.entry_bytes * graph.num_edges + PLACE_BYTES * graph.num_vertices


def row_bytes(hubs: int) -> int:
    """Bytes of the rows of the first vertices: a row has a bit for each vertex before, and those of
    64 vertices are of the same length.
    """
    groups = -(-hubs // 64)
    return 8 * 32 * groups * (groups + 1)


def open_with_room(task: Task, wanted: Wanted) -> tuple[Engine, int, int]:
    """An engine, the threads that count, and the bytes for windows: all lists if they fit, or else
    what is left if the topology streams.
    """
    graph, threads = task.graph, task.options.threads
    try:
        plan = task.open(wanted.cost(graph, threads)).plan
    except BudgetError:
        threads = 1
        plan = task.open(wanted.cost(graph, threads)).plan
    held = plan.memory_bytes - plan.cache_pages * graph.catalog.page_bytes
    if plan.resident:
        stored = dict.fromkeys(graph.stored(each) for each in directions(graph))
        held -= sum(list_bytes(graph, each, ()).resident_bytes for each in stored)
    room = max(min(_whole_bytes(graph, wanted), task.options.memory - held), 0)
    return task.open(wanted.cost(graph, threads, room)), threads, room


class Counting:
    """The numbers that are counted, and the lists they are counted from."""

    def __init__(self, engine: Engine, wanted: Wanted, threads: int, room: int) -> None:
        self.engine = engine
        self.wanted = wanted
        #: Vertices that have rows of bits, and the room that these leave.
        self.hubs = 0 if wanted.pairs else min(engine.num_vertices, HUBS)
        spare = max(room - _list_bytes(engine.graph, wanted), int(room * ROW_SHARE))
        while row_bytes(self.hubs) > spare:
            self.hubs //= 2
        self.room = room - row_bytes(self.hubs)
        self.directions = directions(engine.graph)
        self.in_order = engine.graph.catalog.neighbour_order == "id"
        #: Entries of each list, as far as they are known before it is tidied.
        self.sizes: U32 = engine.array("sizes", np.uint32, 0)
        self.tallies: list[I64] = [engine.array(f"counts {k}", np.int64, 0) for k in range(threads)]
        #: Neighbours of each vertex, if wanted.
        self.degrees: U32 = np.empty(0, np.uint32)
        if wanted.degrees:
            self.degrees = engine.array("degrees", np.uint32, 0)
        engine.budget.take(room, "lists of earlier neighbours")

    def run(self, identity: Mapping[str, Any]) -> I64:
        """What was counted for each vertex."""
        engine, n = self.engine, self.engine.num_vertices
        arrays: dict[str, Array] = {"counts": self.tallies[0]}
        if self.wanted.degrees:
            arrays["degrees"] = self.degrees
        engine.options.progress.start("windows", None, "windows")
        with Recovery(engine, identity) as recovery:
            saved = recovery.resume(arrays)
            step, first = (0, 0) if saved is None else (saved[0], saved[1]["vertices"])
            with engine.step(mode="measure"):
                self._measure()
            inner, outer = self._share_room(first)
            while first < n:
                last = self._reach(first, inner)
                self._inner(first, last, outer)
                first, step = last, step + 1
                recovery.after(step, arrays, {"vertices": first})
        engine.each(kernels.shift, self.tallies[0], 2 if self.wanted.pairs else 1)
        return self.tallies[0]

    def _inner(self, first: int, last: int, room: int) -> None:
        """All triangles whose middle vertex is in a window, with so much room for outer ones."""
        engine = self.engine
        with engine.step(mode="inner", vertices=last - first):
            inner = self._load(first, last)
            if self.wanted.degrees:
                engine.each(kernels.add_degrees, *inner.arrays(), self.degrees, length=last - first)
            rows = self._rows(inner)
            self._count(inner, inner, *rows)
        while last < engine.num_vertices:
            begin, last = last, self._reach(last, room)
            with engine.step(mode="outer", vertices=last - begin):
                self._count(self._load(begin, last), inner, *rows)
        self._join()

    # Windows

    def _measure(self) -> None:
        for direction in self.directions:
            self.engine.scan(kernels.measure, self.sizes, self.in_order, direction=direction)

    def _share_room(self, first: int) -> tuple[int, int]:
        """The bytes of inner and outer windows; the longest list fits both."""
        if self._reach(first, self.room) == self.engine.num_vertices:
            return self.room, 0
        longest = self.wanted.entry_bytes * int(self.sizes.max(initial=0)) + PLACE_BYTES
        outer = max(int(self.room * OUTER_SHARE), longest)
        if outer + longest > self.room:
            enough = self.engine.options.memory - self.room + 2 * longest
            raise BudgetError(
                f"memory: {format_bytes(self.room)} is left for lists of neighbours, the longest "
                f"of which takes {format_bytes(longest)}, twice; {spell_enough(enough)} would do"
            )
        return self.room - outer, outer

    def _reach(self, first: int, room: int) -> int:
        """Where a window ends that begins with a vertex and has so much room."""
        entry_bytes = self.wanted.entry_bytes
        return int(kernels.reach(self.sizes, first, entry_bytes, PLACE_BYTES, room))

    def _load(self, first: int, last: int) -> Window:
        """The lists of some vertices."""
        engine, length = self.engine, last - first
        offsets: U64 = np.zeros(length + 1, np.uint64)
        np.cumsum(self.sizes[first:last], out=offsets[1:], dtype=np.uint64)
        total = int(offsets[-1])
        window = Window(
            first, last, offsets, np.zeros(length, np.uint32), np.empty(total, np.uint32),
            np.ones(total if self.wanted.pairs else 0, np.uint8),
        )  # fmt: skip
        middles: U32 = np.zeros(length, np.uint32)
        for direction in self.directions if total else ():
            self._scan(first, last, direction, kernels.take, *window.arrays(), self.in_order)
            engine.each(kernels.tidy, *window.arrays(), middles, length=length)
            middles[:] = window.lengths
        return window

    def _rows(self, inner: Window) -> tuple[U64, Any]:
        """Rows of bits of a window's hubs, and the vertex after the last of these."""
        hubs = min(inner.last, self.hubs)
        if hubs <= inner.first:
            return np.empty(0, np.uint64), np.uint64(0)
        size = row_bytes(hubs) - row_bytes(inner.first // 64 * 64)
        rows: U64 = np.zeros(size // 8, np.uint64)
        self.engine.each(kernels.fill_rows, *inner.arrays(), rows, length=hubs - inner.first)
        return rows, np.uint64(hubs)

    def _scan(
        self, first: int, last: int, direction: Direction, kernel: Callable[..., Any], *args: Any
    ) -> None:
        """Call a kernel for the lists of some vertices."""
        lists = self.engine.lists(direction)
        firsts = lists.table["first_vid"]
        low = int(np.searchsorted(firsts, first))
        if low == len(firsts) or firsts[low] > first:
            low -= 1
        pages = range(low, int(np.searchsorted(firsts, last)))

        def work(stream: int, piece: Piece) -> None:
            begin, end = max(piece.begin, first), min(piece.end, last)
            if begin < end:
                self.engine.timed_call(stream, piece, kernel, piece.block, begin, end, *args)

        lists.scan(work, pages=pages)

    # Counting

    def _count(self, outer: Window, inner: Window, *rows: Any) -> None:
        """Triangles with the last vertex in one window and the middle one in another."""
        engine = self.engine
        free: SimpleQueue[I64] = SimpleQueue()
        for tally in self.tallies:
            free.put(tally)
        kernel = kernels.count_pairs if self.wanted.pairs else kernels.count
        cuts = _cuts(outer.offsets, PIECES * len(self.tallies))

        def work(stream: int, k: int) -> None:
            tally = free.get()
            try:
                with engine.metrics.timed("kernel", stream):
                    kernel(cuts[k], cuts[k + 1], *outer.arrays(), *inner.arrays(), *rows, tally)
            finally:
                free.put(tally)

        engine.workers.run(work, range(len(cuts) - 1))

    def _join(self) -> None:
        """Put all counts into the first tally."""
        for other in self.tallies[1:]:
            self.engine.each(kernels.join, self.tallies[0], other)


def _cuts(offsets: U64, pieces: int) -> list[int]:
    """Where to cut a window into pieces of about as many entries each."""
    ends = np.linspace(0, int(offsets[-1]), pieces + 1)[1:-1].astype(np.uint64)
    length = len(offsets) - 1
    inside = np.minimum(np.searchsorted(offsets, ends), length).tolist()
    return sorted({0, *inside, length})


# Verifying


def edges_among_neighbours(
    graph: Graph, vertices: list[int], *, ordered: bool
) -> Iterator[tuple[int, int]]:
    """For each vertex, how many neighbours it has and how many edges there are between these; both
    directions of an edge count if ``ordered``. All edges are looked at twice.
    """
    near = np.zeros((len(vertices), graph.num_vertices), bool)
    for src, dst, _ in graph.iter_edges():
        for row, v in zip(near, vertices, strict=True):
            row[dst[src == v]] = True
            row[src[dst == v]] = True
    near[np.arange(len(vertices)), vertices] = False
    keys: list[list[Array]] = [[np.empty(0, np.uint64)] for _ in vertices]
    for src, dst, _ in graph.iter_edges():
        a, b = src.astype(np.uint64), dst.astype(np.uint64)
        low, high = (a, b) if ordered else (np.minimum(a, b), np.maximum(a, b))
        for row, mine in zip(near, keys, strict=True):
            some = row[src] & row[dst] & (src != dst)
            mine.append(low[some] << np.uint64(32) | high[some])
    for row, mine in zip(near, keys, strict=True):
        yield int(np.count_nonzero(row)), len(set(np.concatenate(mine).tolist()))

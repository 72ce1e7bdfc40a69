"""Counting triangles: lists of earlier neighbours, two of them in memory at a time.

A(v), the earlier neighbours of v, are in windows (:mod:`penstock.engine.windows`). A triangle
w < u < v is found once, as w in A(u) and A(v) with u in A(v): when the list of v is in the outer
and that of u in the inner window of a pair (:mod:`penstock.engine.pairs`). A(v) is marked, one bit
for each vertex, and A(u) compared with the marks; if A(u) is much longer than what A(v) has before
u, these are searched in it instead.

The first vertices, the *hubs*, to which most edges lead, have rows of bits besides, with all their
neighbours among hubs, while the first inner window is there: lists of hubs need not be in windows.
Among hubs, two rows are compared 64 bits at once. If only the middle vertex is a hub,
either the marks are compared with its row, or the entries of A(v) are looked up in it, whichever
takes fewer steps.

What counts instead of the kernels, if a run has that, does without rows: see
:mod:`penstock.engine.pair_counter`.

What is counted for the entries of A(v) is summed up beside the list before it is added to the
counts of the vertices (or edges), which are shared by all that count at once.

Chu, Cheng: "Triangle listing in massive networks", KDD 2011 (windows). Latapy: "Main-memory
triangle computations for very large (sparse (power-law)) graphs", Theoretical Computer Science 2008
(orientation and marks). An et al.: GStream 2.0, 2017 (pairs of pages).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.algorithms import _triangle_kernels as kernels
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs, Room
from penstock.engine.pair_counter import pair_counter
from penstock.engine.pairs import Call, EdgeColumn, Pairs
from penstock.engine.recovery import Recovery
from penstock.engine.scratch import zeros
from penstock.engine.windows import (
    MARGIN,
    ROOM,
    EarlierLists,
    PageLists,
    Window,
    least_room,
    lists_bytes,
    strip_bytes,
)
from penstock.store.graph import Graph
from penstock.types import I64, U16, U32, U64, Array

#: Vertices that have rows of bits, at most, and the share of the room that these get if not all
#: lists fit.
HUBS = 1 << 14
ROW_SHARE = 3 / 4
#: Of so many bits of the rows before the diagonal, at least one is set; else rows are no gain.
SPARSE = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is counted (a mode of the kernels), and whether the neighbours of each vertex too; and
    the bytes for each vertex that whoever wants it needs besides.
    """

    mode: int = kernels.OF_VERTICES
    degrees: bool = False
    other_bytes: int = 0

    @property
    def entry_bytes(self) -> int:
        """Bytes of an entry of a window."""
        return {kernels.OF_VERTICES: 4, kernels.OF_EDGES: 8, kernels.OF_DIRECTIONS: 5}[self.mode]

    @property
    def vertex_bytes(self) -> int:
        """Bytes of what is counted for each vertex."""
        counts = 0 if self.mode == kernels.OF_EDGES else 8
        return counts + (4 if self.degrees else 0) + self.other_bytes


def counting_needs(counts: Counts, wanted: Wanted, more: int = 0, least: int = 0) -> Needs:
    """What counting needs. Its room is for windows: for all lists if they fit, and ``more`` bytes,
    or else what is left if the topology streams. ``least``: bytes that the run needs instead of the
    windows once it has counted. Each kernel at work has marks, a bit and a half for each vertex,
    and what it finds for a list.
    """
    least = max(least_room(counts, wanted.entry_bytes), least)
    return Needs(
        counts.both_ways, 4.0,
        vertex_bytes=wanted.vertex_bytes, more_bytes=strip_bytes(counts),
        worker_bytes=counts.num_vertices * 3 // 16 + 4096 + 4 * counts.most_earlier,
        room=Room(least, max(_whole_bytes(counts, wanted) + more, least)),
        streams_per_thread=1,  # more would only take room
        gathered_bytes=8, work=20.0,
    )  # fmt: skip


def _whole_bytes(counts: Counts, wanted: Wanted) -> int:
    """Bytes of one window with all lists, and of the rows of bits."""
    hubs = 0 if wanted.mode == kernels.OF_DIRECTIONS else min(counts.num_vertices, HUBS)
    return lists_bytes(counts, wanted.entry_bytes) + row_bytes(hubs, wanted.mode)


def row_bytes(hubs: int, mode: int, entries: int = 0) -> int:
    """Bytes of the rows of the first vertices; if edges count, with the ranks of their words, and
    places and values of their lists with so many entries.
    """
    words = hubs * -(-hubs // 64)
    if mode != kernels.OF_EDGES:
        return 8 * words
    return 10 * words + 8 * (hubs + 1) + 4 * entries


def choose_hubs(sizes: Array, most: int) -> int:
    """How many of the first vertices have rows: as many as may, while bits are dense enough.
    ``sizes``: entries of the first lists.
    """
    hubs = min(len(sizes), most)
    entries = np.cumsum(sizes[:hubs], dtype=np.int64)
    before = np.arange(1, hubs + 1, dtype=np.int64)
    dense = np.flatnonzero(entries * SPARSE >= before * (before - 1) // 2)
    return int(dense[-1]) + 1 if len(dense) else 0


class Rows:
    """The rows of the first vertices; and, if edges count, where the values of their lists begin,
    the values, and the ranks of the words.
    """

    def __init__(self, hubs: int) -> None:
        self.hubs = hubs
        self.drop()

    def drop(self) -> None:
        """Keep only the number of hubs."""
        self.words = 0
        self.bits: U64 = np.empty(0, np.uint64)
        self.offsets: U64 = np.empty(0, np.uint64)
        self.values: U32 = np.empty(0, np.uint32)
        self.ranks: U16 = np.empty(0, np.uint16)

    @property
    def nbytes(self) -> int:
        """What they take."""
        arrays = (self.bits, self.offsets, self.values, self.ranks)
        return sum(each.nbytes for each in arrays)


class Counting:
    """The numbers that are counted, and the lists they are counted from: those of the graph, or
    some that were kept of them.
    """

    def __init__(
        self,
        engine: Engine,
        wanted: Wanted,
        lists: EarlierLists | None = None,
    ) -> None:
        self.engine = engine
        self.wanted = wanted
        #: What counts instead of the kernels, if the run has anything that does.
        self.counter = pair_counter(engine)
        most = None if self.counter is None else self.counter.inner_bytes
        self._room = room = engine.take_room(ROOM, most)
        if lists is None:
            fits = room >= lists_bytes(engine.counts, wanted.entry_bytes)
            lists = PageLists(engine, fit=fits, pairs=wanted.mode == kernels.OF_DIRECTIONS)
        self.lists = lists
        self.counts: I64 = np.empty(0, np.int64)
        if wanted.mode != kernels.OF_EDGES:
            self.counts = engine.array("counts", np.int64, 0)
        #: Neighbours of each vertex, if wanted.
        self.degrees: U32 = np.empty(0, np.uint32)
        if wanted.degrees:
            self.degrees = engine.array("degrees", np.uint32, 0)
        #: Values of edges, if they count.
        self.values: EdgeColumn | None = None

    def run(self, identity: Mapping[str, Any]) -> Pairs:
        """Count; returns the lists, with what was counted of edges if these count."""
        engine, wanted, lists = self.engine, self.wanted, self.lists
        engine.options.progress.start("windows", None, "windows")
        counter = nullcontext() if self.counter is None else closing(self.counter)
        with counter, Recovery(engine, identity) as recovery:
            if isinstance(lists, PageLists):
                with engine.step(mode="measure"):
                    lists.measure()
                    if wanted.mode == kernels.OF_EDGES:
                        lists.settle(self._room, wanted.entry_bytes)
            arrays = self._arrays()
            saved = recovery.resume(arrays)
            step = 0 if saved is None else saved[0]
            hubs = None if saved is None else saved[1].whole("hubs", 0, engine.num_vertices)
            rows, pairs = self._prepare(hubs)
            if saved is None:
                first = 0 if pairs.whole else rows.hubs
                with engine.step(mode="hubs", vertices=rows.hubs):
                    self._within(rows, pairs)
            else:
                first = saved[1].whole("vertices", 0, engine.num_vertices)

            def calls(inner: Window) -> Iterator[Call]:
                return self._calls(inner, rows)

            def after(inner: Window) -> None:
                nonlocal step
                step += 1
                if wanted.degrees:
                    self._add_degrees(inner)
                pairs.room += self._finish(rows)
                if self.counter is not None:
                    self.counter.hand_over(self.counts, 2)
                recovery.after(step, arrays, {"vertices": inner.last, "hubs": rows.hubs})

            # While there are rows, the lists of hubs are at hand besides the inner window.
            by_pages = wanted.mode == kernels.OF_VERTICES
            pairs.run(first, calls, after, by_pages=by_pages, before=saved is None)
            self._finish(rows)
        if wanted.mode == kernels.OF_VERTICES:
            engine.map_ranges(kernels.halve, self.counts)
        return pairs

    def _arrays(self) -> dict[str, Any]:
        """What is kept in checkpoints."""
        arrays: dict[str, Any] = {}
        if self.wanted.mode == kernels.OF_EDGES:
            kind, lists = np.dtype(np.uint32), self.lists
            folder = self.engine.scratch_folder()
            self.values = arrays["values"] = zeros(folder, kind, lists.total, in_memory=lists.fit)
        else:
            arrays["counts"] = self.counts
        if self.wanted.degrees:
            arrays["degrees"] = self.degrees
        return arrays

    # Hubs

    def _prepare(self, hubs: int | None) -> tuple[Rows, Pairs]:
        """The rows of the hubs, and the pairs of windows in the room that they leave. A run that
        goes on knows how many hubs there are, and needs no rows.
        """
        lists, mode = self.lists, self.wanted.mode
        if self.counter is not None:
            self.counter.check(lists.longest)
        rows = Rows(self._choose_hubs() if hubs is None else hubs)
        if hubs is None:
            rows.words = -(-rows.hubs // 64)
            rows.bits = np.zeros(rows.hubs * rows.words, np.uint64)
            if mode == kernels.OF_EDGES:
                assert self.values is not None
                rows.ranks = np.empty(len(rows.bits), np.uint16)
                rows.offsets = np.zeros(rows.hubs + 1, np.uint64)
                np.cumsum(lists.sizes(0, rows.hubs), out=rows.offsets[1:])
                rows.values = self.values.read(0, int(rows.offsets[-1]))
        room = self._room - rows.nbytes
        return rows, Pairs(lists, room, self.wanted.entry_bytes, self.values)

    def _choose_hubs(self) -> int:
        """How many hubs there are: what their rows take leaves enough room for windows."""
        mode, entry_bytes = self.wanted.mode, self.wanted.entry_bytes
        if mode == kernels.OF_DIRECTIONS or self.counter is not None:
            return 0
        sizes = self.lists.sizes(0, HUBS)
        windows = MARGIN * self.lists.longest_bytes(entry_bytes)
        spare = min(self._room * ROW_SHARE, self._room - windows)
        if self.lists.fit:
            spare = self._room - lists_bytes(self.engine.counts, entry_bytes)
        most = len(sizes)
        while most and row_bytes(most, mode, int(sizes[:most].sum())) > spare:
            most -= min(most, 64)
        return choose_hubs(sizes, most)

    def _within(self, rows: Rows, pairs: Pairs) -> None:
        """Make the rows, and count the triangles among hubs."""
        engine, wanted, lists = self.engine, self.wanted, self.lists
        if pairs.whole:
            everything = pairs.open(0, lists.num_vertices)
            kernels.fill_rows(*everything.arrays(), rows.hubs, rows.words, rows.bits)
        else:
            for window in lists.windows(pairs.room, wanted.entry_bytes, rows.hubs):
                kernels.fill_rows(*window.arrays(), rows.hubs, rows.words, rows.bits)
                if wanted.degrees:
                    self._add_degrees(window)
        if len(rows.ranks):
            engine.map_ranges(
                kernels.rank_rows, rows.words, rows.bits, rows.ranks, length=rows.hubs
            )
        engine.run_per_thread(
            kernels.within_rows, rows.hubs, rows.words, rows.bits, rows.offsets, rows.values,
            self.counts, wanted.mode,
        )  # fmt: skip

    def _finish(self, rows: Rows) -> int:
        """After the first inner window rows are done with: keep what was counted of their edges,
        and say how much room they leave.
        """
        if self.values is not None and len(rows.values):
            self.values.write(0, rows.values)
        size = rows.nbytes
        rows.drop()
        return size

    # Windows

    def _calls(self, inner: Window, rows: Rows) -> Iterator[Call]:
        """For triangles with the last vertex among some lists, of hubs none, and the middle one in
        a window or, while there are rows, a hub.
        """
        if self.counter is not None:
            yield self.counter, rows.hubs, (inner,)
            return
        common = self.lists.longest, self.counts, self.wanted.mode
        if rows.words:
            held = rows.bits, rows.ranks, rows.offsets, rows.values
            yield kernels.through_rows, rows.hubs, (rows.hubs, rows.words, *held, *common)
        least = max(inner.first, rows.hubs)
        args = (*inner.arrays(), least, self.lists.num_vertices, *common)
        yield kernels.through_lists, rows.hubs, args

    def _add_degrees(self, window: Window) -> None:
        self.engine.map_ranges(
            kernels.add_degrees, *window.arrays(), self.degrees, length=window.last - window.first
        )


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

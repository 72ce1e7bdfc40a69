"""Windows: lists of earlier neighbours of consecutive vertices, in memory for a while.

The *earlier neighbours* of a vertex are those with smaller numbers, ascending, each once, whatever
direction the edge has. So every edge that is not a loop is in one list, once. Vertices are numbered
in descending order of degree, which makes the lists of hubs short.

A window is filled from the pages that hold its vertices, of both directions if the graph has two.
How many entries lists have is counted once beforehand, and where they lead, strip by strip: a strip
is a range of vertices, all strips of the same length.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.config import format_bytes
from penstock.engine import window_kernels as kernels
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.ordered import best_end
from penstock.engine.scratch import InMemory, ScratchColumn, zeros
from penstock.errors import BudgetError
from penstock.stream.budget import spell_enough
from penstock.stream.lists import Piece
from penstock.types import I64, U8, U32, Array, Direction

#: Bytes for each vertex of a window: where its list begins, how much of it is there, and its size.
PLACE_BYTES = 12
#: The same if an edge may be in lists twice: how much of it came from out-lists, and its size when
#: each is there once.
PAIR_PLACE_BYTES = 20
#: Entries of a window from which on places take 8 bytes, not 4.
MANY_ENTRIES = 1 << 32
#: What the budget calls the room for windows; and how many of the longest list it must hold: one in
#: each half of it.
ROOM = "lists of earlier neighbours"
MARGIN = 2
#: Windows that all lists come in, at most: the pages pass for each of them.
MOST_WINDOWS = 32
#: Strips, at most.
MOST_STRIPS = 1024
#: Vertices whose sizes are looked at together.
PART = 1 << 16


Passing = Callable[[int, Piece], None]


@dataclass(frozen=True, slots=True)
class Window:
    """The earlier neighbours of vertices ``first`` to ``last``: those of v begin at
    ``offsets[v - first]`` and end where the next begin. ``values`` has a number for each, if any
    are kept.
    """

    first: int
    last: int
    offsets: Array
    neighbours: U32
    values: Array

    def arrays(self) -> tuple[Any, ...]:
        """What kernels see."""
        return np.uint64(self.first), self.offsets, self.neighbours, self.values

    @property
    def nbytes(self) -> int:
        """What it takes."""
        return self.offsets.nbytes + self.neighbours.nbytes + self.values.nbytes

    @property
    def num_entries(self) -> int:
        """Edges in it."""
        return len(self.neighbours)


def is_simple(counts: Counts) -> bool:
    """Whether an edge is in the list of a vertex once."""
    return not counts.directed and not counts.keeps_duplicates


def lists_bytes(counts: Counts, entry_bytes: int) -> int:
    """Bytes of one window with all lists: an edge is in one of them."""
    place = PLACE_BYTES if is_simple(counts) else PAIR_PLACE_BYTES
    if counts.num_edges >= MANY_ENTRIES:
        place += 4
    return entry_bytes * counts.num_edges + place * counts.num_vertices


def least_room(counts: Counts, entry_bytes: int) -> int:
    """Bytes that windows need at least, whatever the lists are: by the degrees of the vertices."""
    place = PLACE_BYTES if is_simple(counts) else PAIR_PLACE_BYTES
    longest = MARGIN * (entry_bytes * counts.most_earlier + place)
    whole = lists_bytes(counts, entry_bytes)
    return min(max(longest, whole // MOST_WINDOWS), whole)


def _strip_shift(counts: Counts) -> int:
    """Bits of a vertex number within its strip: there are no more strips than pages."""
    shift, most = 0, min(MOST_STRIPS, max(counts.of("out").num_pages, 1))
    while counts.num_vertices >> shift >= most:
        shift += 1
    return shift


def strip_bytes(counts: Counts) -> int:
    """Bytes of what is known about pairs of strips."""
    return ((counts.num_vertices >> _strip_shift(counts)) + 1) ** 2


class EarlierLists:
    """Lists of earlier neighbours. ``fit``: whether there is room for all of them, and so for their
    sizes too.
    """

    def __init__(self, engine: Engine, *, fit: bool) -> None:
        self.engine = engine
        self.fit = fit
        self.num_vertices = engine.num_vertices
        self.place_bytes = PLACE_BYTES if is_simple(engine.counts) else PAIR_PLACE_BYTES
        #: Entries of each list, as they are stored.
        self._sizes = self._new_sizes()
        #: Entries of each list, each once.
        self._exact = self._sizes
        self.shift = _strip_shift(engine.counts)
        strips = (self.num_vertices >> self.shift) + 1
        #: Whether a list of one strip has an entry of another. Of lists that follow others, the
        #: last count.
        self.meets: U8 = np.zeros((strips, strips), np.uint8)
        engine.hold("pairs of strips", self.meets.nbytes)
        self.longest = 0
        self.total = 0

    def _new_sizes(self) -> InMemory | ScratchColumn:
        folder, kind = self.engine.scratch_folder(), np.dtype(np.uint32)
        return zeros(folder, kind, self.num_vertices, in_memory=self.fit)

    def load(self, first: int, last: int) -> Window:
        """The lists of some vertices."""
        raise NotImplementedError

    def can_pass_by(self) -> bool:
        """Whether a list, as it is stored, has its earlier neighbours in front, each once, and in
        one page.
        """
        return False

    def pass_by(self, first: int, last: int, work: Passing) -> None:
        """``work(stream, piece)`` for the lists of some vertices as they are in their pages."""
        raise NotImplementedError

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Ranges of vertices."""
        for begin in range(0, self.num_vertices, PART):
            yield begin, min(begin + PART, self.num_vertices)

    def _sum_up(self) -> None:
        """Sizes are known."""
        sums = [0]
        for begin, end in self._parts():
            sizes = self._exact.read(begin, end)
            self.longest = max(self.longest, int(sizes.max()))
            sums.append(sums[-1] + int(sizes.sum(dtype=np.int64)))
        #: Entries before each range of sizes.
        self._before: I64 = np.array(sums, np.int64)
        self.total = sums[-1]

    def sizes(self, begin: int, end: int) -> U32:
        """How many entries some lists have."""
        return self._exact.read(begin, min(end, self.num_vertices))

    def longest_bytes(self, entry_bytes: int) -> int:
        """What a window with the longest list takes."""
        return entry_bytes * self.longest + self.place_bytes

    def place(self, vertex: int) -> int:
        """Entries of all lists before that of a vertex."""
        part = vertex // PART
        inside = self._exact.read(part * PART, vertex)
        return int(self._before[part]) + int(inside.sum(dtype=np.int64))

    def reach(self, first: int, room: int, entry_bytes: int, last: int | None = None) -> int:
        """Where a window ends that begins with a vertex and has so much room: with a page if one
        ends there, as the next would have to read it again.
        """
        stop = self.num_vertices if last is None else last
        at, place_bytes = first, self.place_bytes
        while at < stop:
            sizes = self._sizes.read(at, min(at + PART, stop))
            count, room = kernels.reach(sizes, entry_bytes, place_bytes, room)
            at += count
            if count < len(sizes):
                break
        if at == first < stop:
            self._refuse()
        return best_end(self.engine, first, at) if at < stop else at

    def _refuse(self) -> None:
        longest = self.longest_bytes(8)  # the largest entries that there are
        held = self.engine.options.memory - self.engine.held(ROOM)
        raise BudgetError(
            f"memory: {format_bytes(self.engine.options.memory)} is not enough for two lists of "
            f"neighbours, the longest of which takes {format_bytes(longest)}; "
            f"requires at least {spell_enough(held + MARGIN * longest)}"
        )

    def ranges(
        self, room: int, entry_bytes: int, last: int | None = None
    ) -> Iterator[tuple[int, int]]:
        """The vertices, or those before one, in ranges for one window after another: all at once if
        there is room, or else each in half of it, as one is held until the next is there.
        """
        stop = self.num_vertices if last is None else last
        first = 0
        if stop and self.reach(0, room, entry_bytes, stop) < stop:
            room //= 2
        while first < stop:
            end = self.reach(first, room, entry_bytes, stop)
            yield first, end
            first = end

    def windows(self, room: int, entry_bytes: int, last: int | None = None) -> Iterator[Window]:
        """The lists of all vertices, or of those before one, one window after another, in so much
        room.
        """
        for first, end in self.ranges(room, entry_bytes, last):
            yield self.load(first, end)


class PageLists(EarlierLists):
    """Those of a graph, from its pages. ``pairs``: windows have, as values, the number of
    directions of each edge (uint8).
    """

    def __init__(self, engine: Engine, *, fit: bool, pairs: bool = False) -> None:
        super().__init__(engine, fit=fit)
        self.pairs = pairs
        self.directions = engine.counts.both_ways
        self._in_order = engine.graph.neighbour_order == "id"
        self._lock = threading.Lock()

    def measure(self) -> None:
        """Count the entries of all lists, as they are stored."""

        def work(stream: int, piece: Piece) -> None:
            sizes: U32 = np.empty(piece.end - piece.begin, np.uint32)
            self.engine.timed_call(
                stream, piece, kernels.measure, piece.block, piece.begin, piece.end,
                self._in_order, self.shift, sizes, self.meets,
            )  # fmt: skip
            with self._lock:  # a long list comes in parts
                sizes += self._sizes.read(piece.begin, piece.end)
                self._sizes.write(piece.begin, sizes)

        for direction in self.directions:
            self.engine.lists(direction).scan(work)
        self._sum_up()

    def settle(self, room: int, entry_bytes: int) -> None:
        """Go over all lists if need be, so that from now on sizes are those of entries once."""
        if is_simple(self.engine.counts):
            return
        exact = self._new_sizes()
        for window in self.windows(room, entry_bytes):
            exact.write(window.first, np.diff(window.offsets).astype(np.uint32))
        self._exact = exact
        self._sum_up()

    def load(self, first: int, last: int) -> Window:
        """The lists of some vertices."""
        engine, length = self.engine, last - first
        sizes = self._sizes.read(first, last)
        total = int(sizes.sum(dtype=np.int64))
        offsets: Array = np.zeros(length + 1, np.uint64 if total >= MANY_ENTRIES else np.uint32)
        np.cumsum(sizes, out=offsets[1:], dtype=offsets.dtype)
        del sizes
        entries: U32 = np.empty(total, np.uint32)
        pairs: U8 = np.ones(total if self.pairs else 0, np.uint8)
        lengths: U32 = np.zeros(length, np.uint32)
        middles: U32 = np.empty(0, np.uint32)
        for direction in self.directions if total else ():
            self._scan(first, last, direction, offsets, lengths, entries)
            engine.map_ranges(
                kernels.tidy, offsets, lengths, entries, pairs, middles, length=length
            )
            if direction != self.directions[-1]:
                middles = lengths.copy()
        count = int(kernels.compact(offsets, lengths, entries, pairs))
        return Window(first, last, offsets, entries[:count], pairs[:count])

    def _scan(self, first: int, last: int, direction: Direction, *arrays: Array) -> None:
        start = np.uint64(first)

        def work(stream: int, piece: Piece) -> None:
            self.engine.timed_call(
                stream, piece, kernels.take, piece.block, piece.begin, piece.end, start, *arrays,
                self._in_order,
            )  # fmt: skip

        self._each_piece(first, last, direction, work)

    def _each_piece(self, first: int, last: int, direction: Direction, work: Passing) -> None:
        """Call ``work`` for what pages have of the lists of some vertices."""
        lists = self.engine.lists(direction)
        firsts = lists.table["first_vid"]
        low = int(np.searchsorted(firsts, first))
        if low == len(firsts) or firsts[low] > first:
            low -= 1

        def some(stream: int, piece: Piece) -> None:
            begin, end = max(piece.begin, first), min(piece.end, last)
            if begin < end:
                work(stream, piece._replace(begin=begin, end=end))

        lists.scan(some, pages=range(low, int(np.searchsorted(firsts, last))))

    def can_pass_by(self) -> bool:
        """See :meth:`EarlierLists.can_pass_by`."""
        if not (self._in_order and is_simple(self.engine.counts)):
            return False
        table = self.engine.graph.page_table("out")
        heads = table[np.flatnonzero(table["run"] == 1) - 1]  # of lists with several pages
        vertices, rooms = heads["first_vid"].tolist(), heads["num_edges"].tolist()
        return all(self.sizes(v, v + 1)[0] <= room for v, room in zip(vertices, rooms, strict=True))

    def pass_by(self, first: int, last: int, work: Passing) -> None:
        """See :meth:`EarlierLists.pass_by`."""
        self._each_piece(first, last, "out", work)


class KeptLists(EarlierLists):
    """Those that were kept of others, window after window in ascending order, in a column."""

    def __init__(self, engine: Engine, most: int, *, fit: bool) -> None:
        super().__init__(engine, fit=fit)
        self._entries = zeros(engine.scratch_folder(), np.dtype(np.uint32), most, in_memory=fit)
        self.total = 0

    def add(self, window: Window, kept: Array) -> None:
        """Keep the entries of a window that are marked."""
        ends: I64 = np.append(0, np.cumsum(kept, dtype=np.int64))[window.offsets.astype(np.int64)]
        sizes = np.diff(ends).astype(np.uint32)
        entries = window.neighbours[kept]
        self._sizes.write(window.first, sizes)
        self._entries.write(self.total, entries)
        self.total += len(entries)
        vertices = np.repeat(np.arange(window.first, window.last), sizes)
        self.meets[vertices >> self.shift, entries >> np.uint32(self.shift)] = 1

    def finish(self) -> None:
        """All windows were added."""
        self._sum_up()

    def load(self, first: int, last: int) -> Window:
        """The lists of some vertices."""
        sizes, place = self.sizes(first, last), self.place(first)
        dtype = np.uint64 if self.total >= MANY_ENTRIES else np.uint32
        offsets: Array = np.zeros(last - first + 1, dtype)
        np.cumsum(sizes, out=offsets[1:], dtype=dtype)
        entries = self._entries.read(place, place + int(offsets[-1]))
        return Window(first, last, offsets, entries, np.empty(0, np.uint32))

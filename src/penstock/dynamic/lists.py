"""Degree-aware lists: one direction of a graph that changes, in memory.

A list is nothing but its neighbours, side by side. It is searched from its beginning, many entries
at a time, as long as it is not too long for the rows that ask for it. A list that few rows ask for,
and that is longer than a threshold for each of them, gets an index besides: a Robin Hood table of
places in the list. That is dropped when the list has shrunk to half the threshold, so that a list
at the border does not go back and forth.

So the neighbours of a vertex are an array in one piece, whatever its degree: ``neighbours[starts[v]
: ends[v]]``, in no order but that the first tends to have the smallest number. Algorithms go over
them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from penstock.config import thread_count
from penstock.dynamic import list_reading as reading
from penstock.dynamic.batch_kernels import BY_SOURCE, BY_TARGET, sort_rows
from penstock.dynamic.changes import Gathered
from penstock.dynamic.list_kernels import apply_parts
from penstock.dynamic.list_memory import GivenRows, ListMemory, Rules
from penstock.dynamic.list_rows import RowRoom
from penstock.dynamic.list_sizes import APART, AT_ONCE, CLASSES, EXTENT, MOST_DISTANCE, PARTS
from penstock.dynamic.region import Pool, Region
from penstock.dynamic.robin_hood import ProbeDistances
from penstock.dynamic.tables import FrozenTables
from penstock.errors import BudgetError
from penstock.parallel import Workers
from penstock.store import transpose
from penstock.store.layout import Column
from penstock.types import I64, U8, U32, U64, Array

#: A list that is longer than this for each row that asks for it gets an index.
THRESHOLD = 512
#: Place 0 is that of lists that are empty.
FIRST_PLACE = 4
#: A pool is laid out again when it takes this many times what its chunks take, and ROOM besides.
MOST_WASTE = 1.35
ROOM = 1 << 18
#: What there is by vertex, in the order of :class:`ListMemory`.
BY_VERTEX: dict[str, DTypeLike] = {
    "starts": np.uint64, "ends": np.uint64, "sizes": np.uint8, "index_at": np.uint64,
    "indexes": np.uint8, "dead": np.uint32,
}  # fmt: skip
_NOTHING: U8 = np.empty(0, np.uint8)


class DegreeAwareLists:
    """Lists of neighbours by vertex number, with properties of each edge; see the module.

    One call at a time: the caller sees to that.
    """

    def __init__(
        self,
        columns: Sequence[Column] = (),
        *,
        multigraph: bool = False,
        threshold: int = THRESHOLD,
        threads: int | None = None,
        folder: Path | None = None,
    ) -> None:
        self.multigraph = multigraph
        self.threshold = threshold
        self.column_names = tuple(column.name for column in columns)
        self._record = np.dtype([(column.name, column.dtype) for column in columns])
        self._folder = folder
        self._workers = Workers(thread_count(threads))
        self._by_vertex = {name: self._region(name, dtype) for name, dtype in BY_VERTEX.items()}
        self._width = self._record.itemsize if columns else 0
        self._pools = (self._new_pool(0), self._new_pool(1))
        self.num_vertices = 0
        self._room = RowRoom(self._workers)
        self._forget()

    def _region(self, name: str, dtype: DTypeLike) -> Region:
        return Region(dtype, file=None if self._folder is None else self._folder / name)

    def _new_pool(self, pool: int) -> Pool:
        """New memory for the lists (0) or for their indexes (1)."""
        if pool == 1:
            return Pool(self._region("slots", np.uint32), self._region("marks", np.uint8), 1)
        return Pool(
            self._region("neighbours", np.uint32), self._region("payload", np.uint8), self._width
        )

    @property
    def _vertex(self) -> dict[str, Array]:
        return {name: region.array for name, region in self._by_vertex.items()}

    @property
    def _pool(self) -> U32:
        return self._pools[0].words.array

    @property
    def _payload(self) -> U8:
        return self._pools[0].beside.array

    @property
    def neighbours(self) -> U32:
        """The pool that the lists are in."""
        return self._pool[: int(self._tops[0])]

    @property
    def columns(self) -> tuple[Array, ...]:
        """The properties of each entry of ``neighbours``."""
        if not self._width:
            return ()
        payload = self._payload[: int(self._tops[0]) * self._width]
        if len(self.column_names) == 1:
            return (payload.view(self._record[0]),)
        records = payload.view(self._record)
        return tuple(records[name] for name in self.column_names)

    def _forget(self) -> None:
        """No chunk was ever taken."""
        self.num_edges = 0
        self._heads: U64 = np.zeros((PARTS, CLASSES + APART), np.uint64)
        self._slot_heads: U64 = np.zeros((PARTS, CLASSES + APART), np.uint64)
        self._extents: U64 = np.zeros((PARTS, 4 + APART), np.uint64)
        self._tops: U64 = np.full(2, FIRST_PLACE, np.uint64)
        #: Tops at which to look how much of a pool is free chunks.
        self._tidy_at: U64 = np.full(2, ROOM, np.uint64)

    @property
    def starts(self) -> U64:
        """Where the list of each vertex begins in ``neighbours``."""
        return self._by_vertex["starts"].array[: self.num_vertices]

    @property
    def ends(self) -> U64:
        """Where it ends."""
        return self._by_vertex["ends"].array[: self.num_vertices]

    def bounds(self, begin: int, end: int) -> tuple[U64, U64]:
        """Where the lists of consecutive vertices begin and end."""
        return self.starts[begin:end], self.ends[begin:end]

    def frozen(self) -> FrozenTables:
        """The arrays that the lists are in, not copies: for lists that are changed no more."""
        return FrozenTables(self.starts, self.ends, self.neighbours, self.columns)

    @property
    def nbytes(self) -> int:
        """Bytes that are in use, free chunks among them. What no list was ever in takes none."""
        if int(self._tops[0]) == FIRST_PLACE:
            return 0
        by_vertex = sum(region.dtype.itemsize for region in self._by_vertex.values())
        return self.chunk_bytes + self.num_vertices * by_vertex

    @property
    def chunk_bytes(self) -> int:
        """Those of them that grow with the edges."""
        neighbours, slots = (int(top) for top in self._tops)
        return neighbours * (4 + self._width) + slots * 5

    def grow(self, num_vertices: int) -> None:
        """Have room for this number of vertices."""
        if num_vertices > self.num_vertices:
            for region in self._by_vertex.values():
                region.reserve(num_vertices, self.num_vertices)
            self.num_vertices = num_vertices

    def close(self, *, wait: bool = True) -> None:
        """End the threads."""
        self._workers.close(wait=wait)

    @property
    def _memory(self) -> ListMemory:
        """What kernels work on."""
        by_vertex, lists, indexes = self._vertex.values(), *(pool.arrays for pool in self._pools)
        heap = (self._heads, self._slot_heads, self._extents, self._tops)
        return ListMemory._make((*by_vertex, *lists, *indexes, *heap, self._width, self.multigraph))

    def change(
        self, src: U32, dst: U32, adds: U8 | None = None, columns: Sequence[Array] = ()
    ) -> tuple[int, int]:
        """Add and delete edges: row i adds if ``adds[i]``, or if there is no ``adds``. Rows of
        equal pairs take effect in their order. Returns how many edges appeared and went.
        An edge that is added where it is already changes its properties, unless this is a
        multigraph; one that is deleted goes with all its parallels.
        """
        return self._run(self._given(src, dst, adds, columns))

    def apply_counted(
        self, src: U32, dst: U32, adds: U8 | None = None, columns: Sequence[Array] = ()
    ) -> U32:
        """As :meth:`change`, but says how many edges each row made or deleted."""
        counts: U32 = np.empty(len(src), np.uint32)
        self._run(self._given(src, dst, adds, columns), counts=counts)
        return counts

    def apply(
        self, src: U32, dst: U32, adds: U8 | None = None, columns: Sequence[Array] = ()
    ) -> U8:
        """As :meth:`change`, but says of each row whether an edge appeared or went."""
        changed: U8 = self.apply_counted(src, dst, adds, columns).astype(bool).view(np.uint8)
        return changed

    def _given(self, src: U32, dst: U32, adds: U8 | None, columns: Sequence[Array]) -> GivenRows:
        ops = _NOTHING if adds is None else adds
        return GivenRows(src, dst, ops, self._records(columns, len(src)))

    def _records(self, columns: Sequence[Array], rows: int) -> U8:
        if not self._width:
            return _NOTHING
        records = np.zeros(rows, self._record)
        for name, values in zip(self.column_names, columns, strict=bool(columns)):
            records[name] = values
        return records.view(np.uint8)

    def find(self, src: U32, dst: U32) -> I64:
        """The place of each edge in ``neighbours``, -1 if it is not there."""
        places: I64 = np.empty(len(src), np.int64)
        self._run(GivenRows(src, dst, _NOTHING, _NOTHING), places=places, looking=True)
        return places

    def count(self, src: U32, dst: U32) -> U32:
        """How many edges there are from each source to its target."""
        counts: U32 = np.empty(len(src), np.uint32)
        self._run(GivenRows(src, dst, _NOTHING, _NOTHING), counts=counts, looking=True)
        return counts

    def missing_bytes(self, new_vertices: int, rows: int) -> int:
        """Address space that a number of new vertices and of rows could need besides."""
        vertices = self.num_vertices + new_vertices
        by_vertex = sum(region.missing_bytes(vertices) for region in self._by_vertex.values())
        if not rows:
            return by_vertex
        most = self._most_places(rows)
        return by_vertex + sum(
            pool.missing_bytes(places) for pool, places in zip(self._pools, most, strict=True)
        )

    def missing_index_bytes(self, rows: int) -> int:
        """Address space that looking up a number of rows could need besides."""
        return self._pools[1].missing_bytes(self._most_places(rows)[1])

    def _most_places(self, rows: int) -> tuple[int, int]:
        """Where both pools could end after some rows. A list may move with its first row, to a
        chunk of 1.5 times the size, and then again after a quarter of that in rows; chunks fill at
        least half of their extents. An index may be made for each list, or made larger. A search
        looks beyond the end of its list.
        """
        entries, slots = (int(top) for top in self._tops)
        extents, double = PARTS * int(EXTENT) + AT_ONCE, 1 + self.multigraph
        return (
            5 * entries + 12 * rows + extents,
            5 * slots + double * (4 * entries + 16 * rows) + extents,
        )

    def _reserve(self, rows: int, *, only_slots: bool = False) -> None:
        """Have address space for whatever a number of rows may do."""
        for k, places in enumerate(self._most_places(rows)):
            if k == 1 or not only_slots:
                self._pools[k].reserve(places, int(self._tops[k]))

    def _run(
        self,
        given: GivenRows,
        *,
        counts: U32 | None = None,
        places: I64 | None = None,
        looking: bool = False,
    ) -> tuple[int, int]:
        """Go over the rows part by part, on all cores; how many edges appeared and went. By row, if
        asked for: how many edges that were, or there are; where an edge is.
        """
        rows = len(given.src)
        if not rows:
            return 0, 0
        # Looking may make an index, but the lists stay where they are: views lead there.
        self._reserve(rows, only_slots=looking)
        order = self._room.deal(given, counted=counts is not None, placed=places is not None)
        rules, memory, most = Rules(self.threshold, looking), self._memory, self.num_vertices - 1
        tallies = np.zeros((PARTS, 2 + APART), np.int64)

        def work(worker: int, parts: tuple[int, int]) -> None:
            apply_parts(
                *parts, order.cuts, most, *order.halves, order.dealt, rules, tallies,
                self._room.runs[worker], memory,
            )  # fmt: skip

        self._workers.run(work, order.pieces)
        if counts is not None:
            self._room.collect(order, given.src, order.dealt.counts, counts)
        if places is not None:
            self._room.collect(order, given.src, order.dealt.places, places)
        added, removed = tallies[:, :2].sum(axis=0).tolist()
        self.num_edges += added - removed
        if not looking:
            self._tidy()
        return added, removed

    def _tidy(self) -> None:
        """Lay a pool out again, in the order of the vertices, if too much of it is free chunks that
        no list asks for: degrees grow past the sizes that others left.
        """
        if not np.any(self._tops > self._tidy_at):
            return
        n = self.num_vertices
        sizes, indexes = self._vertex["sizes"][:n], self._vertex["indexes"][:n]
        live = np.array(reading.live_chunks(sizes, indexes, self.multigraph), np.uint64)
        for pool in (0, 1):
            if int(self._tops[pool]) > MOST_WASTE * int(live[pool]) + ROOM:
                with suppress(BudgetError):  # no address space for a second pool: it stays as it is
                    self._relay(pool, int(live[pool]))
            self._tidy_at[pool] = int(MOST_WASTE * max(int(live[pool]), 1)) + ROOM

    def _relay(self, pool: int, live: int) -> None:
        """Move the chunks in use, which take ``live`` places, to a new pool."""
        n, old, new = self.num_vertices, self._pools[pool].arrays, self._new_pool(pool)
        new.reserve(live + FIRST_PLACE + AT_ONCE, 0)
        self._tops[pool] = FIRST_PLACE
        self._extents[:, 2 * pool : 2 * pool + 2] = 0
        if pool == 0:
            self._heads[:] = 0
            self._pools, relay = (new, self._pools[1]), reading.relay_lists
        else:
            self._slot_heads[:] = 0
            self._pools, relay = (self._pools[0], new), reading.relay_indexes
        memory = self._memory
        self._workers.run(lambda _, part: relay(part, n, *old, memory), range(PARTS))

    def degrees(self) -> U32:
        """How long each list is."""
        found: U32 = np.empty(self.num_vertices, np.uint32)
        reading.lengths(self.starts, self.ends, found)
        return found

    def gather(self, vertices: U32) -> Gathered:
        """Copies of the lists of some vertices, in the order given."""
        offsets: I64 = np.zeros(len(vertices) + 1, np.int64)
        reading.measure(vertices, self.starts, self.ends, offsets)
        total = int(offsets[-1])
        found: U32 = np.empty(total, np.uint32)
        payload: U8 = np.empty(total * self._width, np.uint8)
        reading.copy_lists(vertices, offsets, self._memory, found, payload)
        records = payload.view(self._record) if self._width else None
        columns = () if records is None else tuple(records[name] for name in self.column_names)
        return Gathered(offsets, found, columns)

    def load_rows(self, src: U32, dst: U32, columns: Sequence[Array] = ()) -> U8:
        """Add many edges to lists that are empty, by sorting them: the result is that of
        :meth:`apply`.
        """
        assert self.num_edges == 0
        self._reserve(len(src))
        order = self._room.deal(self._given(src, dst, None, columns), counted=True)
        most, memory = self.num_vertices - 1, self._memory

        def work(worker: int, part: int) -> int:
            begin, end = int(order.cuts[part]), int(order.cuts[part + 1])
            here, there = order.halves
            digits = self._room.runs[worker].digits
            for key, named in ((BY_TARGET, False), (BY_SOURCE, True)):
                if sort_rows(begin, end, most, key, named, here, there, digits):
                    here, there = there, here
            return int(reading.load_sorted(part, begin, end, here, order.dealt, memory))

        self.num_edges = sum(self._workers.run(work, range(PARTS)))
        out: U8 = np.empty(len(src), np.uint8)
        self._room.collect(order, src, order.dealt.counts, out)
        self._room.forget()
        return out

    def load_reversed(self, other: DegreeAwareLists) -> None:
        """Have the edges of other lists turned round, in lists that are empty: sources ascend."""
        assert self.num_edges == 0
        self.grow(other.num_vertices)
        lists = transpose.Sources(other.starts, other.ends, other.neighbours)
        degrees = transpose.count_targets(lists, self._workers)
        needed = int(reading.needed_places(degrees))
        self._pools[0].reserve(int(self._tops[0]) + needed + AT_ONCE, int(self._tops[0]))
        reading.place_lists(degrees, self._memory)
        payload = []
        if self._width:
            payload = [transpose.Values(other._payload, self._payload, self._width)]
        # Where each list ends so far is where its next entry goes.
        transpose.fill_lists(lists, self.ends, degrees, self._pool, payload, self._workers)
        self.num_edges = other.num_edges

    def probe_distances(self) -> ProbeDistances:
        """How far the entries of all indexes are from home; the worst average is that of one."""
        histogram = np.zeros(int(MOST_DISTANCE) + 1, np.int64)
        worst = reading.measure_probes(
            self._vertex["index_at"][: self.num_vertices],
            self._vertex["indexes"][: self.num_vertices], self._pools[1].beside.array, histogram,
        )  # fmt: skip
        found = ProbeDistances.of(histogram)
        return ProbeDistances(found.entries, found.average, found.most, float(worst))

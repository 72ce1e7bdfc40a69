"""The sizes of all two-hop neighbourhoods: targets range by range, as bits.

A *range* has consecutive vertices as targets. Of each vertex, as the *middle* of a path of two
edges, the part of its list that is in the range is in memory. Then the lists of all vertices pass
once: for each v, the parts of v and of its neighbours set bits of a bit set, and the bits are
counted. Ranges are disjoint, so that sizes add up. Sorted lists that are in memory as a whole need
no copy: a part is a place to begin and one to end. Else the lists pass another time before, in
order, and the parts are kept. A range then ends where the room for them is full. Parts of a range
of one target have one entry or none, which is the same for all: so any number of edges may lead to
a target, whatever the room.

A bit set is to fit the cache of a core, so ranges are not wider than that, unless the parts of
lists would be too short to be worth the way to them. Parts that are not too thin are also kept as
rows of bits, if there is room, and united 32 targets at a time.

A list may come in parts. Each is united in a bit set of its own, and that is put into one that the
vertex has while its parts pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.algorithms import _two_hop_kernels as kernels
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs, Room
from penstock.engine.ordered import scan_in_order, scan_joined
from penstock.engine.recovery import Recovery
from penstock.engine.sharing import Scratch, scratch_copies
from penstock.engine.whole_lists import all_lists
from penstock.store.mapped import iter_parts
from penstock.types import I64, U32, VID, Array, Direction

#: Targets whose bits fit the cache of a core, with room for a row beside them.
CACHED = 1 << 17
#: Entries that the part of a middle should have on average: ranges are wider rather than shorter.
PART_ENTRIES = 128
#: Ranges that share the entries, at least, if a range takes no pass over pages: of the targets that
#: most edges lead to, most parts are thick, and short rows are united faster.
SHARES = 4
#: A part is a row if it has more than one entry for so many words of 32 bits: a word is united so
#: many times faster than an entry.
ROW_WORDS = 8
#: Bytes that rows are offered at least, if there is enough; and one of so many bytes of the room
#: that they get if not all parts fit.
ROW_BYTES = 16 << 20
ROW_SHARE = 4
#: What the way to run is called that needs no copies of parts.
IN_PLACE = "parts in place"
#: Time for a path of two edges, as a share of that for an edge of a PageRank step.
PATH_WORK = 0.35


@dataclass(frozen=True, slots=True)
class Middles:
    """The parts of all lists that lead to targets ``low`` to ``high``: see the kernels."""

    low: int
    high: int
    places: Array
    entries: U32
    rows: U32
    #: Targets that any edge leads to.
    reached: int

    @property
    def words(self) -> int:
        """Words of a bit set."""
        return words_of(self.high - self.low)

    def arrays(self) -> tuple[Any, ...]:
        """What kernels see."""
        return (
            np.uint64(self.low), np.uint64(self.high), self.places, self.entries, self.rows,
            np.uint64(self.reached),
        )  # fmt: skip


def words_of(width: int) -> int:
    """Words of 32 bits for so many targets."""
    return -(-width // 32)


def range_limits(targets: int, paths: float, entries: int, *, in_place: bool) -> tuple[int, int]:
    """How many targets a range has at most, and how many entries, by the number of paths of two
    edges in the graph and of entries in its lists. ``in_place``: a range needs no copy of them.

    >>> range_limits(1_000_000, 2e6, 1_000_000, in_place=True)
    (1000000, 1000000)
    >>> range_limits(1_000_000, 1e10, 1_000_000, in_place=True)
    (131072, 250000)
    """
    ranges = max(int(paths / max(entries, 1) / PART_ENTRIES), 1)
    shares = min(ranges, SHARES) if in_place else 1
    return max(CACHED, -(-targets // ranges)), -(-entries // shares)


# What it takes


def size_needs(counts: Counts) -> list[Needs]:
    """A vertex has its size, how many entries lead to it, and where its part begins and ends; what
    works at once has bit sets, for a range that fits the cache. The room is for parts of lists and
    rows: as they are in memory if they are in order, or else copies. Two passes for each range, if
    all parts fit.
    """
    entries, histogram = counts.of("out").num_edges, _histogram(counts)
    degrees = [0.0, 1.0, *(1.5 * 2.0**k for k in range(1, len(histogram)))]
    paths = sum(count * d * d for count, d in zip(histogram, degrees, strict=False))
    width, _ = range_limits(counts.num_vertices, paths, entries, in_place=False)
    passes = 2.0 * max(-(-(counts.num_vertices - histogram[0]) // width), 1)
    needs = Needs(
        ("out",), passes,
        vertex_bytes=8 + 4 + 2 * np.dtype(_place_dtype(entries)).itemsize,
        worker_bytes=2 * 4 * words_of(min(counts.num_vertices, CACHED)),
        room=Room(0, _whole_bytes(entries, in_place=False)),
        gathered_bytes=8, work=1 + PATH_WORK * paths / max(entries, 1) / passes,
    )  # fmt: skip
    if counts.neighbour_order != "id":
        return [needs]
    in_place = Room(0, _whole_bytes(entries, in_place=True))
    return [replace(needs, forms=("memory",), room=in_place, way=IN_PLACE), needs]


def _whole_bytes(entries: int, *, in_place: bool) -> int:
    """Bytes of the parts of one range with all targets, and of rows."""
    return max(4 * entries, ROW_BYTES) + (0 if in_place else 4 * entries)


def _place_dtype(entries: int) -> type[np.uint32 | np.uint64]:
    """Of a place in all lists."""
    return np.uint32 if entries < 1 << 32 else np.uint64


def _histogram(counts: Counts) -> Sequence[int]:
    """How many vertices have 0, 1, 2 to 3, 4 to 7, ... edges to them, if that is known, or else
    from them.
    """
    known: Direction = "out" if counts.directed and "in" not in counts.directions else "in"
    return counts.of(known).degree_histogram


class Sizes:
    """How many vertices are within two edges of each, and what they are counted with."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        #: Bytes for parts, rows and bit sets.
        self.room = engine.take_room("parts of lists", with_scratch=True)
        self.in_order = engine.graph.neighbour_order == "id"
        #: All lists, if parts of them are used as they are there.
        self.lists = all_lists(engine) if engine.way == IN_PLACE else None
        self.sizes: I64 = engine.array("sizes", np.int64, 0)
        #: How many entries of all lists are a vertex.
        self.targets: U32 = engine.array("targets", np.uint32, 0)
        #: Where the part of each list begins and ends; at 0 if its page has no edges.
        self.places: Array = engine.array(
            "places", _place_dtype(engine.counts.of("out").num_edges), 0,
            length=2 * engine.num_vertices,
        )  # fmt: skip
        #: Bit sets: scratch, and, unless all lists are there, one for each of some long lists.
        self.sets = scratch_copies(engine) * (2 if self.lists is None else 1)

    def run(self, identity: Mapping[str, Any]) -> I64:
        """The sizes."""
        engine, arrays = self.engine, {"sizes": self.sizes}
        engine.options.progress.start("ranges", None, "ranges")
        with Recovery(engine, identity) as recovery:
            saved = recovery.resume(arrays)
            last = engine.num_vertices
            step, low = (0, 0) if saved is None else (saved[0], saved[1].whole("targets", 0, last))
            self._measure()
            limits, last = self._limits()
            # For parts and bit sets; rows may have what they leave.
            room = self.room - self.room // ROW_SHARE
            while low < last:
                low = self._range(low, last, limits, room)
                step += 1
                recovery.after(step, arrays, {"targets": low})
        return self.sizes

    # Ranges

    def _measure(self) -> None:
        """How many entries lead to each vertex."""
        graph = self.engine.graph
        if graph.directed and "in" not in graph.directions:
            with self.engine.step(mode="measure"):
                self.engine.scan(kernels.count_targets, self.targets)
            return
        for begin, part in iter_parts(graph.degrees("in")):
            self.targets[begin : begin + len(part)] = part

    def _limits(self) -> tuple[tuple[int, int], int]:
        """The targets and entries of a range at most, and the target after the last."""
        graph, paths, last = self.engine.graph, 0.0, 0
        for begin, part in iter_parts(graph.degrees("out")):
            more, end = kernels.weigh(self.targets, begin, part)
            paths, last = paths + more, max(last, end)
        entries = self.engine.counts.of("out").num_edges
        in_place = self.lists is not None
        return range_limits(self.engine.num_vertices, paths, entries, in_place=in_place), last

    def _range(self, low: int, last: int, limits: tuple[int, int], room: int) -> int:
        """Add the targets of a range that begins with one; where it ends."""
        engine, entry_bytes = self.engine, 4 if self.lists is None else 0
        high, total, reached = kernels.reach(
            self.targets, low, last, *limits, entry_bytes, 4 * self.sets, room
        )
        if self.lists is not None:
            entries = self.lists[1]
            given = (*self.lists, np.uint64(low), np.uint64(high), self.places)
            engine.map_ranges(kernels.find_parts, *given)
        else:
            with engine.step(mode="keep", vertices=high - low):
                if high - low == 1:
                    total, entries = 1, self._mark(low)
                else:
                    entries = self._keep(low, high, total)
        spare = max(self.room - entry_bytes * total - 4 * words_of(high - low) * self.sets, 0)
        with engine.step(mode="count", vertices=high - low):
            self._count(self._with_rows(low, high, entries, reached, spare))
        return int(high)

    def _keep(self, low: int, high: int, total: int) -> U32:
        """The parts of all lists in a range."""
        entries: U32 = np.empty(total, VID)
        limits, done = (np.uint64(low), np.uint64(high)), np.zeros(2, np.int64)
        args = (*limits, self.in_order, done, self.places, entries)
        scan_in_order(self.engine, kernels.keep_parts, *args)
        return entries

    def _mark(self, target: int) -> U32:
        """The parts of all lists in a range of one target."""
        args = (np.uint64(target), self.in_order, np.zeros(2, np.int64), self.places)
        scan_in_order(self.engine, kernels.mark_parts, *args)
        return np.array([target], VID)

    def _with_rows(self, low: int, high: int, entries: U32, reached: int, room: int) -> Middles:
        """Parts that are not too thin as rows; only the thickest if there is not enough room."""
        words = words_of(high - low)
        least = words // ROW_WORDS

        def count() -> int:
            return sum(self.engine.map_ranges(kernels.count_thick, self.places, np.uint64(least)))

        while (thick := int(count())) * 4 * words > room:
            least = 2 * least + 1
        rows: U32 = np.zeros(thick * words, np.uint32)
        middles = Middles(low, high, self.places, entries, rows, reached)
        numbers: U32 = np.zeros(1, np.uint32)
        self.engine.map_ranges(kernels.make_rows, *middles.arrays(), np.uint64(least), numbers)
        return middles

    # Counting

    def _count(self, middles: Middles) -> None:
        """Add the targets of a range to all sizes."""
        engine, given = self.engine, middles.arrays()
        if self.lists is not None:
            engine.run_per_thread(kernels.add_all_sizes, *self.lists, *given, self.sizes)
            engine.count_edges(len(self.lists[1]))
            return
        scratch: Scratch[U32] = Scratch(lambda: np.zeros(middles.words, np.uint32))
        united: dict[int, U32] = {}

        def add(block: Any, begin: int, end: int) -> None:
            bits = scratch.take()
            kernels.add_sizes(block, begin, end, *given, bits, self.sizes)
            scratch.give_back(bits)

        def unite(block: Any, v: int) -> U32:
            bits = scratch.take()
            kernels.unite(block, v, v + 1, *given, bits)
            return bits

        def join(v: int, bits: U32) -> None:
            united.setdefault(v, np.zeros(middles.words, np.uint32))
            united[v] |= bits
            bits[:] = 0
            scratch.give_back(bits)

        def finish(v: int) -> None:
            kernels.add_size(v, *given[:2], united.pop(v), self.sizes)

        scan_joined(engine, add, unite, join, finish)

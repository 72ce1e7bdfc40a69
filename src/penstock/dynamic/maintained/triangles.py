"""Triangle counts that are kept while edges come and go."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock.config import thread_count
from penstock.dynamic.changes import Changes
from penstock.dynamic.maintained import triangle_kernels as kernels
from penstock.dynamic.maintained.degrees import DegreeCounts
from penstock.dynamic.maintained.protocol import ByVertex, Sides, gather_both, pieces, read_only
from penstock.parallel import Workers
from penstock.types import I64, U32, U64, Array

#: Entries of lists that are copied at a time.
LIST_ENTRIES = 1 << 23
#: Vertices that one worker counts at a time to start with.
RANGE = 1 << 12


class MaintainedTriangles:
    """How many triangles each vertex is a corner of (int64), as ``triangles`` of the library counts
    them: directions are ignored, parallel edges count once, loops not at all. ``facts["total"]`` is
    the number of triangles, each once.

    Exact after every batch. What matters is whether two vertices are neighbours before and after
    it. Pairs that became neighbours are taken one after another, and so are those that ceased to
    be: with each, the neighbours that both ends have among the pairs that stay and the earlier
    pairs of its kind. So a triangle with several changed edges is counted once, at the last.

    Price: for each changed pair the shorter of the two lists (twice), and once the longer one of
    those that share it. 24 bytes a vertex, and copies of lists of at most 96 MB or the longest.
    To start with, the later neighbours by degree of all vertices are in memory: 4 bytes an edge,
    and 9 bytes a vertex for each thread.
    """

    name = "triangles"

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._lists = sides.both(self.name)
        self._degrees = DegreeCounts(sides, "both")
        self._counts = ByVertex(np.int64)
        self._states = ByVertex(np.uint32)
        self._seen = ByVertex(np.uint32)
        self._stamp = 0
        self.total = 0
        self.facts: dict[str, Any] = {}

    def start(self) -> None:
        """Count all triangles."""
        began = time.perf_counter()
        n = self._sides.num_vertices
        self._degrees.start()
        for array in (self._states, self._seen, self._counts):
            array.reset(n)
        offsets, later = self._later_neighbours(n)
        # Every vertex stamped with its own number.
        self._stamp = n
        with_counts: dict[int, tuple[Array, Array]] = {}

        def count(worker: int, begin: int) -> None:
            if worker not in with_counts:
                with_counts[worker] = np.zeros(n, np.uint8), np.zeros(n, np.int64)
            kernels.count_all(begin, min(begin + RANGE, n), offsets, later, *with_counts[worker])

        workers = Workers(thread_count(None))
        try:
            workers.run(count, range(0, n, RANGE))
        finally:
            workers.close()
        for _, counts in with_counts.values():
            self._counts.now[:] += counts
        self.total = int(self._counts.now.sum()) // 3
        self._tell(began, n, 0, 0)

    def _later_neighbours(self, n: int) -> tuple[I64, U32]:
        offsets: I64 = np.zeros(n + 1, np.int64)
        vertices: U32 = np.arange(n, dtype=np.uint32)
        parts = [np.empty(0, np.uint32)]
        for piece in pieces(self._degrees.now, LIST_ENTRIES):
            lists = gather_both(self._lists, vertices[piece])
            kept: U32 = np.empty(len(lists[1]) + len(lists[3]), np.uint32)
            sizes = offsets[1:][piece]
            filled = kernels.keep_later(
                vertices[piece], *lists, self._degrees.now, self._seen.now, kept, sizes
            )
            parts.append(kept[:filled].copy())
        return np.cumsum(offsets), np.concatenate(parts)

    def update(self, changes: Changes) -> None:
        """Count what the changed pairs bring and take."""
        began = time.perf_counter()
        self._degrees.update(changes)
        for array in (self._states, self._seen, self._counts):
            array.grow(changes.num_vertices)
        ends, net = _pairs(changes)
        came, gone = self._became(ends, net)
        changed = came | gone
        ends, codes = ends[changed], gone[changed].astype(np.uint32)
        self._count(ends, codes)
        self._tell(began, 2 * len(ends), int(came.sum()), int(gone.sum()))

    def _became(self, ends: U32, net: I64) -> tuple[Array, Array]:
        """Whether each pair became neighbours, or ceased to be; ``net`` is by how many edges."""
        after: I64 = np.empty(len(ends), np.int64)
        degrees = self._degrees.now[ends]
        rows = np.arange(len(ends))
        shorter = np.argmin(degrees, axis=1)
        one, other = ends[rows, shorter], ends[rows, 1 - shorter]
        for piece in pieces(degrees[rows, shorter], LIST_ENTRIES):
            lists = gather_both(self._lists, one[piece])
            kernels.count_edges(other[piece], *lists, after[piece])
        before = after - net
        return (after > 0) & (before <= 0), (after <= 0) & (before > 0)

    def _count(self, ends: U32, removed: U32) -> None:
        """Count the triangles of changed pairs; pair i has number i."""
        if not len(ends):
            return
        if self._stamp + len(ends) >= 1 << 32:
            self._seen.now[:] = 0
            self._stamp = 0
        numbers = np.arange(len(ends), dtype=np.uint32)
        codes = kernels.FIRST_CHANGE + 2 * numbers + removed
        # The longer list is marked; pairs with the same one stand together.
        degrees = self._degrees.now[ends]
        longer = np.argmax(degrees, axis=1)
        marked, others = ends[numbers, longer], ends[numbers, 1 - longer]
        changed = _by_vertex(marked, others, codes)
        order = np.argsort(marked, kind="stable")
        first = np.append(True, np.diff(marked[order]) != 0)
        lengths = degrees[order, 1 - longer[order]] + first * degrees[order, longer[order]]
        for piece in pieces(lengths, LIST_ENTRIES):
            some = order[piece]
            groups = np.flatnonzero(np.append(True, np.diff(marked[some]) != 0))
            at: I64 = np.append(groups, len(some)).astype(np.int64)
            centres = marked[some][groups]
            self.total += kernels.count_changes(
                centres, at, others[some], numbers[some], *gather_both(self._lists, centres),
                *gather_both(self._lists, others[some]), *changed, self._stamp, codes,
                self._states.now, self._seen.now, self._counts.now,
            )  # fmt: skip
            self._stamp += len(some)

    def _tell(self, began: float, touched: int, came: int, gone: int) -> None:
        self.facts = {
            "seconds": time.perf_counter() - began,
            "touched": touched,
            "came": came,
            "gone": gone,
            "total": self.total,
        }

    @property
    def values(self) -> Array:
        """Triangles by vertex number."""
        return read_only(self._counts.now)

    @property
    def columns(self) -> dict[str, Array]:
        """There are none."""
        return {}


def _pairs(changes: Changes) -> tuple[U32, I64]:
    """The pairs of different vertices in a batch, each once, the smaller number first; and by how
    many edges between them there are more.
    """
    src = np.concatenate((changes.added_src, changes.removed_src))
    dst = np.concatenate((changes.added_dst, changes.removed_dst))
    steps: I64 = np.repeat([1, -1], (len(changes.added_src), len(changes.removed_src)))
    keys = np.minimum(src, dst).astype(np.uint64) << np.uint64(32) | np.maximum(src, dst)
    keep = src != dst
    order = np.argsort(keys[keep])
    keys, steps = keys[keep][order], steps[keep][order]
    first = np.flatnonzero(np.append(True, np.diff(keys) != 0)[: len(keys)])
    net: I64 = np.add.reduceat(steps, first) if len(first) else np.empty(0, np.int64)
    return _ends(keys[first]), net


def _ends(keys: U64) -> U32:
    """Pairs out of 64-bit keys, one a row."""
    return np.stack((keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)), 1).astype(np.uint32)


def _by_vertex(marked: U32, others: U32, codes: U32) -> tuple[I64, U32, U32]:
    """The changed edges of each vertex side by side: for each edge where those of its marked end
    begin and end, and where those of the other; then the other ends, and the codes.
    """
    src, dst = np.concatenate((marked, others)), np.concatenate((others, marked))
    order = np.argsort(src, kind="stable")
    ranges: I64 = np.stack(
        [
            np.searchsorted(src[order], each, side)
            for each in (marked, others)
            for side in ("left", "right")
        ],
        axis=1,
    ).astype(np.int64)
    return ranges, dst[order], np.concatenate((codes, codes))[order]


def make(sides: Sides) -> MaintainedTriangles:
    """The triangles of a live graph."""
    return MaintainedTriangles(sides)

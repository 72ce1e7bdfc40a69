"""Which pages and vertices belong to a rank, in a run over several hosts. Pure functions of the
page table.

A page belongs to one rank. So does a vertex: to the rank that has the first page of its list, in
the direction that the run gathers from. Own vertices are ranges between those of other ranks;
values that only their owner needs are kept one range after another, at *positions*.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from penstock.store.mapped import PART
from penstock.store.page import LARGE
from penstock.types import I64, U32, Array


def pages_by_number(num_pages: int, dealt: Sequence[int]) -> I64:
    """The rank that each page belongs to: page j to ``dealt[j % len(dealt)]``."""
    return np.resize(np.array(dealt, np.int64), num_pages)


def own_table(table: Array, own: Array) -> Array:
    """A page table as a rank sees it: pages of others have no edges, and the edges of own pages are
    numbered from 0. ``own``: whether each page is an own one.
    """
    mine = table.copy()
    mine["num_edges"][~own] = 0
    counts = mine["num_edges"].astype(np.int64)
    mine["first_edge"] = np.cumsum(counts) - counts
    return mine


class Vertices:
    """The vertices of one rank, as ranges."""

    def __init__(self, begins: I64, ends: I64) -> None:
        #: The ranges, ascending; no two of them touch.
        self.begins = begins
        self.ends = ends
        sizes = ends - begins
        #: The position of the first vertex of each range.
        self.starts: I64 = np.cumsum(sizes) - sizes
        self.count = int(sizes.sum())

    @classmethod
    def everything(cls, num_vertices: int) -> Vertices:
        """Those of a single rank."""
        count = 1 if num_vertices else 0
        return cls(np.zeros(count, np.int64), np.full(count, num_vertices, np.int64))

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[int]]:
        """Begins, ends and starts as lists, to look up single vertices."""
        return self.begins.tolist(), self.ends.tolist(), self.starts.tolist()

    def position(self, vertex: int) -> int:
        """Where the value of an own vertex is."""
        begins, _, starts = self._lists
        k = bisect_right(begins, vertex) - 1
        return starts[k] + vertex - begins[k]

    def owns(self, vertex: int) -> bool:
        """Whether a vertex is an own one."""
        begins, ends, _ = self._lists
        k = bisect_right(begins, vertex) - 1
        return k >= 0 and vertex < ends[k]

    def range_at(self, position: int) -> int:
        """The number of the range that has a position."""
        return max(bisect_right(self._lists[2], position) - 1, 0)

    def positions(self, vertices: U32) -> I64:
        """Where the values of own vertices are."""
        k = np.searchsorted(self.begins, vertices, side="right") - 1
        return (self.starts - self.begins)[k] + vertices

    def has(self, vertices: U32) -> Array:
        """Which of some vertices are own ones."""
        if len(self.begins) == 0:
            return np.zeros(len(vertices), bool)
        k = np.searchsorted(self.begins, vertices, side="right") - 1
        found: Array = (k >= 0) & (vertices < self.ends[k])
        return found

    def among(self, vertices: U32) -> U32:
        """The own ones of some vertices (ascending)."""
        low, high = (
            np.searchsorted(vertices, ends.astype(vertices.dtype)).tolist()
            for ends in (self.begins, self.ends)
        )
        parts = [vertices[a:b] for a, b in zip(low, high, strict=True) if a < b]
        return np.concatenate([vertices[:0], *parts])

    def ranges(self, most: int) -> list[tuple[int, int]]:
        """The ranges, divided so that none has more than ``most`` vertices."""
        pairs = zip(self.begins.tolist(), self.ends.tolist(), strict=True)
        return [(a, min(a + most, end)) for begin, end in pairs for a in range(begin, end, most)]

    def runs(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """The vertices at positions ``begin`` to ``end``, as ranges."""
        k = int(np.searchsorted(self.starts, begin, side="right")) - 1
        while begin < end:
            low = int(self.begins[k]) + begin - int(self.starts[k])
            high = min(int(self.ends[k]), low + end - begin)
            yield low, high
            begin += high - low
            k += 1

    def take(self, values: Array) -> Array:
        """The entries of own vertices, of an array by vertex number."""
        pairs = zip(self.begins.tolist(), self.ends.tolist(), strict=True)
        return np.concatenate([values[:0], *(values[a:b] for a, b in pairs)])

    def put(self, target: Array, values: Array) -> None:
        """Write the entries of own vertices into an array by vertex number."""
        ranges = zip(self.begins.tolist(), self.ends.tolist(), self.starts.tolist(), strict=True)
        for begin, end, start in ranges:
            target[begin:end] = values[start : start + end - begin]

    def part(self, low: int, high: int) -> U32:
        """The vertices at positions ``low`` to ``high``."""
        first = max(int(np.searchsorted(self.starts, low, side="right")) - 1, 0)
        last = int(np.searchsorted(self.starts, high))
        starts = self.starts[first:last]
        ends = np.minimum(starts + self.ends[first:last] - self.begins[first:last], high)
        shifts = (self.begins[first:last] - starts).astype(np.uint32)
        found: U32 = np.arange(low, high, dtype=np.uint32)
        found += np.repeat(shifts, ends - np.maximum(starts, low))
        return found

    def at(self, places: I64) -> U32:
        """The vertices at some positions."""
        k = np.searchsorted(self.starts, places, side="right") - 1
        return ((self.begins - self.starts)[k] + places).astype(np.uint32)

    @property
    def all(self) -> U32:
        """The vertices themselves, ascending; not cached."""
        return self.part(0, self.count)

    def within(self, low: int, high: int) -> tuple[int, int]:
        """The positions of the vertices ``low`` to ``high``: the first, and after the last."""
        return self._first_at(low), self._first_at(high)

    def _first_at(self, vertex: int) -> int:
        """The position of the first own vertex that is not below a number."""
        k = int(np.searchsorted(self.begins, vertex, side="right")) - 1
        if k < 0:
            return 0
        return int(self.starts[k]) + min(vertex, int(self.ends[k])) - int(self.begins[k])


class Chosen:
    """A target that is written by vertex number and keeps the entries of some vertices only,
    without an array of all vertices.
    """

    def __init__(self, vertices: Vertices, num_vertices: int, kept: Array) -> None:
        self._vertices = vertices
        self._length = num_vertices
        #: By position.
        self.kept = kept

    def __len__(self) -> int:
        return self._length

    def __setitem__(self, key: slice | Array, values: Any) -> None:
        vertices = self._vertices
        if isinstance(key, slice):
            low, high, _ = key.indices(self._length)
            begin, end = vertices.within(low, high)
            for at in range(begin, end, PART):
                stop = min(at + PART, end)
                one = np.ndim(values) < self.kept.ndim
                some = values if one else values[vertices.part(at, stop) - np.uint32(low)]
                self.kept[at:stop] = some
            return
        mine = vertices.has(key)
        self.kept[vertices.positions(key[mine])] = values[mine]


def vertices_of(table: Array, owners: I64, rank: int) -> Vertices:
    """The vertices whose list begins in a page of a rank."""
    return vertices_in(table, (owners == rank) & ((table["kind"] != LARGE) | (table["run"] == 0)))


def vertices_in(table: Array, chosen: Array) -> Vertices:
    """The vertices whose lists, or parts of them, are in some pages. ``chosen``: whether each page
    is one of these.
    """
    begins = table["first_vid"][chosen].astype(np.int64)
    ends = begins + table["num_vertices"][chosen].astype(np.int64)
    there = (ends > begins) & np.append(True, begins[1:] != begins[:-1])[: len(begins)]
    begins, ends = begins[there], ends[there]
    apart = np.append(True, begins[1:] != ends[:-1]) if len(begins) else np.zeros(0, bool)
    return Vertices(begins[apart], ends[np.append(apart[1:], True)] if len(ends) else ends)

"""Graphs of lists in memory that never change, and lists in memory as a source of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from penstock.config import thread_count
from penstock.jit import kernel
from penstock.parallel import Workers
from penstock.store import transpose
from penstock.store.grouped_graph import GroupedGraph
from penstock.store.grouping import group_lists
from penstock.store.kept import Kept
from penstock.store.source import Description, InPlace, ListArrays
from penstock.types import U32, U64, Adjacency, Array, Direction


@dataclass(frozen=True, slots=True)
class FixedIds:
    """The user's ids, ascending, and the vertex number of each; None if they are 0, 1, 2, ..."""

    ids: Array
    vid_of_rank: U32 | None = None
    #: What others keep with the ids.
    kept: Kept = field(default_factory=Kept)

    def in_order(self) -> tuple[Array, U32 | None]:
        """The ids, and the vertex number of each."""
        return self.ids, self.vid_of_rank


class PackedLists(NamedTuple):
    """Lists in memory, one after another: that of vertex v is
    ``neighbours[offsets[v] : offsets[v + 1]]``; ``columns`` are aligned with it. Offsets are uint32
    or uint64.
    """

    offsets: Array
    neighbours: U32
    columns: tuple[Array, ...] = ()

    @property
    def starts(self) -> Array:
        """Where each list begins."""
        return self.offsets[:-1]

    @property
    def ends(self) -> Array:
        """Where each list ends."""
        return self.offsets[1:]


class ListGraph(GroupedGraph):
    """A graph of packed lists, which are used where they stand. What the description says of lists
    is counted here. A directed graph ``can_reverse`` that makes its in-lists when they are needed.
    """

    def __init__(
        self,
        description: Description,
        ids: FixedIds,
        lists: Mapping[Direction, PackedLists],
        *,
        can_reverse: bool = False,
    ) -> None:
        self._ids = ids
        self._can_reverse = can_reverse
        self._lists = dict(lists)
        super().__init__(description)
        for direction, packed in lists.items():
            degrees = np.diff(packed.offsets).astype(np.uint32)
            self._group(direction, degrees, group_lists(degrees))
        self.kept_of_ids = ids.kept

    @property
    def unbuilt(self) -> Mapping[Direction, int]:
        """See :class:`~penstock.store.graph.Graph`."""
        if not self._can_reverse or "in" in self._lists:
            return {}
        out = self._lists["out"]
        return {"in": 24 * self.num_vertices + out.neighbours.nbytes + _sizes(out.columns)}

    def build_lists(self, direction: Direction, memory: int | None = None) -> None:
        """See :class:`~penstock.store.graph.Graph`."""
        assert direction in self.unbuilt
        out, degrees = self._lists["out"], self.degrees("in")
        offsets: U64 = np.zeros(self.num_vertices + 1, np.uint64)
        np.cumsum(degrees, out=offsets[1:])
        neighbours = np.empty_like(out.neighbours)
        columns = tuple(np.empty_like(column) for column in out.columns)
        pairs = [transpose.Values.of(*pair) for pair in zip(out.columns, columns, strict=True)]
        with closing(Workers(thread_count())) as workers:
            transpose.fill_lists(
                self._sources, offsets[:-1].copy(), degrees, neighbours, pairs, workers
            )
        self._lists["in"] = PackedLists(offsets, neighbours, columns)
        self._group("in", degrees, self._groups["in"])

    @property
    def _sources(self) -> transpose.Sources:
        out = self._lists["out"]
        return transpose.Sources(out.starts, out.ends, out.neighbours)

    def _count_targets(self) -> U32:
        with closing(Workers(thread_count())) as workers:
            return transpose.count_targets(self._sources, workers)

    @property
    def ids(self) -> Array:
        """See :class:`~penstock.store.source.GraphSource`."""
        return self._ids.ids

    @property
    def vid_of_rank(self) -> U32 | None:
        """See :class:`~penstock.store.source.GraphSource`."""
        return self._ids.vid_of_rank

    @property
    def storage(self) -> None:
        """See :class:`~penstock.store.source.GraphSource`; there are no pages."""

    def source(self, direction: Direction) -> MemoryLists:
        """See :class:`~penstock.store.source.GraphSource`."""
        lists = self._lists[self.stored(direction)]
        return MemoryLists(
            InPlace(lists.starts, lists.ends, lists.neighbours, lists.columns, lists.offsets)
        )

    def iter_adjacency(self, direction: Direction = "out", threads: int = 1) -> Iterator[Adjacency]:
        """See :class:`~penstock.store.source.GraphSource`."""
        offsets, neighbours, columns = self._lists[self.stored(direction)]
        degrees, table = self.degrees(direction), self.page_table(direction)
        names = [column.name for column in self.columns]
        for first, count in zip(
            table["first_vid"].tolist(), table["num_vertices"].tolist(), strict=True
        ):
            some = slice(int(offsets[first]), int(offsets[first + count]))
            values = {name: each[some] for name, each in zip(names, columns, strict=True)}
            yield Adjacency(first, degrees[first : first + count], neighbours[some], values)


def _sizes(columns: Sequence[Array]) -> int:
    return sum(column.nbytes for column in columns)


class MemoryLists:
    """Lists that are all in memory, as a :class:`~penstock.store.source.ListSource`."""

    base = None

    def __init__(self, in_place: InPlace) -> None:
        self.in_place = in_place

    def base_pages(self, page: int) -> range:
        """See :class:`~penstock.store.source.ListSource`."""
        return range(0)

    def fill(
        self, vertices: range, stored: ListArrays | None, columns: Sequence[int], out: ListArrays
    ) -> None:
        """See :class:`~penstock.store.source.ListSource`."""
        starts, ends, neighbours, values, _ = self.in_place
        chosen = tuple(values[k] for k in columns)
        some = slice(vertices.start, vertices.stop)
        copy_lists(starts[some], ends[some], (neighbours, *chosen), out)


def copy_lists(starts: Array, ends: Array, values: Sequence[Array], out: ListArrays) -> None:
    """Copy lists that stand anywhere, and the columns that go with them, one after another."""
    measure(starts, ends, out.offsets)
    for old, new in zip(values, (out.neighbours, *out.columns), strict=True):
        _copy(starts, ends, old, out.offsets, new)


@kernel
def measure(starts, ends, offsets):  # type: ignore[no-untyped-def]
    """Where copies of lists begin, one after another, and where the last one ends."""
    total, one = np.uint64(0), np.uint64(1)
    offsets[0] = 0
    for i in range(np.uint64(len(starts))):
        total += np.uint64(ends[i]) - np.uint64(starts[i])
        offsets[i + one] = total


@kernel
def _copy(starts, ends, values, offsets, out):  # type: ignore[no-untyped-def]
    """Copy lists to where :func:`measure` says."""
    for i in range(np.uint64(len(starts))):
        at = np.uint64(offsets[i])
        for k in range(np.uint64(starts[i]), np.uint64(ends[i])):
            out[at] = values[k]
            at += np.uint64(1)

"""What is known of a graph before a run: counts. A plan is made from these alone, so that it can be
made for a graph that does not exist, too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from penstock.engine.grid import Grid
from penstock.store.graph import Graph, serving_direction
from penstock.store.kept import Slot
from penstock.store.mapped import read_range
from penstock.stream.blocks import buffer_sizes, table_buffers
from penstock.stream.tiers import can_tier, tier_bytes
from penstock.types import I64, U32, Direction

#: Where lists are. "disk": in pages, of a file or in memory. "memory": decoded, one list after
#: another. "gaps": decoded, with room between lists.
Place = Literal["disk", "memory", "gaps"]

COUNTS: Slot[Counts] = Slot("counts")

#: Vertices whose degrees are looked at together.
PART = 1 << 16


@dataclass(frozen=True, slots=True)
class HeadBytes:
    """What the lists take if only the first edges of each are in memory."""

    #: Everything that does not depend on how many those are.
    fixed: int
    #: Entry k: what else it takes if each list has its first k edges there; the last: all of them.
    by_edges: I64

    def most_edges(self, room: int) -> int:
        """The largest k that fits some bytes, -1 if none does."""
        fits = np.flatnonzero(self.by_edges <= room)
        return int(fits[-1]) if len(fits) else -1

    def with_edges(self, k: int) -> int:
        """What everything takes with the first k edges."""
        return self.fixed + int(self.by_edges[min(k, len(self.by_edges) - 1)])


@dataclass(frozen=True, slots=True)
class ListCounts:
    """The lists of one stored direction."""

    num_edges: int
    num_pages: int
    max_degree: int
    #: How many lists have 0, 1, 2 to 3, 4 to 7, ... edges.
    degree_histogram: Sequence[int]
    #: By vertex number. A function, so that no file stays mapped.
    degrees: Callable[[], U32]
    #: What one stream has buffers for: bytes, and besides these edges with their columns.
    buffer_bytes: int
    buffer_edges: int = 0
    place: Place = "disk"
    #: What making the lists takes in memory, if they are not there yet.
    build_bytes: int = 0
    #: None: lists cannot be read one by one. A function, because it takes a pass over the degrees.
    head_bytes: Callable[[], HeadBytes] | None = None


@dataclass(frozen=True)
class Counts:
    """A graph in numbers."""

    num_vertices: int
    #: An undirected edge counts once, though it is in two lists.
    num_edges: int
    directed: bool
    #: The stored directions, an undirected graph has "out" only; and those whose lists can be made.
    lists: Mapping[Direction, ListCounts]
    #: Of the pages that are read; 0 if there are none.
    page_bytes: int
    #: The type of each column that edges have, and which of them is the weight.
    columns: Mapping[str, np.dtype[Any]] = field(default_factory=dict)
    weight: str | None = None
    vertex_order: str = "degree"
    neighbour_order: str = "id"
    #: Whether an edge may be there several times.
    keeps_duplicates: bool = False
    #: The graph's folder, for messages.
    path: Path | None = None
    #: The directions whose lists are not stored, but made when a run needs them.
    unbuilt: Collection[Direction] = ()
    #: Of a rank in a run over several hosts: the most vertices that a rank has; the edges and pages
    #: of lists are then those of the rank that has most. None: one rank has everything.
    own_vertices: int | None = None
    #: Of a run over rows of hosts: how they stand; the most vertices whose lists a rank goes over,
    #: at all and in a group of pages.
    grid: Grid | None = None
    column_vertices: int = 0
    group_vertices: int = 0

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions whose lists are stored."""
        return tuple(each for each in self.lists if each not in self.unbuilt)

    def has(self, direction: Direction) -> bool:
        """Whether there are lists that serve as those of a direction, or can be made."""
        return not self.directed or direction in self.lists

    @property
    def both_ways(self) -> tuple[Direction, ...]:
        """The lists that have all neighbours of a vertex, whatever direction the edge has."""
        return ("out", "in") if self.directed else ("out",)

    def stored(self, direction: Direction) -> Direction:
        """Which lists serve as those of a direction; raises if there are none."""
        return serving_direction(direction, self.lists, directed=self.directed, path=self.path)

    def all_stored(self, directions: Sequence[Direction]) -> tuple[Direction, ...]:
        """The stored lists that serve as those of some directions, each once."""
        return tuple(dict.fromkeys(self.stored(each) for each in directions))

    def of(self, direction: Direction) -> ListCounts:
        """The lists that serve as those of a direction."""
        return self.lists[self.stored(direction)]

    def column_bytes(self, names: Sequence[str]) -> int:
        """Bytes of some columns, for an edge."""
        return sum(self.columns[name].itemsize for name in names)

    @cached_property
    def max_degree(self) -> int:
        """The most neighbours of a vertex in all directions together, or more."""
        return sum(each.max_degree for each in self.lists.values())

    @cached_property
    def most_earlier(self) -> int:
        """The most earlier neighbours of a vertex (those with smaller numbers), or more: those of
        vertex v are no more than its neighbours, and no more than there are vertices before it,
        unless edges are there several times.
        """
        degrees = [self.of(each).degrees() for each in self.both_ways]
        most = 0
        for begin in range(0, self.num_vertices, PART):
            end = min(begin + PART, self.num_vertices)
            parts = (read_range(each, begin, end).astype(np.int64) for each in degrees)
            entries = sum(parts, np.zeros(end - begin, np.int64))
            before = np.arange(begin, end, dtype=np.int64) * len(degrees)
            if self.keeps_duplicates:
                entries = entries * (before > 0)
            else:
                entries = np.minimum(entries, before)
            most = max(most, int(entries.max(initial=0)))
        return most


@dataclass(frozen=True, slots=True)
class Selected:
    """The vertices that a parameter names."""

    count: int
    #: How many edges the lists of a direction have for them.
    edges: Callable[[Direction], int]


def counts_of(graph: Graph) -> Counts:
    """The counts of an open graph, kept with it."""
    return graph.kept.get(COUNTS) or graph.kept.put(COUNTS, value=_count(graph))


def _count(graph: Graph) -> Counts:
    storage = graph.storage
    return Counts(
        graph.num_vertices, graph.num_edges, graph.directed,
        _StoredLists(graph),
        0 if storage is None else storage.catalog.page_bytes,
        columns={column.name: column.dtype for column in graph.columns},
        weight=graph.weight,
        vertex_order=graph.vertex_order,
        neighbour_order=graph.neighbour_order,
        keeps_duplicates=graph.multigraph,
        path=graph.path,
        unbuilt=tuple(graph.unbuilt),
    )  # fmt: skip


class _StoredLists(Mapping[Direction, ListCounts]):
    """The lists of an open graph. Index files are read when a direction is first asked for. The
    graph, which has the counts, is not kept alive by them.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph: Graph = weakref.proxy(graph)
        self._directions = (*graph.directions, *graph.unbuilt)
        self._found: dict[Direction, ListCounts] = {}

    def __getitem__(self, stored: Direction) -> ListCounts:
        if stored not in self._found:
            self._found[stored] = _count_lists(self._graph, stored)
        return self._found[stored]

    def __contains__(self, direction: object) -> bool:
        return direction in self._directions

    def __iter__(self) -> Iterator[Direction]:
        return iter(self._directions)

    def __len__(self) -> int:
        return len(self._directions)


def _count_lists(graph: Graph, stored: Direction) -> ListCounts:
    if stored in graph.unbuilt:
        return _count_unbuilt(graph, stored)
    stats, source = graph.list_stats(stored), graph.source(stored)
    place: Place = "disk"
    if source is not None and source.in_place is not None:
        place = "gaps" if source.in_place.offsets is None else "memory"

    @cache
    def head_bytes() -> HeadBytes:
        assert graph.storage is not None
        return HeadBytes(*tier_bytes(graph.storage, stored, np.asarray(graph.degrees(stored))))

    return ListCounts(
        stats.num_edges, len(graph.page_table(stored)), stats.max_degree,
        stats.degree_histogram, lambda: graph.degrees(stored), *buffer_sizes(graph, stored),
        place=place, head_bytes=head_bytes if can_tier(graph, stored) else None,
    )  # fmt: skip


def _count_unbuilt(graph: Graph, direction: Direction) -> ListCounts:
    """Lists that are not made yet: they will be where those are that they are made of."""
    stats, made_of = graph.list_stats(direction), _count_lists(graph, graph.directions[0])
    buffers = (made_of.buffer_bytes, made_of.buffer_edges)
    if made_of.place != "disk":
        buffers = table_buffers(graph.page_table(direction))
    return ListCounts(
        stats.num_edges, stats.num_pages, stats.max_degree, stats.degree_histogram,
        lambda: graph.degrees(direction), *buffers, place=made_of.place,
        build_bytes=graph.unbuilt[direction],
    )  # fmt: skip

"""A graph that changes, as it is at one moment, for the engine: a graph like any other.

A view is made for each version of the graph. It costs a pass over the vertices, none over edges:
lists stay where they are, and go to the engine from there (see :mod:`penstock.dynamic.view_lists`).
It holds as long as nothing is changed; a snapshot holds for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from penstock.config import thread_count
from penstock.dynamic import reverse
from penstock.dynamic.reverse import kept_bytes, reverse_in_memory
from penstock.dynamic.view_lists import (
    ChangedLists,
    Side,
    freeze,
    freeze_lists,
    make_source,
    no_lists,
)
from penstock.dynamic.view_pages import survey
from penstock.errors import PenstockError
from penstock.parallel import Workers, ordered_map
from penstock.store import transpose
from penstock.store.graph import Graph
from penstock.store.grouped_graph import GroupedGraph
from penstock.store.kept import Kept
from penstock.store.list_graph import FixedIds, ListGraph, MemoryLists
from penstock.store.paged import PagedGraph
from penstock.store.source import Description, ListArrays
from penstock.types import U32, Adjacency, Array, Direction


class IdSource(Protocol):
    """The user's ids of a graph that changes."""

    @property
    def kept(self) -> Kept:
        """What others keep with the ids, as long as no vertex is added; then it is another one."""

    def in_order(self) -> tuple[Array, U32 | None]:
        """The ids ascending, and the vertex number of each (None: they ascend with the numbers).
        The arrays stay as they are when vertices are added.
        """


@dataclass(frozen=True, slots=True)
class Version:
    """What a graph that changes is at one moment. Lists are counted when it is looked at."""

    description: Description
    ids: IdSource
    #: The stored directions; an undirected graph has "out" only.
    sides: Mapping[Direction, Side]
    #: Makes the in-lists of a directed graph that has none yet, in about this much memory (None: as
    #: much as there is). None: there are no in-lists to make.
    make_in: Callable[[int | None], Side] | None = None
    #: What that takes.
    make_bytes: int = 0


def snapshot(version: Version) -> Graph:
    """A graph that later changes do not touch: what may still change in memory is copied, the rest
    is shared.
    """
    ids = FixedIds(*version.ids.in_order(), version.ids.kept)
    can_reverse = version.make_in is not None
    if all(side.is_in_place for side in version.sides.values()):
        n = version.description.num_vertices
        lists = {each: freeze_lists(side.added, n) for each, side in version.sides.items()}
        return ListGraph(version.description, ids, lists, can_reverse=can_reverse)
    sides = {direction: freeze(side) for direction, side in version.sides.items()}
    frozen = replace(version, ids=ids, sides=sides, make_in=None)
    if not can_reverse:
        return LiveView(frozen)
    plain = LiveView(frozen)

    def make_in(memory: int | None) -> Side:
        store = reverse_in_memory(plain, memory)
        return Side(store.degrees("in"), no_lists(store.columns), store)

    size = kept_bytes(plain.num_vertices, plain.num_edges, plain.columns)
    return LiveView(replace(frozen, make_in=make_in, make_bytes=size))


class LiveView(GroupedGraph):
    """A version of a graph that changes; see the module."""

    def __init__(self, version: Version) -> None:
        self._expired = False
        self._version = version
        self._sources: dict[Direction, MemoryLists | ChangedLists] = {}
        super().__init__(version.description)
        for direction, side in version.sides.items():
            self._take(direction, side)
        self.kept_of_ids = version.ids.kept

    def _take(self, direction: Direction, side: Side) -> None:
        """Have the lists of a direction."""
        grouping, base_pages = survey(side.degrees, side.base, direction)
        self._sources[direction] = make_source(side, base_pages)
        self._group(direction, side.degrees, grouping)

    @property
    def unbuilt(self) -> Mapping[Direction, int]:
        """See :class:`~penstock.store.graph.Graph`."""
        if self._version.make_in is None or "in" in self._sources:
            return {}
        return {"in": self._version.make_bytes}

    def build_lists(self, direction: Direction, memory: int | None = None) -> None:
        """See :class:`~penstock.store.graph.Graph`."""
        self._check_current()
        assert direction in self.unbuilt
        assert self._version.make_in is not None
        self._take(direction, self._version.make_in(memory))

    def _count_targets(self) -> U32:
        place = self.source("out").in_place
        if place is None:
            return reverse.count_targets(self)
        with closing(Workers(thread_count())) as workers:
            lists = transpose.Sources(place.starts, place.ends, place.neighbours)
            return transpose.count_targets(lists, workers)

    @cached_property
    def ids(self) -> Array:
        """The user's ids, ascending."""
        return self._version.ids.in_order()[0]

    @cached_property
    def vid_of_rank(self) -> U32 | None:
        """The vertex number of each id in ascending order; None if they are 0, 1, 2, ..."""
        return self._version.ids.in_order()[1]

    @property
    def storage(self) -> PagedGraph | None:
        """See :class:`~penstock.store.source.GraphSource`: the base."""
        return self.source(self.directions[0]).base

    def expire(self) -> None:
        """The lists are about to change: they are not this version's any more."""
        self._expired = True

    def source(self, direction: Direction) -> MemoryLists | ChangedLists:
        """See :class:`~penstock.store.source.GraphSource`."""
        self._check_current()
        stored = self.stored(direction)
        if stored not in self._sources:
            self.build_lists(stored)
        return self._sources[stored]

    def _check_current(self) -> None:
        if self._expired:
            raise PenstockError(
                "the graph has changed since this view of it was made; use it within `with "
                "d.reading()`, or take d.snapshot(), which stays"
            )

    def iter_adjacency(self, direction: Direction = "out", threads: int = 1) -> Iterator[Adjacency]:
        """See :class:`~penstock.store.source.GraphSource`."""
        source, table = self.source(direction), self.page_table(direction)
        base = iter(()) if source.base is None else source.base.iter_adjacency(direction, threads)
        names = [column.name for column in self.columns]

        def parts() -> Iterator[tuple[int, list[Adjacency]]]:
            for page in range(len(table)):
                yield page, [next(base) for _ in source.base_pages(page)]

        def made(part: tuple[int, list[Adjacency]]) -> Adjacency:
            row = table[part[0]]
            first, count, edges = (
                int(row[name]) for name in ("first_vid", "num_vertices", "num_edges")
            )
            columns = tuple(np.empty(edges, column.dtype) for column in self.columns)
            out = ListArrays(np.empty(count + 1, np.uint32), np.empty(edges, np.uint32), columns)
            vertices = range(first, first + count)
            source.fill(vertices, _joined(part[1], names), range(len(names)), out)
            degrees = np.diff(out.offsets)
            return Adjacency(first, degrees, out.neighbours, dict(zip(names, columns, strict=True)))

        return ordered_map(made, parts(), threads)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"<live graph: {self.num_vertices:,} vertices, {self.num_edges:,} {kind} edges>"


def _joined(parts: Sequence[Adjacency], names: Sequence[str]) -> ListArrays | None:
    """The lists of a page, or of one vertex that has several."""
    if not parts:
        return None
    degrees = parts[0].degrees
    if len(parts) > 1:
        degrees = np.array([sum(len(part.neighbours) for part in parts)], np.uint32)
    offsets: U32 = np.zeros(len(degrees) + 1, np.uint32)
    np.cumsum(degrees, out=offsets[1:])
    neighbours = np.concatenate([part.neighbours for part in parts])
    columns = tuple(np.concatenate([part.columns[name] for part in parts]) for name in names)
    return ListArrays(offsets, neighbours, columns)

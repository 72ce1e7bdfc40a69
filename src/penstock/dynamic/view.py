"""A graph that changes, as it is at one moment, for the engine: a graph like any other.

A view is made for each version of the graph. It costs a pass over the vertices, none over edges:
lists stay where they are, and go to the engine from there (see :mod:`penstock.dynamic.view_lists`).
It holds as long as nothing is changed; a snapshot holds for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from penstock.dynamic.base_kernels import is_ascending
from penstock.dynamic.view_lists import ChangedLists, Side, freeze, freeze_lists, make_source
from penstock.dynamic.view_pages import survey
from penstock.errors import PenstockError
from penstock.jit import kernel
from penstock.parallel import ordered_map
from penstock.radix import sort_pairs
from penstock.store.graph import Graph
from penstock.store.kept import Kept
from penstock.store.list_graph import FixedIds, ListGraph, MemoryLists
from penstock.store.paged import PagedGraph
from penstock.store.source import Description, ListArrays
from penstock.types import NO_VERTEX, U32, Adjacency, Array, Direction

#: Ids up to so many times their number are put in order without sorting.
_DENSE = 4


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


def snapshot(version: Version) -> Graph:
    """A graph that later changes do not touch: what is in memory is copied, a base is shared."""
    ids = FixedIds(*version.ids.in_order(), version.ids.kept)
    if all(side.base is None for side in version.sides.values()):
        n = version.description.num_vertices
        lists = {each: freeze_lists(side.added, n) for each, side in version.sides.items()}
        return ListGraph(version.description, ids, lists)
    sides = {direction: freeze(side) for direction, side in version.sides.items()}
    return LiveView(replace(version, ids=ids, sides=sides))


class LiveView(Graph):
    """A version of a graph that changes; see the module."""

    def __init__(self, version: Version) -> None:
        self._expired = False
        self._ids = version.ids
        self._degrees = {direction: side.degrees for direction, side in version.sides.items()}
        self._tables: dict[Direction, Array] = {}
        self._sources: dict[Direction, MemoryLists | ChangedLists] = {}
        stats = {}
        for direction, side in version.sides.items():
            grouping, base_pages = survey(side.degrees, side.base, direction)
            self._tables[direction], stats[direction] = grouping
            self._sources[direction] = make_source(side, base_pages)
        super().__init__(version.description._replace(lists=stats))
        self.kept_of_ids = version.ids.kept

    @cached_property
    def ids(self) -> Array:
        """The user's ids, ascending."""
        return self._ids.in_order()[0]

    @cached_property
    def vid_of_rank(self) -> U32 | None:
        """The vertex number of each id in ascending order; None if they are 0, 1, 2, ..."""
        return self._ids.in_order()[1]

    @property
    def storage(self) -> PagedGraph | None:
        """See :class:`~penstock.store.source.GraphSource`: the base."""
        return self.source(self.directions[0]).base

    def degrees(self, direction: Direction) -> U32:
        """See :class:`~penstock.store.source.GraphSource`."""
        return self._degrees[self.stored(direction)]

    def page_table(self, direction: Direction) -> Array:
        """See :class:`~penstock.store.source.GraphSource`."""
        return self._tables[self.stored(direction)]

    def expire(self) -> None:
        """The lists are about to change: they are not this version's any more."""
        self._expired = True

    def source(self, direction: Direction) -> MemoryLists | ChangedLists:
        """See :class:`~penstock.store.source.GraphSource`."""
        if self._expired:
            raise PenstockError(
                "the graph has changed since this view of it was made; use it within `with "
                "d.reading()`, or take d.snapshot(), which stays"
            )
        return self._sources[self.stored(direction)]

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


# Ids


#: Makes an array for what is put in order, in memory or in a file.
Empty = Callable[[int, DTypeLike], Array]


def order_ids(ids: Array, empty: Empty = np.empty) -> tuple[Array, U32 | None]:
    """Ids by vertex number (int64 of 0 or more, or strings) as :meth:`IdSource.in_order` gives
    them; what is returned are copies.
    """
    if ids.dtype == object:
        order = np.argsort(ids, kind="stable").astype(np.uint32)
        return ids[order], order
    n = len(ids)
    if is_ascending(ids):
        ascending = empty(n, np.int64)
        ascending[:] = ids
        return ascending, None
    most = int(ids.max())
    order = empty(n, np.uint32)
    if most < _DENSE * n:
        places, ascending = empty(most + 1, np.uint32), empty(n, np.int64)
        places[:] = NO_VERTEX
        _order_dense(ids, places, ascending, order)
        return ascending, order
    keys, keys2, order2 = empty(n, np.uint64), empty(n, np.uint64), empty(n, np.uint32)
    _number(ids, keys, order)
    if sort_pairs(keys, order, keys2, order2, most.bit_length()):
        keys, order = keys2, order2
    return keys.view(np.int64), order


def extend_order(
    found: tuple[Array, U32 | None], ids: Array, empty: Empty = np.empty
) -> tuple[Array, U32 | None]:
    """What :func:`order_ids` gives for ids, going by what it gave for the first of them."""
    old, order = found
    n, have = len(ids), len(old)
    new, places = order_ids(ids[have:], empty)
    if order is None and places is None and (not have or old[-1] < new[0]):
        ascending = empty(n, old.dtype)
        ascending[:have], ascending[have:] = old, new
        return ascending, None
    if old.dtype == object:
        assert order is not None
        assert places is not None
        where = np.searchsorted(old, new)
        return np.insert(old, where, new), np.insert(order, where, places + np.uint32(have))
    ascending, whole = empty(n, np.int64), empty(n, np.uint32)
    none: U32 = np.empty(0, np.uint32)
    _merge_orders(
        old, none if order is None else order, new, none if places is None else places,
        ascending, whole,
    )  # fmt: skip
    return ascending, whole


@kernel
def _number(ids, keys, order):  # type: ignore[no-untyped-def]
    """The ids as they are sorted, and the vertex number of each."""
    for v in range(len(ids)):
        keys[v] = np.uint64(ids[v])
        order[v] = v


@kernel
def _merge_orders(old, order, new, places, ascending, whole):  # type: ignore[no-untyped-def]
    """Merge ids in ascending order; an empty order means that they ascend with the numbers."""
    have, a, b = len(old), 0, 0
    for k in range(len(ascending)):
        if b == len(new) or (a < have and old[a] < new[b]):
            ascending[k] = old[a]
            whole[k] = order[a] if len(order) > 0 else a
            a += 1
        else:
            ascending[k] = new[b]
            whole[k] = have + (places[b] if len(places) > 0 else b)
            b += 1


@kernel
def _order_dense(ids, places, ascending, order):  # type: ignore[no-untyped-def]
    """Put ids in order by having a place for each number up to the largest."""
    for v in range(np.uint64(len(ids))):
        places[np.uint64(ids[v])] = v
    to = np.uint64(0)
    for k in range(np.uint64(len(places))):
        # What is no id is written over by the next one; the last one is an id.
        ascending[to] = k
        order[to] = places[k]
        to += np.uint64(places[k] != NO_VERTEX)

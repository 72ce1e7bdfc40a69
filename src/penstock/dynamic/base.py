"""Lists of an immutable store, in the shapes a graph that changes needs: some lists, single edges.

Rows are put in order of their source, so that each page is gone to once, whatever the batch; few
rows touch only the lists they ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.arrays import fresh
from penstock.config import thread_count
from penstock.dynamic import base_kernels as kernels
from penstock.dynamic.base_pages import BasePages, list_groups
from penstock.dynamic.changes import Gathered, PlainLists
from penstock.dynamic.tables import Layer
from penstock.parallel import Workers
from penstock.radix import sort_pairs
from penstock.store.paged import PagedGraph
from penstock.types import I64, U32, Adjacency, Array, Direction

#: Rows of one page that one worker takes at a time.
PIECE_ROWS = 1 << 16
#: Fewer rows or edges than this are not worth a second thread.
FEW_ROWS, FEW_EDGES = 1 << 13, 1 << 16

#: A group of pages that whole lists are in, and the rows whose lists they are.
_Task = tuple[int, int, int]


class BaseLists:
    """One direction of an immutable store; read-only, and safe to use from several threads."""

    def __init__(
        self, graph: PagedGraph, direction: Direction = "out", threads: int | None = None
    ) -> None:
        self.graph = graph
        self.direction: Direction = direction
        self.num_vertices = graph.num_vertices
        self._pages = BasePages(graph, direction)
        self.columns = self._pages.columns
        self._degrees: U32 = graph.degrees(direction)
        table = self._pages.table
        self.num_edges = int(table["num_edges"].sum(dtype=np.int64))
        self.multigraph = graph.multigraph
        self._group_begin, self._group_end = list_groups(table)
        self._group_vid: U32 = table["first_vid"][self._group_begin].astype(np.uint32)
        self.workers = Workers(thread_count(threads))

    def __repr__(self) -> str:
        return repr(self.graph)

    def close(self, *, wait: bool = True) -> None:
        """End the threads."""
        self.workers.close(wait=wait)

    # See :class:`~penstock.dynamic.layers.LowerLists`: files are not counted.
    nbytes = changed_bytes = 0
    layers: tuple[Layer, ...] = ()

    @property
    def bottom(self) -> BaseLists:
        """Itself: nothing is below."""
        return self

    def missing_bytes(self, new_vertices: int, rows: int) -> int:
        """Nothing is needed besides: files are mapped."""
        return 0

    def degrees(self) -> U32:
        """How long each list is."""
        return self._degrees

    def degrees_of(self, vertices: U32) -> U32:
        """How long the lists of some vertices are. Numbers from ``num_vertices`` on are vertices
        without a list here.
        """
        return _sizes(self._degrees, vertices).astype(np.uint32)

    # Single edges

    def find(self, src: U32, dst: U32) -> I64:
        """The position of each edge among all edges (of parallel ones, the first), -1 if it is not
        there. Fastest if ``src`` is ascending.
        """
        return self._look_up(src, dst, counting=False)

    def count(self, src: U32, dst: U32) -> I64:
        """How many edges there are from each source to its target."""
        return self._look_up(src, dst, counting=True)

    def _look_up(self, src: U32, dst: U32, *, counting: bool) -> I64:
        keys, order = _in_order(src)
        targets = dst if order is None else dst[order]
        asked = kernels.Pairs(keys, targets)
        out: I64 = np.full(len(src), 0 if counting else -1, np.int64)
        pages = self._pages

        def one(task: _Task) -> None:
            group, lo, hi = task
            for page_id in range(int(self._group_begin[group]), int(self._group_end[group])):
                facts = pages.facts[page_id]
                if pages.direct:
                    page = pages.page(page_id)
                    kernels.find_banded(page, facts, pages.bands, asked, lo, hi, counting, out)
                else:
                    found = pages.decoded(page_id)
                    lists = PlainLists(found.offsets, found.neighbours)
                    kernels.find_decoded(
                        lists, facts, pages.ascending, asked, lo, hi, counting, out
                    )

        self._each(one, self._tasks(keys), few=len(src) < FEW_ROWS)
        if order is None:
            return out
        found: I64 = np.empty(len(src), np.int64)
        found[order] = out
        return found

    def has(self, src: U32, dst: U32) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each edge is there."""
        return self.find(src, dst) >= 0

    def look_up(self, src: U32, dst: U32) -> tuple[Any, tuple[Array, ...]]:
        """Whether each edge is there, and its columns; zeros where it is not."""
        positions = self.find(src, dst)
        found = positions >= 0
        columns = tuple(np.zeros(len(src), column.dtype) for column in self.columns)
        for out, values in zip(columns, self.values(positions[found]), strict=True):
            out[found] = values
        return found, columns

    def values(self, positions: I64) -> tuple[Array, ...]:
        """The columns of edges by their positions among all edges."""
        first_edge = self._pages.table["first_edge"].astype(np.int64)
        found = tuple(np.empty(len(positions), column.dtype) for column in self.columns)
        if not found or not len(positions):
            return found
        order = np.argsort(positions, kind="stable")
        ordered = positions[order]
        page_of = np.searchsorted(first_edge, ordered, "right") - 1
        cuts = np.flatnonzero(np.diff(page_of, prepend=-1))

        def one(task: tuple[int, int]) -> None:
            rows = order[task[0] : task[1]]
            page_id = int(page_of[task[0]])
            places = positions[rows] - first_edge[page_id]
            for out, values in zip(found, self._pages.page_columns(page_id), strict=True):
                out[rows] = values[places]

        ends = [*cuts[1:].tolist(), len(order)]
        tasks = list(zip(cuts.tolist(), ends, strict=True))
        self._each(one, tasks, few=len(positions) < FEW_ROWS)
        return found

    # Lists

    def gather(self, vertices: U32) -> Gathered:
        """Copies of the lists of some vertices, in the order given. Numbers from ``num_vertices``
        on are vertices without a list here.
        """
        sizes = self.degrees_of(vertices)
        offsets: I64 = np.zeros(len(vertices) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        total = int(offsets[-1])
        neighbours: U32 = fresh(total, np.uint32)
        columns = tuple(fresh(total, column.dtype) for column in self.columns)
        keys, order = _in_order(vertices)
        targets = offsets[:-1] if order is None else offsets[order]

        def one(task: _Task) -> None:
            group, lo, hi = task
            begin, end = int(self._group_begin[group]), int(self._group_end[group])
            here, counts = targets[lo:hi].copy(), np.empty(hi - lo, np.int64)
            wanted = kernels.Wanted(keys[lo:hi], here, np.empty(hi - lo, np.int64), counts)
            self._gather_page(begin, wanted, neighbours, columns)
            for page_id in range(begin + 1, end):
                here += counts
                self._gather_page(page_id, wanted, neighbours, columns)

        self._each(one, self._tasks(keys), few=total < FEW_EDGES)
        return Gathered(offsets, neighbours, columns)

    def _gather_page(
        self, page_id: int, wanted: kernels.Wanted, neighbours: U32, columns: tuple[Array, ...]
    ) -> None:
        """Copy the lists of some vertices out of one page."""
        pages = self._pages
        small, first, vertices, *_ = pages.facts[page_id]
        if pages.direct:
            largest = kernels.gather_banded(
                pages.page(page_id), small, first, vertices, pages.bands, wanted, neighbours
            )
            pages.check_largest(int(largest), page_id)
            values = pages.page_columns(page_id) if columns else ()
        else:
            lists = pages.decoded(page_id)
            kernels.place_decoded(lists.offsets, first, wanted)
            kernels.copy_lists(lists.neighbours, wanted, neighbours)
            values = lists.columns
        for out, column in zip(columns, values, strict=True):
            bits = f"u{column.dtype.itemsize}"
            kernels.copy_lists(column.view(bits), wanted, out.view(bits))

    @property
    def num_groups(self) -> int:
        """Groups of pages that whole lists are in."""
        return len(self._group_begin)

    def read_group(self, group: int) -> Adjacency:
        """All lists of a group of pages, read from its files past what is in memory."""
        begin, end = int(self._group_begin[group]), int(self._group_end[group])
        parts = [self._pages.read(page_id) for page_id in range(begin, end)]
        if len(parts) == 1:
            return parts[0]
        degree = np.array([sum(len(part.neighbours) for part in parts)], np.uint32)
        return Adjacency(
            parts[0].first_vid,
            degree,
            np.concatenate([part.neighbours for part in parts]),
            {
                column.name: np.concatenate([part.columns[column.name] for part in parts])
                for column in self.columns
            },
        )

    @property
    def ascending(self) -> bool:
        """Whether each list is in order of vertex numbers."""
        return self._pages.ascending

    # Work by page

    def _tasks(self, keys: U32) -> list[_Task]:
        return list(self._iter_tasks(keys))

    def _iter_tasks(self, keys: U32) -> Iterator[_Task]:
        """Which rows have their lists in which group of pages; those without edges are left out."""
        rows = int(np.searchsorted(keys, np.uint32(self.num_vertices)))
        if not rows:
            return
        keys = keys[:rows]
        if rows > self.num_groups:
            cuts = np.searchsorted(keys, self._group_vid)
            groups = np.flatnonzero(np.diff(cuts, append=rows))
            begins = cuts[groups]
        else:
            group_of = np.searchsorted(self._group_vid, keys, "right") - 1
            begins = np.flatnonzero(np.diff(group_of, prepend=-1))
            groups = group_of[begins]
        edges = self._pages.table["num_edges"][self._group_begin[groups]].tolist()
        ends = [*begins[1:].tolist(), rows]
        for group, lo, hi, some in zip(groups.tolist(), begins.tolist(), ends, edges, strict=True):
            if some:
                for at in range(lo, hi, PIECE_ROWS):
                    yield group, at, min(at + PIECE_ROWS, hi)

    def _each(self, one: Callable[..., None], tasks: Sequence[object], *, few: bool) -> None:
        if few:
            for task in tasks:
                one(task)
        else:
            self.workers.run(lambda _, task: one(task), tasks)


def _sizes(degrees: U32, vertices: U32) -> I64:
    """The degree of each vertex; 0 for those that there are no degrees of."""
    if not len(vertices) or int(vertices.max()) < len(degrees):
        return degrees[vertices].astype(np.int64)
    known = vertices < len(degrees)
    sizes: I64 = np.zeros(len(vertices), np.int64)
    sizes[known] = degrees[vertices[known]]
    return sizes


def _in_order(keys: U32) -> tuple[U32, U32 | None]:
    """The keys ascending, and which of them each is; None if they are already."""
    if kernels.is_ascending(keys):
        return keys, None
    first, order = keys.copy(), np.arange(len(keys), dtype=np.uint32)
    second, order2 = np.empty_like(first), np.empty_like(order)
    bits = max(1, int(keys.max()).bit_length())
    if sort_pairs(first, order, second, order2, bits):
        return second, order2
    return first, order

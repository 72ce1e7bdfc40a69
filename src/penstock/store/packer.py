"""Adjacency in, pages out: the one place that decides where a page ends.

Lists come in vertex order, in parts of any size; a part may stop in the middle of a list and the
next one go on with it. The pages depend on the lists alone, never on how they were cut into parts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from penstock.store.catalog import DirectionStats
from penstock.store.layout import PACKED_VERTICES, PAGE_TABLE_DTYPE, Layout, PageSpec
from penstock.store.page import DIRECTION_CODES, LARGE, SMALL, PageHeader
from penstock.types import I64, U8, U32, Adjacency, Array, Direction

#: Below this much topology, pages are small so that small graphs are small on disk.
SMALL_GRAPH_BYTES = 16 << 20
SMALL_PAGE_BYTES = 64 << 10
#: Vertices whose degrees are looked at together, and those without edges that are added at once.
_STEP_VERTICES = 1 << 18


def default_page_bytes(topology_bytes: int, small: int = SMALL_PAGE_BYTES) -> int:
    """1 MiB, where reading is fastest; 64 KiB for graphs that have few such pages."""
    return small if topology_bytes < SMALL_GRAPH_BYTES else 1 << 20


class PageSink(Protocol):
    """Where finished pages go."""

    def write(self, page_id: int, page: U8) -> None:
        """Keep a page; pages come in order."""


class MemorySink:
    """Keeps pages in memory."""

    def __init__(self) -> None:
        self.pages: list[U8] = []

    def write(self, page_id: int, page: U8) -> None:
        """Keep a copy of a page."""
        self.pages.append(page.copy())


class FileSink:
    """Appends pages to striped files: page j goes to file j mod s."""

    #: After this many bytes a file's dirty pages are sent to the disk and forgotten.
    FLUSH_BYTES = 32 << 20

    def __init__(self, paths: list[Path]) -> None:
        self._fds = [os.open(p, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644) for p in paths]
        self._unflushed = 0

    def write(self, page_id: int, page: U8) -> None:
        """Append a page to its stripe."""
        fd = self._fds[page_id % len(self._fds)]
        write_all(fd, page)
        self._unflushed += len(page)
        if self._unflushed >= self.FLUSH_BYTES:
            self._unflushed = 0
            for each in self._fds:
                os.posix_fadvise(each, 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self, *, sync: bool) -> None:
        """Close the files, with their bytes on the disk if asked."""
        try:
            if sync:
                for fd in self._fds:
                    os.fsync(fd)
        finally:
            while self._fds:
                os.close(self._fds.pop())


def write_all(fd: int, data: U8) -> None:
    """Write every byte (the kernel may take fewer at a time)."""
    view = data.data.cast("B")
    while view:
        view = view[os.write(fd, view) :]


@dataclass(slots=True)
class _Tally:
    """The numbers that go into the catalog."""

    small: int = 0
    large: int = 0
    used: int = 0
    edges: int = 0
    max_degree: int = 0
    histogram: I64 = field(default_factory=lambda: np.zeros(34, np.int64))


class Packer:
    """Cuts a stream of adjacency into pages of one direction."""

    def __init__(
        self,
        spec: PageSpec,
        layout: Layout,
        direction: Direction,
        tag: int,
        sink: PageSink,
        keep_degrees: Callable[[U32], None],
    ) -> None:
        self._spec = spec
        self._layout = layout
        self._direction = DIRECTION_CODES[direction]
        self._tag = tag
        self._sink = sink
        self._keep_degrees = keep_degrees
        self._page: U8 = np.zeros(spec.page_bytes, np.uint8)
        self._table: list[tuple[int, int, int, int, int, int, tuple[int, int, int]]] = []
        self._tally = _Tally()
        self._rest = self._empty(0)
        #: Vertices without edges that come before the rest, and how many of them fill a page. They
        #: are only counted, because a page may have millions of them.
        self._blank = 0
        self._most_blank = 0
        #: Large pages already written for the first vertex of the rest, and the edges in them.
        self._run = 0
        self._run_edges = 0

    def _empty(self, vertex: int) -> Adjacency:
        columns = {c.name: np.empty(0, c.dtype) for c in self._spec.columns}
        return Adjacency(vertex, np.empty(0, np.uint32), np.empty(0, np.uint32), columns)

    def add(self, part: Adjacency) -> None:
        """Take the next lists. A part begins at the vertex after the last, or goes on with it."""
        e = 0
        for v in range(0, max(len(part.degrees), 1), _STEP_VERTICES):
            v_end = min(v + _STEP_VERTICES, len(part.degrees))
            e_end = e + int(part.degrees[v:v_end].sum(dtype=np.int64))
            self._add(_slice(part, v, v_end, e, e_end))
            e = e_end

    def _add(self, part: Adjacency) -> None:
        """The same, for a part of few vertices."""
        rest = self._rest
        if self._blank and part.first_vid == rest.first_vid - 1:
            self._blank -= 1
            rest = self._empty(part.first_vid)
        follows = len(rest.degrees) == 0 and part.first_vid == rest.first_vid
        if follows and len(part.neighbours) == 0:
            self._blank += len(part.degrees)
            self._rest = self._empty(part.first_vid + len(part.degrees))
            self._write_blank()
            return
        self._rest = _joined(self._with_blank(rest), part)
        self._emit(last=False)
        if len(self._rest.neighbours) == 0 and self._run == 0:
            self._blank = len(self._rest.degrees)
            self._rest = self._empty(self._rest.first_vid + self._blank)

    def _with_blank(self, rest: Adjacency) -> Adjacency:
        """The rest, with the vertices before it that were only counted."""
        if self._blank == 0:
            return rest
        blank, self._blank = self._blank, 0
        first = self._empty(rest.first_vid - blank)
        return _joined(replace(first, degrees=np.zeros(blank, np.uint32)), rest)

    def _write_blank(self) -> None:
        """Write the pages that are full of vertices without edges."""
        if self._blank <= _STEP_VERTICES:
            return
        nothing = self._empty(0).neighbours
        if self._most_blank == 0:
            degrees: U32 = np.zeros(min(self._spec.num_vertices, PACKED_VERTICES), np.uint32)
            self._most_blank = self._layout.fit(degrees, nothing, 0, 0)[0]
        while self._blank > self._most_blank:
            page = self._empty(self._rest.first_vid - self._blank)
            self._write(SMALL, replace(page, degrees=np.zeros(self._most_blank, np.uint32)))
            self._blank -= self._most_blank

    def finish(self) -> tuple[Array, DirectionStats]:
        """Write what is left, with lists for all vertices; returns page table and statistics."""
        have = self._rest.first_vid + len(self._rest.degrees)
        for first in range(have, self._spec.num_vertices, _STEP_VERTICES):
            count = min(_STEP_VERTICES, self._spec.num_vertices - first)
            self.add(replace(self._empty(first), degrees=np.zeros(count, np.uint32)))
        self._rest = self._with_blank(self._rest)
        self._emit(last=True)
        tally = self._tally
        stats = DirectionStats(
            num_pages=len(self._table),
            num_edges=tally.edges,
            small_pages=tally.small,
            large_pages=tally.large,
            used_bytes=tally.used,
            max_degree=tally.max_degree,
            empty_vertices=int(tally.histogram[0]),
            degree_histogram=tuple(
                int(x) for x in tally.histogram[: tally.max_degree.bit_length() + 1]
            ),
        )
        return np.array(self._table, PAGE_TABLE_DTYPE), stats

    def _emit(self, *, last: bool) -> None:
        """Write the pages that are sure: all of them at the end, else those that are full."""
        rest = self._rest
        vertices = len(rest.degrees)
        v = e = 0
        while v < vertices:
            if self._run == 0:
                v_end, e_end = self._layout.fit(rest.degrees, rest.neighbours, v, e)
                if v_end == vertices and not last:
                    break  # more may come for this page
                if v_end > v:
                    self._write(SMALL, _slice(rest, v, v_end, e, e_end))
                    v, e = v_end, e_end
                    continue
            # The list of vertex v is too long for a page.
            stop = e + int(rest.degrees[v])
            open_end = v == vertices - 1 and not last
            while e < stop:
                until = min(self._layout.fit_large(rest.neighbours, e), stop)
                if until == stop and open_end:
                    break
                self._write_large(rest, v, e, until)
                e = until
            if open_end:
                rest.degrees[v] = stop - e
                break
            self._count_degrees(np.array([self._run_edges], np.uint32))
            self._run = self._run_edges = 0
            v += 1
        self._rest = _slice(rest, v, vertices, e, len(rest.neighbours))

    def _write_large(self, rest: Adjacency, v: int, e: int, until: int) -> None:
        part = _slice(rest, v, v + 1, e, until)
        self._write(LARGE, replace(part, degrees=np.array([until - e], np.uint32)))
        self._run += 1
        self._run_edges += until - e

    def _write(self, kind: int, part: Adjacency) -> None:
        page = self._page
        page[:] = 0
        self._tally.used += self._layout.encode(page, kind, part)
        vertices, edges = len(part.degrees), len(part.neighbours)
        header = PageHeader(
            layout=self._layout.code,
            kind=kind,
            direction=self._direction,
            tag=self._tag,
            page_id=len(self._table),
            first_vid=part.first_vid,
            first_edge=self._tally.edges,
            num_vertices=vertices,
            num_edges=edges,
            run=self._run if kind == LARGE else 0,
        )
        header.seal(page)
        self._sink.write(header.page_id, page)
        self._table.append(
            (part.first_vid, self._tally.edges, vertices, edges, header.run, kind, (0, 0, 0))
        )
        self._tally.edges += edges
        if kind == SMALL:
            self._tally.small += 1
            self._count_degrees(part.degrees)
        else:
            self._tally.large += 1

    def _count_degrees(self, degrees: U32) -> None:
        self._keep_degrees(degrees)
        for begin in range(0, len(degrees), _STEP_VERTICES):
            part = degrees[begin : begin + _STEP_VERTICES]
            self._tally.max_degree = max(self._tally.max_degree, int(part.max()))
            exponent = np.frexp(part.astype(np.float64))[1]
            self._tally.histogram += np.bincount(exponent, minlength=34)


def _slice(whole: Adjacency, v: int, v_end: int, e: int, e_end: int) -> Adjacency:
    """Some vertices of an adjacency, as views."""
    return Adjacency(
        whole.first_vid + v,
        whole.degrees[v:v_end],
        whole.neighbours[e:e_end],
        {name: values[e:e_end] for name, values in whole.columns.items()},
    )


def _joined(first: Adjacency, second: Adjacency) -> Adjacency:
    """One adjacency from two that follow each other; the second may go on with the last list."""
    overlap = first.first_vid + len(first.degrees) - second.first_vid
    if overlap not in (0, 1):
        raise ValueError(
            f"adjacency for vertex {second.first_vid} does not follow what came before"
        )
    if overlap and len(second.degrees):
        head = first.degrees.copy()
        head[-1] += second.degrees[0]
        degrees = np.concatenate([head, second.degrees[1:]])
    else:
        degrees = np.concatenate([first.degrees, second.degrees])
    return Adjacency(
        first.first_vid,
        degrees,
        np.concatenate([first.neighbours, second.neighbours]),
        {k: np.concatenate([v, second.columns[k]]) for k, v in first.columns.items()},
    )

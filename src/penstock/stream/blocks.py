"""Pages to blocks, in the buffers of a stream: read and decoded, or filled by whoever has the lists
in another form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import numpy as np

from penstock.metrics import Metrics
from penstock.store.graph import Graph
from penstock.store.layout import DECODE_ROOM
from penstock.store.paged import PagedGraph
from penstock.store.source import ListArrays, ListSource
from penstock.stream.block import Block
from penstock.stream.cache import PageCache
from penstock.stream.reader import PageReader
from penstock.types import U8, U32, Array, Direction


class Blocks(Protocol):
    """The pages of a direction, as blocks."""

    def opened(self, stream: int, page: int) -> AbstractContextManager[Block]:
        """The block of a page that has edges; it is the stream's until the context is left."""

    def close(self) -> None:
        """Close the files."""


def open_blocks(
    graph: Graph,
    direction: Direction,
    columns: Sequence[str],
    streams: int,
    metrics: Metrics,
    cache: PageCache,
) -> Blocks:
    """The pages of a direction of a graph, with some edge columns, for so many streams."""
    source = graph.source(direction)
    if isinstance(graph, PagedGraph):
        return PageBlocks(graph, direction, columns, streams, metrics, cache)
    assert source is not None
    return FilledBlocks(graph, direction, source, columns, streams, metrics, cache)


def buffer_sizes(graph: Graph, direction: Direction) -> tuple[int, int]:
    """What one stream has buffers for: bytes, and besides these edges with their columns."""
    vertices, edges = _largest(graph.page_table(direction))
    source = graph.source(direction)
    if isinstance(graph, PagedGraph):
        return graph.catalog.page_bytes + 4 * (vertices + 1) + 4 * (edges + DECODE_ROOM), 0
    size, edges = table_buffers(graph.page_table(direction))
    assert source is not None
    if source.base is not None:
        stored, more = buffer_sizes(source.base, direction)
        size += stored
        edges += more + _longest_run(source.base.page_table(direction))
    return size, edges


def table_buffers(table: Array) -> tuple[int, int]:
    """What one stream has buffers for if its pages are filled from lists in memory."""
    vertices, edges = _largest(table)
    return 4 * (vertices + 1), edges


def _largest(table: Array) -> tuple[int, int]:
    """The most vertices and edges of a page."""
    with_edges = table[table["num_edges"] > 0]
    vertices = int(with_edges["num_vertices"].max(initial=0))
    return vertices, int(with_edges["num_edges"].max(initial=0))


def _dtypes(graph: Graph, columns: Sequence[str]) -> list[np.dtype[np.generic]]:
    known = {column.name: column.dtype for column in graph.columns}
    return [known[name] for name in columns if name in known]


def _longest_run(table: Array) -> int:
    """The most edges of a list that has several pages."""
    starts = np.flatnonzero(table["run"] == 0)
    if len(starts) == len(table):
        return 0
    sizes = np.add.reduceat(table["num_edges"].astype(np.int64), starts)
    return int(sizes[np.diff(starts, append=len(table)) > 1].max())


class _Stream:
    """The buffers of one stream: a page, and the block that it is decoded into."""

    def __init__(self, reader: PageReader, table: Array) -> None:
        vertices, edges = _largest(table)
        self.page: U8 = reader.new_buffer()
        self.offsets: U32 = np.empty(vertices + 1, np.uint32)
        self.neighbours: U32 = np.empty(edges + DECODE_ROOM, np.uint32)


class PageBlocks:
    """Pages that are read, or are in memory, and decoded."""

    def __init__(
        self,
        graph: PagedGraph,
        direction: Direction,
        columns: Sequence[str],
        streams: int,
        metrics: Metrics,
        cache: PageCache,
    ) -> None:
        self.reader = PageReader(graph, direction, cache)
        self.table = graph.page_table(direction)
        self._columns = tuple(columns)
        self._layout = graph.layout(direction)
        self._metrics = metrics
        self._cache = cache
        self.streams = [_Stream(self.reader, self.table) for _ in range(streams)]

    def close(self) -> None:
        """See :class:`Blocks`."""
        self.reader.close()

    @contextmanager
    def opened(self, stream: int, page: int) -> Iterator[Block]:
        """See :class:`Blocks`."""
        mine, counters = self.streams[stream], self._metrics.per_stream[stream]
        data = self.reader.in_memory(page)
        held = self._cache.acquire(page) if data is None else None
        if data is None and held is None:
            self.reader.read(page, mine.page, self._metrics, stream)
            data = mine.page
        else:
            counters.cache_hits += 1
            data = held if data is None else data
        assert data is not None
        try:
            with self._metrics.timed("decode", stream, page):
                block = self.decode(page, data, mine)
            yield block
        finally:
            if held is not None:
                self._cache.release(page)
            elif data is mine.page:
                free = self._cache.offer(page, mine.page, None)
                mine.page = self.reader.new_buffer() if free is None else free

    def decode(self, page: int, data: U8, mine: _Stream) -> Block:
        """The block of a page that was read, in the buffers of a stream."""
        header = self.reader.header(page, data, self.table[page])
        found = self._layout.decode_into(data, header, mine.offsets, mine.neighbours)
        offsets = mine.offsets[: header.num_vertices + 1]
        neighbours = mine.neighbours[: header.num_edges]
        self.reader.check_lists(page, header, offsets, neighbours)
        columns = tuple(found[name] for name in self._columns)
        return Block(header.first_vid, offsets, neighbours, columns)


class FilledBlocks:
    """Lists that their source writes into the buffers of the streams, with those of the base's
    pages at hand if it has a base.
    """

    def __init__(
        self,
        graph: Graph,
        direction: Direction,
        source: ListSource,
        columns: Sequence[str],
        streams: int,
        metrics: Metrics,
        cache: PageCache,
    ) -> None:
        self.table = graph.page_table(direction)
        self._source = source
        self._metrics = metrics
        names = [column.name for column in graph.columns]
        self._columns = [names.index(name) for name in columns]
        dtypes = _dtypes(graph, columns)
        vertices, edges = _largest(self.table)
        self._streams = [_new_arrays(vertices, edges, dtypes) for _ in range(streams)]
        self._pages: PageBlocks | None = None
        self._runs: list[ListArrays] = []
        if source.base is not None:
            self._pages = PageBlocks(source.base, direction, columns, streams, metrics, cache)
            longest = _longest_run(self._pages.table)
            self._runs = [_new_arrays(1, longest, dtypes) for _ in range(streams)]

    def close(self) -> None:
        """See :class:`Blocks`."""
        if self._pages is not None:
            self._pages.close()

    @contextmanager
    def opened(self, stream: int, page: int) -> Iterator[Block]:
        """See :class:`Blocks`."""
        row, out = self.table[page], self._streams[stream]
        first, count, edges = (
            int(row[name]) for name in ("first_vid", "num_vertices", "num_edges")
        )
        pages = [k for k in self._source.base_pages(page) if self._has_edges(k)]
        if self._pages is not None and len(pages) == 1:
            with self._pages.opened(stream, pages[0]) as base:
                stored = ListArrays(base.offsets, base.neighbours, base.columns)
                self._fill(stream, page, first, count, stored)
        else:
            self._fill(stream, page, first, count, self._joined(stream, pages))
        columns = tuple(column[:edges] for column in out.columns)
        yield Block(first, out.offsets[: count + 1], out.neighbours[:edges], columns)

    def _fill(
        self, stream: int, page: int, first: int, count: int, stored: ListArrays | None
    ) -> None:
        with self._metrics.timed("decode", stream, page):
            vertices = range(first, first + count)
            self._source.fill(vertices, stored, self._columns, self._streams[stream])

    def _has_edges(self, page: int) -> bool:
        return self._pages is not None and bool(self._pages.table["num_edges"][page])

    def _joined(self, stream: int, pages: Sequence[int]) -> ListArrays | None:
        """The list of one vertex that the base has in several pages."""
        if self._pages is None or not pages:
            return None
        whole, at = self._runs[stream], 0
        for page in pages:
            with self._pages.opened(stream, page) as part:
                stop = at + len(part.neighbours)
                whole.neighbours[at:stop] = part.neighbours
                for column, values in zip(whole.columns, part.columns, strict=True):
                    column[at:stop] = values
                at = stop
        whole.offsets[:2] = 0, at
        columns = tuple(column[:at] for column in whole.columns)
        return ListArrays(whole.offsets[:2], whole.neighbours[:at], columns)


def _new_arrays(vertices: int, edges: int, dtypes: Sequence[np.dtype[np.generic]]) -> ListArrays:
    return ListArrays(
        np.empty(vertices + 1, np.uint32),
        np.empty(edges, np.uint32),
        tuple(np.empty(edges, dtype) for dtype in dtypes),
    )

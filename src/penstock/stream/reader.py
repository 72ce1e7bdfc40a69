"""Pages of one direction from wherever they are, checked."""

from __future__ import annotations

from typing import Any

from penstock.errors import CorruptionError
from penstock.metrics import Metrics
from penstock.store.direct import page_buffer
from penstock.store.page import PageHeader, check_page
from penstock.store.paged import FilePages, MemoryPages, PagedGraph
from penstock.stream.cache import PageCache
from penstock.types import U8, U32, Direction


class PageReader:
    """Gets pages for streams: from the cache, from memory, or past the system's cache from disk.

    What a page's header says is compared with its place each time. Its checksum is compared when
    the page comes from storage for the first time in a run; its lists are checked when they are
    decoded for the first time since the graph was opened.
    """

    def __init__(self, graph: PagedGraph, direction: Direction, cache: PageCache) -> None:
        self._direction = graph.stored(direction)
        self._layout = graph.layout(direction)
        self._tag = graph.tag
        source = graph.pages(direction)
        self._memory = source if isinstance(source, MemoryPages) else None
        self._files = source.direct() if isinstance(source, FilePages) else None
        self._where = source.where
        self.page_bytes = source.page_bytes
        self.cache = cache
        self._lists = graph.list_check(direction)
        self._compared = bytearray(source.num_pages)

    def close(self) -> None:
        """Close the files."""
        if self._files is not None:
            self._files.close()

    def read(self, page: int, buffer: U8, metrics: Metrics, stream: int) -> None:
        """Fill a buffer from storage."""
        assert self._files is not None
        with metrics.timed("io", stream, page):
            self._files.read_page(page, buffer)
        counters = metrics.per_stream[stream]
        counters.pages_read += 1
        counters.bytes_read += len(buffer)

    def read_part(self, page: int, begin: int, buffer: U8) -> None:
        """Fill a buffer from a place within a page in storage."""
        assert self._files is not None
        self._files.read_part(page, begin, buffer)

    def descriptors(self) -> list[int]:
        """The files that pages are in, for kernels that read them."""
        assert self._files is not None
        return self._files.descriptors

    def where(self, page: int) -> str:
        """How to name a page in messages."""
        return self._where(page)

    def in_memory(self, page: int) -> U8 | None:
        """The page itself, if the graph is in memory."""
        return None if self._memory is None else self._memory.page(page)

    def header(self, page: int, data: U8, row: Any) -> PageHeader:
        """What the page says about itself, after checking that it is the right one, whole, and what
        its row of the page table says.
        """
        where = self._where(page)
        if not self._compared[page]:
            check_page(data, where)
            self._compared[page] = 1
        header = PageHeader.read(data, where)
        header.check_place(
            where,
            layout=self._layout.code,
            direction=self._direction,
            tag=self._tag,
            page_id=page,
        )
        for name in ("kind", "run", "first_vid", "first_edge", "num_vertices", "num_edges"):
            if getattr(header, name) != row[name]:
                raise CorruptionError(
                    f"{where}: its {name} is {getattr(header, name)}, the page table says "
                    f"{row[name]}; one of them was changed or damaged: restore or rebuild the graph"
                )
        return header

    def check_lists(self, page: int, header: PageHeader, offsets: U32, neighbours: U32) -> None:
        """Check the lists of a page that was decoded, unless they have been."""
        if self._lists is not None:
            self._lists.check(page, header, offsets, neighbours, self._where(page))

    def new_buffer(self) -> U8:
        """A buffer that a page can be read into."""
        return page_buffer(self.page_bytes)

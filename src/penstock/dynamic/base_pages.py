"""The pages of an immutable store, for reading single lists: mapped, and checked once each."""

from __future__ import annotations

import mmap
import os
from typing import NamedTuple

import numpy as np

from penstock.dynamic.base_kernels import PageFacts, columns_begin
from penstock.errors import CorruptionError
from penstock.store.check_pages import list_step
from penstock.store.first_use import damaged
from penstock.store.layout import DECODE_ROOM, Column
from penstock.store.page import LARGE, PageHeader, check_page
from penstock.store.paged import MemoryPages, PagedGraph
from penstock.types import I64, U8, U32, U64, Adjacency, Array, Direction


class Decoded(NamedTuple):
    """A page, decoded: the list of its vertex i is ``neighbours[offsets[i] : offsets[i + 1]]``."""

    offsets: U32
    neighbours: U32
    columns: tuple[Array, ...]


class BasePages:
    """The pages of one direction of a graph.

    Files are mapped, so what stays in memory of them is the system's to decide. A page is compared
    with its checksum, and every count in it with the others, before it is first used.
    """

    def __init__(self, graph: PagedGraph, direction: Direction) -> None:
        graph.require_whole()
        self._graph = graph
        self._direction: Direction = graph.stored(direction)
        self._source = graph.pages(direction)
        self._layout = graph.layout(direction)
        self._tag = graph.tag
        self._lists = graph.list_check(direction)
        self._checked = np.zeros(self._source.num_pages, np.bool_)
        self._maps: list[U8] = [] if isinstance(self._source, MemoryPages) else self._mapped()
        table = graph.page_table(direction)
        self.table: Array = table
        self.columns: tuple[Column, ...] = graph.columns
        self.ascending = list_step(graph.catalog) >= 0
        #: Whether lists can be found in a page as it is.
        self.direct = graph.catalog.layout == "banded" and self.ascending
        self.bands: U64 = np.array(graph.catalog.bands, np.uint64)
        names = ("first_vid", "num_vertices", "first_edge", "num_edges")
        small = (table["kind"] != LARGE).tolist()
        numbers = (table[name].tolist() for name in names)
        #: The byte at which the columns of a page begin, once they were looked at.
        self._columns_at: dict[int, int] = {}
        #: What is known of each page.
        self.facts = [*map(PageFacts, small, *numbers)]

    def _mapped(self) -> list[U8]:
        source = self._source
        assert not isinstance(source, MemoryPages)
        maps: list[U8] = []
        stripes = len(source.descriptors)
        for k, fd in enumerate(source.descriptors):
            size = (source.num_pages - k + stripes - 1) // stripes * source.page_bytes
            found = os.fstat(fd).st_size
            if found < size:
                raise CorruptionError(
                    f"{source.where(k)}: the file has {found:,} bytes, expected {size:,}; restore "
                    "or rebuild the graph"
                )
            maps.append(
                np.frombuffer(mmap.mmap(fd, size, prot=mmap.PROT_READ), np.uint8)
                if size
                else np.empty(0, np.uint8)
            )
        return maps

    def page(self, page_id: int) -> U8:
        """A page, as it is."""
        page = self._bytes(page_id)
        if not self._checked[page_id]:
            header = self._header(page, page_id)
            part, _ = self._layout.audit(page, header)
            self._check_lists(header, part, page_id)
            self._checked[page_id] = True
        return page

    def _bytes(self, page_id: int) -> U8:
        source = self._source
        if isinstance(source, MemoryPages):
            return source.page(page_id)
        stripes, size = len(self._maps), source.page_bytes
        at = page_id // stripes * size
        return self._maps[page_id % stripes][at : at + size]

    def _header(self, page: U8, page_id: int) -> PageHeader:
        """The header of a page whose bytes are as they were written, and which is the right one."""
        where = self._source.where(page_id)
        check_page(page, where)
        header = PageHeader.read(page, where)
        header.check_place(
            where, layout=self._layout.code, direction=self._direction, tag=self._tag,
            page_id=page_id,
        )  # fmt: skip
        found = (
            header.kind != LARGE, header.first_vid, header.num_vertices, header.first_edge,
            header.num_edges,
        )  # fmt: skip
        if found != self.facts[page_id]:
            raise CorruptionError(
                f"{where}: its header says {found}, the page table {tuple(self.facts[page_id])} "
                "(small, first vertex, vertices, first edge, edges): restore or rebuild the graph"
            )
        return header

    def _check_lists(self, header: PageHeader, part: Adjacency, page_id: int) -> None:
        if self._lists is not None:
            self._lists.check_part(page_id, header, part, self._source.where(page_id))

    def check_largest(self, largest: int, page_id: int) -> None:
        """Raise if a list that was copied has a number that is no vertex. Files are mapped: bytes
        that were checked may be read from the disk again.
        """
        if largest >= self._graph.num_vertices:
            raise damaged(
                self._source.where(page_id),
                f"a list has vertex {largest:,}, there are {self._graph.num_vertices:,}",
            )

    def decoded(self, page_id: int) -> Decoded:
        """A page of any layout, decoded."""
        page = self.page(page_id)
        header = PageHeader.read(page, self._source.where(page_id))
        offsets: U32 = np.empty(header.num_vertices + 1, np.uint32)
        neighbours: U32 = np.empty(header.num_edges + DECODE_ROOM, np.uint32)
        columns = self._layout.decode_into(page, header, offsets, neighbours)
        return Decoded(
            offsets,
            neighbours[: header.num_edges],
            tuple(columns[column.name] for column in self.columns),
        )

    def page_columns(self, page_id: int) -> tuple[Array, ...]:
        """The columns of a page, in the order of its lists."""
        if not self.direct:
            return self.decoded(page_id).columns
        page, facts = self.page(page_id), self.facts[page_id]
        at = self._columns_at.get(page_id, 0)
        if not at:
            at = int(columns_begin(page, facts.small, facts.vertices, self.bands))
            self._columns_at[page_id] = at
        columns = []
        for column in self.columns:
            size = facts.edges * column.dtype.itemsize
            columns.append(page[at : at + size].view(column.dtype))
            at += (size + 7) & ~7
        return tuple(columns)

    def read(self, page_id: int) -> Adjacency:
        """A page read from its file, checked and decoded, whatever was read before."""
        page: U8 = np.empty(self._source.page_bytes, np.uint8)
        self._source.read_page(page_id, page)
        header = self._header(page, page_id)
        part = self._layout.decode(page, header)
        self._check_lists(header, part, page_id)
        return part


def list_groups(table: Array) -> tuple[I64, I64]:
    """First and last + 1 page of each group that whole lists are in: a small page, or the large
    pages of one vertex.
    """
    first = np.flatnonzero(table["run"] == 0)
    return first, np.append(first[1:], len(table))

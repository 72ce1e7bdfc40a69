"""Graphs of pages: in files, or in memory as ``ps.from_edges`` makes them."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import CorruptionError, FormatError, InputNotFoundError, OptionError
from penstock.files import open_regular, read_regular
from penstock.parallel import ordered_map
from penstock.store.catalog import Catalog, read_catalog
from penstock.store.contents import stripe_name
from penstock.store.direct import open_direct, read_at
from penstock.store.graph import Graph
from penstock.store.index_files import IndexFiles
from penstock.store.layout import Layout, make_layout
from penstock.store.page import PageHeader, check_page
from penstock.store.part import Part, read_part, stripe_list, stripes_there
from penstock.types import I64, U8, U32, Adjacency, Array, Direction

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.store.first_use import ListCheck


_NOT_HERE = -1


class MemoryPages:
    """Pages that are in memory."""

    def __init__(self, pages: list[U8], page_bytes: int) -> None:
        self._pages = pages
        self.page_bytes = page_bytes
        self.num_pages = len(pages)

    def read_page(self, page_id: int, buffer: U8) -> None:
        """Copy a page."""
        buffer[:] = self._pages[page_id]

    def page(self, page_id: int) -> U8:
        """A page itself."""
        return self._pages[page_id]

    def where(self, page_id: int) -> str:
        """How to name a page in messages."""
        return f"page {page_id} in memory"


class FilePages:
    """Pages in striped files."""

    def __init__(
        self,
        files: list[Path],
        page_bytes: int,
        num_pages: int,
        *,
        missing: Collection[int] = (),
        direct: bool = False,
    ) -> None:
        self._files = files
        #: The stripes whose files are elsewhere.
        self._missing = frozenset(missing)
        self.page_bytes = page_bytes
        self.num_pages = num_pages
        self._fds: list[int] = []
        #: Closes the files when the object goes, unless that was done before.
        self.close = weakref.finalize(self, _close_all, self._fds)
        for stripe, path in enumerate(files):
            if stripe in self._missing:
                self._fds.append(_NOT_HERE)
                continue
            try:
                self._fds.append(open_direct(path, page_bytes) if direct else open_regular(path))
            except OSError as error:
                self.close()
                raise InputNotFoundError(
                    f"{path}: cannot be opened ({error.strerror}); the graph is not complete "
                    "without it: mount or restore its stripe"
                ) from None

    def direct(self) -> FilePages:
        """The same pages, read past the system's cache into :func:`~direct.page_buffer`."""
        return FilePages(
            self._files, self.page_bytes, self.num_pages, missing=self._missing, direct=True
        )

    def present(self) -> I64:
        """The pages whose stripes are here, ascending."""
        stripes = np.setdiff1d(np.arange(len(self._files)), list(self._missing))
        pages: I64 = np.arange(self.num_pages, dtype=np.int64)
        return pages[np.isin(pages % len(self._files), stripes)]

    @property
    def descriptors(self) -> list[int]:
        """The open files, one a stripe; -1 for a stripe that is not here."""
        return list(self._fds)

    def read_page(self, page_id: int, buffer: U8) -> None:
        """Read a page from its stripe."""
        self.read_part(page_id, 0, buffer)

    def read_part(self, page_id: int, begin: int, buffer: U8) -> None:
        """Read some of a page."""
        stripes = len(self._fds)
        fd = self._fds[page_id % stripes]
        if fd == _NOT_HERE:
            raise InputNotFoundError(
                f"{self.where(page_id)}: stripe {page_id % stripes} is not in this part of the "
                "graph; run over the hosts that have all of them (hosts=, --hosts), or use the "
                "whole graph"
            )
        offset = (page_id // stripes) * self.page_bytes + begin
        try:
            missing = len(buffer) - read_at(fd, offset, buffer)
        except OSError as error:
            raise CorruptionError(
                f"{self.where(page_id)}: cannot be read ({error.strerror}); "
                "check the disk, and restore or rebuild the graph"
            ) from None
        if missing:
            raise CorruptionError(
                f"{self.where(page_id)}: the file ends {missing:,} bytes too early; "
                "restore or rebuild the graph"
            )

    def where(self, page_id: int) -> str:
        """How to name a page in messages."""
        return f"{self._files[page_id % len(self._files)]}: page {page_id}"


def _close_all(fds: list[int]) -> None:
    while fds:
        fd = fds.pop()
        if fd != _NOT_HERE:
            os.close(fd)


class PagedGraph(Graph):
    """A graph whose lists are pages, with the catalog that says what is in them."""

    def __init__(
        self,
        catalog: Catalog,
        pages: dict[Direction, MemoryPages | FilePages],
        load_array: Callable[[str], Any],
        path: Path | None,
        files: IndexFiles | None = None,
        part: Part | None = None,
        missing: tuple[int, ...] = (),
    ) -> None:
        super().__init__(catalog.description(), path)
        #: What ``part.json`` says, if this is a part of a graph.
        self.part = part
        #: The stripes whose pages cannot be read here.
        self.missing = missing
        self.catalog = catalog
        self._pages = pages
        self.load_array = load_array
        #: The index files; None for a graph in memory.
        self.files = files
        self._page_tables: dict[Direction, Array] = {}
        #: Pages whose lists have been checked, of each direction.
        self._checked: dict[Direction, bytearray] = {}

    @cached_property
    def ids(self) -> Array:
        """The user's ids, ascending."""
        spec = self.catalog.ids
        if spec.kind == "range":
            return np.arange(spec.first, spec.first + self.num_vertices, dtype=np.int64)
        ids: Array = self.load_array(str(spec.file))
        return ids

    def mapped_strings(self) -> pa.ChunkedArray | None:
        """See :class:`~penstock.store.graph.Graph`."""
        if self.files is None or self.id_kind != "string":
            return None
        return self.files.strings()

    @cached_property
    def vid_of_rank(self) -> U32 | None:
        """The vertex number of each id in ascending order; None if they are 0, 1, 2, ..."""
        name = self.catalog.order_file
        return None if name is None else self.load_array(name)

    def require_whole(self) -> None:
        """Raise if some stripes are not here: what follows reads all pages."""
        if self.missing:
            raise OptionError(
                f"{self.path}: is a part of a graph: stripes {stripe_list(self.missing)} of "
                f"{self.catalog.num_stripes} are not here; run over the hosts that have them "
                "(hosts=, --hosts), or use the whole graph"
            )

    def pages(self, direction: Direction) -> MemoryPages | FilePages:
        """The pages of a direction."""
        return self._pages[self.stored(direction)]

    @property
    def storage(self) -> PagedGraph:
        """See :class:`~penstock.store.source.GraphSource`."""
        return self

    def source(self, direction: Direction) -> None:
        """See :class:`~penstock.store.source.GraphSource`; the lists are pages."""

    def page_table(self, direction: Direction) -> Array:
        """One row a page; see ``PAGE_TABLE_DTYPE``."""
        stored = self.stored(direction)
        if stored not in self._page_tables:
            table = np.array(self.load_array(f"{stored}.pages.npy"))
            table.flags.writeable = False
            self._page_tables[stored] = table
        return self._page_tables[stored]

    def degrees(self, direction: Direction) -> U32:
        """How many neighbours each vertex has."""
        degrees: U32 = self.load_array(f"{self.stored(direction)}.degrees.npy")
        return degrees

    def list_check(self, direction: Direction) -> ListCheck | None:
        """What the lists of pages are checked with, and which have been since the graph was opened;
        None for a graph in memory, which this process made.
        """
        if self.files is None:
            return None
        from penstock.store.check_pages import list_step
        from penstock.store.first_use import ListCheck

        stored = self.stored(direction)
        checked = self._checked.setdefault(stored, bytearray(self._pages[stored].num_pages))
        return ListCheck(checked, self.num_vertices, list_step(self.catalog), self.degrees(stored))

    def layout(self, direction: Direction) -> Layout:
        """How the pages of a direction are spelled."""
        spec = self.catalog.page_spec()
        firsts = self.page_table(direction)["first_vid"].astype(np.uint32)
        return make_layout(spec, firsts)

    def iter_adjacency(self, direction: Direction = "out", threads: int = 1) -> Iterator[Adjacency]:
        """Every page of a direction, checked and decoded, in order."""
        stored = self.stored(direction)
        source = self._pages[stored]
        layout = self.layout(direction)
        tag = self.catalog.tag
        lists = self.list_check(direction)

        def decode(page_id: int) -> Adjacency:
            page: U8 = np.empty(source.page_bytes, np.uint8)
            where = source.where(page_id)
            source.read_page(page_id, page)
            check_page(page, where)
            header = PageHeader.read(page, where)
            header.check_place(
                where, layout=layout.code, direction=stored, tag=tag, page_id=page_id
            )
            part = layout.decode(page, header)
            if lists is not None:
                lists.check_part(page_id, header, part, where)
            return part

        return ordered_map(decode, range(source.num_pages), threads)


def open_graph(path: str | os.PathLike[str]) -> PagedGraph:
    """Open a graph directory. Of a part of a graph, the stripes that are there can be read."""
    folder = Path(path)
    catalog = read_catalog(folder)
    part = read_part(folder, catalog)
    stripes = [folder / stripe_name(k) for k in range(catalog.num_stripes)]
    missing: tuple[int, ...] = ()
    if part is not None:
        missing = tuple(sorted({*range(len(stripes))} - {*stripes_there(folder, catalog)}))
    for k, stripe in enumerate(stripes):
        if k not in missing:
            check_stripe(stripe, k, catalog)
    pages: dict[Direction, MemoryPages | FilePages] = {}
    for direction, stats in catalog.directions.items():
        files = [stripe / f"{direction}.pages" for stripe in stripes]
        pages[direction] = FilePages(files, catalog.page_bytes, stats.num_pages, missing=missing)
    index = IndexFiles(folder, catalog)
    return PagedGraph(catalog, pages, index.load, folder, index, part, missing)


def check_stripe(folder: Path, stripe: int, catalog: Catalog) -> None:
    """Raise if a folder is not the stripe of a graph that it should be."""
    path = folder / "stripe.json"
    expected = catalog.stripe_text(stripe)
    if stripe == 0 and folder.is_symlink():
        raise FormatError(f"{folder}: is a symbolic link; only further stripes may be: refused")
    try:
        text = read_regular(path, len(expected) + 1)
    except OSError as error:
        raise InputNotFoundError(
            f"{folder}: stripe {stripe} of {catalog.num_stripes} is missing "
            f"({error.strerror}); mount or restore it"
        ) from None
    if text != expected.encode():
        raise FormatError(
            f"{path}: belongs to another graph or is damaged (it says {text[:100]!r}, expected "
            f"{expected!r})"
        )

"""A graph, open: its counts, its pages, its ids. The same class on disk and in memory."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import CorruptionError, FormatError, InputNotFoundError
from penstock.files import open_regular, read_regular
from penstock.parallel import ordered_map
from penstock.store.catalog import Catalog, read_catalog
from penstock.store.contents import stripe_name
from penstock.store.direct import open_direct, read_at
from penstock.store.exports import ExportMixin
from penstock.store.index_files import IndexFiles
from penstock.store.kept import Kept
from penstock.store.layout import Layout, make_layout
from penstock.store.page import PageHeader, check_page
from penstock.store.source import ListSource
from penstock.types import U8, U32, Adjacency, Array, Direction

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.store.first_use import ListCheck


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
        self, files: list[Path], page_bytes: int, num_pages: int, *, direct: bool = False
    ) -> None:
        self._files = files
        self.page_bytes = page_bytes
        self.num_pages = num_pages
        self._fds: list[int] = []
        #: Closes the files when the object goes, if nobody did before.
        self.close = weakref.finalize(self, _close_all, self._fds)
        for path in files:
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
        return FilePages(self._files, self.page_bytes, self.num_pages, direct=True)

    @property
    def descriptors(self) -> list[int]:
        """The open files, one a stripe."""
        return list(self._fds)

    def read_page(self, page_id: int, buffer: U8) -> None:
        """Read a page from its stripe."""
        self.read_part(page_id, 0, buffer)

    def read_part(self, page_id: int, begin: int, buffer: U8) -> None:
        """Read some of a page."""
        stripes = len(self._fds)
        fd = self._fds[page_id % stripes]
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
        os.close(fds.pop())


def serving_direction(
    wanted: Direction, stored: tuple[Direction, ...], *, directed: bool, path: Path | None
) -> Direction:
    """Which stored lists serve as those of a direction; raises if there are none."""
    if wanted in stored:
        return wanted
    if not directed:
        return "out"
    raise FormatError(
        f"{path}: the graph was built without its {wanted}-lists; rebuild it with both directions"
    )


class Graph(ExportMixin):
    """A graph that algorithms run on, on disk or in memory; it does not change.

    Vertices have the user's ids outside and numbers 0 .. n-1 (*vids*, in stored order) inside.

    >>> import penstock as ps
    >>> graph = ps.from_edges(["ann", "bob"], ["bob", "cy"])
    >>> graph, graph.ids.tolist()
    (<Graph in memory: 3 vertices, 2 directed edges>, ['ann', 'bob', 'cy'])
    """

    def __init__(
        self,
        catalog: Catalog,
        pages: dict[Direction, MemoryPages | FilePages],
        load_array: Callable[[str], Any],
        path: Path | None,
        files: IndexFiles | None = None,
    ) -> None:
        self.catalog = catalog
        self.path = path
        self._pages = pages
        self.load_array = load_array
        #: The index files; None for a graph in memory.
        self.files = files
        #: What layers above keep in memory as long as the graph is open.
        self.kept = Kept()
        #: The same, as long as the graph has the same ids.
        self.kept_of_ids = self.kept
        self._page_tables: dict[Direction, Array] = {}
        #: Pages whose lists have been checked, of each direction.
        self._checked: dict[Direction, bytearray] = {}

    # What users see

    @property
    def num_vertices(self) -> int:
        """How many vertices there are, those without edges included."""
        return self.catalog.num_vertices

    @property
    def num_edges(self) -> int:
        """How many edges there are, after the duplicate and self-loop rules; an undirected edge
        counts once.
        """
        return self.catalog.num_edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self.catalog.directed

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.catalog.weight is not None

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions whose lists are stored; an undirected graph needs only "out"."""
        return tuple(self.catalog.directions)

    @cached_property
    def ids(self) -> Array:
        """The user's ids, ascending."""
        spec = self.catalog.ids
        if spec.kind == "range":
            return np.arange(spec.first, spec.first + self.num_vertices, dtype=np.int64)
        ids: Array = self.load_array(str(spec.file))
        return ids

    def string_ids(self) -> pa.ChunkedArray:
        """Ids that are strings, ascending, as Arrow has them: mapped if they are in a file."""
        import pyarrow as pa

        if self.files is not None:
            return self.files.strings()
        return pa.chunked_array([pa.array(self.ids, pa.large_string())])

    @cached_property
    def vid_of_rank(self) -> U32 | None:
        """The vertex number of each id in ascending order; None if they are 0, 1, 2, ..."""
        name = self.catalog.order_file
        return None if name is None else self.load_array(name)

    def ids_by_vid(self) -> Array:
        """The user's id of each vertex number."""
        if self.vid_of_rank is None:
            return self.ids
        ids = np.empty_like(self.ids)
        ids[self.vid_of_rank] = self.ids
        return ids

    def to_edges(self) -> tuple[Array, ...]:
        """All edges as arrays ``(src, dst)`` or ``(src, dst, weight)`` of the user's ids; an
        undirected edge appears once.
        """
        ids = self.ids_by_vid()
        src, dst, weight = [], [], []
        for edges in self.iter_edges():
            src.append(ids[edges[0]])
            dst.append(ids[edges[1]])
            if self.catalog.weight is not None:
                weight.append(edges[2][self.catalog.weight])
        none: Array = np.empty(0, ids.dtype)
        found = (np.concatenate([none, *src]), np.concatenate([none, *dst]))
        if self.catalog.weight is None:
            return found
        dtype = next(c.dtype for c in self.catalog.columns if c.name == self.catalog.weight)
        return (*found, np.concatenate([np.empty(0, dtype), *weight]))

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        place = "in memory" if self.path is None else str(self.path)
        return f"<Graph {place}: {self.num_vertices:,} vertices, {self.num_edges:,} {kind} edges>"

    # What the layers above use

    def pages(self, direction: Direction) -> MemoryPages | FilePages:
        """The pages of a direction."""
        return self._pages[self.stored(direction)]

    @property
    def storage(self) -> Graph:
        """The graph whose files are read: itself, unless it is made of another one."""
        return self

    def source(self, direction: Direction) -> ListSource | None:
        """Who has the lists of a direction, if they are not just in pages."""
        return None

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

    def stored(self, direction: Direction) -> Direction:
        """Which stored lists serve as those of a direction; raises if there are none."""
        return serving_direction(
            direction, tuple(self._pages), directed=self.directed, path=self.path
        )

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

    def iter_edges(self, threads: int = 1) -> Iterator[tuple[U32, U32, dict[str, Array]]]:
        """Every edge once, as vertex numbers (source, target, columns), a page at a time."""
        direction = self.directions[0]
        for part in self.iter_adjacency(direction, threads):
            vertices = np.arange(
                part.first_vid, part.first_vid + len(part.degrees), dtype=np.uint32
            )
            src = np.repeat(vertices, part.degrees)
            if self.directed:
                ends = (src, part.neighbours)
                yield *(ends if direction == "out" else ends[::-1]), part.columns
                continue
            once = src <= part.neighbours
            columns = {name: values[once] for name, values in part.columns.items()}
            yield src[once], part.neighbours[once], columns


def open_graph(path: str | os.PathLike[str]) -> Graph:
    """Open a graph directory."""
    folder = Path(path)
    catalog = read_catalog(folder)
    for k in range(catalog.num_stripes):
        check_stripe(folder / stripe_name(k), k, catalog)
    pages: dict[Direction, MemoryPages | FilePages] = {}
    for direction, stats in catalog.directions.items():
        files = [folder / stripe_name(k) / f"{direction}.pages" for k in range(catalog.num_stripes)]
        pages[direction] = FilePages(files, catalog.page_bytes, stats.num_pages)
    index = IndexFiles(folder, catalog)
    return Graph(catalog, pages, index.load, folder, index)


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

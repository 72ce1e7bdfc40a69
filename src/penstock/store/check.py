"""Reading every byte of a graph directory and saying what is wrong with it.

Nothing is believed: every file is compared with its checksum, and what the files say is compared
with each other. Problems are collected, not raised. Held in memory are a few pages a thread, the
page table and one bit a vertex.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from penstock.config import thread_count
from penstock.errors import FormatError, PenstockError
from penstock.parallel import ordered_map
from penstock.process import retain_freed_memory
from penstock.progress import Progress, Silent
from penstock.store.catalog import FILE_NAME, Catalog, DirectionStats, FileRecord, read_catalog
from penstock.store.check_index import (
    degree_problems,
    id_problems,
    order_problems,
    string_problems,
    table_problems,
)
from penstock.store.check_pages import PageChecker, PageFacts
from penstock.store.contents import PART_FILE, stripe_name
from penstock.store.direct import open_direct, page_buffer, read_at
from penstock.store.first_use import file_problem
from penstock.store.index_files import load_index
from penstock.store.layout import PAGE_TABLE_DTYPE
from penstock.store.paged import check_stripe
from penstock.store.part import read_part, stripe_list, stripes_there
from penstock.types import U8, VID, Array, Direction

#: Problems that are listed; further ones are counted.
MAX_PROBLEMS = 100
#: Freed memory that is kept: the arrays of a page are taken and freed thousands of times.
_KEPT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was written."""

    #: The file, and within it the page.
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What checking a graph found."""

    problems: tuple[Problem, ...]
    #: Problems found beyond those that are listed.
    unlisted: int
    pages: int
    #: Bytes read and compared with a checksum, index files included.
    bytes: int
    #: Edges looked at, in both directions.
    edges: int
    seconds: float
    #: What is worth knowing and is no damage.
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def check_graph(
    path: str | os.PathLike[str], *, threads: int | None = None, progress: Progress | None = None
) -> CheckReport:
    """Check every byte of a graph directory; returns what is wrong rather than raising it."""
    started = time.perf_counter()
    retain_freed_memory(_KEPT_BYTES)
    check = _Check(Path(path), thread_count(threads), progress or Silent())
    check.run()
    if check.unlisted:
        note = f"{check.unlisted:,} further problems are not listed"
        check.problems.append(Problem(str(path), note))
    return CheckReport(
        tuple(check.problems), check.unlisted, check.pages, check.bytes, check.edges,
        time.perf_counter() - started, tuple(check.notes),
    )  # fmt: skip


@dataclass(slots=True)
class _Totals:
    """What the pages of one direction add up to, if all of them could be read."""

    complete: bool = True
    pages: int = 0
    edges: int = 0
    total: int = 0
    loops: int = 0
    used: int = 0

    def add(self, facts: PageFacts) -> None:
        self.pages += 1
        self.complete &= facts.decoded
        self.edges += facts.num_edges
        self.total = (self.total + facts.total) % (1 << 64)
        self.loops += facts.num_loops
        self.used += facts.used_bytes


class _Check:
    """One check under way."""

    def __init__(self, folder: Path, threads: int, progress: Progress) -> None:
        self._folder = folder
        self._threads = threads
        self._progress = progress
        self.problems: list[Problem] = []
        self.unlisted = self.pages = self.bytes = self.edges = 0
        self.notes: list[str] = []
        #: The stripes that must be there; others of a part of a graph are elsewhere.
        self._expected: set[int] = set()
        #: Index files whose bytes are as they were written.
        self._good: set[str] = set()

    def _found(self, where: object, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(str(where), what))
        else:
            self.unlisted += 1

    def _caught(self, where: object, error: Exception) -> None:
        place, colon, what = str(error).partition(": ")
        if colon and place.startswith(str(where)):
            self._found(place, what)
        else:
            self._found(where, str(error))

    def run(self) -> None:
        """Everything, from the catalog down."""
        where = self._folder / FILE_NAME
        try:
            catalog = read_catalog(self._folder)
            self.bytes += where.stat().st_size
        except PenstockError as error:
            self._caught(where, error)
            return
        self._find_stripes(catalog)
        for k in sorted(self._expected):
            folder = self._folder / stripe_name(k)
            try:
                check_stripe(folder, k, catalog)
            except PenstockError as error:
                self._caught(folder, error)
        self._files(catalog)
        totals = {name: self._direction(catalog, name) for name in catalog.directions}
        for what in _count_problems(catalog, totals):
            self._found(where, what)
        self._ids(catalog)

    def _find_stripes(self, catalog: Catalog) -> None:
        everything = range(catalog.num_stripes)
        self._expected = set(everything)
        try:
            part = read_part(self._folder, catalog)
        except PenstockError as error:
            self._caught(self._folder / PART_FILE, error)
            return
        if part is not None:
            self._expected = {*part.stripes, *stripes_there(self._folder, catalog)}
            others = [k for k in everything if k not in self._expected]
            if others:
                self.notes.append(
                    f"{self._folder}: is a part of a graph: not checked are stripes "
                    f"{stripe_list(others)} of {catalog.num_stripes}, which are elsewhere, and "
                    "what takes all pages to tell"
                )

    # Index files

    def _files(self, catalog: Catalog) -> None:
        total = sum(record.bytes for record in catalog.files.values())
        self._progress.start("checking index files", total, "bytes")

        def digest(item: tuple[str, FileRecord]) -> tuple[str, str | None, int]:
            name, record = item
            return name, *file_problem(self._folder / name, record, direct=True)

        for name, what, size in ordered_map(digest, catalog.files.items(), self._threads):
            self.bytes += size
            self._progress.advance(size)
            if what is None:
                self._good.add(name)
            else:
                self._found(self._folder / name, what)

    def _load(self, name: str, length: int, *dtypes: np.dtype[Any]) -> Array | None:
        """An index array, if its file is good and it is what it should be."""
        path = self._folder / name
        if name not in self._good:
            return None
        try:
            array = load_index(path)
        except PenstockError as error:
            self._caught(path, error)
            return None
        if array.shape != (length,) or array.dtype not in dtypes:
            self._found(path, f"is {array.dtype} {array.shape}, expected {dtypes[0]} ({length},)")
            return None
        return array

    def _ids(self, catalog: Catalog) -> None:
        self._progress.start("checking ids", catalog.num_vertices, "vertices")
        name, length = catalog.ids.file, catalog.num_vertices
        found: list[str] = []
        if catalog.ids.kind == "string" and name is not None and name in self._good:
            found = string_problems(self._folder / name, length)
        elif catalog.ids.kind == "int" and name is not None:
            ids = self._load(name, length, np.dtype("<i8"), np.dtype("<u8"))
            found = [] if ids is None else id_problems(ids)
        for what in found:
            self._found(self._folder / str(name), what)
        if catalog.order_file is not None:
            order = self._load(catalog.order_file, length, VID)
            for what in [] if order is None else order_problems(order):
                self._found(self._folder / catalog.order_file, what)
        self._progress.advance(length)

    # Pages

    def _direction(self, catalog: Catalog, direction: Direction) -> _Totals:
        stats = catalog.directions[direction]
        table_path = self._folder / f"{direction}.pages.npy"
        table = self._load(table_path.name, stats.num_pages, PAGE_TABLE_DTYPE)
        if table is not None:
            table = np.array(table)
            wrong = table_problems(table, stats, catalog.num_vertices)
            for what in wrong:
                self._found(table_path, what)
            if wrong:
                table = None
        degrees_path = self._folder / f"{direction}.degrees.npy"
        degrees = self._load(degrees_path.name, catalog.num_vertices, VID)
        if degrees is not None:
            for what in degree_problems(degrees, table, stats):
                self._found(degrees_path, what)
        checker = PageChecker(catalog, direction, table, degrees)
        totals = _Totals()
        with ExitStack() as stack:
            files = self._open_pages(catalog, direction, stack)
            self._walk(catalog, files, checker, table, totals)
        totals.complete &= totals.pages == stats.num_pages
        self.pages += totals.pages
        self.edges += totals.edges
        if totals.complete and totals.used != stats.used_bytes:
            what = (
                f"{direction}: used_bytes is {stats.used_bytes:,}, the pages have {totals.used:,}"
            )
            self._found(self._folder / FILE_NAME, what)
        return totals

    def _open_pages(
        self, catalog: Catalog, direction: Direction, stack: ExitStack
    ) -> list[tuple[Path, int, int]]:
        """Path, descriptor and number of whole pages of each stripe's file; -1 and 0 if absent."""
        files = []
        stripes = catalog.num_stripes
        for k in range(stripes):
            path = self._folder / stripe_name(k) / f"{direction}.pages"
            if k not in self._expected:
                files.append((path, -1, 0))
                continue
            pages = (catalog.directions[direction].num_pages - k + stripes - 1) // stripes
            try:
                fd = open_direct(path, catalog.page_bytes)
                stack.callback(os.close, fd)
                size = os.fstat(fd).st_size
            except (OSError, FormatError) as error:
                if isinstance(error, FormatError):
                    self._caught(path, error)
                else:
                    self._found(path, f"cannot be opened ({error.strerror}); restore its stripe")
                files.append((path, -1, 0))
                continue
            if size != pages * catalog.page_bytes:
                expected = pages * catalog.page_bytes
                self._found(
                    path,
                    f"is {size:,} bytes, expected {expected:,} ({pages:,} pages of "
                    f"{catalog.page_bytes:,})",
                )
            files.append((path, fd, min(pages, size // catalog.page_bytes)))
        return files

    def _walk(
        self, catalog: Catalog, files: list[tuple[Path, int, int]], checker: PageChecker,
        table: Array | None, totals: _Totals,
    ) -> None:  # fmt: skip
        """Check every page there is, several at a time, and add up what they say in order."""
        stripes, size = catalog.num_stripes, catalog.page_bytes
        buffers: SimpleQueue[U8] = SimpleQueue()
        # Twice as many as cores: while some wait for the disk, others compute.
        workers = 2 * self._threads
        for _ in range(workers):
            buffers.put(page_buffer(size))

        def check(page_id: int) -> tuple[int, PageFacts]:
            buffer = buffers.get()
            try:
                got = read_at(files[page_id % stripes][1], page_id // stripes * size, buffer)
                if got < size:
                    return page_id, PageFacts((f"ends after {got:,} bytes",))
                return page_id, checker.check(buffer, page_id)
            except OSError as error:
                return page_id, PageFacts((f"cannot be read: {error.strerror}",))
            finally:
                buffers.put(buffer)

        present = sum(pages for _, _, pages in files)
        self._progress.start(f"checking {files[0][0].stem}-pages", present * size, "bytes")
        last = before = -1
        for page_id, facts in ordered_map(check, _page_ids(files), workers, 16 * workers):
            where = f"{files[page_id % stripes][0]}: page {page_id}"
            for what in facts.problems:
                self._found(where, what)
            in_run = table is not None and table["run"][page_id] > 0 and facts.decoded
            if (
                in_run
                and page_id == before + 1
                and last >= 0
                and checker.step >= 0
                and facts.first < last + checker.step
            ):
                self._found(where, "its list does not go on from the page before")
            last, before = facts.last, page_id
            totals.add(facts)
            self.bytes += size
            self._progress.advance(size)


def _page_ids(files: list[tuple[Path, int, int]]) -> Iterator[int]:
    """The pages that are wholly there, in order."""
    stripes = len(files)
    for page_id in range(stripes * max(pages for _, _, pages in files)):
        if page_id // stripes < files[page_id % stripes][2]:
            yield page_id


def _count_problems(catalog: Catalog, totals: dict[Direction, _Totals]) -> Iterator[str]:
    """Whether the directions agree with each other and with the number of edges."""
    for direction, stats in catalog.directions.items():
        yield from _edge_count_problems(catalog, direction, stats, totals[direction])
    if not all(each.complete for each in totals.values()):
        return
    if not catalog.directed:
        if totals["out"].total != 0:
            yield "an undirected edge is in the list of one of its ends only, or with other columns"
    elif len(totals) == 2 and totals["out"].total != totals["in"].total:
        yield "the out-lists and the in-lists do not hold the same edges"


def _edge_count_problems(
    catalog: Catalog, direction: Direction, stats: DirectionStats, totals: _Totals
) -> Iterator[str]:
    if catalog.directed:
        if stats.num_edges != catalog.num_edges:
            yield (
                f"num_edges is {catalog.num_edges:,}, but the {direction}-lists have "
                f"{stats.num_edges:,}"
            )
    elif totals.complete and stats.num_edges + totals.loops != 2 * catalog.num_edges:
        yield (
            f"num_edges is {catalog.num_edges:,}, but the lists have {stats.num_edges:,} entries, "
            f"{totals.loops:,} of them self-loops"
        )

"""The directory of a part of a graph while it is being written.

Pages and index files arrive in pieces, in any order, and go into the hidden folder
``.NAME.dealing`` beside the target, which gets its name when everything is there. What has arrived
stays if the work is broken off: each page carries its checksum, tag and number, so that it can be
told from what is missing, and the catalog has the checksums of index files.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np

from penstock.errors import (
    CorruptionError,
    FormatError,
    InputNotFoundError,
    PenstockError,
    TargetExistsError,
)
from penstock.files import read_regular, write_error
from penstock.parallel import ordered_map
from penstock.store.banded import CODE as BANDED
from penstock.store.catalog import FILE_NAME, Catalog, read_catalog
from penstock.store.contents import PART_FILE, is_folder, is_graph, stripe_name
from penstock.store.direct import open_direct, page_buffer, read_at
from penstock.store.first_use import file_problem
from penstock.store.page import PageHeader, check_page
from penstock.store.part import Part, read_part, stripes_there
from penstock.store.publish import drop_lock, swap, sync_file, sync_folder, take_lock, write_synced
from penstock.store.slotted import CODE as SLOTTED
from penstock.types import I64, U8, Direction

#: What to do after an error.
ADVICE = "deal again: what has arrived is kept"


class PartFolder:
    """One part being written; a context manager, under the lock of its target.

    Raises a TargetExistsError if something else is there.
    """

    def __init__(self, target: Path, catalog: Catalog, part: Part) -> None:
        self.target = target.absolute()
        self.catalog = catalog
        self.part = part
        self._hidden = self.target.parent / f".{target.name}.dealing"
        self._lock_file = self.target.parent / f".{target.name}.lock"
        self._lock: int | None = None
        self._fds: dict[Path, int] = {}
        #: Whether the target is the graph itself, whole: there is nothing to do then.
        self.whole = False
        #: Whether the part was complete once, and only lacks stripes that it has lost since.
        self.repairs = False
        #: The stripes that are to arrive.
        self.stripes: tuple[int, ...] = part.stripes

    def __enter__(self) -> PartFolder:
        parent = self.target.parent
        if not parent.is_dir():
            raise InputNotFoundError(f"{parent}: no such directory to put a part of the graph in")
        try:
            self._lock = take_lock(self._lock_file, self.target)
            self._look()
            if not self.done:
                self._make()
        except OSError as error:
            self._leave()
            raise write_error(error, self.target, ADVICE) from error
        except BaseException:
            self._leave()
            raise
        return self

    @property
    def done(self) -> bool:
        """Whether nothing is to arrive."""
        return self.whole or (self.repairs and not self.stripes)

    def _look(self) -> None:
        """What is under the name of the target already."""
        if not os.path.lexists(self.target):
            return
        if not is_graph(self.target):
            raise TargetExistsError(
                f"{self.target}: exists and is not a graph; choose another name"
            )
        catalog = read_catalog(self.target)
        if catalog.tag != self.catalog.tag:
            raise TargetExistsError(
                f"{self.target}: is another graph; choose another name, or remove it"
            )
        found = read_part(self.target, catalog)
        if found is None:
            self.whole, self.stripes = True, ()
        elif found == self.part:
            self.repairs = True
            there = stripes_there(self.target, catalog)
            self.stripes = tuple(k for k in self.part.stripes if k not in there)
        else:
            raise TargetExistsError(
                f"{self.target}: is a part of this graph from another dealing, to "
                f"{', '.join(found.places)}; choose another name, or remove it"
            )

    def _make(self) -> None:
        text = self.part.to_json()
        if is_folder(self._hidden) and not self._is_marked(text):
            shutil.rmtree(self._hidden)
        if not is_folder(self._hidden):
            self._hidden.mkdir()
            write_synced(self._hidden / PART_FILE, text)
        for k in self.stripes:
            (self._hidden / stripe_name(k)).mkdir(exist_ok=True)

    def _is_marked(self, text: str) -> bool:
        try:
            return read_regular(self._hidden / PART_FILE) == text.encode()
        except (OSError, FormatError):
            return False

    # What is missing

    def free_bytes(self) -> int:
        """Room on the disk."""
        return shutil.disk_usage(self.target.parent).free

    def missing_files(self) -> list[str]:
        """The index files that are not there, or not as they should be."""
        if self.done or self.repairs:
            return []
        found = []
        for name, record in self.catalog.files.items():
            problem, _ = file_problem(self._hidden / name, record, direct=True)
            if problem is not None:
                found.append(name)
        return found

    def missing_pages(self, direction: Direction, threads: int = 1) -> I64:
        """The pages that are not there, or not as they should be, ascending. Every byte is read,
        from the disk itself.
        """
        wanted = self._pages(direction)
        for stripe in self.stripes:
            with suppress(FileNotFoundError):
                sync_file(self._page_file(direction, stripe))
        buffers = [page_buffer(self.catalog.page_bytes) for _ in range(2 * threads)]
        fds: dict[int, int] = {}
        try:
            for stripe in self.stripes:
                with suppress(FileNotFoundError):
                    path = self._page_file(direction, stripe)
                    fds[stripe] = open_direct(path, self.catalog.page_bytes)

            def is_missing(page: int) -> bool:
                fd = fds.get(page % self.catalog.num_stripes)
                if fd is None:
                    return True
                buffer = buffers.pop()
                try:
                    whole = read_at(fd, self._offset(page), buffer) == len(buffer)
                    return not whole or self.problem(direction, page, buffer) is not None
                finally:
                    buffers.append(buffer)

            answers = list(ordered_map(is_missing, wanted.tolist(), threads))
        finally:
            for fd in fds.values():
                os.close(fd)
        missing: I64 = wanted[np.array(answers, bool)]
        return missing

    def _pages(self, direction: Direction) -> I64:
        stripes, count = self.catalog.num_stripes, self.catalog.directions[direction].num_pages
        pages = [np.arange(k, count, stripes, dtype=np.int64) for k in self.stripes]
        return np.sort(np.concatenate([np.empty(0, np.int64), *pages]))

    def problem(self, direction: Direction, page: int, data: U8) -> str | None:
        """What is wrong with a page that has arrived."""
        code = {"slotted": SLOTTED, "banded": BANDED}[self.catalog.layout]
        try:
            check_page(data, "page")
            PageHeader.read(data, "page").check_place(
                "page", layout=code, direction=direction, tag=self.catalog.tag, page_id=page
            )
        except CorruptionError as error:
            return str(error)
        return None

    # What arrives

    def take_page(self, direction: Direction, page: int, data: U8) -> bool:
        """Write a page; False if it is not what it should be, and is refused."""
        if len(data) != self.catalog.page_bytes or self.problem(direction, page, data) is not None:
            return False
        path = self._page_file(direction, page % self.catalog.num_stripes)
        self._write(path, self._offset(page), data)
        return True

    def take_piece(self, name: str, offset: int, data: U8) -> None:
        """Write a piece of an index file. The whole is checked when nothing more is to come."""
        self._write(self._hidden / name, offset, data)

    def _write(self, path: Path, offset: int, data: U8) -> None:
        try:
            if path not in self._fds:
                flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                self._fds[path] = os.open(path, flags, 0o644)
            view = np.ascontiguousarray(data).view(np.uint8).data
            while view:
                count = os.pwrite(self._fds[path], view, offset)
                offset, view = offset + count, view[count:]
        except OSError as error:
            raise write_error(error, path, ADVICE) from error

    def _page_file(self, direction: Direction, stripe: int) -> Path:
        return self._hidden / stripe_name(stripe) / f"{direction}.pages"

    def _offset(self, page: int) -> int:
        return page // self.catalog.num_stripes * self.catalog.page_bytes

    # The end

    def commit(self) -> None:
        """Let the part appear under its name. Everything must be there."""
        if self.done:
            return
        try:
            self._complete()
        except OSError as error:
            if isinstance(error, PenstockError):
                raise
            raise write_error(error, self.target, ADVICE) from error

    def _complete(self) -> None:
        self._close()
        catalog = self.catalog
        for k in self.stripes:
            for direction, stats in catalog.directions.items():
                pages = len(range(k, stats.num_pages, catalog.num_stripes))
                path = self._page_file(direction, k)
                path.touch()
                os.truncate(path, pages * catalog.page_bytes)
                sync_file(path)
            write_synced(self._hidden / stripe_name(k) / "stripe.json", catalog.stripe_text(k))
            sync_folder(self._hidden / stripe_name(k))
        if self.repairs:
            self._put_back()
            return
        for name in catalog.files:
            sync_file(self._hidden / name)
        write_synced(self._hidden / FILE_NAME, catalog.to_json())
        sync_folder(self._hidden)
        self._hidden.rename(self.target)
        sync_folder(self.target.parent)

    def _put_back(self) -> None:
        """Add stripes to a part that has lost them."""
        for k in self.stripes:
            new, old = self._hidden / stripe_name(k), self.target / stripe_name(k)
            if os.path.lexists(old):
                swap(new, old, self._hidden / f"{stripe_name(k)}.old")
            else:
                new.rename(old)
        sync_folder(self.target)
        shutil.rmtree(self._hidden)

    def _close(self) -> None:
        while self._fds:
            os.close(self._fds.popitem()[1])

    def _leave(self) -> None:
        self._close()
        if self._lock is not None:
            drop_lock(self._lock, self._lock_file)
            self._lock = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

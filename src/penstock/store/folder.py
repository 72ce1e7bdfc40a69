"""The directory of a graph while it is being written: locked, hidden, and then there at once.

Everything is written to ``.NAME.building`` beside the target (and beside each further stripe's
folder), synced, and renamed when it is complete. A process that dies leaves only such a folder,
which never opens as a graph and which the next build of the same target clears away.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from penstock.config import format_bytes
from penstock.errors import (
    DiskSpaceError,
    InputNotFoundError,
    LockedError,
    OptionError,
    PenstockError,
    TargetExistsError,
)
from penstock.store.catalog import FILE_NAME, Catalog, FileRecord
from penstock.store.page import checksum
from penstock.store.packer import FileSink
from penstock.types import Array, Direction

if TYPE_CHECKING:
    from penstock.store.graph import Graph


def stripe_name(stripe: int) -> str:
    """The folder of a stripe inside the graph directory (or a link of that name)."""
    return f"stripe.{stripe}"


class GraphFolder:
    """Builds a graph directory; use as a context manager, and call :meth:`commit` at the end."""

    def __init__(
        self, target: str | os.PathLike[str], stripes: tuple[Path, ...] = (), *, overwrite: bool
    ) -> None:
        self.target = Path(target).absolute()
        self._overwrite = overwrite
        self._building = self.target.parent / f".{self.target.name}.building"
        #: Folders of the stripes beyond the first: where they are built and where they will be.
        self._far = [
            (root / f".{self.target.name}.stripe.{k}.building", root / f"{self.target.name}.stripe.{k}")
            for k, root in enumerate((Path(s).absolute() for s in stripes), 1)
        ]
        self._lock: int | None = None
        self._files: list[str] = []
        self._open: list[IO[bytes] | FileSink] = []
        self._elsewhere: Path | None = None
        self.committed = False

    @property
    def num_stripes(self) -> int:
        """How many stripes pages are dealt out to."""
        return 1 + len(self._far)

    def __enter__(self) -> GraphFolder:
        parent = self.target.parent
        if not parent.is_dir():
            raise InputNotFoundError(f"{parent}: no such directory to put the graph in")
        for folder, _ in self._far:
            if not folder.parent.is_dir():
                raise InputNotFoundError(f"{folder.parent}: no such directory for a stripe")
        self._check_target()
        try:
            self._building.mkdir(exist_ok=True)
            self._lock = os.open(self._building / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except PermissionError as error:
            raise OptionError(f"{parent}: no permission to write there: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = (self._building / "lock").read_text().strip() or "unknown"
            os.close(self._lock)
            self._lock = None
            raise LockedError(
                f"{self.target}: is being built by another process (pid {owner}); "
                "wait for it or choose another target"
            ) from None
        os.truncate(self._lock, 0)
        os.write(self._lock, str(os.getpid()).encode())
        self._clear(keep_lock=True)
        for k in range(self.num_stripes):
            self.stripe_folder(k).mkdir()
        (self._building / "tmp").mkdir()
        return self

    def _check_target(self) -> None:
        if not os.path.lexists(self.target):
            return
        if not self._overwrite:
            raise TargetExistsError(
                f"{self.target}: already exists; choose another name or pass overwrite=True "
                "(--overwrite)"
            )
        if not (self.target / FILE_NAME).is_file():
            raise TargetExistsError(
                f"{self.target}: exists and is not a graph; it is not overwritten: remove it yourself"
            )

    @property
    def scratch(self) -> Path:
        """A folder for temporary files."""
        return self._building / "tmp"

    def stripe_folder(self, stripe: int) -> Path:
        """Where a stripe's page files are being written."""
        if stripe == 0:
            return self._building / stripe_name(0)
        return self._far[stripe - 1][0]

    def page_files(self, direction: str) -> list[Path]:
        """The page files of a direction, in stripe order."""
        return [self.stripe_folder(k) / f"{direction}.pages" for k in range(self.num_stripes)]

    def index_file(self, name: str) -> Path:
        """Where an index file is to be written; it is checksummed when the graph is complete."""
        if name not in self._files:
            self._files.append(name)
        return self._building / name

    def save(self, name: str, array: Array) -> None:
        """Write an index array."""
        np.save(self.index_file(name), array, allow_pickle=False)

    def copy_index(self, name: str, graph: Graph) -> None:
        """Take over an index file of another graph."""
        if graph.path is None:
            raise ValueError("the graph has no files")
        shutil.copyfile(graph.path / name, self.index_file(name))

    def scratch_in(self, folder: Path) -> Path:
        """A folder for temporary files somewhere else; it goes when this one does."""
        if not folder.is_dir():
            raise InputNotFoundError(f"{folder}: no such directory for temporary files")
        self._elsewhere = Path(tempfile.mkdtemp(prefix="penstock-", dir=folder))
        return self._elsewhere

    def array_writer(self, name: str, dtype: DTypeLike, length: int) -> Callable[[Array], None]:
        """Write an index array a part at a time, in order."""
        file = self.index_file(name).open("wb")
        self._open.append(file)
        kind = np.dtype(dtype)
        header = {"descr": kind.str, "fortran_order": False, "shape": (length,)}
        np.lib.format.write_array_header_1_0(file, header)
        return lambda part: file.write(part.astype(kind, copy=False).tobytes()) and None

    def page_sink(self, direction: Direction) -> FileSink:
        """Where the pages of a direction go."""
        sink = FileSink(self.page_files(direction))
        self._open.append(sink)
        return sink

    def commit(self, catalog: Catalog) -> Catalog:
        """Make the graph appear under its name, all at once."""
        self._close(sync=True)
        records = {name: file_record(self._building / name) for name in self._files}
        catalog = catalog.with_files(records)
        for k in range(self.num_stripes):
            text = json.dumps(
                {"tag": f"{catalog.tag:016x}", "stripe": k, "of": self.num_stripes}
            )
            _write_synced(self.stripe_folder(k) / "stripe.json", text + "\n")
            _sync_folder(self.stripe_folder(k))
        shutil.rmtree(self.scratch)
        for k, (built, final) in enumerate(self._far, 1):
            if final.exists():
                shutil.rmtree(final)
            built.rename(final)
            _sync_folder(final.parent)
            (self._building / stripe_name(k)).symlink_to(final)
        _write_synced(self._building / FILE_NAME, catalog.to_json())
        (self._building / "lock").unlink()
        _sync_folder(self._building)
        self._publish()
        self.committed = True
        return catalog

    def _close(self, *, sync: bool) -> None:
        for each in self._open:
            if isinstance(each, FileSink):
                each.close(sync=sync)
            else:
                each.close()
        self._open = []

    def _publish(self) -> None:
        if os.path.lexists(self.target):
            self._check_target()
            old = self.target.parent / f".{self.target.name}.old"
            if old.exists():
                shutil.rmtree(old)
            self.target.rename(old)
            self._building.rename(self.target)
            shutil.rmtree(old)
        else:
            self._building.rename(self.target)
        _sync_folder(self.target.parent)

    def _clear(self, *, keep_lock: bool) -> None:
        for folder, _ in self._far:
            shutil.rmtree(folder, ignore_errors=True)
        for entry in self._building.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            elif not (keep_lock and entry.name == "lock"):
                entry.unlink(missing_ok=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close(sync=False)
        if self._elsewhere is not None:
            shutil.rmtree(self._elsewhere, ignore_errors=True)
        if not self.committed and self._lock is not None:
            self._clear(keep_lock=False)
            self._building.rmdir()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if isinstance(error, OSError) and not isinstance(error, PenstockError):
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskSpaceError(
                    f"{error.filename or self.target}: the disk is full; nothing was left behind. "
                    "Free some space, or put temporary files elsewhere with tmpdir= (--tmpdir)"
                ) from error


def file_record(path: Path) -> FileRecord:
    """Size and checksum of a file, which is synced on the way."""
    import xxhash

    digest = xxhash.xxh3_64()
    size = 0
    with path.open("rb") as file:
        while block := file.read(4 << 20):
            digest.update(block)
            size += len(block)
        os.fsync(file.fileno())
    return FileRecord(size, digest.hexdigest())


def check_space(folder: Path, needed: int, what: str) -> None:
    """Raise if a disk has less than ``needed`` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DiskSpaceError(
            f"{folder}: {what} needs about {format_bytes(needed)}, and {format_bytes(free)} are "
            "free; free some space or choose another disk with tmpdir= (--tmpdir)"
        )


def _write_synced(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

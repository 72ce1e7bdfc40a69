"""The directory of a graph while it is being written: locked, hidden, and then there at once.

Everything is written to ``.NAME.building`` beside the target, synced, and renamed when it is
complete. Stripes that live elsewhere have folders with names of their own, which links in
``.NAME.building`` lead to from the beginning. A process that dies leaves only what these links and
this folder hold, which never opens as a graph and which the next build of the same target removes.
Outside these folders nothing is removed but what carries the proof of ``far``.
"""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

import numpy as np
import xxhash
from numpy.typing import DTypeLike

from penstock.config import format_bytes
from penstock.errors import (
    AccessError,
    DiskSpaceError,
    InputNotFoundError,
    OptionError,
    PenstockError,
    TargetExistsError,
)
from penstock.progress import Progress, Silent
from penstock.store.catalog import FILE_NAME, Catalog, FileRecord
from penstock.store.contents import (
    contents,
    foreign_names,
    is_folder,
    is_graph,
    is_stripe_name,
    stripe_name,
)
from penstock.store.far import (
    SCRATCH_LINK,
    SCRATCH_NAME,
    STRIPE_FILES,
    TOKEN_FILE,
    digits_of,
    make_far,
    quoted,
    read_proof,
    remove_far,
    sync_proofs,
    write_token,
)
from penstock.store.packer import FileSink
from penstock.store.publish import drop_lock, swap, sync_folder, take_lock, write_synced
from penstock.types import Array, Direction

if TYPE_CHECKING:
    from penstock.store.paged import PagedGraph


class GraphFolder:
    """Builds a graph directory; use as a context manager, and call :meth:`commit` at the end."""

    def __init__(
        self,
        target: str | os.PathLike[str],
        stripes: tuple[Path, ...] = (),
        *,
        overwrite: bool,
        progress: Progress | None = None,
    ) -> None:
        given = Path(target)
        self.target = given.resolve() if given.is_symlink() else given.absolute()
        name = self.target.name
        self._overwrite = overwrite
        self._building = self.target.parent / f".{name}.building"
        self._replaced = self.target.parent / f".{name}.old"
        self._lock_file = self.target.parent / f".{name}.lock"
        self._progress = progress or Silent()
        self._roots = [Path(root).absolute() for root in stripes]
        #: Folders of the stripes beyond the first; no other graph has any of the same name.
        self._far: list[Path] = []
        #: What folders elsewhere carry, to be known as this graph's.
        self._proof = ""
        self._lock: int | None = None
        self._files: list[str] = []
        self._open: list[IO[bytes] | FileSink] = []

    @property
    def num_stripes(self) -> int:
        """How many stripes pages are dealt out to."""
        return 1 + len(self._roots)

    def __enter__(self) -> GraphFolder:
        parent = self.target.parent
        if not parent.is_dir():
            raise InputNotFoundError(f"{parent}: no such directory to put the graph in")
        for root in self._roots:
            if not root.is_dir():
                raise InputNotFoundError(f"{root}: no such directory for a stripe")
        try:
            self._lock = take_lock(self._lock_file, self.target)
            self._clear()
            self._check_target()
            self._make_folders()
        except BaseException as error:
            self._leave()
            if isinstance(error, OSError) and not isinstance(error, PenstockError):
                raise _explained(error, self.target) or OptionError(
                    f"{error.filename or self.target}: cannot be made: {error.strerror}"
                ) from None
            raise
        return self

    def _make_folders(self) -> None:
        self._building.mkdir()
        self._proof = write_token(self._building)
        (self._building / stripe_name(0)).mkdir()
        for k, root in enumerate(self._roots, 1):
            folder = root / f"{self.target.name}.stripe.{k}.{digits_of(self._proof)}"
            (self._building / stripe_name(k)).symlink_to(folder)
            make_far(folder, self._proof, self.target)
            self._far.append(folder)
        self.scratch.mkdir()

    def _check_target(self) -> None:
        if not os.path.lexists(self.target):
            return
        if not self._overwrite:
            raise TargetExistsError(
                f"{self.target}: already exists; choose another name or pass overwrite=True "
                "(--overwrite)"
            )
        self._check_graph(self.target)

    def _check_graph(self, folder: Path) -> None:
        """Raise if a folder that is to be removed is not a graph, or holds anything else."""
        if not is_graph(folder):
            raise TargetExistsError(
                f"{folder}: exists and is not a graph{contents(folder)}; it is not overwritten: "
                "remove it yourself"
            )
        others = foreign_names(folder)
        if others:
            raise TargetExistsError(
                f"{folder}: holds files that are not the graph's ({quoted(others)}); it is not "
                "overwritten: move them elsewhere, or choose another name"
            )

    @property
    def scratch(self) -> Path:
        """A folder for temporary files."""
        return self._building / "tmp"

    def stripe_folder(self, stripe: int) -> Path:
        """Where a stripe's page files are being written."""
        if stripe == 0:
            return self._building / stripe_name(0)
        return self._far[stripe - 1]

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
        self.array_writer(name, array.dtype, len(array))(array)

    def copy_index(self, name: str, graph: PagedGraph) -> None:
        """Take over an index file of another graph."""
        if graph.files is None:
            raise ValueError("the graph has no files")
        shutil.copyfile(graph.files.checked(name), self.index_file(name))

    def scratch_in(self, folder: Path) -> Path:
        """A folder for temporary files somewhere else; it goes when this one does."""
        if not folder.is_dir():
            raise InputNotFoundError(f"{folder}: no such directory for temporary files")
        made = folder.absolute() / f"penstock-{digits_of(self._proof)}"
        (self._building / SCRATCH_LINK).symlink_to(made)
        make_far(made, self._proof, self.target, mode=0o700)
        inside = made / SCRATCH_NAME
        inside.mkdir()
        return inside

    def array_writer(self, name: str, dtype: DTypeLike, length: int) -> Callable[[Array], None]:
        """Write an index array a part at a time, in order."""
        file = self.index_file(name).open("wb")
        self._open.append(file)
        kind = np.dtype(dtype)
        header = {
            "descr": np.lib.format.dtype_to_descr(kind),
            "fortran_order": False,
            "shape": (length,),
        }
        np.lib.format.write_array_header_1_0(file, header)

        def append(part: Array) -> None:
            # Not np.save() nor tofile(), which say nothing useful of a full disk.
            file.write(np.ascontiguousarray(part, kind).view(np.uint8).data)

        return append

    def page_sink(self, direction: Direction) -> FileSink:
        """Where the pages of a direction go."""
        sink = FileSink(self.page_files(direction))
        self._open.append(sink)
        return sink

    def commit(self, catalog: Catalog) -> Catalog:
        """Make the graph appear under its name, all at once."""
        while self._open:
            each = self._open[-1]
            each.close(sync=True) if isinstance(each, FileSink) else each.close()
            self._open.pop()
        records = {name: file_record(self._building / name) for name in self._files}
        catalog = catalog.with_files(records)
        for k in range(self.num_stripes):
            write_synced(self.stripe_folder(k) / "stripe.json", catalog.stripe_text(k))
            sync_folder(self.stripe_folder(k))
        for folder in self._far:
            sync_folder(folder.parent)
        self._remove_elsewhere(self._building)
        with suppress(FileNotFoundError):
            (self._building / SCRATCH_LINK).unlink()
        shutil.rmtree(self.scratch)
        if self._far:
            sync_proofs(self._building, self._far)
        else:
            (self._building / TOKEN_FILE).unlink()
        write_synced(self._building / FILE_NAME, catalog.to_json())
        sync_folder(self._building)
        if os.path.lexists(self.target):
            self._check_target()
            swap(self._building, self.target, self._replaced)
        else:
            self._building.rename(self.target)
        sync_folder(self.target.parent)
        return catalog

    def _clear(self) -> None:
        """Remove what is being built, what a killed build left, and what has been replaced."""
        self._clear_building()
        if is_folder(self._replaced) and is_graph(self._replaced):
            if not os.path.lexists(self.target):
                self._replaced.rename(self.target)
                return
            self._check_graph(self._replaced)
            self._replaced.rename(self._building)
            self._clear_building()

    def _clear_building(self) -> None:
        if is_folder(self._building):
            self._remove_elsewhere(self._building)
            self._remove_stripes(self._building)
            shutil.rmtree(self._building, ignore_errors=True)

    def _remove_stripes(self, folder: Path) -> None:
        """Remove the stripes elsewhere that are proven to belong to a folder; tell of others."""
        proof = read_proof(folder)
        for entry in sorted(folder.iterdir()):
            if is_stripe_name(entry.name) and entry.is_symlink():
                far = Path(os.path.join(folder, os.readlink(entry)))
                reason = remove_far(far, proof, STRIPE_FILES)
                if reason is not None:
                    self._tell(
                        f"{far}: is left in place, though {self.target} no longer uses it: "
                        f"{reason}; remove it yourself if no other graph does"
                    )

    def _remove_elsewhere(self, folder: Path) -> None:
        """Remove the temporary files elsewhere of a build. A graph that is complete has none."""
        link = folder / SCRATCH_LINK
        if link.is_symlink() and not os.path.lexists(folder / FILE_NAME):
            far = Path(os.readlink(link))
            reason = remove_far(far, read_proof(folder), (), SCRATCH_NAME)
            if reason is not None:
                self._tell(f"{far}: temporary files are left in place: {reason}")

    def _tell(self, text: str) -> None:
        """A note; a warning if notes are ignored."""
        if type(self._progress) is Silent:
            warnings.warn(text, stacklevel=2)
        else:
            self._progress.note(text)

    def _leave(self) -> None:
        """Close everything and leave nothing behind but what has been committed."""
        for each in self._open:
            with suppress(OSError):
                each.close(sync=False) if isinstance(each, FileSink) else each.close()
        self._open = []
        if self._lock is not None:
            try:
                with suppress(OSError):
                    self._clear()
            finally:
                drop_lock(self._lock, self._lock_file)
                self._lock = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()
        if isinstance(error, OSError) and not isinstance(error, PenstockError):
            explained = _explained(error, self.target)
            if explained is not None:
                raise explained from error


def _explained(error: OSError, target: Path) -> PenstockError | None:
    """What the user is told of an error of the system, if there is more to say than it does."""
    where = error.filename or target
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskSpaceError(
            f"{where}: the disk is full; nothing was left behind. "
            "Free some space, or put temporary files elsewhere with tmpdir= (--tmpdir)"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessError(f"{where}: no permission: {error.strerror}; choose another place")
    return None


def file_record(path: Path) -> FileRecord:
    """Size and checksum of a file, which is synced on the way."""
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

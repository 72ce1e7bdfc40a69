"""The directory of a live graph: which files are the graph, and who may change them.

=====================  ============================================================================
``live.json``          what the graph is, and which of the files below are its own; see
                       ``folder_catalog``
``lock``               held by the one process that may change the graph; its number is in it
``log.G``              batches since compaction G; readers hold it (shared) while they need the
                       files of generation G
``base.G``             the static store of generation G; none before the first compaction
``vertex.K.G.npy``     vertex column K of the base's vertices
``reverse.G``          in-lists of base G that the writer made when it needed them; scratch
=====================  ============================================================================

A generation is written beside the one before it and becomes the graph when ``live.json`` is
replaced, which is one rename. Files of other generations are removed by the writer, after that or
when the graph is opened for writing the next time, as soon as no reader holds them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock.dynamic.disk import Disk, RealDisk, explained
from penstock.dynamic.folder_catalog import (
    FILE_NAME,
    BaseRecord,
    LiveCatalog,
    LiveSchema,
    read_live_catalog,
)
from penstock.dynamic.folder_files import decode_array, read_file, write_array, write_file
from penstock.dynamic.folder_locks import (
    LOCK_NAME,
    Hold,
    hold_for_writing,
    hold_shared,
    hold_to_remove,
)
from penstock.dynamic.log import Log, SyncPolicy
from penstock.dynamic.log_format import HEADER_BYTES
from penstock.dynamic.log_format import MAGIC as LOG_MAGIC
from penstock.dynamic.log_reader import LogReader, Position, Recovery, read_log
from penstock.errors import FormatError, InputNotFoundError, PenstockError, TargetExistsError
from penstock.files import read_regular
from penstock.store.catalog import FileRecord
from penstock.store.contents import foreign_names, is_folder
from penstock.store.far import quoted
from penstock.types import Array, IdKind
from penstock.version import __version__

_TEMPORARY_NAME = FILE_NAME + ".tmp"
#: What a writer may remove if it is not the graph's: these names, by their generation. A store that
#: is being built has the hidden ones.
_OURS = re.compile(
    r"(?:log\.(\d+)|base\.(\d+)|reverse\.(\d+)|vertex\.\d+\.(\d+)\.npy"
    r"|\.(?:base|reverse)\.(\d+)\.(?:building|old|lock))"
)


class LiveFolder:
    """The open directory of a live graph. Made by :meth:`create` and :meth:`open`; to be closed."""

    def __init__(
        self, path: Path, disk: Disk, catalog: LiveCatalog, hold: Hold, *, read_only: bool
    ) -> None:
        self.path = path
        self.catalog = catalog
        self.read_only = read_only
        self._disk = disk
        self._hold = hold

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        schema: LiveSchema,
        *,
        build: Callable[[Path], BaseRecord] | None = None,
        disk: Disk | None = None,
    ) -> LiveFolder:
        """Make the directory of a new graph, locked for writing. Until all of it is on the disk it
        does not open as a graph.

        Parameters
        ----------
        build
            Makes the first base, if the graph is not to be empty at first: a static store in the
            directory whose name it gets, synced.
        """
        folder = Path(path).absolute()
        disk = RealDisk() if disk is None else disk
        if not folder.parent.is_dir():
            raise InputNotFoundError(f"{folder.parent}: no such directory to put the graph in")
        catalog = LiveCatalog(_random_tag(), 0, schema, None, "log.0", _random_tag())
        made: LiveFolder | None = None
        is_new = not folder.exists()
        try:
            if is_new:
                disk.make_folder(folder)
            _check_free(folder)
            made = cls(folder, disk, catalog, hold_for_writing(folder), read_only=False)
            _check_free(folder)
            made.remove_leftovers(everything=True)
            if build is not None:
                catalog = replace(catalog, base=build(folder / "base.0"))
            Log.create(folder / catalog.log, catalog.log_tag, disk=disk).abandon()
            made._write_catalog(catalog)
            disk.sync_folder(folder.parent)
        except BaseException as error:
            if made is not None:
                made._undo_creation(is_new=is_new)
            if isinstance(error, OSError) and not isinstance(error, PenstockError):
                raise explained(error, folder, "no live graph was made") from error
            raise
        return made

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, read_only: bool = False, disk: Disk | None = None
    ) -> LiveFolder:
        """Open a graph's directory: for the one writer, or for one of many readers, who keep the
        generation that is there now until they open it again.
        """
        folder = Path(path).absolute()
        disk = RealDisk() if disk is None else disk
        catalog = read_live_catalog(folder, disk, write=not read_only)
        try:
            if read_only:
                hold, catalog = _hold_generation(folder, disk, catalog)
            else:
                hold = hold_for_writing(folder)
        except OSError as error:
            if isinstance(error, PenstockError):
                raise
            raise explained(error, folder, "the live graph cannot be opened") from error
        opened = cls(folder, disk, catalog, hold, read_only=read_only)
        try:
            if not read_only:
                # Another writer may have published before it gave up the lock.
                opened.catalog = read_live_catalog(folder, disk, write=True)
                opened.remove_leftovers()
                opened.remove_reverse()
            base = opened.base_path
            if base is not None and base.is_symlink():
                raise FormatError(f"{base}: is a symbolic link, expected a folder: refused")
            for name, record in opened.catalog.files.items():
                read_file(disk, folder / name, record)
        except BaseException:
            opened.close()
            raise
        return opened

    # The current generation

    @property
    def base_path(self) -> Path | None:
        """The static store, if there is one."""
        base = self.catalog.base
        return None if base is None else self.path / base.name

    def read_log(self, since: Position | None = None) -> LogReader:
        """The batches after the base, or after one that was read before."""
        return read_log(
            self.path / self.catalog.log, self.catalog.log_tag, disk=self._disk, since=since
        )

    def resume_log(self, recovery: Recovery, *, sync: SyncPolicy = "batch") -> Log:
        """Go on with the log, which has been read to its end."""
        self.check_writable()
        return Log.resume(recovery, self.catalog.log_tag, sync=sync, disk=self._disk)

    def vertex_column(self, index: int) -> Array:
        """The values of a vertex column for the base's vertices, in memory; no entries if none were
        saved.
        """
        dtype = self.catalog.schema.vertex_columns[index].dtype
        base = self.catalog.base
        if not self.catalog.files or base is None:
            return np.empty(0, dtype)
        name, record = list(self.catalog.files.items())[index]
        raw = read_file(self._disk, self.path / name, record)
        return decode_array(raw, self.path / name, dtype, base.num_vertices)

    def has_newer(self) -> bool:
        """Whether the graph was compacted since this was opened; a reader opens it again then."""
        return read_live_catalog(self.path, self._disk).generation != self.catalog.generation

    def hold(self) -> Hold:
        """Keep the files of the current generation until the hold is closed, whatever is published
        meanwhile: for a snapshot.
        """
        found = hold_shared(self.path / self.catalog.log)
        if found is None:
            raise InputNotFoundError(f"{self.path / self.catalog.log}: the log is missing")
        return found

    @property
    def reverse_path(self) -> Path:
        """Where a writer may put the in-lists of the base; they are removed with the generation,
        and when the graph is opened for writing again.
        """
        return self.path / f"reverse.{self.catalog.generation}"

    def remove_reverse(self) -> None:
        """Remove the in-lists that a writer made, unless a snapshot or a reader may need them."""
        if not is_folder(self.reverse_path) or not _is_ours(self.reverse_path):
            return
        hold = hold_to_remove(self.path / self.catalog.log)
        if hold is not None:
            try:
                self._disk.remove_folder(self.reverse_path)
            finally:
                hold.close()

    # The next generation

    @property
    def next_base_path(self) -> Path:
        """Where the base of the next generation is to be built."""
        return self.path / f"base.{self.catalog.generation + 1}"

    def next_log(self, sequence: int, *, sync: SyncPolicy = "batch") -> Log:
        """The log of the next generation; ``sequence`` is that of the last batch that is in the
        next base.
        """
        self.check_writable()
        path = self.path / f"log.{self.catalog.generation + 1}"
        try:
            self._disk.remove(path)
        except OSError as error:
            raise explained(error, path, "a compaction that failed left it") from error
        return Log.create(path, _random_tag(), after=sequence, sync=sync, disk=self._disk)

    def save_vertex_column(self, index: int, values: Array) -> dict[str, FileRecord]:
        """Write a vertex column of the next generation; returns its entry of ``files``."""
        self.check_writable()
        name = f"vertex.{index}.{self.catalog.generation + 1}.npy"
        dtype = self.catalog.schema.vertex_columns[index].dtype
        return {name: write_array(self._disk, self.path / name, values, dtype)}

    def publish(
        self,
        log: Log,
        *,
        base: BaseRecord,
        files: dict[str, FileRecord] | None = None,
        ids: IdKind | None = None,
    ) -> None:
        """Make the next generation the graph. Its log may hold batches already; files of the
        generation before stay until :meth:`remove_leftovers`. ``ids``: if they were not known yet.

        If this raises, the generation before is still the graph, unless the message says otherwise.
        """
        self.check_writable()
        log.flush()
        schema = self.catalog.schema
        self._write_catalog(
            replace(
                self.catalog,
                generation=self.catalog.generation + 1,
                schema=replace(schema, ids=schema.ids if ids is None else ids),
                base=base,
                log=log.path.name,
                log_tag=log.tag,
                files={} if files is None else files,
            )
        )

    def remove_leftovers(self, *, everything: bool = False) -> None:
        """Remove files of other generations that no reader holds, and of compactions that did not
        come to their end. Files that are not a graph's are left alone.
        """
        self.check_writable()
        current = -1 if everything else self.catalog.generation
        found: dict[int, list[str]] = {}
        for name in os.listdir(self.path):
            match = _OURS.fullmatch(name)
            if match is not None and _is_ours(self.path / name):
                found.setdefault(int(next(filter(None, match.groups()))), []).append(name)
        try:
            self._disk.remove(self.path / _TEMPORARY_NAME)
            for generation, names in found.items():
                if generation != current:
                    self._remove_generation(generation, names)
        except OSError as error:
            raise explained(error, self.path, "old files of the graph stay") from error

    def close(self) -> None:
        """Give up the lock; may be called again."""
        self._hold.close()

    def __enter__(self) -> LiveFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Inside

    def check_writable(self) -> None:
        """Raise if this is not the open directory of the one writer."""
        if self.read_only or self._hold.closed:
            state = "closed" if self._hold.closed else "open for reading only"
            raise PenstockError(f"{self.path}: the live graph is {state}")

    def _write_catalog(self, catalog: LiveCatalog) -> None:
        catalog = replace(catalog, written_by=f"penstock {__version__}")
        text = np.frombuffer(catalog.to_json().encode(), np.uint8)
        target, temporary = self.path / FILE_NAME, self.path / _TEMPORARY_NAME
        what = f"generation {catalog.generation} was not published"
        write_file(self._disk, temporary, [text], what)
        try:
            # The names of the files come before the one that makes them the graph.
            self._disk.sync_folder(self.path)
            self._disk.rename(temporary, target)
        except OSError as error:
            raise explained(error, target, what) from error
        self.catalog = catalog
        try:
            self._disk.sync_folder(self.path)
        except OSError as error:
            self.close()
            raise explained(
                error,
                target,
                f"generation {catalog.generation} was published, but after a loss of power it may "
                "be the one before: open the graph again",
            ) from error

    def _undo_creation(self, *, is_new: bool) -> None:
        with suppress(OSError, PenstockError):
            if not (self.path / FILE_NAME).exists():
                self.remove_leftovers(everything=True)
                self._disk.remove(self.path / LOCK_NAME)
                if is_new and not os.listdir(self.path):
                    self._disk.remove_folder(self.path)
        self.close()

    def _remove_generation(self, generation: int, names: list[str]) -> None:
        log = f"log.{generation}"
        hold = hold_to_remove(self.path / log) if log in names else None
        if hold is None and log in names:
            return
        try:
            for name in names:
                path = self.path / name
                remove = self._disk.remove_folder if is_folder(path) else self._disk.remove
                remove(path)
        finally:
            if hold is not None:
                hold.close()


def _random_tag() -> int:
    return int.from_bytes(os.urandom(8), "little")


def _check_free(folder: Path) -> None:
    """Raise if a new graph cannot be put there; what an interrupted creation left is fine."""
    if not folder.is_dir():
        raise TargetExistsError(f"{folder}: exists and is no directory; choose another name")
    names = set(os.listdir(folder))
    if FILE_NAME in names:
        raise TargetExistsError(f"{folder}: is a live graph already; open it or remove it")
    # A creation makes the lock first, and files of no generation but the first.
    rest = names - {LOCK_NAME, _TEMPORARY_NAME} if LOCK_NAME in names else names
    other = {name for name in rest if not _is_first(name) or not _is_ours(folder / name)}
    if other or (rest and LOCK_NAME not in names):
        raise TargetExistsError(
            f"{folder}: is not empty (it has {quoted(sorted(other or rest))}); choose another name"
        )


def _is_first(name: str) -> bool:
    """Whether the first generation has files of this name."""
    match = _OURS.fullmatch(name)
    return match is not None and int(next(filter(None, match.groups()))) == 0


def _is_ours(path: Path) -> bool:
    """Whether something has the content that its name, which is one of ours, promises. Others may
    have files named ``log.1``, too.
    """
    kind = path.name.partition(".")[0]
    if kind in ("base", "reverse"):
        return is_folder(path) and not foreign_names(path)
    if kind == "":  # a store that is being built
        return True
    try:
        begins = read_regular(path, HEADER_BYTES + 1)
    except (OSError, FormatError):
        return False
    # A log that never came to its first record may hold anything, but no more than a header.
    return kind != "log" or len(begins) <= HEADER_BYTES or begins[8:12] == LOG_MAGIC


def _hold_generation(folder: Path, disk: Disk, catalog: LiveCatalog) -> tuple[Hold, LiveCatalog]:
    """Hold the files of the current generation as a reader; returns its catalog too."""
    while True:
        hold = hold_shared(folder / catalog.log)
        now = read_live_catalog(folder, disk)
        if now.generation == catalog.generation:
            if hold is None:
                raise InputNotFoundError(f"{folder / catalog.log}: the log is missing; restore it")
            return hold, now
        if hold is not None:
            hold.close()
        catalog = now

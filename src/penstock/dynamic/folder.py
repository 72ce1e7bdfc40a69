"""The directory of a live graph: which files are the graph, and who may change them.

=====================  ============================================================================
``live.json``          what the graph is, and which of the files below are its own; see
                       ``folder_catalog``
``lock``               held by the one process that may change the graph; its number is in it
``log.G``              batches after ``base.G``; readers hold it (shared) while they need the files
                       of generation G
``base.G``             the static store of generation G; none before the first compaction
``vertex.K.G.npy``     vertex column K of the base's vertices
``reverse``            in-lists that the writer made when it needed them; scratch
=====================  ============================================================================

A compaction begins with the next log, ``log.G+1``: ``live.json`` is replaced by one that names both
logs, and batches go to the new one while ``base.G+1`` is written beside the old base. Then
``live.json`` is replaced again, by one that names the new base and the new log. Each time that is
one rename, and whatever was interrupted before it is not the graph. Files of other generations are
removed by the writer, after that or when the graph is opened for writing the next time, as soon as
no reader holds them.
"""

from __future__ import annotations

import os
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
    Holds,
    hold_for_writing,
    hold_shared,
    hold_to_remove,
)
from penstock.dynamic.folder_names import TEMPORARY_NAME, check_free, is_ours, number_of
from penstock.dynamic.folder_reverse import ReverseFolder
from penstock.dynamic.log import Log, SyncPolicy
from penstock.dynamic.log_chain import LogChain
from penstock.dynamic.log_reader import Recovery
from penstock.errors import FormatError, InputNotFoundError, PenstockError
from penstock.store.catalog import FileRecord
from penstock.store.contents import is_folder
from penstock.types import Array, IdKind
from penstock.version import __version__


class LiveFolder:
    """The open directory of a live graph. Made by :meth:`create` and :meth:`open`; to be closed."""

    def __init__(
        self, path: Path, disk: Disk, catalog: LiveCatalog, hold: Hold | Holds, *, read_only: bool
    ) -> None:
        self.path = path
        self.catalog = catalog
        self.read_only = read_only
        self.reverse = ReverseFolder(path)
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
            check_free(folder)
            made = cls(folder, disk, catalog, hold_for_writing(folder), read_only=False)
            check_free(folder)
            made.remove_leftovers(everything=True)
            if build is not None:
                catalog = replace(catalog, base=build(folder / "base.0"))
            Log.create(folder / catalog.log, catalog.log_tag, disk=disk).abandon()
            made._write_catalog(catalog, "generation 0 was not published")
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
        hold: Hold | Holds
        try:
            if read_only:
                hold, catalog = _hold_logs(folder, disk, catalog)
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
                opened.reverse.remove()
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

    def read_log(self, since: Recovery | None = None) -> LogChain:
        """The batches after the base, or after those that an earlier reading found."""
        logs = [(self.path / log.name, log.tag) for log in self.catalog.logs]
        return LogChain(logs, self._disk, since)

    def resume_log(self, recovery: Recovery, *, sync: SyncPolicy = "batch") -> Log:
        """Go on with the last log; all have been read to their end."""
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

    def catch_up(self) -> bool:
        """As a reader, know the logs that were begun since this was opened. False if the graph was
        compacted since: it has another base then, and is to be opened again.
        """
        hold, catalog = _hold_logs(self.path, self._disk, read_live_catalog(self.path, self._disk))
        if catalog.generation != self.catalog.generation:
            hold.close()
            return False
        self._hold.close()
        self._hold, self.catalog = hold, catalog
        return True

    def hold(self) -> Hold:
        """Keep the base and its columns until the hold is closed, whatever is published: for a
        snapshot, which has copies of everything else.
        """
        first = self.path / self.catalog.logs[0].name
        found = hold_shared(first)
        if found is None:
            raise InputNotFoundError(f"{first}: the log is missing")
        return found

    # The next generation

    def rotate(self, sequence: int, *, sync: SyncPolicy = "batch") -> Log:
        """Begin the next generation by its log, which follows those that are there: batches go to
        it from now on. ``sequence`` is that of the last batch, all of which are synced.

        If this raises, batches go on in the log before, unless the message says otherwise.
        """
        self.check_writable()
        path = self.path / f"log.{self.catalog.generation + len(self.catalog.logs)}"
        try:
            self._disk.remove(path)
        except OSError as error:
            raise explained(error, path, "a compaction that failed left it") from error
        log = Log.create(path, _random_tag(), after=sequence, sync=sync, disk=self._disk)
        try:
            self._write_catalog(
                replace(self.catalog, log=path.name, log_tag=log.tag, earlier=self.catalog.logs),
                f"{path.name} was not begun",
            )
        except BaseException:
            log.abandon()
            raise
        return log

    @property
    def _next_generation(self) -> int:
        if not self.catalog.earlier:
            raise ValueError("no log was begun for the next generation")
        return self.catalog.generation + len(self.catalog.earlier)

    @property
    def next_base_path(self) -> Path:
        """Where the base of the next generation is to be built, after :meth:`rotate`."""
        return self.path / f"base.{self._next_generation}"

    def save_vertex_column(self, index: int, values: Array) -> dict[str, FileRecord]:
        """Write a vertex column of the next generation; returns its entry of ``files``."""
        self.check_writable()
        name = f"vertex.{index}.{self._next_generation}.npy"
        dtype = self.catalog.schema.vertex_columns[index].dtype
        return {name: write_array(self._disk, self.path / name, values, dtype)}

    def publish(
        self,
        *,
        base: BaseRecord,
        files: dict[str, FileRecord] | None = None,
        ids: IdKind | None = None,
    ) -> None:
        """Make the next generation the graph: its base has all batches of all logs but the last.
        Files of the generation before stay until :meth:`remove_leftovers`. ``ids``: if they were
        not known yet.

        If this raises, the generation before is still the graph, unless the message says otherwise.
        """
        self.check_writable()
        schema, generation = self.catalog.schema, self._next_generation
        self._write_catalog(
            replace(
                self.catalog,
                generation=generation,
                schema=replace(schema, ids=schema.ids if ids is None else ids),
                base=base,
                files={} if files is None else files,
                earlier=(),
            ),
            f"generation {generation} was not published",
        )

    def remove_leftovers(self, *, everything: bool = False) -> None:
        """Remove files of other generations that no reader holds, and of compactions that did not
        come to their end. Files that are not a graph's are left alone.
        """
        self.check_writable()
        current = frozenset[str]() if everything else self.catalog.names
        found: dict[int, list[str]] = {}
        for name in os.listdir(self.path):
            number = number_of(name)
            if number is not None and name not in current and is_ours(self.path / name):
                found.setdefault(number, []).append(name)
        try:
            self._disk.remove(self.path / TEMPORARY_NAME)
            for generation, names in found.items():
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

    def _write_catalog(self, catalog: LiveCatalog, what: str) -> None:
        """Replace the catalog; ``what`` is said if that fails before the new one is there."""
        catalog = replace(catalog, written_by=f"penstock {__version__}")
        text = np.frombuffer(catalog.to_json().encode(), np.uint8)
        target, temporary = self.path / FILE_NAME, self.path / TEMPORARY_NAME
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
                "be what it was before: open the graph again",
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
        """Remove files of one number that are not the graph's. Readers hold those that ever were by
        their log; if it is not among them, it is the graph's, was removed already, or never made.
        """
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


def _hold_logs(folder: Path, disk: Disk, catalog: LiveCatalog) -> tuple[Holds, LiveCatalog]:
    """Hold all logs as a reader, and with them the files of the current generation; returns the
    catalog that names them, too.
    """
    while True:
        paths = [folder / log.name for log in catalog.logs]
        holds = [hold_shared(path) for path in paths]
        now = read_live_catalog(folder, disk)
        there = Holds([hold for hold in holds if hold is not None])
        if now.logs == catalog.logs and len(there) == len(paths):
            return there, now
        there.close()
        if now.logs == catalog.logs:
            missing = paths[holds.index(None)]
            raise InputNotFoundError(f"{missing}: the log is missing; restore it")
        catalog = now

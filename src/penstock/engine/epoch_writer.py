"""Saving the state of a run over hosts: each rank writes its own vertices, another rank keeps a
copy, and a manifest follows when all parts are there.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.config import format_bytes
from penstock.engine.checkpoint_file import Saved, StoredColumn, check_columns, write_state
from penstock.engine.engine import Engine
from penstock.engine.epoch_choice import copy_holders, whole_arrays
from penstock.engine.epoch_files import EpochFolder, Manifest, Name
from penstock.engine.ownership import Vertices
from penstock.engine.peers import Peers
from penstock.engine.scratch import InMemory
from penstock.errors import CorruptionError, DiskSpaceError, FormatError
from penstock.files import write_error
from penstock.store.packer import write_all
from penstock.types import Array

#: The vertices of a part. No field of a program has such a name.
BEGINS, ENDS = "begins'", "ends'"
#: Bytes of a part that are sent to its copy at a time.
COPY_BYTES = 4 << 20
#: The assumed size of all of a part but its arrays.
_DESCRIPTION_BYTES = 64 << 10
_ADVICE = "choose another folder with checkpoint= (--checkpoint)"


def tell(peers: Peers, value: Any) -> list[Any]:
    """What each rank gives: values for JSON, by rank."""
    text = np.frombuffer(json.dumps(value).encode(), np.uint8)
    return [json.loads(bytes(each)) for (each,) in peers.allgather(text)]


@dataclass(frozen=True, slots=True)
class OwnEntries:
    """The entries of some vertices, of a column with an entry for every vertex."""

    column: StoredColumn
    vertices: Vertices

    @property
    def length(self) -> int:
        """See :class:`~penstock.engine.checkpoint_file.StoredColumn`."""
        return self.vertices.count

    @property
    def dtype(self) -> np.dtype[Any]:
        """See :class:`~penstock.engine.checkpoint_file.StoredColumn`."""
        return self.column.dtype

    def read(self, begin: int, end: int) -> Array:
        """See :class:`~penstock.engine.checkpoint_file.StoredColumn`."""
        parts = [self.column.read(low, high) for low, high in self.vertices.runs(begin, end)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def column_of(array: Any) -> Any:
    """An array as an object that reads and writes ranges of it."""
    return InMemory(array) if isinstance(array, np.ndarray) else array


def find_whole(engine: Engine, arrays: Mapping[str, Any]) -> dict[str, bool]:
    """Which arrays have an entry for every vertex; all ranks call it at once."""
    lengths = {name: column_of(array).length for name, array in arrays.items()}
    return whole_arrays(tell(engine.peers, lengths), engine.num_vertices)


class Done(NamedTuple):
    """An epoch that was saved."""

    bytes: int
    #: Problems that did not prevent it.
    notes: list[str]


class NotSavedError(Exception):
    """An epoch could not be saved, and the run goes on without it."""


class EpochWriter:
    """Saves epochs of one run. All ranks call :meth:`save` at the same step."""

    def __init__(
        self, engine: Engine, folder: EpochFolder, identity: Mapping[str, Any], token: str
    ) -> None:
        self._engine = engine
        self._peers = engine.peers
        self._folder = folder
        self._identity = identity
        self._token = token
        #: Which arrays have an entry for every vertex, and who holds copies.
        self._whole: dict[str, bool] | None = None
        self._holders: list[int | None] = []

    def save(
        self, epoch: int, step: int, arrays: Mapping[str, Any], extra: Mapping[str, Any]
    ) -> Done:
        """Save and commit. If the disk fails and the folder is the user's, the rank where it failed
        raises its error; otherwise all ranks raise :class:`NotSavedError`.
        """
        if self._whole is None:
            self._whole = find_whole(self._engine, arrays)
            self._holders = copy_holders(tell(self._peers, socket.gethostname()))
        facts = {"identity": self._identity, "step": step, "extra": dict(extra)}
        try:
            said = self._write_part(epoch, arrays, facts)
            notes = self._write_copies(epoch, said)
            self._commit(epoch, step, arrays, extra, [each["digest"] for each in said])
        except (NotSavedError, OSError):
            self._folder.remove_own(epoch, self._token)
            raise
        self._folder.remove_before(epoch, self._token)
        return Done(sum(each["bytes"] for each in said), notes)

    def _name(self, epoch: int, part: int) -> Name:
        return Name(epoch, self._token, part, self._peers.rank)

    def _agree(self, facts: dict[str, Any], error: OSError | None) -> list[dict[str, Any]]:
        """The reports of all ranks on a stage. An error is raised here if the user must see it."""
        if error is not None and self._folder.durable:
            raise error
        text = None if error is None else f"{error} (on {socket.gethostname()})"
        said: list[dict[str, Any]] = tell(self._peers, {**facts, "error": text})
        return said

    # This rank's part

    def _write_part(
        self, epoch: int, arrays: Mapping[str, Any], facts: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        found: dict[str, Any] = {"bytes": 0, "digest": ""}
        error = None
        try:
            found = self._write_file(self._name(epoch, self._peers.rank), arrays, facts)
        except OSError as caught:
            error = write_error(caught, self._folder.path, _ADVICE)
        said = self._agree(found, error)
        errors = [each["error"] for each in said if each["error"] is not None]
        if errors:
            raise NotSavedError(errors[0])
        return said

    def _write_file(
        self, name: Name, arrays: Mapping[str, Any], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        own, whole = self._engine.own_vertices, self._whole
        assert whole is not None
        columns: dict[str, StoredColumn] = {BEGINS: InMemory(own.begins), ENDS: InMemory(own.ends)}
        for each, array in arrays.items():
            column = column_of(array)
            columns[each] = OwnEntries(column, own) if whole[each] else column
        self._folder.open()
        self._check_room(check_columns(columns) + _DESCRIPTION_BYTES)
        fd = self._folder.begin(name)
        try:
            digest = write_state(fd, columns, facts)
            size = os.fstat(fd).st_size
        except BaseException:
            os.close(fd)
            raise
        self._folder.complete(fd, name)
        return {"bytes": size, "digest": digest}

    def _check_room(self, needed: int) -> None:
        free = shutil.disk_usage(self._folder.path).free
        if free < needed:
            raise DiskSpaceError(
                errno.ENOSPC,
                f"{self._folder.path}: the disk is full: a part of a checkpoint needs "
                f"{format_bytes(needed)}, and {format_bytes(free)} are free; free some space, or "
                f"{_ADVICE}",
            )

    # The copy of another's part

    def _write_copies(self, epoch: int, said: list[dict[str, Any]]) -> list[str]:
        """Send this rank's part to the rank that holds its copy, and write what arrives. Returns
        the problems: an epoch is valid without a copy.
        """
        if self._peers.size == 1:
            return []
        senders = [rank for rank, to in enumerate(self._holders) if to == self._peers.rank]
        copies = _Copies(self._folder, {rank: self._name(epoch, rank) for rank in senders})
        copies.open(sum(said[rank]["bytes"] for rank in senders), self._check_room)
        own = _Pieces(self._folder.file(self._name(epoch, self._peers.rank)))
        to = self._holders[self._peers.rank]
        try:
            for offset in range(0, max(each["bytes"] for each in said), COPY_BYTES):
                piece = own.read(offset)
                if piece and to is not None:
                    self._peers.post(to, np.frombuffer(piece, np.uint8))
                for rank, messages in enumerate(self._peers.drain()):
                    for (data,) in messages:
                        copies.add(rank, data)
        finally:
            own.close()
            copies.close({rank: said[rank]["digest"] for rank in senders})
        answers = self._agree({}, copies.error or own.error)
        return [
            f"rank {rank}: the last checkpoint lacks a copy: {each['error']}"
            for rank, each in enumerate(answers)
            if each["error"] is not None
        ]

    # The manifest

    def _commit(
        self,
        epoch: int,
        step: int,
        arrays: Mapping[str, Any],
        extra: Mapping[str, Any],
        digests: list[str],
    ) -> None:
        dtypes = {name: column_of(array).dtype.str for name, array in arrays.items()}
        manifest = Manifest(
            epoch, self._token, step, dict(extra), self._identity, tuple(digests), dtypes
        )
        error = None
        try:
            self._folder.write_manifest(manifest)
        except OSError as caught:
            error = write_error(caught, self._folder.path, _ADVICE)
        # Older epochs are removed only when the manifest is on all hosts.
        answers = self._agree({}, error)
        errors = [each["error"] for each in answers if each["error"] is not None]
        if errors:
            raise NotSavedError(errors[0])


class _Pieces:
    """A file to be sent. An error ends it, and is kept: the receiver misses bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self.error: OSError | None = None

    def read(self, offset: int) -> bytes:
        """The next bytes, none at the end."""
        if self.error is None:
            try:
                if self._fd is None:
                    self._fd = os.open(self._path, os.O_RDONLY)
                return os.pread(self._fd, COPY_BYTES, offset)
            except OSError as error:
                self.error = error
        return b""

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)


class _Copies:
    """Parts of others, written as they arrive. An error ends this, and is kept."""

    def __init__(self, folder: EpochFolder, names: Mapping[int, Name]) -> None:
        self._folder = folder
        self._names = names
        self._fds: dict[int, int] = {}
        self.error: OSError | None = None

    def open(self, needed: int, check_room: Any) -> None:
        """Begin the files, if there is room for them."""
        try:
            check_room(needed)
            for rank, name in self._names.items():
                self._fds[rank] = self._folder.begin(name)
        except OSError as error:
            self._failed(error)

    def add(self, rank: int, data: Array) -> None:
        """Write bytes of a part."""
        if self.error is None:
            try:
                write_all(self._fds[rank], np.ascontiguousarray(data))
            except OSError as error:
                self._failed(error)

    def close(self, digests: Mapping[int, str]) -> None:
        """Complete the copies, and check that each is what was sent."""
        for rank, fd in list(self._fds.items()):
            self._fds.pop(rank)
            try:
                self._folder.complete(fd, self._names[rank])
                path = self._folder.file(self._names[rank])
                if not is_part(path, digests[rank]):
                    raise CorruptionError(f"{path}: is not what was sent")
            except (OSError, CorruptionError) as error:
                found = error if isinstance(error, OSError) else OSError(errno.EIO, str(error))
                self._failed(found)

    def _failed(self, error: OSError) -> None:
        self.error = write_error(error, self._folder.path, _ADVICE)
        for fd in self._fds.values():
            with suppress(OSError):
                os.close(fd)
        self._fds.clear()


def is_part(path: Any, digest: str) -> bool:
    """Whether a file is the part with a checksum, to the last byte."""
    try:
        saved = Saved(path)
    except (OSError, FormatError):
        return False
    try:
        saved.check()
    except FormatError:
        return False
    finally:
        saved.close()
    return saved.digest == digest

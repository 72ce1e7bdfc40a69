"""What a run leaves on disk so that it can go on, and when.

A checkpoint is one file in a folder that one process at a time may use. A new one is written
beside it, synced, and renamed over it: whatever happens, the last complete one is there.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from penstock.config import format_bytes
from penstock.engine.checkpoint_file import Saved, StoredColumn, check_columns, write_state
from penstock.engine.scratch import InMemory
from penstock.errors import (
    AccessError,
    DiskSpaceError,
    InputNotFoundError,
    LockedError,
    OptionError,
    PenstockError,
    TargetExistsError,
)
from penstock.files import write_error
from penstock.store.publish import drop_lock, sync_folder, take_lock
from penstock.types import Array

Identity = Mapping[str, str | int | float | None]

FILE_NAME = "state.checkpoint"
TEMPORARY_NAME = "state.checkpoint.saving"
LOCK_NAME = "lock"

#: What all of a checkpoint but its arrays is taken to need.
_DESCRIPTION_BYTES = 64 << 10
_EVERY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|p)?\s*")
_SECONDS = {"s": 1, "min": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Schedule:
    """When to save: every so many steps, seconds or pages that were worked on; whichever comes
    first of those that are given. An asynchronous run saves after so many pages even within a step.
    """

    every_steps: int | None = None
    every_seconds: float | None = None
    every_pages: int | None = None

    @classmethod
    def parse(cls, text: str | int, name: str = "checkpoint_every") -> Schedule:
        """Turn ``"10"`` (steps), ``"30s"``, ``"5min"``, ``"1h"`` or ``"500p"`` (pages) into a
        schedule.

        >>> Schedule.parse("5min").every_seconds
        300.0
        """
        match = _EVERY.fullmatch(str(text))
        if match is not None and float(match[1]) > 0:
            if match[2] in _SECONDS:
                return cls(every_seconds=float(match[1]) * _SECONDS[match[2]])
            if "." not in match[1]:
                count = int(match[1])
                return cls(every_pages=count) if match[2] else cls(every_steps=count)
        raise OptionError(
            f"{name}: expected a number of steps such as 10, a time such as 30s, 5min or 1h, or a "
            f"number of pages such as 500p; got {text!r}"
        )

    def due(self, steps_since: int, seconds_since: float, pages_since: float = 0) -> bool:
        """Whether to save, so long after the last time."""
        since = (
            (self.every_steps, steps_since),
            (self.every_seconds, seconds_since),
            (self.every_pages, pages_since),
        )
        return any(every is not None and count >= every for every, count in since)


class Checkpoint:
    """The checkpoint folder of a run, locked; use as a context manager.

    ``identity`` says which run it is (graph, program, options). A checkpoint of another one is
    refused when it is loaded. A folder that has nothing in it at the end is removed.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: Identity) -> None:
        self.folder = Path(folder).absolute()
        self._identity: dict[str, Any] = json.loads(json.dumps(dict(identity)))
        self._file = self.folder / FILE_NAME
        self._temporary = self.folder / TEMPORARY_NAME
        self._lock_file = self.folder / LOCK_NAME
        self._lock: int | None = None
        try:
            self._lock = self._take_lock()
            self._temporary.unlink(missing_ok=True)
        except OSError as error:
            self.close()
            raise _explained(error, self.folder) from None

    def _take_lock(self) -> int:
        while True:
            if not self.folder.parent.is_dir():
                raise InputNotFoundError(
                    f"{self.folder.parent}: no such directory to put the checkpoint folder in"
                )
            if os.path.lexists(self.folder) and not self.folder.is_dir():
                raise TargetExistsError(
                    f"{self.folder}: is not a directory; choose another folder for the checkpoint"
                )
            try:
                self.folder.mkdir(exist_ok=True)
                return take_lock(self._lock_file, self.folder)
            except FileNotFoundError:
                continue  # another run ended just now, and removed the folder
            except LockedError:
                raise LockedError(
                    f"{self.folder}: another run is using this checkpoint folder (its process id "
                    f"is in {self._lock_file}); wait for it, or choose another folder with "
                    "checkpoint= (--checkpoint)"
                ) from None

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others have the folder."""
        if self._lock is not None:
            drop_lock(self._lock, self._lock_file)
            self._lock = None
            with suppress(OSError):
                self.folder.rmdir()

    def save(
        self, step: int, arrays: Mapping[str, Array | StoredColumn], extra: Mapping[str, Any]
    ) -> None:
        """Replace the checkpoint by a new one. ``extra`` is what JSON can hold.

        The last one is valid until the new one is complete, and after any error.
        """
        columns = {
            name: InMemory(array) if isinstance(array, np.ndarray) else array
            for name, array in arrays.items()
        }
        needed = check_columns(columns) + _DESCRIPTION_BYTES
        facts = {"identity": self._identity, "step": step, "extra": dict(extra)}
        try:
            if shutil.disk_usage(self.folder).free < needed:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            fd = os.open(self._temporary, flags, 0o644)
            try:
                write_state(fd, columns, facts)
                os.fsync(fd)
            finally:
                os.close(fd)
            self._temporary.replace(self._file)
            sync_folder(self.folder)
        except BaseException as error:
            with suppress(OSError):
                self._temporary.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise _explained(error, self.folder, needed) from None
            raise

    def load(self) -> Saved | None:
        """Open the checkpoint; None if there is none. Arrays are checked when they are read."""
        try:
            saved = Saved(self._file)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(error, self._file) from None
        found, mine = saved.identity, self._identity
        other = differences(found, mine)
        if other:
            saved.close()
            was = ", ".join(f"{name} {found.get(name)}" for name in other)
            now = ", ".join(f"{name} {mine.get(name)}" for name in other)
            raise OptionError(
                f"{self._file}: was made for {was}; this run has {now}: choose another folder with "
                "checkpoint= (--checkpoint), or remove this one"
            )
        return saved

    def clear(self) -> None:
        """Remove the checkpoint: the run has finished."""
        self._file.unlink(missing_ok=True)


def refuse_unfinished(folder: Path) -> None:
    """Raise if a folder has the checkpoint of a run that did not finish."""
    path = folder / FILE_NAME
    try:
        saved = Saved(path)
        at = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _unreadable(error, path) from None
    saved.close()
    what = saved.identity.get("algorithm") or saved.identity.get("program") or "a run"
    raise TargetExistsError(
        f"{folder}: has a checkpoint of {what}, which did not finish (step {saved.step:,}, saved "
        f"{at:%Y-%m-%d %H:%M:%S}); pass resume=True (--resume) to go on from it, or overwrite=True "
        "(--overwrite) to start again without it"
    )


def differences(first: Identity, second: Identity) -> list[str]:
    """The fields that two identities do not agree on; a field that is not there is None.

    >>> differences({"graph": "a", "alpha": 1}, {"graph": "b", "alpha": 1.0})
    ['graph']
    """
    names = dict.fromkeys([*first, *second])
    pairs = {name: (first.get(name), second.get(name)) for name in names}
    # NaN is the same as NaN here.
    return [name for name, (a, b) in pairs.items() if a != b and (a == a or b == b)]


def _unreadable(error: OSError, path: Path) -> OSError:
    """What the user is told of an error of the system while a checkpoint was opened."""
    if isinstance(error, PenstockError):
        return error
    return AccessError(
        f"{path}: the checkpoint cannot be read ({error.strerror}); choose another folder with "
        "checkpoint= (--checkpoint)"
    )


def _explained(error: OSError, where: Path, needed: int = 0) -> OSError:
    """What the user is told of an error of the system, if there is more to say than it does."""
    advice = "choose another folder with checkpoint= (--checkpoint)"
    if not isinstance(error, PenstockError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskSpaceError(
            f"{where}: the disk is full: a new checkpoint needs {format_bytes(needed)} beside the "
            f"last one, which is kept; free some space, or {advice}"
        )
    return write_error(error, where, advice)

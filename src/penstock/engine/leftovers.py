"""What killed runs over hosts have left on disk: finding it, and removing it."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from penstock.engine.epoch_files import epoch_files, is_locked, locks, remove_all, scratch_root
from penstock.errors import LockedError
from penstock.store.publish import drop_lock, take_lock

#: Younger files may belong to a job whose ranks are being restarted.
YOUNG_SECONDS = 600.0
SCRATCH, CHECKPOINT, DEALING = "scratch of a run", "checkpoint", "unfinished deal"
RESULT = "unfinished result"
#: Where the parts of a dealt graph arrive, and those of a result: see store.part_folder and
#: distributed.result_parts.
_DEALING = re.compile(r"\.(.+)\.dealing", re.DOTALL)
_RESULT = re.compile(r"\..+\.writing\.[0-9a-f]{32}", re.DOTALL)


class Leftover(NamedTuple):
    """Something that a job has left, or is working with."""

    host: str
    path: str
    kind: str
    bytes: int
    #: Since something there was last written.
    age_seconds: float
    #: Whether a process works with it, or may go on to in a moment.
    live: bool


def find_leftovers(
    folders: Iterable[str | os.PathLike[str]] = (), young_seconds: float = YOUNG_SECONDS
) -> list[Leftover]:
    """What is in the scratch folder of this user on this host; and in further folders the
    checkpoints of runs over hosts, graphs that were not dealt to the end, and results of which not
    all parts were written.
    """
    found = [_describe(path, SCRATCH, young_seconds) for path in _folders(scratch_root())]
    for folder in map(Path, folders):
        if any(epoch_files(folder)):
            found.append(_describe(folder, CHECKPOINT, young_seconds))
        for path in _folders(folder):
            if _DEALING.fullmatch(path.name):
                found.append(_describe(path, DEALING, young_seconds))
            elif _RESULT.fullmatch(path.name):
                found.append(_describe(path, RESULT, young_seconds))
    return sorted(set(found))


def remove_leftovers(found: Iterable[Leftover]) -> None:
    """Remove what is not live."""
    for each in found:
        if each.live:
            continue
        if each.kind == DEALING:
            _remove_dealing(Path(each.path))
        elif each.kind == RESULT:
            with suppress(OSError):
                shutil.rmtree(each.path)
        else:
            remove_all(Path(each.path))


def _remove_dealing(path: Path) -> None:
    """Remove what a deal has left, unless one goes on with it just now."""
    lock = _lock_of_dealing(path)
    with suppress(OSError, LockedError):
        fd = take_lock(lock, path)
        try:
            shutil.rmtree(path)
        finally:
            drop_lock(fd, lock)


def is_gone(each: Leftover) -> bool:
    """Whether nothing is left of it; a folder of the user's may have other files."""
    path = Path(each.path)
    return not path.exists() or (each.kind == CHECKPOINT and not any(epoch_files(path)))


def _folders(parent: Path) -> Iterator[Path]:
    """The folders in a folder, without links to others."""
    with suppress(OSError):
        for entry in os.scandir(parent):
            if entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)


def _describe(path: Path, kind: str, young_seconds: float) -> Leftover:
    newest, size = 0.0, 0
    inside = path.rglob("*") if kind != CHECKPOINT else (file for file, _ in epoch_files(path))
    files = [*inside] or [path]
    for file in files:
        with suppress(OSError):
            found = file.lstat()
            newest, size = max(newest, found.st_mtime), size + found.st_size
    age = max(0.0, time.time() - newest)
    live = age < young_seconds or _is_in_use(path, kind)
    return Leftover(socket.gethostname(), str(path.absolute()), kind, size, age, live)


def _is_in_use(path: Path, kind: str) -> bool:
    if kind == DEALING:
        return is_locked(_lock_of_dealing(path))
    if kind == RESULT:
        return _is_held(path)
    return any(is_locked(lock) for lock, _ in locks(path))


def _lock_of_dealing(path: Path) -> Path:
    match = _DEALING.fullmatch(path.name)
    assert match is not None
    return path.with_name(f".{match[1]}.lock")


def _is_held(folder: Path) -> bool:
    """Whether a process has a lock on a folder."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(fd)
    return False

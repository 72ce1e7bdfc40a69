"""The steps that make a directory appear at once, and that one process at a time may take."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

from penstock.errors import LockedError
from penstock.files import open_regular

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def take_lock(path: Path, target: Path) -> int:
    """Create and lock a file; returns its descriptor. ``target`` is what it protects.

    The holder removes the file, so a lock counts only if the file is still there under its name.
    """
    while True:
        fd = open_regular(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_named(fd, path):
                with suppress(OSError):  # it only serves the message below
                    os.truncate(fd, 0)
                    os.write(fd, str(os.getpid()).encode())
                return fd
        except BlockingIOError:
            owner = os.read(fd, 32).decode(errors="replace") or "unknown"
            os.close(fd)
            raise LockedError(
                f"{target}: is being built by another process (pid {owner}); "
                "wait for it or choose another target"
            ) from None
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def drop_lock(fd: int, path: Path) -> None:
    """Remove a lock and its file."""
    path.unlink(missing_ok=True)
    os.close(fd)


def _is_named(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except FileNotFoundError:
        return False


def swap(first: Path, second: Path, spare: Path) -> None:
    """Exchange two directories, in one step where the file system can.

    Elsewhere ``second`` waits under the name ``spare`` for a moment: if that is all there is, it
    is to be renamed back.
    """
    if _exchange(first, second):
        return
    second.rename(spare)
    first.rename(second)
    spare.rename(first)


def _exchange(first: Path, second: Path) -> bool:
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    done = renameat2(
        _AT_FDCWD,
        os.fsencode(first),
        _AT_FDCWD,
        os.fsencode(second),
        ctypes.c_uint(_RENAME_EXCHANGE),
    )
    if done == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), str(second))


def write_synced(path: Path, text: str) -> None:
    """Write a small file, with its bytes on the disk."""
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Have the names in a directory on the disk."""
    sync_file(folder)


def sync_file(path: Path) -> None:
    """Have the bytes of a file on the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

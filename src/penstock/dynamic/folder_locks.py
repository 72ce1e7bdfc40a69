"""Who may use the files of a live graph: one writer, and readers of whole generations.

Locks are those of ``flock``: they go with the process, whatever ends it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from penstock.dynamic.disk import OpenFile
from penstock.errors import LockedError
from penstock.files import open_regular

LOCK_NAME = "lock"


class Hold(OpenFile):
    """A lock that is held until it is closed."""

    def __init__(self, fd: int) -> None:
        self._fd = fd


class Holds:
    """Several of them."""

    def __init__(self, holds: Sequence[Hold]) -> None:
        self._holds = holds

    def __len__(self) -> int:
        return len(self._holds)

    @property
    def closed(self) -> bool:
        """Whether they were let go of."""
        return all(hold.closed for hold in self._holds)

    def close(self) -> None:
        """Let go of all; may be called again."""
        for hold in self._holds:
            hold.close()


def hold_for_writing(folder: Path) -> Hold:
    """Become the one writer of a graph."""
    path = folder / LOCK_NAME
    fd = open_regular(path, os.O_RDWR | os.O_CREAT)
    hold = Hold(fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not path.exists() or not os.path.samestat(os.fstat(fd), os.stat(path)):
            raise BlockingIOError  # a creation that failed removed it just now
        os.truncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
    except BlockingIOError:
        owner = os.pread(fd, 32, 0).decode(errors="replace") or "unknown"
        hold.close()
        raise LockedError(
            f"{folder}: is open for writing already (pid {owner}), and only one may change it at a "
            "time; close it there, or open it with read_only=True"
        ) from None
    except BaseException:
        hold.close()
        raise
    return hold


def hold_shared(path: Path) -> Hold | None:
    """Keep a writer from removing a file and what belongs to it; None if there is no such file."""
    try:
        fd = open_regular(path)
    except FileNotFoundError:
        return None
    hold = Hold(fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)  # a writer has it only for the moment of removing
    except BaseException:
        hold.close()
        raise
    return hold


def hold_to_remove(path: Path) -> Hold | None:
    """Keep readers from holding a file; None if one does."""
    fd = open_regular(path)
    hold = Hold(fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        hold.close()
        return None
    except BaseException:
        hold.close()
        raise
    return hold

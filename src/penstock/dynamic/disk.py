"""The few things durability asks of a disk.

The log and the directory of a live graph touch files only through a :class:`Disk`, so that a test
can put one in place that loses power. What such a disk promises: bytes are there to stay once
``sync`` of their file has returned, names once ``sync_folder`` of their directory has; before
that, any of it may be lost, in any order, in pieces of a sector.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from penstock.errors import AccessError, DiskSpaceError, PenstockError
from penstock.files import open_regular
from penstock.store.direct import read_at
from penstock.store.publish import sync_folder
from penstock.types import U8

#: Buffers that one call of the system takes.
_MAX_BUFFERS = 512


class DiskFile(Protocol):
    """An open file."""

    path: Path

    def size(self) -> int:
        """How long it is."""

    def read(self, offset: int, num_bytes: int) -> U8:
        """Bytes from a place on, in memory of their own; fewer where the file ends."""

    def write(self, offset: int, parts: Sequence[memoryview]) -> None:
        """Write bytes, one part after another, from a place on."""

    def reserve(self, offset: int, num_bytes: int) -> None:
        """Find room on the disk for bytes that come next, or raise; the file may grow by zeros."""

    def truncate(self, num_bytes: int) -> None:
        """Cut off what comes after."""

    def sync(self) -> None:
        """Return when the bytes and the length are on the disk."""

    def close(self) -> None:
        """Let go of it; may be called again."""


class Disk(Protocol):
    """Files and the directories they are in."""

    def create(self, path: Path) -> DiskFile:
        """A new, empty file to write; there must be none of that name."""

    def open(self, path: Path, *, write: bool = False) -> DiskFile:
        """A file that is there."""

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name in the same directory; replaces what has that name."""

    def remove(self, path: Path) -> None:
        """Remove a file; nothing there is no error."""

    def remove_folder(self, path: Path) -> None:
        """Remove a directory with all that is in it."""

    def make_folder(self, path: Path) -> None:
        """Make a directory."""

    def sync_folder(self, path: Path) -> None:
        """Return when the names in a directory are on the disk."""


class OpenFile:
    """Closes what it has open when it goes, if that was not done before."""

    _fd = -1

    @property
    def closed(self) -> bool:
        """Whether it was let go of."""
        return self._fd < 0

    def close(self) -> None:
        """Let go of it; may be called again."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class RealFile(OpenFile):
    """A file of the system."""

    def __init__(self, path: Path, flags: int) -> None:
        self.path = path
        self._fd = open_regular(path, flags)

    def size(self) -> int:
        """How long it is now."""
        return os.fstat(self._fd).st_size

    def read(self, offset: int, num_bytes: int) -> U8:
        """Bytes from a place on, fewer where the file ends."""
        buffer: U8 = np.empty(num_bytes, np.uint8)
        return buffer[: read_at(self._fd, offset, buffer)]

    def write(self, offset: int, parts: Sequence[memoryview]) -> None:
        """Write all of it, in as many calls as it takes."""
        waiting = deque(part for part in parts if part.nbytes)
        while waiting:
            some = [waiting[i] for i in range(min(len(waiting), _MAX_BUFFERS))]
            written = os.pwritev(self._fd, some, offset)
            if written == 0:
                raise OSError(errno.EIO, "the system wrote nothing", str(self.path))
            offset += written
            while waiting and written >= waiting[0].nbytes:
                written -= waiting.popleft().nbytes
            if written:
                waiting[0] = waiting[0].cast("B")[written:]

    def reserve(self, offset: int, num_bytes: int) -> None:
        """Have the file system allocate the room; where it cannot, writing will find out."""
        try:
            os.posix_fallocate(self._fd, offset, num_bytes)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise

    def truncate(self, num_bytes: int) -> None:
        """Cut off what comes after."""
        os.ftruncate(self._fd, num_bytes)

    def sync(self) -> None:
        """Have bytes and length on the disk."""
        os.fdatasync(self._fd)


class RealDisk:
    """The file system."""

    def create(self, path: Path) -> DiskFile:
        """A new, empty file."""
        return RealFile(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)

    def open(self, path: Path, *, write: bool = False) -> DiskFile:
        """A file that is there."""
        return RealFile(path, os.O_RDWR if write else os.O_RDONLY)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name."""
        old.rename(new)

    def remove(self, path: Path) -> None:
        """Remove a file; of a link only the link."""
        path.unlink(missing_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove a directory with all that is in it; links in it are not followed."""
        shutil.rmtree(path)

    def make_folder(self, path: Path) -> None:
        """Make a directory."""
        path.mkdir()

    def sync_folder(self, path: Path) -> None:
        """Have the names in a directory on the disk."""
        sync_folder(path)


def explained(error: OSError, where: Path, what: str) -> PenstockError:
    """What a user is told of an error of the system; ``what`` says what became of it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskSpaceError(f"{where}: the disk is full; {what}. Free some space and try again")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessError(f"{where}: no permission: {error.strerror}; {what}")
    return PenstockError(f"{where}: {error.strerror or error}; {what}")

"""Files that appear when they are complete, not before."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import (
    AccessError,
    DiskSpaceError,
    InputNotFoundError,
    PenstockError,
    TargetExistsError,
    WriteError,
)


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise if a file cannot be put there."""
    if not path.parent.is_dir():
        raise InputNotFoundError(f"{path.parent}: no such directory to put the file in")
    if path.is_dir():
        raise TargetExistsError(f"{path}: is a directory; choose another name")
    if os.path.lexists(path) and not overwrite:
        raise TargetExistsError(
            f"{path}: already exists; choose another name or pass overwrite=True (--overwrite)"
        )


@contextmanager
def unfinished(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """A temporary file beside ``path`` that gets its name at the end of the block, or goes."""
    check_target(path, overwrite=overwrite)
    temporary = path.parent / f".{path.name}.writing.{os.getpid()}"
    try:
        yield temporary
        fd = os.open(temporary, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        check_target(path, overwrite=overwrite)
        temporary.replace(path)
    except OSError as error:
        if isinstance(error, PenstockError):
            raise
        raise _write_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _write_error(path: Path, error: OSError) -> PenstockError:
    """What to raise when a file cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskSpaceError(
            f"{path}: the disk is full; nothing was left behind. Free some space, or write to "
            "another disk"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessError(f"{path}: no permission: {error.strerror}")
    if error.errno == errno.EFBIG:
        return WriteError(
            f"{path}: the file would be larger than the system allows (ulimit -f); nothing was "
            "left behind"
        )
    return WriteError(f"{path}: cannot be written: {error.strerror or error}")

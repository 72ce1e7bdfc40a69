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
)


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise if a file cannot be put there."""
    if not path.parent.is_dir():
        raise InputNotFoundError(f"{path.parent}: no such directory to put {path.name} in")
    if path.is_dir():
        raise TargetExistsError(f"{path}: is a directory; choose another name")
    if os.path.lexists(path) and not overwrite:
        raise TargetExistsError(
            f"{path}: already exists; choose another name or pass overwrite=True (--overwrite)"
        )
    if path.exists() and not path.is_file():
        raise TargetExistsError(f"{path}: is not a regular file; choose another name")


def write_error(error: OSError, path: Path, advice: str) -> OSError:
    """What to raise for an error that came while a file was written: it names the path, what is
    wrong there, and what to do: ``advice``, which says what else could be written to.
    """
    if isinstance(error, PenstockError):
        return error
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskSpaceError(f"{path}: the disk is full; free some space, or {advice}")
    if error.errno == errno.EFBIG:
        return DiskSpaceError(
            f"{path}: the file would be larger than the system allows; raise the limit (ulimit "
            f"-f), or {advice}"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessError(f"{path}: no permission: {error.strerror}; {advice}")
    return AccessError(f"{path}: cannot be written ({error.strerror or error}); {advice}")


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
        if error.filename not in (None, str(temporary)):
            raise  # it is about another file
        advice = "write to another folder (nothing was left behind)"
        raise write_error(error, path, advice) from error
    finally:
        temporary.unlink(missing_ok=True)

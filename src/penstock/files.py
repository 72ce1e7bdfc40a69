"""Files that appear when they are complete, and files that are read from a folder of anyone's."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.errors import (
    AccessError,
    DiskSpaceError,
    FormatError,
    InputNotFoundError,
    PenstockError,
    TargetExistsError,
)

#: The last part of a path is not followed if it is a link; opening a pipe or a device does not
#: wait, and a regular file is read as always.
_AS_IT_IS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_regular(
    path: str | os.PathLike[str], flags: int = os.O_RDONLY, *, dir_fd: int | None = None
) -> int:
    """Open a file of a graph, which may come from a stranger; returns its descriptor.

    Raises a FormatError if it is a symbolic link, a directory, a pipe or a device: such a name
    could lead out of the folder, or never give an answer. Other errors are those of ``os.open``.
    """
    try:
        fd = os.open(path, flags | _AS_IT_IS, 0o644, dir_fd=dir_fd)
    except OSError as error:
        with suppress(OSError):
            _check_mode(path, os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode)
        raise error
    try:
        _check_mode(path, os.fstat(fd).st_mode)
    except BaseException:
        os.close(fd)
        raise
    return fd


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise as :func:`open_regular` does, without opening the file; a missing file is fine."""
    with suppress(FileNotFoundError, NotADirectoryError):
        _check_mode(path, os.lstat(path).st_mode)


def read_regular(
    path: str | os.PathLike[str], most: int = -1, *, dir_fd: int | None = None
) -> bytes:
    """The bytes of a file that :func:`open_regular` opens: all, or so many at most."""
    with open(open_regular(path, dir_fd=dir_fd), "rb") as file:
        return file.read(most)


def _check_mode(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a directory"}
        kind = kinds.get(stat.S_IFMT(mode), "a pipe, a socket or a device")
        raise FormatError(
            f"{os.fspath(path)}: is {kind}, expected a regular file: refused; put the file itself "
            "in its place"
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
    temporary = path.parent / f".{path.name}.writing.{os.urandom(8).hex()}"
    try:
        # New, under a name that nobody can foresee: no link can wait there.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
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

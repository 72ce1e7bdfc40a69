"""Names in the directory of a live graph: which are the graph's, and of which generation."""

from __future__ import annotations

import os
import re
from pathlib import Path

from penstock.dynamic.folder_catalog import FILE_NAME
from penstock.dynamic.folder_locks import LOCK_NAME
from penstock.dynamic.log_format import HEADER_BYTES
from penstock.dynamic.log_format import MAGIC as LOG_MAGIC
from penstock.errors import FormatError, TargetExistsError
from penstock.files import read_regular
from penstock.store.contents import foreign_names, is_folder
from penstock.store.far import quoted

TEMPORARY_NAME = FILE_NAME + ".tmp"
#: What a writer may remove if it is not the graph's: these names, by their generation. A store that
#: is being built has the hidden ones.
_OURS = re.compile(
    r"(?:log\.(\d+)|base\.(\d+)|vertex\.\d+\.(\d+)\.npy|\.base\.(\d+)\.(?:building|old|lock))"
)


def number_of(name: str) -> int | None:
    """The generation that a name ends in, if it is one of those that are given in a directory.

    >>> number_of("vertex.0.17.npy"), number_of("live.json")
    (17, None)
    """
    match = _OURS.fullmatch(name)
    return None if match is None else int(next(filter(None, match.groups())))


def check_free(folder: Path) -> None:
    """Raise if a new graph cannot be put there; what an interrupted creation left is fine."""
    if not folder.is_dir():
        raise TargetExistsError(f"{folder}: exists and is no directory; choose another name")
    names = set(os.listdir(folder))
    if FILE_NAME in names:
        raise TargetExistsError(f"{folder}: is a live graph already; open it or remove it")
    # A creation makes the lock first, and files of no generation but the first.
    rest = names - {LOCK_NAME, TEMPORARY_NAME} if LOCK_NAME in names else names
    other = {name for name in rest if number_of(name) != 0 or not is_ours(folder / name)}
    if other or (rest and LOCK_NAME not in names):
        raise TargetExistsError(
            f"{folder}: is not empty (it has {quoted(sorted(other or rest))}); choose another name"
        )


def is_ours(path: Path) -> bool:
    """Whether something has the content that its name, which is one of ours, promises. Others may
    have files named ``log.1``, too.
    """
    kind = path.name.partition(".")[0]
    if kind == "base":
        return is_folder(path) and not foreign_names(path)
    if kind == "":  # a store that is being built
        return True
    try:
        begins = read_regular(path, HEADER_BYTES + 1)
    except (OSError, FormatError):
        return False
    # A log that never came to its first record may hold anything, but no more than a header.
    return kind != "log" or len(begins) <= HEADER_BYTES or begins[8:12] == LOG_MAGIC

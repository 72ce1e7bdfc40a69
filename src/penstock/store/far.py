"""Folders that belong to a graph and are elsewhere: its stripes and temporary files on other disks.

Links lead to them, and a link proves nothing: a graph may come from a stranger, or be a copy of the
graph that the folder belongs to. So a folder elsewhere is removed only if it carries a *proof*:

* The graph directory holds :data:`TOKEN_FILE`, a random number, which a stranger does not know.
* The folder elsewhere holds :data:`OWNER_FILE`, with the SHA-256 of that number and of the device,
  inode and time of change (``ctime``) of the file that holds it. Moving the graph directory keeps
  these three; no copy, archive or link can have the same.

The name of the folder ends in the first digits of the proof, so that even an empty one carries it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path

from penstock.errors import FormatError
from penstock.files import open_regular, read_regular
from penstock.store.publish import sync_file

TOKEN_FILE = "stripes.token"
OWNER_FILE = "owner.json"
#: The link to temporary files elsewhere, and the folder in theirs that has them.
SCRATCH_LINK, SCRATCH_NAME = "elsewhere", "tmp"
#: The files of a stripe's folder.
STRIPE_FILES = frozenset({"stripe.json", "out.pages", "in.pages"})

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TOKEN_BYTES, _DIGITS = 16, 8


def write_token(folder: Path) -> str:
    """Give a new graph directory its token; returns the proof for folders elsewhere."""
    (folder / TOKEN_FILE).write_text(os.urandom(_TOKEN_BYTES).hex() + "\n")
    proof = read_proof(folder)
    assert proof is not None
    return proof


def read_proof(folder: Path) -> str | None:
    """The proof that folders of this graph carry; None if it has no token."""
    try:
        with open(open_regular(folder / TOKEN_FILE), "rb") as file:
            found = os.fstat(file.fileno())
            token = file.read(4 * _TOKEN_BYTES)
    except (OSError, FormatError):
        return None
    identity = f" {found.st_dev} {found.st_ino} {found.st_ctime_ns}"
    return hashlib.sha256(token.strip() + identity.encode()).hexdigest()


def digits_of(proof: str) -> str:
    """What the name of a folder elsewhere ends in.

    >>> digits_of("0123456789abcdef" * 4)
    '01234567'
    """
    return proof[:_DIGITS]


def make_far(folder: Path, proof: str, graph: Path, *, mode: int = 0o777) -> None:
    """Make a folder elsewhere, new and with its proof."""
    folder.mkdir(mode)
    text = json.dumps({"proof": proof, "graph": os.fsdecode(graph)}) + "\n"
    (folder / OWNER_FILE).write_text(text)


def sync_proofs(folder: Path, far: list[Path]) -> None:
    """Have the token of a graph and the proofs of its folders elsewhere on the disk."""
    for path in (folder / TOKEN_FILE, *(each / OWNER_FILE for each in far)):
        sync_file(path)


def remove_far(
    path: Path, proof: str | None, files: Collection[str], tree: str | None = None
) -> str | None:
    """Remove a folder elsewhere if it carries the proof; returns why it stays, if it does.

    Only these files go, and the folder ``tree`` with all that is in it. No link is followed.
    """
    with ExitStack() as stack:
        try:
            parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, parent)
        except OSError as error:
            return f"the directory it is in cannot be opened ({error.strerror})"
        try:
            folder = os.open(path.name, _FOLDER, dir_fd=parent)
            stack.callback(os.close, folder)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENAMETOOLONG):
                return None  # it was never made
            return f"it cannot be opened ({error.strerror})"
        try:
            names = set(os.listdir(folder))
            if not _carries(folder, names, path.name, proof):
                return "nothing proves that it was made for this graph and not for another"
            for name in names & set(files):
                os.unlink(name, dir_fd=folder)
            if tree in names:
                shutil.rmtree(tree, dir_fd=folder)
            others = sorted(names - set(files) - {tree, OWNER_FILE})
            if others:
                return f"it holds {quoted(others)}, which Penstock did not write"
            if OWNER_FILE in names:  # the proof goes last
                os.unlink(OWNER_FILE, dir_fd=folder)
            os.rmdir(path.name, dir_fd=parent)
        except OSError as error:
            return f"it cannot be removed ({error.strerror})"
    return None


def _carries(folder: int, names: set[str], own_name: str, proof: str | None) -> bool:
    if proof is None:
        return False
    if names <= {OWNER_FILE} and own_name.endswith(digits_of(proof)):
        return True  # a process died as it made or removed the folder
    try:
        owner = json.loads(read_regular(OWNER_FILE, dir_fd=folder))
    except (OSError, ValueError, RecursionError):  # FormatError is a ValueError
        return False
    return isinstance(owner, dict) and owner.get("proof") == proof


def quoted(names: list[str], most: int = 3) -> str:
    """A few names, and how many more there are.

    >>> quoted(["a", "b", "c", "d", "e"])
    "'a', 'b', 'c' and 2 more"
    """
    text = ", ".join(map(repr, names[:most]))
    return text + (f" and {len(names) - most} more" if len(names) > most else "")

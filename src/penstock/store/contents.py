"""What is in a graph directory: the names that the format gives to files, and others."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from penstock.errors import FormatError
from penstock.files import read_regular
from penstock.store.catalog import FILE_NAME, MAGIC
from penstock.store.far import OWNER_FILE, STRIPE_FILES, TOKEN_FILE, quoted

#: What makes a directory a part of a graph; see :mod:`penstock.store.part`.
PART_FILE = "part.json"
_STRIPE = re.compile(r"stripe\.[0-9]+")
#: All that a graph directory has beside its stripes.
_OWN_FILES = frozenset(
    {FILE_NAME, PART_FILE, TOKEN_FILE, "vid_of_rank.npy", "ids.npy", "ids.arrow"}
    | {f"{direction}.{part}.npy" for direction in ("out", "in") for part in ("pages", "degrees")}
)
#: All that a stripe has inside the graph directory. ``graph`` was a link to the graph directory in
#: stripes elsewhere, before there was ``OWNER_FILE``; copies may have it.
_OWN_STRIPE_FILES = STRIPE_FILES | {OWNER_FILE, "graph"}


def stripe_name(stripe: int) -> str:
    """The folder of a stripe inside the graph directory (or a link of that name)."""
    return f"stripe.{stripe}"


def is_stripe_name(name: str) -> bool:
    """Whether :func:`stripe_name` gives this name."""
    return _STRIPE.fullmatch(name) is not None


def foreign_names(folder: Path) -> list[str]:
    """What is in a graph directory, complete or not, that the format does not name."""
    found = []
    for entry in folder.iterdir():
        if not is_folder(entry):
            # Of a link only the link would be removed.
            named = entry.name in _OWN_FILES or is_stripe_name(entry.name)
            found += [] if named else [entry.name]
        elif not is_stripe_name(entry.name):
            found.append(entry.name)
        else:
            found += [
                f"{entry.name}/{each.name}"
                for each in entry.iterdir()
                if each.name not in _OWN_STRIPE_FILES or is_folder(each)
            ]
    return sorted(found)


def is_folder(path: Path) -> bool:
    """Whether this is a directory, and not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def is_graph(folder: Path) -> bool:
    """Whether a directory has a catalog, damaged or not, and the first stripe, or says that it is
    a part.
    """
    try:
        begins = read_regular(folder / FILE_NAME, most=256)
    except (OSError, FormatError):
        return False
    named = is_folder(folder / stripe_name(0)) or os.path.lexists(folder / PART_FILE)
    return MAGIC.encode() in begins and named


def contents(folder: Path) -> str:
    """A few of the names in a directory, in brackets; nothing if it is none."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    return f" (it holds {quoted(names)})" if names else " (it is empty)"

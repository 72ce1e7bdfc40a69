"""A part of a graph: all index files, and the page files of some stripes. See docs/format.md.

``part.json`` stands beside ``graph.json`` and says where all stripes were dealt to. A directory
without it is a graph that must have every stripe.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.errors import CorruptionError, FormatError
from penstock.files import read_regular
from penstock.store.catalog import SEAL_BYTES, Catalog, check_whole, seal
from penstock.store.contents import PART_FILE, stripe_name

MAGIC = "penstock part"
VERSION = 1
#: Stripes that a message names, at most.
_NAMED = 8
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """Everything in ``part.json``."""

    tag: int
    #: Names of the hosts or folders that the graph was dealt to.
    places: tuple[str, ...]
    #: Of each stripe, the numbers of the places that have it.
    held_by: tuple[tuple[int, ...], ...]
    #: The number of the place that this part is for.
    place: int

    @property
    def stripes(self) -> tuple[int, ...]:
        """The stripes that this part has."""
        return tuple(k for k, holders in enumerate(self.held_by) if self.place in holders)

    def dealt_to(self) -> list[list[str]]:
        """Of each stripe, the names of the places that have it."""
        return [[self.places[place] for place in holders] for holders in self.held_by]

    def to_json(self) -> str:
        """The text of ``part.json``."""
        data = {**asdict(self), "tag": f"{self.tag:016x}"}
        text = json.dumps({"magic": MAGIC, "version": VERSION, **data})
        text = text.removesuffix("}") + ",\n"
        return text + seal(text.encode())


def read_part(folder: Path, catalog: Catalog) -> Part | None:
    """Read and check ``part.json``; None if the directory is not a part."""
    path = folder / PART_FILE
    if not os.path.lexists(path):
        return None
    try:
        raw = read_regular(path, _MAX_BYTES)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
    if raw[-SEAL_BYTES:] != seal(raw[:-SEAL_BYTES]).encode():
        raise CorruptionError(
            f"{path}: its checksum does not match; it was edited or damaged: deal the graph again"
        )
    try:
        data = json.loads(raw)
        if data["magic"] != MAGIC or data["version"] != VERSION:
            raise ValueError(f"magic {data['magic']!r}, version {data['version']!r}")
        return _checked(data, catalog)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise FormatError(f"{path}: a field is missing or wrong: {what}") from None


def _checked(data: dict[str, Any], catalog: Catalog) -> Part:
    part = Part(
        int(data["tag"], 16),
        tuple(data["places"]),
        tuple(tuple(holders) for holders in data["held_by"]),
        data["place"],
    )
    if part.tag != catalog.tag:
        raise ValueError(f"the tag is {part.tag:016x}, the graph's is {catalog.tag:016x}")
    if not all(isinstance(name, str) for name in part.places):
        raise ValueError("a place has no name")
    if len(part.held_by) != catalog.num_stripes:
        raise ValueError(f"there are {len(part.held_by)} stripes, not {catalog.num_stripes}")
    for place in (part.place, *(place for holders in part.held_by for place in holders)):
        check_whole("place", place, 0, len(part.places) - 1)
    return part


def stripes_there(folder: Path, catalog: Catalog) -> tuple[int, ...]:
    """The stripes whose files are in a directory, whether or not they are what they should be."""
    return tuple(
        k
        for k in range(catalog.num_stripes)
        if os.path.exists(folder / stripe_name(k) / "stripe.json")
        and all(
            os.path.exists(folder / stripe_name(k) / f"{direction}.pages")
            for direction in catalog.directions
        )
    )


def stripe_list(stripes: Sequence[int]) -> str:
    """The numbers of some stripes, for people.

    >>> stripe_list([0, 4, 8]), stripe_list(range(20))
    ('0, 4, 8', '0, 1, 2, 3, 4, 5, 6, 7 and 12 more')
    """
    text = ", ".join(map(str, stripes[:_NAMED]))
    return text + (f" and {len(stripes) - _NAMED} more" if len(stripes) > _NAMED else "")

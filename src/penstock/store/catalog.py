"""``graph.json``: what a graph directory says about itself. See docs/format.md.

Two versions stand in it. A reader that knows an older *read* version must not open the graph; one
that knows only an older *write* version may read it but not change it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from penstock.errors import CorruptionError, FormatError, InputNotFoundError
from penstock.store.layout import Column, PageSpec
from penstock.store.page import checksum
from penstock.types import COLUMN_DTYPES, MAX_VERTICES, Direction

MAGIC = "penstock graph"
READ_VERSION = 1
WRITE_VERSION = 1
FILE_NAME = "graph.json"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """Size and checksum of an index file."""

    bytes: int
    xxh3: str


@dataclass(frozen=True, slots=True)
class DirectionStats:
    """What is known of one direction without reading its pages."""

    num_pages: int
    num_edges: int
    small_pages: int
    large_pages: int
    #: Bytes of pages that carry something.
    used_bytes: int
    max_degree: int
    #: Vertices with no edge in this direction.
    empty_vertices: int
    #: Entry 0: vertices of degree 0; entry k: of degree 2**(k-1) .. 2**k - 1.
    degree_histogram: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IdSpec:
    """What the user's ids are: "range" (first, first + 1, ...), "int" or "string" (in a file)."""

    kind: str
    first: int = 0
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything in ``graph.json``."""

    tag: int
    num_vertices: int
    num_edges: int
    directed: bool
    columns: tuple[Column, ...]
    weight: str | None
    vertex_order: str
    neighbour_order: str
    #: The duplicate and self-loop rules, and what they dropped.
    rules: dict[str, Any]
    ids: IdSpec
    #: File of the vertex number of each id in ascending order; None if they are 0, 1, 2, ...
    order_file: str | None
    layout: str
    page_bytes: int
    bands: tuple[int, ...]
    p: int
    q: int
    num_stripes: int
    directions: dict[Direction, DirectionStats]
    files: dict[str, FileRecord] = field(default_factory=dict)
    written_by: str = ""

    def page_spec(self) -> PageSpec:
        """What all pages have in common."""
        return PageSpec(
            self.layout, self.page_bytes, self.num_vertices, self.columns, self.bands, self.p, self.q
        )

    def to_json(self) -> str:
        """The text of ``graph.json``."""
        data = asdict(self)
        data["tag"] = f"{self.tag:016x}"
        data["columns"] = [{"name": c.name, "dtype": c.dtype.name} for c in self.columns]
        data = {
            "magic": MAGIC,
            "format": {"read": READ_VERSION, "write": WRITE_VERSION},
            **data,
        }
        data["checksum"] = _checksum(data)
        return json.dumps(data, indent=1) + "\n"

    def with_files(self, files: dict[str, FileRecord]) -> Catalog:
        """The same with the index files filled in."""
        return replace(self, files=files)


def _checksum(data: dict[str, Any]) -> str:
    text = json.dumps({k: v for k, v in data.items() if k != "checksum"}, sort_keys=True)
    return f"{checksum(np.frombuffer(text.encode(), np.uint8)):016x}"


def plain_name(name: object, where: Path) -> str:
    """A file name that stays in its directory, or an error."""
    if not isinstance(name, str) or not name or Path(name).name != name or name == "..":
        raise FormatError(f"{where}: names the file {name!r}, which is outside the graph: refused")
    return name


def read_catalog(folder: Path) -> Catalog:
    """Read and check ``graph.json`` of a graph directory."""
    path = folder / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists():
            raise InputNotFoundError(f"{folder}: no such graph") from None
        raise FormatError(
            f"{folder}: not a graph (it has no {FILE_NAME}); build one with `penstock build`"
        ) from None
    except (UnicodeDecodeError, PermissionError) as error:
        raise FormatError(f"{path}: cannot be read: {error}") from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise CorruptionError(f"{path}: not valid JSON ({error}); restore or rebuild it") from None
    if not isinstance(data, dict) or data.get("magic") != MAGIC:
        raise FormatError(f"{path}: not the catalog of a Penstock graph")
    version = data.get("format", {})
    found = version.get("read") if isinstance(version, dict) else None
    if not isinstance(found, int) or found > READ_VERSION:
        raise FormatError(
            f"{path}: needs format version {found}; this Penstock reads up to {READ_VERSION}: "
            "upgrade penstock"
        )
    if data.get("checksum") != _checksum(data):
        raise CorruptionError(f"{path}: its checksum does not match; it was edited or damaged")
    try:
        return _from_data(data, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: a field is missing or wrong: {error}") from None


def _from_data(data: dict[str, Any], path: Path) -> Catalog:
    columns = []
    for item in data["columns"]:
        if item["dtype"] not in COLUMN_DTYPES:
            raise FormatError(f"{path}: edge column type {item['dtype']!r} is not known")
        columns.append(Column(str(item["name"]), np.dtype(item["dtype"]).newbyteorder("<")))
    ids = IdSpec(**data["ids"])
    for name in (ids.file, data["order_file"], *data["files"]):
        if name is not None:
            plain_name(name, path)
    directions: dict[Direction, DirectionStats] = {}
    for name, stats in data["directions"].items():
        if name not in get_args(Direction):
            raise FormatError(f"{path}: direction {name!r} is not known")
        stats["degree_histogram"] = tuple(stats["degree_histogram"])
        directions[name] = DirectionStats(**stats)
    known = {k: data[k] for k in Catalog.__dataclass_fields__ if k in data}
    known |= {
        "tag": int(data["tag"], 16),
        "columns": tuple(columns),
        "bands": tuple(data["bands"]),
        "ids": ids,
        "directions": directions,
        "files": {name: FileRecord(**record) for name, record in data["files"].items()},
    }
    catalog = Catalog(**known)
    sizes_ok = (
        0 <= catalog.num_vertices <= MAX_VERTICES
        and catalog.num_edges >= 0
        and catalog.page_bytes >= 4096
        and catalog.num_stripes >= 1
        and len(directions) > 0
    )
    if not sizes_ok:
        raise FormatError(f"{path}: its counts are impossible")
    return catalog

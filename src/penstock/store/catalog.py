"""``graph.json``: what a graph directory says about itself. See docs/format.md.

Two versions stand in it. A reader that knows an older *read* version must not open the graph; one
that knows only an older *write* version may read it but not change it. Fields a reader does not
know are passed over.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from penstock.config import format_bytes
from penstock.errors import CorruptionError, FormatError, InputNotFoundError
from penstock.files import read_regular
from penstock.store.layout import LAYOUTS, Column, PageSpec
from penstock.store.page import checksum
from penstock.store.source import Description, ListStats
from penstock.types import COLUMN_DTYPES, MAX_VERTICES, Direction

MAGIC = "penstock graph"
READ_VERSION = 1
WRITE_VERSION = 1
FILE_NAME = "graph.json"
VERTEX_ORDERS = ("degree", "none", "given")
NEIGHBOUR_ORDERS = ("id", "degree", "input")
DUPLICATE_RULES = ("keep", "first", "last", "min", "max", "sum")
LOOP_RULES = ("keep", "drop")
#: A catalog is read as a whole; those of the largest graphs have some thousands of bytes.
MAX_CATALOG_BYTES = 16 << 20
MAX_STRIPES = 4096
MIN_PAGE_BYTES = 4096
MAX_PAGE_BYTES = 2 << 30


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
            self.layout,
            self.page_bytes,
            self.num_vertices,
            self.columns,
            self.bands,
            self.p,
            self.q,
        )

    def description(self) -> Description:
        """What the graph is, without how it is stored."""
        lists = {
            direction: ListStats(
                stats.num_pages, stats.num_edges, stats.max_degree, stats.degree_histogram
            )
            for direction, stats in self.directions.items()
        }
        return Description(
            self.num_vertices, self.num_edges, self.directed, lists, self.columns, self.weight,
            vertex_order=self.vertex_order,
            neighbour_order=self.neighbour_order,
            multigraph=self.rules.get("duplicates") == "keep",
            self_loops=self.rules.get("self_loops") != "drop",
            id_kind="string" if self.ids.kind == "string" else "int",
            first_id=self.ids.first if self.ids.kind == "range" else None,
            tag=self.tag,
        )  # fmt: skip

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
        text = json.dumps(data, indent=1).removesuffix("\n}") + ",\n"
        return text + seal(text.encode())

    def with_files(self, files: dict[str, FileRecord]) -> Catalog:
        """The same with the index files filled in."""
        return replace(self, files=files)

    def index_files(self) -> list[str]:
        """The index files that there must be."""
        names = [f"{direction}.{part}.npy" for direction in self.directions for part in _PARTS]
        return names + [name for name in (self.ids.file, self.order_file) if name is not None]

    def stripe_text(self, stripe: int) -> str:
        """The text of a stripe's ``stripe.json``."""
        return (
            json.dumps({"tag": f"{self.tag:016x}", "stripe": stripe, "of": self.num_stripes}) + "\n"
        )


_PARTS = ("pages", "degrees")
#: The only names of these files: what a file is checked for depends on its name.
ORDER_FILE = "vid_of_rank.npy"
_ID_FILES = {"range": None, "int": "ids.npy", "string": "ids.arrow"}


def seal(text: bytes) -> str:
    """The last line of a catalog: the checksum of all bytes before it."""
    return f' "checksum": "{checksum(np.frombuffer(text, np.uint8)):016x}"\n}}\n'


SEAL_BYTES = len(seal(b""))


def plain_name(name: object, where: Path) -> str:
    """A file name that stays in its directory, or an error."""
    if not isinstance(name, str) or "\0" in name or "/" in name or name in ("", ".", ".."):
        raise FormatError(f"{where}: names the file {name!r}, which is outside the graph: refused")
    return name


def check_catalog_size(size: int, path: Path) -> None:
    """Raise if a catalog is larger than any that was written."""
    if size > MAX_CATALOG_BYTES:
        raise FormatError(
            f"{path}: is larger than a catalog can be ({format_bytes(MAX_CATALOG_BYTES)}); restore "
            "or rebuild the graph"
        )


def read_catalog(folder: Path) -> Catalog:
    """Read and check ``graph.json`` of a graph directory."""
    path = folder / FILE_NAME
    try:
        raw = read_regular(path, MAX_CATALOG_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists():
            raise InputNotFoundError(f"{folder}: no such graph") from None
        raise FormatError(
            f"{folder}: not a graph (it has no {FILE_NAME}); build one with `penstock build`"
        ) from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
    check_catalog_size(len(raw), path)
    try:
        data = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorruptionError(f"{path}: not valid JSON ({error}); restore or rebuild it") from None
    if not isinstance(data, dict) or data.get("magic") != MAGIC:
        raise FormatError(f"{path}: not the catalog of a Penstock graph")
    version = data.get("format")
    found = version.get("read") if isinstance(version, dict) else None
    if not isinstance(found, int) or not 1 <= found <= READ_VERSION:
        raise FormatError(
            f"{path}: needs format version {found}; this Penstock reads up to {READ_VERSION}: "
            "upgrade penstock"
        )
    if raw[-SEAL_BYTES:] != seal(raw[:-SEAL_BYTES]).encode():
        raise CorruptionError(f"{path}: its checksum does not match; it was edited or damaged")
    try:
        catalog = _from_data(data, path)
        _check_values(catalog)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, FormatError):
            raise
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise FormatError(f"{path}: a field is missing or wrong: {what}") from None
    return catalog


def _from_data(data: dict[str, Any], path: Path) -> Catalog:
    columns = []
    for item in data["columns"]:
        if item["dtype"] not in COLUMN_DTYPES:
            raise FormatError(f"{path}: edge column type {item['dtype']!r} is not known")
        columns.append(Column(str(item["name"]), np.dtype(item["dtype"]).newbyteorder("<")))
    ids = known_fields(IdSpec, data["ids"])
    for name in (ids.file, data["order_file"], *data["files"]):
        if name is not None:
            plain_name(name, path)
    directions: dict[Direction, DirectionStats] = {}
    for name, stats in data["directions"].items():
        if name not in get_args(Direction):
            raise FormatError(f"{path}: direction {name!r} is not known")
        stats["degree_histogram"] = tuple(stats["degree_histogram"])
        directions[name] = known_fields(DirectionStats, stats)
    changed = {
        "tag": int(data["tag"], 16),
        "columns": tuple(columns),
        "bands": tuple(data["bands"]),
        "ids": ids,
        "directions": directions,
        "files": {name: known_fields(FileRecord, record) for name, record in data["files"].items()},
    }
    catalog: Catalog = known_fields(Catalog, {**data, **changed})
    return catalog


def known_fields(kind: type[Any], data: dict[str, Any]) -> Any:
    """Make a dataclass of the fields it has; others are from a later version."""
    return kind(**{name: data[name] for name in kind.__dataclass_fields__})


def _check_values(catalog: Catalog) -> None:
    """Raise a ValueError if some value cannot be, or contradicts another."""
    check_whole("num_vertices", catalog.num_vertices, 0, MAX_VERTICES)
    check_whole("num_edges", catalog.num_edges, 0)
    check_whole("num_stripes", catalog.num_stripes, 1, MAX_STRIPES)
    check_whole("page_bytes", catalog.page_bytes, MIN_PAGE_BYTES, MAX_PAGE_BYTES)
    check_whole("ids.first", catalog.ids.first, 0)
    for stats in catalog.directions.values():
        for name in DirectionStats.__dataclass_fields__:
            values = getattr(stats, name)
            for value in values if name == "degree_histogram" else (values,):
                check_whole(name, value, 0)
    for record in catalog.files.values():
        check_whole("bytes", record.bytes, 0)
    names = [column.name for column in catalog.columns]
    ids = catalog.ids
    bands = catalog.bands
    widths_ok = (
        bands == () and catalog.p in (2, 3, 4) and catalog.q in (2, 3, 4)
        if catalog.layout == "slotted"
        else bands in ((2,), (3,), (4,), (2, 3), (2, 3, 4))
    )
    rules = {
        "page_bytes is not a multiple of 4096": catalog.page_bytes % 4096 == 0,
        f"layout {catalog.layout!r} is not known": catalog.layout in LAYOUTS,
        "bands, p and q do not go with the layout": widths_ok,
        "directed is neither true nor false": isinstance(catalog.directed, bool),
        "there are no lists": len(catalog.directions) > 0,
        "an undirected graph has out-lists only": catalog.directed
        or list(catalog.directions) == ["out"],
        "two columns have the same name": len(set(names)) == len(names),
        "the weight is no column": catalog.weight is None or catalog.weight in names,
        f"ids of kind {ids.kind!r} are not known": ids.kind in ("range", "int", "string"),
        f"ids of kind {ids.kind!r} are not in {ids.file!r}": ids.file == _ID_FILES.get(ids.kind),
        "the range of ids does not end below 2**63": ids.first + catalog.num_vertices <= 1 << 63,
        f"order_file is {catalog.order_file!r}": catalog.order_file in (None, ORDER_FILE),
        "an index file is not listed": set(catalog.index_files()) <= set(catalog.files),
        f"vertex_order {catalog.vertex_order!r} is not known": (
            catalog.vertex_order in VERTEX_ORDERS
        ),
        f"neighbour_order {catalog.neighbour_order!r} is not known": (
            catalog.neighbour_order in NEIGHBOUR_ORDERS
        ),
        "rules are no object": isinstance(catalog.rules, dict),
    }
    for what, holds in rules.items():
        if not holds:
            raise ValueError(what)
    for name, known in (("duplicates", DUPLICATE_RULES), ("self_loops", LOOP_RULES)):
        if catalog.rules.get(name) not in known:
            raise ValueError(
                f"rules.{name} is {catalog.rules.get(name)!r}, expected {', '.join(known)}"
            )
        check_whole(f"rules.{name}_dropped", catalog.rules.get(f"{name}_dropped", 0), 0)


def check_whole(name: str, value: object, low: int, high: int = (1 << 63) - 1) -> int:
    """The value; raises a ValueError if it is no whole number within these bounds."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} is {value!r}, expected a whole number from {low} to {high}")
    return value

"""``live.json``: what the directory of a live graph says about itself.

It is replaced as a whole at each compaction, by a rename. Versions and the checksum at its end are
those of ``graph.json`` (``store.catalog``).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from penstock.dynamic.disk import Disk
from penstock.errors import CorruptionError, FormatError, InputNotFoundError
from penstock.store.catalog import (
    SEAL_BYTES,
    FileRecord,
    check_catalog_size,
    check_whole,
    known_fields,
    plain_name,
    seal,
)
from penstock.store.layout import Column
from penstock.types import COLUMN_DTYPES, MAX_VERTICES, IdKind

MAGIC = "penstock live graph"
#: Version 2: `reverse` may be null. In version 1 false was what is null now.
READ_VERSION = 2
WRITE_VERSION = 2
FILE_NAME = "live.json"


@dataclass(frozen=True, slots=True)
class LiveSchema:
    """What a live graph is from its creation on."""

    directed: bool = True
    #: Whether a directed graph keeps its in-lists, too: from the beginning, never, or (None) from
    #: when they are first needed.
    reverse: bool | None = None
    multigraph: bool = False
    #: None: not known yet; the first batch of the log decides.
    ids: IdKind | None = None
    columns: tuple[Column, ...] = ()
    vertex_columns: tuple[Column, ...] = ()
    #: The edge column that is the weight.
    weight: str | None = None


@dataclass(frozen=True, slots=True)
class BaseRecord:
    """The static store that holds all up to the last compaction."""

    name: str
    #: Of the store's own catalog.
    tag: int
    num_vertices: int
    num_edges: int


@dataclass(frozen=True, slots=True)
class LiveCatalog:
    """Everything in ``live.json``."""

    tag: int
    #: How often the graph was published; names of files end in it.
    generation: int
    schema: LiveSchema
    base: BaseRecord | None
    log: str
    #: Every log has its own, so that no record of an earlier one can be taken for one of its own.
    log_tag: int
    #: Files of the vertex columns, in their order, with the values of the base's vertices; or none.
    files: dict[str, FileRecord] = field(default_factory=dict)
    written_by: str = ""

    def to_json(self) -> str:
        """The text of ``live.json``."""
        data = asdict(self)
        for name in ("columns", "vertex_columns"):
            data["schema"][name] = [
                {"name": c.name, "dtype": c.dtype.name} for c in getattr(self.schema, name)
            ]
        data["tag"] = f"{self.tag:016x}"
        data["log_tag"] = f"{self.log_tag:016x}"
        if self.base is not None:
            data["base"]["tag"] = f"{self.base.tag:016x}"
        data = {"magic": MAGIC, "format": {"read": READ_VERSION, "write": WRITE_VERSION}, **data}
        text = json.dumps(data, indent=1).removesuffix("\n}") + ",\n"
        return text + seal(text.encode())


def read_live_catalog(folder: Path, disk: Disk, *, write: bool = False) -> LiveCatalog:
    """Read and check ``live.json``; ``write``: the graph is going to be changed."""
    path = folder / FILE_NAME
    raw = _read(path, disk)
    try:
        data = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorruptionError(f"{path}: not valid JSON ({error}); restore it from a copy") from None
    if not isinstance(data, dict) or data.get("magic") != MAGIC:
        raise FormatError(f"{path}: not the catalog of a live graph")
    versions = data.get("format")
    for use, known in (("read", READ_VERSION), ("write", WRITE_VERSION)):
        found = versions.get(use) if isinstance(versions, dict) else None
        needed = use == "read" or write
        if needed and (not isinstance(found, int) or not 1 <= found <= known):
            raise FormatError(
                f"{path}: needs format version {found} to {use}; this Penstock knows up to "
                f"{known}: upgrade penstock" + ("" if use == "read" else ", or open it read-only")
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


def _read(path: Path, disk: Disk) -> bytes:
    folder = path.parent
    try:
        file = disk.open(path)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists():
            raise InputNotFoundError(f"{folder}: no such live graph") from None
        raise FormatError(
            f"{folder}: not a live graph (it has no {FILE_NAME}); if making it was interrupted, "
            "make it again"
        ) from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        check_catalog_size(file.size(), path)
        return file.read(0, file.size()).tobytes()
    except OSError as error:
        raise CorruptionError(f"{path}: cannot be read: {error.strerror}") from None
    finally:
        file.close()


def _columns(items: list[dict[str, str]], path: Path) -> tuple[Column, ...]:
    columns = []
    for item in items:
        if item["dtype"] not in COLUMN_DTYPES:
            raise FormatError(f"{path}: column type {item['dtype']!r} is not known")
        columns.append(Column(str(item["name"]), np.dtype(item["dtype"]).newbyteorder("<")))
    return tuple(columns)


def _from_data(data: dict[str, Any], path: Path) -> LiveCatalog:
    schema = dict(data["schema"])
    if data["format"]["read"] == 1 and schema["reverse"] is False:
        schema["reverse"] = None
    for name in ("columns", "vertex_columns"):
        schema[name] = _columns(schema[name], path)
    base = None
    if data["base"] is not None:
        base = known_fields(BaseRecord, {**data["base"], "tag": int(data["base"]["tag"], 16)})
    for name in (data["log"], *data["files"], *(() if base is None else (base.name,))):
        plain_name(name, path)
    changed = {
        "tag": int(data["tag"], 16),
        "log_tag": int(data["log_tag"], 16),
        "schema": known_fields(LiveSchema, schema),
        "base": base,
        "files": {name: known_fields(FileRecord, item) for name, item in data["files"].items()},
    }
    catalog: LiveCatalog = known_fields(LiveCatalog, {**data, **changed})
    return catalog


def _check_values(catalog: LiveCatalog) -> None:
    """Raise a ValueError if some value cannot be, or contradicts another."""
    schema, base = catalog.schema, catalog.base
    check_whole("generation", catalog.generation, 0)
    if base is not None:
        check_whole("base.num_vertices", base.num_vertices, 0, MAX_VERTICES)
        check_whole("base.num_edges", base.num_edges, 0)
    for record in catalog.files.values():
        check_whole("bytes", record.bytes, 0)
    edge_names = [column.name for column in schema.columns]
    vertex_names = [column.name for column in schema.vertex_columns]
    flags = (schema.directed, schema.multigraph)
    rules = {
        "directed or multigraph is neither true nor false": all(
            isinstance(flag, bool) for flag in flags
        ),
        "reverse is neither true, false nor null": isinstance(schema.reverse, bool | None),
        f"ids of kind {schema.ids!r} are not known": schema.ids in (None, *get_args(IdKind)),
        "two columns have the same name": len(set(edge_names)) == len(edge_names)
        and len(set(vertex_names)) == len(vertex_names),
        "the weight is no column": schema.weight is None or schema.weight in edge_names,
        "there is not one file for each vertex column": len(catalog.files)
        in (0, len(vertex_names)),
    }
    for what, holds in rules.items():
        if not holds:
            raise ValueError(what)

"""Reading results that were written in parts: see :mod:`penstock.distributed.result_parts`."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.distributed.result_parts import DOCUMENT, FORMAT, VERSION
from penstock.engine.result import Result
from penstock.engine.result_columns import ArrayIds, Column
from penstock.errors import CorruptionError, FormatError, InputNotFoundError
from penstock.types import Array

if TYPE_CHECKING:
    import pyarrow as pa


def read_parts(folder: str | os.PathLike[str], *, verify: bool = False) -> Result:
    """A result that a run over hosts has written with ``out=``.

    The statistics of the run are there at once; ids and values are read, and put in the order of
    ids, when they are first used.

    Parameters
    ----------
    folder
        The folder with ``result.json``.
    verify
        Compare the checksums of all parts first.
    """
    parts = _Parts(Path(folder))
    if verify:
        parts.verify()
    columns = {name: _PartColumn(parts, name) for name in parts.dtypes}
    found = parts.document
    return Result(
        found["name"], _PartIds(parts), columns, id_name=found["id_name"], stats=found["stats"],
        iterations=found["iterations"],
    )  # fmt: skip


class _Parts:
    """The files of a result. Columns are read one at a time, and one file after another."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.document: Mapping[str, Any] = _read_document(folder)
        self.rows = sum(int(each["rows"]) for each in self.document["parts"])
        self.dtypes = {name: np.dtype(kind) for name, kind in self.document["columns"].items()}
        self.id_dtype = np.dtype(self.document["id_dtype"])

    def verify(self) -> None:
        """Raise if a part is not what was written."""
        for each in self.document["parts"]:
            with open(self._path(each), "rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != each["sha256"]:
                raise CorruptionError(
                    f"{self._folder / each['file']}: its SHA-256 is {found[:16]}..., and "
                    f"{DOCUMENT} says {each['sha256'][:16]}...: it was changed or damaged after it "
                    "was written; run again"
                )

    def _path(self, part: Mapping[str, Any]) -> Path:
        path = self._folder / Path(part["file"]).name
        if not path.is_file():
            raise InputNotFoundError(
                f"{path}: is not here; rank {part['rank']} wrote it on {part['host']}: copy it "
                f"from {part['host']}, or read it there"
            )
        size = path.stat().st_size
        if size != part["bytes"]:
            raise CorruptionError(
                f"{path}: has {size:,} bytes, and {DOCUMENT} says {part['bytes']:,}; run again"
            )
        return path

    def _read(self, name: str, dtype: np.dtype[Any]) -> Array:
        import pyarrow.parquet as pq

        found: Array = np.empty(self.rows, dtype)
        at = 0
        for each in self.document["parts"]:
            for batch in pq.ParquetFile(self._path(each)).iter_batches(columns=[name]):
                found[at : at + len(batch)] = _entries(batch.column(0), dtype)
                at += len(batch)
        return found

    @cached_property
    def _ids_in_order(self) -> tuple[Array, Array]:
        """The ids, ascending, and the row of each in the files one after another."""
        ids = self._read(self.document["id_name"], self.id_dtype)
        order = np.argsort(ids, kind="stable")
        return ids[order], order

    @property
    def ids(self) -> Array:
        """The user's ids, ascending."""
        return self._ids_in_order[0]

    def arrow_type(self, name: str) -> pa.DataType:
        """The type of a column, in the files."""
        import pyarrow.parquet as pq

        schema = pq.read_schema(self._path(self.document["parts"][0]))
        return schema.field(name).type

    def column(self, name: str) -> Array:
        """A column, in the order of ids."""
        return self._read(name, self.dtypes[name])[self._ids_in_order[1]]


def _entries(column: pa.Array, dtype: np.dtype[Any]) -> Any:
    if dtype == np.dtype(object):
        return column.to_pylist()
    return column.to_numpy(zero_copy_only=False)


class _PartColumn(Column):
    """A column that is read when it is first used."""

    def __init__(self, parts: _Parts, name: str) -> None:
        super().__init__(lambda: parts.column(name), parts.rows)
        self._parts = parts
        self._name = name

    @cached_property
    def arrow_type(self) -> pa.DataType:
        """What it is in the files."""
        return self._parts.arrow_type(self._name)


class _PartIds:
    """The ids of a result in parts, which are read when they are first used."""

    def __init__(self, parts: _Parts) -> None:
        self._parts = parts
        self.dtype = parts.id_dtype

    @cached_property
    def _ids(self) -> ArrayIds:
        return ArrayIds(self._parts.ids)

    def __len__(self) -> int:
        return self._parts.rows

    def whole(self) -> Array:
        """All of them."""
        return self._ids.whole()

    def part(self, begin: int, end: int) -> Array:
        """Those of some consecutive ranks."""
        return self._ids.part(begin, end)

    def take(self, ranks: Array) -> Array:
        """Those of some ranks."""
        return self._ids.take(ranks)

    def rank(self, vertex: object) -> int | None:
        """The rank of an id, if it is one of these."""
        return self._ids.rank(vertex)

    def arrow(self, begin: int, end: int) -> pa.Array:
        """Those of some consecutive ranks, for Arrow."""
        return self._ids.arrow(begin, end)


def _read_document(folder: Path) -> Mapping[str, Any]:
    path = folder / DOCUMENT
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise InputNotFoundError(
            f"{path}: cannot be read ({error.strerror}); a result in parts has it, and a folder "
            "without it is not a whole result"
        ) from None
    except ValueError as error:
        raise FormatError(f"{path}: is not JSON ({error}); run again") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FormatError(f"{path}: does not describe a result in parts")
    if found.get("version") != VERSION:
        raise FormatError(
            f"{path}: has version {found.get('version')!r} of the format, and this penstock reads "
            f"version {VERSION}; read it with the version that wrote it"
        )
    missing = {"name", "id_name", "id_dtype", "columns", "parts", "stats", "iterations"} - {*found}
    if missing:
        raise FormatError(f"{path}: has no {', '.join(sorted(missing))}; it was changed: run again")
    return found

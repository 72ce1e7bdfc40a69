"""What a user gives to change a graph: checked before anything happens, and as the log keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.dynamic.ids import Ids
from penstock.errors import InputError, OptionError
from penstock.store.layout import Column
from penstock.types import I64, U8, Array, IdKind

#: Rows that a batch may have: both directions of them are counted in 32 bits.
MOST_ROWS = (1 << 31) - 1
#: Kinds of records in the log.
EDGES, VERTICES = 1, 2


@dataclass(frozen=True, slots=True)
class EdgeBatch:
    """Edges to add and delete: row i adds if ``adds[i]``, or if there is no ``adds``."""

    src: Array
    dst: Array
    adds: U8 | None
    #: In the order of the graph's columns.
    columns: tuple[Array, ...]

    def __len__(self) -> int:
        return len(self.src)


@dataclass(frozen=True, slots=True)
class VertexBatch:
    """Vertices to have, and values of a vertex column for them (``column`` -1: none)."""

    ids: Array
    column: int
    values: Array

    def __len__(self) -> int:
        return len(self.ids)


Batch = EdgeBatch | VertexBatch


def check_edges(
    ids: Ids,
    src: Any,
    dst: Any,
    adds: Any,
    properties: Mapping[str, Any] | None,
    columns: Sequence[Column],
) -> EdgeBatch:
    """A batch of what a user gave, or an error that says what is wrong with it."""
    checked = (ids.check(src, "src"), ids.check(dst, "dst"))
    rows = len(checked[0])
    if rows > MOST_ROWS:
        raise InputError(f"src: has {rows:,} rows; give {MOST_ROWS:,} at a time at most")
    if len(checked[1]) != rows:
        raise InputError(
            f"dst: has {len(checked[1]):,} rows and src {rows:,}; give as many targets as sources"
        )
    ops: U8 | None = None
    if adds is not None:
        given: Array = np.asarray(adds)
        if given.shape == ():
            given = np.broadcast_to(given, rows)
        if given.shape != (rows,) or given.dtype.kind not in "biu":
            raise InputError(
                f"adds: expected {rows:,} truth values, got {given.dtype} of shape {given.shape}"
            )
        ops = (given != 0).astype(np.uint8)
    given_values = dict(properties or {})
    names = [column.name for column in columns]
    for name in given_values:
        if name not in names:
            raise OptionError(
                f"properties: edges have no property {name!r} (they have: "
                f"{', '.join(names) or 'none'}); name it in edge_properties= when the graph is made"
            )
    wanted = tuple(
        check_values(given_values.get(column.name), column, rows, "edge") for column in columns
    )
    return EdgeBatch(*checked, ops, wanted)


def check_values(values: Any, column: Column, rows: int, what: str) -> Array:
    """The values of a property, as they are kept; those that are not given are zero."""
    if values is None:
        return np.zeros(rows, column.dtype)
    array: Array = np.asarray(values)
    name = f"{what} property {column.name!r}"
    if array.shape == ():
        array = np.broadcast_to(array, rows)
    if array.shape != (rows,):
        raise InputError(f"{name}: expected {rows:,} values, got an array of shape {array.shape}")
    if len(array) == 0:
        return np.zeros(0, column.dtype)
    if array.dtype.kind not in "biuf" or not (
        np.can_cast(array.dtype, column.dtype, "same_kind")
        or (array.dtype.kind in "iu" and column.dtype.kind in "iu")
    ):
        raise InputError(
            f"{name}: is {column.dtype}, got {array.dtype}; convert the values, for instance with "
            f"values.astype({column.dtype.name!r})"
        )
    if column.dtype.kind in "iu":
        limits = np.iinfo(column.dtype)
        low, high = int(array.min()), int(array.max())
        if low < limits.min or high > limits.max:
            raise InputError(
                f"{name}: is {column.dtype}, got {low if low < limits.min else high}, which it "
                "cannot hold"
            )
    with np.errstate(over="ignore"):
        kept = np.ascontiguousarray(array, column.dtype)
    lost = np.isinf(kept) & ~np.isinf(array) if column.dtype.kind == "f" else np.zeros(0, bool)
    if lost.any():
        raise InputError(
            f"{name}: is {column.dtype}, got {array[int(np.argmax(lost))]}, which it cannot hold"
        )
    return kept


# The log


def encode(batch: Batch, kind: IdKind) -> tuple[int, list[Array]]:
    """A batch as a record: its kind, and arrays that say everything."""
    if isinstance(batch, VertexBatch):
        head = np.array([kind == "string", batch.column], np.int64)
        return VERTICES, [head, *_spell(batch.ids, kind), batch.values]
    head = np.array([kind == "string", batch.adds is not None], np.int64)
    ops = [] if batch.adds is None else [batch.adds]
    return EDGES, [head, *_spell(batch.src, kind), *_spell(batch.dst, kind), *ops, *batch.columns]


def decode(
    kind: int, arrays: Sequence[Array], columns: Sequence[Column], vertex_columns: Sequence[Column]
) -> tuple[Batch, IdKind]:
    """What :func:`encode` made a record of; raises a ValueError if it cannot have made it. The
    columns are those that edges and vertices of the graph have.
    """
    if kind not in (EDGES, VERTICES) or len(arrays) < 2 or len(arrays[0]) != 2:
        raise ValueError(f"records of kind {kind} with {len(arrays)} arrays are not known")
    (is_string, second), rest = arrays[0].tolist(), list(arrays[1:])
    ids: IdKind = "string" if is_string else "int"
    if kind == VERTICES:
        batch = VertexBatch(_read(rest, ids), second, rest[0] if rest else arrays[0])
        if not -1 <= second < len(vertex_columns) or len(rest) != 1:
            raise ValueError(f"there is no vertex column {second}")
        if second >= 0:
            _check_like(rest, [vertex_columns[second].dtype], len(batch.ids))
        return batch, ids
    src, dst = _read(rest, ids), _read(rest, ids)
    ops = rest.pop(0) if second and rest else None
    _check_like([src, dst], [src.dtype, src.dtype], len(src))
    _check_like([] if ops is None else [ops], [np.dtype(np.uint8)][: bool(second)], len(src))
    _check_like(rest, [column.dtype for column in columns], len(src))
    if len(src) > MOST_ROWS:
        raise ValueError(f"a batch of {len(src):,} rows")
    return EdgeBatch(src, dst, ops, tuple(rest)), ids


def _check_like(arrays: Sequence[Array], dtypes: Sequence[np.dtype[Any]], rows: int) -> None:
    """Raise a ValueError unless there is an array of so many rows of each of these types."""
    found = [(array.dtype, len(array)) for array in arrays]
    if found != [(dtype, rows) for dtype in dtypes]:
        raise ValueError(f"arrays {found}, expected {rows:,} rows of {[str(d) for d in dtypes]}")


def _spell(ids: Array, kind: IdKind) -> list[Array]:
    if kind == "int":
        return [ids]
    encoded = [each.encode() for each in ids]
    ends: I64 = np.cumsum([len(each) for each in encoded], dtype=np.int64)
    return [ends, np.frombuffer(b"".join(encoded), np.uint8)]


def _read(arrays: list[Array], kind: IdKind) -> Array:
    """Take ids from the front of a list of arrays."""
    if not arrays or arrays[0].dtype != (np.uint64 if kind == "int" else np.int64):
        raise ValueError("ids are missing or of another type")
    if kind == "int":
        return arrays.pop(0)
    ends, data = arrays.pop(0).tolist(), arrays.pop(0).tobytes() if arrays else b""
    starts = [0, *ends[:-1]]
    if starts[0] != 0 or sorted(ends) != ends or (ends and (ends[-1] != len(data) or ends[0] < 0)):
        raise ValueError("the strings of ids do not follow each other")
    found: Array = np.empty(len(ends), object)
    found[:] = [data[a:b].decode() for a, b in zip(starts, ends, strict=True)]
    return found

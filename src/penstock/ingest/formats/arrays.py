"""Arrays in memory: (src, dst[, weight]) columns, an (m, 2 or 3) array, SciPy sparse matrices.

Ids are integers of any width or strings. The third column is the weight unless ``weights=False``.
A sparse matrix must be square; its vertices are 0 .. n-1, all of them; each stored entry is an
edge from its row to its column, an explicit zero too, and its value is the weight unless the
matrix is boolean.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.errors import IdError, InputError, OptionError
from penstock.ingest.formats._columns import WEIGHT, refuse_columns, wants_weight
from penstock.ingest.formats._values import (
    check_weight,
    column_dtype,
    expand,
    integer_ids,
    name_ids,
    settle,
)
from penstock.protocols import Advance, ReadOptions, Source
from penstock.types import U64, Array, EdgeChunk, IdKind, Names

NAME = "arrays"
SUFFIXES: tuple[str, ...] = ()

_SHAPES = "(src, dst) or (src, dst, weight) arrays, or an array with 2 or 3 columns"
_STRING_KINDS = "OUST"


def accepts(data: object) -> bool:
    """Whether it is a tuple, list or array, or a sparse matrix."""
    return isinstance(data, tuple | list | np.ndarray) or _is_sparse(data)


def _is_sparse(data: object) -> bool:
    module = type(data).__module__
    return module.startswith("scipy.sparse") and hasattr(data, "tocoo")


def open_source(data: Any, options: ReadOptions) -> Source:
    """Open arrays or a sparse matrix; nothing is copied as a whole."""
    refuse_columns(options, "arrays", strings=not _is_sparse(data))
    if _is_sparse(data):
        return _open_sparse(data, options)
    source, target, *rest = _columns(data, as_strings=options.ids == "string")
    if len(source) != len(target) or any(len(source) != len(column) for column in rest):
        lengths = ", ".join(str(len(column)) for column in (source, target, *rest))
        raise InputError(f"arrays: all must have the same length, got {lengths}")
    weight = rest[0] if wants_weight(options, "arrays", present=bool(rest)) else None
    kinds = [_kind(source, "src"), _kind(target, "dst")]
    if options.ids is None and kinds[0] != kinds[1]:
        raise IdError(
            f"arrays: src holds {_words(kinds[0])} but dst holds {_words(kinds[1])}; "
            "pass ids='string' (--ids string) to read both as strings"
        )
    kind = options.ids or kinds[0]

    def rows(start: int, stop: int) -> tuple[U64 | Names, U64 | Names, Array | None]:
        part = slice(start, stop)
        return (
            _ids(source[part], kind, "src", start),
            _ids(target[part], kind, "dst", start),
            None if weight is None else weight[part],
        )

    return _source(len(source), rows, weight, options, kind)


def _source(
    num_edges: int,
    rows: Callable[[int, int], tuple[U64 | Names, U64 | Names, Array | None]],
    weight: Array | None,
    options: ReadOptions,
    kind: IdKind,
    declared: range | None = None,
) -> Source:
    """A source whose rows from ``start`` to ``stop`` are had by asking."""
    dtype = None if weight is None else column_dtype(weight.dtype, WEIGHT)

    def chunks(advance: Advance) -> Iterator[EdgeChunk]:
        for start in range(0, num_edges, options.chunk_rows):
            stop = min(start + options.chunk_rows, num_edges)
            source, target, values = rows(start, stop)
            columns = {}
            if values is not None:
                check_weight(values, "arrays", start)
                columns[WEIGHT] = settle(values, dtype)
            yield EdgeChunk(source, target, columns)
            advance(stop - start)

    return Source(
        chunks=chunks,
        size=num_edges,
        unit="edges",
        id_kind=kind,
        columns={} if weight is None else {WEIGHT: dtype},
        weight=None if weight is None else WEIGHT,
        declared=declared,
        cheap_to_repeat=True,
        name="arrays",
    )


def _columns(data: Any, *, as_strings: bool) -> list[Array]:
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or data.shape[1] not in (2, 3):
            raise OptionError(f"arrays: expected {_SHAPES}, got one of shape {data.shape}")
        return [data[:, i] for i in range(data.shape[1])]
    if any(isinstance(column, tuple) for column in data):
        raise OptionError(
            f"arrays: expected {_SHAPES}, got a {type(data).__name__} with tuples in it; "
            "pass edges that are pairs as numpy.array(pairs)"
        )
    if len(data) not in (2, 3):
        raise OptionError(f"arrays: expected {_SHAPES}, got {len(data)} items")
    columns = []
    for name, column in zip(("src", "dst", WEIGHT), data, strict=False):
        if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
            raise OptionError(f"arrays: expected {_SHAPES}, got {type(column).__name__} as {name}")
        try:
            array = np.asarray(column)
        except ValueError as error:
            raise InputError(f"arrays: {name} cannot be made an array: {error}") from None
        if array.ndim != 1:
            raise OptionError(f"arrays: {name} must have one dimension, got shape {array.shape}")
        columns.append(
            array if name == WEIGHT else _exact(array, column, name, as_strings=as_strings)
        )
    return columns


def _exact(array: Array, column: Any, name: str, *, as_strings: bool) -> Array:
    """Large integers may have come out as floats or objects; then read them one by one."""
    if array.size == 0:
        return array.astype(np.uint64)
    from_integers = array.dtype.kind == "f" and not hasattr(column, "dtype")
    if array.dtype.kind == "O" or from_integers:
        try:
            return np.fromiter((operator.index(item) for item in column), np.uint64, len(array))
        except TypeError:
            return array
        except OverflowError:
            if not as_strings:
                raise IdError(
                    f"{name}: an id is negative or not below 2**64; "
                    "pass ids='string' (--ids string) if ids may be like that"
                ) from None
    return array


def _kind(array: Array, what: str) -> IdKind:
    if array.dtype.kind in "iu":
        return "int"
    if array.dtype.kind in _STRING_KINDS:
        return "string"
    raise IdError(
        f"{what}: vertex ids must be integers or strings, got {array.dtype}; convert them first"
    )


def _words(kind: IdKind) -> str:
    return "integers" if kind == "int" else "strings"


def _ids(array: Array, kind: IdKind, what: str, first_row: int) -> U64 | Names:
    if kind == "int" and array.dtype.kind in "iu":
        return integer_ids(array, what, first_row)
    import pyarrow as pa

    if array.dtype.kind == "T":
        array = array.astype(object)
    try:
        column = pa.array(array)
        if kind == "int":
            column = column.cast(pa.uint64())
    except (pa.ArrowException, TypeError, OverflowError, ValueError) as error:
        raise IdError(f"{what}: cannot be read as {_words(kind)}: {error}") from None
    if kind == "int":
        return integer_ids(column.to_numpy(zero_copy_only=False), what, first_row)
    if pa.types.is_floating(column.type) or pa.types.is_boolean(column.type):
        raise IdError(f"{what}: vertex ids must be integers or strings, got {column.type}")
    return name_ids(column, what, first_row)


def _open_sparse(matrix: Any, options: ReadOptions) -> Source:
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"sparse matrix: expected a square one, got shape {matrix.shape}")
    n = int(matrix.shape[0])
    if matrix.format not in ("csr", "csc", "coo"):
        matrix = matrix.tocoo()
    has_weight = wants_weight(
        options, "sparse matrix", present=True, habit=matrix.data.dtype != np.bool_
    )
    weight = matrix.data if has_weight else None
    offsets = None if matrix.format == "coo" else matrix.indptr.astype(np.int64, copy=False)

    def ids(array: Array, start: int) -> U64:
        found = integer_ids(array, "sparse matrix", start)
        if len(found) and found.max() >= n:
            raise IdError(f"sparse matrix: index {found.max()} is outside of its shape {n} x {n}")
        return found

    def rows(start: int, stop: int) -> tuple[U64 | Names, U64 | Names, Array | None]:
        if offsets is None:
            ends = (ids(matrix.row[start:stop], start), ids(matrix.col[start:stop], start))
        else:
            owners = expand(offsets, 0, start, stop)
            others = ids(matrix.indices[start:stop], start)
            ends = (owners, others) if matrix.format == "csr" else (others, owners)
        return (*ends, None if weight is None else weight[start:stop])

    return _source(int(matrix.nnz), rows, weight, options, "int", range(n))

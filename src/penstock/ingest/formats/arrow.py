"""Tables: Parquet and Arrow files, Arrow's datasets, and in memory Arrow, pandas, polars and
whatever gives an Arrow stream (``__arrow_c_stream__``).

The first two columns are source and target unless ``source`` and ``target`` say otherwise.
``weights=True`` is the column called "weight", or the third if there is none. Ids are integers or
strings (categories count as what they stand for); edge columns keep their type. Tables are read in
batches; of a file, only the columns that are needed. A reader that cannot be rewound is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.errors import IdError, InputError
from penstock.ingest.formats._columns import WEIGHT, Columns, choose
from penstock.ingest.formats._tabular import Table, is_dataset, open_memory, open_table_file
from penstock.ingest.formats._values import (
    check_weight,
    column_dtype,
    integer_ids,
    name_ids,
    require_values,
    settle,
)
from penstock.protocols import ReadOptions, Source
from penstock.types import U64, Array, EdgeChunk, IdKind, Names

NAME = "arrow"
SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".ipc")


def accepts(data: object) -> bool:
    """Whether it is a table of some kind."""
    kind = type(data)
    if kind.__module__.partition(".")[0] in ("pandas", "polars"):
        return kind.__name__ in ("DataFrame", "LazyFrame")
    streams = hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "__arrow_c_array__")
    return streams or is_dataset(data)


def open_source(data: Any, options: ReadOptions) -> Source:
    """Open table files (all with the same columns) or one table in memory."""
    if isinstance(data, list):
        tables = [open_table_file(path) for path in data]
    else:
        tables = [open_memory(data)]
    first = tables[0]
    columns = _choose(first, options)
    kind = _common_kind(first, columns, options)
    dtypes = _dtypes(first, columns)

    def chunks(advance: Callable[[float], None]) -> Iterator[EdgeChunk]:
        for table in tables:
            yield from _read(table, columns, dtypes, kind, options, advance)

    sizes = [table.num_rows for table in tables]
    return Source(
        chunks=chunks,
        size=None if None in sizes else sum(filter(None, sizes)),
        unit="edges",
        id_kind=kind,
        columns=dict(dtypes),
        weight=columns.weight,
        cheap_to_repeat=all(table.cheap_to_repeat for table in tables),
        name=first.name if len(tables) == 1 else f"{len(tables)} files",
    )


def _choose(table: Table, options: ReadOptions) -> Columns:
    usual = table.names.index(WEIGHT) if WEIGHT in table.names else 2
    return choose(options, table.names, len(table.names), table.name, usual)


def _what(table: Table, position: int) -> str:
    return f"{table.name}: column {table.names[position]!r}"


def _plain(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _kind(table: Table, position: int) -> IdKind:
    from pyarrow import types

    kind = _plain(table.types[position])
    if types.is_integer(kind):
        return "int"
    strings = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary)
    binaries = (types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    if any(test(kind) for test in (*strings, *binaries)):
        return "string"
    if types.is_null(kind):
        raise InputError(
            f"{_what(table, position)} has no values, or values of several types, or integers that "
            "are negative and not below 2**63; convert it first, such as with astype(str)"
        )
    raise IdError(
        f"{_what(table, position)}: vertex ids must be integers or strings, got {kind}; "
        "convert them first"
    )


def _common_kind(table: Table, columns: Columns, options: ReadOptions) -> IdKind:
    source, target = _kind(table, columns.source), _kind(table, columns.target)
    if options.ids is not None:
        return options.ids
    if source != target:
        raise IdError(
            f"{_what(table, columns.source)} and column {table.names[columns.target]!r} hold "
            "integers and strings; pass ids='string' (--ids string) to read both as strings"
        )
    return source


def _dtypes(table: Table, columns: Columns) -> dict[str, np.dtype[Any]]:
    import pyarrow as pa

    dtypes = {}
    for position, name in zip(columns.values, columns.names, strict=True):
        kind = _plain(table.types[position])
        what = _what(table, position)
        if pa.types.is_decimal(kind):
            dtypes[name] = np.dtype(np.float64)
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            dtypes[name] = column_dtype(np.dtype(kind.to_pandas_dtype()), what)
        else:
            raise InputError(
                f"{what}: edge columns must hold numbers, got {kind}; convert it first"
            )
    return dtypes


def _read(
    table: Table,
    expected: Columns,
    dtypes: dict[str, np.dtype[Any]],
    kind: IdKind,
    options: ReadOptions,
    advance: Callable[[float], None],
) -> Iterator[EdgeChunk]:
    columns = _choose(table, options)
    if columns.names != expected.names or _dtypes(table, columns) != dtypes:
        wanted = ", ".join(f"{name} ({dtype})" for name, dtype in dtypes.items())
        raise InputError(f"{table.name}: expected the edge columns of the first file: {wanted}")
    if options.ids is None and _common_kind(table, columns, options) != kind:
        raise IdError(
            f"{table.name}: ids are of another kind than those of the first file; "
            "pass ids='string' (--ids string) to read all as strings"
        )
    positions = [columns.source, columns.target, *columns.values]
    row = 0
    for batch in table.batches(positions, options.chunk_rows):
        source, target, *values = (_decoded(column) for column in batch.columns)
        arrays = {}
        for i, (name, dtype) in enumerate(dtypes.items()):
            weight = i == 0 and columns.has_weight
            what = _what(table, columns.values[i])
            arrays[name] = _values(values[i], dtype, what, row, weight=weight)
        if len(batch):
            yield EdgeChunk(
                _ids(source, kind, _what(table, columns.source), row),
                _ids(target, kind, _what(table, columns.target), row),
                arrays,
            )
        advance(len(batch))
        row += len(batch)


def _decoded(column: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column
    values = column.dictionary
    if pa.types.is_string_view(values.type):
        # Arrow cannot take from these; polars has them for categories.
        values = values.cast(pa.large_string())
    return values.take(column.indices)


def _ids(column: Any, kind: IdKind, what: str, row: int) -> U64 | Names:
    import pyarrow as pa

    if kind == "string":
        return name_ids(column, what, row)
    require_values(column, what, row)
    if not pa.types.is_integer(column.type):
        try:
            column = column.cast(pa.large_string()).cast(pa.uint64())
        except pa.ArrowException as error:
            raise IdError(
                f"{what}: cannot be read as integers: {error}; pass ids='string' (--ids string)"
            ) from None
    return integer_ids(column.to_numpy(zero_copy_only=False), what, row)


def _values(column: Any, dtype: np.dtype[Any], what: str, row: int, *, weight: bool) -> Array:
    import pyarrow as pa

    if weight or dtype.kind != "f":
        require_values(column, what, row)
    try:
        column = column.cast(pa.from_numpy_dtype(dtype))
    except pa.ArrowException as error:
        raise InputError(f"{what}: not every value fits {dtype}: {error}") from None
    array = settle(column.to_numpy(zero_copy_only=False), dtype)
    if weight:
        check_weight(array, what, row)
    return array

"""Tables: Parquet and Arrow files, Arrow's datasets, and in memory Arrow, pandas, polars and
whatever gives an Arrow stream (``__arrow_c_stream__``).

``weights=True`` is the column called "weight", or the third if there is none. Ids are integers or
strings (categories count as what they stand for); edge columns keep their type. Tables are read in
batches; of a file, only the columns that are needed. A reader that cannot be rewound is read once.
Columns of several files are matched by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.errors import IdError, InputError
from penstock.ingest.formats._columns import Columns, choose, column_notes, like_first
from penstock.ingest.formats._skipping import check_skipped
from penstock.ingest.formats._table_rows import TableReader
from penstock.ingest.formats._tabular import Table, is_dataset, open_memory, open_table_file
from penstock.ingest.formats._values import column_dtype
from penstock.protocols import Advance, BadLines, ReadOptions, Source
from penstock.types import EdgeChunk, IdKind

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
    columns = choose(options, first.names, len(first.names), first.name)
    kind = _common_kind(first, columns, options)
    dtypes = _dtypes(first, columns)
    places = [like_first(columns, first.names, t.names, t.name, first.name) for t in tables]
    for table, here in zip(tables, places, strict=True):
        _check_like_first(table, here, dtypes, kind, options)
    bad_lines = BadLines()

    def chunks(advance: Advance) -> Iterator[EdgeChunk]:
        bad_lines.clear()
        good = 0
        for table, here in zip(tables, places, strict=True):
            for chunk in TableReader(table, here, kind, dtypes).read(options, bad_lines, advance):
                good += len(chunk)
                yield chunk
        check_skipped(bad_lines, good, options, name)

    sizes = [table.num_rows for table in tables]
    name = first.name if len(tables) == 1 else f"{len(tables)} files"
    return Source(
        chunks=chunks,
        size=None if None in sizes else sum(filter(None, sizes)),
        unit="edges",
        id_kind=kind,
        columns=dict(dtypes),
        weight=columns.weight,
        cheap_to_repeat=all(table.cheap_to_repeat for table in tables),
        bad_lines=bad_lines,
        name=name,
        notes=(column_notes(columns, first.names, first.name),),
    )


def _check_like_first(
    table: Table,
    columns: Columns,
    dtypes: dict[str, np.dtype[Any]],
    kind: IdKind,
    options: ReadOptions,
) -> None:
    """Raise if columns are not of the types that those of the first table have."""
    if _dtypes(table, columns) != dtypes:
        wanted = ", ".join(f"{name} ({dtype})" for name, dtype in dtypes.items())
        raise InputError(f"{table.name}: expected the edge columns of the first file: {wanted}")
    if _common_kind(table, columns, options) != kind:
        raise IdError(
            f"{table.name}: ids are of another kind than those of the first file; "
            "pass ids='string' (--ids string) to read all as strings"
        )


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
            f"{table.column_words(position)} has no values, or values of several types, or "
            "integers that are negative and not below 2**63; convert it first, such as with "
            "astype(str)"
        )
    raise IdError(
        f"{table.column_words(position)}: vertex ids must be integers or strings, got {kind}; "
        "convert them first"
    )


def _common_kind(table: Table, columns: Columns, options: ReadOptions) -> IdKind:
    source, target = _kind(table, columns.source), _kind(table, columns.target)
    if options.ids is not None:
        return options.ids
    if source != target:
        raise IdError(
            f"{table.column_words(columns.source)} and column {table.names[columns.target]!r} hold "
            "integers and strings; pass ids='string' (--ids string) to read both as strings"
        )
    return source


def _dtypes(table: Table, columns: Columns) -> dict[str, np.dtype[Any]]:
    import pyarrow as pa

    dtypes = {}
    for position, name in zip(columns.values, columns.names, strict=True):
        kind = _plain(table.types[position])
        what = table.column_words(position)
        if pa.types.is_decimal(kind):
            dtypes[name] = np.dtype(np.float64)
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            dtypes[name] = column_dtype(np.dtype(kind.to_pandas_dtype()), what)
        else:
            raise InputError(
                f"{what}: edge columns must hold numbers, got {kind}; convert it first"
            )
    return dtypes

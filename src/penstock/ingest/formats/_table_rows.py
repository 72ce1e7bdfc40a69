"""The rows of a table as edges: ids and numbers from Arrow's arrays; bad rows may be skipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import IdError, InputError
from penstock.ingest.formats._columns import Columns
from penstock.ingest.formats._skipping import EXAMPLES, add_skipped
from penstock.ingest.formats._tabular import Table, reading
from penstock.ingest.formats._values import (
    check_weight,
    integer_ids,
    name_ids,
    require_values,
    settle,
)
from penstock.protocols import Advance, BadLines, ReadOptions
from penstock.types import U64, Array, EdgeChunk, IdKind, Names


@dataclass(frozen=True, slots=True)
class TableReader:
    """Reads the rows of a table."""

    table: Table
    columns: Columns
    kind: IdKind
    dtypes: dict[str, np.dtype[Any]]

    def read(
        self, options: ReadOptions, bad_lines: BadLines, advance: Advance
    ) -> Iterator[EdgeChunk]:
        """Yield the rows. A bad one raises an InputError, or is counted."""
        columns = self.columns
        positions = [columns.source, columns.target, *columns.values]
        row = 0
        for batch in self.table.batches(positions, options.chunk_rows):
            with reading(self.table.name) if self.table.is_file else nullcontext():
                arrays = [_decoded(column) for column in batch.columns]
                if options.on_bad_line == "skip":
                    yield from self._skip_bad(arrays, row, bad_lines)
                elif len(batch):
                    yield self._chunk(arrays, row)
            advance(len(batch))
            row += len(batch)

    def _chunk(self, arrays: list[Any], row: int) -> EdgeChunk:
        """The edges of some rows, of which the first is number ``row``."""
        table, columns = self.table, self.columns
        source, target, *values = arrays
        found = {}
        for i, (name, dtype) in enumerate(self.dtypes.items()):
            weight = i == 0 and columns.has_weight
            what = table.column_words(columns.values[i])
            found[name] = _values(values[i], dtype, what, row, weight=weight)
        return EdgeChunk(
            _ids(source, self.kind, table.column_words(columns.source), row),
            _ids(target, self.kind, table.column_words(columns.target), row),
            found,
        )

    def _skip_bad(self, arrays: list[Any], row: int, bad_lines: BadLines) -> Iterator[EdgeChunk]:
        """The rows that can be read: nulls and the like are found all at once, others by halves."""
        import pyarrow as pa

        unfit = self._unfit(arrays)
        numbers = np.arange(row, row + len(unfit))
        if unfit.any():
            messages = []
            for i in np.flatnonzero(unfit)[:EXAMPLES].tolist():
                try:
                    self._chunk([array.slice(i, 1) for array in arrays], row + i)
                except InputError as error:
                    messages.append(str(error))
            add_skipped(bad_lines, int(unfit.sum()), messages)
            fit = pa.array(~unfit)
            arrays, numbers = [array.filter(fit) for array in arrays], numbers[~unfit]
        yield from self._halves(arrays, numbers, bad_lines)

    def _unfit(self, arrays: list[Any]) -> Array:
        """Which rows lack a value that they need, or have a negative id."""
        import pyarrow as pa
        import pyarrow.compute as pc

        unfit = np.zeros(len(arrays[0]), np.bool_)
        dtypes = [None, None, *self.dtypes.values()]
        for i, (array, dtype) in enumerate(zip(arrays, dtypes, strict=True)):
            is_weight = i == 2 and self.columns.has_weight
            if dtype is None or is_weight or dtype.kind != "f":
                unfit |= np.asarray(array.is_null(nan_is_null=is_weight))
            if dtype is None and self.kind == "int" and pa.types.is_signed_integer(array.type):
                unfit |= np.asarray(pc.less(array, 0).fill_null(fill_value=False))
        return unfit

    def _halves(
        self, arrays: list[Any], numbers: Array, bad_lines: BadLines
    ) -> Iterator[EdgeChunk]:
        if not len(numbers):
            return
        try:
            chunk = self._chunk(arrays, int(numbers[0]))
        except InputError as error:
            if len(numbers) == 1:
                add_skipped(bad_lines, 1, [str(error)])
                return
            middle = len(numbers) // 2
            for part in (slice(0, middle), slice(middle, None)):
                halves = [array[part] for array in arrays]
                yield from self._halves(halves, numbers[part], bad_lines)
            return
        yield chunk


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

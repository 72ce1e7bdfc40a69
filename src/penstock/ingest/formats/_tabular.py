"""Tables of all kinds as one: names, types, and record batches of chosen columns."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import InputError, PenstockError
from penstock.ingest.formats._bytes import is_compressed, open_error

_PARQUET, _ARROW = b"PAR1", b"ARROW1"
#: Rows to have of a table at a time: enough to be fast, little enough for small budgets.
_BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class Table:
    """Something with columns."""

    #: What to call it in messages.
    name: str
    names: list[str]
    #: Arrow types.
    types: list[Any]
    num_rows: int | None
    #: ``batches(positions, rows)`` yields record batches of those columns, in that order, with at
    #: most that many rows.
    batches: Callable[[list[int], int], Iterator[Any]]
    cheap_to_repeat: bool = True
    is_file: bool = False

    def column_words(self, position: int) -> str:
        """How messages speak of a column."""
        return f"{self.name}: column {self.names[position]!r}"


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Turn Arrow's errors into ours."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        words = " ".join(str(error).split())
        raise InputError(f"{name}: cannot be read as a table: {words}") from None


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn every error of reading a file into ours: of a damaged file, Arrow and its bindings may
    raise anything.
    """
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: cannot be read as a table: {words}") from error


def _slices(batch: Any, rows: int) -> Iterator[Any]:
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def open_table_file(path: str) -> Table:
    """Open a Parquet file or an Arrow file (either of its forms), by what it begins with."""
    if is_compressed(path):
        raise InputError(f"{path}: tables compress their own columns; decompress the file first")
    try:
        with open(path, "rb") as file:
            magic = file.read(8)
    except OSError as error:
        raise open_error(path, error) from None
    with reading(path):
        if magic[:4] == _PARQUET:
            return _parquet(path)
        return _ipc(path, is_file=magic[:6] == _ARROW)


def _parquet(path: str) -> Table:
    from pyarrow import parquet

    def open_file() -> Any:
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)

    with open_file() as file:
        schema, num_rows = file.schema_arrow, file.metadata.num_rows

    def batches(positions: list[int], rows: int) -> Iterator[Any]:
        names = _single(schema, positions, path)
        with reading(path), open_file() as file:
            rows = min(rows, _BATCH_ROWS)
            for batch in file.iter_batches(rows, columns=names, use_threads=False):
                yield batch.select(names)

    return Table(path, schema.names, schema.types, num_rows, batches, False, is_file=True)


def _single(schema: Any, positions: list[int], where: str) -> list[str]:
    """The names of columns, where these are what columns are chosen by."""
    names = [schema.names[i] for i in positions]
    for name in names:
        if schema.names.count(name) > 1:
            raise InputError(f"{where}: more than one column is called {name!r}; rename one")
    return names


def _map(path: str) -> mmap.mmap:
    """A file as memory, since a batch of it may be as large as the whole table."""
    with open(path, "rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise InputError(f"{path}: cannot be read as a table: the file is empty") from None


def _ipc(path: str, *, is_file: bool) -> Table:
    import pyarrow as pa

    def open_reader(mapped: mmap.mmap) -> Any:
        # Choosing columns here would make Arrow copy them, a whole batch at a time.
        options = pa.ipc.IpcReadOptions(use_threads=False)
        opener = pa.ipc.open_file if is_file else pa.ipc.open_stream
        return opener(pa.BufferReader(mapped), options=options)

    schema = open_reader(_map(path)).schema

    def whole_batches(reader: Any) -> Iterator[Any]:
        if not is_file:
            yield from reader
            return
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)

    def batches(positions: list[int], rows: int) -> Iterator[Any]:
        with reading(path):
            mapped = _map(path)
            for whole in whole_batches(open_reader(mapped)):
                for batch in _slices(whole.select(positions), rows):
                    batch.validate(full=True)
                    yield batch
                    # What has been read need not stay in this process's memory.
                    mapped.madvise(mmap.MADV_DONTNEED)

    return Table(path, schema.names, schema.types, None, batches, False, is_file=True)


def open_memory(data: Any) -> Table:
    """Open a table in memory. pandas is converted piece by piece; other tables as they are."""
    import pyarrow as pa

    package, name = type(data).__module__.partition(".")[0], type(data).__name__
    if package == "pandas":
        return _pandas(data)
    if name == "LazyFrame" and package == "polars":
        return _lazy(data)
    if is_dataset(data):
        return _dataset(data)
    with _naming(name):
        if package == "polars":
            data = pa.RecordBatchReader.from_stream(data).read_all()
        elif isinstance(data, pa.RecordBatch) or not hasattr(data, "__arrow_c_stream__"):
            data = pa.Table.from_batches([pa.record_batch(data)])
        if isinstance(data, pa.Table):
            return _arrow(data)
        reader = data
        if not isinstance(data, pa.RecordBatchReader):
            reader = pa.RecordBatchReader.from_stream(data)
        return _reader(reader, name)


def _arrow(table: Any) -> Table:
    def batches(positions: list[int], rows: int) -> Iterator[Any]:
        yield from table.select(positions).to_batches(max_chunksize=rows)

    return Table("table", table.schema.names, table.schema.types, table.num_rows, batches)


def is_dataset(data: object) -> bool:
    """Whether it is one of Arrow's datasets: files that are one table."""
    library = sys.modules.get("pyarrow.dataset")
    return library is not None and isinstance(data, library.Dataset)


def _dataset(dataset: Any) -> Table:
    from pyarrow.dataset import ParquetFileFormat, ParquetFragmentScanOptions

    schema = dataset.schema
    name = type(dataset).__name__
    # Reading ahead would hold more than the batch that is asked for.
    sparing = {"batch_readahead": 0, "fragment_readahead": 0, "use_threads": False}
    if isinstance(getattr(dataset, "format", None), ParquetFileFormat):
        sparing["fragment_scan_options"] = ParquetFragmentScanOptions(pre_buffer=False)

    def batches(positions: list[int], rows: int) -> Iterator[Any]:
        names = _single(schema, positions, name)
        with _naming(name):
            size = min(rows, _BATCH_ROWS)
            for batch in dataset.to_batches(columns=names, batch_size=size, **sparing):
                yield from _slices(batch, rows)

    return Table(name, schema.names, schema.types, None, batches, cheap_to_repeat=False)


def _reader(reader: Any, name: str) -> Table:
    used = False

    def batches(positions: list[int], rows: int) -> Iterator[Any]:
        nonlocal used
        if used:
            raise InputError(
                f"{name}: this can be read only once, and has been; make a new one, "
                "or pass a table or a file"
            )
        used = True
        with _naming(name), closing(reader):
            for whole in reader:
                yield from _slices(whole.select(positions), rows)

    schema = reader.schema
    return Table(name, schema.names, schema.types, None, batches, cheap_to_repeat=False)


def _pandas(frame: Any) -> Table:
    import pyarrow as pa

    def convert(positions: list[int], kinds: list[Any] | None, start: int, stop: int) -> Any:
        part = frame.iloc[start:stop, positions]
        # Names need not be strings, nor different.
        part.columns = [str(i) for i in range(len(positions))]
        schema = None if kinds is None else pa.schema(zip(part.columns, kinds, strict=True))
        with _naming("DataFrame"):
            # Not a batch: columns of pandas may themselves consist of several pieces.
            return pa.Table.from_pandas(part, schema, preserve_index=False).combine_chunks()

    def type_of_rows(position: int, start: int, stop: int) -> Any:
        try:
            return convert([position], None, start, stop).schema.types[0]
        except OverflowError:
            # Arrow takes objects that are integers for int64 until it is told otherwise.
            return convert([position], [pa.uint64()], start, stop).schema.types[0]

    def type_of(position: int) -> Any:
        # Objects may be of another type further down.
        dtype = frame.dtypes.iloc[position]
        rows = len(frame) if isinstance(dtype, np.dtype) and dtype.hasobject else 1
        try:
            kinds = {
                type_of_rows(position, start, min(start + _BATCH_ROWS, rows))
                for start in range(0, max(rows, 1), _BATCH_ROWS)
            }
            return _common_type(kinds)
        except (InputError, OverflowError):
            return pa.null()

    names = [str(name) for name in frame.columns]
    types = [*map(type_of, range(len(names)))]

    def batches(positions: list[int], rows: int) -> Iterator[Any]:
        kinds = [types[i] for i in positions]
        for start in range(0, len(frame), rows):
            yield from convert(positions, kinds, start, start + rows).to_batches()

    return Table("DataFrame", names, types, len(frame), batches)


def _common_type(kinds: set[Any]) -> Any:
    """The type that holds values of all these."""
    import pyarrow as pa

    if kinds - {pa.null()} == {pa.int64(), pa.uint64()}:
        return pa.uint64()
    schemas = [pa.schema([("", kind)]) for kind in kinds]
    with _naming("DataFrame"):
        return pa.unify_schemas(schemas, promote_options="permissive").types[0]


def _lazy(frame: Any) -> Table:
    import pyarrow as pa

    with _naming("LazyFrame"):
        schema = pa.RecordBatchReader.from_stream(frame.head(0).collect()).schema

    def batches(positions: list[int], rows: int) -> Iterator[Any]:
        chosen = frame.select([schema.names[i] for i in positions])
        with _naming("LazyFrame"):
            if hasattr(chosen, "collect_batches"):
                parts = chosen.collect_batches(chunk_size=rows, maintain_order=True)
            else:
                parts = [chosen.collect()]
            for part in parts:
                for batch in pa.RecordBatchReader.from_stream(part):
                    yield from _slices(batch, rows)

    return Table("LazyFrame", schema.names, schema.types, None, batches, cheap_to_repeat=False)

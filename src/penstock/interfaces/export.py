"""The edges of a graph as one file: text or Parquet, in the user's ids, a page at a time.

What is in memory is one array with the ids (and one with their order), and a few pages. The file
appears under its name when it is complete.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from penstock.config import thread_count
from penstock.engine.result_columns import Namer, ids_of
from penstock.errors import OptionError
from penstock.files import unfinished
from penstock.ingest.formats._beginning import has_header
from penstock.progress import Progress, Silent
from penstock.protocols import ReadOptions
from penstock.store.graph import Graph
from penstock.store.reading import read_locked
from penstock.types import U32, Array

if TYPE_CHECKING:
    import pyarrow as pa

FormatName = Literal["txt", "csv", "tsv", "parquet"]
_SEPARATORS = {"txt": " ", "csv": ",", "tsv": "\t"}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_GZIP_LEVEL = 6
#: Rows that are gathered before they are written: a row group of Parquet.
_GROUP_ROWS = 1 << 19
#: What the ends of an edge are called, unless a column is called so.
_END_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"))
#: What an id must not have in plain text, where nothing can be put in quotes.
_UNFIT = r'[\s,;"\x00]|^[#%\x{FEFF}]|^$'
#: What an id must not have in text of any kind.
_NUL = r"\x00"
_DIGITS = r"^-?[0-9]+$"
_PLAIN_NAME = re.compile(r"\w[\w .-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Target:
    """Where the edges go and how they are spelled."""

    path: Path
    format: FormatName
    compression: str | None


@read_locked
def export(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    format: FormatName | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the edges of a graph to a file, with their weights and attributes.

    An undirected edge is written once, from the smaller id. Vertices without edges are not in the
    file.

    Parameters
    ----------
    graph
        The graph.
    path
        The file to write. Its name says how: ``.txt`` (columns separated by a space, no header),
        ``.csv`` and ``.tsv`` (with a header), each also with ``.gz`` or ``.zst`` after it; or
        ``.parquet``.
    format
        "txt", "csv", "tsv" or "parquet", if the name does not say it.
    overwrite
        Replace a file that is there already, once the new one is complete.
    threads
        None: one for each core.
    progress
        Receives how far the work has come.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile, penstock as ps
    >>> graph = ps.from_edges(["ann", "bob"], ["bob", "cy"], [1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(export(graph, folder + "/edges.txt").read_text().splitlines())
    ['ann bob 1', 'bob cy 2']
    """
    target = _target(Path(path), format)
    count = thread_count(threads)
    with unfinished(target.path, overwrite=overwrite) as temporary:
        _write(graph, target, temporary, count, progress or Silent())
    return target.path


def _target(path: Path, format_name: str | None) -> _Target:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression is not None:
        suffixes.pop()
    found = format_name or (suffixes[-1].removeprefix(".") if suffixes else "")
    for name in get_args(FormatName):
        if name == found:
            if name == "parquet" and compression is not None:
                raise OptionError(f"{path}: Parquet is compressed inside; call it .parquet only")
            return _Target(path, name, compression)
    known = ", ".join(get_args(FormatName))
    if format_name is not None:
        raise OptionError(f"format: expected one of {known}; got {format_name!r}")
    raise OptionError(
        f"{path}: the name does not say the format; end it in .txt, .csv, .tsv (also with .gz) or "
        f".parquet, or pass format= (--format) with one of {known}"
    )


def _write(
    graph: Graph, target: _Target, temporary: Path, threads: int, progress: Progress
) -> None:
    if target.format != "parquet" and graph.id_kind == "string":
        _check_strings(_strings(graph), target, progress)
    schema, batches = edge_batches(graph, _END_NAMES, threads)
    progress.start("exporting", graph.num_edges, "edges")
    with ExitStack() as stack:
        write = _writer(stack, target, temporary, schema)
        for i, batch in enumerate(batches):
            if i == 0 and target.format == "txt":
                _check_no_header(batch, target)
            write(batch)
            progress.advance(len(batch))


def edge_batches(
    graph: Graph, end_names: tuple[tuple[str, str], ...], threads: int
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The edges as Arrow's batches, in the user's ids, with all their columns. The ends have the
    first names that no column has.
    """
    import pyarrow as pa

    look_up = _ids(graph)
    taken = {column.name for column in graph.columns}
    rare_names = ((f"source of edge {i}", f"target of edge {i}") for i in count(1))
    names = next(pair for pair in chain(end_names, rare_names) if not taken.intersection(pair))
    ends = look_up(np.empty(0, np.uint32)).type
    fields = [(name, ends) for name in names]
    fields += [(c.name, pa.from_numpy_dtype(c.dtype)) for c in graph.columns]
    schema = pa.schema(fields)

    def batches() -> Iterator[pa.RecordBatch]:
        for src, dst, columns in ranked_edges(graph, threads):
            values = [pa.array(columns[name]) for name in schema.names[2:]]
            yield pa.record_batch([look_up(src), look_up(dst), *values], schema=schema)

    return schema, batches()


def ranked_edges(graph: Graph, threads: int) -> Iterator[tuple[U32, U32, dict[str, Array]]]:
    """The edges, each once, by the places of their ends among the ascending ids, with their
    columns; an undirected edge goes from the smaller id.
    """
    ranks = Namer(ids_of(graph), graph.vid_of_rank, threads).ranks
    for group in _groups(graph, threads):
        src, dst = ranks(group[0]), ranks(group[1])
        if not graph.directed:
            src, dst = np.minimum(src, dst), np.maximum(src, dst)
        yield src, dst, group[2]


def _groups(graph: Graph, threads: int) -> Iterator[tuple[U32, U32, dict[str, Array]]]:
    """The edges, pages put together until they are worth writing."""
    held: list[tuple[U32, U32, dict[str, Array]]] = []
    rows = 0
    for edges in graph.iter_edges(threads):
        held.append(edges)
        rows += len(edges[0])
        if rows >= _GROUP_ROWS:
            yield _together(held)
            held, rows = [], 0
    if rows:
        yield _together(held)


def _together(held: list[tuple[U32, U32, dict[str, Array]]]) -> tuple[U32, U32, dict[str, Array]]:
    if len(held) == 1:
        return held[0]
    names = list(held[0][2])
    return (
        np.concatenate([edges[0] for edges in held]),
        np.concatenate([edges[1] for edges in held]),
        {name: np.concatenate([edges[2][name] for edges in held]) for name in names},
    )


def _ids(graph: Graph) -> Callable[[U32], pa.Array]:
    """A function from places among the ascending ids to an Arrow array of these."""
    import pyarrow as pa

    if graph.id_kind == "string":
        strings = _strings(graph)
        return lambda ranks: strings.take(pa.array(ranks))
    ids = ids_of(graph)
    return lambda ranks: pa.array(ids.take(ranks))


def _strings(graph: Graph) -> pa.Array:
    """The user's ids, ascending, without making a Python object of each."""
    import pyarrow as pa

    mapped = graph.mapped_strings()
    if mapped is None:
        return pa.array(graph.ids, pa.large_string())
    return pa.concat_arrays(mapped.chunks or [pa.array([], pa.large_string())])


def _check_strings(strings: pa.Array, target: _Target, progress: Progress) -> None:
    """Raise an OptionError if ids would not be the same when the file is read again."""
    import pyarrow.compute as pc

    plain = target.format == "txt"
    unfit = strings.filter(pc.match_substring_regex(strings, _UNFIT if plain else _NUL))
    if len(unfit):
        others = ".csv, .tsv or .parquet" if plain else ".parquet"
        raise OptionError(
            f"{target.path}: the id {unfit[0].as_py()!r} cannot be written as "
            f"{'plain text, which has no quotes' if plain else 'text'}; export to {others} instead"
        )
    if pc.any(pc.match_substring_regex(strings, _DIGITS)).as_py():
        progress.note(
            f"{target.path}: some ids are strings of digits; pass ids='string' (--ids string) to "
            "read them as strings again"
        )


def _check_no_header(batch: pa.RecordBatch, target: _Target) -> None:
    """Raise an OptionError if the first edge of plain text would be taken for a header."""
    rows = zip(*(column.to_pylist() for column in batch.slice(0, 2).columns), strict=True)
    records = [[str(value).encode() for value in row] for row in rows]
    if records and has_header(records, b"", ReadOptions(), str(target.path)):
        raise OptionError(
            f"{target.path}: the first edge, {b' '.join(records[0]).decode()!r}, would be read as "
            "a header; export to .csv, .tsv or .parquet instead"
        )


def _writer(
    stack: ExitStack, target: _Target, temporary: Path, schema: pa.Schema
) -> Callable[[Any], None]:
    """What writes a batch of edges; it is closed with the stack."""
    if target.format == "parquet":
        import pyarrow.parquet as pq

        parquet = stack.enter_context(pq.ParquetWriter(temporary, schema, compression="zstd"))
        return lambda batch: parquet.write_batch(batch, row_group_size=_GROUP_ROWS)
    from pyarrow import csv

    file = stack.enter_context(_text_file(stack, target.compression, temporary))
    plain = target.format == "txt"
    separator = _SEPARATORS[target.format]
    if not plain:
        file.write(_header(schema.names, separator))
    options = csv.WriteOptions(
        include_header=False, delimiter=separator, quoting_style="none" if plain else "needed"
    )
    text = stack.enter_context(csv.CSVWriter(file, schema, write_options=options))
    return lambda batch: text.write_batch(batch)


def _text_file(stack: ExitStack, compression: str | None, temporary: Path) -> Any:
    import pyarrow as pa

    if compression == "gzip":
        import gzip

        raw = stack.enter_context(temporary.open("wb"))
        # No name and no time in it: the same graph gives the same bytes.
        return gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0)
    plain = stack.enter_context(pa.OSFile(str(temporary), "wb"))
    return plain if compression is None else pa.CompressedOutputStream(plain, compression)


def _header(names: list[str], separator: str) -> bytes:
    def quoted(name: str) -> str:
        return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'

    return (separator.join(map(quoted, names)) + "\n").encode()

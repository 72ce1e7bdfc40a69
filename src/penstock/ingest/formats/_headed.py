"""What formats have in common whose header tells the vertices and the number of edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.errors import InputError, OptionError
from penstock.ingest.formats._bytes import file_size
from penstock.ingest.formats._columns import WEIGHT, Columns
from penstock.ingest.formats._lines import Layout, read_rows, shown
from penstock.protocols import Advance, BadLines, ReadOptions, Source
from penstock.types import MAX_VERTICES, EdgeChunk


def only_file(paths: list[str], format_name: str) -> str:
    """The one file there may be."""
    if len(paths) != 1:
        raise OptionError(
            f"source: a {format_name} file is a whole graph, so give one, got {len(paths)}: "
            f"{', '.join(paths[:3])}"
        )
    return paths[0]


def header_counts(fields: list[bytes], where: str, meaning: str) -> list[int]:
    """Integers of a header line, not negative, the first of them a number of vertices."""
    if not fields or not all(field.isdigit() and len(field) < 19 for field in fields):
        raise InputError(f"{where}: found {shown(b' '.join(fields))}, expected {meaning}")
    counts = [int(field) for field in fields]
    if counts[0] > MAX_VERTICES:
        raise InputError(
            f"{where}: {counts[0]} vertices are more than the {MAX_VERTICES} there can be"
        )
    return counts


class Header(NamedTuple):
    """What the first ``lines`` lines of a file say of the rows below."""

    path: str
    lines: int
    num_vertices: int
    num_edges: int
    weighted: bool
    directed: bool


def rows_source(header: Header, options: ReadOptions, comment: bytes, tag: bytes = b"") -> Source:
    """Rows "source target [weight]" with ids 1 .. n below a header."""
    path, num_vertices = header.path, header.num_vertices
    columns = Columns(0, 1)
    if header.weighted:
        columns = Columns(0, 1, (2,), (WEIGHT,), has_weight=True)
    layout = Layout(
        path=path,
        columns=columns,
        comment=comment,
        skip_lines=header.lines,
        id_range=(1, num_vertices),
        tag=tag,
    )
    bad_lines = BadLines()

    def chunks(advance: Advance) -> Iterator[EdgeChunk]:
        rows = 0
        for chunk in read_rows([layout], options, bad_lines, advance):
            rows += len(chunk)
            yield chunk
        check_count(path, rows + bad_lines.count, header.num_edges)

    return Source(
        chunks=chunks,
        size=file_size(path),
        unit="bytes",
        id_kind="int",
        columns=dict.fromkeys(columns.names),
        weight=columns.weight,
        declared=range(1, num_vertices + 1),
        directed=header.directed,
        bad_lines=bad_lines,
        name=path,
    )


def check_count(path: str, found: int, announced: int, what: str = "edges") -> None:
    """Raise an InputError if a file does not have the edges its header announces."""
    if found != announced:
        raise InputError(
            f"{path}: the header announces {announced} {what}, but there are {found}; "
            "the file is cut short or its header is wrong"
        )

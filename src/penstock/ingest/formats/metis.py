"""METIS graphs (.graph, .metis): a header "n m [fmt [ncon]]", then a line for each vertex.

A line holds the neighbours of its vertex, counted from 1, each followed by a weight if fmt says
so; sizes and weights of vertices come first and are passed over. Undirected: an edge stands in the
lines of both its ends. Weights are integers and are read unless ``weights=False``. A blank line is
a vertex without neighbours; a line that begins with % is a comment. A line that cannot be read is
always an error, since without it the others would belong to the wrong vertices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from penstock.errors import InputError, ParseError
from penstock.ingest.formats._bytes import ByteStream, after_last, blocks, file_size, text_lines
from penstock.ingest.formats._columns import WEIGHT, refuse_columns, wants_weight
from penstock.ingest.formats._headed import check_count, header_counts, only_file
from penstock.ingest.formats._lines import shown
from penstock.ingest.formats._symmetric import OneSided
from penstock.protocols import Advance, ReadOptions, Source
from penstock.types import I64, U8, Array, EdgeChunk

NAME = "metis"
SUFFIXES = (".graph", ".metis")

_MEANING = "the header: VERTICES EDGES [FORMAT [WEIGHTS-OF-A-VERTEX]]"
_FIELD_SHOWN = 60


class _Header(NamedTuple):
    path: str
    num_vertices: int
    num_edges: int
    #: Fields at the beginning of each line that are not neighbours.
    skipped: int
    weighted: bool
    #: Lines up to and with the header.
    lines: int


def accepts(data: object) -> bool:
    """No object in memory is a METIS file."""
    return False


def open_source(data: list[str], options: ReadOptions) -> Source:
    """Open one file."""
    path = only_file(data, "METIS")
    refuse_columns(options, path)
    header = _read_header(path)
    columns = (WEIGHT,) * wants_weight(options, path, present=header.weighted)

    def chunks(advance: Advance) -> Iterator[EdgeChunk]:
        return _read(header, columns, options, advance)

    return Source(
        chunks=chunks,
        size=file_size(path),
        unit="bytes",
        id_kind="int",
        columns=dict.fromkeys(columns),
        weight=WEIGHT if columns else None,
        declared=range(1, header.num_vertices + 1),
        directed=False,
        name=path,
    )


def _read_header(path: str) -> _Header:
    lines = ((i, line.split()) for i, line in enumerate(text_lines(path), 1))
    number, fields = next(
        ((i, fields) for i, fields in lines if fields and not fields[0].startswith(b"%")), (1, [])
    )
    where = f"{path}:{number}"
    if not 2 <= len(fields) <= 4:
        raise InputError(f"{where}: found {shown(b' '.join(fields))}, expected {_MEANING}")
    counts = header_counts(fields, where, _MEANING)
    form = fields[2].decode() if len(fields) > 2 else "0"
    if len(form) > 3 or set(form) - {"0", "1"}:
        raise InputError(f"{where}: found the format {form!r}, expected up to three digits 0 or 1")
    has_size, has_weights, weighted = (digit == "1" for digit in form.zfill(3))
    num_weights = (counts[3] if len(counts) > 3 else 1) if has_weights else 0
    return _Header(path, counts[0], counts[1], has_size + num_weights, weighted, number)


def _read(
    header: _Header, columns: tuple[str, ...], options: ReadOptions, advance: Advance
) -> Iterator[EdgeChunk]:
    from penstock.ingest.formats import _passes

    shape = (header.num_vertices, header.skipped, int(header.weighted))
    state = np.zeros(6, np.int64)
    edges = OneSided(header.path)
    line, to_skip, before = 1, header.lines, 0
    with ByteStream(header.path) as stream:
        for data in blocks(stream, options.block_bytes, _after_field):
            at = 0
            if to_skip:
                at, skipped = _passes.after_lines(data, to_skip)
                to_skip -= skipped
                at = len(data) if to_skip else at
            while at < len(data):
                ids = np.empty((2, options.chunk_rows), np.uint64)
                weights: Array = np.empty(options.chunk_rows * header.weighted)
                at = _passes.scan_lists(data, at, shape, state, ids, weights)
                if state[_passes.CODE]:
                    line += _passes.count_lines(data[:at])
                    raise _error(header, state, data[at:], line)
                rows = int(state[_passes.ROWS])
                state[_passes.ROWS] = 0
                yield from edges.keep(ids[:, :rows], weights[:rows], columns)
            line += _passes.count_lines(data)
            advance(stream.position() - before)
            before = stream.position()
    if state[_passes.NEIGHBOUR]:
        state[_passes.CODE] = _passes.NO_WEIGHT
        raise _error(header, state, np.empty(0, np.uint8), line)
    # Some programs list a loop once, as one of two entries; METIS itself has no loops.
    announced = 2 * header.num_edges
    if edges.entries + edges.loops != announced:
        check_count(header.path, edges.entries, announced, "neighbours (two for each edge)")
    edges.check()


def _after_field(data: U8) -> int:
    """Lines may be as long as the file: they are cut between neighbours if need be."""
    return after_last(data) or after_last(data, b" \t")


def _error(header: _Header, state: I64, rest: U8, line: int) -> ParseError:
    from penstock.ingest.formats import _passes

    n = header.num_vertices
    found = rest[: 2 * _FIELD_SHOWN].tobytes().split(b"\n")[0].split(b" ")[0].removesuffix(b"\r")
    words = {
        _passes.NOT_INTEGER: "an integer that is not negative",
        _passes.OUT_OF_RANGE: f"a neighbour from 1 to {n}",
        _passes.NO_WEIGHT: "a weight after the last neighbour of the line",
        _passes.TOO_FEW: f"{header.skipped} sizes or weights of the vertex first",
        _passes.TOO_MANY: f"no more than {n} lines after the header",
    }
    return ParseError(
        f"{header.path}:{line}: found {shown(found)}, expected {words[int(state[_passes.CODE])]}"
    )

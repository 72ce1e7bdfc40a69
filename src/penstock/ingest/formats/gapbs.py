"""Graphs of the GAP Benchmark Suite: edge lists (.el, .wel) and serialized graphs (.sg, .wsg).

Edge lists are text, with a weight in the third column of .wel. A serialized graph is, in
little-endian: one byte that says whether it is directed, the number of neighbours and of vertices
(int64), the offsets of the vertices' lists (int64, one more than vertices), the neighbours (int32,
in .wsg each followed by an int32 weight); then, if directed, offsets and neighbours once more for
incoming edges, which are not read. Vertices are 0 .. n-1, all of them. An undirected graph lists
each edge at both ends; it is taken once. (The suite stores no loops; those of other writers are
kept as often as they are listed.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.errors import InputError, OptionError
from penstock.ingest.formats import text
from penstock.ingest.formats._bytes import ByteStream, file_size, format_suffix
from penstock.ingest.formats._columns import WEIGHT, refuse_columns, wants_weight
from penstock.ingest.formats._headed import only_file
from penstock.ingest.formats._symmetric import OneSided
from penstock.ingest.formats._values import expand
from penstock.protocols import Advance, ReadOptions, Source
from penstock.types import I64, MAX_VERTICES, U64, Array, EdgeChunk

NAME = "gapbs"
SUFFIXES = (".el", ".wel", ".sg", ".wsg")

_HEADER_BYTES = 17
_OFFSET_BYTES = 8
#: Offsets to hold at a time.
_OFFSETS = 1 << 16
_WEIGHTED = np.dtype([("target", "<i4"), ("weight", "<i4")])
_UNWEIGHTED = np.dtype([("target", "<i4")])


@dataclass(frozen=True, slots=True)
class _Header:
    path: str
    directed: bool
    num_entries: int
    num_vertices: int
    entry: np.dtype[Any]


def accepts(data: object) -> bool:
    """No object in memory is a file of this suite."""
    return False


def open_source(data: list[str], options: ReadOptions) -> Source:
    """Open edge lists, or one serialized graph."""
    suffixes = {format_suffix(path) for path in data}
    if suffixes <= {".sg", ".wsg"}:
        return _open_serialized(only_file(data, "serialized GAP"), options)
    if suffixes & {".sg", ".wsg"}:
        raise OptionError(
            f"source: got both edge lists and serialized graphs: {', '.join(data[:3])}"
        )
    if suffixes == {".wel"} and options.weights is None:
        options = replace(options, weights=True)
    return text.open_source(data, options)


def _open_serialized(path: str, options: ReadOptions) -> Source:
    refuse_columns(options, path)
    header = _read_header(path)
    present = header.entry == _WEIGHTED
    columns = (WEIGHT,) * wants_weight(options, path, present=present)

    def chunks(advance: Advance) -> Iterator[EdgeChunk]:
        return _read(header, columns, options, advance)

    return Source(
        chunks=chunks,
        size=header.num_entries,
        unit="edges",
        id_kind="int",
        columns=dict.fromkeys(columns, np.dtype(np.int32)),
        weight=WEIGHT if columns else None,
        declared=range(header.num_vertices),
        directed=header.directed,
        name=path,
    )


def _read_header(path: str) -> _Header:
    entry = _WEIGHTED if format_suffix(path) == ".wsg" else _UNWEIGHTED
    with ByteStream(path) as stream:
        flag = int(stream.read_array(np.uint8, 1)[0])
        num_entries, num_vertices = (int(count) for count in stream.read_array("<i8", 2))
        plain = stream.plain
    if flag > 1 or num_entries < 0 or not 0 <= num_vertices <= MAX_VERTICES:
        raise InputError(
            f"{path}: this is no serialized GAP graph: found the direction {flag}, "
            f"{num_entries} neighbours and {num_vertices} vertices in its header"
        )
    one_way = (num_vertices + 1) * _OFFSET_BYTES + num_entries * entry.itemsize
    expected = {_HEADER_BYTES + one_way, _HEADER_BYTES + one_way * (1 + flag)}
    if plain and file_size(path) not in expected:
        raise InputError(
            f"{path}: the header announces {max(expected)} bytes, but there are {file_size(path)}; "
            "the file is cut short, or its suffix is wrong (.wsg has weights, .sg has none)"
        )
    return _Header(path, flag == 1, num_entries, num_vertices, entry)


def _read_offsets(header: _Header, stream: ByteStream) -> Iterator[tuple[int, I64]]:
    """Yield the first vertex of a range, and its offsets with the one that follows."""
    n = header.num_vertices
    last = stream.read_array("<i8", 1)
    if last[0] != 0:
        raise InputError(f"{header.path}: the first offset must be 0, got {last[0]}")
    for first in range(0, n, _OFFSETS):
        more = stream.read_array("<i8", min(_OFFSETS, n - first))
        offsets = np.concatenate((last, more)).astype(np.int64, copy=False)
        if (offsets[1:] < offsets[:-1]).any() or offsets[-1] > header.num_entries:
            raise InputError(f"{header.path}: offsets of vertices from {first} on are out of order")
        yield first, offsets
        last = offsets[-1:]
    if last[0] != header.num_entries:
        raise InputError(
            f"{header.path}: the last offset is {last[0]}, expected {header.num_entries}"
        )


def _read(
    header: _Header, columns: tuple[str, ...], options: ReadOptions, advance: Advance
) -> Iterator[EdgeChunk]:
    edges = OneSided(header.path)
    # Offsets and neighbours lie apart, so two streams go through the file side by side.
    with ByteStream(header.path) as index, ByteStream(header.path) as stream:
        index.skip(_HEADER_BYTES)
        stream.skip(_HEADER_BYTES + (header.num_vertices + 1) * _OFFSET_BYTES)
        for first, offsets in _read_offsets(header, index):
            for start in range(int(offsets[0]), int(offsets[-1]), options.chunk_rows):
                stop = min(start + options.chunk_rows, int(offsets[-1]))
                entries = stream.read_array(header.entry, stop - start)
                ids = _ids(header, expand(offsets, first, start, stop), entries["target"])
                weights: Array = np.empty(0, np.int32)
                if columns:
                    weights = entries["weight"].astype(np.int32)
                if header.directed:
                    yield EdgeChunk(ids[0], ids[1], dict.fromkeys(columns, weights))
                else:
                    yield from edges.keep(ids, weights, columns)
                advance(stop - start)
    edges.check()


def _ids(header: _Header, sources: U64, targets: Array) -> U64:
    if len(targets) and not 0 <= targets.min() <= targets.max() < header.num_vertices:
        wrong = (targets < 0) | (targets >= header.num_vertices)
        raise InputError(
            f"{header.path}: vertex {sources[wrong][0]} has the neighbour {targets[wrong][0]}, "
            f"expected 0 to {header.num_vertices - 1}"
        )
    ids = np.empty((2, len(targets)), np.uint64)
    ids[0], ids[1] = sources, targets
    return ids

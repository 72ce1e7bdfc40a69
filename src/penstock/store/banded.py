"""The banded layout: neighbour ids in as few bytes as their size needs, with nothing to decode.

A list is sorted, so the ids below 2**16 come first, then those below 2**24, and so on: one *band*
for each width. A page keeps the ids of each band in an array of their own, in vertex order, and for
each vertex how many of its ids are in which band. With vertices in order of descending degree most
ids are hubs' and take two bytes. A list that is not sorted uses a single band.

Body of a page, after the header; B is the number of bands:

- B entries of 8 bytes: ids in the band (u32), bytes of a count (u8: 0, 1, 2 or 4), 3 zero bytes
- small pages: marks, u32 [ceil(vertices / 64)][B]: ids of the band before vertex 0, 64, 128, ...
- small pages: counts of each band, one after another, each [vertices]; width 0 means all are zero
- ids of each band, one after another
- columns, one after another, in the order of the lists

Each array begins at the next multiple of 8 bytes. The last 8 bytes of a page are never used.
"""

from __future__ import annotations

import numpy as np

from penstock.errors import CorruptionError
from penstock.jit import helper, kernel
from penstock.store.banded_decode import MARK_EVERY, decode_body
from penstock.store.layout import (
    DECODE_ROOM,
    PACKED_VERTICES,
    PageSpec,
    check_counts,
    check_room,
)
from penstock.store.page import HEADER_BYTES, LARGE, SMALL, TAIL_BYTES, PageHeader
from penstock.types import I64, U8, U32, Adjacency, Array

CODE = 2


def choose_bands(num_vertices: int, *, ascending: bool) -> tuple[int, ...]:
    """Bytes of an id in each band for a graph of this size."""
    widest = max(2, (max(num_vertices - 1, 0).bit_length() + 7) // 8)
    return tuple(range(2, widest + 1)) if ascending else (widest,)


@helper
def _width(count):  # type: ignore[no-untyped-def]
    if count == 0:
        return 0
    return 1 if count < 256 else (2 if count < 65536 else 4)


@helper
def _aligned(count):  # type: ignore[no-untyped-def]
    return (count + 7) & ~7


@helper
def _body_bytes(vertices, edges, counts, widths, bands, column_sizes):  # type: ignore[no-untyped-def]
    """Bytes of a body; ``counts[b]`` ids in band b, ``widths[b]`` bytes of a count (-1: large)."""
    total = 8 * len(bands)
    if widths[0] >= 0:
        marks = (vertices + MARK_EVERY - 1) // MARK_EVERY
        total += _aligned(4 * marks * len(bands))
        for b in range(len(bands)):
            total += _aligned(vertices * widths[b])
    for b in range(len(bands)):
        total += _aligned(counts[b] * bands[b])
    for c in range(len(column_sizes)):
        total += _aligned(edges * column_sizes[c])
    return total


@helper
def _count_bands(neighbours, start, stop, limits, out):  # type: ignore[no-untyped-def]
    """How many ids of one sorted list fall in each band (all, if there is only one)."""
    begin = start
    for b in range(len(limits) - 1):
        end = begin
        if stop - begin < 16:
            while end < stop and neighbours[end] < limits[b]:
                end += 1
        else:
            size = stop - begin
            while size > 0:
                half = size >> 1
                if neighbours[end + half] < limits[b]:
                    end += half + 1
                    size -= half + 1
                else:
                    size = half
        out[b] = end - begin
        begin = end
    out[len(limits) - 1] = stop - begin


@kernel
def _fit(degrees, neighbours, vertex, edge, bands, limits, column_sizes, room):  # type: ignore[no-untyped-def]
    counts = np.zeros(len(bands), np.int64)
    largest = np.zeros(len(bands), np.int64)
    widths = np.zeros(len(bands), np.int64)
    mine = np.zeros(len(bands), np.int64)
    v, e = vertex, edge
    while v < len(degrees) and v - vertex < PACKED_VERTICES:
        stop = e + np.int64(degrees[v])
        _count_bands(neighbours, e, stop, limits, mine)
        for b in range(len(bands)):
            widths[b] = _width(max(largest[b], mine[b]))
            counts[b] += mine[b]
        needed = _body_bytes(v + 1 - vertex, stop - edge, counts, widths, bands, column_sizes)
        if needed > room:
            return v, e
        for b in range(len(bands)):
            largest[b] = max(largest[b], mine[b])
        v += 1
        e = stop
    return v, e


@kernel
def _fit_large(neighbours, edge, bands, limits, column_sizes, room):  # type: ignore[no-untyped-def]
    counts = np.zeros(len(bands), np.int64)
    widths = np.full(len(bands), -1, np.int64)
    last = len(bands) - 1
    e = edge
    b = 0
    while e < len(neighbours):
        while b < last and neighbours[e] >= limits[b]:
            b += 1
        counts[b] += 1
        if _body_bytes(1, e + 1 - edge, counts, widths, bands, column_sizes) > room:
            return e
        e += 1
    return e


@kernel
def _store(page, at, width, value):  # type: ignore[no-untyped-def]
    for k in range(width):
        page[at + k] = np.uint8((value >> (8 * k)) & 0xFF)


@kernel
def _encode(page, small, degrees, neighbours, bands, limits):  # type: ignore[no-untyped-def]
    """Write everything but the columns; returns where those begin."""
    vertices = len(degrees)
    num_bands = len(bands)
    if len(neighbours) == 0:
        # All zero. Such a page may have millions of vertices, others have fewer than bytes.
        marks = (vertices + MARK_EVERY - 1) // MARK_EVERY
        return HEADER_BYTES + 8 * num_bands + _aligned(4 * marks * num_bands)
    counts = np.zeros((vertices, num_bands), np.uint32)
    totals = np.zeros(num_bands, np.int64)
    widths = np.zeros(num_bands, np.int64)
    mine = np.zeros(num_bands, np.int64)
    e = np.int64(0)
    for v in range(vertices):
        stop = e + np.int64(degrees[v])
        _count_bands(neighbours, e, stop, limits, mine)
        for b in range(num_bands):
            counts[v, b] = mine[b]
            totals[b] += mine[b]
            widths[b] = max(widths[b], _width(mine[b]))
        e = stop

    at = HEADER_BYTES
    for b in range(num_bands):
        _store(page, at, 4, totals[b])
        page[at + 4] = np.uint8(widths[b] if small else 0)
        at += 8
    if small:
        before = np.zeros(num_bands, np.int64)
        marks = at
        at += _aligned(4 * ((vertices + MARK_EVERY - 1) // MARK_EVERY) * num_bands)
        for v in range(vertices):
            if v % MARK_EVERY == 0:
                for b in range(num_bands):
                    _store(page, marks, 4, before[b])
                    marks += 4
            for b in range(num_bands):
                before[b] += counts[v, b]
        for b in range(num_bands):
            if widths[b] > 0:
                for v in range(vertices):
                    _store(page, at + v * widths[b], widths[b], np.int64(counts[v, b]))
            at += _aligned(vertices * widths[b])

    # Arrays begin at multiples of 8, so that a band's ids can be stored as whole numbers.
    words2 = page.view(np.uint16)
    words4 = page.view(np.uint32)
    ends = np.zeros(num_bands, np.int64)
    for b in range(num_bands):
        ends[b] = at
        at += _aligned(totals[b] * bands[b])
    e = np.int64(0)
    for v in range(vertices):
        for b in range(num_bands):
            count = np.int64(counts[v, b])
            to = ends[b]
            if bands[b] == 2:
                for k in range(count):
                    words2[(to >> 1) + k] = np.uint16(neighbours[e + k])
            elif bands[b] == 3:
                for k in range(count):
                    value = neighbours[e + k]
                    page[to + 3 * k] = np.uint8(value & 0xFF)
                    page[to + 3 * k + 1] = np.uint8((value >> 8) & 0xFF)
                    page[to + 3 * k + 2] = np.uint8((value >> 16) & 0xFF)
            else:
                for k in range(count):
                    words4[(to >> 2) + k] = neighbours[e + k]
            e += count
            ends[b] = to + count * bands[b]
    return at


class BandedLayout:
    """Writes and reads banded pages."""

    code = CODE

    def __init__(self, spec: PageSpec) -> None:
        self._spec = spec
        self._room = spec.page_bytes - HEADER_BYTES - TAIL_BYTES
        self._bands: I64 = np.array(spec.bands, np.int64)
        self._limits: I64 = np.int64(1) << (8 * self._bands)
        self._column_sizes: I64 = np.array(
            [column.dtype.itemsize for column in spec.columns], np.int64
        )

    def fit(self, degrees: U32, neighbours: U32, vertex: int, edge: int) -> tuple[int, int]:
        """See :class:`~penstock.store.layout.Layout`."""
        found: tuple[int, int] = _fit(
            degrees, neighbours, vertex, edge,
            self._bands, self._limits, self._column_sizes, self._room,
        )  # fmt: skip
        return found

    def fit_large(self, neighbours: U32, edge: int) -> int:
        """See :class:`~penstock.store.layout.Layout`."""
        stop: int = _fit_large(
            neighbours, edge, self._bands, self._limits, self._column_sizes, self._room
        )
        return stop

    def encode(self, page: U8, kind: int, part: Adjacency) -> int:
        """See :class:`~penstock.store.layout.Layout`."""
        at: int = _encode(
            page, kind == SMALL, part.degrees, part.neighbours, self._bands, self._limits
        )
        for column in self._spec.columns:
            data = np.ascontiguousarray(part.columns[column.name], column.dtype).view(np.uint8)
            page[at : at + len(data)] = data
            at += (len(data) + 7) & ~7
        return at

    def decode(self, page: U8, header: PageHeader) -> Adjacency:
        """See :class:`~penstock.store.layout.Layout`."""
        self._check_counts(header)
        offsets: U32 = np.empty(header.num_vertices + 1, np.uint32)
        neighbours: U32 = np.empty(header.num_edges + DECODE_ROOM, np.uint32)
        columns = self.decode_into(page, header, offsets, neighbours)
        return Adjacency(
            header.first_vid,
            np.diff(offsets),
            neighbours[: header.num_edges],
            {name: values.copy() for name, values in columns.items()},
        )

    def decode_into(
        self, page: U8, header: PageHeader, offsets: U32, neighbours: U32
    ) -> dict[str, Array]:
        """See :class:`~penstock.store.layout.Layout`. Columns are views."""
        self._check_counts(header)
        check_room(header, offsets, neighbours)
        at = decode_body(
            page, header.kind != LARGE, header.num_vertices, header.num_edges,
            self._bands, self._column_sizes, offsets, neighbours,
        )  # fmt: skip
        if at < 0:
            raise CorruptionError(f"page {header.page_id}: its band counts contradict its header")
        columns: dict[str, Array] = {}
        for column in self._spec.columns:
            size = header.num_edges * column.dtype.itemsize
            columns[column.name] = page[at : at + size].view(column.dtype)
            at += (size + 7) & ~7
        return columns

    def _check_counts(self, header: PageHeader) -> None:
        check_counts(header, self._spec, 0, int(self._bands[0]))

    def audit(self, page: U8, header: PageHeader) -> tuple[Adjacency, int]:
        """See :class:`~penstock.store.layout.Layout`."""
        from penstock.store.banded_audit import audit_body

        part = self.decode(page, header)
        return part, audit_body(page, header, self._bands, self._column_sizes)

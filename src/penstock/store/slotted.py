"""The slotted layout: records from the start of a page, slots from its end, physical ids.

A record is ADJLIST_SZ (4 bytes: how many edges follow) and the edges. An edge is the physical id of
the neighbour, ADJ_PID (p bytes: the page its record begins in) and ADJ_OFF (q bytes: its slot
there); if the graph has edge columns it is followed by ATTR_SZ (2 bytes) and ATTRLIST (that many
bytes: the columns one after another). An edge whose columns are all missing (NaN) has ATTR_SZ 0.
Slot i ends 10 * i bytes before the end of the page and is VID (6 bytes) and OFF (4 bytes: where the
record begins, counted from the start of the page). Records follow each other in the order of their
slots, without gaps. All numbers are little-endian.

Where a vertex goes depends on degrees alone: every edge counts as if it had its columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.errors import AddressingError, CorruptionError
from penstock.jit import helper, kernel, load16, load32
from penstock.store.layout import (
    DECODE_ROOM,
    MAX_PAGE_VERTICES,
    PageSpec,
    check_counts,
    check_room,
)
from penstock.store.page import HEADER_BYTES, PageHeader
from penstock.types import I64, U8, U32, Adjacency, Array

CODE = 1
SLOT_BYTES = 10
RECORD_BYTES = 4
ATTR_SIZE_BYTES = 2
#: Physical ids in the order in which they are tried.
ADDRESSINGS = ((2, 2), (3, 3), (2, 4), (4, 2))


@kernel
def _fit(degrees, vertex, edge, edge_bytes, room, most):  # type: ignore[no-untyped-def]
    v, e, used = vertex, edge, 0
    while v < len(degrees) and v - vertex < most:
        degree = np.int64(degrees[v])
        used += SLOT_BYTES + RECORD_BYTES + degree * edge_bytes
        if used > room:
            break
        v += 1
        e += degree
    return v, e


@kernel
def _place(degrees, edge_bytes, room, most, state, firsts, runs):  # type: ignore[no-untyped-def]
    """Assign vertices to pages, a chunk of degrees at a time.

    ``state`` is carried from chunk to chunk: [vertices in the open page, bytes used in it, next
    vertex]. Fills ``firsts`` and ``runs`` with the pages that begin; returns how many.
    """
    per_large = (room - SLOT_BYTES - RECORD_BYTES) // edge_bytes
    pages = 0
    for i in range(len(degrees)):
        degree = np.int64(degrees[i])
        need = SLOT_BYTES + RECORD_BYTES + degree * edge_bytes
        vertex = state[2]
        state[2] += 1
        if need > room:
            for run in range((degree + per_large - 1) // per_large):
                firsts[pages] = vertex
                runs[pages] = run
                pages += 1
            state[0] = 0
            continue
        if state[0] == 0 or state[0] >= most or state[1] + need > room:
            firsts[pages] = vertex
            runs[pages] = 0
            pages += 1
            state[0] = 0
            state[1] = 0
        state[0] += 1
        state[1] += need
    return pages


@helper
def _put(page, at, width, value):  # type: ignore[no-untyped-def]
    for k in range(width):
        page[at + k] = np.uint8((value >> (8 * k)) & 0xFF)


@helper
def _vid(page, at):  # type: ignore[no-untyped-def]
    return np.int64(load32(page, at)) | (np.int64(load16(page, at + 4)) << 32)


@kernel
def _encode(page, first_vid, degrees, neighbours, starts, pages, p, q, attributes, present):  # type: ignore[no-untyped-def]
    at = HEADER_BYTES
    row = attributes.shape[1]
    e = 0
    for v in range(len(degrees)):
        slot = len(page) - (v + 1) * SLOT_BYTES
        _put(page, slot, 6, first_vid + v)
        _put(page, slot + 6, 4, at)
        _put(page, at, 4, np.int64(degrees[v]))
        at += RECORD_BYTES
        for _ in range(degrees[v]):
            where = np.searchsorted(starts, neighbours[e], side="right") - 1
            _put(page, at, p, np.int64(pages[where]))
            _put(page, at + p, q, np.int64(neighbours[e]) - np.int64(starts[where]))
            at += p + q
            if row > 0:
                size = row if present[e] else 0
                _put(page, at, ATTR_SIZE_BYTES, size)
                at += ATTR_SIZE_BYTES
                for k in range(size):
                    page[at + k] = attributes[e, k]
                at += size
            e += 1
    return at + len(degrees) * SLOT_BYTES


@kernel
def _decode(  # type: ignore[no-untyped-def]
    page, first_vid, vertices, edges, p, q, firsts, slots, offsets, neighbours, attributes, present
):  # fmt: skip
    """Follow every slot to its record; returns the first vertex that makes no sense, or -1, and
    where the records end.
    """
    row = attributes.shape[1]
    size_bytes = ATTR_SIZE_BYTES if row > 0 else 0
    pid_mask = np.uint32((1 << (8 * p)) - 1)
    off_mask = np.uint32((1 << (8 * q)) - 1)
    # A load of 4 bytes may reach past an edge, but not past the slots.
    end = len(page) - vertices * SLOT_BYTES
    at = HEADER_BYTES
    e = np.int64(0)
    offsets[0] = 0
    for v in range(vertices):
        slot = len(page) - (v + 1) * SLOT_BYTES
        if _vid(page, slot) != first_vid + v or load32(page, slot + 6) != at:
            return v, at
        if at + RECORD_BYTES > end:
            return v, at
        degree = np.int64(load32(page, at))
        at += RECORD_BYTES
        if degree > edges - e or at + degree * (p + q + size_bytes) > end:
            return v, at
        for _ in range(degree):
            if at + p + q + size_bytes > end:
                return v, at
            pid = load32(page, at) & pid_mask
            off = load32(page, at + p) & off_mask
            if pid >= len(firsts) or off >= slots[pid]:
                return v, at
            neighbours[e] = firsts[pid] + off
            at += p + q
            if row > 0:
                size = np.int64(load16(page, at))
                at += ATTR_SIZE_BYTES
                if (size != 0 and size != row) or at + size > end:
                    return v, at
                present[e] = size == row
                for k in range(size):
                    attributes[e, k] = page[at + k]
                at += size
            e += 1
        offsets[v + 1] = e
    return (-1 if e == edges else vertices), at


def edge_bytes(spec: PageSpec) -> int:
    """Bytes an edge takes when its columns are there."""
    row = spec.column_bytes
    return spec.p + spec.q + (ATTR_SIZE_BYTES + row if row else 0)


def place(degrees: Iterator[U32], spec: PageSpec) -> tuple[I64, I64]:
    """Where every vertex goes: the first vertex of each page, and its position in its run."""
    check_edge_size(spec)
    room = spec.page_bytes - HEADER_BYTES
    size = edge_bytes(spec)
    most = min(1 << (8 * spec.q), MAX_PAGE_VERTICES)
    state = np.zeros(3, np.int64)
    firsts, runs = [], []
    for chunk in degrees:
        total = int(chunk.sum(dtype=np.int64))
        bound = len(chunk) + total // max(1, (room - SLOT_BYTES - RECORD_BYTES) // size) + 1
        first, run = np.empty(bound, np.int64), np.empty(bound, np.int64)
        count = _place(chunk, size, room, most, state, first, run)
        firsts.append(first[:count].copy())
        runs.append(run[:count].copy())
    return np.concatenate(firsts or [np.empty(0, np.int64)]), np.concatenate(
        runs or [np.empty(0, np.int64)]
    )


def check_addressable(num_pages: int, spec: PageSpec) -> None:
    """Raise if this many pages cannot be named with p bytes."""
    if num_pages > 1 << (8 * spec.p):
        raise AddressingError(
            f"({spec.p},{spec.q})-byte physical ids name at most {1 << (8 * spec.p):,} pages; "
            f"the graph needs {num_pages:,} pages of {spec.page_bytes:,} bytes: "
            "use larger pages (page_size=) or wider ids (physical_ids=)"
        )


def check_edge_size(spec: PageSpec) -> None:
    """Raise if an edge's columns are too long for ATTR_SZ or for a page."""
    size = edge_bytes(spec)
    if spec.column_bytes >= 1 << (8 * ATTR_SIZE_BYTES):
        raise AddressingError(
            f"an edge has {spec.column_bytes:,} bytes of columns; the slotted layout holds at most "
            f"{(1 << (8 * ATTR_SIZE_BYTES)) - 1:,}: keep fewer columns, or use layout='banded'"
        )
    if HEADER_BYTES + SLOT_BYTES + RECORD_BYTES + size > spec.page_bytes:
        raise AddressingError(
            f"an edge of {size:,} bytes does not fit a page of {spec.page_bytes:,}: "
            "use larger pages (page_size=)"
        )


class SlottedLayout:
    """Writes and reads slotted pages. ``first_vids`` is the first vertex of every page, with large
    pages of one run sharing theirs.
    """

    code = CODE

    def __init__(self, spec: PageSpec, first_vids: U32) -> None:
        self._spec = spec
        self._room = spec.page_bytes - HEADER_BYTES
        self._edge_bytes = edge_bytes(spec)
        self._most = min(1 << (8 * spec.q), MAX_PAGE_VERTICES)
        self._first_vids = np.ascontiguousarray(first_vids, np.uint32)
        self._starts, self._pages = np.unique(self._first_vids, return_index=True)
        check_edge_size(spec)
        #: Slots that physical ids may name: none in the further pages of a run.
        self._slots: U32 = np.zeros(len(self._first_vids), np.uint32)
        self._slots[self._pages] = np.diff(self._starts, append=np.uint32(spec.num_vertices))

    def fit(self, degrees: U32, neighbours: U32, vertex: int, edge: int) -> tuple[int, int]:
        """See :class:`~penstock.store.layout.Layout`."""
        found: tuple[int, int] = _fit(
            degrees, vertex, edge, self._edge_bytes, self._room, self._most
        )
        return found

    def fit_large(self, neighbours: U32, edge: int) -> int:
        """See :class:`~penstock.store.layout.Layout`."""
        most = (self._room - SLOT_BYTES - RECORD_BYTES) // self._edge_bytes
        return min(edge + most, len(neighbours))

    def encode(self, page: U8, kind: int, part: Adjacency) -> int:
        """See :class:`~penstock.store.layout.Layout`."""
        edges = len(part.neighbours)
        attributes: U8 = np.zeros((edges, self._spec.column_bytes), np.uint8)
        present = np.zeros(edges, np.bool_)
        at = 0
        for column in self._spec.columns:
            data = np.ascontiguousarray(part.columns[column.name], column.dtype)
            size = column.dtype.itemsize
            attributes[:, at : at + size] = data.view(np.uint8).reshape(edges, size)
            present |= ~np.isnan(data)
            at += size
        used: int = _encode(
            page, part.first_vid, part.degrees, part.neighbours,
            self._starts, self._pages, self._spec.p, self._spec.q, attributes, present,
        )  # fmt: skip
        return used

    def decode(self, page: U8, header: PageHeader) -> Adjacency:
        """See :class:`~penstock.store.layout.Layout`."""
        return self._adjacency(page, header)[0]

    def decode_into(
        self, page: U8, header: PageHeader, offsets: U32, neighbours: U32
    ) -> dict[str, Array]:
        """See :class:`~penstock.store.layout.Layout`. Columns are copies: a column's values are not
        together in the page.
        """
        return self._read(page, header, offsets, neighbours)[0]

    def audit(self, page: U8, header: PageHeader) -> tuple[Adjacency, int]:
        """See :class:`~penstock.store.layout.Layout`."""
        part, end = self._adjacency(page, header)
        slots = header.num_vertices * SLOT_BYTES
        if page[end : self._spec.page_bytes - slots].any():
            raise CorruptionError(
                f"page {header.page_id}: a byte between records and slots is not zero"
            )
        return part, end + slots

    def _adjacency(self, page: U8, header: PageHeader) -> tuple[Adjacency, int]:
        """The body of a page in arrays of its own, and where its records end."""
        self._check_counts(header)
        offsets: U32 = np.empty(header.num_vertices + 1, np.uint32)
        neighbours: U32 = np.empty(header.num_edges + DECODE_ROOM, np.uint32)
        columns, end = self._read(page, header, offsets, neighbours)
        neighbours = neighbours[: header.num_edges]
        return Adjacency(header.first_vid, np.diff(offsets), neighbours, columns), end

    def _read(
        self, page: U8, header: PageHeader, offsets: U32, neighbours: U32
    ) -> tuple[dict[str, Array], int]:
        """Fill the arrays; returns the columns, and where the records of the page end."""
        self._check_counts(header)
        check_room(header, offsets, neighbours)
        attributes: U8 = np.zeros((header.num_edges, self._spec.column_bytes), np.uint8)
        present = np.ones(header.num_edges, np.bool_)
        wrong, end = _decode(
            page, header.first_vid, header.num_vertices, header.num_edges,
            self._spec.p, self._spec.q, self._first_vids, self._slots,
            offsets, neighbours, attributes, present,
        )  # fmt: skip
        if wrong >= 0:
            raise CorruptionError(
                f"page {header.page_id}: slot {wrong} does not lead to a record that makes sense"
            )
        columns: dict[str, Array] = {}
        at = 0
        for column in self._spec.columns:
            size = column.dtype.itemsize
            data = attributes[:, at : at + size].copy().reshape(-1).view(column.dtype)
            if column.dtype.kind == "f":
                data[~present] = np.nan
            columns[column.name] = data
            at += size
        return columns, end

    def _check_counts(self, header: PageHeader) -> None:
        check_counts(header, self._spec, SLOT_BYTES + RECORD_BYTES, self._spec.p + self._spec.q)

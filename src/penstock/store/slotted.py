"""The slotted layout: records from the start of a page, slots from its end, physical ids.

A record is ADJLIST_SZ (4 bytes: how many edges follow) and the edges. An edge is the physical id of
the neighbour, ADJ_PID (p bytes: the page its record begins in) and ADJ_OFF (q bytes: its slot there);
if the graph has edge columns it is followed by ATTR_SZ (2 bytes) and ATTRLIST (that many bytes: the
columns one after another). An edge whose columns are all missing (NaN) has ATTR_SZ 0. Slot i ends
10 * i bytes before the end of the page and is VID (6 bytes) and OFF (4 bytes: where the record begins,
counted from the start of the page). All numbers are little-endian.

Where a vertex goes depends on degrees alone: every edge counts as if it had its columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.errors import AddressingError, CorruptionError
from penstock.jit import inlined, kernel
from penstock.store.layout import MAX_PAGE_VERTICES, PageSpec
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


@inlined
def _put(page, at, width, value):  # type: ignore[no-untyped-def]
    for k in range(width):
        page[at + k] = np.uint8((value >> (8 * k)) & 0xFF)


@inlined
def _get(page, at, width):  # type: ignore[no-untyped-def]
    value = np.int64(0)
    for k in range(width):
        value |= np.int64(page[at + k]) << (8 * k)
    return value


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
def _decode(page, first_vid, edges, p, q, firsts, degrees, neighbours, attributes, present):  # type: ignore[no-untyped-def]
    """Follow every slot to its record; returns the first vertex that makes no sense, or -1."""
    row = attributes.shape[1]
    slots_begin = len(page) - len(degrees) * SLOT_BYTES
    e = 0
    for v in range(len(degrees)):
        slot = len(page) - (v + 1) * SLOT_BYTES
        at = _get(page, slot + 6, 4)
        if _get(page, slot, 6) != first_vid + v or at < HEADER_BYTES or at + 4 > slots_begin:
            return v
        degree = _get(page, at, 4)
        at += RECORD_BYTES
        if degree > edges - e:
            return v
        for _ in range(degree):
            if at + p + q + (ATTR_SIZE_BYTES if row > 0 else 0) > slots_begin:
                return v
            pid = _get(page, at, p)
            if pid >= len(firsts):
                return v
            neighbours[e] = np.uint32(np.int64(firsts[pid]) + _get(page, at + p, q))
            at += p + q
            if row > 0:
                size = _get(page, at, ATTR_SIZE_BYTES)
                at += ATTR_SIZE_BYTES
                if (size != 0 and size != row) or at + size > slots_begin:
                    return v
                present[e] = size == row
                for k in range(size):
                    attributes[e, k] = page[at + k]
                at += size
            e += 1
        degrees[v] = degree
    return -1 if e == edges else len(degrees)


def edge_bytes(spec: PageSpec) -> int:
    """Bytes an edge takes when its columns are there."""
    row = spec.column_bytes
    return spec.p + spec.q + (ATTR_SIZE_BYTES + row if row else 0)


def place(degrees: Iterator[U32], spec: PageSpec) -> tuple[I64, I64]:
    """Where every vertex goes: the first vertex of each page, and its position in its run."""
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
        if self._edge_bytes + SLOT_BYTES + RECORD_BYTES > self._room:
            raise AddressingError(
                f"an edge of {self._edge_bytes} bytes does not fit a page of {spec.page_bytes}"
            )

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
        degrees: U32 = np.empty(header.num_vertices, np.uint32)
        neighbours: U32 = np.empty(header.num_edges, np.uint32)
        attributes: U8 = np.empty((header.num_edges, self._spec.column_bytes), np.uint8)
        present = np.ones(header.num_edges, np.bool_)
        wrong = _decode(
            page, header.first_vid, header.num_edges, self._spec.p, self._spec.q,
            self._first_vids, degrees, neighbours, attributes, present,
        )  # fmt: skip
        if wrong >= 0:
            raise CorruptionError(
                f"page {header.page_id}: slot {wrong} does not lead to a record that makes sense"
            )
        columns: dict[str, Array] = {}
        at = 0
        for column in self._spec.columns:
            size = column.dtype.itemsize
            data = np.ascontiguousarray(attributes[:, at : at + size]).reshape(-1).view(column.dtype)
            if column.dtype.kind == "f":
                data[~present] = np.nan
            columns[column.name] = data
            at += size
        return Adjacency(header.first_vid, degrees, neighbours, columns)

"""What decoding a banded page passes over: marks, widths, the choice of bands, and unused bytes.

It is written from the format's description and shares no code with the layout.
"""

from __future__ import annotations

import numpy as np

from penstock.errors import CorruptionError
from penstock.jit import helper, kernel, load16, load32
from penstock.store.page import HEADER_BYTES, LARGE, PageHeader
from penstock.types import I64, U8

_MARK_EVERY = 64
_ENTRY_BYTES = 8

_NOT_ZERO, _MARKS, _WIDTHS, _BANDS = -1, -2, -3, -4
_MEANINGS = {
    _NOT_ZERO: "a byte that should be zero is not",
    _MARKS: "its marks are not the numbers of ids before vertices 0, 64, 128, ...",
    _WIDTHS: "its counts are wider than the largest of them needs",
    _BANDS: "an id stands in a wider band than it needs",
}


@helper
def _after(page, at, size):  # type: ignore[no-untyped-def]
    """Where the array after this one begins, or a complaint if the bytes between are not zero."""
    while size % 8 != 0:
        if page[at + size] != 0:
            return _NOT_ZERO
        size += 1
    return at + size


@helper
def _audit_counts(page, marks, at, vertices, width, band, num_bands):  # type: ignore[no-untyped-def]
    before = np.int64(0)
    largest = np.int64(0)
    for v in range(vertices):
        if v % _MARK_EVERY == 0:
            mark = (v // _MARK_EVERY) * num_bands + band
            if load32(page, marks + 4 * mark) != before:
                return _MARKS
        if width == 1:
            count = np.int64(page[at + v])
        elif width == 2:
            count = np.int64(load16(page, at + 2 * v))
        elif width == 4:
            count = np.int64(load32(page, at + 4 * v))
        else:
            count = np.int64(0)
        before += count
        largest = max(largest, count)
    if width > 0 and largest == 0:
        return _WIDTHS
    return _WIDTHS if width > 1 and largest < (1 << (4 * width)) else 0


@kernel
def _audit_front(page, small, vertices, bands):  # type: ignore[no-untyped-def]
    """Check entries, marks and counts; returns where the ids begin, or a complaint."""
    num_bands = len(bands)
    at = HEADER_BYTES + _ENTRY_BYTES * num_bands
    for b in range(num_bands):
        entry = HEADER_BYTES + _ENTRY_BYTES * b
        if page[entry + 5] != 0 or load16(page, entry + 6) != 0:
            return _NOT_ZERO
        if not small and page[entry + 4] != 0:
            return _WIDTHS
    if small:
        marks = at
        at = _after(page, at, 4 * ((vertices + _MARK_EVERY - 1) // _MARK_EVERY) * num_bands)
        for b in range(num_bands):
            width = np.int64(page[HEADER_BYTES + _ENTRY_BYTES * b + 4])
            wrong = at if at < 0 else _audit_counts(page, marks, at, vertices, width, b, num_bands)
            if wrong < 0:
                return wrong
            at = _after(page, at, vertices * width)
    return at


@kernel
def _audit(page, small, vertices, edges, bands, column_sizes):  # type: ignore[no-untyped-def]
    at = _audit_front(page, small, vertices, bands)
    for b in range(len(bands)):
        if at < 0:
            return at
        total = np.int64(load32(page, HEADER_BYTES + _ENTRY_BYTES * b))
        if b > 0:
            upper = np.uint32((1 << (8 * bands[b])) - (1 << (8 * bands[b - 1])))
            narrow = False
            for k in range(total):
                narrow |= load32(page, at + bands[b] * k) & upper == 0
            if narrow:
                return _BANDS
        at = _after(page, at, total * bands[b])
    for c in range(len(column_sizes)):
        if at < 0:
            return at
        at = _after(page, at, edges * column_sizes[c])
    return at


def audit_front(page: U8, header: PageHeader, bands: I64) -> None:
    """Raise if the front of a page that has been decoded does not say where each list is."""
    small = header.kind != LARGE
    end: int = _audit_front(page, small, header.num_vertices, bands)
    if end < 0:
        raise CorruptionError(f"page {header.page_id}: {_MEANINGS[end]}")


def audit_body(page: U8, header: PageHeader, bands: I64, column_sizes: I64) -> int:
    """Check a page that has been decoded; returns the bytes in use, header included."""
    small = header.kind != LARGE
    end: int = _audit(page, small, header.num_vertices, header.num_edges, bands, column_sizes)
    if end >= 0 and page[end:].any():
        end = _NOT_ZERO
    if end < 0:
        raise CorruptionError(f"page {header.page_id}: {_MEANINGS[end]}")
    return end

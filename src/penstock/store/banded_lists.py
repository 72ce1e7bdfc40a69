"""Single lists out of banded pages, without the rest of the page.

The *front* of a page (header, entries, marks, counts) says where in the page the ids of each list
are. With the fronts of all pages in memory, the ids of some lists can be read from the disk alone:
:func:`plan_batch` says which blocks of the disk those are, :func:`read_requests` reads them, and
:func:`gather_batch` puts the lists together.

Fronts are slices of pages that were decoded and checked once. Every block has a checksum that was
computed then (:func:`sum_blocks`), because single blocks have none on the disk; blocks that are
read are compared with it (:func:`check_requests`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types as nbtypes

from penstock.jit import helper, kernel, load32
from penstock.store.banded_decode import MARK_EVERY, copy2, copy3, copy4
from penstock.store.page import HEADER_BYTES, LARGE
from penstock.types import I64, U32, Array

#: What begins and ends of reads are multiples of.
BLOCK_BYTES = 4096
#: Bytes that an arena has after its room, for copies of eight ids.
ARENA_TAIL = 64
#: Columns of :func:`page_places`.
FIRST, VERTICES, EDGES, IS_LARGE, GOES_ON, FRONT, PLACE_COLUMNS = range(7)

_ENTRY_BYTES = 8
_AT_ONCE = 8
_pread: Any = nbtypes.ExternalFunction(
    "pread", nbtypes.int64(nbtypes.int32, nbtypes.uint64, nbtypes.uint64, nbtypes.int64)
)


def front_bytes(table: Array, degrees: U32, bands: int) -> I64:
    """Bytes of the front of each page, at most: counts are as wide as the page's longest list
    makes them. Pages without edges have none.
    """
    vertices = table["num_vertices"].astype(np.int64)
    longest = np.zeros(len(table), np.int64)
    for page in np.flatnonzero((table["num_edges"] > 0) & (table["kind"] != LARGE)).tolist():
        first = int(table["first_vid"][page])
        longest[page] = degrees[first : first + int(vertices[page])].max()
    width = np.select([longest < 1, longest < 1 << 8, longest < 1 << 16], [0, 1, 2], 4)
    marks = -(-vertices // MARK_EVERY)
    size = HEADER_BYTES + _ENTRY_BYTES * bands + np.zeros(len(table), np.int64)
    size += np.where(longest > 0, 4 * marks * bands + 8 + bands * (vertices * width + 7), 0)
    return np.where(table["num_edges"] > 0, size, 0)


def page_places(table: Array, fronts: I64) -> I64:
    """What the kernels need to know of each page; ``fronts``: bytes that its front may take."""
    places = np.zeros((len(table), PLACE_COLUMNS), np.int64)
    places[:, FIRST] = table["first_vid"]
    places[:, VERTICES] = table["num_vertices"]
    places[:, EDGES] = table["num_edges"]
    places[:, IS_LARGE] = table["kind"] == LARGE
    places[:-1, GOES_ON] = table["run"][1:] > 0
    places[:, FRONT] = np.cumsum(fronts) - fronts
    return places


@helper
def _page_of(places, v):  # type: ignore[no-untyped-def]
    """The page in which the list of a vertex begins."""
    low, high = 0, len(places)
    while high - low > 1:
        middle = (low + high) >> 1
        if places[middle, FIRST] <= v:
            low = middle
        else:
            high = middle
    while low > 0 and places[low - 1, GOES_ON] != 0:
        low -= 1
    return low


@helper
def _open_front(places, page, fronts, bands, where):  # type: ignore[no-untyped-def]
    """Fill in, for each band: where its counts are among the fronts, bytes of a count, where in
    the page its ids are, number of ids. All zero in a page without edges.
    """
    where[:] = 0
    if places[page, EDGES] == 0:
        return
    front, vertices = places[page, FRONT], places[page, VERTICES]
    num_bands = len(bands)
    at = HEADER_BYTES + _ENTRY_BYTES * num_bands
    small = places[page, IS_LARGE] == 0
    if small:
        marks = (vertices + MARK_EVERY - 1) // MARK_EVERY
        at += (4 * marks * num_bands + 7) & ~7
    for b in range(num_bands):
        entry = front + HEADER_BYTES + _ENTRY_BYTES * b
        where[b, 3] = np.int64(load32(fronts, entry))
        if small:
            where[b, 0] = front + at
            where[b, 1] = np.int64(fronts[entry + 4])
            at += (vertices * where[b, 1] + 7) & ~7
    for b in range(num_bands):
        where[b, 2] = at
        at += (where[b, 3] * bands[b] + 7) & ~7


@helper
def _count(fronts, where, b, place):  # type: ignore[no-untyped-def]
    """Ids in a band of the list at a place of a small page."""
    width = where[b, 1]
    mask = (np.int64(1) << (8 * width)) - 1
    return np.int64(load32(fronts, where[b, 0] + width * place)) & mask


@helper
def _advance(fronts, mark, where, bands, reached, place, before):  # type: ignore[no-untyped-def]
    """Count the ids before a place: on from ``reached``, or from the mark before it."""
    num_bands = len(bands)
    if reached < 0 or place < reached or place - reached >= MARK_EVERY:
        group = place // MARK_EVERY
        reached = group * MARK_EVERY
        for b in range(num_bands):
            before[b] = np.int64(load32(fronts, mark + 4 * (group * num_bands + b)))
    for b in range(num_bands):
        for k in range(reached, place):
            before[b] += _count(fronts, where, b, k)


@helper
def _ask(requests, count, used, last, page, begin, end, room, gap):  # type: ignore[no-untyped-def]
    """Have some bytes of a page read: by the last request for the band (-1: none), or a new one.
    Returns the request, or -1 if there is no room, and how much is used then.
    """
    if last >= 0 and requests[last, 0] == page and begin <= requests[last, 2] + gap:
        more = max(end - requests[last, 2], 0)
        if used + more > room:
            return -1, used
        requests[last, 2] += more
        return last, used + more
    if used + end - begin > room or count >= len(requests):
        return -1, used
    requests[count, 0] = page
    requests[count, 1] = begin
    requests[count, 2] = end
    return count, used + end - begin


@helper
def _ask_for_list(  # type: ignore[no-untyped-def]
    page, lo, hi, where, before, bands, page_bytes, room, gap, requests, count, used, last, segments
):
    """Ask for the edges ``lo`` to ``hi`` of a list that has ``segments[b, 2]`` ids in each band,
    after ``before[b]`` others. Returns how many requests there are then and how much room
    they use, or -1 if that is not enough; what was asked for before this shows is read in vain.
    """
    passed = np.int64(0)
    for b in range(len(bands)):
        size = segments[b, 2]
        skip = min(max(lo - passed, 0), size)
        passed += size
        size = min(hi - passed + size, size) - skip
        segments[b, 2] = max(size, 0)
        if size <= 0:
            continue
        at = where[b, 2] + bands[b] * (before[b] + skip)
        begin = at & ~(BLOCK_BYTES - 1)
        end = min((at + bands[b] * size + BLOCK_BYTES - 1) & ~(BLOCK_BYTES - 1), page_bytes)
        request, used = _ask(requests, count, used, last[b], page, begin, end, room, gap)
        if request < 0:
            return count, -1
        count = max(count, request + 1)
        last[b] = request
        segments[b, 0] = request
        segments[b, 1] = at
    return count, used


@kernel
def plan_batch(  # type: ignore[no-untyped-def]
    vertices, start, done, places, fronts, bands, page_bytes, room, gap, requests, segments
):
    """Which blocks hold the lists of the vertices (ascending) from place ``start`` on, as many as
    have room in an arena. Two reads that are no further than a ``gap`` apart are one.

    A list too long for that, or in large pages, comes in parts, each in a batch of its
    own; ``done`` is how many of its edges came before. Returns where to go on (place, edges done),
    how many lists there are, and how many requests. ``requests`` gets rows of page, begin, end,
    place in the arena; ``segments``, for each list and band: request, byte in the page, ids.
    """
    num_bands = len(bands)
    where = np.zeros((num_bands, 4), np.int64)
    before, last = np.zeros(num_bands, np.int64), np.full(num_bands, -1, np.int64)
    most = (room - 2 * BLOCK_BYTES * num_bands) // 4
    page, reached, used, count, lists = np.int64(-1), np.int64(-1), 0, 0, 0
    while start + lists < len(vertices) and lists < len(segments):
        v = np.int64(vertices[start + lists])
        if page < 0 or v >= places[page, FIRST] + places[page, VERTICES]:
            page, reached = _page_of(places, v), np.int64(-1)
            _open_front(places, page, fronts, bands, where)
        large = places[page, IS_LARGE] != 0
        skipped = np.int64(0)  # edges of the list in earlier pages of its run
        while large and skipped + places[page, EDGES] <= done and places[page, GOES_ON] != 0:
            skipped += places[page, EDGES]
            page += 1
            _open_front(places, page, fronts, bands, where)
        place = v - places[page, FIRST]
        if large:
            before[:] = 0
        elif places[page, EDGES] > 0:
            mark = places[page, FRONT] + HEADER_BYTES + _ENTRY_BYTES * num_bands
            _advance(fronts, mark, where, bands, reached, place, before)
            reached = place
        degree = np.int64(0)
        for b in range(num_bands):
            segments[lists, b, 2] = where[b, 3] if large else _count(fronts, where, b, place)
            degree += segments[lists, b, 2]
        in_parts = large or degree > most
        if in_parts and lists > 0:
            break
        lo = done - skipped
        hi = min(degree, lo + most)
        count, used = _ask_for_list(
            page, lo, hi, where, before, bands, page_bytes, room, gap, requests, count, used, last,
            segments[lists],
        )  # fmt: skip
        if used < 0:
            break
        lists += 1
        if in_parts:
            over = hi == degree and (not large or places[page, GOES_ON] == 0)
            return _placed(requests, count, start + over, 0 if over else done + hi - lo, 1)
    return _placed(requests, count, start + lists, 0, lists)


@helper
def _placed(requests, count, start, done, lists):  # type: ignore[no-untyped-def]
    """Give each request its place in the arena, one after another."""
    at = np.int64(0)
    for k in range(count):
        requests[k, 3] = at
        at += requests[k, 2] - requests[k, 1]
    return start, done, lists, count


@kernel
def read_requests(files, page_bytes, address, requests, count):  # type: ignore[no-untyped-def]
    """Read what was planned into an arena at an address; page p is in file p modulo their number.
    Returns the first request that did not work out, or -1.
    """
    stripes = len(files)
    for k in range(count):
        page, begin, at = requests[k, 0], requests[k, 1], requests[k, 3]
        size, got = requests[k, 2] - begin, np.int64(0)
        where = page // stripes * page_bytes + begin
        while got < size:
            more = _pread(
                np.int32(files[page % stripes]), np.uint64(address + at + got),
                np.uint64(size - got), where + got,
            )  # fmt: skip
            if more <= 0:
                return k
            got += more
    return -1


@helper
def _sum_block(words, at):  # type: ignore[no-untyped-def]
    """A checksum of a block that begins at this word: polynomials modulo 2**64 with an odd base, so
    that a change of one word always changes it.
    """
    base = np.uint64(0x9E3779B97F4A7C15)
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    k = np.uint64(at)
    end = k + np.uint64(BLOCK_BYTES // 8)
    while k < end:
        a = a * base + words[k]
        b = b * base + words[k + np.uint64(1)]
        c = c * base + words[k + np.uint64(2)]
        d = d * base + words[k + np.uint64(3)]
        k += np.uint64(4)
    return ((a * base + b) * base + c) * base + d


@kernel
def sum_blocks(words, sums):  # type: ignore[no-untyped-def]
    """The checksums of the blocks of a page, given as numbers of 8 bytes."""
    for block in range(len(sums)):
        sums[block] = _sum_block(words, block * (BLOCK_BYTES // 8))


@kernel
def check_requests(words, requests, count, page_bytes, sums):  # type: ignore[no-untyped-def]
    """The first request that read a block whose checksum in ``sums`` is another, or -1. ``words``:
    the arena as numbers of 8 bytes.
    """
    for k in range(count):
        page, begin, end, at = requests[k, 0], requests[k, 1], requests[k, 2], requests[k, 3]
        first = (page * page_bytes + begin) // BLOCK_BYTES
        for block in range((end - begin) // BLOCK_BYTES):
            if _sum_block(words, (at + block * BLOCK_BYTES) >> 3) != sums[first + block]:
                return k
    return -1


@kernel
def gather_batch(arena, lists, requests, segments, bands, offsets, neighbours):  # type: ignore[no-untyped-def]
    """Put lists together from what was read. ``neighbours`` needs room for eight more than there
    are.
    """
    e = np.uint64(0)
    for i in range(lists):
        offsets[i] = e
        for b in range(len(bands)):
            size = np.uint64(segments[i, b, 2])
            if size == np.uint64(0):
                continue
            request, width = segments[i, b, 0], np.uint64(bands[b])
            at = np.uint64(requests[request, 3] + segments[i, b, 1] - requests[request, 1])
            k = np.uint64(0)
            while k < size:
                if width == np.uint64(2):
                    copy2(arena, at + np.uint64(2) * k, neighbours, e + k)
                elif width == np.uint64(3):
                    copy3(arena, at + np.uint64(3) * k, neighbours, e + k)
                else:
                    copy4(arena, at + np.uint64(4) * k, neighbours, e + k)
                k += np.uint64(_AT_ONCE)
            e += size
    offsets[lists] = e


@helper
def _length(offsets, rest, v):  # type: ignore[no-untyped-def]
    """Edges of a list, by two arrays of offsets, which may end before it."""
    edges = np.int64(0)
    if v + 1 < len(offsets):
        edges += np.int64(offsets[v + 1]) - np.int64(offsets[v])
    if v + 1 < len(rest):
        edges += np.int64(rest[v + 1]) - np.int64(rest[v])
    return edges


@kernel
def list_edges(vertices, offsets, rest):  # type: ignore[no-untyped-def]
    """Edges of the lists of some vertices."""
    edges = np.int64(0)
    for k in range(len(vertices)):
        edges += _length(offsets, rest, np.int64(vertices[k]))
    return edges


@kernel
def cut_lists(vertices, offsets, rest, most_edges, most_lists):  # type: ignore[no-untyped-def]
    """Where to cut a list of vertices so that parts have about so many edges and lists at most."""
    cuts = [0]
    edges = np.int64(0)
    for k in range(len(vertices)):
        edges += _length(offsets, rest, np.int64(vertices[k]))
        if edges >= most_edges or k + 1 - cuts[-1] >= most_lists:
            cuts.append(k + 1)
            edges = 0
    if cuts[-1] != len(vertices):
        cuts.append(len(vertices))
    return np.array(cuts)

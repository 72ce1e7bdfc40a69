"""Arrays in another order, by kernels and on several threads.

With places as an index, NumPy widens them to eight bytes first, and what a mask selects is copied:
that takes up to ten times as long. The kernels have no branch on whether there is a vertex, because
the processor would guess wrong too often.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.arrays import fresh
from penstock.jit import kernel
from penstock.parallel import Workers
from penstock.store.mapped import read_range
from penstock.types import I64, NO_VERTEX, U32, Array

#: Rows that a thread takes at a time.
PIECE_ROWS = 1 << 17
#: A thread for so many pieces: to start one takes as long as half a piece.
PIECES_A_THREAD = 4
#: Fewer rows are left to NumPy, which is as fast and need not be loaded first as kernels are.
FEW_ROWS = 1 << 10

_WIDTHS = (1, 2, 4, 8)


def in_pieces(length: int, threads: int, work: Callable[[int, int], object]) -> None:
    """``work(begin, end)`` for all rows, a piece at a time."""
    starts = range(0, length, PIECE_ROWS)
    pieces = [(begin, min(begin + PIECE_ROWS, length)) for begin in starts]
    count = min(threads, len(pieces) // PIECES_A_THREAD)
    if count < 2:
        for begin, end in pieces:
            work(begin, end)
        return
    workers = Workers(count)
    try:
        workers.run(lambda _, piece: work(*piece), pieces)
    finally:
        workers.close()


def take(source: Array, places: U32, out: Array | None = None) -> Array:
    """``source[places]``, in ``out`` if it is given."""
    width = source.dtype.itemsize
    if len(places) < FEW_ROWS or source.dtype.hasobject or width not in _WIDTHS:
        found = source[places]
        if out is None:
            return found
        out[:] = found
        return out
    if out is None:
        out = np.empty(len(places), source.dtype)
    _check(int(places.max()), len(source))
    # Entries are only moved: those of one width need one kernel.
    bits = np.dtype(f"u{width}")
    _take(np.asarray(source).view(bits), np.asarray(places), out.view(bits))
    return out


def translate(vids: U32, ranks: U32, threads: int = 1) -> U32:
    """``ranks[vids]``, but ``NO_VERTEX`` stays what it is."""
    if len(vids) < FEW_ROWS:
        missing = vids == NO_VERTEX
        few: U32 = ranks[np.where(missing, 0, vids)]
        few[missing] = NO_VERTEX
        return few
    found: U32 = fresh(len(vids), np.uint32)

    def work(begin: int, end: int) -> None:
        part = vids[begin:end]
        _check(int(_largest(part)), len(ranks))
        _translate(part, ranks, found[begin:end])

    in_pieces(len(vids), threads, work)
    return found


def number(ranks: U32, ids: I64 | int, out: I64, places: U32 | None = None) -> None:
    """The id of each rank, or of those at some places (one at least); -1 for ``NO_VERTEX``. The ids
    are given, or follow one another: then the first is.
    """
    if places is not None:
        _check(int(places.max()), len(ranks))
    elif not isinstance(ids, int):
        _check(int(_largest(ranks)), len(ids))
    order: U32 = np.empty(0, np.uint32) if places is None else np.asarray(places)
    if isinstance(ids, int):
        _count_on(ranks, order, ids, out)
    else:
        _look_up(ranks, order, np.asarray(ids), out)


def inverse(order: U32, threads: int = 1) -> U32:
    """The place of each number in an order of 0, 1, 2, ..."""
    places: U32 = fresh(len(order), np.uint32)

    def work(begin: int, end: int) -> None:
        part = read_range(order, begin, end)
        if len(part) < FEW_ROWS:
            places[part] = np.arange(begin, end, dtype=np.uint32)
            return
        _check(int(part.max()), len(order))
        _invert(part, begin, places)

    in_pieces(len(order), threads, work)
    return places


def _check(largest: int, length: int) -> None:
    """Raise what NumPy raises: kernels look at no bound."""
    if largest >= length:
        raise IndexError(f"vertex number {largest} is out of bounds: there are {length} vertices")


@kernel
def _take(source, places, out):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(len(places))):
        out[i] = source[np.uint64(places[i])]


@kernel
def _invert(order, begin, places):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(len(order))):
        places[np.uint64(order[i])] = np.uint32(np.uint64(begin) + i)


@kernel
def _largest(vids):  # type: ignore[no-untyped-def]
    """The largest that is not ``NO_VERTEX``; -1 if there is none."""
    most = np.uint32(0)
    for i in range(np.uint64(len(vids))):
        most = max(most, np.uint32(vids[i] + np.uint32(1)))  # NO_VERTEX becomes 0
    return np.int64(most) - 1


@kernel
def _translate(vids, ranks, out):  # type: ignore[no-untyped-def]
    last = np.uint64(len(ranks) - 1)
    for i in range(np.uint64(len(vids))):
        vid = np.uint64(vids[i])
        out[i] = ranks[min(vid, last)] | np.uint32(-np.int64(vid > last))


@kernel
def _count_on(ranks, places, first, out):  # type: ignore[no-untyped-def]
    all_of_them = len(places) == 0
    for i in range(np.uint64(len(out))):
        rank = ranks[i if all_of_them else np.uint64(places[i])]
        out[i] = (np.int64(rank) + first) | -np.int64(rank == np.uint32(NO_VERTEX))


@kernel
def _look_up(ranks, places, ids, out):  # type: ignore[no-untyped-def]
    all_of_them = len(places) == 0
    last = np.uint64(len(ids) - 1)
    for i in range(np.uint64(len(out))):
        rank = np.uint64(ranks[i if all_of_them else np.uint64(places[i])])
        out[i] = ids[min(rank, last)] | -np.int64(rank > last)

"""Lists of a base, less what was removed, and what was added: put together in pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from penstock.arrays import fresh
from penstock.dynamic import merge_kernels as kernels
from penstock.dynamic.base import FEW_EDGES
from penstock.dynamic.changes import Gathered, PlainLists
from penstock.types import I64, U32, U64, Array

#: Edges of the lists that one worker puts together at a time, about.
PIECE_EDGES = 1 << 18

Work = Callable[[int, int], None]
Pieces = Sequence[tuple[int, int]]
#: Calls the work for every piece.
Each = Callable[[Work, Pieces], None]


def merged(
    base: Gathered, gone: Gathered, added: Gathered, *, in_order: bool,
    each: Each | None = None,
) -> Gathered:  # fmt: skip
    """Lists of a base less what is gone (sorted lists, or no offsets), and what was added: merged,
    if all are ascending, else one after the other. ``each`` runs pieces of the work.
    """
    run = each or _one_by_one
    lists = len(base.offsets) - 1
    sizes: I64 = np.zeros(lists, np.int64)
    cuts = _cut(base.offsets)
    given = (base.plain, gone.plain, added.plain)

    def measure(lo: int, hi: int) -> None:
        kernels.count_merged(lo, hi, *given, sizes)

    run(measure, cuts)
    offsets: I64 = np.zeros(lists + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    total = int(offsets[-1])
    neighbours: U32 = fresh(total, np.uint32)
    target = PlainLists(offsets, neighbours)
    origin: U64 = fresh(total if base.columns else 0, np.uint64)
    pairs = [
        (_bits(first), _bits(np.ascontiguousarray(second)), fresh(total, first.dtype))
        for first, second in zip(base.columns, added.columns, strict=True)
    ]

    def put(lo: int, hi: int) -> None:
        kernels.merge_lists(lo, hi, in_order, *given, target, origin)
        for first, second, out in pairs:
            kernels.take_values(
                int(offsets[lo]), int(offsets[hi]), origin, first, second, _bits(out)
            )

    run(put, cuts)
    return Gathered(offsets, neighbours, tuple(out for _, _, out in pairs))


def _one_by_one(work: Work, pieces: Pieces) -> None:
    for piece in pieces:
        work(*piece)


def _bits(values: Array) -> Array:
    """The same bytes as unsigned numbers: kernels copy them whatever they mean."""
    return values.view(f"u{values.dtype.itemsize}")


def _cut(offsets: I64) -> list[tuple[int, int]]:
    """Cut lists into pieces of about the same number of edges."""
    lists, total = len(offsets) - 1, int(offsets[-1])
    if total < FEW_EDGES and lists < FEW_EDGES:
        return [(0, lists)]
    parts = max(total // PIECE_EDGES, lists // PIECE_EDGES, 1)
    wanted = np.linspace(0, total, parts + 1)[1:-1]
    ends = [0, *np.searchsorted(offsets, wanted).clip(0, lists).tolist(), lists]
    return [(a, b) for a, b in pairwise(ends) if a < b]

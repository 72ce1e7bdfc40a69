"""Rows of a batch on their way to the lists: dealt to the parts, and results brought back."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from penstock.dynamic import batch_kernels
from penstock.dynamic.list_memory import DealtRows, GivenRows, RunRoom, SortedRows
from penstock.dynamic.list_runs import FACTS, MOST_RUN, PIECE
from penstock.dynamic.list_sizes import APART, PARTS
from penstock.parallel import Workers
from penstock.types import I64, U32, Array

#: Rows of a range that one worker deals at a time.
RANGE_ROWS = 1 << 17
#: Rows that are worth giving to another worker.
PIECE_ROWS = 1 << 12


class Order(NamedTuple):
    """How the rows of a batch were dealt to the parts."""

    dealt: DealtRows
    #: Where each part begins among them.
    cuts: I64
    #: Parts that one worker takes at a time.
    pieces: list[tuple[int, int]]
    #: Two halves to sort them in, the first of which has them.
    halves: tuple[SortedRows, SortedRows]
    #: Rows that were dealt at a time, and where those of each part went.
    ranges: list[tuple[int, int]]
    at: I64


class RowRoom:
    """Where rows are put in order. It is kept, because taking it again costs more."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        #: For each thread.
        self.runs = [_run_room(0) for _ in range(workers.count)]
        self.forget()

    def forget(self) -> None:
        """Give most of the memory back."""
        self._halves = _halves(0)

    def deal(self, given: GivenRows, *, counted: bool = False, placed: bool = False) -> Order:
        """Deal rows to the parts, with room for what is asked for of each: a number of edges, or
        the place of one.
        """
        rows = len(given.src)
        if len(self._halves[0].pairs) < rows:
            self._halves = _halves(rows)
        ranges = [(a, min(a + RANGE_ROWS, rows)) for a in range(0, rows, RANGE_ROWS)]
        counts = np.zeros((len(ranges), PARTS + APART), np.int64)

        def count(_: int, k: int) -> None:
            batch_kernels.count_parts(*ranges[k], given.src, counts[k])

        self._workers.run(count, range(len(ranges)))
        cuts: I64 = np.empty(PARTS + 1, np.int64)
        batch_kernels.place_parts(counts, cuts)
        at = counts.copy()
        dealt = DealtRows(
            self._halves[0].pairs, np.empty_like(given.adds), np.empty_like(given.values),
            np.empty(rows if counted else 0, np.uint32), np.empty(rows if placed else 0, np.int64),
        )  # fmt: skip

        def deal(_: int, k: int) -> None:
            batch_kernels.deal(*ranges[k], given, counts[k], dealt)

        self._workers.run(deal, range(len(ranges)))
        bounds = cuts.tolist()
        self._reserve_runs(max(b - a for a, b in pairwise(bounds)))
        named = counted or placed or len(given.adds) > 0 or len(given.values) > 0
        return Order(dealt, cuts, _pieces(bounds), self._first(rows, named=named), ranges, at)

    def collect(self, order: Order, src: U32, dealt: Array, out: Array) -> None:
        """Bring results of rows back to where the rows were given."""

        def work(_: int, k: int) -> None:
            batch_kernels.collect(*order.ranges[k], src, order.at[k], dealt, out)

        self._workers.run(work, range(len(order.ranges)))

    def _first(self, rows: int, *, named: bool) -> tuple[SortedRows, SortedRows]:
        """Room for a number of rows; unless they are named, only their pairs are sorted."""
        names = rows if named else 0
        one, other = (SortedRows(half.pairs[:rows], half.rows[:names]) for half in self._halves)
        return one, other

    def _reserve_runs(self, rows: int) -> None:
        """Have room for runs of a number of rows, as far as they are that long."""
        wanted = min(rows, MOST_RUN)
        for k, room in enumerate(self.runs):
            if len(room.targets) < wanted:
                self.runs[k] = _run_room(wanted)


def _pieces(cuts: list[int]) -> list[tuple[int, int]]:
    """Parts for one worker at a time: several, if they have few rows."""
    pieces, first = [], 0
    for part in range(1, PARTS + 1):
        rows = cuts[part] - cuts[first]
        if rows >= PIECE_ROWS or (rows and part == PARTS):
            pieces.append((first, part))
            first = part
    return pieces


def _halves(rows: int) -> tuple[SortedRows, SortedRows]:
    one, other = (SortedRows(np.empty(rows, np.uint64), np.empty(rows, np.uint32)) for _ in "ab")
    return one, other


def _run_room(rows: int) -> RunRoom:
    """Room for a run of a number of rows."""
    slots = 1 << max((2 * rows - 1).bit_length(), 4)
    return RunRoom(
        keys=np.zeros(slots, np.uint32), numbers=np.empty(slots, np.uint32),
        filter=np.zeros(slots // 2, np.uint64), targets=np.empty(rows, np.uint32),
        facts=np.empty((rows, FACTS), np.uint32), likely=np.empty(PIECE, np.uint32),
        found=np.empty(rows, np.uint32), digits=np.empty(1 << batch_kernels.MOST_DIGIT, np.uint64),
    )  # fmt: skip

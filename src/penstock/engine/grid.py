"""Hosts in rows: how many rows, which values each gathers from, which pages. Pure functions.

R = P x S ranks stand in S rows of P. A row has the gathered values of one range of vertices. The S
ranks at the same place in their rows go over the same pages, each over the entries of the lists
that are in its range, and continue the accumulators of the row before. The owners of pages, and of
the vertices whose lists begin there, are those without rows: owner mod P is the place of a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from penstock.errors import OptionError
from penstock.store.mapped import PART, read_range
from penstock.types import I64, Array

#: Groups of pages for each row: while a row works on one, the next row works on the one before.
GROUPS_PER_ROW = 8
#: The longest range of a row, as a multiple of n / S; the first that fits is taken.
LENGTHS = (4.0, 2.0, 1.5, 1.25, 1.0)


@dataclass(frozen=True, slots=True)
class Grid:
    """A run over rows of hosts."""

    #: Ranks in a row.
    places: int
    #: Where the ranges of the rows begin, and the end of the last.
    cuts: tuple[int, ...]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.cuts) - 1

    @property
    def length(self) -> int:
        """The most vertices in a range."""
        return max(b - a for a, b in pairwise(self.cuts))

    def row(self, rank: int) -> int:
        """The row of a rank."""
        return rank // self.places

    def place(self, rank: int) -> int:
        """The place of a rank in its row."""
        return rank % self.places

    def rank(self, row: int, place: int) -> int:
        """The rank at a place of a row."""
        return row * self.places + place

    def range_of(self, rank: int) -> tuple[int, int]:
        """The vertices that a rank gathers from."""
        row = self.row(rank)
        return self.cuts[row], self.cuts[row + 1]

    def groups(self, num_pages: int) -> list[range]:
        """The pages in groups, which the rows work on one after another."""
        count = max(1, min(GROUPS_PER_ROW * self.rows, num_pages))
        ends = [k * num_pages // count for k in range(count + 1)]
        return [range(a, b) for a, b in pairwise(ends)]


def pages_at(owners: I64, grid: Grid | None, rank: int) -> Array:
    """Which pages a rank goes over, from the owners of all pages."""
    if grid is not None:
        owners, rank = owners % grid.places, grid.place(rank)
    found: Array = owners == rank
    return found


def rows_asked(division: str, ranks: int) -> list[int]:
    """The numbers of rows that a division allows, fewest first."""
    divisors = [k for k in range(1, ranks + 1) if ranks % k == 0]
    if division == "P":
        return [1]
    if division == "S":
        return divisors[1:] or [1]
    if division == "auto":
        return divisors
    asked = int(division[1:])
    if asked not in divisors:
        raise OptionError(
            f"division: {ranks} hosts cannot stand in {asked} rows of the same length; give S and "
            f"one of {', '.join(map(str, divisors))}, or leave out division"
        )
    return [asked]


def cuts_for(num_vertices: int, rows: int, most: int, edges: Array | None) -> tuple[int, ...]:
    """Ranges of at most ``most`` vertices with about equal numbers of out-edges (``edges`` of each
    vertex; None: not known).
    """
    ideal = _equal_cuts(num_vertices, rows, edges)
    cuts = [0]
    for k in range(1, rows):
        least = max(cuts[-1], num_vertices - (rows - k) * most)
        cuts.append(min(max(ideal[k - 1], least), cuts[-1] + most, num_vertices))
    return (*cuts, num_vertices)


def _equal_cuts(num_vertices: int, rows: int, edges: Array | None) -> list[int]:
    if edges is None:
        return [k * num_vertices // rows for k in range(1, rows)]
    parts = range(0, num_vertices, PART)
    sums = [int(_part(edges, a, num_vertices).sum(dtype=np.int64)) for a in parts]
    ends = np.cumsum([0, *sums])
    cuts = []
    for k in range(1, rows):
        target = k * int(ends[-1]) // rows
        at = max(int(np.searchsorted(ends, target, side="right")) - 1, 0)
        if at >= len(parts):
            cuts.append(num_vertices)
            continue
        inside = np.cumsum(_part(edges, parts[at], num_vertices), dtype=np.int64)
        cuts.append(parts[at] + int(np.searchsorted(inside, target - int(ends[at]))))
    return cuts


def _part(edges: Array, begin: int, num_vertices: int) -> Array:
    return read_range(edges, begin, min(begin + PART, num_vertices))


def grids(
    num_vertices: int, ranks: int, division: str, edges: Array | None
) -> Iterator[Grid | None]:
    """The ways to place the ranks, best first: as few rows as possible, and for each number of
    rows, ranges with equal numbers of edges before shorter ones. None: one row, in which each rank
    gathers from all vertices.
    """
    for rows in rows_asked(division, ranks):
        if rows == 1:
            yield None
            continue
        shortest, before = -(-num_vertices // rows), None
        for factor in LENGTHS:
            most = max(min(int(factor * shortest), num_vertices), shortest)
            grid = Grid(ranks // rows, cuts_for(num_vertices, rows, most, edges))
            if grid != before:
                yield grid
            before = grid

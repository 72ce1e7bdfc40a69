"""One pull over rows of hosts: every list is gathered row by row, from left to right.

The pages are in groups. In each round a row works on the group that the row before had in the round
before, and continues its accumulators; so all rows work at the same time, on different groups. The
last row sends its accumulators to the owners of the pages, which compute the new values.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from penstock.device.signature import ProgramSignature
from penstock.engine.device_group import DeviceGroup
from penstock.engine.engine import Engine
from penstock.engine.grid_state import GridState
from penstock.engine.rank_counts import sums_in
from penstock.engine.sums import Cell, Slots, identities
from penstock.store.page import LARGE
from penstock.stream import lists as streamed
from penstock.stream.lists import Piece
from penstock.types import I64, Array

Params = tuple[Any, ...]
Arrays = tuple[Array, ...]
#: Applies what was accumulated for consecutive cells: the cells, the first vertex of the
#: accumulators, the accumulators, and parameters.
Finish = Callable[[list[Cell], int, Arrays, Params], list[Any]]


class Group(NamedTuple):
    """Pages that a rank works on together."""

    #: The range of page numbers of the group, and the pages of this rank in it, ascending.
    among: range
    pages: I64
    #: Where the accumulators of each page begin; and how many there are in all.
    starts: I64
    size: int


class GridSweep:
    """The pulls of one rank."""

    def __init__(
        self,
        engine: Engine,
        signature: ProgramSignature,
        state: GridState,
        team: DeviceGroup,
        finish: Finish,
    ) -> None:
        grid = engine.plan.grid
        assert grid is not None
        self._engine, self._signature, self._state = engine, signature, state
        self._team, self._finish, self._grid = team, finish, grid
        rank = engine.peers.rank
        self._row, self._place = grid.row(rank), grid.place(rank)
        self._lists = engine.row_lists()
        self._table = self._lists.table
        self._firsts = self._table["first_vid"].astype(np.int64)
        self._rows_of_pages = engine.page_owners // grid.places
        here = engine.page_owners % grid.places == self._place
        sizes = sums_in(self._table)
        self._groups = []
        #: For each page here, where its accumulators begin in its group.
        self._start = np.zeros(len(self._table), np.int64)
        for among in grid.groups(len(self._table)):
            pages = among.start + np.flatnonzero(here[among.start : among.stop])
            ends = np.cumsum(sizes[pages])
            starts = ends - sizes[pages]
            self._start[pages] = starts
            self._groups.append(Group(among, pages, starts, int(sizes[pages].sum())))
        self._sizes = sizes

    def pull(self, params: Params, slots: Slots) -> list[tuple[int, Any]]:
        """Gather for every vertex. Returns the rows of what was applied, without those of long
        lists, whose accumulators are in ``slots`` on the last row.
        """
        grid, groups = self._grid, self._groups
        range_of = grid.range_of(self._engine.peers.rank)
        self._team.hold(range_of[0], self._state.gathered(*range_of))
        found: list[list[tuple[int, Any]]] = []
        coming: Arrays = ()
        for step in range(len(groups) + grid.rows - 1):
            number = step - self._row
            messages: list[Arrays] = [()] * self._engine.peers.size
            if 0 <= number < len(groups):
                sums = self._gather(groups[number], coming, params)
                self._send(groups[number], sums, messages, slots)
            came = self._state.alltoall(messages)
            if self._row > 0:
                coming = came[grid.rank(self._row - 1, self._place)]
            done = step - (grid.rows - 1)
            if done >= 0:
                sums = came[grid.rank(grid.rows - 1, self._place)]
                found.append(self._apply(groups[done], sums, params))
        return list(chain.from_iterable(found))

    def _gather(self, group: Group, coming: Arrays, params: Params) -> Arrays:
        """Continue the accumulators of the row before, or begin with identities."""
        program = self._signature.program
        if self._row == 0:
            sums = identities(program, group.size)
        else:
            # Received arrays may be read-only.
            pairs = zip(coming, program.accumulators, strict=True)
            sums = tuple(np.array(each, dtype) for each, dtype in pairs)

        def work(stream: int, piece: Piece) -> None:
            self._state.saw(piece)
            page = piece.page
            at = int(self._firsts[page]) - int(self._start[page])
            base, local = self._state.local_here(piece.begin)
            self._engine.timed_call(
                stream, piece, self._team.accumulate, stream, piece, base, at, local, sums, params
            )

        self._lists.scan(work, group.among)
        return sums

    def _send(self, group: Group, sums: Arrays, messages: list[Arrays], slots: Slots) -> None:
        """Send to the next row, or from the last row to the owners."""
        grid = self._grid
        if self._row < grid.rows - 1:
            messages[grid.rank(self._row + 1, self._place)] = sums
            return
        large = self._table["kind"][group.pages] == LARGE
        places = np.searchsorted(slots.pages, group.pages[large])
        for values, given in zip(slots.sums, sums, strict=True):
            values[places] = given[group.starts[large]]
        for row in range(grid.rows):
            mine = self._pages_of(group, row)
            pieces = [(int(self._start[page]), int(self._sizes[page])) for page in mine]
            messages[grid.rank(row, self._place)] = tuple(
                np.concatenate([values[:0], *(values[a : a + count] for a, count in pieces)])
                for values in sums
            )

    def _pages_of(self, group: Group, row: int) -> list[int]:
        """The pages of a group that a row owns, except those of long lists."""
        pages = group.pages
        chosen = (self._rows_of_pages[pages] == row) & (self._table["kind"][pages] != LARGE)
        found: list[int] = pages[chosen].tolist()
        return found

    def _apply(self, group: Group, sums: Arrays, params: Params) -> list[tuple[int, Any]]:
        """Compute the new values of own vertices."""
        pages = self._pages_of(group, self._row)
        starts = np.cumsum([0, *(int(self._sizes[page]) for page in pages)]).tolist()
        size, program = streamed.PIECE_VERTICES, self._signature.program

        def one(stream: int, k: int) -> list[tuple[int, Any]]:
            first = int(self._firsts[pages[k]])
            end = first + int(self._table["num_vertices"][pages[k]])
            found: list[tuple[int, Any]] = []
            with self._engine.metrics.timed("kernel", stream):
                for a in range(first, end, size):
                    b, at, mine = min(a + size, end), first - starts[k], sums
                    if self._sizes[pages[k]] == 0:  # all lists are empty
                        at, mine = a, identities(program, b - a)
                    found += [(a, row) for row in self._finish([(a, b)], at, mine, params)]
            return found

        return list(chain.from_iterable(self._engine.workers.run(one, range(len(pages)))))

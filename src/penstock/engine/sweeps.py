"""One iteration of a program over the lists: pull, notify-pull, push.

A list too long for a page is gathered page by page into accumulators of their own (*slots*), which
are summed in the order of the pages. Totals are added up page by page. Nothing else is summed on
its own, so that results have the same bits however an iteration goes (record 19).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.arrays import distinct
from penstock.device.lists import notify
from penstock.device.signature import ProgramSignature
from penstock.engine.device_group import DeviceGroup, Relay
from penstock.engine.device_push import push_on_devices
from penstock.engine.engine import Engine
from penstock.engine.ranges import Range, ranges_of
from penstock.engine.state import State
from penstock.engine.sums import (
    SPAN,
    Cell,
    RangeSums,
    Slots,
    grouped,
    spans,
    total_cells,
)
from penstock.stream.lists import Piece, by_page
from penstock.types import U8, U32, Array

if TYPE_CHECKING:
    from penstock.engine.grid_sweep import GridSweep

Params = tuple[Any, ...]
#: What a kernel returns: how many vertices are active, and the totals.
Rows = list[Any]


class Sweeps:
    """The three ways an iteration can go. Each returns what kernels returned, in order."""

    def __init__(
        self,
        engine: Engine,
        signature: ProgramSignature,
        kernels: Any,
        state: State,
        active: U8,
        team: DeviceGroup,
    ) -> None:
        self._engine = engine
        self._signature = signature
        self._kernels = kernels
        self._state = state
        self._active = active
        self._team = team
        self._ranges: list[Range] | None = None
        self._grid: GridSweep | None = None
        self._marks: U8 | None = None
        self._sums: tuple[Array, ...] | None = None

    # Pull

    def pull(self, params: Params, pages: range | None = None) -> Rows:
        """Every vertex gathers, or those of some pages (with no run of large pages cut)."""
        if self._engine.plan.grid is not None:
            return self._pull_rows(params)
        if self._ranges is None:
            self._ranges = ranges_of(self._engine, self._team.shares.ranges)
        if len(self._ranges) == 1:
            return self._pull_whole(params, pages)
        rows = self._pull_ranges(params)
        self._state.swap()
        return rows

    def _pull_whole(self, params: Params, pages: range | None) -> Rows:
        state, lists = self._state, self._engine.lists("in")
        state.begin_pass(over_lists=True)
        self._team.hold(0, state.gathered(0, self._engine.num_vertices))
        slots = Slots(lists.table, self._signature.program, pages)
        firsts = lists.table["first_vid"].astype(np.int64)

        def one(stream: int, piece: Piece) -> tuple[int, Any]:
            base, local = state.local(self._signature.local, piece.begin, piece.end)
            new = state.new_arrays(piece.begin, piece.end)
            found = self._engine.timed_call(
                stream, piece, self._team.pull, stream, piece, base, local, new, self._active,
                params,
            )  # fmt: skip
            state.store(piece.begin, piece.end, new)
            return piece.begin, found

        def work(stream: int, piece: Piece) -> list[tuple[int, Any]]:
            state.saw(piece)
            if piece in slots:
                self._gather(stream, piece, slots.at(piece), slots.sums, params)
                return []
            parts = by_page(piece, firsts) if self._signature.program.totals else [piece]
            return [one(stream, part) for part in parts]

        found = [*chain.from_iterable(lists.scan(work, pages=pages, dealer=self._team.dealer))]
        state.join_slots(slots)
        return state.publish([*found, *self._finish_slots(slots, params)], self._active)

    def _pull_rows(self, params: Params) -> Rows:
        """Gather over rows of hosts."""
        state: Any = self._state
        if self._grid is None:
            from penstock.engine.grid_sweep import GridSweep

            self._grid = GridSweep(self._engine, self._signature, state, self._team, self._finish)
        state.begin_pass(over_lists=True)
        slots = Slots(self._engine.gather_table, self._signature.program)
        found = self._grid.pull(params, slots)
        state.join_slots(slots)
        rows: Rows = state.publish([*found, *self._finish_slots(slots, params)], self._active)
        return rows

    def _gather(self, stream: int, piece: Piece, at: int, sums: Any, params: Params) -> None:
        base, local = self._state.local(self._signature.local, piece.begin, piece.end)
        self._engine.timed_call(
            stream, piece, self._team.accumulate, stream, piece, base, at, local, sums, params
        )

    def _finish_slots(self, slots: Slots, params: Params) -> list[tuple[int, Any]]:
        """Each vertex whose list is longer than a page, and what its kernel returned."""
        rows = []
        for vertex, first, stop in slots.runs:
            if not self._state.owns(vertex):
                continue
            self._kernels.merge(slots.sums, first, stop)
            cells = [(vertex, vertex + 1)]
            rows += [
                (vertex, row) for row in self._finish(cells, vertex - first, slots.sums, params)
            ]
            self._team.changed(vertex, vertex + 1)
        return rows

    def _finish(self, cells: list[Cell], at: int, sums: Any, params: Params) -> Rows:
        """Apply what was accumulated for consecutive cells."""
        begin, end = cells[0][0], cells[-1][1]
        base, local = self._state.local(self._signature.local, begin, end)
        new = self._state.new_arrays(begin, end)
        rest = (base, at, local, sums, new, self._active, params)
        found = [self._kernels.finish(*cell, *rest) for cell in cells]
        self._state.store(begin, end, new)
        return found

    def _finish_all(self, sums: RangeSums, params: Params) -> Rows:
        """Apply what was accumulated for all vertices."""
        engine, graph = self._engine, self._engine.graph

        def apply(stream: int, cells: list[Cell]) -> Rows:
            at, mine = sums.open(cells[0][0], cells[-1][1])
            with engine.metrics.timed("kernel", stream):
                return self._finish(cells, at, mine, params)

        if self._signature.program.totals:
            pulled = not graph.directed or "in" in graph.directions
            groups = grouped(total_cells(graph.page_table("in" if pulled else "out")))
        else:
            groups = [[span] for span in spans(engine.num_vertices)]
        return list(chain.from_iterable(engine.workers.run(apply, groups)))

    def _pull_ranges(self, params: Params) -> Rows:
        """Gather from one range of vertices after another, or from several that each have a device
        of their own, then apply.
        """
        assert self._ranges is not None
        engine, program, team = self._engine, self._signature.program, self._team
        slots = Slots(self._ranges[0].lists.table, program)
        sums = RangeSums.of(engine, program, in_memory=self._state.in_memory)
        if team.shares.division == "S":
            step = len(team.devices)
            for first in range(0, len(self._ranges), step):
                self._gather_parts(self._ranges[first : first + step], slots, sums, params)
        else:
            for part in self._ranges:
                self._gather_range(part, slots, sums, params)
        for vertex, first, stop in slots.runs:
            self._kernels.merge(slots.sums, first, stop)
            sums.set(vertex, [values[first] for values in slots.sums])
        return self._finish_all(sums, params)

    def _gather_range(self, part: Range, slots: Slots, sums: RangeSums, params: Params) -> None:
        """All devices gather from one range (Strategy P)."""
        self._team.forget()  # what they hold is of another range
        self._team.hold(part.low, self._state.gathered(part.low, part.high))

        def work(stream: int, piece: Piece) -> None:
            self._go_on(stream, part.narrow(piece), slots, sums, params)

        part.lists.scan(work, dealer=self._team.dealer)

    def _gather_parts(
        self, parts: list[Range], slots: Slots, sums: RangeSums, params: Params
    ) -> None:
        """Each device gathers from a range of its own, over all pages (Strategy S): of each piece,
        one goes on where the one before has ended.
        """
        team, state = self._team, self._state
        team.hold_parts([(part.low, state.gathered(part.low, part.high)) for part in parts])
        relay = Relay(self._engine.workers)

        def work(stream: int, piece: Piece) -> None:
            number = team.number(stream)
            if number >= len(parts):
                return
            inside = parts[number].narrow(piece)
            if relay.wait(piece, number):
                self._go_on(stream, inside, slots, sums, params)
                relay.pass_on(piece)

        parts[0].lists.scan(work, dealer=team.dealer)

    def _go_on(
        self, stream: int, piece: Piece, slots: Slots, sums: RangeSums, params: Params
    ) -> None:
        """Gather what is in a range, after what was in those before."""
        if piece in slots:
            self._gather(stream, piece, slots.at(piece), slots.sums, params)
            return
        at, mine = sums.open(piece.begin, piece.end)
        self._gather(stream, piece, at, mine, params)
        sums.close(piece.begin, mine)

    # Notify-pull

    def notify_pull(self, frontier: U32, params: Params) -> Rows:
        """Active vertices notify their out-neighbours, which gather."""
        engine, state = self._engine, self._state
        marks = self._marked()
        self._team.forget()
        touched = distinct(engine.traverse(frontier, notify, marks, direction="out"))
        marks[touched] = 0
        self._active[frontier] = 0
        lists = engine.lists("in")
        slots = Slots(lists.table, self._signature.program)
        touched, long = state.notified(touched, slots.vertices)
        gathered = state.gathered(0, engine.num_vertices)

        def work(stream: int, piece: Piece) -> Any:
            base, local = state.local(self._signature.local, piece.begin, piece.end)
            if piece in slots:
                engine.timed_call(
                    stream, piece, self._kernels.accumulate, piece.block, piece.begin, piece.end,
                    base, slots.at(piece), 0, gathered, local, slots.sums, params,
                )  # fmt: skip
                return None
            new = state.new_arrays(piece.begin, piece.end)
            return engine.timed_call(
                stream, piece, self._kernels.pull_some, piece.block, piece.vertices,
                base, 0, gathered, local, new, self._active, params,
            )  # fmt: skip

        slots.keep(long)
        if lists.resident:
            # Long lists are summed page by page here too, so that the result is the same.
            short = touched[~np.isin(touched, slots.vertices)]
            rows = lists.visit(short, work, as_scanned=state.has_gaps)
            for run in slots.runs:
                lists.scan(work, pages=slots.pages_of(run))
        else:
            both = touched if long is touched else np.union1d(touched, long)
            rows = [row for row in lists.visit(both, work) if row is not None]
        state.join_slots(slots)
        rows += [row for _, row in self._finish_slots(slots, params)]
        return state.publish_some(touched, rows, self._active)

    def _marked(self) -> U8:
        if self._marks is None:
            self._marks = self._engine.array("marks", np.uint8, 0)
        return self._marks

    # Push

    def push(self, frontier: U32, params: Params) -> Rows:
        """Active vertices add to the accumulators of their out-neighbours, which then apply.

        A sum whose order matters goes over the lists in their order, one at a time.
        """
        engine, program, state = self._engine, self._signature.program, self._state
        self._team.forget()
        if self._sums is None:
            pairs = zip(program.identities, program.accumulators, strict=True)
            self._sums = tuple(
                engine.array(f"sum {k}", dtype, value) for k, (value, dtype) in enumerate(pairs)
            )
        marks = self._marked()
        n = engine.num_vertices
        gathered = state.gathered(0, n)
        _, of_dst = state.local(self._signature.of_dst, 0, n)
        everything = program.activate is None or not program.incremental or len(frontier) == n
        if everything:
            frontier = np.arange(n, dtype=np.uint32)
        args = (gathered, of_dst, self._sums, marks, params)
        if self._team.all_push:
            touched = push_on_devices(engine, self._team, frontier, args)
        elif program.order_matters or len(program.accumulators) > 1:
            touched = distinct(self._push_in_order(frontier, args))
        else:
            touched = distinct(engine.traverse(frontier, self._kernels.push, *args))
        marks[touched] = 0
        if program.activate is not None:
            self._active[frontier] = 0
        rows = self._apply_pushed(touched, params, everything=everything)
        for values, identity in zip(self._sums, program.identities, strict=True):
            values[touched] = identity
        return rows

    def _push_in_order(self, frontier: U32, args: Params) -> U32:
        parts: list[U32] = []
        lists = self._engine.lists("out")

        def work(stream: int, piece: Piece) -> None:
            a, b = np.searchsorted(frontier, [piece.begin, piece.end])
            found: U32 = np.empty(len(piece.block.neighbours), np.uint32)
            count = self._engine.timed_call(
                stream, piece, self._kernels.push, piece.block, frontier[a:b], found, *args
            )
            parts.append(found[:count].copy())

        lists.scan(work, ordered=True)
        return np.concatenate([np.empty(0, np.uint32), *parts])

    def _apply_pushed(self, touched: U32, params: Params, *, everything: bool) -> Rows:
        engine, state, sums = self._engine, self._state, self._sums
        assert sums is not None
        n = engine.num_vertices
        program = self._signature.program
        if program.totals or (everything and not program.incremental):
            rows = self._finish_all(RangeSums(sums), params)
            state.swap()
            return rows
        _, local = state.local(self._signature.local, 0, n)
        new = state.new_arrays(0, n)

        def some(stream: int, part: U32) -> Any:
            with engine.metrics.timed("kernel", stream):
                return self._kernels.finish_some(part, 0, 0, local, sums, new, self._active, params)

        parts = [touched[a : a + SPAN] for a in range(0, len(touched), SPAN)]
        rows = engine.workers.run(some, parts)
        state.commit(touched)
        return rows

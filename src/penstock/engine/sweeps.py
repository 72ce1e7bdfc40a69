"""One iteration of a program over the lists: pull, notify-pull, push.

A list too long for a page is gathered page by page into accumulators of their own (*slots*), which
are summed in the order of the pages: the cuts are the graph's, whoever works on them.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from penstock.arrays import distinct
from penstock.device.lists import notify
from penstock.device.signature import ProgramSignature
from penstock.engine.device_group import DeviceGroup, Pending
from penstock.engine.device_push import push_on_devices
from penstock.engine.engine import Engine
from penstock.engine.ranges import Range, ranges_of
from penstock.engine.scratch import ScratchColumn
from penstock.engine.state import State
from penstock.program import Program
from penstock.store.page import LARGE
from penstock.stream.lists import Piece, by_page
from penstock.types import U8, U32, Array

Params = tuple[Any, ...]
#: What a kernel returns: how many vertices are active, and the totals.
Rows = list[Any]

#: Vertices whose values are handled together.
SPAN = 1 << 16


def spans(num_vertices: int) -> list[tuple[int, int]]:
    """All vertices, in ranges."""
    return [(a, min(a + SPAN, num_vertices)) for a in range(0, num_vertices, SPAN)]


class Slots:
    """Accumulators for pages that hold a part of a list."""

    def __init__(self, table: Array, program: Program, among: range | None = None) -> None:
        pages = np.flatnonzero(table["kind"] == LARGE)
        if among is not None:
            pages = pages[(pages >= among.start) & (pages < among.stop)]
        self._pages = pages
        self._slot = {int(page): k for k, page in enumerate(pages)}
        self.sums = identities(program, len(pages))
        firsts = np.flatnonzero(table["run"][pages] == 0).tolist()
        vertices = table["first_vid"][pages]
        #: Vertex, first slot, slot after the last.
        self.runs = [
            (int(vertices[a]), a, b)
            for a, b in zip(firsts, [*firsts[1:], len(pages)], strict=False)
        ]

    def __contains__(self, piece: Piece) -> bool:
        return piece.page in self._slot

    def pages_of(self, run: tuple[int, int, int]) -> range:
        """The pages of a vertex's list."""
        return range(int(self._pages[run[1]]), int(self._pages[run[2] - 1]) + 1)

    def keep(self, vertices: U32) -> None:
        """Forget all runs but those of these vertices (ascending)."""
        owners = np.array([run[0] for run in self.runs], np.int64)
        there = np.isin(owners, vertices)
        self.runs = [run for run, kept in zip(self.runs, there.tolist(), strict=True) if kept]

    def at(self, piece: Piece) -> int:
        """The vertex that accumulators would begin with for this piece to meet its own."""
        return piece.begin - self._slot[piece.page]


def identities(program: Program, count: int) -> tuple[Array, ...]:
    """Accumulators to begin with."""
    pairs = zip(program.identities, program.accumulators, strict=True)
    return tuple(np.full(count, value, dtype) for value, dtype in pairs)


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
        self._marks: U8 | None = None
        self._sums: tuple[Array, ...] | None = None

    # Pull

    def pull(self, params: Params, pages: range | None = None) -> Rows:
        """Every vertex gathers, or those of some pages (with no run of large pages cut)."""
        if self._ranges is None:
            self._ranges = ranges_of(self._engine, self._team.shares.ranges)
        if len(self._ranges) == 1:
            rows = self._pull_whole(params, pages)
        else:
            rows = self._pull_ranges(params)
        self._state.swap()
        return rows

    def _pull_whole(self, params: Params, pages: range | None) -> Rows:
        state, lists = self._state, self._engine.lists("in")
        self._team.hold(0, state.gathered(0, self._engine.num_vertices))
        slots = Slots(lists.table, self._signature.program, pages)
        firsts = lists.table["first_vid"].astype(np.int64)

        def one(stream: int, piece: Piece) -> Any:
            base, local = state.local(self._signature.local, piece.begin, piece.end)
            new = state.new_arrays(piece.begin, piece.end)
            found = self._engine.timed_call(
                stream, piece, self._team.pull, stream, piece, base, local, new, self._active,
                params,
            )  # fmt: skip
            state.store(piece.begin, new)
            return found

        def work(stream: int, piece: Piece) -> Rows:
            if piece in slots:
                self._gather(stream, piece, slots.at(piece), slots.sums, params)
                return []
            # Totals are added up page by page, so that they are the same wherever the pages are.
            parts = by_page(piece, firsts) if self._signature.program.totals else [piece]
            return [one(stream, part) for part in parts]

        rows = chain.from_iterable(lists.scan(work, pages=pages, dealer=self._team.dealer))
        return [*rows, *self._finish_slots(slots, params)]

    def _gather(self, stream: int, piece: Piece, at: int, sums: Any, params: Params) -> None:
        base, local = self._state.local(self._signature.local, piece.begin, piece.end)
        self._engine.timed_call(
            stream, piece, self._team.accumulate, stream, piece, base, at, local, sums, params
        )

    def _finish_slots(self, slots: Slots, params: Params) -> Rows:
        rows = []
        for vertex, first, stop in slots.runs:
            self._kernels.merge(slots.sums, first, stop)
            rows.append(self._finish(vertex, vertex + 1, vertex - first, slots.sums, params))
            self._team.changed(vertex, vertex + 1)
        return rows

    def _finish(self, begin: int, end: int, at: int, sums: Any, params: Params) -> Any:
        base, local = self._state.local(self._signature.local, begin, end)
        new = self._state.new_arrays(begin, end)
        found = self._kernels.finish(begin, end, base, at, local, sums, new, self._active, params)
        self._state.store(begin, new)
        return found

    def _pull_ranges(self, params: Params) -> Rows:
        """Gather from one range of vertices after another, or from several that each have a device
        of their own, then apply.
        """
        assert self._ranges is not None
        engine, program, team = self._engine, self._signature.program, self._team
        slots = Slots(self._ranges[0].lists.table, program)
        sums = _Sums(engine, program, in_memory=self._state.in_memory)
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

        def apply(stream: int, span: tuple[int, int]) -> Any:
            at, mine = sums.open(*span)
            with engine.metrics.timed("kernel", stream):
                return self._finish(*span, at, mine, params)

        return engine.workers.run(apply, spans(engine.num_vertices))

    def _gather_range(self, part: Range, slots: Slots, sums: _Sums, params: Params) -> None:
        """All devices gather from one range (Strategy P)."""
        self._team.forget()  # what they hold is of another range
        self._team.hold(part.low, self._state.gathered(part.low, part.high))

        def work(stream: int, piece: Piece) -> None:
            inside = part.narrow(piece)
            if piece in slots:
                self._gather(stream, inside, slots.at(piece), slots.sums, params)
                return
            at, mine = sums.open(piece.begin, piece.end)
            self._gather(stream, inside, at, mine, params)
            sums.close(piece.begin, mine)

        part.lists.scan(work, dealer=self._team.dealer)

    def _gather_parts(self, parts: list[Range], slots: Slots, sums: _Sums, params: Params) -> None:
        """Each device gathers from a range of its own, over all pages (Strategy S)."""
        team, state, program = self._team, self._state, self._signature.program
        team.hold_parts([(part.low, state.gathered(part.low, part.high)) for part in parts])
        pending = Pending(len(parts))

        def work(stream: int, piece: Piece) -> None:
            number = team.number(stream)
            if number >= len(parts):
                return
            mine = identities(program, piece.end - piece.begin)
            self._gather(stream, parts[number].narrow(piece), piece.begin, mine, params)
            made = pending.add(piece, number, mine)
            if made is None:
                return
            if piece in slots:
                at, mine = slots.at(piece), slots.sums
            else:
                at, mine = sums.open(piece.begin, piece.end)
            for others in made:
                self._kernels.join(mine, piece.begin - at, others)
            if piece not in slots:
                sums.close(piece.begin, mine)

        parts[0].lists.scan(work, dealer=team.dealer)

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
        gathered = state.gathered(0, engine.num_vertices)
        _, local = state.local(self._signature.local, 0, engine.num_vertices)
        new = state.new_arrays(0, engine.num_vertices)

        def work(stream: int, piece: Piece) -> Any:
            if piece in slots:
                engine.timed_call(
                    stream, piece, self._kernels.accumulate, piece.block, piece.begin, piece.end,
                    0, slots.at(piece), 0, gathered, local, slots.sums, params,
                )  # fmt: skip
                return None
            return engine.timed_call(
                stream, piece, self._kernels.pull_some, piece.block, piece.vertices,
                0, 0, gathered, local, new, self._active, params,
            )  # fmt: skip

        slots.keep(touched)
        if lists.resident:
            # Long lists are summed page by page here too, so that the result is the same.
            short = touched[~np.isin(touched, [run[0] for run in slots.runs])]
            rows = lists.visit(short, work)
            for run in slots.runs:
                lists.scan(work, pages=slots.pages_of(run))
        else:
            rows = [row for row in lists.visit(touched, work) if row is not None]
        rows += self._finish_slots(slots, params)
        state.commit(touched)
        return rows

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
        n = engine.num_vertices
        program = self._signature.program
        if program.totals or (everything and not program.incremental):

            def apply(stream: int, span: tuple[int, int]) -> Any:
                with engine.metrics.timed("kernel", stream):
                    return self._finish(*span, 0, sums, params)

            rows = engine.workers.run(apply, spans(n))
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


class _Sums:
    """Accumulators of all vertices between the ranges of an iteration."""

    def __init__(self, engine: Engine, program: Program, *, in_memory: bool) -> None:
        n = engine.num_vertices
        self._program = program
        self._arrays: tuple[Array, ...] = ()
        self._columns: list[ScratchColumn] = []
        if in_memory:
            self._arrays = identities(program, n)
            return
        folder = engine.scratch_folder()
        self._columns = [ScratchColumn(folder, dtype, n) for dtype in program.accumulators]
        for begin, end in spans(n):
            for column, values in zip(self._columns, identities(program, end - begin), strict=True):
                column.write(begin, values)

    def open(self, begin: int, end: int) -> tuple[int, tuple[Array, ...]]:
        """Accumulators of a range, and the vertex that they begin with."""
        if self._arrays:
            return 0, self._arrays
        return begin, tuple(column.read(begin, end) for column in self._columns)

    def close(self, begin: int, values: tuple[Array, ...]) -> None:
        """Keep what was changed."""
        for column, part in zip(self._columns, values, strict=False):
            column.write(begin, part)

    def set(self, vertex: int, values: list[Any]) -> None:
        """Set the accumulators of one vertex."""
        for array, value in zip(self._arrays, values, strict=False):
            array[vertex] = value
        for column, value in zip(self._columns, values, strict=False):
            column.write(vertex, np.array([value], column.dtype))

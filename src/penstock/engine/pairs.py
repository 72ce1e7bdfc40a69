"""Pairs of windows: every two lists of which one has the other's vertex, both in memory at once.

This is what needs the neighbours of neighbours: for each entry u of the list of v, the list of u is
at hand. An *inner* window takes most of the room, small *outer* ones go over all later vertices
(an entry of a list is before its vertex, so u is never in a later window than v), and over the
inner window itself. Outer windows leave out the strips that have no entry in the inner one. If all
lists fit memory they are one window, which is paired with itself. Where lists can be used as they
are stored, their pages pass by the inner window one by one. Nothing is written to disk.

Block nested loops read every page once for each inner window; here it is about half of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from penstock.engine.checkpoint_file import StoredColumn
from penstock.engine.windows import EarlierLists, Window
from penstock.stream.lists import Piece
from penstock.types import U8, U32, Array

#: The share of the room for windows that the outer one gets.
OUTER_SHARE = 1 / 8
#: Bytes of an outer window that takes none.
NO_LIMIT = 1 << 62


#: A kernel, the first vertex whose list it looks at, and arguments. It is called in each thread as
#: ``kernel(claims, first, offsets, neighbours, values, begins, *args)``: lists begin with that of
#: vertex ``first``, and the first to look at is at place ``begins``; see :meth:`Engine.together`.
Call = tuple[Callable[..., Any], int, tuple[Any, ...]]
#: Of lists that have no values.
_NO_VALUES: U32 = np.empty(0, np.uint32)


class EdgeColumn(StoredColumn, Protocol):
    """A number for each entry of all lists, in their order."""

    def write(self, begin: int, values: Array) -> None:
        """Set those from ``begin`` on."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """Bytes of the two windows of a pair."""

    inner: int
    outer: int


def share_room(room: int, longest: int) -> Rooms:
    """The bytes of inner and outer windows, so that the longest list fits the outer one."""
    outer = min(max(int(room * OUTER_SHARE), longest), room)
    return Rooms(room - outer, outer)


def outer_ranges(meets: U8, shift: int, first: int, last: int, end: int) -> list[tuple[int, int]]:
    """The vertices from ``last`` on whose strips have an entry in ``first`` to ``last``, as ranges;
    see :class:`~penstock.engine.windows.EarlierLists`.
    """
    if last <= first or last >= end:
        return []
    strip = last >> shift
    columns = meets[strip:, first >> shift : ((last - 1) >> shift) + 1]
    chosen = np.flatnonzero(columns.any(axis=1)) + strip
    runs = np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1) if len(chosen) else []
    return [
        (max(int(run[0]) << shift, last), min((int(run[-1]) + 1) << shift, end)) for run in runs
    ]


def nested_loop_pages(pages: int, memory: int, page_bytes: int) -> int:
    """Pages that block nested loops read if all of the memory is for pages: all once, and all once
    more for each part of them that fits beside one other.
    """
    part = max(memory // max(page_bytes, 1) - 1, 1)
    return pages + -(-pages // part) * pages


class Pairs:
    """The pairs of windows of one run. ``values``: what is kept for each entry, which windows have
    while they are visited; what a visit changes is kept.
    """

    def __init__(
        self, lists: EarlierLists, room: int, entry_bytes: int, values: EdgeColumn | None = None
    ) -> None:
        self.lists = lists
        self.engine = lists.engine
        self.entry_bytes = entry_bytes
        self._values = values
        #: The only one, if there is only one.
        self._window: Window | None = None
        #: Whether all lists are in memory at once.
        self.whole = lists.fit or lists.reach(0, room, entry_bytes) == lists.num_vertices
        #: Bytes for windows.
        self.room = room
        if not self.engine.is_resident():
            graph = self.engine.graph
            pages = sum(
                int(np.count_nonzero(graph.page_table(each)["num_edges"]))
                for each in self.engine.counts.both_ways
            )
            self.engine.facts["nested_loop_pages"] = nested_loop_pages(
                pages, self.engine.options.memory, self.engine.counts.page_bytes
            )

    def run(
        self,
        first: int,
        calls: Callable[[Window], Iterator[Call]],
        after: Callable[[Window], None],
        *,
        by_pages: bool = False,
        before: bool = False,
    ) -> None:
        """``calls(inner)`` for all lists that are paired with an inner window, from the one that
        begins with a vertex on: first those of the window itself. ``after`` each inner window.

        ``by_pages``: lists may come as they are in their pages, with later neighbours behind the
        earlier ones and without values. If they can, the inner window has all of the room, and
        pages are read while others are worked on. ``before``: the first inner window stands for all
        vertices before it too.
        """
        lists, engine = self.lists, self.engine
        by_pages = by_pages and lists.can_pass_by()
        least = 0 if before else first
        while first < lists.num_vertices:
            rooms = self._rooms(by_pages=by_pages)
            last = lists.reach(first, rooms.inner, self.entry_bytes)
            with engine.step(mode="inner", vertices=last - first):
                inner = self.open(first, last)
                self._call_together(calls(inner), inner)
            for begin, end in self._outer(least, last, rooms):
                with engine.step(mode="outer", vertices=end - begin):
                    if by_pages:
                        lists.pass_by(begin, end, partial(self._call_page, calls, inner))
                        continue
                    outer = self.open(begin, end)
                    self._call_together(calls(inner), outer)
                    self.close(outer)
                    del outer
            self.close(inner)
            after(inner)
            del inner
            first = least = last

    def _call_together(self, calls: Iterator[Call], outer: Window) -> None:
        """All threads share the lists of a window."""
        for kernel, least, args in calls:
            begins = max(least - outer.first, 0)
            self.engine.run_per_thread(kernel, *outer.arrays(), begins, *args)

    def _call_page(
        self, calls: Callable[[Window], Iterator[Call]], inner: Window, stream: int, piece: Piece
    ) -> None:
        """One thread has the lists of a page; outer ones, so that none is before its first."""
        first, offsets = piece.block.first, piece.block.offsets[: piece.end - piece.block.first + 1]
        lists = np.uint64(first), offsets, piece.block.neighbours, _NO_VALUES, piece.begin - first
        for kernel, _, args in calls(inner):
            with self.engine.metrics.timed("kernel", stream, piece.page):
                kernel(np.zeros(2, np.int64), *lists, *args)

    def _rooms(self, *, by_pages: bool) -> Rooms:
        if self.whole or by_pages:
            return Rooms(self.room, NO_LIMIT)
        return share_room(self.room, self.lists.longest_bytes(self.entry_bytes))

    def _outer(self, first: int, last: int, rooms: Rooms) -> Iterator[tuple[int, int]]:
        """The ranges of vertices that are paired with those of an inner window."""
        lists = self.lists
        for begin, end in outer_ranges(lists.meets, lists.shift, first, last, lists.num_vertices):
            at = begin
            while at < end:
                stop = lists.reach(at, rooms.outer, self.entry_bytes, end)
                yield at, stop
                at = stop

    def open(self, first: int, last: int) -> Window:
        """The window of some vertices, with its values."""
        if self._window is not None and self._window.first == first:
            return self._window
        window = self.lists.load(first, last)
        if self._values is not None:
            place = self.lists.place(first)
            values = self._values.read(place, place + window.num_entries)
            window = replace(window, values=values)
        if self.whole:
            self._window = window
        return window

    def close(self, window: Window) -> None:
        """Keep the values of a window."""
        if self._values is not None:
            self._values.write(self.lists.place(window.first), window.values)
            if not self.lists.fit:  # its values are a copy, and the column may change
                self._window = None

    def windows(self) -> Iterator[Window]:
        """All lists with their values, one window after another."""
        for first, last in self.lists.ranges(self.room, self.entry_bytes):
            yield self.open(first, last)

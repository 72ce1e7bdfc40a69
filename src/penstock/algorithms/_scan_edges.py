"""The edges of a graph with the common neighbours of their ends: counted now, or kept since.

They are kept where :class:`~penstock.engine.edge_columns.Home` says. If they are in memory as a
whole, and so are the lists of the graph, they also stay with it for the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace

from penstock.algorithms._scan import VERTEX_BYTES
from penstock.algorithms._triangle_kernels import OF_EDGES
from penstock.algorithms._triangles import Counting, Wanted, counting_needs
from penstock.engine.counts import Counts
from penstock.engine.edge_columns import EdgeColumns, Home, NewColumns
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.windows import ROOM, PageLists, Window, lists_bytes
from penstock.store.kept import Slot
from penstock.types import U32

#: What is counted: the common neighbours of edges, and the neighbours of each vertex.
WANTED = Wanted(OF_EDGES, degrees=True, other_bytes=VERTEX_BYTES)
#: Edges whose numbers are kept at a time, if they are not all in memory.
PART = 1 << 20


#: One window with all edges, and the neighbours of each vertex; by the folder they are kept in.
COMMON_NEIGHBOURS: Slot[tuple[Window, U32]] = Slot("edges with common neighbours")


@dataclass(frozen=True, slots=True)
class Edges:
    """What clustering looks at."""

    windows: Callable[[], Iterator[Window]]
    num_neighbours: U32
    #: Whether nothing had to be counted.
    indexed: bool
    #: Why what was counted could not be kept for later runs; None: it was, or was not meant to be.
    not_kept: str | None = None


def scan_needs(counts: Counts) -> Needs:
    """As if they had to be counted."""
    counting = counting_needs(counts, WANTED)
    return replace(counting, passes=counting.passes + 4)


def open_edges(engine: Engine, home: Home | None) -> Edges:
    """The edges, in windows that take no more than the plan has room for. If they cannot be kept
    where the user asked for, that raises before they are counted; beside the graph, it only gets
    noted.
    """
    if home is None:
        return _count(engine, None)
    fits = engine.take_room(ROOM) >= lists_bytes(engine.counts, WANTED.entry_bytes)
    there = engine.kept(COMMON_NEIGHBOURS, home.folder) if fits else None
    if there is not None:
        only, num_neighbours = there
        return Edges(lambda: iter([only]), num_neighbours, True)
    try:
        kept = home.find()
    except OSError as error:
        not_kept = _not_kept(engine, home, error)
        return replace(_count(engine, None), not_kept=not_kept)
    if kept is None and home.folder is None and not fits:  # no room to keep them in memory
        return _count(engine, None)
    edges = _count(engine, home) if kept is None else _read(engine, kept)
    for only in edges.windows() if fits else ():
        engine.keep(COMMON_NEIGHBOURS, home.folder, value=(only, edges.num_neighbours))
    return edges


def _count(engine: Engine, home: Home | None) -> Edges:
    not_kept: str | None = None
    with ExitStack() as stack:
        new: NewColumns | None = None
        try:
            new = None if home is None else stack.enter_context(home.begin())
        except OSError as error:
            not_kept = _not_kept(engine, home, error)
        counting = Counting(engine, WANTED)
        pairs = counting.run({"algorithm": "scan"})
        try:
            if new is not None:
                _keep(counting, new)
        except OSError as error:
            not_kept = _not_kept(engine, home, error)
    return Edges(pairs.windows, counting.degrees, False, not_kept)


def _keep(counting: Counting, new: NewColumns) -> None:
    values, total = counting.values, counting.lists.total
    assert values is not None
    step = max(total, 1) if counting.lists.fit else PART
    for begin in range(0, total, step):
        new.write(begin, values.read(begin, min(begin + step, total)))
    new.finish(total, counting.degrees)


def _not_kept(engine: Engine, home: Home | None, error: OSError) -> str:
    """Go on without an index, unless the user asked for it: then raise."""
    if home is None or home.asked:
        raise error
    engine.options.progress.note(f"going on without an index: {error}")
    return str(error)


def _read(engine: Engine, kept: EdgeColumns) -> Edges:
    counts, entry_bytes, room = engine.counts, WANTED.entry_bytes, engine.take_room(ROOM)
    engine.hold("numbers of neighbours", kept.num_neighbours.nbytes)
    lists = PageLists(engine, fit=room >= lists_bytes(counts, entry_bytes))
    with engine.step(mode="measure"):
        lists.measure()
        lists.settle(room, entry_bytes)

    def windows() -> Iterator[Window]:
        for window in lists.windows(room, entry_bytes):
            place = lists.place(window.first)
            yield replace(window, values=kept.read(place, place + window.num_entries))

    if not lists.fit:
        return Edges(windows, kept.num_neighbours, True)
    whole = list(windows())
    return Edges(lambda: iter(whole), kept.num_neighbours, True)

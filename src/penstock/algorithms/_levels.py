"""The search behind BFS and neighbourhoods: levels and parents, level by level, from one vertex or
several.

Top-down, each unvisited neighbour of the frontier takes the smallest vertex that offers itself as
parent. Bottom-up, where in-lists exist, each unvisited vertex looks for its smallest visited
neighbour, which is of the frontier: those above it have no unvisited neighbours. In sorted lists
the first is the smallest, and the rest of the list need not be read; if lists have no order at all,
as in a graph that changes, the first is taken.

Repeating: level k may be repeated once all vertices of levels k and above, and those without a
level, are again as at the beginning: level -1, parent ``NO_VERTEX``, not visited.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.algorithms._sources import source_identity
from penstock.engine.checkpoint_file import within
from penstock.engine.counts import Counts
from penstock.engine.direction import Mode, Outlook
from penstock.engine.engine import Engine
from penstock.engine.expansion import Expansion, Told, is_set
from penstock.engine.frontier import QUEUE_BYTES, SET_BYTES, Frontier, streamed_bytes
from penstock.engine.frontiers import open_frontier
from penstock.engine.needs import Needs
from penstock.engine.pull_kernels import ENOUGH, FOUND, MISSED
from penstock.engine.recovery import Recovery
from penstock.jit import always_inline, atomic_add, atomic_min, no_refcount, prefetch
from penstock.types import I64, NO_VERTEX, U32, U64, VID, Direction

I32 = NDArray[np.int32]
#: Bytes of state for each vertex: levels, parents, and sets of the frontier.
STATE_BYTES = 8 + SET_BYTES
#: Bytes for each vertex: what other hosts have found of it, and lists of what was found.
FOUND_BY_OTHERS = 12
#: Scanned edges of a vertex that the breakdown tells apart.
TOLD_APART = 64


class LevelState(NamedTuple):
    """The arrays of a search."""

    #: The level of each vertex, -1 if it is not reached yet.
    levels: I32
    #: The smallest neighbour one level above, ``NO_VERTEX`` if it is not reached yet.
    parents: U32
    visited: U64
    #: Whether a vertex takes the first neighbour one level above: it is the smallest, or lists have
    #: no order that would make one of them the right one.
    first_is_enough: bool
    #: What a breakdown counts: edges that lead to children, and to peers; vertices that looked at
    #: 1, 2, ... edges, and at more.
    outcomes: I64
    scanned: I64


@always_inline
def _offer(u, v, edge, columns, step, state, alone):  # type: ignore[no-untyped-def]
    """A vertex of the frontier offers itself as parent."""
    before = state.parents[v]
    if np.uint64(before) <= u:
        return False
    if alone:
        state.parents[v] = u
    else:
        before = atomic_min(state.parents, v, np.uint32(u))
    if before != NO_VERTEX:
        return False
    state.levels[v] = step
    return True


@always_inline
def _look(v, u, place, left, step, state, alone):  # type: ignore[no-untyped-def]
    """An unvisited vertex looks for a visited neighbour."""
    if not is_set(state.visited, u):
        return MISSED
    if not alone:
        atomic_min(state.parents, v, np.uint32(u))
    elif u < np.uint64(state.parents[v]):
        state.parents[v] = u
    state.levels[v] = step
    return ENOUGH if state.first_is_enough else FOUND


@always_inline
def _fetch(v, state):  # type: ignore[no-untyped-def]
    prefetch(state.parents, v)


@always_inline
def _count_offer(u, v, edge, columns, step, state, alone):  # type: ignore[no-untyped-def]
    """:func:`_offer`, which notes what became of the edge."""
    if is_set(state.visited, v):
        if state.levels[v] == step - np.int32(1):
            atomic_add(state.outcomes, 1, np.int64(1))
        return False
    atomic_add(state.outcomes, 0, np.int64(1))
    return _offer(u, v, edge, columns, step, state, alone)


@always_inline
def _count_look(v, u, place, left, step, state, alone):  # type: ignore[no-untyped-def]
    """:func:`_look`, which notes how many edges a vertex looked at."""
    said = _look(v, u, place, left, step, state, alone)
    if said == ENOUGH or left == np.uint64(0):
        atomic_add(state.scanned, min(place, np.uint64(TOLD_APART)), np.int64(1))
    return said


def _take_parents(state: LevelState, step: int, vertices: U32, parents: U32) -> None:
    """Another host has found these vertices, too."""
    state.parents[vertices] = np.minimum(state.parents[vertices], parents)
    state.levels[vertices] = step


SEARCH = Expansion(_offer, _look, _fetch, told=Told(("parents",), _take_parents))
COUNTED_SEARCH = Expansion(_count_offer, _count_look, _fetch, every_edge=True)
#: Chooses the way to the next level.
Rule = Callable[[Outlook], Mode]


def search_levels(
    engine: Engine,
    sources: U32 | int,
    *,
    limit: int | None = None,
    directions: tuple[Direction, ...] = ("out",),
    rule: Rule | None = None,
    breakdown: bool = False,
    dual: bool = False,
) -> tuple[I32, U32]:
    """The level and the parent of each vertex, up to a level if there is a ``limit``. ``rule``
    chooses the way instead of its cost. ``breakdown``: count what becomes of each edge, a row for
    each level. See :func:`~penstock.engine.frontiers.open_frontier` for other options.
    """
    begins: U32 = np.atleast_1d(np.asarray(sources, VID))
    state = _new_state(engine)
    frontier = open_frontier(
        engine, COUNTED_SEARCH if breakdown else SEARCH, state, directions=directions,
        dual=dual,
    )  # fmt: skip
    last = len(state.levels) if limit is None else limit
    arrays = {"levels": state.levels, "parents": state.parents}
    engine.options.progress.start("levels", None, "levels")
    identity = {"algorithm": "bfs", **source_identity(begins), "limit": limit}
    identity["directions"] = " ".join(directions)
    with Recovery(engine, identity) as recovery:
        _begin(engine, frontier, begins, recovery, arrays)
        while frontier.count and frontier.step < last:
            mode = frontier.choose()
            if rule is not None and frontier.can_pull:
                mode = rule(frontier.outlook)
            with engine.step(mode=mode, active=frontier.count) as row:
                left = 1 if breakdown or rule is not None else last - frontier.step
                row |= frontier.expand(mode, left)
                row |= _outcomes(frontier) if breakdown else {}
            engine.options.progress.advance(row.get("levels", 1) - 1)
            recovery.after(frontier.step, arrays, {})
    frontier.free()
    engine.free("visited")
    return state.levels, state.parents


def search_over_hosts(counts: Counts) -> list[Needs]:
    """What a search needs if each of several hosts has some of the lists."""
    both: tuple[Direction, ...] = counts.both_ways if counts.has("in") else ("out",)
    memory = Needs(
        both, 0.3, vertex_bytes=STATE_BYTES + QUEUE_BYTES + FOUND_BY_OTHERS, forms=("memory",),
        takes_gaps=True, gathered_bytes=1,
    )  # fmt: skip
    stream = Needs(
        ("out",), 2.0, vertex_bytes=STATE_BYTES + FOUND_BY_OTHERS + 4,
        more_bytes=streamed_bytes(counts), forms=("stream",), gathered_bytes=1,
    )  # fmt: skip
    return [memory, stream]


def _new_state(engine: Engine) -> LevelState:
    levels: I32 = engine.array("levels", np.int32, -1)
    parents: U32 = engine.array("parents", VID, NO_VERTEX)
    first = engine.graph.neighbour_order in ("id", "none")
    counts = np.zeros(2, np.int64), np.zeros(TOLD_APART + 1, np.int64)
    return LevelState(levels, parents, engine.vertex_set("visited"), first, *counts)


def _begin(
    engine: Engine, frontier: Frontier, sources: U32, recovery: Recovery, arrays: dict[str, Any]
) -> None:
    """The sources are the frontier, or what a checkpoint has."""
    last = engine.num_vertices - 1
    rules = {"levels": within(-1, last), "parents": within(0, last, NO_VERTEX)}
    saved, state = recovery.resume(arrays, rules), frontier.state
    if saved is None:
        state.levels[sources], state.parents[sources] = 0, sources
        frontier.start(sources)
        return
    if saved[0] > engine.num_vertices:
        raise saved[1].wrong(f"its step is {saved[0]}")
    engine.map_ranges(_restore, state.levels, np.int32(saved[0]), state.visited, frontier.bits)
    frontier.resume(saved[0])


def _outcomes(frontier: Frontier) -> dict[str, Any]:
    """What became of the edges of a level."""
    state = frontier.state
    children, peers = state.outcomes.tolist()
    scanned = state.scanned.tolist()
    state.outcomes[:], state.scanned[:] = 0, 0
    if frontier.mode == "bottom-up":
        return {"scanned": scanned}
    return {
        "claimed": frontier.count, "failed": children - frontier.count, "peer": peers,
        "parent": frontier.looked - children - peers,
    }  # fmt: skip


@no_refcount
def _restore(begin, end, levels, level, visited, bits):  # type: ignore[no-untyped-def]
    """Set the bits of a range by the levels: the visited vertices, and those of the frontier."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for v in range(np.uint64(begin), np.uint64(end)):
        if levels[v] >= 0:
            visited[v >> six] |= one << (v & low)
        if levels[v] == level:
            bits[v >> six] |= one << (v & low)

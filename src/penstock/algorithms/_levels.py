"""The search behind BFS and neighbourhoods: levels and parents, level by level, from one vertex or
several.

Top-down, the frontier's out-lists are read, and each unreached neighbour takes the smallest vertex
that offers itself as parent. Bottom-up, where in-lists exist, each unreached vertex looks for its
first neighbour in the frontier; lists are sorted, so the first is the smallest and the rest of the
list need not be read. Bottom-up is taken while the frontier has more than a share of the edges
still unexplored; on a stream, where a list is read as a whole, only if it has more edges than
those.

Encoding: ``reached`` holds 0 for a vertex not reached before this level, 1 or 2 for one on an even
or odd level. An unreached vertex has no neighbours above the frontier, so two numbers tell the
frontier from the level that is being found.

Repeating: level k may be repeated once all vertices of levels k and above, and those without a
level, are again as at the beginning: level -1, parent ``NO_VERTEX``, reached 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.algorithms._sources import source_identity
from penstock.engine.engine import Engine
from penstock.engine.recovery import Recovery
from penstock.errors import VerificationError
from penstock.jit import atomic_min, inlined, kernel
from penstock.store.graph import Graph
from penstock.store.mapped import iter_parts
from penstock.types import NO_VERTEX, U8, U32, VID, Direction

I32 = NDArray[np.int32]

#: Bytes of state for each vertex: levels, parents, reached ...
STATE_BYTES = 9
#: ... and, in memory, degrees and a frontier twice.
MORE_BYTES = 12
#: On a stream, vertices found are listed while they are fewer than one of so many; else the levels
#: say which they are.
LISTED = 64
#: Room for what is found in the pages under way.
FOUND_BYTES = 8 << 20
#: Bottom-up pays when the frontier's edges, times this, exceed the unexplored ones ...
EARLY_EXIT = 15
#: ... and, times this, the vertices, which it goes over one by one.
LOOKS = 16


def frontier_bytes(graph: Graph, directions: tuple[Direction, ...] = ("out",)) -> int:
    """What the frontier of a streamed search takes, at most: it has only vertices that an edge
    leads to, listed in parts and then as a whole; and what is found on the way.
    """
    n = listed = graph.num_vertices
    if len(directions) == 1:
        known = graph.stored("out" if len(graph.directions) == 1 else "in")
        listed -= graph.catalog.directions[known].degree_histogram[0]
    return 8 * listed + 8 * (n // LISTED) + FOUND_BYTES


def pulling_pays(edges: int, unexplored: int, num_vertices: int, *, resident: bool) -> bool:
    """Whether a level is found faster bottom-up, from the edges of the frontier and those of
    unreached vertices.
    """
    if not resident:
        return edges > unexplored
    return edges * EARLY_EXIT > unexplored and edges * LOOKS > num_vertices


class _Search:
    """The arrays of a search, and what is known of its frontier."""

    def __init__(
        self, engine: Engine, *, can_pull: bool, directions: tuple[Direction, ...]
    ) -> None:
        graph = engine.graph
        self.engine = engine
        self.can_pull = can_pull
        #: The lists that lead on.
        self.directions = directions
        self.levels: I32 = engine.array("levels", np.int32, -1)
        self.parents: U32 = engine.array("parents", VID, NO_VERTEX)
        self.reached: U8 = engine.array("reached", np.uint8, 0)
        self.resident = engine.is_resident()
        #: Needed to choose between the two ways; mapped, so that they count as memory.
        self.degrees: U32 = np.empty(0, np.uint32)
        if can_pull:
            self.degrees = np.asarray(graph.degrees("out"))
        self.in_order = graph.catalog.neighbour_order == "id"
        self.level = 0
        #: Vertices of the frontier, or None if only ``levels`` says which they are.
        self.frontier: U32 | None = None
        self.count = 0
        #: Edges of the frontier, and of vertices that are not reached.
        self.edges = 0
        self.unexplored = graph.catalog.directions[graph.stored("out")].num_edges


def search_levels(
    engine: Engine,
    sources: U32 | int,
    *,
    can_pull: bool,
    limit: int | None = None,
    directions: tuple[Direction, ...] = ("out",),
) -> tuple[I32, U32]:
    """The level and the parent of each vertex, up to a level if there is a ``limit``; ``can_pull``:
    there are in-lists to use. ``directions``: the lists that edges are followed in, of a directed
    graph both if their direction is not to matter; then nothing is pulled.
    """
    begins: U32 = np.atleast_1d(np.asarray(sources, VID))
    search = _Search(engine, can_pull=can_pull, directions=directions)
    saved_arrays = {"levels": search.levels, "parents": search.parents}
    engine.options.progress.start("levels", None, "levels")
    identity = {"algorithm": "bfs", **source_identity(begins), "limit": limit}
    identity["directions"] = " ".join(directions)
    with Recovery(engine, identity) as recovery:
        saved = recovery.resume(saved_arrays)
        if saved is None:
            search.parents[begins] = begins
            _settle(search, begins)
        else:
            _restore(search, saved[0])
        while search.count and (limit is None or search.level < limit):
            pull = search.can_pull and pulling_pays(
                search.edges, search.unexplored, engine.num_vertices, resident=engine.is_resident()
            )
            mode = "bottom-up" if pull else "top-down"
            with engine.step(mode=mode, active=search.count):
                search.level += 1
                (_pull if pull else _push)(search)
            recovery.after(search.level, saved_arrays, {})
    return search.levels, search.parents


def check_levels(
    graph: Graph,
    name: str,
    levels: I32,
    sources: U32,
    limit: int | None = None,
    *,
    both_ways: bool = False,
) -> U32:
    """Raise unless these are the levels of a search, by looking at every edge; return the smallest
    parent of each vertex. ``both_ways``: the direction of edges does not matter.
    """
    last = len(levels) if limit is None else limit
    smallest: U32 = np.full(graph.num_vertices, NO_VERTEX, VID)
    if not np.array_equal(np.flatnonzero(levels == 0), sources):
        raise VerificationError(f"{name}: all sources must be on level 0, and no other vertex")
    smallest[sources] = sources
    for src, dst, _ in graph.iter_edges():
        for u, v in ((src, dst), (dst, src))[: 1 if graph.directed and not both_ways else 2]:
            above, below = levels[u], levels[v]
            left_out = (above >= 0) & (above < last) & (below < 0)
            wrong = left_out | ((above >= 0) & (below > above + 1))
            if wrong.any():
                k = np.argmax(wrong)
                raise VerificationError(
                    f"{name}: an edge leads from a vertex of level {above[k]} to one of level "
                    f"{below[k]} (vertex numbers {u[k]} and {v[k]})"
                )
            tree = (above >= 0) & (below == above + 1)
            np.minimum.at(smallest, v[tree], u[tree])
    wrong = ((smallest == NO_VERTEX) != (levels < 0)) | (levels < -1) | (levels > last)
    if wrong.any():
        k = np.argmax(wrong)
        raise VerificationError(
            f"{name}: vertex number {k} is on level {levels[k]}, but no edge leads there from the "
            f"level above, or it is beyond the limit {last}"
        )
    return smallest


def _push(search: _Search) -> None:
    """Find a level top-down."""
    frontier = search.frontier
    if frontier is None:
        frontier = search.engine.select(_of_level, search.levels, np.int32(search.level - 1))
    search.frontier = None
    most = None if search.resident else search.engine.num_vertices // LISTED
    found = np.empty(0, VID)
    for direction in search.directions:
        here = search.engine.traverse(
            frontier, _offer, search.reached, search.parents, direction=direction, most=most
        )
        found = np.concatenate([found, here]) if len(found) else here
    if most is not None and len(found) > most:
        del found, frontier
        _settle_all(search)
    else:
        _settle(search, found)


def _settle_all(search: _Search) -> None:
    """Vertices that have a parent and no level are the frontier now."""
    engine, level = search.engine, search.level
    code = np.uint8(1 + level % 2)
    engine.each(_mark_all, search.parents, search.reached, search.levels, code, np.int32(level))
    search.frontier = engine.select(_of_level, search.levels, np.int32(level))
    search.count = len(search.frontier)
    search.edges = 0
    for begin, degrees in iter_parts(search.degrees):
        mine = search.levels[begin : begin + len(degrees)] == level
        search.edges += int(degrees[mine].sum(dtype=np.int64))
    search.unexplored -= search.edges


def _settle(search: _Search, found: U32) -> None:
    """Vertices found are the frontier now."""
    code = np.uint8(1 + search.level % 2)
    edges = search.engine.each(
        _mark, found, search.reached, search.levels, search.degrees, code,
        np.int32(search.level), length=len(found),
    )  # fmt: skip
    search.frontier, search.count = found, len(found)
    search.edges = sum(edges)
    search.unexplored -= search.edges


def _pull(search: _Search) -> None:
    """Find a level bottom-up."""
    engine = search.engine
    args = (
        search.reached, search.levels, search.parents, search.degrees,
        np.int32(search.level), search.in_order,
    )  # fmt: skip
    search.frontier = None
    if search.resident:
        rows = engine.scan(_look_up, *args, direction="in")
        search.count = sum(count for count, _ in rows)
        search.edges = sum(edges for _, edges in rows)
        search.unexplored -= search.edges
    else:
        engine.traverse(_unreached(search), _look_up_some, *args, direction="in", most=0)
        _settle_all(search)


def _unreached(search: _Search) -> U32:
    """The vertices that are not reached and have edges, ascending."""
    parts = []
    for begin, degrees in iter_parts(search.degrees):
        levels = search.levels[begin : begin + len(degrees)]
        parts.append((begin + np.flatnonzero((levels < 0) & (degrees > 0))).astype(VID))
    return np.concatenate([np.empty(0, VID), *parts])


def _restore(search: _Search, level: int) -> None:
    """After a resume: everything else from the levels."""
    search.level = level
    rows = search.engine.each(
        _recount, search.levels, search.reached, search.degrees, np.int32(level)
    )
    search.count, search.edges, explored = (sum(column) for column in zip(*rows, strict=True))
    search.unexplored -= explored


@kernel
def _offer(block, vertices, found, reached, parents):  # type: ignore[no-untyped-def]
    """Each vertex offers itself as parent to its unreached neighbours; who had none is found."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        edge, end = np.uint64(offsets[u - first]), np.uint64(offsets[u - first + one])
        while edge < end:
            v = np.uint64(neighbours[edge])
            better = reached[v] == 0 and np.uint64(parents[v]) > u
            if better and atomic_min(parents, v, np.uint32(u)) == NO_VERTEX:
                found[count] = v
                count += one
            edge += one
    return count


@kernel
def _mark(begin, end, found, reached, levels, degrees, code, level):  # type: ignore[no-untyped-def]
    """Vertices found get their level; how many edges they have."""
    edges = 0
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(found[i])
        reached[v] = code
        levels[v] = level
        if len(degrees) > 0:
            edges += np.int64(degrees[v])
    return edges


@inlined
def _adopt(block, vertices, begin, end, found, reached, levels, parents, degrees, level, in_order):  # type: ignore[no-untyped-def]
    """Unreached vertices (those from ``begin`` to ``end``, or at these places of ``vertices``, if
    there are any) take their smallest parent; how many found one, and how many edges they have.

    A block of one vertex may be a part of its list, with others at work on other parts: then the
    level tells whether the vertex was reached before, and the smallest parent wins.
    """
    offsets, neighbours = block.offsets, block.neighbours
    first, one, whole = np.uint64(block.first), np.uint64(1), len(offsets) > 2
    above, mine = np.uint8(2 - (level & 1)), np.uint8(1 + (level & 1))
    given = len(vertices) > 0
    count, edges = np.uint64(0), 0
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(vertices[i]) if given else i
        if (reached[v] != 0) if whole else (levels[v] >= 0 and levels[v] != level):
            continue
        edge, stop = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        parent = np.uint32(NO_VERTEX)
        while edge < stop:
            u = neighbours[edge]
            if reached[u] == above:
                parent = min(parent, u)
                if in_order:
                    break
            edge += one
        if parent == NO_VERTEX:
            continue
        before = np.uint32(NO_VERTEX)
        if whole:
            parents[v] = parent
        else:
            before = atomic_min(parents, v, parent)
        levels[v] = level
        reached[v] = mine
        if before == NO_VERTEX:
            if given:
                found[count] = v
            count += one
            edges += np.int64(degrees[v])
    return count, edges


@kernel
def _look_up(block, begin, end, reached, levels, parents, degrees, level, in_order):  # type: ignore[no-untyped-def]
    """Unreached vertices look for a parent; how many found one, and how many edges they have."""
    none = np.empty(0, np.uint32)
    return _adopt(block, none, begin, end, none, reached, levels, parents, degrees, level, in_order)


@kernel
def _look_up_some(block, vertices, found, reached, levels, parents, degrees, level, in_order):  # type: ignore[no-untyped-def]
    """The same for some vertices; those that found a parent are found."""
    count, _ = _adopt(
        block, vertices, 0, len(vertices), found,
        reached, levels, parents, degrees, level, in_order,
    )  # fmt: skip
    return count


@kernel
def _recount(begin, end, levels, reached, degrees, level):  # type: ignore[no-untyped-def]
    """Which vertices are reached; how many are of a level, their edges, and those of all."""
    count, edges, explored = 0, 0, 0
    for v in range(np.uint64(begin), np.uint64(end)):
        if levels[v] >= 0:
            reached[v] = 1 + (levels[v] & 1)
            degree = np.int64(degrees[v]) if len(degrees) > 0 else 0
            explored += degree
            if levels[v] == level:
                count += 1
                edges += degree
    return count, edges, explored


@kernel
def _of_level(begin, end, chosen, levels, level):  # type: ignore[no-untyped-def]
    """The vertices of a level in a range."""
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        if levels[v] == level:
            chosen[count] = v
            count += np.uint64(1)
    return count


@kernel
def _mark_all(begin, end, parents, reached, levels, code, level):  # type: ignore[no-untyped-def]
    """Vertices with a parent that are not reached yet get this level."""
    for v in range(np.uint64(begin), np.uint64(end)):
        if reached[v] == 0 and parents[v] != NO_VERTEX:
            reached[v] = code
            levels[v] = level

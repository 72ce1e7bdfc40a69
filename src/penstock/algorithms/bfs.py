"""Breadth-first search from one vertex.

Returns levels (int32: edges on a shortest path from the source, -1 where none leads) and parents
(uint32: the smallest vertex number among the neighbours one level above, the source for itself,
``NO_VERTEX`` where no path leads). Both are the same whatever the number of threads.

Method: level by level. Top-down, the frontier's out-lists are read, and each unreached neighbour
takes the smallest vertex that offers itself as parent. Bottom-up, where in-lists exist, each
unreached vertex looks for its first neighbour in the frontier; lists are sorted, so the first is
the smallest and the rest of the list need not be read. Bottom-up is taken while the frontier has
more than a share of the edges still unexplored; on a stream, where a list is read as a whole,
only if it has more edges than those.

Encoding: ``reached`` holds 0 for a vertex not reached before this level, 1 or 2 for one on an even
or odd level. An unreached vertex has no neighbours above the frontier, so two numbers tell the
frontier from the level that is being found.

Repeating: level k may be repeated once all vertices of levels k and above, and those without a
level, are again as at the beginning: level -1, parent ``NO_VERTEX``, reached 0.

Beamer, Asanovic, Patterson: "Direction-optimizing breadth-first search", SC 2012.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.algorithms._vids import by_vid, vids_by_vid
from penstock.engine.algorithm import Cost, Task, algorithm
from penstock.engine.engine import Engine
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.errors import VerificationError
from penstock.jit import atomic_min, inlined, kernel
from penstock.store.graph import Graph
from penstock.types import NO_VERTEX, U8, U32, VID, Direction

I32 = NDArray[np.int32]

#: Bytes of state for each vertex: levels, parents, reached, degrees, and a frontier twice.
STATE_BYTES = 21
#: Bottom-up pays when the frontier's edges, times this, exceed the unexplored ones ...
EARLY_EXIT = 15
#: ... and, times this, the vertices, which it goes over one by one.
LOOKS = 16


def pulling_pays(edges: int, unexplored: int, num_vertices: int, *, resident: bool) -> bool:
    """Whether a level is found faster bottom-up, from the edges of the frontier and those of
    unreached vertices.
    """
    if not resident:
        return edges > unexplored
    return edges * EARLY_EXIT > unexplored and edges * LOOKS > num_vertices


class _Search:
    """The arrays of a search, and what is known of its frontier."""

    def __init__(self, engine: Engine, *, can_pull: bool) -> None:
        graph = engine.graph
        self.engine = engine
        self.can_pull = can_pull
        self.levels: I32 = engine.array("levels", np.int32, -1)
        self.parents: U32 = engine.array("parents", VID, NO_VERTEX)
        self.reached: U8 = engine.array("reached", np.uint8, 0)
        self.degrees: U32 = np.asarray(graph.degrees("out"))
        self.in_order = graph.catalog.neighbour_order == "id"
        self.level = 0
        #: Vertices of the frontier, or None if only ``levels`` says which they are.
        self.frontier: U32 | None = None
        self.count = 0
        #: Edges of the frontier, and of vertices that are not reached.
        self.edges = 0
        self.unexplored = graph.catalog.directions[graph.stored("out")].num_edges


def search_levels(engine: Engine, source_vid: int, *, can_pull: bool) -> tuple[I32, U32]:
    """The level and the parent of each vertex; ``can_pull``: there are in-lists to use."""
    search = _Search(engine, can_pull=can_pull)
    saved_arrays = {"levels": search.levels, "parents": search.parents}
    engine.options.progress.start("levels", None, "levels")
    with Recovery(engine, {"algorithm": "bfs", "source": source_vid}) as recovery:
        saved = recovery.resume(saved_arrays)
        if saved is None:
            search.parents[source_vid] = source_vid
            _settle(search, np.array([source_vid], VID))
        else:
            _restore(search, saved[0])
        while search.count:
            pull = search.can_pull and pulling_pays(
                search.edges, search.unexplored, engine.num_vertices, resident=engine.is_resident()
            )
            mode = "bottom-up" if pull else "top-down"
            with engine.step(mode=mode, active=search.count):
                search.level += 1
                (_pull if pull else _push)(search)
            recovery.after(search.level, saved_arrays, {})
    return search.levels, search.parents


def _push(search: _Search) -> None:
    """Find a level top-down."""
    frontier = search.frontier
    if frontier is None:
        frontier = _where(search, search.level - 1)
    found = search.engine.traverse(frontier, _offer, search.reached, search.parents)
    _settle(search, found)


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
    if engine.is_resident():
        rows = engine.scan(_look_up, *args, direction="in")
        search.frontier = None
        search.count = sum(count for count, _ in rows)
        search.edges = sum(edges for _, edges in rows)
        search.unexplored -= search.edges
    else:
        found = engine.traverse(_where(search, -1), _look_up_some, *args, direction="in")
        _settle(search, found)


def _where(search: _Search, level: int) -> U32:
    """The vertices of a level, ascending."""
    parts = search.engine.each(_of_level, search.levels, np.int32(level))
    return np.concatenate(parts)


def _restore(search: _Search, level: int) -> None:
    """After a resume: everything else from the levels."""
    search.level = level
    rows = search.engine.each(
        _recount, search.levels, search.reached, search.degrees, np.int32(level)
    )
    search.count, search.edges, explored = (sum(column) for column in zip(*rows, strict=True))
    search.unexplored -= explored


def verify(graph: Graph, result: Result) -> None:
    """Look at every edge: none leads down more than one level or out of what is reached, and the
    parent of a vertex is the smallest of its neighbours one level above. This leaves one answer.
    """
    levels: I32 = by_vid(graph, result.values)
    parents = vids_by_vid(graph, result.parents, levels >= 0)
    smallest: U32 = np.full(graph.num_vertices, NO_VERTEX, VID)
    sources = np.flatnonzero(levels == 0)
    if len(sources) != 1 or graph.ids_by_vid()[sources[0]] != result.stats["parameters"]["source"]:
        raise VerificationError("bfs: the source must be on level 0, and no other vertex")
    smallest[sources] = sources
    for src, dst, _ in graph.iter_edges():
        for u, v in ((src, dst), (dst, src))[: 1 if graph.directed else 2]:
            above, below = levels[u], levels[v]
            wrong = (above >= 0) & ((below < 0) | (below > above + 1))
            if wrong.any():
                k = np.argmax(wrong)
                raise VerificationError(
                    f"bfs: an edge leads from a vertex of level {above[k]} to one of level "
                    f"{below[k]} (vertex numbers {u[k]} and {v[k]})"
                )
            tree = (above >= 0) & (below == above + 1)
            np.minimum.at(smallest, v[tree], u[tree])
    wrong = (parents != smallest) | ((smallest == NO_VERTEX) != (levels < 0))
    if wrong.any():
        k = np.argmax(wrong)
        raise VerificationError(
            f"bfs: vertex number {k} of level {levels[k]} has parent {parents[k]}; its smallest "
            f"neighbour one level above is {smallest[k]}"
        )


def _directions(graph: Graph) -> tuple[Direction, ...]:
    return ("out", "in") if len(graph.directions) == 2 else ("out",)


def _cost(graph: Graph, source: object) -> Cost:
    return Cost(STATE_BYTES, _directions(graph), 1.0, gathered_bytes=1)


@algorithm(cost=_cost, verify=verify)
def bfs(task: Task, source: object) -> Result:
    """Breadth-first search: how many edges each vertex is away from a source.

    The values are levels, -1 for vertices that no path leads to; ``parents`` is a vertex one level
    above each, the source for itself.

    Parameters
    ----------
    graph
        Directed or not. In-lists, if there are any and they fit memory, make it faster.
    source
        The id of the vertex to begin at.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.bfs(ps.from_edges([0, 1, 0], [1, 2, 3]), 0)
    >>> found.values.tolist(), found.parents.tolist()
    ([0, 1, 2, 1], [0, 0, 1, 0])
    """
    graph = task.graph
    source_vid = task.vid(source)
    engine = task.open(_cost(graph, source))
    can_pull = not graph.directed or (len(graph.directions) == 2 and engine.is_resident())
    if graph.directed and not can_pull:
        engine = task.open(Cost(STATE_BYTES, ("out",), 1.0, gathered_bytes=1))
    with engine:
        levels, parents = search_levels(engine, source_vid, can_pull=can_pull)
    return task.result("level", levels, more={}, vid_columns={"parents": parents})


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
            explored += np.int64(degrees[v])
            if levels[v] == level:
                count += 1
                edges += np.int64(degrees[v])
    return count, edges, explored


@kernel
def _of_level(begin, end, levels, level):  # type: ignore[no-untyped-def]
    """The vertices of a level in a range."""
    chosen = np.empty(end - begin, np.uint32)
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        chosen[count] = v
        count += np.uint64(levels[v] == level)
    return chosen[:count]

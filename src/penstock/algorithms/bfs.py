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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.engine import Engine
from penstock.engine.recovery import Recovery
from penstock.errors import VerificationError
from penstock.jit import atomic_min, inlined, kernel
from penstock.store.graph import Graph
from penstock.types import NO_VERTEX, U8, U32, VID, Array

I32 = NDArray[np.int32]

#: Bytes of state for each vertex: levels, parents, reached, and a frontier twice.
STATE_BYTES = 17
#: Bottom-up pays when the frontier's edges, times this, exceed the unexplored ones ...
EARLY_EXIT = 15
#: ... and, times this, the vertices, which it goes over one by one.
LOOKS = 16


class _Search:
    """The arrays of a search, and what is known of its frontier."""

    def __init__(self, engine: Engine) -> None:
        graph = engine.graph
        self.engine = engine
        self.levels: I32 = engine.array("levels", np.int32, -1)
        self.parents: U32 = engine.array("parents", VID, NO_VERTEX)
        self.reached: U8 = engine.array("reached", np.uint8, 0)
        self.degrees: U32 = np.asarray(graph.degrees("out"))
        self.level = 0
        self.can_pull = not graph.directed or "in" in graph.directions
        self.sorted = graph.catalog.neighbour_order == "id"
        #: Vertices of the frontier, or None if only ``levels`` says which they are.
        self.frontier: U32 | None = None
        self.count = 0
        #: Edges of the frontier, and of vertices that are not reached.
        self.edges = 0
        self.unexplored = graph.catalog.directions[graph.stored("out")].num_edges


def bfs(engine: Engine, source_vid: int) -> tuple[I32, U32]:
    """The level and the parent of each vertex."""
    search = _Search(engine)
    saved_arrays = {"levels": search.levels, "parents": search.parents}
    with Recovery(engine, {"algorithm": "bfs", "source": source_vid}) as recovery:
        saved = recovery.resume(saved_arrays)
        if saved is None:
            _settle(search, np.array([source_vid], VID))
            search.parents[source_vid] = source_vid
        else:
            search.level = saved[0]
            _restore(search)
        while search.count:
            pull = search.can_pull and pulling_pays(
                search.edges, search.unexplored, engine.num_vertices, resident=engine.is_resident()
            )
            mode = "bottom-up" if pull else "top-down"
            with engine.step(level=search.level + 1, active=search.count, mode=mode):
                search.level += 1
                (_pull if pull else _push)(search)
            recovery.after(search.level, saved_arrays, {})
    return search.levels, search.parents


def pulling_pays(edges: int, unexplored: int, num_vertices: int, *, resident: bool) -> bool:
    """Whether a level is found faster bottom-up, from the edges of the frontier and those of
    unreached vertices.
    """
    if not resident:
        return edges > unexplored
    return edges * EARLY_EXIT > unexplored and edges * LOOKS > num_vertices


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
        np.int32(search.level), search.sorted,
    )  # fmt: skip
    if engine.is_resident():
        rows = engine.scan(_look_up, *args, direction="in")
        search.frontier = None
        search.count = sum(count for count, _ in rows)
        search.edges = sum(edges for _, edges in rows)
        search.unexplored -= search.edges
    else:
        found = engine.traverse(_where(search, -1), _look_up_some, *args, direction="in")
        _settle(search, np.unique(found))


def _where(search: _Search, level: int) -> U32:
    """The vertices of a level, ascending."""
    parts = search.engine.each(_of_level, search.levels, np.int32(level))
    return np.concatenate(parts)


def _restore(search: _Search) -> None:
    """After a resume: everything else from levels and parents."""
    np.copyto(search.reached, np.where(search.levels < 0, 0, 1 + search.levels % 2))
    reached = int(search.degrees[search.levels >= 0].sum(dtype=np.int64))
    search.frontier = _where(search, search.level)
    search.count = len(search.frontier)
    search.edges = int(search.degrees[search.frontier].sum(dtype=np.int64))
    search.unexplored -= reached


def verify(graph: Graph, source_vid: int, levels: Array, parents: U32) -> None:
    """Raise unless levels and parents are right, edge by edge.

    No edge leads down more than one level or out of what is reached, and the parent of a vertex is
    the smallest of its neighbours that are one level above. Together these leave one answer.
    """
    smallest: U32 = np.full(graph.num_vertices, NO_VERTEX, VID)
    smallest[source_vid] = source_vid
    for src, dst, _ in graph.iter_edges():
        for u, v in ((src, dst), (dst, src))[: 1 if graph.directed else 2]:
            above, below = levels[u], levels[v]
            wrong = (above >= 0) & ((below < 0) | (below > above + 1))
            if wrong.any():
                k = np.argmax(wrong)
                raise VerificationError(
                    f"bfs: an edge leads from vertex {u[k]} of level {above[k]} to vertex {v[k]} "
                    f"of level {below[k]}"
                )
            tree = (above >= 0) & (below == above + 1)
            np.minimum.at(smallest, v[tree], u[tree])
    if levels[source_vid] != 0:
        raise VerificationError(f"bfs: the source is on level {levels[source_vid]}, not 0")
    wrong = (parents != smallest) | ((parents == NO_VERTEX) != (levels < 0))
    wrong |= (levels == 0) & (np.arange(len(levels)) != source_vid)
    if wrong.any():
        v = np.argmax(wrong)
        raise VerificationError(
            f"bfs: vertex {v} of level {levels[v]} has parent {parents[v]}; its smallest neighbour "
            f"one level above is {smallest[v]}"
        )


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
            if reached[v] == 0 and np.uint64(parents[v]) > u:
                if atomic_min(parents, v, np.uint32(u)) == NO_VERTEX:
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
def _adopt(neighbours, edge, end, whole, v, reached, levels, parents, level, in_order):  # type: ignore[no-untyped-def]
    """Give an unreached vertex the smallest parent in its list; whether it had none before.

    With a part of a list (not ``whole``) others may be at work on other parts: then the level tells
    whether the vertex was reached before, and the smallest parent wins.
    """
    if (reached[v] != 0) if whole else (levels[v] >= 0 and levels[v] != level):
        return False
    above = np.uint8(2 - (level & 1))
    parent = np.uint32(NO_VERTEX)
    while edge < end:
        u = neighbours[edge]
        if reached[u] == above:
            parent = min(parent, u)
            if in_order:
                break
        edge += np.uint64(1)
    if parent == NO_VERTEX:
        return False
    before = np.uint32(NO_VERTEX)
    if whole:
        parents[v] = parent
    else:
        before = atomic_min(parents, v, parent)
    levels[v] = level
    reached[v] = np.uint8(1 + (level & 1))
    return before == NO_VERTEX


@kernel
def _look_up(block, begin, end, reached, levels, parents, degrees, level, in_order):  # type: ignore[no-untyped-def]
    """Unreached vertices look for a parent; how many found one, and how many edges they have."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one, whole = np.uint64(block.first), np.uint64(1), len(offsets) > 2
    count, edges = 0, 0
    for v in range(np.uint64(begin), np.uint64(end)):
        edge, stop = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        if _adopt(
            neighbours, edge, stop, whole, v, reached, levels, parents, level, in_order
        ):  # fmt: skip
            count += 1
            edges += np.int64(degrees[v])
    return count, edges


@kernel
def _look_up_some(block, vertices, found, reached, levels, parents, level, in_order):  # type: ignore[no-untyped-def]
    """The same for some vertices, which are found if they found a parent."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one, whole = np.uint64(block.first), np.uint64(1), len(offsets) > 2
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        edge, stop = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
        if _adopt(
            neighbours, edge, stop, whole, v, reached, levels, parents, level, in_order
        ):  # fmt: skip
            found[count] = v
            count += one
    return count


@kernel
def _of_level(begin, end, levels, level):  # type: ignore[no-untyped-def]
    """The vertices of a level in a range."""
    chosen = np.empty(end - begin, np.uint32)
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        chosen[count] = v
        count += np.uint64(levels[v] == level)
    return chosen[:count]

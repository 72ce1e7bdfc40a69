"""Parts of a graph: the vertices around some, and the edges among some.

Only the lists of these vertices are read; for their edges, each page once. Edges come in any order,
but those between the same two vertices in the order in which they are stored, if they have columns
that tell them apart. Edges that do not fit beside the rest are only counted, and read again when
they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.algorithms._levels import I32, STATE_BYTES, search_levels
from penstock.engine.algorithm import Task
from penstock.engine.counts import Counts, Selected
from penstock.engine.edge_rows import Edges, collect_edges, mark_neighbours
from penstock.engine.engine import Engine
from penstock.engine.frontier import streamed_bytes
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.result_edges import edge_table
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.types import U8, U32, Direction

#: Bytes for each vertex that are not arrays of the engine: its degree, in a mapped file, and the
#: rank of its id.
INDEX_BYTES = 8
#: Bytes for each vertex while edges are collected: that, two marks, and how many edges it has here.
PART_BYTES = INDEX_BYTES + 6
#: A search that finds more than one of so many vertices looks at all of them.
FEW = 32
#: Bytes for each row of a result: vertex number, value and id, and the value in order of ids.
ROW_BYTES = 28


def column_names(counts: Counts) -> tuple[str, ...]:
    """All columns that the edges have."""
    return tuple(counts.columns)


def take_rows(engine: Engine, count: int, row_bytes: int = ROW_BYTES) -> None:
    """Count the rows of a result against the budget, and what is needed to make them."""
    engine.hold("rows", count * row_bytes + engine.num_vertices * INDEX_BYTES)


def rows_around(
    counts: Counts, sources: Selected, limit: int, directions: tuple[Direction, ...] = ("out",)
) -> int:
    """How many vertices there are within ``limit`` edges of some, at most, by their degrees."""
    found = total = sources.count
    for level in range(limit):
        if level == 0:
            found = sum(sources.edges(each) for each in directions)
        else:
            found *= sum(counts.of(each).max_degree for each in directions)
        total += found
        if found == 0 or total >= counts.num_vertices:
            break
    return min(total, counts.num_vertices)


def around_needs(
    counts: Counts, sources: Selected, limit: int, directions: tuple[Direction, ...],
    columns: tuple[str, ...] = (), *, edges: bool = False,
) -> Needs:  # fmt: skip
    """What :func:`vertices_around` needs, and edges among them."""
    rows = ROW_BYTES * rows_around(counts, sources, limit, directions)
    return Needs(
        directions, min(float(limit), 2.5) + edges, columns,
        vertex_bytes=max(STATE_BYTES + 4, PART_BYTES),
        more_bytes=max(streamed_bytes(counts, directions), rows),
        only_loaded=True, gathered_bytes=1,
    )  # fmt: skip


def edge_needs(counts: Counts, direction: Direction, rows: int = 0) -> Needs:
    """What it takes to read edges among some vertices, beside so many rows of a result."""
    return Needs(
        (direction,), 1.0, column_names(counts), vertex_bytes=PART_BYTES,
        more_bytes=ROW_BYTES * rows, only_loaded=True, gathered_bytes=1,
    )  # fmt: skip


def vertices_around(
    engine: Engine, sources: U32, limit: int, directions: tuple[Direction, ...] = ("out",)
) -> tuple[U32, I32, U8]:
    """The vertices that are at most ``limit`` edges away from the nearest source: their numbers,
    ascending, how far each is away, and marks by vertex number. While they are few, the others are
    not looked at at all; a run with checkpoints has a level for each from the beginning.
    """
    if engine.options.checkpoint is None:
        near = _few_around(engine, sources, limit, directions)
        if near is not None:
            return near
    levels, parents = search_levels(engine, sources, limit=limit, directions=directions)
    del parents
    engine.free("parents")
    member: U8 = engine.array("member", np.uint8)
    np.greater_equal(levels, 0, out=member.view(np.bool_))
    vids = engine.select(_members, member)
    distances = levels[vids]
    del levels
    engine.free("levels")
    take_rows(engine, len(vids))
    return vids, distances, member


def _few_around(
    engine: Engine, sources: U32, limit: int, directions: tuple[Direction, ...]
) -> tuple[U32, I32, U8] | None:
    """The same, if they are few: None if not."""
    member: U8 = engine.array("member", np.uint8, 0)
    member[sources] = 1
    layers, total = [np.sort(sources)], len(sources)
    while len(layers) <= limit and len(layers[-1]):
        with engine.step(active=len(layers[-1])):
            layers.append(mark_neighbours(engine, layers[-1], member, *directions))
        total += len(layers[-1])
        if total > engine.num_vertices // FEW and len(layers) <= limit:
            engine.free("member")
            return None
    take_rows(engine, total)
    vids = np.concatenate(layers)
    distances = np.repeat(np.arange(len(layers), dtype=np.int32), list(map(len, layers)))
    order = np.argsort(vids)
    return vids[order], distances[order], member


def list_direction(graph: Graph | Counts) -> Direction:
    """Which lists have every edge: the out-lists, if there are any."""
    return "out" if "out" in graph.directions else "in"


def edges_within(
    engine: Engine, member: U8, vertices: U32, counts: U32 | None = None
) -> Edges | None:
    """The edges with both ends among the members (not 0, by vertex number; ``vertices``,
    ascending): an undirected one once, loops and duplicates as they are stored.
    """
    direction = list_direction(engine.graph)
    return collect_edges(engine, vertices, member, member, direction, counts)


def edges_later(
    task: Task, needs: Needs, near: U32, far: U32, direction: Direction
) -> Callable[[], Result]:
    """What reads the edges from some vertices to others when they are asked for."""
    graph, options = task.graph, task.options

    def edges() -> Result:
        with Task(graph, options).open_part(needs) as engine:
            is_near: U8 = engine.array("near", np.uint8, 0)
            is_far: U8 = engine.array("far", np.uint8, 0)
            is_near[near], is_far[far] = 1, 1
            with engine.step(active=len(near)):
                found = collect_edges(engine, near, is_near, is_far, direction, must_fit=True)
        assert found is not None
        return edge_table(graph, *found)

    return edges


@kernel
def _members(begin, end, chosen, member):  # type: ignore[no-untyped-def]
    """The members in a range."""
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        if member[v]:
            chosen[count] = v
            count += np.uint64(1)
    return count

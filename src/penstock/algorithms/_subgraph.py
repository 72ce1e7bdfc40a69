"""Parts of a graph: the vertices around some, and the edges among some.

Only the lists of these vertices are read; for their edges, each page once. Edges come in any order,
but those between the same two vertices in the order in which they are stored, if they have columns
that tell them apart. Edges that do not fit beside the rest are only counted, and read again when
they are asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from penstock.algorithms._levels import I32, STATE_BYTES, search_levels
from penstock.arrays import distinct
from penstock.device.lists import notify
from penstock.engine.algorithm import Task
from penstock.engine.counts import Counts, Selected
from penstock.engine.engine import Engine
from penstock.engine.frontier import streamed_bytes
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.result_edges import edge_table
from penstock.jit import atomic_add, kernel
from penstock.store.graph import Graph
from penstock.stream.lists import Piece
from penstock.types import U8, U32, Array, Direction

#: Vertex numbers of both ends, and the columns that the engine has.
Edges = tuple[U32, U32, dict[str, Array]]

#: Places that nobody asks for.
_NOWHERE = np.empty(0, np.uint64)
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


def take_rows(engine: Engine, count: int) -> None:
    """Count the rows of a result against the budget, and what is needed to make them."""
    size = count * ROW_BYTES + engine.num_vertices * INDEX_BYTES
    if size > engine.budget.left and not engine.is_resident():
        engine.drop_cache()
    engine.budget.take(size, "rows")


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
            found = [
                engine.traverse(layers[-1], notify, member, direction=direction)
                for direction in directions
            ]
        layers.append(distinct(np.concatenate(found)))  # some are found by two threads
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
    return edges_between(engine, vertices, member, member, direction, counts)


def edges_between(
    engine: Engine, vertices: U32, near: U8, far: U8, direction: Direction,
    counts: U32 | None = None,
    *,
    must_fit: bool = False,
) -> Edges | None:  # fmt: skip
    """The edges in the lists of some vertices (those that are ``near``, ascending) that lead to
    ``far`` ones; an undirected edge that is found from both its ends, once. None if there are too
    many for the memory that is left, or if they ``must_fit`` a BudgetError. How many ends of them
    are at each vertex is added to ``counts`` in any case; a loop has both at one.
    """
    graph, lists = engine.graph, engine.lists(direction)
    dtypes = {column.name: column.dtype for column in graph.columns}
    kinds = [np.dtype(np.uint32), np.dtype(np.uint32), *(dtypes[name] for name in engine.columns)]
    widths = [kind.itemsize for kind in kinds]
    # Where there are columns, one is held twice when they are put in order.
    edge_bytes = sum(widths) + (max(widths) if engine.columns else 0)
    most = int(graph.degrees(direction)[vertices].sum(dtype=np.int64))
    if not lists.resident and most * edge_bytes > engine.budget.left:
        engine.drop_cache()  # no page is visited twice
    room = max(min(most, engine.budget.left // edge_bytes), 0)
    # What is not written to takes no memory.
    table: list[Array] = [np.empty(room, kind) for kind in kinds]
    total, lock, none = 0, threading.Lock(), np.empty(0, np.uint32)

    def work(stream: int, piece: Piece) -> tuple[int, int]:
        block = piece.block
        given = (
            block.first, block.offsets, block.neighbours, piece.vertices, near, far,
            not graph.directed,
        )  # fmt: skip
        count = int(engine.timed_call(stream, piece, _gather, *given, none, none, _NOWHERE))
        nonlocal total
        with lock:
            begin, end = total, total + count
            total = end
        fits = end <= room
        if fits or counts is not None:
            where = np.empty(count, np.uint64) if engine.columns and fits else _NOWHERE
            ends = [whole[begin:end] if fits else np.empty(count, np.uint32) for whole in table[:2]]
            with engine.metrics.timed("kernel", stream, piece.page):
                _gather(*given, *ends, where)
                for each in ends if counts is not None else ():
                    _count(0, count, each, counts)
        if fits:
            for whole, column in zip(table[2:], block.columns, strict=True):
                whole[begin:end] = column[where]
        return begin, end

    places = lists.visit(vertices, work)
    if total > room and not must_fit:
        return None
    engine.budget.take(total * edge_bytes, "edges")
    for k, whole in enumerate(table):
        whole.resize(total, refcheck=False)
        if engine.columns:  # they tell duplicates apart
            table[k] = np.concatenate([whole[:0], *(whole[a:b] for a, b in places)])
    engine.budget.give_back("edges")
    engine.budget.take(total * sum(widths), "edges")
    src, dst = table[:2] if direction == "out" else table[1::-1]
    return src, dst, dict(zip(engine.columns, table[2:], strict=True))


def count_ends(engine: Engine, src: U32, dst: U32, counts: U32) -> None:
    """Add up how many ends of the edges are at each vertex; a loop has both at one."""
    for ends in (src, dst):
        engine.map_ranges(_count, ends, counts, length=len(ends))


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
                found = edges_between(engine, near, is_near, is_far, direction, must_fit=True)
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


@kernel
def _count(begin, end, ends, counts):  # type: ignore[no-untyped-def]
    for k in range(np.uint64(begin), np.uint64(end)):
        atomic_add(counts, ends[k], np.uint32(1))


@kernel
def _gather(first, offsets, neighbours, vertices, near, far, undirected, here, there, where):  # type: ignore[no-untyped-def]
    """Count the edges that lead to ``far`` vertices, and write their ends and their places in the
    block to arrays that are not empty. Of an undirected edge that the other end finds, too, the
    smaller end is the one to write it.
    """
    begin, one = np.uint64(first), np.uint64(1)
    count = np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        edge, end = np.uint64(offsets[u - begin]), np.uint64(offsets[u - begin + one])
        back = undirected and far[u] != 0
        while edge < end:
            v = np.uint64(neighbours[edge])
            if far[v] and not (back and v < u and near[v]):
                if len(here) > 0:
                    here[count] = u
                    there[count] = v
                if len(where) > 0:
                    where[count] = edge
                count += one
            edge += one
    return count

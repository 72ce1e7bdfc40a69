"""Greedy colouring: no two neighbours have the same colour, and few colours are needed.

Returns int32 colours from 0. They are exactly those of the greedy algorithm that takes the vertices
one after the other, in the order that the strategy says, and gives each the smallest colour that
none of its neighbours has yet; the same whatever the number of threads.

Method: that algorithm, over lists in memory, or over windows of the order on a stream; see
``_coloring``, also for how state is encoded and how a window is repeated.

Trade-off: vertices are stored by degree, so that of the three orders "largest_first", which needs
the fewest colours, is also the one that reads a stream once. For the others the pages are read once
for each window, and more room means fewer windows. In memory it is the work of one thread: rounds
of vertices that do not wait for each other (Jones and Plassmann) took longer on two.

Welsh, Powell: "An upper bound for the chromatic number of a graph", Computer Journal 1967.
Hasenplaug, Kaler, Schardl, Leiserson: "Ordering heuristics for parallel graph coloring", SPAA 2014.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from penstock.algorithms._coloring import (
    IN_MEMORY,
    STATE_BYTES,
    color_greedily,
    window_room,
)
from penstock.algorithms._orders import by_id, largest_first, shuffled
from penstock.algorithms._vids import by_vid
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.errors import OptionError, VerificationError
from penstock.store.graph import Graph
from penstock.types import I64, U32, Array

Strategy = Literal["largest_first", "id", "random"]


def verify(graph: Graph, result: Result) -> None:
    """Look at every edge: its ends have different colours, and for each vertex all colours below
    its own are those of neighbours before it. This leaves one answer.
    """
    colours: I64 = by_vid(graph, result.values).astype(np.int64)
    given = result.stats["parameters"]
    turns = _turns(graph, given["strategy"], given["seed"])
    if (colours < 0).any():
        k = int(np.argmax(colours < 0))
        raise VerificationError(f"color: vertex {graph.ids_by_vid()[k]} has colour {colours[k]}")
    starts = np.append(0, np.cumsum(colours))
    seen: Array = np.zeros(starts[-1], bool)
    for src, dst, _ in graph.iter_edges():
        same = np.flatnonzero((colours[src] == colours[dst]) & (src != dst))
        if len(same):
            ids = graph.ids_by_vid()
            u, v = src[same[0]], dst[same[0]]
            raise VerificationError(
                f"color: the edge {ids[u]} - {ids[v]} joins two vertices of colour {colours[u]}"
            )
        for u, v in ((src, dst), (dst, src)):
            before = (turns[u] < turns[v]) & (colours[u] < colours[v])
            seen[starts[v[before]] + colours[u[before]]] = True
    if not seen.all():
        place = int(np.argmin(seen))
        k = int(np.searchsorted(starts, place, side="right")) - 1
        raise VerificationError(
            f"color: vertex {graph.ids_by_vid()[k]} has colour {colours[k]}, but no neighbour "
            f"before it has {place - starts[k]}"
        )


def _turns(graph: Graph, strategy: Strategy, seed: int) -> Array:
    """When each vertex has its turn."""
    n = graph.num_vertices
    ids: Array = np.arange(n)
    if graph.vid_of_rank is not None:
        ids[graph.vid_of_rank] = np.arange(n)
    if strategy == "id":
        return ids
    if strategy == "random":
        order: Array | None = shuffled(graph, seed)
    else:
        degrees = sum(np.asarray(graph.degrees(each)).astype(np.int64) for each in graph.directions)
        order = np.lexsort((ids, -np.asarray(degrees)))
    turns: Array = np.empty(n, np.int64)
    turns[order] = np.arange(n)
    return turns


def _requirements(counts: Counts, strategy: Strategy, seed: int) -> list[Needs]:
    if strategy not in get_args(Strategy):
        raise OptionError(f"strategy: expected {', '.join(get_args(Strategy))}; got {strategy!r}")
    in_order = strategy == "largest_first" and counts.vertex_order == "degree"
    memory = Needs(
        counts.both_ways, 1.0, vertex_bytes=STATE_BYTES,
        more_bytes=4 * counts.max_degree + (1 << 15), forms=("memory",), work=2.0,
        way=IN_MEMORY,
    )  # fmt: skip
    # Passes over R-MAT graphs, if there is as much room as it likes.
    passes = 1.2 if in_order else 5.0
    room = window_room(counts)
    return [memory, replace(memory, passes=passes, room=room, forms=("stream",), way="windows")]


@algorithm(requirements=_requirements, verify=verify)
def color(task: Task, strategy: Strategy = "largest_first", seed: int = 0) -> Result:
    """Greedy colouring: neighbours have different colours.

    The values are colours from 0; ``stats["colors"]`` is how many there are.

    Parameters
    ----------
    graph
        Directed or not; of a directed graph both directions must be stored.
    strategy
        In which order vertices take the smallest colour that is free: "largest_first" (by
        descending degree), "id" (ascending), or "random".
    seed
        Which of the random orders.

    Semantics
    ---------
    direction
        Directions are ignored: the ends of every edge have different colours. The degree is then
        in-degree and out-degree together.
    duplicates
        No difference to which colours are free. A degree counts edges as they are stored.
    loops
        Left out, but for the degree, which has an undirected one once.
    isolates
        0.
    values
        int32, from 0 to at most the largest degree.
    ties
        Of equal degrees, the vertex of the smaller id has its turn first.
    passes
        1 for "largest_first", if vertices are stored by degree. About 4 on R-MAT graphs for other
        orders; many times that where memory is short.

    Examples
    --------
    >>> import penstock as ps
    >>> graph = ps.from_edges([0, 1, 2, 3], [1, 2, 0, 0], directed=False)
    >>> ps.color(graph).values.tolist()
    [0, 1, 2, 1]
    """
    graph = task.graph
    engine = task.open()
    order: U32 | None
    if strategy == "largest_first":
        order = largest_first(graph)
    else:
        order = by_id(graph) if strategy == "id" else shuffled(graph, seed)
    with engine:
        colours = color_greedily(engine, order, {"strategy": strategy, "seed": seed})
    return task.result("color", colours, more={"colors": int(colours.max(initial=-1)) + 1})

"""Breadth-first search from one vertex.

Returns levels (int32: edges on a shortest path from the source, -1 where none leads) and parents
(uint32: the smallest vertex number among the neighbours one level above, the source for itself,
``NO_VERTEX`` where no path leads). Both are the same whatever the number of threads.

Method: level by level, top-down or bottom-up, whichever looks at fewer edges; see ``_levels``, also
for how state is encoded and how a level is repeated.

Beamer, Asanovic, Patterson: "Direction-optimizing breadth-first search", SC 2012.
"""

from __future__ import annotations

import numpy as np

from penstock.algorithms._levels import (
    FOUND_BYTES,
    I32,
    LISTED,
    MORE_BYTES,
    STATE_BYTES,
    search_levels,
)
from penstock.algorithms._vids import by_vid, vids_by_vid
from penstock.engine.algorithm import Cost, Task, algorithm
from penstock.engine.result import Result
from penstock.errors import BudgetError, VerificationError
from penstock.store.graph import Graph
from penstock.types import NO_VERTEX, U32, VID, Direction


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
    # Pages that a search reads: 1.2 to 2.3 times all of R-MAT graphs, 3.8 of a uniform one.
    return Cost(
        STATE_BYTES + MORE_BYTES, _directions(graph), 2.0, gathered_bytes=1, resident_passes=0.3
    )


def _streamed_cost(graph: Graph) -> Cost:
    """A frontier (ids, and a flag each on the way) has only vertices that an edge leads to."""
    stats = graph.catalog.directions[graph.stored("out" if len(graph.directions) == 1 else "in")]
    n = graph.num_vertices
    listed = 5 * (n - stats.degree_histogram[0]) + 8 * (n // LISTED) + FOUND_BYTES
    mapped = 0 if graph.directed else 4  # degrees, to choose between the two ways
    return Cost(STATE_BYTES + mapped, ("out",), 2.0, gathered_bytes=1, more_bytes=listed)


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
    try:
        engine = task.open(_cost(graph, source))
    except BudgetError:
        engine = task.open(_streamed_cost(graph))
    if not engine.is_resident():
        engine = task.open(_streamed_cost(graph))
    can_pull = not graph.directed or (len(graph.directions) == 2 and engine.is_resident())
    with engine:
        levels, parents = search_levels(engine, source_vid, can_pull=can_pull)
    return task.result("level", levels, more={}, vid_columns={"parents": parents})

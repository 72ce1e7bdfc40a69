"""Breadth-first search from one vertex, or from several at once.

Returns levels (int32: edges on a shortest path from a source, -1 where none leads or it is longer
than a limit) and parents (uint32: the smallest vertex number among the neighbours one level above,
a source for itself, ``NO_VERTEX`` where no path leads). Both are the same whatever the number of
threads.

Method: level by level, top-down or bottom-up, whichever looks at fewer edges; see ``_levels``, also
for how state is encoded and how a level is repeated.

Beamer, Asanovic, Patterson: "Direction-optimizing breadth-first search", SC 2012.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms._levels import (
    I32,
    MORE_BYTES,
    STATE_BYTES,
    check_levels,
    frontier_bytes,
    search_levels,
)
from penstock.algorithms._sources import check_count, sources_of
from penstock.algorithms._vids import by_vid, vids_by_vid
from penstock.engine.algorithm import Cost, Task, Vertices, algorithm
from penstock.engine.result import Result
from penstock.engine.vertices import vids_of
from penstock.errors import BudgetError, VerificationError
from penstock.store.graph import Graph
from penstock.types import Direction


def verify(graph: Graph, result: Result) -> None:
    """Look at every edge: none leads down more than one level or out of what is reached, and the
    parent of a vertex is the smallest of its neighbours one level above. This leaves one answer.
    """
    levels: I32 = by_vid(graph, result.values)
    given = result.stats["parameters"]
    sources = vids_of(graph, given["source"], "source")
    smallest = check_levels(graph, "bfs", levels, sources, given["depth_limit"])
    parents = vids_by_vid(graph, result.parents, levels >= 0)
    wrong = parents != smallest
    if wrong.any():
        k = np.argmax(wrong)
        raise VerificationError(
            f"bfs: vertex number {k} of level {levels[k]} has parent {parents[k]}; its smallest "
            f"neighbour one level above is {smallest[k]}"
        )


def _directions(graph: Graph) -> tuple[Direction, ...]:
    return ("out", "in") if len(graph.directions) == 2 else ("out",)


def _cost(graph: Graph, source: Any, depth_limit: int | None) -> Cost:
    # Pages that a search reads: 1.2 to 2.3 times all of R-MAT graphs, 3.8 of a uniform one.
    return Cost(
        STATE_BYTES + MORE_BYTES, _directions(graph), 2.0, gathered_bytes=1, resident_passes=0.3
    )


def _streamed_cost(graph: Graph) -> Cost:
    mapped = 0 if graph.directed else 4  # degrees, to choose between the two ways
    return Cost(
        STATE_BYTES + mapped, ("out",), 2.0, gathered_bytes=1, more_bytes=frontier_bytes(graph)
    )


@algorithm(cost=_cost, verify=verify)
def bfs(task: Task, source: Vertices, depth_limit: int | None = None) -> Result:
    """Breadth-first search: how many edges each vertex is away from a source.

    The values are levels, -1 for vertices that no path leads to; ``parents`` is a vertex one level
    above each, a source for itself. ``path(target)`` of the result is a shortest path.

    Parameters
    ----------
    graph
        Directed or not. In-lists, if there are any and they fit memory, make it faster.
    source
        The id of the vertex to begin at, or several: a level is then the distance from the nearest.
    depth_limit
        The last level to look for; None: all of them.

    Semantics
    ---------
    direction
        Edges of a directed graph are followed from source to target.
    duplicates
        Change nothing.
    loops
        Change nothing.
    isolates
        Are not reached, unless they are a source.
    values
        Level 0 are the sources. Vertices that no path leads to, or only paths longer than
        ``depth_limit``, have level -1 and no parent (-1; None if ids are strings).
    ties
        The parent is the neighbour one level above that has the smallest number inside: with
        ``vertex_order="degree"``, the one of the highest degree.
    passes
        About 2 on R-MAT graphs, up to 4 on uniform ones; fewer with a ``depth_limit``. Only pages
        that hold lists of a level are read.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.bfs(ps.from_edges([0, 1, 0], [1, 2, 3]), 0)
    >>> found.values.tolist(), found.parents.tolist()
    ([0, 1, 2, 1], [0, 0, 1, 0])
    >>> found.path(2)
    [0, 1, 2]
    """
    graph = task.graph
    if depth_limit is not None:
        check_count(depth_limit, "depth_limit")
    sources = sources_of(task, source)
    try:
        engine = task.open(_cost(graph, source, depth_limit))
    except BudgetError:
        engine = task.open(_streamed_cost(graph))
    if not engine.is_resident():
        engine = task.open(_streamed_cost(graph))
    can_pull = not graph.directed or (len(graph.directions) == 2 and engine.is_resident())
    with engine:
        levels, parents = search_levels(engine, sources, can_pull=can_pull, limit=depth_limit)
    return task.result("level", levels, more={}, vid_columns={"parents": parents})

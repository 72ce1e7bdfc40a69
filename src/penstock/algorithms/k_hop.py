"""The vertices that are at most k edges away from a source, or from the nearest of several.

Returns a row for each of them, with its distance in edges (int32).

Method: the search of BFS, for k levels; see ``_levels``, also for how state is encoded and how a
level is repeated.

Trade-off: only pages that hold lists of vertices nearer than k are read (or, of an undirected
graph, of those not reached yet, if they have fewer edges), and lists are not loaded into memory for
this: if they are there already, because another run left them, they are used. The state of all
vertices is in memory nevertheless.
"""

from __future__ import annotations

import numpy as np

from penstock.algorithms._levels import I32
from penstock.algorithms._levels_check import check_levels
from penstock.algorithms._sources import check_count, check_selected, sources_of
from penstock.algorithms._subgraph import around_needs, vertices_around
from penstock.algorithms._subgraph_check import row_vids
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.counts import Counts, Selected
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.vertices import vids_of
from penstock.store.graph import Graph


def verify(graph: Graph, result: Result) -> None:
    """Look at every edge: none leads out of what was reached before the limit, or more than one
    step away from the sources, and each vertex has one that leads there.
    """
    given = result.stats["parameters"]
    levels: I32 = np.full(graph.num_vertices, -1, np.int32)
    levels[row_vids(graph, "k_hop", result)] = result.values
    sources = vids_of(graph, given["source"], "source")
    check_levels(graph, "k_hop", levels, sources, given["k"])


def _requirements(counts: Counts, source: Selected, k: int) -> list[Needs]:
    check_count(k, "k")
    check_selected(source)
    return [around_needs(counts, source, k, ("out",))]


@algorithm(requirements=_requirements, verify=verify)
def k_hop(task: Task, source: Vertices, k: int) -> Result:
    """The vertices within a number of edges of a source.

    The values are distances in edges; vertices farther away have no row.

    Parameters
    ----------
    graph
        Directed or not, with out-lists.
    source
        The id of a vertex, or several: the distance is then that from the nearest.
    k
        The largest distance.

    Semantics
    ---------
    direction
        Edges of a directed graph are followed from source to target.
    duplicates
        Change nothing.
    loops
        Change nothing.
    isolates
        Are found only if they are a source.
    values
        From 0, which are the sources, to ``k``. Weights do not count.
    passes
        Pages that hold lists of vertices nearer than ``k``, once for each distance that they have
        some of: of an R-MAT graph at most about twice all.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.k_hop(ps.from_edges([0, 1, 2, 3], [1, 2, 3, 4]), 1, k=2)
    >>> found.ids.tolist(), found.values.tolist()
    ([1, 2, 3], [0, 1, 2])
    """
    sources = sources_of(task, source)
    with task.open() as engine:
        vids, distances, _ = vertices_around(engine, sources, k)
    return task.partial_result("distance", vids, distances, more={})

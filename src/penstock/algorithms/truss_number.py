"""Truss numbers: for each edge, the largest k of a k-truss that it is in.

Returns for each vertex the largest of its edges (int32), and a table of all edges with theirs.

Method: the triangles of each edge are counted, then edges are peeled level by level, in memory; or
in rounds, while they do not fit. See ``_truss``, also for the papers.

Trade-off: peeling takes 27 bytes an edge and 32 a vertex. A round counts all triangles anew, and
there are several for each number that is found that way.

State: for each edge how many triangles it is still in (uint32), which becomes its trussness.

Repeating: nothing is saved on the way.
"""

from __future__ import annotations

import numpy as np

from penstock.algorithms._truss_check import all_pairs, check_trussness, ends_of, pairs_of
from penstock.algorithms._truss_edges import (
    find_edges,
    largest_of_vertices,
    truss_needs,
)
from penstock.algorithms._vids import by_vid
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.result_edges import edge_table
from penstock.errors import VerificationError
from penstock.store.graph import Graph


def verify(graph: Graph, result: Result) -> None:
    """The edges are those of the graph, their numbers are right (see :func:`check_trussness`), and
    each vertex has the largest of its edges.
    """
    keys, order = pairs_of(graph, "truss_number", result)
    if not np.array_equal(keys, all_pairs(graph)):
        raise VerificationError("truss_number: the edges are not those of the graph")
    trussness = result.edges.trussness[order].astype(np.int64)
    every = np.ones(len(keys), bool)
    check_trussness(graph, "truss_number", keys, trussness, every, every)
    largest = np.zeros(graph.num_vertices, np.int64)
    for ends in ends_of(keys):
        np.maximum.at(largest, ends, trussness)
    values = by_vid(graph, result.values)
    wrong = np.flatnonzero(values != largest)
    if len(wrong):
        v = wrong[0]
        raise VerificationError(
            f"truss_number: {graph.ids_by_vid()[v]} has {values[v]}, but the largest of its edges "
            f"is {largest[v]}"
        )


def _requirements(counts: Counts) -> list[Needs]:
    return [truss_needs(counts)]


@algorithm(requirements=_requirements, verify=verify, finds_edges=True)
def truss_number(task: Task) -> Result:
    """Trussness of each edge: the largest k of a k-truss that it is in.

    A k-truss is the largest part of a graph in which every edge is in at least k - 2 triangles.
    ``edges`` of the result is a table of all edges with their ``trussness``; the values are the
    largest of each vertex's edges, ``stats["largest"]`` is the largest of all.

    Parameters
    ----------
    graph
        Directed or not; of a directed graph both directions must be stored.

    Semantics
    ---------
    direction
        Ignored: a directed graph is taken as the undirected one with the same edges, two edges
        between the same vertices as one, from the smaller id to the larger.
    duplicates
        Count once.
    loops
        Do not count, and are not among the edges (NetworkX refuses graphs that have some).
    isolates
        Get 0, as do vertices that have loops only.
    values
        int32: 2 for edges in no triangle, and more for others.
    passes
        As for triangles; in memory all at once if there is room, else once more for each round.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.truss_number(ps.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False))
    >>> found.values.tolist()
    [3, 3, 3, 2]
    >>> found.edges.src.tolist(), found.edges.dst.tolist(), found.edges.trussness.tolist()
    ([0, 0, 1, 2], [1, 2, 2, 3], [3, 3, 3, 2])
    """
    graph = task.graph
    with task.open() as engine:
        found = find_edges(engine)
        values = largest_of_vertices(engine, found)

    def edges() -> Result:
        src, dst, numbers = found.whole()
        columns = {"trussness": numbers.astype(np.int32)}
        return edge_table(graph, src, dst, columns, name="trussness", undirected=True)

    more = {"largest": found.largest, "edges": found.count}
    return task.result("truss_number", values, more=more, edges=edges)

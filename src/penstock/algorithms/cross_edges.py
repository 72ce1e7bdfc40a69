"""The edges between two sets of vertices.

Returns a row for each vertex of either set, with the number of cross edges at it (int64), and the
edges with their columns.

Method: the lists of one set are read, and of each list the neighbours that a mark (a byte for each
vertex) says are in the other set. Where the lists of either set can be used, those of the set with
fewer edges are read. The edges are held in memory; if they do not fit the budget, they are only
counted, and read again when they are asked for.

Trade-off: only pages that hold lists of that set are read, each once, and lists are not loaded into
memory for this; the marks of all vertices are in memory nevertheless.

Repeating: nothing is kept from one run to another; it is one step.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from penstock.algorithms._subgraph import (
    edge_needs,
    edges_later,
    take_rows,
)
from penstock.algorithms._subgraph_check import (
    check_counts,
    check_edges,
    check_rows,
    marked,
    row_vids,
)
from penstock.arrays import distinct
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.counts import Counts, Selected
from penstock.engine.edge_rows import collect_edges
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.result_edges import edge_table
from penstock.engine.vertices import vids_of
from penstock.store.graph import Graph
from penstock.types import U8, U32, Array, Direction


def verify(graph: Graph, result: Result) -> None:
    """Look at every edge of the graph, and compare those that belong here with those found."""
    given = result.stats["parameters"]
    first, second = (vids_of(graph, given[name], name) for name in ("a", "b"))
    check_rows(graph, "cross_edges", result, distinct(np.concatenate([first, second])))
    in_a, in_b = marked(graph, first), marked(graph, second)

    def crosses(u: U32, v: U32) -> Array:
        there: Array = in_a[u] & in_b[v]
        return there if graph.directed else there | (in_a[v] & in_b[u])

    counts = check_edges(graph, "cross_edges", result, crosses)
    check_counts("cross_edges", result, counts[row_vids(graph, "cross_edges", result)])


def _requirements(counts: Counts, a: Selected, b: Selected) -> list[Needs]:
    direction, swapped = _side(counts, a, b)
    needs = edge_needs(counts, direction, a.count + b.count)
    return [replace(needs, way="from b" if swapped else "from a")]


def _side(counts: Counts, a: Selected, b: Selected) -> tuple[Direction, bool]:
    """The lists to read, and whether they are those of ``b``: the ones with fewer edges."""
    sides: list[tuple[Direction, bool]] = [("out", False), ("in", True)]
    if counts.directed:
        sides = [each for each in sides if each[0] in counts.directions]

    def edges(side: tuple[Direction, bool]) -> int:
        return (b if side[1] else a).edges(side[0])

    return min(sides, key=edges)


@algorithm(requirements=_requirements, verify=verify, finds_edges=True)
def cross_edges(task: Task, a: Vertices, b: Vertices) -> Result:
    """The edges from one set of vertices to another.

    The values are the numbers of such edges at the vertices of both sets; ``edges`` of the result
    is a table of them, with the columns that the graph has.

    Parameters
    ----------
    graph
        Directed or not.
    a
        The ids of the vertices that the edges come from.
    b
        The ids of the vertices that they lead to.

    Semantics
    ---------
    direction
        In a directed graph, edges from a vertex of ``a`` to one of ``b``. In an undirected one,
        edges with an end in each, in the table once. As ``networkx.edge_boundary``, which also
        takes directed edges the other way round if the sets overlap.
    duplicates
        Edges that the graph has several times are there as often.
    loops
        Are there where a vertex is in both sets, and count twice.
    isolates
        Vertices without such edges have 0.
    values
        Whole numbers. A vertex may be in both sets, and has one row: an edge between two such
        vertices belongs to the result, so that with ``b`` the same as ``a`` it is the subgraph
        that they induce.
    passes
        1 at most: each page that holds lists of one of the sets, once.

    Examples
    --------
    >>> import penstock as ps
    >>> graph = ps.from_edges([0, 0, 1, 2], [1, 2, 3, 3], directed=False)
    >>> found = ps.cross_edges(graph, [0, 1], [2, 3])
    >>> found.ids.tolist(), found.values.tolist()
    ([0, 1, 2, 3], [1, 1, 1, 1])
    >>> found.edges.src.tolist(), found.edges.dst.tolist()
    ([0, 1], [2, 3])
    """
    graph, first, second = task.graph, task.vids(a, "a"), task.vids(b, "b")
    needs = task.requirements[0]
    direction = needs.directions[0]
    near, far = (second, first) if needs.way == "from b" else (first, second)
    rows = distinct(np.concatenate([first, second]))
    with task.open() as engine:
        take_rows(engine, len(rows))
        counts: U32 = engine.array("counts", np.uint32, 0)
        is_near: U8 = engine.array("near", np.uint8, 0)
        is_far: U8 = engine.array("far", np.uint8, 0)
        is_near[near], is_far[far] = 1, 1
        with engine.step(active=len(near)):
            found = collect_edges(engine, near, is_near, is_far, direction, counts)
    values = counts[rows].astype(np.int64)
    edges = edges_later(task, needs, near, far, direction)
    if found is not None:
        edges = partial(edge_table, graph, *found)
    return task.partial_result("cross_edges", rows, values, more={}, edges=edges)

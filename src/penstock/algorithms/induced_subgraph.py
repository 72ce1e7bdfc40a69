"""The subgraph of some vertices: the edges of the graph that have both ends among them.

Returns a row for each of the vertices, with its degree there (int64), and the edges with their
columns.

Method: the lists of the vertices are read, and of each list the neighbours that a mark (a byte for
each vertex) says are among them. An undirected edge is taken from the end with the smaller vertex
number. The edges are held in memory: 8 bytes each and their columns, and one column twice while
they are joined; if they do not fit the budget, they are only counted, and read again when they are
asked for.

Trade-off: only pages that hold lists of the vertices are read, each once, and lists are not loaded
into memory for this; the marks of all vertices are in memory nevertheless.

Repeating: nothing is kept from one run to another; it is one step.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from penstock.algorithms._subgraph import (
    edge_needs,
    edges_later,
    edges_within,
    list_direction,
    take_rows,
)
from penstock.algorithms._subgraph_check import (
    check_counts,
    check_edges,
    check_rows,
    marked,
    row_vids,
)
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.counts import Counts, Selected
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.result_edges import edge_table
from penstock.engine.vertices import vids_of
from penstock.store.graph import Graph
from penstock.types import U8, U32


def verify(graph: Graph, result: Result) -> None:
    """Look at every edge of the graph, and compare those that belong here with those found."""
    name = "induced_subgraph"
    vids = vids_of(graph, result.stats["parameters"]["vertices"], "vertices")
    check_rows(graph, name, result, vids)
    member = marked(graph, vids)
    counts = check_edges(graph, name, result, lambda u, v: member[u] & member[v])
    check_counts(name, result, counts[row_vids(graph, name, result)])


def _requirements(counts: Counts, vertices: Selected) -> list[Needs]:
    return [edge_needs(counts, list_direction(counts), vertices.count)]


@algorithm(requirements=_requirements, verify=verify, finds_edges=True)
def induced_subgraph(task: Task, vertices: Vertices) -> Result:
    """The edges among some vertices.

    The values are the degrees that the vertices have there; ``edges`` of the result is a table of
    the edges, with the columns that the graph has.

    Parameters
    ----------
    graph
        Directed or not.
    vertices
        The ids of the vertices.

    Semantics
    ---------
    direction
        The degree in a directed graph is that of both directions together.
    duplicates
        Edges that the graph has several times are there as often.
    loops
        Belong to the subgraph, and add 2 to the degree, as in NetworkX.
    isolates
        Vertices without edges in the subgraph have degree 0.
    values
        Whole numbers. Vertices that were not asked for have no row.
    passes
        1 at most: each page that holds lists of the vertices, once.

    Examples
    --------
    >>> import penstock as ps
    >>> graph = ps.from_edges([0, 1, 2, 3], [1, 2, 0, 0], directed=False)
    >>> found = ps.induced_subgraph(graph, [0, 1, 3])
    >>> found.ids.tolist(), found.values.tolist()
    ([0, 1, 3], [2, 1, 1])
    >>> found.edges.src.tolist(), found.edges.dst.tolist()
    ([0, 0], [1, 3])
    """
    graph, vids = task.graph, task.vids(vertices, "vertices")
    with task.open() as engine:
        take_rows(engine, len(vids))
        degrees: U32 = engine.array("degrees", np.uint32, 0)
        member: U8 = engine.array("member", np.uint8, 0)
        member[vids] = 1
        with engine.step(active=len(vids)):
            found = edges_within(engine, member, vids, degrees)
    values = degrees[vids].astype(np.int64)
    edges = edges_later(task, task.requirements[0], vids, vids, list_direction(graph))
    if found is not None:
        edges = partial(edge_table, graph, *found)
    return task.partial_result("degree", vids, values, more={}, edges=edges)

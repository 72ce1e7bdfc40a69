"""The egonet of a vertex: the vertices within a radius of it, and the edges among them.

Returns a row for each of the vertices, with its distance from the source in edges (int32), and the
edges with their columns.

Method: the search of BFS, as many levels as the radius (see ``_levels``, also for how
state is encoded and how a level is repeated); then the subgraph that the vertices induce (see
``induced_subgraph``).

Trade-off: only pages that hold lists of the vertices are read, and lists are not loaded into memory
for this: if they are there already, because another run left them, they are used. The state of all
vertices is in memory nevertheless.

Repeating: a checkpoint has levels; the edges are collected in one step after the last level.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from penstock.algorithms._levels import I32
from penstock.algorithms._levels_check import check_levels
from penstock.algorithms._sources import check_count
from penstock.algorithms._subgraph import (
    around_needs,
    column_names,
    edges_later,
    edges_within,
    list_direction,
    vertices_around,
)
from penstock.algorithms._subgraph_check import check_edges, marked, row_vids
from penstock.engine.algorithm import Task, Vertex, algorithm
from penstock.engine.counts import Counts, Selected
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.result_edges import edge_table
from penstock.engine.vertices import vids_of
from penstock.errors import VerificationError
from penstock.store.graph import Graph
from penstock.types import Direction


def verify(graph: Graph, result: Result) -> None:
    """Look at every edge, once for the distances and once for those that belong here."""
    given = result.stats["parameters"]
    source = vids_of(graph, given["source"], "source")
    vids = row_vids(graph, "egonet", result)
    levels: I32 = np.full(graph.num_vertices, -1, np.int32)
    levels[vids] = result.values
    if not given["center"]:
        if levels[source[0]] >= 0:
            raise VerificationError("egonet: the source is there, but was not asked for")
        levels[source] = 0
    both_ways = given["undirected"]
    check_levels(graph, "egonet", levels, source, given["radius"], both_ways=both_ways)
    member = marked(graph, vids)
    check_edges(graph, "egonet", result, lambda u, v: member[u] & member[v])


def _directions(graph: Graph | Counts, *, undirected: bool) -> tuple[Direction, ...]:
    return ("out", "in") if undirected and graph.directed else ("out",)


def _requirements(
    counts: Counts, source: Selected, radius: int, center: bool, undirected: bool
) -> list[Needs]:
    check_count(radius, "radius")
    directions = _directions(counts, undirected=undirected)
    return [around_needs(counts, source, radius, directions, column_names(counts), edges=True)]


@algorithm(requirements=_requirements, verify=verify, finds_edges=True)
def egonet(
    task: Task, source: Vertex, radius: int = 1, center: bool = True, undirected: bool = False
) -> Result:
    """The vertices around a vertex, and the edges among them.

    The values are distances from the source in edges; ``edges`` of the result is a table of the
    edges, with the columns that the graph has.

    Parameters
    ----------
    graph
        Directed or not, with out-lists.
    source
        The id of the vertex.
    radius
        The largest distance.
    center
        Whether the source itself belongs to it, with its edges.
    undirected
        Whether edges of a directed graph are followed in both directions to find the vertices; it
        needs both lists.

    Semantics
    ---------
    direction
        Edges of a directed graph are followed from source to target, or in both directions if
        ``undirected``. The edges found have the direction that they have in the graph.
    duplicates
        Edges that the graph has several times are there as often.
    loops
        Belong to it.
    isolates
        Have an egonet of themselves.
    values
        From 0, which is the source, to ``radius``. Weights do not count.
    passes
        As ``k_hop``, and once more for the pages of the vertices found.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.egonet(ps.from_edges([0, 0, 1, 2], [1, 2, 2, 3]), 0)
    >>> found.ids.tolist(), found.values.tolist()
    ([0, 1, 2], [0, 1, 1])
    >>> found.edges.src.tolist(), found.edges.dst.tolist()
    ([0, 0, 1], [1, 2, 2])
    """
    graph, begin = task.graph, task.vid(source)
    directions = _directions(graph, undirected=undirected)
    with task.open() as engine:
        sources = np.array([begin], np.uint32)
        vids, distances, member = vertices_around(engine, sources, radius, directions)
        if not center:
            member[begin] = 0
            vids, distances = vids[distances > 0], distances[distances > 0]
        with engine.step(mode="edges", active=len(vids)):
            found = edges_within(engine, member, vids)
    edges = edges_later(task, task.requirements[0], vids, vids, list_direction(graph))
    if found is not None:
        edges = partial(edge_table, graph, *found)
    return task.partial_result("distance", vids, distances, more={}, edges=edges)

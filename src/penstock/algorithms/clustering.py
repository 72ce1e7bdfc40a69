"""Clustering: how many of the edges that a vertex's neighbours could have among them there are.

Returns float64. An undirected vertex with d neighbours and t triangles has 2 t / (d (d - 1)), as in
NetworkX. A directed one has, as in LDBC Graphalytics, the directed edges among its d neighbours
(those it has an edge to or from, each once) over d (d - 1). NetworkX's coefficient of directed
graphs is another one (Fagiolo's): it asks how many of the directed triangles through the vertex
there are, so that the directions of the vertex's own edges count; here they do not.

Method: that of ``triangles``. Directed, a triangle adds to each corner how many directions the
opposite edge has, one or two: all of them together are the edges among neighbours.

Trade-off, state and repeating are those of ``triangles``; besides, the number of neighbours of each
vertex (uint32), and a byte for each edge of a directed graph that says how many directions it has.

Watts, Strogatz: "Collective dynamics of small-world networks", Nature 1998. Iosup et al.: "The LDBC
Graphalytics benchmark", arXiv:2011.15028. Fagiolo: "Clustering in complex directed networks",
Physical Review E 2007.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms._triangle_kernels import OF_DIRECTIONS, OF_VERTICES
from penstock.algorithms._triangles import (
    Counting,
    Wanted,
    counting_needs,
    edges_among_neighbours,
)
from penstock.algorithms._vids import by_vid
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.errors import VerificationError
from penstock.jit import kernel
from penstock.store.graph import Graph

#: Vertices whose coefficient is worked out again by the verifier.
VERIFIED = 16


def verify(graph: Graph, result: Result) -> None:
    """All values are from 0 to 1 and have the average that is given; those of a few vertices, and
    of one with the largest, are the edges among their neighbours, found by looking at all edges.
    """
    values = by_vid(graph, result.values)
    n, names, average = graph.num_vertices, graph.ids_by_vid(), result.stats["average"]
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(wrong):
        raise VerificationError(
            f"clustering: {names[wrong[0]]} has the value {values[wrong[0]]}, which is not from 0 "
            "to 1"
        )
    if n and not np.isclose(values.mean(), average, rtol=1e-9):
        raise VerificationError(f"clustering: the average is {values.mean()}, not {average}")
    chosen = np.random.default_rng(n).choice(n, min(VERIFIED, n), replace=False).tolist()
    vertices = sorted({*chosen, *np.argsort(values)[-1:].tolist()})
    found = edges_among_neighbours(graph, vertices, ordered=graph.directed)
    for v, (neighbours, edges) in zip(vertices, found, strict=True):
        possible = neighbours * (neighbours - 1)
        right = (edges if graph.directed else 2 * edges) / max(possible, 1)
        if not np.isclose(values[v], right, rtol=1e-12, atol=0):
            raise VerificationError(
                f"clustering: {names[v]} has the value {values[v]}, but there are {edges:,} edges "
                f"among its {neighbours:,} neighbours, which is {right}"
            )


def _wanted(*, directed: bool) -> Wanted:
    return Wanted(OF_DIRECTIONS if directed else OF_VERTICES, degrees=True)


def _requirements(counts: Counts) -> list[Needs]:
    return [counting_needs(counts, _wanted(directed=counts.directed))]


@algorithm(requirements=_requirements, verify=verify)
def clustering(task: Task) -> Result:
    """Local clustering coefficients: how many of a vertex's neighbours are neighbours themselves.

    ``stats["average"]`` is their mean over all vertices; ``stats["transitivity"]``, of undirected
    graphs, the share of pairs of edges with a common end that a third one closes.

    Parameters
    ----------
    graph
        Directed or not; a directed one needs the lists of both directions.

    Semantics
    ---------
    direction
        Undirected as NetworkX's ``clustering``. Directed as LDBC Graphalytics: the neighbours of a
        vertex are those with an edge from it or to it, and the directed edges among them count.
        NetworkX has another coefficient (Fagiolo's) for directed graphs.
    duplicates
        Count once; an edge and its reverse in a directed graph are two edges among neighbours.
    loops
        Do not count.
    isolates
        Get 0, as do all vertices with fewer than two neighbours; they are part of the average.
    values
        From 0 to 1.
    passes
        As ``triangles``: 2 if the lists of earlier neighbours fit memory (4 bytes an edge and 12 a
        vertex, directed 5 and 20), else about 1.5 + w / 2 for w windows of them.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.clustering(ps.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False))
    >>> found.values.tolist(), found.stats["transitivity"]
    ([1.0, 1.0, 0.3333333333333333, 0.0], 0.6)
    """
    graph = task.graph
    with task.open() as engine:
        counting = Counting(engine, _wanted(directed=graph.directed))
        counting.run({"algorithm": "clustering"})
        counts = counting.counts
        values = np.empty(len(counts))
        rows = engine.map_ranges(_divide, counts, counting.degrees, graph.directed, values)
    closed, open_too = (sum(row[k] for row in rows) for k in range(2))
    more: dict[str, Any] = {"average": float(values.mean()) if len(values) else 0.0}
    if not graph.directed:
        more["transitivity"] = closed / open_too if open_too else 0.0
    return task.result("clustering", values, more=more)


@kernel
def _divide(begin, end, counts, degrees, directed, values):  # type: ignore[no-untyped-def]
    """Edges among neighbours over those there could be; the sums of both."""
    closed, possible = np.int64(0), np.int64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        degree = np.int64(degrees[v])
        pairs = degree * (degree - 1)
        edges = counts[v] if directed else 2 * counts[v]
        values[v] = edges / pairs if pairs > 0 else 0.0
        closed += edges
        possible += pairs
    return closed, possible

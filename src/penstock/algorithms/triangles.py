"""Triangles: how many of them each vertex is a corner of.

Returns int64; ``stats["total"]`` has the triangles of the whole graph, each once.

Method: lists of earlier neighbours, two in memory at a time, compared by marks or rows of bits; see
``_triangles``. Each triangle is found once, and counted for its three corners in integers: the
counts do not depend on the number of threads.

Trade-off: on top of the lists that are looked at, 8 bytes a vertex. What does not fit memory as one
window of lists takes more passes instead, half as many again as windows. ``stats`` of a streamed
run has ``nested_loop_pages``, what block nested loops would read with all memory for pages.

State: the counts (int64), doubled while they grow; sizes of lists (uint32), which are in a file if
not all lists fit memory.

Repeating: the counts after an inner window may be taken up again with windows of another size, but
the same hubs.
"""

from __future__ import annotations

import numpy as np

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
from penstock.store.graph import Graph

#: Vertices whose triangles are counted again by the verifier.
VERIFIED = 16


def verify(graph: Graph, result: Result) -> None:
    """Corners add up to three times the total; and the triangles of a few vertices, and of the one
    with most of them, are the edges among their neighbours, found by looking at all edges.
    """
    counts = by_vid(graph, result.values)
    n, names, total = graph.num_vertices, graph.ids_by_vid(), int(result.stats["total"])
    if (counts < 0).any() or int(counts.sum()) != 3 * total:
        raise VerificationError(
            f"triangles: the counts add up to {int(counts.sum()):,}, which is not three times the "
            f"total of {total:,}, or some are below 0"
        )
    chosen = np.random.default_rng(n).choice(n, min(VERIFIED, n), replace=False).tolist()
    vertices = sorted({*chosen, *np.argsort(counts)[-1:].tolist()})
    found = edges_among_neighbours(graph, vertices, ordered=False)
    for v, (neighbours, edges) in zip(vertices, found, strict=True):
        if counts[v] != edges:
            raise VerificationError(
                f"triangles: {names[v]} has {counts[v]:,}, but there are {edges:,} edges among its "
                f"{neighbours:,} neighbours"
            )


def _requirements(counts: Counts) -> list[Needs]:
    return [counting_needs(counts, Wanted())]


@algorithm(requirements=_requirements, verify=verify, on_devices=_requirements)
def triangles(task: Task) -> Result:
    """Triangles: how many each vertex is a corner of.

    ``stats["total"]`` is the number of triangles of the graph, each counted once.

    Parameters
    ----------
    graph
        Directed or not; a directed one needs the lists of both directions.

    Semantics
    ---------
    direction
        Ignored: a directed graph is taken as the undirected one with the same edges, two edges
        between the same vertices as one.
    duplicates
        Count once.
    loops
        Do not count.
    isolates
        Get 0.
    values
        Whole numbers of 0 or more; over all vertices they add up to three times the total.
    passes
        2 if the lists of earlier neighbours fit memory (4 bytes an edge and 12 a vertex), else
        about 1.5 + w / 2 for w windows of them, or fewer if edges lead to vertices nearby.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.triangles(ps.from_edges([0, 1, 2, 2], [1, 2, 0, 3], directed=False))
    >>> found.values.tolist(), found.stats["total"]
    ([1, 1, 1, 0], 1)
    """
    with task.open() as engine:
        counting = Counting(engine, Wanted())
        counting.run({"algorithm": "triangles"})
        counts = counting.counts
    return task.result("triangles", counts, more={"total": int(counts.sum()) // 3})

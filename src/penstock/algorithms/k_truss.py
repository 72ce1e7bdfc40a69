"""The k-truss: the largest part of a graph in which every edge is in at least k - 2 triangles.

Returns a row for each vertex of it, with how many edges of the truss it has (uint32), and these
edges.

Method: the triangles of each edge are counted; edges in too few are peeled, and those that this
leaves in too few, until none is. For the largest k the trussness of those edges is found that are
in most triangles, and of more only if a truss might have been missed. See ``_truss``, also for the
papers.

Trade-off: peeling takes 27 bytes an edge and 32 a vertex, in memory; what does not fit is dropped
in rounds, each of which counts all triangles anew.

State: for each edge how many triangles it is still in (uint32).

Repeating: nothing is saved on the way.
"""

from __future__ import annotations

import operator

import numpy as np

from penstock.algorithms._subgraph import INDEX_BYTES, ROW_BYTES, take_rows
from penstock.algorithms._subgraph_check import row_vids
from penstock.algorithms._truss_check import all_pairs, check_trussness, ends_of, pairs_of
from penstock.algorithms._truss_edges import find_edges, find_largest, truss_needs
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.edge_rows import count_ends
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.result_edges import edge_table
from penstock.errors import OptionError, VerificationError
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.types import U32


def verify(graph: Graph, result: Result) -> None:
    """The edges are some of the graph's, each in enough triangles of them; none of the others could
    be among them, nor is there a truss of a larger k if the largest was asked for (see
    :func:`check_trussness`); and the rows are their ends.
    """
    (keys, _), every = pairs_of(graph, "k_truss", result), all_pairs(graph)
    k = max(int(result.stats["k"]), 2)
    places = np.searchsorted(every, keys)
    if len(keys) and (places[-1] == len(every) or (every[places] != keys).any()):
        raise VerificationError("k_truss: some edges are not edges of the graph")
    inside = np.zeros(len(every), bool)
    inside[places] = True
    largest = result.stats["parameters"]["k"] is None
    if largest and len(every) and not len(keys):
        raise VerificationError("k_truss: no edges, but there is a truss of the largest number")
    trussness = np.where(inside, k, k - 1)
    check_trussness(graph, "k_truss", every, trussness, inside, ~inside | largest)
    degrees = np.bincount(np.concatenate(ends_of(keys)), minlength=graph.num_vertices)
    vids = row_vids(graph, "k_truss", result)
    if len(vids) != np.count_nonzero(degrees) or (result.values != degrees[vids]).any():
        raise VerificationError("k_truss: the rows are not the ends of the edges, counted")


def _requirements(counts: Counts, k: int | None) -> list[Needs]:
    _checked(k)
    rows = (ROW_BYTES + INDEX_BYTES) * counts.num_vertices  # at most
    return [truss_needs(counts, then_bytes=rows)]


def _checked(k: int | None) -> int | None:
    if k is None:
        return None
    try:
        if not isinstance(k, bool):
            return operator.index(k)
        raise TypeError
    except TypeError:
        raise OptionError(f"k: expected a whole number or None, got {k!r}") from None


@algorithm(requirements=_requirements, verify=verify, finds_edges=True)
def k_truss(task: Task, k: int | None = None) -> Result:
    """The largest part of the graph in which every edge is in at least k - 2 triangles.

    The values are how many edges of it each of its vertices has; ``edges`` of the result is a table
    of these, ``stats["edges"]`` how many there are, ``stats["k"]`` which truss it is.

    Parameters
    ----------
    graph
        Directed or not; of a directed graph both directions must be stored.
    k
        Which truss; None for the largest k that leaves any edge.

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
        Have no row, as in NetworkX; for no k, not even 2 or less, which gives all edges.
    values
        uint32, 1 or more. Vertices without edges of the truss have no row; if k is too large there
        is none at all.
    passes
        As for triangles; in memory all at once if there is room, else once more for each round.

    Examples
    --------
    >>> import penstock as ps
    >>> g = ps.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> found = ps.k_truss(g, 3)
    >>> found.ids.tolist(), found.values.tolist()
    ([0, 1, 2], [2, 2, 2])
    >>> found.edges.src.tolist(), found.edges.dst.tolist()
    ([0, 0, 1], [1, 2, 2])
    """
    graph, which = task.graph, _checked(k)
    with task.open() as engine:
        if which is None:
            found = find_largest(engine)
            which = found.largest
        else:
            # No truss has fewer vertices than its k.
            found = find_edges(engine, min(which, graph.num_vertices + 1))
        found.keep(which)
        degrees: U32 = engine.array("degrees", np.uint32, 0)
        for src, dst, _ in found.parts():
            for ends in (src, dst):
                engine.map_ranges(count_ends, ends, degrees, length=len(ends))
        vids = engine.select(_with_edges, degrees)
        take_rows(engine, len(vids))
    return task.partial_result(
        "degree", vids, degrees[vids], more={"k": which, "edges": found.count},
        edges=lambda: edge_table(graph, *found.whole()[:2], {}, undirected=True),
    )  # fmt: skip


@kernel
def _with_edges(begin, end, chosen, degrees):  # type: ignore[no-untyped-def]
    """The vertices of a range that have edges."""
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        if degrees[v] > 0:
            chosen[count] = v
            count += np.uint64(1)
    return count

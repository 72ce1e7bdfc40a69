"""The k-core: the largest part of a graph in which every vertex has at least k neighbours.

Returns a row for each vertex of it, with its core number (int32), and the edges among them, which
are read from the graph when they are first used.

Method: core numbers of all vertices, as ``core_number`` finds them (see there, also for the
papers); the k-core are those of at least k.

Trade-off: a k costs as much as all of them. Without the core numbers of its vertices, the k-core
alone could be had by taking away what has fewer than k neighbours.

Repeating: as for core numbers.

Seidman: "Network structure and minimum degree", Social Networks 1983.
"""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np

from penstock.algorithms._cores import I32, core_numbers
from penstock.algorithms._cores_check import check_cores
from penstock.algorithms._subgraph import (
    INDEX_BYTES,
    ROW_BYTES,
    edge_needs,
    edges_later,
    list_direction,
    take_rows,
)
from penstock.algorithms._subgraph_check import check_edges, marked, row_vids
from penstock.algorithms.core_number import core_needs
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.errors import OptionError, VerificationError
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.types import U32


def verify(graph: Graph, result: Result) -> None:
    """The core numbers of the rows are right, no other vertex belongs there, and the edges are
    those of the graph.
    """
    vids = row_vids(graph, "k_core", result)
    k = result.stats["parameters"]["k"]
    if k is None:
        if len(vids) == 0 and graph.num_vertices:
            raise VerificationError(
                "k_core: no vertices, but there is a core of the largest number"
            )
        k = int(result.values.max(initial=0))
    low = np.flatnonzero(result.values < k)
    if len(low):
        raise VerificationError(
            f"k_core: {result.ids[low[0]]} has core number {result.values[low[0]]}, below {k}"
        )
    member = marked(graph, vids)
    cores = np.full(graph.num_vertices, k - 1, np.int64)
    cores[vids] = result.values
    check_cores(graph, "k_core", cores, member > 0)
    check_edges(graph, "k_core", result, lambda u, v: (member[u] & member[v]) > 0)


def _requirements(counts: Counts, k: int | None) -> list[Needs]:
    _least(k)
    rows = (ROW_BYTES + INDEX_BYTES) * counts.num_vertices  # at most
    edges = _edge_needs(counts)
    return [replace(needs, parts=(edges,)) for needs in core_needs(counts, rows)]


def _edge_needs(counts: Counts) -> Needs:
    """To read the edges of the core, when they are asked for."""
    return edge_needs(counts, list_direction(counts))


def _least(k: int | None) -> int | None:
    """The parameter, checked."""
    if k is None:
        return None
    try:
        least = operator.index(k)
    except TypeError:
        raise OptionError(f"k: expected a whole number or None, got {k!r}") from None
    if least < 0:
        raise OptionError(f"k: expected a number of 0 or more, got {k}")
    return least


@algorithm(requirements=_requirements, verify=verify, finds_edges=True)
def k_core(task: Task, k: int | None = None) -> Result:
    """The largest part of the graph in which every vertex has at least k neighbours.

    The values are the core numbers of its vertices; ``edges`` of the result is a table of the edges
    among them, with the columns that the graph has, and is read when it is first used.

    Parameters
    ----------
    graph
        Directed or not; of a directed graph both directions must be stored.
    k
        How many neighbours; None for the largest k that leaves any vertex.

    Semantics
    ---------
    direction
        Directions are ignored, as in NetworkX: predecessors and successors are neighbours, and two
        vertices with an edge each way count each other twice.
    duplicates
        Edges that were kept several times count as often.
    loops
        Count for nothing, but are among the edges of the result (NetworkX refuses graphs that have
        some).
    isolates
        Belong to the core of k = 0 only.
    values
        int32, k or more. Vertices that are not in the core have no row; if k is too large there is
        none at all.
    passes
        About 4 on R-MAT graphs, 5 if they are directed, as for core_number; the edges, 1 at most.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.k_core(ps.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False), 2)
    >>> found.ids.tolist(), found.values.tolist()
    ([0, 1, 2], [2, 2, 2])
    >>> found.edges.src.tolist(), found.edges.dst.tolist()
    ([0, 0, 1], [1, 2, 2])
    """
    graph, least = task.graph, _least(k)
    with task.open() as engine:
        cores: I32 = core_numbers(engine)
        if least is None:
            least = int(cores.max(initial=0))
        vids: U32 = engine.select(_of_core, cores, least)
        take_rows(engine, len(vids))
    needs = _edge_needs(engine.counts)
    edges = edges_later(task, needs, vids, vids, list_direction(graph))
    return task.partial_result("core_number", vids, cores[vids], more={"k": least}, edges=edges)


@kernel
def _of_core(begin, end, chosen, cores, least):  # type: ignore[no-untyped-def]
    """The vertices of a range that have at least this core number."""
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        if cores[v] >= least:
            chosen[count] = v
            count += np.uint64(1)
    return count

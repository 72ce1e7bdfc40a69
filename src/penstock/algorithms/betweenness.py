"""Betweenness centrality: how many of the shortest paths go through each vertex.

Returns float64: for vertex v the sum, over pairs s, t of other vertices, of the share of the
shortest paths from s to t that go through v; from all sources s or from some. The same bits
whatever the number of threads.

Method: Brandes, source by source: a search, path counts forward, dependencies backward; see
``_brandes``, and ``_brandes_whole`` for small graphs. In memory a source takes three looks at each
list, on a stream several passes: exact betweenness is for small graphs, samples for the others.
With k sources the error of a value is about ``sqrt(log(n) / k)`` of the largest possible one.

Repeating: a source may be repeated once the totals are again those before it.

Brandes: "A faster algorithm for betweenness centrality", J. Mathematical Sociology 2001. Brandes,
Pich: "Centrality estimation in large networks", Int. J. Bifurcation and Chaos 2007.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms._brandes import (
    F64,
    Sweeps,
    add_up,
    choose_sources,
    scale_of,
    sweep_needs,
)
from penstock.algorithms._brandes_whole import WHOLE_SOURCES, chunk_sums
from penstock.algorithms._vids import by_vid
from penstock.algorithms._weights import weighed_edges
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.counts import Counts, Selected
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.errors import VerificationError
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.types import U32, Array


def _requirements(
    counts: Counts,
    k: int | None,
    normalized: bool,
    weight: bool,
    endpoints: bool,
    seed: int,
    sources: Selected | None,
) -> list[Needs]:
    return sweep_needs(counts, k, sources, weight=weight, vertex_bytes=8)


def _add_up(engine: Engine, sources: U32, *, weighted: bool, endpoints: bool) -> F64:
    """The sum of the dependencies of all sources on each vertex."""
    totals: F64 = engine.array("totals", np.float64, 0)
    extra = 1.0 if endpoints else 0.0
    whole = engine.way == WHOLE_SOURCES
    sweeps = None if whole else Sweeps(engine, weighted=weighted)

    def add(vertices: U32, sums: F64) -> None:
        assert sweeps is not None
        args = (vertices, sums, sweeps.paths, totals, extra)
        engine.map_ranges(_add, *args, length=len(vertices))

    def step(left: U32) -> tuple[int, dict[str, Any]]:
        if sweeps is None:
            count, parts = chunk_sums(engine, left, of_edges=False, extra=extra)
            for part in parts:
                np.add(totals, part, out=totals)
            return count, {"sources": count}
        rounds = sweeps.run(left[0], add)
        totals[left[0]] += extra * (len(rounds.vertices) - 1)
        return 1, {"rounds": len(rounds), "active": len(rounds.vertices)}

    identity = {"algorithm": "betweenness", "weighted": weighted, "endpoints": endpoints}
    add_up(engine, totals, sources, step, **identity)
    return totals


@kernel
def _add(begin, end, vertices, sums, paths, totals, extra):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(vertices[i])
        totals[v] += paths[v] * sums[v] + extra


def scale_sums(
    graph: Graph, totals: F64, sources: U32, *, some: bool, normalized: bool, endpoints: bool
) -> None:
    """Sums become centralities. No path counts that begins at the vertex itself: one that is a
    source has one source less to be scaled by.
    """
    n, adjusted = graph.num_vertices, some and not endpoints
    count = len(sources) if some or endpoints else n - 1
    own = totals[sources].copy() if adjusted else totals[:0]
    totals *= scale_of(graph, count, normalized=normalized, endpoints=endpoints)
    if adjusted:
        fewer = scale_of(graph, count - 1, normalized=normalized, endpoints=endpoints)
        totals[sources] = own * fewer


def verify(graph: Graph, result: Result) -> None:
    """Once more with edges in no order, pushed along arrays: distances by relaxing every edge until
    none changes, then path counts and dependencies from one distance to the next.
    """
    given = result.stats["parameters"]
    sources, some = choose_sources(graph, given["k"], given["seed"], given["sources"])
    expected = np.zeros(graph.num_vertices)
    edges = every_edge(graph, weighted=given["weight"])
    for source in sources:
        distances, _, dependency = push_paths(graph.num_vertices, source, *edges)
        reached = np.isfinite(distances)
        if given["endpoints"]:
            dependency[reached] += 1
            dependency[source] = np.count_nonzero(reached) - 1
        else:
            dependency[source] = 0
        expected += dependency
    scale_sums(
        graph, expected, sources, some=some,
        normalized=given["normalized"], endpoints=given["endpoints"],
    )  # fmt: skip
    found = by_vid(graph, result.values)
    close = np.isclose(found, expected, rtol=1e-8, atol=1e-12, equal_nan=True)
    if not close.all():
        k = np.argmin(close)
        raise VerificationError(
            f"betweenness: vertex number {k} has {found[k]}, expected {expected[k]}"
        )


def every_edge(graph: Graph, *, weighted: bool) -> tuple[Array, Array, Array]:
    """Every edge in each direction that it leads, loops left out: both ends and a weight."""
    column = graph.weight if weighted else None
    none: Array = np.empty(0, np.uint32)
    parts = [(none, none, np.empty(0)), *weighed_edges(graph, column)]
    src, dst, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
    keep = src != dst
    return src[keep], dst[keep], weight[keep]


def push_paths(
    n: int, source: int, src: Array, dst: Array, weight: Array
) -> tuple[Array, Array, Array]:
    """Distances, path counts and dependencies of one source."""
    distances = np.full(n, np.inf)
    distances[source] = 0
    while True:
        longer = distances[src] + weight
        if not (longer < distances[dst]).any():
            break
        np.minimum.at(distances, dst, longer)
    tight = (longer == distances[dst]) & np.isfinite(longer)
    src, dst = src[tight], dst[tight]
    order = np.argsort(distances[src], kind="stable")
    src, dst = src[order], dst[order]
    cuts = np.flatnonzero(np.diff(distances[src])) + 1
    groups = np.split(np.arange(len(src)), cuts)
    paths, dependency = np.zeros(n), np.zeros(n)
    paths[source] = 1
    for group in groups:
        np.add.at(paths, dst[group], paths[src[group]])
    for group in reversed(groups):
        u, v = src[group], dst[group]
        np.add.at(dependency, u, paths[u] / paths[v] * (1 + dependency[v]))
    return distances, paths, dependency


@algorithm(requirements=_requirements, verify=verify)
def betweenness(
    task: Task,
    k: int | None = None,
    normalized: bool = True,
    weight: bool = False,
    endpoints: bool = False,
    seed: int = 0,
    sources: Vertices = None,
) -> Result:
    """Betweenness centrality: how many of the shortest paths go through each vertex.

    Exact from all sources, or an estimate from some. NetworkX's ``betweenness_centrality``.

    Parameters
    ----------
    graph
        Directed or not, with the lists of both directions.
    k
        How many sources to take, at random; None: all, which is exact.
    normalized
        Divide by the number of pairs, so that values are between 0 and 1.
    weight
        Whether paths are as long as the sum of their edges' weights; otherwise every edge counts 1.
    endpoints
        Whether a path counts for its two ends, too.
    seed
        Which sources ``k`` takes.
    sources
        The ids of the sources, instead of ``k``.

    Semantics
    ---------
    direction
        Paths follow the edges of a directed graph; an undirected pair of vertices counts once.
    duplicates
        Kept duplicates are paths of their own.
    loops
        Play no part.
    isolates
        0.
    values
        As NetworkX scales them: normalized by (n-1)(n-2) pairs, or by n(n-1) with endpoints; not
        normalized, estimates are scaled up to all sources. A sampled source is scaled by one source
        less, because no path that begins at a vertex counts for it; NaN if it is the only one.
    tolerance
        Path counts and sums are float64: exact up to 2**53 paths, then to 16 digits. With ``k``,
        values are estimates, whose standard error falls with ``sqrt(k)``.
    ties
        All shortest paths count, in equal shares. By weight, paths are equally long if their sums
        are equal as float64.
    passes
        About 5 a source on R-MAT graphs; by weight about 30.

    Examples
    --------
    >>> import penstock as ps
    >>> path = ps.from_edges([0, 1], [1, 2], directed=False)
    >>> ps.betweenness(path).values.tolist()
    [0.0, 1.0, 0.0]
    """
    graph = task.graph
    chosen, some = choose_sources(graph, k, seed, sources)
    weighted = weight and graph.weighted
    with task.open() as engine:
        totals = _add_up(engine, chosen, weighted=weighted, endpoints=endpoints)
    scale_sums(graph, totals, chosen, some=some, normalized=normalized, endpoints=endpoints)
    return task.result("betweenness", totals, more={"sources": len(chosen)})

"""Edge betweenness centrality: how many of the shortest paths go along each edge.

Returns a table of edges with float64 values: for an edge the sum, over pairs s, t, of the share of
the shortest paths from s to t that go along it; from all sources s or from some.

Method: Brandes, as for vertices (see ``_brandes``). An edge from u to v that is on shortest paths
from a source carries ``paths[u] * share[v]``; one more scan for each source adds that to an array
in the order of the stored edges. An undirected edge is added to where it stands in the list of its
smaller vertex number.

Trade-off: 8 bytes for each stored edge in memory besides the state of the vertices.

Repeating: a source may be repeated once the totals are again those before it.

Brandes: "On variants of shortest-path betweenness centrality and their generic computation", Social
Networks 2008. Girvan, Newman: "Community structure in social and biological networks", PNAS 2002.
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
from penstock.algorithms._brandes_whole import WHOLE_SOURCES, chunk_sums, fold
from penstock.algorithms.betweenness import every_edge, push_paths
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.counts import Counts, Selected
from penstock.engine.edge_rows import stored_edges
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.result_edges import EDGE_BYTES, edge_table
from penstock.errors import VerificationError
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.types import U32, Array


def _requirements(
    counts: Counts,
    k: int | None,
    normalized: bool,
    weight: bool,
    seed: int,
    sources: Selected | None,
) -> list[Needs]:
    return sweep_needs(counts, k, sources, weight=weight, edge_bytes=8, row_bytes=8 + EDGE_BYTES)


def _add_up(engine: Engine, sources: U32, *, weighted: bool) -> F64:
    """What all sources together send along each stored edge."""
    graph = engine.graph
    totals: F64 = engine.array(
        "values of edges", np.float64, 0, length=engine.counts.of("out").num_edges
    )
    whole = engine.way == WHOLE_SOURCES
    sweeps = None if whole else Sweeps(engine, weighted=weighted)

    def step(left: U32) -> tuple[int, dict[str, Any]]:
        if sweeps is None:
            count, parts = chunk_sums(engine, left, of_edges=True, extra=0.0)
            for part in parts:
                np.add(totals, part, out=totals)
            return count, {"sources": count}
        rounds = sweeps.run(left[0], _ignore)
        engine.scan(
            _add_weighted if weighted else _add, rounds.distances, sweeps.paths, sweeps.share,
            not graph.directed, edge_values=totals,
        )  # fmt: skip
        return 1, {"rounds": len(rounds), "active": len(rounds.vertices)}

    identity = {"algorithm": "edge_betweenness", "weighted": weighted, "whole": whole}
    add_up(engine, totals, sources, step, **identity)
    return fold(engine, totals) if whole and not graph.directed else totals


def _ignore(vertices: U32, sums: F64) -> None:
    """The vertices' own values are not wanted."""


@kernel
def _add(block, begin, end, totals, levels, paths, share, once):  # type: ignore[no-untyped-def]
    """Add what goes along each edge, one way or, of edges that are looked at ``once``, either."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    for u in range(np.uint64(begin), np.uint64(end)):
        if levels[u] < 0:
            continue
        for edge in range(np.uint64(offsets[u - first]), np.uint64(offsets[u - first + one])):
            v = np.uint64(neighbours[edge])
            if once and v <= u:
                continue
            if levels[v] == levels[u] + 1:
                totals[edge] += paths[u] * share[v]
            elif once and levels[v] + 1 == levels[u]:
                totals[edge] += paths[v] * share[u]


@kernel
def _add_weighted(block, begin, end, totals, distances, paths, share, once):  # type: ignore[no-untyped-def]
    """The same along edges that are tight."""
    offsets, neighbours, weights = block.offsets, block.neighbours, block.columns[0]
    first, one = np.uint64(block.first), np.uint64(1)
    for u in range(np.uint64(begin), np.uint64(end)):
        if distances[u] == np.inf:
            continue
        for edge in range(np.uint64(offsets[u - first]), np.uint64(offsets[u - first + one])):
            v = np.uint64(neighbours[edge])
            if v == u or (once and v < u) or distances[v] == np.inf:
                continue
            if distances[u] + weights[edge] == distances[v]:
                totals[edge] += paths[u] * share[v]
            elif once and distances[v] + weights[edge] == distances[u]:
                totals[edge] += paths[v] * share[u]


def _table(engine: Engine, totals: F64) -> tuple[U32, U32, F64]:
    """Edges and what belongs to them, which is moved to the beginning of ``totals``."""
    count, none = 0, np.empty(0, np.uint32)
    ends: list[tuple[U32, U32]] = [(none, none)]
    for src, dst, values in stored_edges(engine, totals):
        ends.append((src, dst))
        totals[count : count + len(values)] = values
        count += len(values)
    src, dst = (np.concatenate(each) for each in zip(*ends, strict=True))
    return src, dst, totals[:count]


def verify(graph: Graph, result: Result) -> None:
    """Once more with edges in no order: every source pushes its paths along arrays of all edges."""
    given = result.stats["parameters"]
    sources, _ = choose_sources(graph, given["k"], given["seed"], given["sources"])
    n, ids = graph.num_vertices, graph.ids_by_vid()
    src, dst, weight = every_edge(graph, weighted=given["weight"])
    carried = np.zeros(len(src))
    for source in sources:
        distances, paths, dependency = push_paths(n, source, src, dst, weight)
        tight = np.isfinite(distances[src]) & (distances[src] + weight == distances[dst])
        u, v = src[tight], dst[tight]
        carried[tight] += paths[u] / paths[v] * (1 + dependency[v])
    carried *= scale_of(graph, len(sources), normalized=given["normalized"], endpoints=True)
    expected: dict[tuple[object, object], float] = {}
    for key, value in zip(_names(graph, ids[src], ids[dst]), carried.tolist(), strict=True):
        expected[key] = expected.get(key, 0.0) + value
    found: dict[tuple[object, object], float] = {}
    for key, value in zip(_names(graph, result.src, result.dst), result.values, strict=True):
        found[key] = found.get(key, 0.0) + float(value)
    loops = {key for key in found if key[0] == key[1] and found[key] == 0}
    if found.keys() - loops != expected.keys():
        raise VerificationError("edge_betweenness: the edges are not those of the graph")
    for key, value in expected.items():
        if not np.isclose(found[key], value, rtol=1e-8, atol=1e-12):
            raise VerificationError(
                f"edge_betweenness: {key[0]} - {key[1]} has {found[key]}, expected {value}"
            )


def _names(graph: Graph, src: Array, dst: Array) -> list[tuple[object, object]]:
    pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
    return pairs if graph.directed else [(min(pair), max(pair)) for pair in pairs]


@algorithm(requirements=_requirements, verify=verify, finds_edges=True)
def edge_betweenness(
    task: Task,
    k: int | None = None,
    normalized: bool = True,
    weight: bool = False,
    seed: int = 0,
    sources: Vertices = None,
) -> Result:
    """Edge betweenness centrality: how many of the shortest paths go along each edge.

    A table of ``src``, ``dst`` and the values, in ascending order of ids; ``edges`` is the same.
    Exact from all sources, or an estimate from some. NetworkX's ``edge_betweenness_centrality``.

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
    seed
        Which sources ``k`` takes.
    sources
        The ids of the sources, instead of ``k``.

    Semantics
    ---------
    direction
        Paths follow the edges of a directed graph. An undirected edge is one row, from the smaller
        id to the larger, for paths either way; an undirected pair of vertices counts once.
    duplicates
        Kept duplicates are edges, and paths, of their own.
    loops
        0.
    isolates
        Have no rows.
    values
        As NetworkX scales them: normalized by n(n-1) pairs; not normalized, estimates are scaled
        up to all sources.
    tolerance
        Path counts and sums are float64.
    ties
        All shortest paths count, in equal shares.
    passes
        About 6 a source on R-MAT graphs; by weight about 30. 8 bytes for each stored edge.

    Examples
    --------
    >>> import penstock as ps
    >>> path = ps.from_edges([0, 1], [1, 2], directed=False)
    >>> ps.edge_betweenness(path, normalized=False).values.tolist()
    [2.0, 2.0]
    """
    graph = task.graph
    chosen, _ = choose_sources(graph, k, seed, sources)
    weighted = weight and graph.weighted
    with task.open() as engine:
        totals = _add_up(engine, chosen, weighted=weighted)
    totals *= scale_of(graph, len(chosen), normalized=normalized, endpoints=True)
    src, dst, values = _table(engine, totals)
    return edge_table(
        graph, src, dst, {"betweenness": values}, name="betweenness",
        stats=task.stats(sources=len(chosen)), iterations=engine.metrics.rows,
    )  # fmt: skip

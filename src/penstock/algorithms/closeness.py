"""Closeness centrality: how near the others are to each vertex.

Returns float64. With c the number of other vertices that reach v and D the sum of their distances
to v, the closeness of v is c / D, times c / (n - 1) if ``wf_improved``; 0 if none reaches it.

With k, only the distances from k vertices, the *pivots*, are known. Then c counts pivots other than
v that reach v, D is the sum of their distances, and n - 1 is replaced by k', the number of pivots
other than v: c / D estimates the reciprocal of the mean distance from what reaches v, as Eppstein
and Wang do, and c / k' the share of the vertices that reach it. In their words the sum of all
distances is estimated as (n - 1) / k' times D and the number that reach as (n - 1) / k' times c;
they have n / k where this has (n - 1) / k', which never gives a share above 1 and is exact with all
vertices as pivots. The error of the mean distance is about diameter * sqrt(log(n) / k), with high
probability.

Method: distances go from sources to all vertices and are added up there, so that exact closeness,
with all vertices as sources, and the estimate are the same thing. Without weights many
breadth-first searches go on at once (see ``_multi_source``); distances are added up as int64. With
weights there is one search by distance for each source, and distances are added up as float64 in
ascending order of sources. Both are the same bits whatever the number of threads.

Trade-off: the topology passes once for each level of a batch of sources. A batch has 64 sources, or
as many times 64 as caches hold, on a stream as memory has room for (24 bytes a vertex each time).

Repeating: a batch may be repeated once sums and counts are again those before it.

Eppstein, Wang: "Fast approximation of centrality", J. Graph Algorithms and Applications 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.algorithms._multi_source import BITS, MORE_BYTES, PLANE_BYTES, Searches
from penstock.algorithms._sources import all_or_some, check_k
from penstock.algorithms._sssp_steps import shortest_distances
from penstock.algorithms._vids import by_vid
from penstock.algorithms._weights import weighed_edges
from penstock.algorithms.sssp import STATE_BYTES as SSSP_BYTES
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs, Room
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.errors import VerificationError
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.store.mapped import iter_parts
from penstock.types import U32, VID, Array

#: Sums and counts.
SUM_BYTES = 12
#: Pages that a batch reads, over all pages of R-MAT graphs; those that a search by weight reads.
BATCH_PASSES, WEIGHTED_PASSES = 4.0, 4.5
#: More planes than this are not worth their memory.
MOST_PLANES = 64
#: Words of all planes, in memory: more do not stay in caches.
CACHED_WORDS = 1 << 20
#: Vertices whose value is worked out again by the verifier.
VERIFIED = 4
#: Edges that the verifier keeps in memory.
KEPT_EDGES = 1 << 22


def verify(graph: Graph, result: Result) -> None:
    """The distances to a few vertices, by relaxing all edges again and again, give their values;
    and vertices that have no in-edge, or if all are pivots just those, have the value 0.
    """
    given = result.stats["parameters"]
    values = by_vid(graph, result.values)
    n, names = graph.num_vertices, graph.ids_by_vid()
    pivots = all_or_some(graph, given["k"], given["seed"])
    weighted = bool(given["weight"])
    column = graph.weight if weighted else None
    reached = np.zeros(n, bool)
    for u, v, length in weighed_edges(graph, column):
        reached[v[(u != v) & (length > 0) & (length < np.inf)]] = True
    wrong = np.flatnonzero(~(values >= 0) | (values == np.inf))
    if not weighted:
        wrong = np.flatnonzero(
            ~((values >= 0) & (values <= 1)) | ((values > 0) & ~reached)
            | ((values == 0) & reached & (len(pivots) == n))
        )  # fmt: skip
    if len(wrong):
        k = wrong[0]
        raise VerificationError(
            f"closeness: {names[k]} has the value {values[k]}, and "
            f"{'an edge leads' if reached[k] else 'no edge leads'} to it"
        )
    chosen = np.random.default_rng(n).choice(n, min(VERIFIED, n), replace=False)
    targets = sorted({*chosen.tolist(), *np.argsort(values)[-1:].tolist()})
    found = _distances_to(graph, targets, column)
    for target, inward in zip(targets, found, strict=True):
        distances = inward[pivots[pivots != target]]
        near = distances[distances < np.inf]
        total = near.sum()
        right = 0.0 if total == 0 else len(near) / total
        if given["wf_improved"] and total > 0:
            right *= len(near) / len(distances)
        if not np.isclose(values[target], right, rtol=1e-9, atol=0):
            raise VerificationError(
                f"closeness: {names[target]} has the value {values[target]}; {len(near):,} "
                f"reach it at a mean distance of {total / max(len(near), 1)}, which gives {right}"
            )


def _distances_to(graph: Graph, targets: list[int], column: str | None) -> Array:
    """The distance of each vertex to each of some, a row for each of those."""
    distances = np.full((len(targets), graph.num_vertices), np.inf)
    distances[np.arange(len(targets)), targets] = 0
    fresh = distances == 0
    kept = None
    if graph.num_edges <= KEPT_EDGES:
        parts = zip(*weighed_edges(graph, column), strict=True)
        kept = [tuple(np.concatenate(each) for each in parts)] if graph.num_edges else []
    while fresh.any():
        before = distances.copy()
        for u, v, length in weighed_edges(graph, column) if kept is None else kept:
            for row, new in zip(distances, fresh, strict=True):
                some = new[v]
                np.minimum.at(row, u[some], row[v[some]] + length[some])
        fresh = distances < before
    return distances


def _that_lead_on(graph: Graph, pivots: U32) -> U32:
    """Those pivots that have out-edges; others reach nobody."""
    if graph.directed and "out" not in graph.directions:
        return pivots
    parts = [pivots[:0]]
    for begin, degrees in iter_parts(graph.degrees("out")):
        low, high = np.searchsorted(pivots, [begin, begin + len(degrees)])
        mine = pivots[low:high]
        parts.append(mine[degrees[mine - VID.type(begin)] > 0])
    return np.concatenate(parts)


def _by_levels(engine: Engine, sources: U32, planes: int, identity: Mapping[str, Any]) -> Any:
    """Sums of levels, and counts of sources, for each vertex."""
    sums: Array = engine.array("sums", np.int64, 0)
    counts: U32 = engine.array("counts", np.uint32, 0)
    searches = Searches(engine, planes)
    saved_arrays = {"sums": sums, "counts": counts}
    with Recovery(engine, identity) as recovery:
        saved = recovery.resume(saved_arrays)
        done, begin = 0, 0
        if saved is not None:
            done, begin = saved[0], saved[1].whole("sources", 0, len(sources))
        batches = range(begin, len(sources), searches.at_once)
        engine.options.progress.start("batches", len(batches), "batches")
        for step, low in enumerate(batches, done + 1):
            batch = sources[low : low + searches.at_once]
            with engine.step(sources=len(batch)) as row:
                row["levels"] = searches.add(batch, sums, counts)
            recovery.after(step, saved_arrays, {"sources": low + len(batch)})
    searches.free()
    return sums, counts


def _by_weight(engine: Engine, sources: U32, identity: Mapping[str, Any]) -> Any:
    """Sums of distances, and counts of sources, for each vertex."""
    sums: Array = engine.array("sums", np.float64, 0)
    counts: U32 = engine.array("counts", np.uint32, 0)
    saved_arrays = {"sums": sums, "counts": counts}
    with Recovery(engine, identity) as recovery:
        saved = recovery.resume(saved_arrays)
        begin = 0 if saved is None else saved[0]
        engine.options.progress.start("sources", len(sources) - begin, "sources")
        for done, source in enumerate(sources[begin:].tolist(), begin + 1):
            with engine.step(sources=1):
                with engine.within_step():
                    distances = shortest_distances(engine, source)
                engine.map_ranges(_add, distances, sums, counts, np.uint64(source))
                del distances
            recovery.after(done, saved_arrays, {})
    return sums, counts


def _values(sums: Array, counts: U32, pivots: U32, *, wf_improved: bool) -> Array:
    """Closeness of each vertex from the sums and counts of its distances from pivots."""
    found = np.zeros(len(sums))
    everyone = len(pivots) == len(sums)
    _divide(sums, counts, len(pivots) - everyone, wf_improved, found)
    if not everyone:  # to a pivot, the others are one less
        own = np.zeros(len(pivots))
        _divide(sums[pivots], counts[pivots], len(pivots) - 1, wf_improved, own)
        found[pivots] = own
    return found


def _requirements(
    counts: Counts, k: int | None, seed: int, wf_improved: bool, weight: bool
) -> list[Needs]:
    check_k(counts, k)
    count = counts.num_vertices if k is None else k
    if weight and counts.weight is not None:
        memory = Needs(
            ("out",), 3.0 * count, (counts.weight,), vertex_bytes=SSSP_BYTES + SUM_BYTES,
            more_bytes=8 * count, forms=("memory",), work=2.0,
        )  # fmt: skip
        return [memory, replace(memory, passes=WEIGHTED_PASSES * count, forms=("stream",))]
    # As many planes as memory allows if the lists have to stream, else as caches hold.
    n, most = counts.num_vertices, min(-(-count // BITS), MOST_PLANES)
    cached = max(min(CACHED_WORDS // max(n, 1), most), 1)
    memory = Needs(
        counts.directions, 1.3 * -(-count // (BITS * cached)),
        vertex_bytes=PLANE_BYTES + SUM_BYTES + MORE_BYTES, more_bytes=8 * count,
        room=Room(0, PLANE_BYTES * n * (cached - 1)), forms=("memory",), gathered_bytes=8,
    )  # fmt: skip
    stream = replace(
        memory, passes=BATCH_PASSES * -(-count // BITS),
        room=Room(0, PLANE_BYTES * n * max(most - 1, 0)), forms=("stream",),
    )  # fmt: skip
    return [memory, stream]


@algorithm(requirements=_requirements, verify=verify)
def closeness(
    task: Task,
    k: int | None = None,
    seed: int = 0,
    wf_improved: bool = True,
    weight: bool = False,
) -> Result:
    """Closeness centrality: the reciprocal of the mean distance from the others.

    The values are those of NetworkX's ``closeness_centrality``, or estimates of them from some
    vertices.

    Parameters
    ----------
    graph
        Directed or not.
    k
        Estimate from the distances of so many vertices, chosen at random; None is exact.
    seed
        Chooses those vertices.
    wf_improved
        Multiply by the share of the other vertices that reach this one (Wasserman and Faust), so
        that vertices of small components do not come out on top.
    weight
        Distances are sums of weights, which must be 0 or more; otherwise they count edges.

    Semantics
    ---------
    direction
        Distances are inward, from the others to the vertex, along the edges' directions.
    duplicates
        Count once; with weights the lightest counts.
    loops
        Do not matter.
    isolates
        Get 0.
    values
        From 0 to 1 if edges are counted, any number of 0 or more by weight. Vertices that do not
        reach this one are left out of the mean; if none does it is 0, and so it is if all distances
        are 0.
    tolerance
        Exact without k (the default) but for rounding. With k, mean distances are off by about the
        diameter times sqrt(log(n) / k): choose k for the size of the graph.
    passes
        About 4 for each 64 sources on R-MAT graphs, at most as many as levels; for more sources at
        once if memory has 24 bytes a vertex for each 64. By weight, about 4 for each source.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.closeness(ps.from_edges([0, 1, 1], [1, 2, 3], directed=False)).values.tolist()
    [0.6, 1.0, 0.6, 0.6]
    """
    graph = task.graph
    pivots = all_or_some(graph, k, seed)
    sources = _that_lead_on(graph, pivots)
    weighted = weight and graph.weight is not None
    identity = {"algorithm": "closeness", "k": k, "seed": seed, "weight": weighted}
    with task.open() as engine:
        planes = 1 + engine.room // max(PLANE_BYTES * graph.num_vertices, 1)
        planes = max(min(planes, -(-len(sources) // BITS)), 1)
        if weighted:
            sums, counts = _by_weight(engine, sources, identity)
        else:
            sums, counts = _by_levels(engine, sources, planes, identity)
        values = _values(sums, counts, pivots, wf_improved=wf_improved)
    return task.result(
        "closeness",
        values,
        more={"pivots": len(pivots), "at_once": 1 if weighted else BITS * planes},
    )


@kernel
def _add(begin, end, distances, sums, counts, source):  # type: ignore[no-untyped-def]
    """Add the distances of vertices that are reached, other than the source."""
    for v in range(np.uint64(begin), np.uint64(end)):
        if distances[v] < np.inf and v != source:
            sums[v] += distances[v]
            counts[v] += np.uint32(1)


@kernel
def _divide(sums, counts, others, wf_improved, found):  # type: ignore[no-untyped-def]
    """Closeness where ``others`` is the number of pivots that could be counted."""
    for v in range(np.uint64(len(sums))):
        found[v] = 0.0
        if sums[v] > 0:
            found[v] = np.float64(counts[v]) / np.float64(sums[v])
            if wf_improved:
                found[v] *= np.float64(counts[v]) / np.float64(others)

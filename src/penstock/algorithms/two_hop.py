"""Two-hop neighbourhoods: of some vertices, row by row; or how large those of all vertices are.

Returns a row for each vertex within two edges of those given, with its distance (int32) and
``paths`` (int64), the number of paths of two edges that lead there. Without a vertex, returns for
every vertex how many others are within two edges (int64).

Method: for some, the lists of the sources are read and how many edges lead to each neighbour is
counted; then the lists of those neighbours, whose edges count as often as edges led to them.
For all, bit sets of a range of vertices at a time, see ``_two_hop``.

Trade-off: sizes are exact, and take time in proportion to the number of paths of two edges (a word
of 32 bits, where parts of lists are thick), not to that of edges. Nothing is written to disk; what
does not fit memory takes two more passes for each range instead. ``radius`` and its small counters
estimate how many vertices are near in a few passes.

State: for some, ``links`` (uint32), the edges from sources to a vertex, and ``paths`` (int64). For
all, ``sizes`` (int64) of the ranges so far, and of each vertex what ``_two_hop`` needs to find the
part of its list in a range.

Repeating: the links may be taken up again as they are after the first step, and the sizes after a
range, with ranges of another width.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms import _two_hop_kernels as kernels
from penstock.algorithms._levels import I32
from penstock.algorithms._levels_check import check_levels
from penstock.algorithms._sources import check_selected, source_identity, sources_of
from penstock.algorithms._subgraph import (
    FEW,
    INDEX_BYTES,
    ROW_BYTES,
    rows_around,
    take_rows,
)
from penstock.algorithms._subgraph_check import row_vids
from penstock.algorithms._two_hop import Sizes, size_needs
from penstock.algorithms._vids import by_vid
from penstock.arrays import distinct
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.counts import Counts, Selected
from penstock.engine.engine import Engine
from penstock.engine.frontier import streamed_bytes
from penstock.engine.needs import Needs
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.engine.vertices import vids_of
from penstock.errors import VerificationError
from penstock.store.graph import Graph
from penstock.types import I64, U32, Array

#: Vertices whose neighbourhood is found again by the verifier.
VERIFIED = 8
#: Bytes of the paths of a row, as they are found and in order.
PATH_BYTES = 16


def verify(graph: Graph, result: Result) -> None:
    """By looking at all edges: distances and paths of rows; of sizes, their total and largest, and
    those of a few vertices.
    """
    given = result.stats["parameters"]["v"]
    if given is None:
        _verify_sizes(graph, result)
    else:
        _verify_rows(graph, result, vids_of(graph, given, "v"))


def _verify_rows(graph: Graph, result: Result, sources: U32) -> None:
    vids = row_vids(graph, "two_hop", result)
    levels: I32 = np.full(graph.num_vertices, -1, np.int32)
    levels[vids] = result.values
    check_levels(graph, "two_hop", levels, sources, 2)
    links, paths = (np.zeros(graph.num_vertices, np.int64) for _ in range(2))
    links_before = np.zeros(graph.num_vertices, np.int64)
    links_before[sources] = 1
    for before, after in ((links_before, links), (links, paths)):
        for src, dst, _ in graph.iter_edges():
            for u, v in _ways(graph, src, dst):
                some = (before[u] > 0) & (u != v)
                np.add.at(after, v[some], before[u[some]])
    wrong = np.flatnonzero(paths[vids] != result.paths)
    if len(wrong):
        k = wrong[0]
        raise VerificationError(
            f"two_hop: {result.paths[k]:,} paths of two edges lead to {result.ids[k]}, expected "
            f"{paths[vids[k]]:,}"
        )


def _verify_sizes(graph: Graph, result: Result) -> None:
    sizes, n, names = by_vid(graph, result.values), graph.num_vertices, graph.ids_by_vid()
    found = (int(sizes.sum()), int(sizes.max(initial=0)))
    said = (result.stats["total"], result.stats["largest"])
    if found != said or (sizes < 0).any():
        raise VerificationError(
            f"two_hop: the sizes add up to {found[0]:,} and the largest is {found[1]:,}, but the "
            f"stats have {said[0]:,} and {said[1]:,}; or some are below 0"
        )
    chosen = np.random.default_rng(n).choice(n, min(VERIFIED, n), replace=False).tolist()
    vertices = sorted({*chosen, *np.argsort(sizes)[-1:].tolist()})
    near = np.zeros((len(vertices), n), bool)
    near[np.arange(len(vertices)), vertices] = True
    for _ in range(2):
        before = near.copy()
        for src, dst, _ in graph.iter_edges():
            for u, v in _ways(graph, src, dst):
                for old, new in zip(before, near, strict=True):
                    new[v[old[u]]] = True
    for v, count in zip(vertices, np.count_nonzero(near, axis=1) - 1, strict=True):
        if sizes[v] != count:
            raise VerificationError(
                f"two_hop: {names[v]} has {sizes[v]:,} vertices within two edges, expected "
                f"{count:,}"
            )


def _ways(graph: Graph, src: Array, dst: Array) -> tuple[tuple[Array, Array], ...]:
    """The ends of edges in the directions that they can be followed in, a loop once."""
    if graph.directed:
        return ((src, dst),)
    other = src != dst
    return ((src, dst), (dst[other], src[other]))


def _requirements(counts: Counts, v: Selected | None) -> list[Needs]:
    if v is None:
        return size_needs(counts)
    check_selected(v, "v")
    rows = (ROW_BYTES + PATH_BYTES) * rows_around(counts, v, 2)
    return [
        Needs(
            ("out",), 2.0,
            vertex_bytes=4 + 8 + INDEX_BYTES, more_bytes=max(streamed_bytes(counts), rows),
            only_loaded=True, gathered_bytes=8,
        )
    ]  # fmt: skip


@algorithm(requirements=_requirements, verify=verify)
def two_hop(task: Task, v: Vertices | None = None) -> Result:
    """The vertices within two edges of a vertex; or how many there are, for every vertex.

    With ``v``, the values are distances in edges, and ``paths`` of the result has the number of
    paths of two edges from the vertex: how many neighbours it has in common with each, if the graph
    is undirected. Without, the values are the numbers of other vertices within two edges;
    ``stats["total"]`` is their sum and ``stats["largest"]`` the largest.

    Parameters
    ----------
    graph
        Directed or not, with out-lists.
    v
        The id of a vertex, or several: the distance is then that from the nearest, and paths from
        all of them count. None for the sizes of the neighbourhoods of all vertices.

    Semantics
    ---------
    direction
        Edges of a directed graph are followed from source to target.
    duplicates
        Change no distance and no size. An edge that was kept several times makes as many paths.
    loops
        Change nothing: a loop is no step of a path.
    isolates
        Are found only if they are given; their size is 0.
    values
        Distances 0, 1 and 2, as those of ``k_hop``; ``paths`` are 0 where no two edges lead, and a
        path may lead back to where it began. Sizes are exact and do not count the vertex itself.
        Weights do not count.
    passes
        With ``v``, pages that hold lists of the vertices given, and then those of their neighbours.
        Without, 2 for each range of vertices whose in-edges fit memory (4 bytes an edge), of
        131,072 vertices at most, or more if lists are short; and 1 before if a directed graph is
        without in-lists.

    Examples
    --------
    >>> import penstock as ps
    >>> graph = ps.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], directed=False)
    >>> found = ps.two_hop(graph, 0)
    >>> found.ids.tolist(), found.values.tolist(), found.paths.tolist()
    ([0, 1, 2, 3], [0, 1, 1, 2], [2, 0, 0, 2])
    >>> sizes = ps.two_hop(graph)
    >>> sizes.values.tolist(), sizes.stats["total"]
    ([3, 4, 4, 4, 3], 18)
    """
    if v is not None:
        return _rows(task, v)
    with task.open() as engine:
        sizes = Sizes(engine).run({"algorithm": "two_hop"})
    more = {"total": int(sizes.sum()), "largest": int(sizes.max(initial=0))}
    return task.result("two_hop", sizes, more=more)


def _rows(task: Task, given: Any) -> Result:
    """Rows for the vertices around some."""
    sources = sources_of(task, given, "v")
    with task.open() as engine:
        links: U32 = engine.array("links", np.uint32, 0)
        paths: I64 = engine.array("paths", np.int64, 0)
        vids = _search(engine, sources, links, paths)
        take_rows(engine, len(vids), ROW_BYTES + PATH_BYTES)
        distances: I32 = np.where(links[vids] > 0, 1, 2).astype(np.int32)
        distances[np.searchsorted(vids, sources)] = 0
        columns = {"paths": paths[vids]}
    return task.partial_result("distance", vids, distances, more={}, columns=columns)


def _search(engine: Engine, sources: U32, links: U32, paths: I64) -> U32:
    """Count links and paths; the vertices that have any, and the sources, ascending. While they
    are few, the others are not looked at.
    """
    few = engine.num_vertices // FEW
    identity = {"algorithm": "two_hop", **source_identity(sources)}
    engine.options.progress.start("hops", 2, "hops")
    with Recovery(engine, identity) as recovery:
        if recovery.resume({"links": links}) is None:
            with engine.step(active=len(sources)):
                middles = engine.traverse(sources, kernels.count_links, links)
            recovery.after(1, {"links": links}, {})
        else:
            middles = engine.select(kernels.near, links, links)
        with engine.step(active=len(middles)):
            ends = engine.traverse(middles, kernels.count_paths, links, paths, most=few)
    if len(middles) + len(ends) > few:
        ends = engine.select(kernels.near, links, paths)
    return distinct(np.concatenate([sources, middles, ends]))

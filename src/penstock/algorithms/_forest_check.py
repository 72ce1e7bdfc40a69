"""Whether a minimum spanning forest is one.

The forest's edges are joined one after the other in the order of edges (weight, then vertex
numbers), each time hanging the smaller tree under the larger and writing down when. Going up from
both ends of any other edge until they meet, which takes a logarithm of steps, shows the last edge
on the path between them: the other edge must not come before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from penstock.algorithms._vids import by_vid
from penstock.errors import VerificationError
from penstock.jit import kernel
from penstock.types import I64, U32, VID, Array

if TYPE_CHECKING:
    from penstock.engine.result import Result
    from penstock.store.graph import Graph

Edges = tuple[U32, U32, Array]


def verify(graph: Graph, result: Result) -> None:
    """The edges are edges of the graph, make no circle and join whatever is connected, and no edge
    that is left out comes before the last one on the path between its ends. This leaves one answer.
    """
    forest = _forest_of(graph, result)
    src, dst, weights = forest
    above, time = _hang(src, dst, graph.num_vertices)
    if len(above) < graph.num_vertices:
        raise VerificationError("minimum_spanning_forest: some of the edges make a circle")
    roots = above
    while (further := above[roots]).tobytes() != roots.tobytes():
        roots = further
    keys = _keys(graph, src, dst)
    in_order = np.argsort(keys)
    keys, missing = keys[in_order], np.ones(len(keys), bool)
    names = graph.ids_by_vid()
    for u, v, mine in _edges(graph):
        apart = np.flatnonzero(roots[u] != roots[v])
        if len(apart):
            k = apart[0]
            raise VerificationError(
                f"minimum_spanning_forest: the edge {names[u[k]]} - {names[v[k]]} joins two trees"
            )
        wanted = _keys(graph, u, v)
        near = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there = in_order[near]
        missing[there[(keys[near] == wanted) & (weights[there] == mine)]] = False
        last = _last_between(above, time, u, v)
        wrong = np.flatnonzero(_before((u, v, mine), (src[last], dst[last], weights[last])))
        if len(wrong):
            k, j = wrong[0], last[wrong[0]]
            raise VerificationError(
                f"minimum_spanning_forest: {names[u[k]]} - {names[v[k]]} ({mine[k]}) is left out, "
                f"but comes before {names[src[j]]} - {names[dst[j]]} ({weights[j]})"
            )
    if missing.any():
        k = np.argmax(missing)
        raise VerificationError(
            f"minimum_spanning_forest: {names[src[k]]} - {names[dst[k]]} ({weights[k]}) is not an "
            "edge of the graph"
        )
    _check_values(graph, result, roots, weights)


def _edges(graph: Graph) -> Iterator[Edges]:
    """Every edge of the graph with its weight, but no loops."""
    for src, dst, columns in graph.iter_edges():
        name = graph.weight
        weights = np.ones(len(src)) if name is None else columns[name]
        keep = src != dst
        if keep.any():
            yield src[keep], dst[keep], weights[keep]


def _forest_of(graph: Graph, result: Result) -> Edges:
    """The forest's edges in their order; of an undirected graph from the smaller vertex number."""
    table, order = result.edges, graph.vid_of_rank
    ranks = [np.searchsorted(graph.ids, each) for each in (table.ids, table.dst)]
    src, dst = (each if order is None else order[each] for each in ranks)
    if not graph.directed:
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    name = graph.weight
    weights = np.ones(len(src)) if name is None else getattr(table, name)
    first = np.lexsort((src > dst, np.maximum(src, dst), np.minimum(src, dst), weights))
    return src[first].astype(VID), dst[first].astype(VID), weights[first]


def _keys(graph: Graph, src: U32, dst: U32) -> Array:
    return src.astype(np.uint64) * np.uint64(graph.num_vertices) + dst


def _last_between(above: U32, time: I64, u: U32, v: U32) -> I64:
    """The time at which the trees of both vertices were joined."""
    last = np.full(len(u), -1)
    u, v = u.copy(), v.copy()
    while len(on := np.flatnonzero(u != v)):
        a, b = u[on], v[on]
        first = time[a] < time[b]
        last[on] = np.where(first, time[a], time[b])
        u[on], v[on] = np.where(first, above[a], a), np.where(first, b, above[b])
    return last


def _before(these: Edges, those: Edges) -> Array:
    """Whether edges come before others, one by one."""
    (u, v, weights), (other_u, other_v, other_weights) = these, those
    found = u < other_u
    for mine, others in (
        (np.maximum(u, v), np.maximum(other_u, other_v)),
        (np.minimum(u, v), np.minimum(other_u, other_v)),
        (weights, other_weights),
    ):
        found = (mine < others) | ((mine == others) & found)
    return found


def _check_values(graph: Graph, result: Result, roots: U32, weights: Array) -> None:
    """The values are the smallest id of each tree, and the sums are right."""
    n = graph.num_vertices
    ranks = by_vid(graph, np.arange(n))
    least = np.full(n, n)
    np.minimum.at(least, roots, ranks)
    wrong = np.flatnonzero(by_vid(graph, result.values) != graph.ids[least[roots]])
    if len(wrong):
        names, k = graph.ids_by_vid(), wrong[0]
        raise VerificationError(
            f"minimum_spanning_forest: vertex {names[k]} has the value {result[names[k]]}; the "
            f"smallest id of its tree is {graph.ids[least[roots[k]]]}"
        )
    with np.errstate(invalid="ignore"):
        total = weights.astype(np.float64).sum()
    stats = result.stats
    allowed = 1e-9 * float(np.abs(total)) + 1e-9
    close = stats["weight"] == total or not abs(stats["weight"] - total) > allowed
    if stats["edges"] != len(weights) or not close:
        raise VerificationError(
            f"minimum_spanning_forest: it has {len(weights):,} edges of {total} together, not "
            f"{stats['edges']:,} of {stats['weight']}"
        )


@kernel
def _hang(src, dst, num_vertices):  # type: ignore[no-untyped-def]
    """Join trees by edges one after the other: above what each vertex hangs, and since which edge
    (a root: never). Nothing if an edge joins nothing.
    """
    above = np.arange(num_vertices).astype(np.uint32)
    time = np.full(num_vertices, len(src))
    sizes = np.ones(num_vertices, np.int64)
    for i in range(len(src)):
        a, b = src[i], dst[i]
        while above[a] != a:
            a = above[a]
        while above[b] != b:
            b = above[b]
        if a == b:
            return above[:0], time
        if sizes[a] > sizes[b]:
            a, b = b, a
        above[a], time[a] = b, i
        sizes[b] += sizes[a]
    return above, time

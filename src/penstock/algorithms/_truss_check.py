"""Whether trussness is right: by all edges, without peeling level by level."""

from __future__ import annotations

import numpy as np

from penstock.arrays import distinct
from penstock.engine.result import Result
from penstock.errors import VerificationError
from penstock.jit import helper, kernel
from penstock.store.graph import Graph
from penstock.types import I64, U64, Array


def all_pairs(graph: Graph) -> U64:
    """Every edge that is not a loop, once, whatever its direction: the smaller vertex number times
    2 ** 32 plus the larger; ascending.
    """
    found: list[U64] = [np.empty(0, np.uint64)]
    for src, dst, _ in graph.iter_edges():
        found.append(_keys(src, dst)[src != dst])
    return distinct(np.concatenate(found))


def pairs_of(graph: Graph, name: str, result: Result) -> tuple[U64, Array]:
    """The edges of a result as such numbers, ascending, if they are in order; and their rows."""
    ends = []
    for ids in (result.edges.src, result.edges.dst):
        ranks = np.minimum(np.searchsorted(graph.ids, ids), max(graph.num_vertices - 1, 0))
        if len(ids) and (graph.num_vertices == 0 or (graph.ids[ranks] != ids).any()):
            raise VerificationError(f"{name}: some edges have ids that are not those of vertices")
        ends.append(ranks)
    if (ends[0] >= ends[1]).any():
        raise VerificationError(f"{name}: some edges are loops, or do not lead to the larger id")
    keys = _keys(*ends)
    if (keys[1:] <= keys[:-1]).any():
        raise VerificationError(f"{name}: the edges are not in order, or one is there twice")
    if graph.vid_of_rank is not None:
        keys = _keys(*(graph.vid_of_rank[ranks] for ranks in ends))
    order = np.argsort(keys)
    return keys[order], order


def _keys(a: Array, b: Array) -> U64:
    smaller, larger = (each(a, b).astype(np.uint64) for each in (np.minimum, np.maximum))
    keys: U64 = smaller << np.uint64(32) | larger
    return keys


def ends_of(keys: U64) -> tuple[I64, I64]:
    """The vertex numbers of both ends."""
    return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _named(graph: Graph, u: int, v: int) -> str:
    ids = graph.ids_by_vid()
    return " - ".join(map(str, sorted((ids[u], ids[v]))))


def check_trussness(
    graph: Graph, name: str, keys: U64, trussness: I64, upper: Array, lower: Array
) -> None:
    """Raise unless the trussness of all edges of a graph is right: of ``upper`` ones not too large,
    of ``lower`` ones not too small. Where both are all edges, this is a proof.

    An edge must be in at least t - 2 triangles of edges whose trussness is no smaller than its own,
    t: then edges of k or more are a part of the k-truss, for every k, and none is too large. And
    of edges of the same trussness t take those away, one after another, that are in no more than
    t - 2 triangles of edges of a larger one and of such that are not taken away: if one is in a
    truss of a larger number, the first of that truss to go would have been in more. So if all go,
    none is too small.
    """
    src, dst = ends_of(keys)
    edges = np.arange(len(keys))
    begin, end, edge = (np.concatenate(each) for each in ((src, dst), (dst, src), (edges, edges)))
    order = np.lexsort((end, begin))
    offsets = np.searchsorted(begin[order], np.arange(graph.num_vertices + 1))
    lists = (offsets, end[order], edge[order], src, dst)
    counts: I64 = np.zeros(len(keys), np.int64)
    _count(*lists, trussness, counts)
    wrong = np.flatnonzero(upper & (counts < trussness - 2))
    if len(wrong):
        e = wrong[0]
        raise VerificationError(
            f"{name}: edge {_named(graph, src[e], dst[e])} of trussness {trussness[e]} is in "
            f"{counts[e]} triangles of edges of at least that trussness"
        )
    stays = np.flatnonzero(lower & ~_take_away(*lists, trussness, counts))
    if len(stays):
        e = stays[0]
        raise VerificationError(
            f"{name}: edge {_named(graph, src[e], dst[e])} is in a truss of a larger number than "
            f"{trussness[e]}"
        )


@kernel
def _count(offsets, neighbours, edges, src, dst, trussness, counts):  # type: ignore[no-untyped-def]
    """For each edge, the triangles of edges of at least its trussness: the neighbours of the end
    that has more are marked with their edges, those of the other end looked up.
    """
    marks = np.full(len(offsets), -1)
    for a in range(len(offsets) - 1):
        size = offsets[a + 1] - offsets[a]
        for i in range(offsets[a], offsets[a + 1]):
            marks[neighbours[i]] = edges[i]
        for i in range(offsets[a], offsets[a + 1]):
            b, e = neighbours[i], edges[i]
            others = offsets[b + 1] - offsets[b]
            if others > size or (others == size and b > a):
                continue
            for j in range(offsets[b], offsets[b + 1]):
                f = marks[neighbours[j]]
                if f >= 0 and min(trussness[f], trussness[edges[j]]) >= trussness[e]:
                    counts[e] += 1
        for i in range(offsets[a], offsets[a + 1]):
            marks[neighbours[i]] = -1


@helper
def _edge_to(offsets, neighbours, edges, a, c):  # type: ignore[no-untyped-def]
    """The edge between two vertices; -1 if there is none."""
    low, high = offsets[a], offsets[a + 1]
    while low < high:
        middle = (low + high) // 2
        if neighbours[middle] < c:
            low = middle + 1
        else:
            high = middle
    return edges[low] if low < offsets[a + 1] and neighbours[low] == c else -1


@kernel
def _take_away(offsets, neighbours, edges, src, dst, trussness, counts):  # type: ignore[no-untyped-def]
    """Take edges away that are in no more triangles than their trussness asks for; which went.

    ``counts`` has, for an edge that is there, the triangles of edges of a larger trussness, and of
    such of its own that are there: so when as many are seen, there are no more of them.
    """
    waits = counts <= trussness - 2
    waiting = [np.int64(e) for e in np.flatnonzero(waits)]
    gone = np.zeros(len(src), np.bool_)
    while len(waiting) > 0:
        e = waiting.pop()
        level, a, b = trussness[e], src[e], dst[e]
        if offsets[a + 1] - offsets[a] < offsets[b + 1] - offsets[b]:
            a, b = b, a
        i, unseen = offsets[b], counts[e]
        while unseen > 0:
            c, f = neighbours[i], edges[i]
            i += 1
            if c == a or trussness[f] < level or (gone[f] and trussness[f] == level):
                continue
            g = _edge_to(offsets, neighbours, edges, a, c)
            if g < 0 or trussness[g] < level or (gone[g] and trussness[g] == level):
                continue
            unseen -= 1
            for other in (f, g):
                if trussness[other] == level:
                    counts[other] -= 1
                    if counts[other] <= level - 2 and not waits[other]:
                        waits[other] = True
                        waiting.append(other)
        gone[e] = True
    return gone

"""Whether the result of an algorithm that finds a part of a graph is right: by all edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.engine.result import Result
from penstock.errors import VerificationError
from penstock.store.graph import Graph
from penstock.types import U8, U32, VID, Array

#: Whether edges (vertex numbers of both ends) belong to the part.
Wanted = Callable[[U32, U32], Array]


def marked(graph: Graph, vids: Array) -> U8:
    """1 for some vertices, 0 for the others."""
    marks: U8 = np.zeros(graph.num_vertices, np.uint8)
    marks[vids] = 1
    return marks


def row_vids(graph: Graph, name: str, result: Result) -> U32:
    """The vertex number of each row."""
    ranks = _ranks(graph, name, result.ids)
    if (ranks[1:] <= ranks[:-1]).any():
        raise VerificationError(f"{name}: the ids of the rows do not ascend")
    order = graph.vid_of_rank
    return (ranks if order is None else order[ranks]).astype(VID)


def check_rows(graph: Graph, name: str, result: Result, vids: U32) -> None:
    """Raise unless the rows are those of some vertices (ascending)."""
    if not np.array_equal(np.sort(row_vids(graph, name, result)), vids):
        raise VerificationError(f"{name}: the rows are not those of the {len(vids):,} vertices")


def check_edges(graph: Graph, name: str, result: Result, wanted: Wanted) -> Array:
    """Raise unless the result has the edges that are wanted, with their columns, in order; return
    how many ends of them are at each vertex.
    """
    rank: U32 = np.arange(graph.num_vertices, dtype=VID)
    if graph.vid_of_rank is not None:
        rank[graph.vid_of_rank] = np.arange(graph.num_vertices, dtype=VID)
    columns = [column.name for column in graph.columns]
    counts = np.zeros(graph.num_vertices, np.int64)
    parts: list[list[Array]] = []
    for src, dst, values in graph.iter_edges():
        chosen = np.flatnonzero(wanted(src, dst))
        u, v = src[chosen], dst[chosen]
        counts += np.bincount(u, minlength=len(counts)) + np.bincount(v, minlength=len(counts))
        begin, end = rank[u], rank[v]
        if not graph.directed:
            begin, end = np.minimum(begin, end), np.maximum(begin, end)
        parts.append([begin, end, *(values[each][chosen] for each in columns)])
    found = [_ranks(graph, name, result.edges.src), _ranks(graph, name, result.edges.dst)]
    pairs = found[0] * max(len(rank), 1) + found[1]
    if (pairs[1:] < pairs[:-1]).any():
        raise VerificationError(f"{name}: the edges are not in order")
    expected = [np.concatenate(each) for each in zip(*parts, strict=True)] if parts else []
    found += [getattr(result.edges, each) for each in columns]
    if not _same_rows(expected or [np.empty(0)] * len(found), found):
        raise VerificationError(
            f"{name}: the edges are not the {counts.sum() // 2:,} that the graph has there"
        )
    return counts


def check_counts(name: str, result: Result, expected: Array) -> None:
    """Raise unless the values are the expected ones, which are in the order of the rows."""
    wrong = np.flatnonzero(result.values != expected)
    if len(wrong):
        k = wrong[0]
        raise VerificationError(
            f"{name}: {result.ids[k]} has {result.values[k]} ends of edges, expected {expected[k]}"
        )


def _ranks(graph: Graph, name: str, ids: Array) -> Array:
    ranks = np.minimum(np.searchsorted(graph.ids, ids), max(graph.num_vertices - 1, 0))
    if len(ids) and (graph.num_vertices == 0 or (graph.ids[ranks] != ids).any()):
        raise VerificationError(f"{name}: some ids are not those of vertices")
    return ranks.astype(np.int64)


def _same_rows(expected: list[Array], found: list[Array]) -> bool:
    """Whether two tables have the same rows, in any order."""
    if len(expected[0]) != len(found[0]):
        return False
    first, second = np.lexsort(expected[::-1]), np.lexsort(found[::-1])
    return all(
        np.array_equal(a[first], b[second], equal_nan=a.dtype.kind == "f")
        for a, b in zip(expected, found, strict=True)
    )

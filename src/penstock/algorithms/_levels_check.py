"""Checks levels of a search by another method than the one that made them."""

from __future__ import annotations

import numpy as np

from penstock.algorithms._levels import I32
from penstock.errors import VerificationError
from penstock.store.graph import Graph
from penstock.types import NO_VERTEX, U32, VID


def check_levels(
    graph: Graph,
    name: str,
    levels: I32,
    sources: U32,
    limit: int | None = None,
    *,
    both_ways: bool = False,
) -> U32:
    """Raise unless these are the levels of a search, by looking at every edge; return the smallest
    parent of each vertex. ``both_ways``: the direction of edges does not matter.
    """
    last = len(levels) if limit is None else limit
    smallest: U32 = np.full(graph.num_vertices, NO_VERTEX, VID)
    if not np.array_equal(np.flatnonzero(levels == 0), sources):
        raise VerificationError(f"{name}: all sources must be on level 0, and no other vertex")
    smallest[sources] = sources
    for src, dst, _ in graph.iter_edges():
        for u, v in ((src, dst), (dst, src))[: 1 if graph.directed and not both_ways else 2]:
            above, below = levels[u], levels[v]
            left_out = (above >= 0) & (above < last) & (below < 0)
            wrong = left_out | ((above >= 0) & (below > above + 1))
            if wrong.any():
                k = np.argmax(wrong)
                raise VerificationError(
                    f"{name}: an edge leads from a vertex of level {above[k]} to one of level "
                    f"{below[k]} (vertex numbers {u[k]} and {v[k]})"
                )
            tree = (above >= 0) & (below == above + 1)
            np.minimum.at(smallest, v[tree], u[tree])
    wrong = ((smallest == NO_VERTEX) != (levels < 0)) | (levels < -1) | (levels > last)
    if wrong.any():
        k = np.argmax(wrong)
        raise VerificationError(
            f"{name}: vertex number {k} is on level {levels[k]}, but no edge leads there from the "
            f"level above, or it is beyond the limit {last}"
        )
    return smallest


def check_parents(graph: Graph, name: str, levels: I32, parents: U32) -> None:
    """Raise unless an edge leads to each vertex from its parent, which is one level above."""
    right = (levels < 0) | ((levels == 0) & (parents == np.arange(len(parents))))
    for src, dst, _ in graph.iter_edges():
        for u, v in ((src, dst), (dst, src))[: 1 if graph.directed else 2]:
            right[v[(parents[v] == u) & (levels[u] + 1 == levels[v]) & (levels[u] >= 0)]] = True
    if not right.all():
        k = np.argmin(right)
        raise VerificationError(
            f"{name}: vertex number {k} of level {levels[k]} has parent {parents[k]}, from which "
            "no edge leads there, or which is not one level above"
        )

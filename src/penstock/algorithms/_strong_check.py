"""Whether strong components are right.

Inside a component, marks spread over edges from the vertex that it is named after until nothing
changes, forward and backward. Between components, those that no edge leads to any more are taken
away until none is left. Each round looks at all edges, and there are as many rounds as the longest
way has edges; few edges are kept in memory meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from penstock.algorithms._vids import by_vid, vids_by_vid
from penstock.errors import VerificationError
from penstock.types import NO_VERTEX, U32, Array

if TYPE_CHECKING:
    from penstock.engine.result import Result
    from penstock.store.graph import Graph

Edges = Callable[[], Iterator[tuple[U32, U32]]]

#: So few edges are read once and kept.
FEW_EDGES = 1 << 22


def verify(graph: Graph, result: Result) -> None:
    """The vertex that a component is named after is in it, has the smallest id, reaches all of it
    without leaving it and is reached by all of it; and components, if each is taken for one vertex,
    make no circle. This leaves one answer.
    """
    n = graph.num_vertices
    names = graph.ids_by_vid()
    labels = vids_by_vid(graph, result.values, np.ones(n, bool))
    wrong = np.flatnonzero((labels == NO_VERTEX) | (by_vid(graph, result.values) > names))
    if len(wrong):
        raise VerificationError(
            f"strongly_connected_components: vertex {names[wrong[0]]} has the value "
            f"{result[names[wrong[0]]]}, which is not the smallest id of a component that it is in"
        )
    edges = _reader(graph)
    for forward, words in ((True, "is not reached from"), (False, "does not reach")):
        missing = np.flatnonzero(~_reached(edges, labels, forward=forward))
        if len(missing):
            k = missing[0]
            raise VerificationError(
                f"strongly_connected_components: vertex {names[k]} {words} {names[labels[k]]} "
                "within the component that is named after it"
            )
    circle = _on_circles(edges, labels)
    if len(circle):
        raise VerificationError(
            f"strongly_connected_components: the component {names[circle[0]]} is on or behind a "
            f"circle of {len(circle):,} components at most, some of which are one"
        )


def _reader(graph: Graph) -> Edges:
    """Every edge in each direction that it leads, as often as it is asked for."""

    def read() -> Iterator[tuple[U32, U32]]:
        for src, dst, _ in graph.iter_edges():
            yield src, dst
            if not graph.directed:
                yield dst, src

    if graph.num_edges > FEW_EDGES:
        return read
    parts = list(read())
    none: U32 = np.empty(0, np.uint32)
    whole = tuple(np.concatenate([none, *(part[k] for part in parts)]) for k in (0, 1))
    return lambda: iter([(whole[0], whole[1])])


def _reached(edges: Edges, labels: U32, *, forward: bool) -> Array:
    """What the vertices that components are named after reach, or are reached by, inside them."""
    reached: Array = labels == np.arange(len(labels))
    before = -1
    while before < (now := np.count_nonzero(reached)) < len(labels):
        before = int(now)
        for src, dst in edges():
            u, v = (src, dst) if forward else (dst, src)
            new = reached[u] & ~reached[v]
            new[new] = labels[u[new]] == labels[v[new]]
            reached[v[new]] = True
    return reached


def _on_circles(edges: Edges, labels: U32) -> Array:
    """The components that cannot be taken away one after another, each when no edge from another
    component leads to it any more.
    """
    entering = np.zeros(len(labels), np.int64)
    for src, dst in edges():
        a, b = labels[src], labels[dst]
        entering += np.bincount(b[a != b], minlength=len(labels))
    left = labels == np.arange(len(labels))
    free = left & (entering == 0)
    while free.any():
        left &= ~free
        for src, dst in edges():
            a, b = labels[src], labels[dst]
            gone = free[a] & (a != b)
            entering -= np.bincount(b[gone], minlength=len(labels))
        free = left & (entering == 0)
    return np.flatnonzero(left)

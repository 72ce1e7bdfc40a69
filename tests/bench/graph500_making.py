"""Small edge lists, and right answers to them by textbook methods."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from penstock.interfaces.bench.graph500_edges import Edges
from penstock.types import Array


@dataclass
class Case:
    """An undirected edge list with a root. Loops and multiple edges are welcome."""

    num_vertices: int
    src: Array
    dst: Array
    weights: Array
    root: int

    def parts(self, rows: int = 3) -> Iterator[Edges]:
        for a in range(0, len(self.src), rows):
            b = a + rows
            yield Edges(self.src[a:b], self.dst[a:b], self.weights[a:b])

    def joined(self, u: int, v: int) -> bool:
        return any(other == v for other, _ in self.neighbours(u))

    def neighbours(self, u: int) -> list[tuple[int, float]]:
        found = list(zip(self.dst[self.src == u], self.weights[self.src == u], strict=True))
        found += list(zip(self.src[self.dst == u], self.weights[self.dst == u], strict=True))
        return [(int(v), float(w)) for v, w in found]

    def nedge(self, inside: Array) -> int:
        return int(np.count_nonzero(inside[self.src] & inside[self.dst]))


def breadth_first(case: Case) -> tuple[Array, Array]:
    """Parents and levels."""
    parents = np.full(case.num_vertices, -1, np.int64)
    levels = np.full(case.num_vertices, -1, np.int32)
    parents[case.root], levels[case.root] = case.root, 0
    queue = [case.root]
    for u in queue:
        for v, _ in case.neighbours(u):
            if parents[v] < 0:
                parents[v], levels[v] = u, levels[u] + 1
                queue.append(v)
    return parents, levels


def dijkstra(case: Case) -> tuple[Array, Array]:
    """Parents and distances."""
    parents = np.full(case.num_vertices, -1, np.int64)
    distances = np.full(case.num_vertices, np.inf)
    parents[case.root], distances[case.root] = case.root, 0
    heap = [(0.0, case.root)]
    while heap:
        distance, u = heapq.heappop(heap)
        if distance > distances[u]:
            continue
        for v, weight in case.neighbours(u):
            if distance + weight < distances[v]:
                parents[v], distances[v] = u, distance + weight
                heapq.heappush(heap, (distances[v], v))
    return parents, distances


def levels_along(parents: Array, root: int) -> Array:
    """Edges from each vertex to the root of a tree."""
    levels = np.full(len(parents), -1, np.int32)
    for v in range(len(parents)):
        here, steps = v, 0
        while here != root and parents[here] >= 0:
            here, steps = int(parents[here]), steps + 1
        levels[v] = steps if here == root else -1
    return levels


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n = draw(st.integers(3, 12))
    vertex = st.integers(0, n - 1)
    # Eighths add up exactly; 0 is a weight too.
    rows = draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 24)), min_size=4, max_size=24))
    src, dst, eighths = (np.array(column) for column in zip(*rows, strict=True))
    root = draw(st.one_of(st.sampled_from(src.tolist()), vertex))
    weights = (eighths / 8).astype(np.float32)
    return Case(n, src.astype(np.uint32), dst.astype(np.uint32), weights, root)

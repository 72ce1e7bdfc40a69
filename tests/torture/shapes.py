"""Graphs of extreme shapes, of any size: ``SHAPES[name](scale)`` has about ``scale`` edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Sources, targets, how many vertices there are, and whether edges have a direction.
Shape = tuple[Any, Any, int, bool]


def star(scale: int) -> Shape:
    """One vertex with an edge to each of the others."""
    src, dst, count, _ = out_star(scale)
    return src, dst, count, False


def out_star(scale: int) -> Shape:
    """All edges from one vertex; 16 million of them take about 1,000 pages of 64 KiB."""
    return np.zeros(scale, np.int64), np.arange(1, scale + 1), scale + 1, True


def in_star(scale: int) -> Shape:
    """All edges to one vertex."""
    src, dst, count, directed = out_star(scale)
    return dst, src, count, directed


def path(scale: int) -> Shape:
    """One vertex after another. A search has as many levels as there are vertices: so it has only
    one edge where others have 64.
    """
    vertices = np.arange(scale // 64 + 2)
    return vertices[:-1], vertices[1:], len(vertices), False


def two_hubs(scale: int) -> Shape:
    """Two vertices that are both joined to all the others."""
    leaves = np.arange(2, scale // 2 + 2)
    src = np.repeat(np.arange(2), len(leaves))
    return src, np.concatenate([leaves, leaves]), len(leaves) + 2, False


def clique(scale: int) -> Shape:
    """Every vertex joined to every other."""
    count = int((2 * scale) ** 0.5) + 2
    src, dst = np.triu_indices(count, 1)
    return src, dst, count, False


def long_list(scale: int) -> Shape:
    """One list with most of the edges, among short ones."""
    rng = np.random.default_rng(scale)
    count = scale + 1
    src, dst = (rng.integers(0, count, scale // 4) for _ in range(2))
    hub = np.full(scale, scale // 2)
    return np.concatenate([src, hub]), np.concatenate([dst, np.arange(scale)]), count, True


def loops(scale: int) -> Shape:
    """Every vertex with an edge to itself, and no other."""
    return np.arange(scale), np.arange(scale), scale, False


def one_edge(scale: int) -> Shape:
    """One edge over and over again, and a few others."""
    few = np.arange(1, 9)
    src, dst = np.zeros(scale + len(few), np.int64), np.ones(scale + len(few), np.int64)
    src[scale:], dst[scale:] = few, few + 1
    return src, dst, 10, True


def multigraph(scale: int) -> Shape:
    """Few pairs of vertices, each with many edges."""
    rng = np.random.default_rng(1)
    count = max(int(scale**0.5) // 8, 2)
    return rng.integers(0, count, scale), rng.integers(0, count, scale), count, True


def isolated(scale: int) -> Shape:
    """Many vertices, and edges between a few of them."""
    ring = np.arange(100)
    return ring * (scale // 100), np.roll(ring, 1) * (scale // 100), scale + 1, False


def uniform(scale: int) -> Shape:
    """Ends drawn at random, 16 edges a vertex."""
    rng = np.random.default_rng(2)
    count = max(scale // 16, 1)
    return rng.integers(0, count, scale), rng.integers(0, count, scale), count, True


def empty(scale: int) -> Shape:
    """No vertices at all."""
    nothing = np.empty(0, np.int64)
    return nothing, nothing, 0, True


SHAPES: dict[str, Callable[[int], Shape]] = {
    function.__name__: function
    for function in (
        star, out_star, in_star, path, two_hubs, clique, long_list, loops, one_edge, multigraph,
        isolated, uniform, empty,
    )
}  # fmt: skip

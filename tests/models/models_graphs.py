"""Graphs that the models are tried on."""

from __future__ import annotations

import numpy as np

import penstock as ps


def edges(n=60, m=240, seed=3):
    rng = np.random.default_rng(seed)
    pairs = np.unique(rng.integers(0, n, (m, 2)), axis=0)
    return pairs[pairs[:, 0] % 9 != 4]  # some lead nowhere


def directed(**more):
    pairs = edges()
    weights = (np.arange(len(pairs)) * 7 % 19 + 1).astype(np.float64)
    return ps.from_edges(pairs[:, 0], pairs[:, 1], weights, num_vertices=60, **more)


def undirected():
    pairs = edges(m=45)
    return ps.from_edges(pairs[:, 0], pairs[:, 1], num_vertices=60, directed=False)


def matrix(graph):
    """``m[i, j]`` is the weight of the edge from j to i."""
    src, dst, *weight = graph.to_edges()
    whole = np.zeros((graph.num_vertices, graph.num_vertices))
    whole[dst, src] = weight[0] if weight else 1.0
    if not graph.directed:
        whole[src, dst] = whole[dst, src]
    return whole

"""What each algorithm must find, by NetworkX, igraph, NumPy, or plain Python.

A check takes the graph as plain edges, the parameters with vertices as numbers from 0, and the
result; it raises an AssertionError if they do not agree. Plain spellings of algorithms that other
libraries lack are those of the tests of these algorithms.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from torture import _oracles_structure as structure
from torture._comparing import (
    Check,
    Parameters,
    all_values,
    edge_rows,
    expected_rows,
    fits_int64,
    levels_of,
    matrix_of,
    near,
    same,
    some_values,
)
from torture._graphs import Model
from torture._others import paths_of, sizes_of


def _bfs(model: Model, given: Parameters, result: Any) -> None:
    level = levels_of(model, given["source"], given.get("depth_limit"))
    same(all_values(model, result), [level.get(v, -1) for v in range(model.n)])
    arcs = {(u, v) for u, v, _ in model.arcs}
    _check_parents(model, result, level, lambda p, v: level[p] + 1 == level[v] and (p, v) in arcs)


def _check_parents(
    model: Model, result: Any, distance: dict[int, Any], leads: Callable[[int, int], bool]
) -> None:
    for v, parent in enumerate(result.parents.tolist()):
        if v not in distance:
            same(parent, -1 if fits_int64(model) else None, f"parent of {v}")
        elif distance[v] == 0 and model.place[parent] == v:
            continue
        else:
            p = model.place[parent]
            assert p in distance, f"the parent of {v} is {p}, which is not reached"
            assert leads(p, v), f"{p} cannot be the parent of {v}"


def _sssp(model: Model, given: Parameters, result: Any) -> None:
    distance = nx.multi_source_dijkstra_path_length(
        model.networkx(), set(given["source"]), given.get("cutoff"), weight="weight"
    )
    same(all_values(model, result), [distance.get(v, np.inf) for v in range(model.n)])
    lightest: dict[tuple[int, int], float] = {}
    for u, v, w in model.arcs:
        lightest[u, v] = min(w, lightest.get((u, v), w))
    _check_parents(
        model, result, distance,
        lambda p, v: distance[p] + lightest.get((p, v), np.inf) == distance[v],
    )  # fmt: skip


def _k_hop(model: Model, given: Parameters, result: Any) -> None:
    same(some_values(model, result), levels_of(model, given["source"], given["k"]))


def _two_hop(model: Model, given: Parameters, result: Any) -> None:
    src, dst = (np.array([edge[k] for edge in model.edges], int) for k in (0, 1))
    if given.get("v") is None:
        expected = sizes_of(model.n, src, dst, model.directed)
        same(all_values(model, result), expected)
        same(result.stats["total"], sum(expected), "total")
        return
    same(some_values(model, result), levels_of(model, given["v"], 2))
    paths = paths_of(model.n, src, dst, model.directed, True, given["v"])
    places = [model.place[i] for i in result.ids.tolist()]
    same(result.paths.tolist(), paths[places].tolist(), "paths")


def _egonet(model: Model, given: Parameters, result: Any) -> None:
    graph, source = model.networkx(), given["source"][0]
    undirected = given.get("undirected", False)
    radius = given.get("radius", 1)
    way = graph.to_undirected() if undirected else graph
    level = dict(nx.single_source_shortest_path_length(way, source, radius))
    if not given.get("center", True):
        del level[source]
    same(some_values(model, result), level)
    same(
        edge_rows(model, result.edges),
        expected_rows(model, lambda u, v: u in level and v in level),
        "edges",
    )


def _induced_subgraph(model: Model, given: Parameters, result: Any) -> None:
    inside = set(given["vertices"])
    degrees = dict.fromkeys(inside, 0)
    for u, v in model.edges:
        if u in inside and v in inside:
            degrees[u] += 1
            degrees[v] += 1
    same(some_values(model, result), degrees)
    rows = expected_rows(model, lambda u, v: u in inside and v in inside)
    same(edge_rows(model, result.edges), rows, "edges")


def _cross_edges(model: Model, given: Parameters, result: Any) -> None:
    a, b = set(given["a"]), set(given["b"])
    rows = expected_rows(model, lambda u, v: u in a and v in b)
    same(edge_rows(model, result.edges), rows, "edges")
    ends = Counter(end for row in rows for end in row[:2])
    same(some_values(model, result), {v: ends[v] for v in a | b})


def _walk(w: Any, alpha: float, jump: Any, dangling: Any, iterations: int) -> Any:
    """Power iteration from equal ranks."""
    out = w.sum(0)
    step = w / np.where(out > 0, out, 1)
    rank = np.full(len(w), 1 / max(len(w), 1))
    for _ in range(iterations):
        rank = alpha * (step @ rank + rank[out == 0].sum() * dangling) + (1 - alpha) * jump
    return rank


def _shares(n: int, given: dict[int, float]) -> Any:
    found = np.zeros(n)
    for v, value in given.items():
        found[v] += value
    return found / found.sum()


def _pagerank(model: Model, given: Parameters, result: Any) -> None:
    w = matrix_of(model, weight=given.get("weight", False) and model.has_weights)
    jump = np.full(model.n, 1 / max(model.n, 1))
    if given.get("personalization"):
        jump = _shares(model.n, given["personalization"])
    dangling = _shares(model.n, given["dangling"]) if given.get("dangling") else jump
    expected = _walk(w, given.get("alpha", 0.85), jump, dangling, given["max_iter"])
    exact = given.get("dtype") == "float64"
    found = all_values(model, result)
    if given.get("mode") == "async":  # ends near the same ranks, along another way
        expected = _walk(w, given.get("alpha", 0.85), jump, dangling, 300)
        assert np.abs(np.array(found) - expected).sum() < 0.01
    else:
        near(found, expected, 1e-9 if exact else 1e-4, 1e-12 if exact else 1e-7)


def _rwr(model: Model, given: Parameters, result: Any) -> None:
    w = matrix_of(model, weight=given.get("weight", False) and model.has_weights)
    jump = _shares(model.n, dict.fromkeys(given["source"], 1.0))
    expected = _walk(w, 1 - given.get("restart", 0.15), jump, jump, given["max_iter"])
    exact = given.get("dtype") == "float64"
    near(all_values(model, result), expected, 1e-6 if exact else 1e-4, 1e-9 if exact else 1e-6)


class _Chosen(random.Random):
    """Takes the vertices that it is told to."""

    def __init__(self, chosen: list[int]) -> None:
        super().__init__(0)
        self.chosen = chosen

    def sample(self, population: Any, k: int, *, counts: Any = None) -> Any:
        return self.chosen


def _sampling(given: Parameters) -> dict[str, Any]:
    sources = given.get("sources")
    return {"k": len(sources), "seed": _Chosen(sources)} if sources else {}


def _igraph(model: Model) -> Any:
    import igraph

    return igraph.Graph(n=model.n, edges=list(model.edges), directed=model.directed)


def _betweenness(model: Model, given: Parameters, result: Any) -> None:
    weight = given.get("weight", False)
    normalized = given.get("normalized", True)
    if model.multi:
        expected = np.array(_igraph(model).betweenness(weights=_weights(model, weight=weight)))
        pairs = (model.n - 1) * (model.n - 2) / (1 if model.directed else 2)
        expected = expected / pairs if normalized and pairs > 0 else expected
    else:
        options = {"normalized": normalized, "endpoints": given.get("endpoints", False)}
        options |= {"weight": "weight" if weight else None, **_sampling(given)}
        found = nx.betweenness_centrality(model.networkx(), **options)
        expected = [found[v] for v in range(model.n)]
    near(all_values(model, result), expected, 1e-9)


def _weights(model: Model, *, weight: bool) -> list[float] | None:
    return list(model.weights) if weight and model.edges else None


def _edge_betweenness(model: Model, given: Parameters, result: Any) -> None:
    weight = given.get("weight", False)
    normalized = given.get("normalized", True)
    if model.multi:
        values = _igraph(model).edge_betweenness(weights=_weights(model, weight=weight))
        pairs = model.n * (model.n - 1) / (1 if model.directed else 2)
        scale = 1 / pairs if normalized and pairs else 1
        known = [(edge, value * scale) for edge, value in zip(model.edges, values, strict=True)]
    else:
        options = {"normalized": normalized, "weight": "weight" if weight else None}
        options |= _sampling(given)
        known = list(nx.edge_betweenness_centrality(model.networkx(), **options).items())
    expected = sorted(((e if model.directed else (min(e), max(e))), x) for e, x in known)
    ends = zip(result.src.tolist(), result.dst.tolist(), strict=True)
    rows = [(model.place[u], model.place[v]) for u, v in ends]
    found = sorted(zip(rows, result.values.tolist(), strict=True))
    same([row for row, _ in found], [row for row, _ in expected], "edges")
    near([value for _, value in found], [value for _, value in expected], 1e-9)


def _closeness(model: Model, given: Parameters, result: Any) -> None:
    weight = "weight" if given.get("weight") else None
    expected = nx.closeness_centrality(
        model.networkx(), distance=weight, wf_improved=given.get("wf_improved", True)
    )
    near(all_values(model, result), [expected[v] for v in range(model.n)], 1e-12)


def _degree_distribution(model: Model, given: Parameters, result: Any) -> None:
    degrees = [0] * model.n
    direction = given.get("direction", "out")
    for u, v, _ in model.arcs:
        if direction in ("out", "both") or not model.directed:
            degrees[u] += 1
        if direction in ("in", "both") and model.directed:
            degrees[v] += 1
    found = dict(zip(result.ids.tolist(), result.values.tolist(), strict=True))
    same(found, dict(sorted(Counter(degrees).items())))


CHECKS: dict[str, Check] = {
    "bfs": _bfs,
    "sssp": _sssp,
    "k_hop": _k_hop,
    "two_hop": _two_hop,
    "egonet": _egonet,
    "induced_subgraph": _induced_subgraph,
    "cross_edges": _cross_edges,
    "pagerank": _pagerank,
    "rwr": _rwr,
    "betweenness": _betweenness,
    "edge_betweenness": _edge_betweenness,
    "closeness": _closeness,
    "degree_distribution": _degree_distribution,
} | structure.CHECKS

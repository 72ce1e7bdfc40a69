"""Shortest paths by whichever method, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from penstock.algorithms.closeness import closeness
from penstock.interfaces.nx import paths_negative, paths_unweighted, paths_weighted
from penstock.interfaces.nx.backend import asks
from penstock.interfaces.nx.components import is_connected, is_strongly_connected
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.interfaces.nx.stored import StoredGraph
from penstock.store.graph import Graph
from penstock.types import Array


class Functions(NamedTuple):
    """Functions of a graph and one or two nodes; all but "unweighted" ones have a ``weight``."""

    between: Callable[..., Any]
    from_one: Callable[..., Any]
    to_one: Callable[..., Any]
    all_pairs: Callable[..., Any]


def has_path(G: NetworkXGraph, source: Node, target: Node) -> bool:
    """Whether a path leads from one node to another."""
    if source is None or target is None:  # None is any node
        for node in (source, target):
            if node is not None:
                G.place(node)
        return True
    try:
        _edges_between(G, source, target)
    except nx.NetworkXNoPath:
        return False
    return True


def _weighs_few_edges(
    G: Any,
    source: Node | None = None,
    target: Node | None = None,
    weight: Weight = None,
    method: str = "dijkstra",
) -> bool | str:
    between = source is not None and target is not None
    return not between or paths_weighted.weighs_few_edges(G, source, target, weight)


@asks(should_run=_weighs_few_edges)
def shortest_path(
    G: NetworkXGraph,
    source: Node | None = None,
    target: Node | None = None,
    weight: Weight = None,
    method: str = "dijkstra",
) -> Any:
    """A shortest path between two nodes, or those to all, from all, or between all."""
    return _call(PATHS, G, source, target, weight, method)


@asks(should_run=_weighs_few_edges)
def shortest_path_length(
    G: NetworkXGraph,
    source: Node | None = None,
    target: Node | None = None,
    weight: Weight = None,
    method: str = "dijkstra",
) -> Any:
    """The length of a shortest path between two nodes, or of those to all, from all, or between
    all.
    """
    return _call(LENGTHS, G, source, target, weight, method)


def average_shortest_path_length(
    G: NetworkXGraph, weight: Weight = None, method: str | None = None
) -> float:
    """The mean length of shortest paths between all pairs of different nodes. Floyd and Warshall's
    methods are for negative weights; Bellman and Ford's is used in their place.
    """
    if method is None:
        method = "unweighted" if weight is None else "dijkstra"
    if method not in (*PATHS, "floyd-warshall", "floyd-warshall-numpy"):
        raise ValueError(f"method not supported: {method}")
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length"
        )
    if n == 1:
        return 0
    if G.directed and not is_strongly_connected(G):
        raise nx.NetworkXError("Graph is not strongly connected.")
    if not G.directed and not is_connected(G):
        raise nx.NetworkXError("Graph is not connected.")
    total: float = _sum_of_lengths(G, weight, method)
    return total / (n * (n - 1))


def _sum_of_lengths(G: NetworkXGraph, weight: Weight, method: str) -> Any:
    """That of all ordered pairs, of which each has a path."""
    if method == "unweighted" or (method == "dijkstra" and G.if_there(weight) is None):
        return int(np.rint(_streamed_sums(G.to_penstock(), weight=False)).sum())
    if method == "dijkstra":
        if isinstance(G, StoredGraph) and _is_plain(graph := G.to_penstock(weight)):
            return float(_streamed_sums(graph, weight=True).sum())
        return paths_weighted.sum_of_lengths(G, weight)
    pairs = [lengths for _, lengths in paths_negative.all_pairs_bellman_ford_path_length(G, weight)]
    # Bellman and Ford do not reach what is infinitely far, for Floyd and Warshall it is there.
    if method != "bellman-ford" and any(len(lengths) < len(G) for lengths in pairs):
        return inf
    return sum(sum(lengths.values()) for lengths in pairs)


def _is_plain(graph: Graph) -> bool:
    """Whether all weights are finite and 0 or more; others are for the lists. One pass."""
    column = graph.weight
    assert column is not None
    parts = (columns[column] for *_, columns in graph.iter_edges())
    return all(((weights >= 0) & (weights < inf)).all() for weights in parts)


def _streamed_sums(graph: Graph, *, weight: bool) -> Array:
    """The sum of the distances to each vertex that is not 0."""
    values = closeness(graph, weight=weight).values
    # Closeness is n - 1 divided by the sum of the distances, but 0 if they are all 0.
    sums: Array = (graph.num_vertices - 1) / values[values > 0]
    return sums


def _call(
    functions: Mapping[str, Functions],
    G: NetworkXGraph,
    source: Node | None,
    target: Node | None,
    weight: Weight,
    method: str,
) -> Any:
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    chosen = functions["unweighted" if weight is None else method]
    given = {} if weight is None else {"weight": weight}
    if source is None:
        return chosen.all_pairs(G, **given) if target is None else chosen.to_one(G, target, **given)
    if target is None:
        return chosen.from_one(G, source, **given)
    return chosen.between(G, source, target, **given)


def _edges_between(G: NetworkXGraph, source: Node, target: Node) -> int:
    """The number of edges of a shortest path."""
    if not isinstance(G, StoredGraph):
        return len(paths_unweighted.bidirectional_shortest_path(G, source, target)) - 1
    level = int(paths_unweighted.levels_from(G, G.place(source))[G.place(target)])
    if level < 0:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return level


def _dijkstra_between(G: NetworkXGraph, source: Node, target: Node, weight: Weight) -> list[Node]:
    return paths_weighted.bidirectional_dijkstra(G, source, target, weight)[1]


#: By method.
PATHS = {
    "unweighted": Functions(
        paths_unweighted.bidirectional_shortest_path,
        paths_unweighted.single_source_shortest_path,
        paths_unweighted.single_target_shortest_path,
        paths_unweighted.all_pairs_shortest_path,
    ),
    "dijkstra": Functions(
        _dijkstra_between,
        paths_weighted.single_source_dijkstra_path,
        paths_weighted.paths_to,
        paths_weighted.all_pairs_dijkstra_path,
    ),
    "bellman-ford": Functions(
        paths_negative.bellman_ford_path,
        paths_negative.single_source_bellman_ford_path,
        paths_negative.paths_to,
        paths_negative.all_pairs_bellman_ford_path,
    ),
}
LENGTHS = {
    "unweighted": Functions(
        _edges_between,
        paths_unweighted.single_source_shortest_path_length,
        paths_unweighted.single_target_shortest_path_length,
        paths_unweighted.all_pairs_shortest_path_length,
    ),
    "dijkstra": Functions(
        paths_weighted.dijkstra_path_length,
        paths_weighted.single_source_dijkstra_path_length,
        paths_weighted.lengths_to,
        paths_weighted.all_pairs_dijkstra_path_length,
    ),
    "bellman-ford": Functions(
        paths_negative.bellman_ford_path_length,
        paths_negative.single_source_bellman_ford_path_length,
        paths_negative.lengths_to,
        paths_negative.all_pairs_bellman_ford_path_length,
    ),
}

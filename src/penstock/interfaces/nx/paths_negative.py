"""Shortest paths by the sum of weights, which may be negative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.centrality import owners_of
from penstock.algorithms._in_order.lists import Lists
from penstock.algorithms._in_order.paths_negative import Search, first_paths, search
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.interfaces.nx.paths_weighted import (
    Lengths,
    Paths,
    as_numbers,
    backwards,
    named_lengths,
    named_lists,
)
from penstock.interfaces.nx.places import place_or

_MISSING = "Source {} not in G"


def _search(lists: Lists, source: int, *, early: bool = True) -> Search:
    """Distances from the node at a place; raises if there is a negative cycle within reach."""
    found = search(lists, source, early=early)
    if found is None:
        raise nx.NetworkXUnbounded("Negative cycle detected.")
    return found


def bellman_ford_path(
    G: NetworkXGraph, source: Node, target: Node, weight: Weight = "weight"
) -> list[Node]:
    """A shortest path from one node to another."""
    path: list[Node] = single_source_bellman_ford(G, source, target, weight)[1]
    return path


def bellman_ford_path_length(
    G: NetworkXGraph, source: Node, target: Node, weight: Weight = "weight"
) -> Any:
    """The length of a shortest path from one node to another."""
    place = place_or(G, source, _MISSING)
    if source == target:
        return 0
    lists = G.lists("out", weight)
    lengths = _lengths(G, lists, _search(lists, place))
    if target not in lengths:
        raise nx.NetworkXNoPath(f"node {target} not reachable from {source}")
    return lengths[target]


def single_source_bellman_ford_path(
    G: NetworkXGraph, source: Node, weight: Weight = "weight"
) -> Paths:
    """A shortest path to each node, in the order in which they were first reached."""
    paths: Paths = single_source_bellman_ford(G, source, None, weight)[1]
    return paths


def single_source_bellman_ford_path_length(
    G: NetworkXGraph, source: Node, weight: Weight = "weight"
) -> Lengths:
    """The distance of each node, in the order in which they were first reached."""
    place, lists = place_or(G, source, _MISSING), G.lists("out", weight)
    return _lengths(G, lists, _search(lists, place))


def single_source_bellman_ford(
    G: NetworkXGraph, source: Node, target: Node | None = None, weight: Weight = "weight"
) -> tuple[Any, Any]:
    """The distance of each node and a shortest path to it, or of ``target`` alone."""
    place = place_or(G, source, _MISSING)
    if source == target:
        return 0, [source]
    lists = G.lists("out", weight)
    found = _search(lists, place)
    if target is None:
        return _lengths(G, lists, found), _paths(G, found)
    end = G.find(target)
    if end is None or found.distances[end] == np.inf:
        raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources")
    path = first_paths(found, np.array([end]))[0]
    return as_numbers(found.distances[[end]], lists.whole)[0], G.names_at(path)


def all_pairs_bellman_ford_path_length(
    G: NetworkXGraph, weight: Weight = "weight"
) -> Iterator[tuple[Node, Lengths]]:
    """Each node with the distances of all others."""
    lists = G.lists("out", weight)
    for place, name in enumerate(G.names):
        yield name, _lengths(G, lists, _search(lists, place))


def all_pairs_bellman_ford_path(
    G: NetworkXGraph, weight: Weight = "weight"
) -> Iterator[tuple[Node, Paths]]:
    """Each node with shortest paths to all others."""
    lists = G.lists("out", weight)
    for place, name in enumerate(G.names):
        yield name, _paths(G, _search(lists, place))


def bellman_ford_predecessor_and_distance(
    G: NetworkXGraph,
    source: Node,
    target: Node | None = None,
    weight: Weight = "weight",
    heuristic: bool = False,
) -> tuple[dict[Node, list[Node]], Lengths]:
    """The nodes before each one on all shortest paths, and the distance of each; ``target`` changes
    nothing. A negative edge from a node to itself is a negative cycle, wherever it is.
    """
    place, lists = place_or(G, source, "Node {} is not found in the graph"), G.lists("out", weight)
    if lists.weights is not None:
        owners = owners_of(lists)
        if (lists.weights[owners == lists.neighbours] < 0).any():
            raise nx.NetworkXUnbounded("Negative cycle detected.")
    if len(G) == 1:
        return {source: []}, {source: 0}
    found = _search(lists, place, early=heuristic)
    before = named_lists(G, found.order, found.starts, found.before)
    return before, _lengths(G, lists, found)


def lengths_to(G: NetworkXGraph, target: Node, weight: Weight) -> Lengths:
    """The distance of one node from each."""
    place, lists = place_or(G, target, _MISSING), backwards(G, weight)
    return _lengths(G, lists, _search(lists, place))


def paths_to(G: NetworkXGraph, target: Node, weight: Weight) -> Paths:
    """A shortest path from each node to one."""
    paths = _paths(G, _search(backwards(G, weight), place_or(G, target, _MISSING)))
    return {node: path[::-1] for node, path in paths.items()}


def _lengths(G: NetworkXGraph, lists: Lists, found: Search) -> Lengths:
    order = found.order
    return named_lengths(G, order, found.distances[order], order[:1], whole=lists.whole)


def _paths(G: NetworkXGraph, found: Search) -> Paths:
    return G.named_at(found.order, [G.names_at(path) for path in first_paths(found, found.order)])

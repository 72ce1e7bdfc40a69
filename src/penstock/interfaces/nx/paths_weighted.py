"""Shortest paths by the sum of weights, none of which is negative."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.lists import Lists
from penstock.algorithms._in_order.paths_weighted import Search, meet, predecessors, search
from penstock.algorithms.bfs import bfs
from penstock.algorithms.sssp import sssp
from penstock.errors import InputError
from penstock.interfaces.nx.backend import asks
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.interfaces.nx.places import place_or
from penstock.interfaces.nx.stored import StoredGraph
from penstock.types import Array

Lengths = dict[Node, Any]
Paths = dict[Node, list[Node]]
#: Above it float64 leaves out whole numbers.
EXACT = 1 << 53


def weighs_few_edges(G: Any, source: Node, target: Node, weight: Weight = "weight") -> bool | str:
    """Whether a search between two nodes is worth it: its weights are read for all edges, those of
    an attribute once and kept, those of a function each time.
    """
    return not callable(weight) or "a weight function would be called for every edge"


@asks(should_run=weighs_few_edges)
def dijkstra_path(
    G: NetworkXGraph, source: Node, target: Node, weight: Weight = "weight"
) -> list[Node]:
    """A shortest path from one node to another."""
    path: list[Node] = single_source_dijkstra(G, source, target, weight=weight)[1]
    return path


@asks(should_run=weighs_few_edges)
def dijkstra_path_length(
    G: NetworkXGraph, source: Node, target: Node, weight: Weight = "weight"
) -> Any:
    """The length of a shortest path from one node to another."""
    places = _places(G, [source])
    if source == target:
        return 0
    streamed = _stream(G, places, None, weight)
    if streamed is not None:
        if target in streamed:
            return streamed[target]
    else:
        lists, end = G.lists("out", weight), G.find(target)
        found = search(lists, places, None, end)
        if end is not None and found.order[-1] == end:
            return as_numbers(found.distances[[end]], lists.whole)[0]
    raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")


def single_source_dijkstra_path(
    G: NetworkXGraph, source: Node, cutoff: float | None = None, weight: Weight = "weight"
) -> Paths:
    """A shortest path to each node, the nearest first."""
    return multi_source_dijkstra_path(G, [source], cutoff, weight)


def single_source_dijkstra_path_length(
    G: NetworkXGraph, source: Node, cutoff: float | None = None, weight: Weight = "weight"
) -> Lengths:
    """The distance of each node, the nearest first."""
    return multi_source_dijkstra_path_length(G, [source], cutoff, weight)


def single_source_dijkstra(
    G: NetworkXGraph,
    source: Node,
    target: Node | None = None,
    cutoff: float | None = None,
    weight: Weight = "weight",
) -> tuple[Any, Any]:
    """The distance of each node and a shortest path to it, or of ``target`` alone."""
    return multi_source_dijkstra(G, [source], target, cutoff, weight)


def multi_source_dijkstra_path(
    G: NetworkXGraph,
    sources: Collection[Node],
    cutoff: float | None = None,
    weight: Weight = "weight",
) -> Paths:
    """A shortest path to each node from the nearest source, the nearest first."""
    paths: Paths = multi_source_dijkstra(G, sources, None, cutoff, weight)[1]
    return paths


def multi_source_dijkstra_path_length(
    G: NetworkXGraph,
    sources: Collection[Node],
    cutoff: float | None = None,
    weight: Weight = "weight",
) -> Lengths:
    """The distance of each node from the nearest source, the nearest first."""
    places = _places(G, sources)
    streamed = _stream(G, places, cutoff, weight)
    if streamed is not None:
        return streamed
    lists = G.lists("out", weight)
    return lengths_found(G, lists, search(lists, places, cutoff))


def multi_source_dijkstra(
    G: NetworkXGraph,
    sources: Collection[Node],
    target: Node | None = None,
    cutoff: float | None = None,
    weight: Weight = "weight",
) -> tuple[Any, Any]:
    """The distance of each node from the nearest source and a shortest path from there, or of
    ``target`` alone.
    """
    places = _places(G, sources)
    if target in sources:
        return 0, [target]
    lists, end = G.lists("out", weight), G.find(target)
    found = search(lists, places, cutoff, end)
    if target is None:
        return lengths_found(G, lists, found), paths_found(G, found)
    if end is None or found.order[-1] != end:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    path = [end]
    while (before := int(found.parents[path[-1]])) != path[-1]:
        path.append(before)
    return as_numbers(found.distances[[end]], lists.whole)[0], G.names_at(path[::-1])


def dijkstra_predecessor_and_distance(
    G: NetworkXGraph, source: Node, cutoff: float | None = None, weight: Weight = "weight"
) -> tuple[dict[Node, list[Node]], Lengths]:
    """The nodes before each one on all shortest paths, and the distance of each."""
    place, lists = _places(G, [source]), G.lists("out", weight)
    found = search(lists, place, cutoff)
    before = named_lists(G, *predecessors(lists, found, cutoff))
    return before, lengths_found(G, lists, found)


def all_pairs_dijkstra(
    G: NetworkXGraph, cutoff: float | None = None, weight: Weight = "weight"
) -> Iterator[tuple[Node, tuple[Lengths, Paths]]]:
    """Each node with the distances of all others and shortest paths to them."""
    lists = G.lists("out", weight)
    for name, found in _each(G, lists, cutoff):
        yield name, (lengths_found(G, lists, found), paths_found(G, found))


def all_pairs_dijkstra_path_length(
    G: NetworkXGraph, cutoff: float | None = None, weight: Weight = "weight"
) -> Iterator[tuple[Node, Lengths]]:
    """Each node with the distances of all others."""
    lists = G.lists("out", weight)
    for name, found in _each(G, lists, cutoff):
        yield name, lengths_found(G, lists, found)


def all_pairs_dijkstra_path(
    G: NetworkXGraph, cutoff: float | None = None, weight: Weight = "weight"
) -> Iterator[tuple[Node, Paths]]:
    """Each node with shortest paths to all others."""
    for name, found in _each(G, G.lists("out", weight), cutoff):
        yield name, paths_found(G, found)


@asks(should_run=weighs_few_edges)
def bidirectional_dijkstra(
    G: NetworkXGraph, source: Node, target: Node, weight: Weight = "weight"
) -> tuple[Any, list[Node]]:
    """The length of a shortest path from one node to another and the path, by searches from both
    ends.
    """
    begin = place_or(G, source, "Source {} is not in G")
    end = place_or(G, target, "Target {} is not in G")
    if begin == end:
        return 0, [source]
    lists = G.lists("out", weight)
    length, path = meet(lists, G.lists("in", weight), begin, end)
    if len(path) == 0:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return as_numbers(np.array([length]), lists.whole)[0], G.names_at(path)


def lengths_to(G: NetworkXGraph, target: Node, weight: Weight) -> Lengths:
    """The distance of one node from each, the nearest first."""
    lists, found = _search_back(G, target, weight)
    return lengths_found(G, lists, found)


def paths_to(G: NetworkXGraph, target: Node, weight: Weight) -> Paths:
    """A shortest path from each node to one, the nearest first."""
    paths = paths_found(G, _search_back(G, target, weight)[1])
    return {node: path[::-1] for node, path in paths.items()}


def sum_of_lengths(G: NetworkXGraph, weight: Weight) -> float:
    """The sum of the distances of all pairs of nodes that have a path."""
    searches = _each(G, G.lists("out", weight), None)
    return float(sum(found.distances[found.order].sum() for _, found in searches))


def backwards(G: NetworkXGraph, weight: Weight) -> Lists:
    """The lists of the graph with every edge turned around, which a weight function also sees."""
    if callable(weight) and G.directed:
        function = weight
        return G.lists("in", lambda u, v, data: function(v, u, data))
    return G.lists("in" if G.directed else "out", weight)


def lengths_found(G: NetworkXGraph, lists: Lists, found: Search) -> Lengths:
    """The distances that a search found, as a dictionary in its order."""
    order = found.order
    sources = order[found.parents[order] == order]
    return named_lengths(G, order, found.distances[order], sources, whole=lists.whole)


def named_lengths(
    G: NetworkXGraph, places: Array, distances: Array, sources: Array, *, whole: bool
) -> Lengths:
    """The distances of some places as a dictionary in their order."""
    numbers = as_numbers(distances, whole)
    for at in np.flatnonzero(np.isin(places, sources)).tolist():
        numbers[at] = 0  # as in NetworkX, an int whatever the weights
    return G.named_at(places, numbers)


def paths_found(G: NetworkXGraph, found: Search) -> Paths:
    """The paths that a search found, as a dictionary in its order."""
    names = G.names_at(found.order)
    ranks: Array = np.empty(len(found.parents), np.int64)
    ranks[found.order] = np.arange(len(found.order))
    paths: list[list[Node]] = []
    for at, before in enumerate(ranks[found.parents[found.order]].tolist()):
        paths.append([*paths[before], names[at]] if before != at else [names[at]])
    return dict(zip(names, paths, strict=True))


def named_lists(
    G: NetworkXGraph, places: Array, starts: Array, entries: Array
) -> dict[Node, list[Node]]:
    """For some places, in their order, the nodes of which the places are among ``entries``."""
    names = G.names_at(entries)
    lows, highs = starts[places].tolist(), starts[places + 1].tolist()
    return G.named_at(places, [names[low:high] for low, high in zip(lows, highs, strict=True)])


def as_numbers(distances: Array, whole: bool) -> list[Any]:
    """Distances as Python's numbers: int if weights are whole, and no distance too long for that
    to be exact.
    """
    if whole and np.abs(distances).max(initial=0) < EXACT:
        distances = distances.astype(np.int64)
    numbers: list[Any] = distances.tolist()
    return numbers


def _places(G: NetworkXGraph, sources: Collection[Node]) -> Array:
    if not sources:
        raise ValueError("sources must not be empty")
    return np.array([place_or(G, source, "Node {} not found in graph") for source in sources])


def _each(G: NetworkXGraph, lists: Lists, cutoff: float | None) -> Iterator[tuple[Node, Search]]:
    for place, name in enumerate(G.names):
        yield name, search(lists, np.array([place]), cutoff)


def _search_back(G: NetworkXGraph, target: Node, weight: Weight) -> tuple[Lists, Search]:
    place, lists = _places(G, [target]), backwards(G, weight)
    return lists, search(lists, place, None)


def _stream(
    G: NetworkXGraph, places: Array, cutoff: float | None, weight: Weight
) -> Lengths | None:
    """The distances of the nodes that are reached in a graph that is stored, the nearest first.
    None of a graph of NetworkX, and if there are weights below 0, which are for the lists.
    """
    if not isinstance(G, StoredGraph):
        return None
    sources, column = G.stored.ids[np.unique(places)], G.column(weight)
    if cutoff is not None and cutoff < 0:
        return dict.fromkeys(G.names_at(places), 0)
    if column is None:
        limit = None if cutoff is None or cutoff >= len(G) else int(cutoff)
        levels = bfs(G.stored, sources, depth_limit=limit).values
        distances = np.where(levels < 0, np.inf, levels)
    else:
        try:
            distances = sssp(G.to_penstock(weight), sources, cutoff=cutoff).values
        except InputError:
            return None
    reached = np.flatnonzero(distances < np.inf)
    order = reached[np.argsort(distances[reached], kind="stable")]
    return named_lengths(G, order, distances[order], places, whole=G.is_whole(column))

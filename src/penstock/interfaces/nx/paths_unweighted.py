"""Shortest paths by the number of their edges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import ceil, inf
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.components import group
from penstock.algorithms._in_order.paths_unweighted import Search, levels_above, meet, search
from penstock.algorithms.bfs import bfs
from penstock.interfaces.nx.graph import NetworkXGraph, Node
from penstock.interfaces.nx.places import place_or
from penstock.process import garbage_collection_disabled
from penstock.types import Array, Direction


def level_limit(cutoff: float | None) -> int | None:
    """How many levels a search has that goes on while its level is below ``cutoff``."""
    if cutoff is None or cutoff == inf:
        return None
    return ceil(cutoff) if cutoff > 0 else 0


def levels_from(G: NetworkXGraph, place: int, cutoff: float | None = None) -> Array:
    """How many edges each node is away from one, by place; -1 where no path leads, or only longer
    ones than ``cutoff``. Streams.
    """
    graph = G.to_penstock()
    found = bfs(graph, graph.ids[place : place + 1], depth_limit=level_limit(cutoff))
    return found.values


def single_source_shortest_path_length(
    G: NetworkXGraph, source: Node, cutoff: float | None = None
) -> dict[Node, int]:
    """How many edges each node is away from one: the nearest first, as near ones in the order of
    the graph.
    """
    levels = levels_from(G, place_or(G, source, "Source {} is not in G"), cutoff)
    reached = np.flatnonzero(levels >= 0)
    places = reached[group(levels[reached].astype(np.uint32))[0]]
    return G.named_at(places, levels[places])


def single_target_shortest_path_length(
    G: NetworkXGraph, target: Node, cutoff: float | None = None
) -> dict[Node, int]:
    """How many edges lead from each node to one, the nearest first."""
    return _lengths(G, _search(G, place_or(G, target, "Target {} is not in G"), cutoff, "in"))


def all_pairs_shortest_path_length(
    G: NetworkXGraph, cutoff: float | None = None
) -> Iterator[tuple[Node, dict[Node, int]]]:
    """Each node with how many edges every other is away, one search after another."""
    for place, name in enumerate(G.names):
        yield name, _lengths(G, _search(G, place, cutoff))


def single_source_shortest_path(
    G: NetworkXGraph, source: Node, cutoff: float | None = None
) -> dict[Node, list[Node]]:
    """A path with the fewest edges to each node, as a list of nodes."""
    return _paths(G, _search(G, place_or(G, source, "Source {} not in G"), cutoff))


def single_target_shortest_path(
    G: NetworkXGraph, target: Node, cutoff: float | None = None
) -> dict[Node, list[Node]]:
    """A path with the fewest edges from each node to one, as a list of nodes."""
    found = _search(G, place_or(G, target, "Target {} not in G"), cutoff, "in")
    return _paths(G, found, backwards=True)


def all_pairs_shortest_path(
    G: NetworkXGraph, cutoff: float | None = None
) -> Iterator[tuple[Node, dict[Node, list[Node]]]]:
    """Each node with a path with the fewest edges to every other, one search after another."""
    for place, name in enumerate(G.names):
        yield name, _paths(G, _search(G, place, cutoff))


def bidirectional_shortest_path(G: NetworkXGraph, source: Node, target: Node) -> list[Node]:
    """A path with the fewest edges from one node to another, by searches from both ends."""
    begin = place_or(G, source, "Source {} is not in G")
    end = place_or(G, target, "Target {} is not in G")
    path = meet(G.lists("out"), G.lists("in"), begin, end)
    if len(path) == 0:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return G.names_at(path)


@garbage_collection_disabled()
def predecessor(
    G: NetworkXGraph,
    source: Node,
    target: Node | None = None,
    cutoff: float | None = None,
    return_seen: bool | None = None,
) -> Any:
    """The nodes before each one on all shortest paths from ``source``; with ``return_seen`` also
    how many edges those have.
    """
    place = place_or(G, source, "Source {} not in G")
    # At least one level, whatever the cutoff; 0 is none.
    found = _search(G, place, max(cutoff, 1) if cutoff else None)
    offsets, before = levels_above(G.lists(), found)
    names, ends = G.names_at(before), offsets.tolist()
    lists = [names[low:high] for low, high in pairwise(ends)]
    predecessors = dict(zip(G.names_at(found.order), lists, strict=True))
    if target is None:
        return (predecessors, _lengths(G, found)) if return_seen else predecessors
    mine = predecessors.get(target, [])
    return (mine, _lengths(G, found).get(target, -1)) if return_seen else mine


def _search(
    G: NetworkXGraph, place: int, cutoff: float | None, direction: Direction = "out"
) -> Search:
    return search(G.lists(direction), np.array([place]), level_limit(cutoff))


def _lengths(G: NetworkXGraph, found: Search) -> dict[Node, int]:
    sizes = np.diff(found.starts)
    return G.named_at(found.order, np.repeat(np.arange(len(sizes)), sizes))


@garbage_collection_disabled()
def _paths(G: NetworkXGraph, found: Search, *, backwards: bool = False) -> dict[Node, list[Node]]:
    names = G.names_at(found.order)
    paths = [names[:1]]
    for name, above in zip(names[1:], found.above[1:].tolist(), strict=True):
        paths.append([name, *paths[above]] if backwards else [*paths[above], name])
    return dict(zip(names, paths, strict=True))

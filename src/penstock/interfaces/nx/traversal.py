"""Breadth-first traversals, and what can be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.paths_unweighted import search
from penstock.interfaces.nx.backend import asks
from penstock.interfaces.nx.graph import NetworkXGraph, Node
from penstock.interfaces.nx.paths_unweighted import level_limit, levels_from
from penstock.interfaces.nx.places import place_or
from penstock.process import garbage_collection_disabled
from penstock.types import Array, Direction

#: What users give to choose an order of neighbours; it may also leave some out.
Sort = Callable[[Iterator[Node]], Iterable[Node]]


def _no_function_of_the_user(_graph: Any, _source: Node, *options: Any, **named: Any) -> bool | str:
    if not any(map(callable, (*options, *named.values()))):
        return True
    return "sort_neighbors is called in Python for each node, which is what takes the time"


@asks(should_run=_no_function_of_the_user)
def bfs_edges(
    G: NetworkXGraph,
    source: Node,
    reverse: bool = False,
    depth_limit: float | None = None,
    sort_neighbors: Sort | None = None,
) -> Iterator[tuple[Node, Node]]:
    """The edges by which a search from ``source`` finds nodes, in that order."""
    direction: Direction = "in" if reverse and G.is_directed() else "out"
    parents, children = _tree(G, source, direction, depth_limit, sort_neighbors)
    yield from zip(G.names_at(parents), G.names_at(children), strict=True)


@asks(should_run=_no_function_of_the_user)
@garbage_collection_disabled()
def bfs_tree(
    G: NetworkXGraph,
    source: Node,
    reverse: bool = False,
    depth_limit: float | None = None,
    sort_neighbors: Sort | None = None,
) -> nx.DiGraph:
    """A graph of NetworkX of the edges by which a search finds nodes."""
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(bfs_edges(G, source, reverse, depth_limit, sort_neighbors))
    return tree


@asks(should_run=_no_function_of_the_user)
def bfs_predecessors(
    G: NetworkXGraph,
    source: Node,
    depth_limit: float | None = None,
    sort_neighbors: Sort | None = None,
) -> Iterator[tuple[Node, Node]]:
    """Each node that a search finds, with the one it is found from."""
    parents, children = _tree(G, source, "out", depth_limit, sort_neighbors)
    yield from zip(G.names_at(children), G.names_at(parents), strict=True)


@asks(should_run=_no_function_of_the_user)
def bfs_successors(
    G: NetworkXGraph,
    source: Node,
    depth_limit: float | None = None,
    sort_neighbors: Sort | None = None,
) -> Iterator[tuple[Node, list[Node]]]:
    """Each node that others are found from, with a list of those."""
    parents, children = _tree(G, source, "out", depth_limit, sort_neighbors)
    if len(children) == 0:
        yield source, []
        return
    begins = np.concatenate([[0], np.flatnonzero(np.diff(parents)) + 1])
    names, ends = G.names_at(children), [*begins.tolist(), len(children)]
    for parent, low, high in zip(G.names_at(parents[begins]), ends, ends[1:], strict=False):
        yield parent, names[low:high]


def bfs_layers(G: NetworkXGraph, sources: Any) -> Iterator[list[Node]]:
    """Lists of the nodes that are 0, 1, 2, ... edges away from the nearest source."""
    # NetworkX begins in the order of a set, too.
    first = [sources] if G.find(sources) is not None else list(set(sources))
    found = search(G.lists(), np.array([_there(G, node) for node in first], np.int64))
    names, ends = G.names_at(found.order), found.starts.tolist()
    for low, high in pairwise(ends):
        if low < high:
            yield names[low:high]


def descendants_at_distance(G: NetworkXGraph, source: Node, distance: int) -> set[Node]:
    """The nodes that are so many edges away."""
    place = _there(G, source)
    levels = levels_from(G, place, distance)
    return set(G.names_at(np.flatnonzero((levels == distance) & (levels >= 0))))


def descendants(G: NetworkXGraph, source: Node) -> set[Node]:
    """The nodes that can be reached from one, without itself."""
    levels = levels_from(G, _there(G, source))
    return set(G.names_at(np.flatnonzero(levels > 0)))


def ancestors(G: NetworkXGraph, source: Node) -> set[Node]:
    """The nodes that one can be reached from, without itself."""
    found = search(G.lists("in"), np.array([_there(G, source)]))
    return set(G.names_at(found.order[1:]))


def _there(G: NetworkXGraph, node: Node) -> int:
    return place_or(G, node, "The node {} is not in the graph.", nx.NetworkXError)


def _tree(
    G: NetworkXGraph,
    source: Node,
    direction: Direction,
    depth_limit: float | None,
    sort_neighbors: Sort | None,
) -> tuple[Array, Array]:
    """The places of parents and children, in the order of a search."""
    place = _there(G, source)
    if sort_neighbors is not None:
        return _sorted_tree(G, place, direction, level_limit(depth_limit), sort_neighbors)
    order, above, _ = search(G.lists(direction), np.array([place]), level_limit(depth_limit))
    return order[above[1:]], order[1:]


def _sorted_tree(
    G: NetworkXGraph, source: int, direction: Direction, limit: int | None, sort_neighbors: Sort
) -> tuple[Array, Array]:
    offsets, neighbours, *_ = G.lists(direction)
    order, parents, seen = [source], [source], {source}
    begin, level = 0, 0
    while begin < len(order) and (limit is None or level < limit):
        level_places, begin, level = order[begin:], len(order), level + 1
        for place in level_places:
            mine = G.names_at(neighbours[int(offsets[place]) : int(offsets[place + 1])])
            for name in sort_neighbors(iter(mine)):
                child = _there(G, name)
                if child not in seen:
                    seen.add(child)
                    order.append(child)
                    parents.append(place)
    return np.array(parents[1:], np.int64), np.array(order[1:], np.int64)

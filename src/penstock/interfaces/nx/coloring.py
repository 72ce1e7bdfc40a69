"""Colors for nodes, other ones than their neighbours have.

Where NetworkX leaves a tie to the order of a set, ``smallest_last`` and ``independent_set`` have an
order of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import networkx as nx
import numpy as np
from networkx.algorithms.coloring.greedy_coloring import STRATEGIES
from networkx.utils import create_py_random_state

from penstock.algorithms._in_order.coloring import (
    color_in_order,
    color_with_interchange,
    components,
    independent_sets,
    saturation,
    smallest_last,
    traversal,
)
from penstock.algorithms._in_order.lists import Lists, join
from penstock.interfaces.nx.backend import asks
from penstock.interfaces.nx.draws import shuffled, state_of
from penstock.interfaces.nx.graph import NetworkXGraph, Node
from penstock.types import Array

Strategy = str | Callable[[nx.Graph, dict[Node, int]], Iterable[Node]]


def by_degree(G: NetworkXGraph) -> Array:
    """The places by descending degree."""
    degrees = G.degrees()
    if G.directed:
        degrees = degrees + G.degrees("in")
    fewer = degrees.max(initial=0) - degrees
    # Numbers of 16 bits are sorted several times as fast.
    return np.argsort(fewer.astype(np.min_scalar_type(fewer.max(initial=0))), kind="stable")


def _at_random(G: NetworkXGraph) -> Array:
    generator = create_py_random_state(None)
    with state_of(generator) as state:
        return shuffled(len(G), generator, state)


def _smallest_last(G: NetworkXGraph) -> Array:
    order: Array = smallest_last(*_both_ways(G)[:2])
    return order


def _independent_sets(G: NetworkXGraph) -> Array:
    loop_counts = 1 if G.directed else 2
    order: Array = independent_sets(*G.lists()[:2], *_both_ways(G)[:2], loop_counts)
    return order


def _breadth_first(G: NetworkXGraph) -> Array:
    return _connected(G, depth_first=False)


def _depth_first(G: NetworkXGraph) -> Array:
    return _connected(G, depth_first=True)


def _connected(G: NetworkXGraph, *, depth_first: bool) -> Array:
    """The nodes of each component from that one of them on that a set of them has first."""
    if G.directed:
        raise nx.NetworkXNotImplemented("not implemented for directed type")
    offsets, neighbours, *_ = G.lists()
    order, starts = components(offsets, neighbours)
    sources = order[starts[:-1]]
    for k in np.flatnonzero(np.diff(starts) > 1).tolist():
        members = order[starts[k] : starts[k + 1]]
        sources[k] = G.place(next(iter(set(G.names_at(members)))))
    found: Array = traversal(sources, depth_first, offsets, neighbours)
    return found


def _both_ways(G: NetworkXGraph) -> Lists:
    """Lists of the neighbours that edges lead to or come from."""
    return join(G.lists(), G.lists("in")) if G.directed else G.lists()


#: The order of the places, by the name of the strategy.
_ORDERS: dict[str, Callable[[NetworkXGraph], Array]] = {
    "largest_first": by_degree,
    "random_sequential": _at_random,
    "smallest_last": _smallest_last,
    "independent_set": _independent_sets,
    "connected_sequential": _breadth_first,
    "connected_sequential_bfs": _breadth_first,
    "connected_sequential_dfs": _depth_first,
}
#: The order depends on the colors.
_SATURATION = "saturation_largest_first"
#: NetworkX's own functions may be given instead of their names; DSATUR is one with two names.
_NAMES = {function: name for name, function in STRATEGIES.items() if name != "DSATUR"}


def _is_compiled(G: Any, strategy: Strategy = "largest_first", interchange: bool = False) -> Any:
    if strategy in STRATEGIES or strategy in _NAMES:
        return True
    return "a function as strategy is called for the graph as NetworkX has it"


@asks(should_run=_is_compiled)
def greedy_color(
    G: NetworkXGraph, strategy: Strategy = "largest_first", interchange: bool = False
) -> dict[Node, int]:
    """A color for each node, in the order in which they are colored; a function as strategy gets
    the graph as NetworkX has it.
    """
    if len(G) == 0:
        return {}
    function = STRATEGIES.get(strategy, strategy)
    if not callable(function):
        raise nx.NetworkXError(
            f"strategy must be callable or a valid string. {strategy} not valid."
        )
    name = _NAMES.get(function)
    if interchange:
        if name in ("independent_set", _SATURATION):
            raise nx.NetworkXPointlessConcept(f"interchange cannot be used with {name}")
        order = _places(G, function(G.to_networkx(), {})) if name is None else _ORDERS[name](G)
        return G.named(color_with_interchange(order, *_both_ways(G)[:2]))
    if name is None:
        return _color_one_by_one(G.to_networkx(), function)
    lists = G.lists()
    if name == _SATURATION:
        order, colors = saturation(by_degree(G), lists.offsets, lists.neighbours)
    else:
        order = _ORDERS[name](G)
        colors = color_in_order(order, lists.offsets, lists.neighbours)
    return G.named_at(order, colors[order])


def _places(G: NetworkXGraph, nodes: Iterable[Node]) -> Array:
    return np.array([G.place(node) for node in nodes], np.int64)


def _color_one_by_one(graph: nx.Graph, strategy: Callable[..., Iterable[Node]]) -> dict[Node, int]:
    """The strategy sees the colors that there are when it is asked for the next node."""
    colors: dict[Node, int] = {}
    for node in strategy(graph, colors):
        taken = {colors.get(other) for other in graph[node]}
        colors[node] = next(color for color in count() if color not in taken)
    return colors

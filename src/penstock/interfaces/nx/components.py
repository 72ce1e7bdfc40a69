"""Components: nodes that reach each other, whatever the direction of edges or along it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.components import group, strong_components
from penstock.algorithms.connected_components import connected_components as label_weak
from penstock.algorithms.strongly_connected_components import (
    strongly_connected_components as label_strong,
)
from penstock.engine.result import Result
from penstock.interfaces.nx.graph import NetworkXGraph, Node
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.paths_unweighted import levels_from
from penstock.types import U32, Array

#: An algorithm whose values are the smallest id of each vertex's component.
Label = Callable[..., Result]


def connected_components(G: NetworkXGraph) -> Iterator[set[Node]]:
    """The components, each as a set, in the order of their first nodes."""
    yield from _sets(G, *group(_labels(G, label_weak)))


def number_connected_components(G: NetworkXGraph) -> int:
    """How many components there are."""
    return _count(G, label_weak)


def is_connected(G: NetworkXGraph) -> bool:
    """Whether there is one component."""
    return _is_one(G, label_weak)


def node_connected_component(G: NetworkXGraph, n: Node) -> set[Node]:
    """The component of a node."""
    place = G.find(n)
    if place is None:
        raise KeyError(n)
    return set(G.names_at(np.flatnonzero(levels_from(G, place) >= 0)))


def weakly_connected_components(G: NetworkXGraph) -> Iterator[set[Node]]:
    """The components if edges had no direction, in the order of their first nodes."""
    return connected_components(G)


def number_weakly_connected_components(G: NetworkXGraph) -> int:
    """How many components there would be if edges had no direction."""
    return _count(G, label_weak)


def is_weakly_connected(G: NetworkXGraph) -> bool:
    """Whether there would be one component if edges had no direction."""
    return _is_one(G, label_weak)


def strongly_connected_components(G: NetworkXGraph) -> Iterator[set[Node]]:
    """The strong components. Those of a NetworkX graph come as depth-first search completes them,
    which is after all that they lead to; those of a graph of Penstock's, which streams, in the
    order of their first nodes.
    """
    if isinstance(G, ListedGraph):
        found = strong_components(G.lists())
    else:
        found = group(_labels(G, label_strong))
    yield from _sets(G, *found)


def number_strongly_connected_components(G: NetworkXGraph) -> int:
    """How many strong components there are."""
    return _count(G, label_strong)


def is_strongly_connected(G: NetworkXGraph) -> bool:
    """Whether there is one strong component."""
    return _is_one(G, label_strong)


def _labels(G: NetworkXGraph, label: Label) -> U32:
    """The first place of each node's component."""
    graph = G.to_penstock()
    names, ids = label(graph).values, graph.ids
    if ids.dtype != object and len(ids) and ids[0] == 0 and ids[-1] == len(ids) - 1:
        return names.astype(np.uint32)
    return np.searchsorted(ids, names).astype(np.uint32)


def _count(G: NetworkXGraph, label: Label) -> int:
    graph = G.to_penstock()
    return int(np.count_nonzero(label(graph).values == graph.ids))


def _is_one(G: NetworkXGraph, label: Label) -> bool:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return _count(G, label) == 1


def _sets(G: NetworkXGraph, places: U32, ends: Array) -> Iterator[set[Node]]:
    """Sets of names, of places that stand together up to each end. One that most nodes are in is
    all of them but the others: a set is copied sooner than filled.
    """
    begin = 0
    for end in ends.tolist():
        if 2 * (end - begin) > len(places):
            most = set(G.original) if isinstance(G, ListedGraph) else set(G.names)
            most.difference_update(G.names_at(places[:begin]), G.names_at(places[end:]))
            yield most
        else:
            yield set(G.names_at(places[begin:end]))
        begin = end

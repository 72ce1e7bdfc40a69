"""Eccentricities, and the nodes where they are smallest and largest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.lists import Lists
from penstock.algorithms._in_order.paths_unweighted import BITS, eccentricities
from penstock.algorithms._in_order.paths_weighted import search
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.interfaces.nx.paths_unweighted import levels_from
from penstock.interfaces.nx.paths_weighted import as_numbers
from penstock.types import Array

#: What a search that streams costs whatever the graph, in entries of lists that it could have read.
SEARCH_COST = 500_000

Lengths = Mapping[Node, Mapping[Node, Any]]


def eccentricity(
    G: NetworkXGraph, v: Any = None, sp: Lengths | None = None, weight: Weight = None
) -> Any:
    """How far the farthest node is from each of some nodes. Searches of edges go from 64 nodes at
    once; by weight they go one by one.
    """
    places = G.places_of(v)
    if sp is not None:
        found = [_farthest(G, sp, node) for node in G.names_at(places)]
    elif weight is None:
        found = _within_reach(G, eccentricities(G.lists(), places)).tolist()
    else:
        lists = G.lists("out", weight)
        found = [_farthest_by_weight(G, lists, place) for place in places.tolist()]
    named = G.named_at(places, found)
    return named[v] if G.find(v) is not None else named


def diameter(
    G: NetworkXGraph,
    e: Mapping[Node, Any] | None = None,
    usebounds: bool = False,
    weight: Weight = None,
) -> Any:
    """The largest eccentricity. Bounds are used where they help, asked for or not."""
    return max(_known(G, e, weight, largest=True, every=False).values())


def periphery(
    G: NetworkXGraph,
    e: Mapping[Node, Any] | None = None,
    usebounds: bool = False,
    weight: Weight = None,
) -> list[Node]:
    """The nodes of the largest eccentricity. Bounds are used where they help, asked for or not."""
    known = _known(G, e, weight, largest=True, every=True)
    most = max(known.values())
    return [node for node, value in known.items() if value == most]


def radius(
    G: NetworkXGraph,
    e: Mapping[Node, Any] | None = None,
    usebounds: bool = False,
    weight: Weight = None,
) -> Any:
    """The smallest eccentricity. Bounds are used where they help, asked for or not."""
    return min(_known(G, e, weight, largest=False, every=False).values())


def center(
    G: NetworkXGraph,
    e: Mapping[Node, Any] | None = None,
    usebounds: bool = False,
    weight: Weight = None,
) -> list[Node]:
    """The nodes of the smallest eccentricity. Bounds are used where they help, asked for or not."""
    if len(G) == 0 and e is None and weight is None and not (G.is_directed() or usebounds):
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    known = _known(G, e, weight, largest=False, every=True)
    least = min(known.values())
    return [node for node, value in known.items() if value == least]


def _known(
    G: NetworkXGraph, e: Mapping[Node, Any] | None, weight: Weight, *, largest: bool, every: bool
) -> Mapping[Node, Any]:
    """Eccentricities, or bounds of which the largest (else the smallest) is that of them: of every
    node that has it, or of one at least.
    """
    if e is not None:
        return e
    if weight is not None or G.is_directed():
        found: Mapping[Node, Any] = eccentricity(G, weight=weight)
        return found
    return _bounds(G, largest=largest, every=every)


def _bounds(G: NetworkXGraph, *, largest: bool, every: bool) -> dict[Node, int]:
    """The same of an undirected graph: whoever is d away from a node of eccentricity x has one from
    max(d, x - d) to x + d, which leaves few candidates after a few searches. These searches go on
    until they have cost as much as those of the candidates, 64 at a time, may.

    Takes, Kosters: "Determining the diameter of small world networks", CIKM 2011.
    """
    n, degrees, entries = len(G), G.degrees(), 2 * G.number_of_edges()
    lower, upper = np.zeros(n, np.int64), np.full(n, n)
    left, far, done = np.arange(n), 0, 0
    while (done + 1) * (SEARCH_COST + entries) < _batches_cost(len(left), entries, far):
        bound = -upper[left] if done % 2 else lower[left]
        place = left[np.lexsort((-degrees[left], bound))[0]]
        levels = _within_reach(G, levels_from(G, int(place)))
        far = int(levels.max())
        lower = np.maximum(lower, np.maximum(levels, far - levels))
        upper = np.minimum(upper, far + levels)
        beyond = upper - lower.max() if largest else upper.min() - lower
        left = np.flatnonzero((beyond >= 0 if every else beyond > 0) & (lower < upper))
        done += 1
    if len(left):
        lower[left] = upper[left] = _within_reach(G, eccentricities(G.lists(), left))
    return G.named(lower if largest else upper)


def _batches_cost(sources: int, entries: int, far: int) -> int:
    """Searches from so many nodes, 64 at a time: each list is read on each level, of about as many
    as in a search that went ``far``, but not oftener than there are searches.
    """
    return -(-sources // BITS) * entries * min(far + 1, BITS)


def _farthest(G: NetworkXGraph, sp: Lengths, node: Node) -> Any:
    """How far the farthest node is, by lengths that are given."""
    try:
        lengths = sp[node]
        reached = len(lengths)
    except TypeError as error:
        raise nx.NetworkXError('Format of "sp" is invalid.') from error
    if reached != len(G):
        raise _out_of_reach(G)
    return max(lengths.values())


def _farthest_by_weight(G: NetworkXGraph, lists: Lists, place: int) -> Any:
    """How far the farthest node is, by the weights of the lists."""
    found = search(lists, np.array([place]))
    if len(found.order) != len(G):
        raise _out_of_reach(G)
    return as_numbers(found.distances.max(keepdims=True), lists.whole)[0]


def _within_reach(G: NetworkXGraph, distances: Array) -> Array:
    """The distances, which must all be known."""
    if (distances < 0).any():
        raise _out_of_reach(G)
    return distances


def _out_of_reach(G: NetworkXGraph) -> nx.NetworkXError:
    what = "digraph is not strongly connected" if G.is_directed() else "graph is not connected"
    return nx.NetworkXError(f"Found infinite path length because the {what}")

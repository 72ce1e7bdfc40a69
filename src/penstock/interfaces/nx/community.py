"""Communities by labels that nodes take over from their neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from penstock.algorithms._in_order.coloring import color_in_order
from penstock.algorithms._in_order.lists import Lists, join
from penstock.algorithms._in_order.propagation import settle, spread, spread_by_queue
from penstock.interfaces.nx.coloring import by_degree
from penstock.interfaces.nx.draws import shuffled, state_of
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.types import Array

#: An attribute that no edge has, so that every edge weighs 1.
_NONE = "\0"


def label_propagation_communities(G: NetworkXGraph) -> Iterable[set[Node]]:
    """Communities of semi-synchronous label propagation."""
    lists = G.lists()
    order = by_degree(G)
    colors = color_in_order(order, lists.offsets, lists.neighbours)
    labels, sums, best = _beginning(lists)
    settle(np.argsort(colors, kind="stable"), *lists[:2], labels, sums, best)
    return _communities(G, labels).values()


def asyn_lpa_communities(
    G: NetworkXGraph, weight: Weight = None, seed: Any = None
) -> Iterator[set[Node]]:
    """Communities of asynchronous label propagation, with the draws that NetworkX makes."""
    lists = G.lists("out", weight, "sum")
    labels, sums, best = _beginning(lists)
    weights = _weights(lists)
    changed = True
    with state_of(seed) as state:
        while changed:
            changed, at = False, 0
            order = shuffled(len(G), seed, state)
            while at < len(G):
                at, count, moved = spread(order, at, *lists[:2], weights, labels, sums, best, state)
                changed = changed or moved
                if count:
                    labels[order[at]] = seed.choice(best[:count].tolist())
                    at += 1
    yield from _communities(G, labels).values()


def fast_label_propagation_communities(
    G: NetworkXGraph, *, weight: Weight = None, seed: Any = None
) -> Iterator[set[Node]]:
    """Communities of fast label propagation, with the draws that NetworkX makes."""
    lists, told = _around(G, weight)
    labels, sums, best = _beginning(lists)
    weights = _weights(lists)
    queued: Array = np.ones(len(G), np.bool_)
    with state_of(seed) as state:
        ring, ends = shuffled(len(G), seed, state), np.array([0, len(G), 0])
        drawn = -1
        while count := spread_by_queue(
            ring, ends, queued, *lists[:2], weights, *told[:2], labels, sums, best, state, drawn
        ):
            drawn = seed.choice(best[:count].tolist())
    yield from _communities(G, labels).values()


def _around(G: NetworkXGraph, weight: Weight) -> tuple[Lists, Lists]:
    """The neighbours that a node hears, and those that it tells, in NetworkX's order; directions
    are ignored.
    """
    if weight is None and not G.multigraph:
        told = join(G.lists("in"), G.lists()) if G.directed else G.lists()
        return told, told
    weight = _NONE if weight is None else weight
    lists = G.lists("out", weight, "sum")
    if not G.directed:
        return lists, lists
    return join(lists, G.lists("in", weight, "sum")), join(G.lists("in"), G.lists())


def _weights(lists: Lists) -> Array:
    nothing: Array = np.empty(0)
    return nothing if lists.weights is None else lists.weights


def _beginning(lists: Lists) -> tuple[Array, Array, Array]:
    """A label for each node, its place; and what kernels need to compare labels."""
    n = len(lists.offsets) - 1
    return np.arange(n), np.full(n, np.nan), np.empty(n, np.int64)


def _communities(G: NetworkXGraph, labels: Array) -> dict[int, set[Node]]:
    """The nodes of each label, labels in the order in which nodes have them."""
    found, firsts, groups = np.unique(labels, return_index=True, return_inverse=True)
    ranks = np.argsort(np.argsort(firsts))[groups]
    members = G.names_at(np.argsort(ranks, kind="stable"))
    ends = np.cumsum(np.bincount(ranks)).tolist()
    starts = [0, *ends]
    return {
        label: set(members[start:end])
        for label, start, end in zip(found[np.argsort(firsts)].tolist(), starts, ends, strict=False)
    }

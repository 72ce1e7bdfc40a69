"""Ranks of nodes by the edges that lead to them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.centrality import owners_of
from penstock.algorithms._in_order.lists import Lists
from penstock.algorithms.pagerank import pagerank as rank
from penstock.errors import ConvergenceError, InputError
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph
from penstock.jit import kernel
from penstock.types import Array

#: Stands for an infinite tolerance, which ``ps.pagerank`` refuses.
MOST_CHANGE = 1e300


def pagerank(
    G: NetworkXGraph,
    alpha: float = 0.85,
    personalization: Mapping[Node, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Node, float] | None = None,
    weight: Weight = "weight",
    dangling: Mapping[Node, float] | None = None,
) -> dict[Node, float]:
    """PageRank in float64. What is no random walk (numbers below 0, ``alpha`` above 1), or begins
    elsewhere than everywhere (``nstart``), is worked out over lists in memory.
    """
    if len(G) == 0:
        return {}
    if callable(weight):  # to NetworkX the name of an attribute, which no edge has
        weight = None
    if weight is None and G.multigraph and isinstance(G, ListedGraph):
        weight = _parallel
    jump = None if personalization is None else _by_place(G, personalization)
    if jump is not None and jump.sum() == 0:
        raise ZeroDivisionError("personalization: expected a sum other than 0")
    given = None if dangling is None else _by_place(G, dangling)
    start = None if nstart is None else _by_place(G, nstart)
    hopeless = any(each is not None and each.sum() == 0 for each in (given, start))
    if max_iter < 1 or not tol > 0 or hopeless:
        raise nx.PowerIterationFailedConvergence(max_iter)
    enough = min(tol * len(G), MOST_CHANGE)  # NetworkX's rule: tol is for each node
    if start is None and 0 <= alpha <= 1 and _all_positive(G, weight, jump, given):
        with suppress(InputError):  # a weight below 0, which was met on the way
            return G.named(_streamed(G, alpha, jump, given, max_iter, enough, weight))
    if isinstance(G, StoredGraph) and G.multigraph:  # its lists have each neighbour once
        listed = ListedGraph(G.to_networkx())
        return pagerank(listed, alpha, personalization, max_iter, tol, nstart, weight, dangling)
    lists = G.lists("out", weight, "sum")
    return G.named(_ranks_over(lists, alpha, jump, given, start, max_iter, enough))


def _streamed(
    G: NetworkXGraph,
    alpha: float,
    jump: Array | None,
    dangling: Array | None,
    max_iter: int,
    enough: float,
    weight: Weight,
) -> Array:
    try:
        found = rank(
            G.to_penstock(weight, "sum"),
            alpha=alpha,
            tol=enough,
            max_iter=max_iter,
            dtype="float64",
            personalization=jump,
            dangling=dangling,
            weight=G.if_there(weight) is not None,
        )
    except ConvergenceError:
        raise nx.PowerIterationFailedConvergence(max_iter) from None
    return found.values


def _by_place(G: NetworkXGraph, values: Mapping[Node, float]) -> Array:
    """Values by node as an array by place, 0 where there is none; other nodes play no part."""
    found: Array = np.zeros(len(G))
    for node, value in values.items():
        place = G.find(node)
        if place is not None:
            found[place] = value
    return found


def _parallel(_u: Node, _v: Node, keyed: Mapping[Any, Any]) -> int:
    """Edges between two nodes of a multigraph count as often as there are any."""
    return len(keyed)


def _all_positive(G: NetworkXGraph, weight: Weight, *given: Array | None) -> bool:
    """Whether no number is below 0. Weights of a graph that is stored are looked at on the way."""
    numbers = list(given)
    if weight is not None and isinstance(G, ListedGraph):
        numbers.append(G.lists("out", weight, "sum").weights)
    return all(each is None or len(each) == 0 or each.min() >= 0 for each in numbers)


def _ranks_over(
    lists: Lists,
    alpha: float,
    jump: Array | None,
    dangling: Array | None,
    start: Array | None,
    max_iter: int,
    enough: float,
) -> Array:
    """The power method until ranks change by less than ``enough`` in all."""
    n = len(lists.offsets) - 1
    weights = np.ones(len(lists.neighbours)) if lists.weights is None else lists.weights
    totals = np.bincount(owners_of(lists), weights, minlength=n)
    jump, dangling, ranks = (
        np.full(n, 1 / n) if each is None else each / each.sum()
        for each in (jump, jump if dangling is None else dangling, start)
    )
    for _ in range(max_iter):
        before, ranks = ranks, np.zeros(n)
        _flow(lists.offsets, lists.neighbours, weights, totals, before, ranks)
        ranks += before[totals == 0].sum() * dangling
        ranks = alpha * ranks + (1 - alpha) * jump
        if np.abs(ranks - before).sum() < enough:
            return ranks
    raise nx.PowerIterationFailedConvergence(max_iter)


@kernel
def _flow(offsets, neighbours, weights, totals, ranks, to):  # type: ignore[no-untyped-def]
    """Each node gives away its rank along its edges, in proportion to their weights."""
    for node in range(len(ranks)):
        if totals[node] == 0:
            continue
        for entry in range(np.int64(offsets[node]), np.int64(offsets[node + 1])):
            to[np.int64(neighbours[entry])] += ranks[node] / totals[node] * weights[entry]

"""Ranks of nodes by the edges that lead to them."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
import numpy as np

from penstock.algorithms.pagerank import pagerank as rank
from penstock.errors import ConvergenceError
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.types import Array


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
    """PageRank in float64. The power method forgets where it began, so ``nstart`` is only looked
    at for whether it could be a beginning.
    """
    if len(G) == 0:
        return {}
    if nstart is not None and _by_place(G, nstart).sum() == 0:
        raise ZeroDivisionError("nstart has no positive values")
    graph = G.graph(weight, "sum")
    given = None if personalization is None else _by_place(G, personalization)
    if given is not None and given.sum() == 0:
        raise ZeroDivisionError("personalization has no positive values")
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    try:
        found = rank(
            graph,
            alpha=alpha,
            tol=tol,
            max_iter=max_iter,
            dtype="float64",
            personalization=given,
            dangling=None if dangling is None else _by_place(G, dangling),
            weight=graph.weighted,
        )
    except ConvergenceError:
        raise nx.PowerIterationFailedConvergence(max_iter) from None
    return G.named(found.values)


def _by_place(G: NetworkXGraph, values: Mapping[Node, float]) -> Array:
    """Values by node as an array by place, 0 where there is none; other nodes play no part."""
    found: Array = np.zeros(len(G))
    for node, value in values.items():
        place = G.find(node)
        if place is not None:
            found[place] = value
    return found

"""Nodes without edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.interfaces.nx.graph import NetworkXGraph, Node
from penstock.types import Array


def is_isolate(G: NetworkXGraph, n: Node) -> bool:
    """Whether a node has no edge."""
    # As in NetworkX, what is no node may be some of them, whose degrees are no number.
    return bool(G.degree(n) == 0)


def isolates(G: NetworkXGraph) -> Iterator[Node]:
    """The nodes without edges."""
    return iter(G.names_at(np.flatnonzero(_alone(G))))


def number_of_isolates(G: NetworkXGraph) -> int:
    """How many nodes have no edge."""
    return int(np.count_nonzero(_alone(G)))


def _alone(G: NetworkXGraph) -> Array:
    """Whether each node has no edge, by place."""
    alone: Array = G.degrees("out") == 0
    return alone & (G.degrees("in") == 0) if G.directed else alone

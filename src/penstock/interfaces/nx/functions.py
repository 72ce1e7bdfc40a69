"""Counts of a graph's edges."""

from __future__ import annotations

from penstock.interfaces.nx.graph import NetworkXGraph


def number_of_selfloops(G: NetworkXGraph) -> int:
    """How many edges lead from a node to itself."""
    return int(G.loops.sum())


def is_empty(G: NetworkXGraph) -> bool:
    """Whether there is no edge."""
    return G.number_of_edges() == 0

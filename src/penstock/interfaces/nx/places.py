"""Nodes that must be there."""

from __future__ import annotations

import networkx as nx

from penstock.interfaces.nx.graph import NetworkXGraph, Node


def place_or(
    G: NetworkXGraph,
    node: Node,
    complaint: str,
    error: type[nx.NetworkXException] = nx.NodeNotFound,
) -> int:
    """The place of a node, or an error that says of it what NetworkX's function would."""
    place = G.find(node)
    if place is None:
        raise error(complaint.format(node))
    return place

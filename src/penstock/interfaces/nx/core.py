"""Cores and trusses: the parts of a graph that hold together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.centrality import owners_of
from penstock.algorithms.core_number import core_number as numbers
from penstock.algorithms.k_truss import k_truss as truss
from penstock.interfaces.nx.graph import NetworkXGraph, Node
from penstock.process import garbage_collection_disabled
from penstock.types import Array

Cores = Mapping[Node, int]


def core_number(G: NetworkXGraph) -> dict[Node, int]:
    """The largest k of a k-core that each node is in; degrees of directed graphs are those of both
    directions together.
    """
    return G.named(_cores(G, None))


def k_core(G: NetworkXGraph, k: int | None = None, core_number: Cores | None = None) -> Any:
    """The part of the nodes whose core number is k or more; without k, the largest."""
    cores = _cores(G, core_number)
    return G.part(np.flatnonzero(cores >= (_largest(cores, core_number) if k is None else k)))


def k_shell(G: NetworkXGraph, k: int | None = None, core_number: Cores | None = None) -> Any:
    """The part of the nodes whose core number is k; without k, the largest."""
    cores = _cores(G, core_number)
    return G.part(np.flatnonzero(cores == (_largest(cores, core_number) if k is None else k)))


def k_crust(G: NetworkXGraph, k: int | None = None, core_number: Cores | None = None) -> Any:
    """The part of the nodes whose core number is k or less; without k, less than the largest."""
    cores = _cores(G, core_number)
    return G.part(np.flatnonzero(cores <= (_largest(cores, core_number) - 1 if k is None else k)))


def k_corona(G: NetworkXGraph, k: int, core_number: Cores | None = None) -> Any:
    """The part of the nodes whose core number is k and that have k neighbours in the k-core."""
    cores = _cores(G, core_number)
    lists = G.lists()
    owners = owners_of(lists)
    inside = np.bincount(owners[cores[lists.neighbours] >= k], minlength=len(G))
    return G.part(np.flatnonzero((cores == k) & (inside == k)))


@garbage_collection_disabled()
def k_truss(G: NetworkXGraph, k: float) -> Any:
    """The largest part of the graph in which every edge is in k - 2 triangles or more, without
    nodes that have no edge.
    """
    _refuse_loops(G)
    # The 2-truss has all edges, and a triangle for each other node is the most that one has.
    finite = min(max(2, k), len(G) + 1)
    edges = truss(G.to_penstock(), math.ceil(finite)).edges
    names = G.to_penstock().ids
    return G.with_only(np.searchsorted(names, edges.src), np.searchsorted(names, edges.dst))


def _cores(G: NetworkXGraph, given: Cores | None) -> Array:
    """Core numbers by place: those that are given, NaN where none is, or counted."""
    if given is None:
        _refuse_loops(G)
        found: Array = numbers(G.to_penstock()).values
        return found
    cores: Array = np.full(len(G), np.nan)
    for node, number in given.items():
        if (place := G.find(node)) is not None:
            cores[place] = number
    return cores


def _largest(cores: Array, given: Cores | None) -> Any:
    """The largest core number; of those that are given, also if the node is not there."""
    if len(cores if given is None else given) == 0:
        raise ValueError("without core numbers there is no largest core; give k")
    return cores.max() if given is None else max(given.values())


def _refuse_loops(G: NetworkXGraph) -> None:
    if G.loops.any():
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )

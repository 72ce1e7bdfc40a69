"""The neighbourhood of a node."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms._in_order.lists import join
from penstock.algorithms._in_order.paths_unweighted import search
from penstock.algorithms.egonet import egonet
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.paths_unweighted import level_limit
from penstock.interfaces.nx.paths_weighted import single_source_dijkstra_path_length
from penstock.interfaces.nx.places import place_or
from penstock.types import Array


def ego_graph(
    G: NetworkXGraph,
    n: Node,
    radius: float | None = 1,
    center: bool = True,
    undirected: bool = False,
    distance: Weight = None,
) -> Any:
    """The nodes within a radius of one, and all edges among them: a graph of NetworkX if ``G`` is
    one, else of Penstock's, in memory.
    """
    place = place_or(G, n, "Source {} is not in G")
    if distance is not None:
        places = _within(G, n, radius, distance, undirected=undirected)
    else:
        places = _around(G, place, level_limit(radius), undirected=undirected)
    return G.part(places if center else places[places != place])


def _around(G: NetworkXGraph, place: int, limit: int | None, *, undirected: bool) -> Array:
    """The places of all nodes within so many edges."""
    if isinstance(G, ListedGraph):
        lists = G.lists()
        if undirected and G.directed:
            lists = join(lists, G.lists("in"))
        return search(lists, np.array([place]), limit).order
    graph = G.to_penstock()
    hops = len(G) if limit is None else limit
    found = egonet(graph, graph.ids[place], radius=hops, undirected=undirected)
    return np.searchsorted(graph.ids, found.ids)


def _within(
    G: NetworkXGraph, node: Node, radius: float | None, distance: Weight, *, undirected: bool
) -> Array:
    """The places of all nodes within a radius by weight."""
    searched = G
    if undirected and G.is_directed():
        # Which of two opposite edges an undirected one weighs like is for NetworkX to say.
        searched = ListedGraph(G.to_networkx().to_undirected())
    near = single_source_dijkstra_path_length(searched, node, cutoff=radius, weight=distance)
    return G.places_of(list(near))

"""Graphs of NetworkX, and the same as the backend has them."""

from __future__ import annotations

import networkx as nx
import numpy as np

import penstock as ps
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph

#: How a graph can come to the backend.
WAYS = ("listed", "memory", "disk", "live")


def random_graph(nodes, edges, seed, *, directed=False, weights=None, loops=False):
    """Nodes 0 .. nodes - 1, some of them without edges; weights "int", "float" or None."""
    rng = np.random.default_rng(seed)
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(nodes))
    ends = rng.integers(0, nodes, (edges, 2)).tolist()
    graph.add_edges_from((u, v) for u, v in ends if loops or u != v)
    for _, _, data in graph.edges(data=True):
        if weights == "int":
            data["weight"] = int(rng.integers(1, 10))
        elif weights == "float":
            data["weight"] = float(rng.random()) + 0.01
    return graph


def backend_graph(graph, way, folder=None):
    """The graph, whose nodes are 0 .. n-1, as one of ``WAYS`` has it."""
    if way == "listed":
        return ListedGraph(graph)
    edges = list(graph.edges(data="weight"))
    src, dst = (np.array([edge[k] for edge in edges], np.int64) for k in (0, 1))
    weight = None
    if edges and edges[0][2] is not None:
        weight = np.array([edge[2] for edge in edges])
    options = {"directed": graph.is_directed(), "num_vertices": len(graph)}
    if way == "memory":
        return StoredGraph(ps.from_edges(src, dst, weight, **options))
    if way == "disk":
        arrays = (src, dst) if weight is None else (src, dst, weight)
        return StoredGraph(ps.build(arrays, folder / "g.penstock", overwrite=True, **options))
    properties = {} if weight is None else {"weight": weight}
    live = ps.DynamicGraph(
        directed=graph.is_directed(),
        reverse=graph.is_directed() or None,
        edge_properties={name: values.dtype for name, values in properties.items()},
        weight="weight" if properties else None,
    )
    live.add_vertices(np.arange(len(graph)))
    live.add_edges(src, dst, properties)
    return StoredGraph(live)

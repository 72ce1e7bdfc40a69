"""How central nodes and edges are: by degrees, by distances, by shortest paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.algorithms._brandes import scale_of
from penstock.algorithms._brandes_whole import sweep
from penstock.algorithms._in_order.centrality import (
    add_dependencies,
    add_distances,
    match_entries,
    owners_of,
    paths_over,
)
from penstock.algorithms._in_order.lists import Lists, transpose
from penstock.algorithms._in_order.paths_unweighted import search
from penstock.algorithms.betweenness import betweenness, scale_sums
from penstock.algorithms.closeness import closeness
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.interfaces.nx.stored import StoredGraph
from penstock.process import garbage_collection_disabled
from penstock.types import Array


def degree_centrality(G: NetworkXGraph) -> dict[Node, float]:
    """The share of the other nodes that each node has edges to or from."""
    return _shares(G, G.degrees("out") + (G.degrees("in") if G.directed else 0))


def in_degree_centrality(G: NetworkXGraph) -> dict[Node, float]:
    """The share of the other nodes that each node has edges from."""
    return _shares(G, G.degrees("in"))


def out_degree_centrality(G: NetworkXGraph) -> dict[Node, float]:
    """The share of the other nodes that each node has edges to."""
    return _shares(G, G.degrees("out"))


def _shares(G: NetworkXGraph, degrees: Array) -> dict[Node, float]:
    if len(G) <= 1:
        return dict.fromkeys(G.names, 1)
    return G.named(degrees * (1.0 / (len(G) - 1.0)))


def closeness_centrality(
    G: NetworkXGraph, u: Node = None, distance: Weight = None, wf_improved: bool = True
) -> dict[Node, float] | float:
    """The reciprocal of the mean distance from the others, of each node or of one."""
    distance = G.if_there(distance)
    if u is None and distance is None:
        return G.named(closeness(G.to_penstock(), wf_improved=wf_improved).values)
    places: Array = np.arange(len(G)) if u is None else np.array([G.place(u)])
    sums, counts = _distances_to(G, places, distance)
    values: Array = np.zeros(len(places))
    np.divide(counts - 1, sums, out=values, where=sums > 0)
    if wf_improved and len(G) > 1:
        values *= (counts - 1) / (len(G) - 1)
    return G.named(values) if u is None else float(values[0])


def _distances_to(G: NetworkXGraph, places: Array, weight: Weight) -> tuple[Array, Array]:
    """The sum of the distances to each of some nodes, and how many there are, itself included; to
    one node only if not by weight.
    """
    lists = G.lists("in", weight)
    if lists.weights is None:
        levels = np.diff(search(lists, places).starts)
        return np.array([levels @ np.arange(len(levels))]), np.array([levels.sum()])
    sums: Array = np.empty(len(places))
    counts: Array = np.empty(len(places), np.int64)
    if not add_distances(*lists[:3], owners_of(lists), places, paths_over(lists), sums, counts):
        raise ValueError("Contradictory paths found:", "negative weights?")
    return sums, counts


def betweenness_centrality(
    G: NetworkXGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Weight = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Node, float]:
    """The share of shortest paths that go through each node, from all nodes or from k of them,
    which are those that NetworkX would draw.
    """
    some = k is not None and k != len(G)
    ends = len(G) if endpoints else len(G) - 1
    places = _drawn(G, k if some else None, seed, ends)
    if len(places) == 0:
        return dict.fromkeys(G.names, 0.0)
    graph, weight = G.to_penstock(), G.if_there(weight)
    several = G.multigraph and isinstance(G, StoredGraph)  # paths of their own to Penstock's
    if weight is None and not several:
        sources = graph.ids[places] if some else None
        found = betweenness(graph, normalized=normalized, endpoints=endpoints, sources=sources)
        return G.named(found.values)
    totals = _dependencies(_weighed(G, weight), places, extra=1.0 if endpoints else 0.0)
    scale_sums(graph, totals, places, some=some, normalized=normalized, endpoints=endpoints)
    return G.named(totals)


@garbage_collection_disabled()
def edge_betweenness_centrality(
    G: NetworkXGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Weight = None,
    seed: Any = None,
) -> dict[tuple[Node, ...], float]:
    """The share of shortest paths that go along each edge, from all nodes or from k of them, which
    are those that NetworkX would draw. Parallel edges of the same length share alike.
    """
    places = _drawn(G, k, seed, len(G))
    lists = _weighed(G, G.if_there(weight))
    src, dst = owners_of(lists), lists.neighbours
    carried = _dependencies(lists, places, of_edges=True)
    carried *= scale_of(G.to_penstock(), len(places), normalized=normalized, endpoints=True)
    if not G.directed:
        both = carried + carried[_reverse(lists)]
        once = src <= dst
        src, dst, carried = src[once], dst[once], np.where(src == dst, carried, both)[once]
    ends = zip(G.names_at(src), G.names_at(dst), strict=True)
    found = dict(zip(ends, carried.tolist(), strict=True))
    return dict(_by_key(G, found, weight)) if G.multigraph else found


def _weighed(G: NetworkXGraph, weight: Weight) -> Lists:
    lists = G.lists("out", weight)
    if callable(weight) and len(lists.neighbours) < len(G.lists().neighbours):
        raise TypeError("weight: the function gave None for an edge; betweenness hides no edges")
    return lists


def _drawn(G: NetworkXGraph, k: int | None, seed: Any, ends: int) -> Array:
    """All places, or k as NetworkX draws them; so many nodes may be ends of a path that counts."""
    if k is None:
        return np.arange(len(G))
    if k == 0 and ends >= 2:
        raise ZeroDivisionError("k: paths from no node say nothing; expected 1 or more")
    return np.array(seed.sample(range(len(G)), k), np.int64)


def _dependencies(
    lists: Lists, places: Array, *, extra: float = 0.0, of_edges: bool = False
) -> Array:
    """What the nodes at these places depend on each node, or on each entry of the lists."""
    sums: Array = np.zeros(len(lists.neighbours) if of_edges else len(lists.offsets) - 1)
    if lists.weights is None:
        sources = places.astype(np.uint32)
        sweep(lists.offsets, lists.neighbours, sources, sums, extra, of_edges)
    else:
        owners, paths = owners_of(lists), paths_over(lists)
        add_dependencies(*lists[:3], owners, places, sums, extra, of_edges, paths)
    return sums


def _reverse(lists: Lists) -> Array:
    """The entry of the same edge in the other node's list, for each entry of undirected lists."""
    numbered = lists._replace(weights=np.arange(len(lists.neighbours), dtype=np.float64))
    back, reverse = transpose(numbered), np.empty(len(lists.neighbours), np.int64)
    marks: Array = np.empty(len(lists.offsets) - 1, np.int64)
    match_entries(lists.offsets, lists.neighbours, back.neighbours, back.weights, marks, reverse)
    return reverse


def _by_key(
    G: NetworkXGraph, found: dict[tuple[Node, ...], float], weight: Weight
) -> Iterator[tuple[tuple[Node, ...], float]]:
    """Edges of a multigraph with their keys: the shortest between two nodes share in what is
    theirs, others have nothing.
    """
    original = G.to_networkx()
    for (u, v), value in found.items():
        parallel = original[u][v]
        if callable(weight):
            shortest = weight(u, v, parallel)
            chosen = {key for key in parallel if weight(u, v, {key: parallel[key]}) == shortest}
        else:
            lengths = {key: data.get(weight, 1) for key, data in parallel.items()}
            shortest = min(lengths.values())
            chosen = {key for key in parallel if lengths[key] == shortest}
        for key in parallel:
            yield (u, v, key), value / len(chosen) if key in chosen else 0.0

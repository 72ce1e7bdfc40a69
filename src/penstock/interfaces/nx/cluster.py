"""Triangles, and how many of those that there could be there are.

What every function asks for is t(i): the sum of v(i, j) v(i, k) v(j, k) over all j and k other than
the node i. Undirected, v is 1 for an edge and t twice the number of triangles; directed, v counts
the edges between two nodes, one or two. By weight, v is the sum of the cube roots of these edges'
weights over the largest, so that a product is the geometric mean of a triangle.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.cluster import (
    add_triangles,
    count_mutual,
    count_triangles,
)
from penstock.algorithms._in_order.lists import Lists
from penstock.algorithms.triangles import triangles as counted
from penstock.interfaces.nx.graph import NetworkXGraph
from penstock.interfaces.nx.stored import StoredGraph
from penstock.types import U32, Array


def triangles(G: NetworkXGraph, nodes: Any = None) -> Any:
    """How many triangles each node is in, or one of them; loops and parallel edges make none."""
    if nodes is not None:
        _refuse_parallel(G)
    places = G.places_of(nodes)
    return _of_nodes(G, nodes, places, (_doubled(G, places) // 2).tolist())


def clustering(G: NetworkXGraph, nodes: Any = None, weight: str | None = None) -> Any:
    """The clustering coefficient of each node, or of one of them; Fagiolo's of directed graphs."""
    places = G.places_of(nodes)
    return _of_nodes(G, nodes, places, _coefficients(G, places, weight))


def average_clustering(
    G: NetworkXGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True
) -> float:
    """The mean of the clustering coefficients, or of those that are not 0."""
    places = np.array(list(dict.fromkeys(G.places_of(nodes).tolist())), np.int64)
    found = [each for each in _coefficients(G, places, weight) if count_zeros or each != 0]
    return sum(found) / len(found)


def transitivity(G: NetworkXGraph) -> float:
    """The share of pairs of edges from a node that a third one closes. In a directed graph these
    are edges that leave it, and the third leads from the one's end to the other's.
    """
    _refuse_parallel(G)
    every = np.arange(len(G))
    closed = _sums([G.lists()], every) if G.directed else _doubled(G, every)
    degrees = G.degrees() - G.loops * (1 if G.directed else 2)
    return 0 if not closed.any() else float(closed.sum() / (degrees * (degrees - 1)).sum())


def _coefficients(G: NetworkXGraph, places: Array, weight: str | None) -> list[float]:
    """Clustering coefficients of some nodes; a whole number where there is no triangle."""
    _refuse_parallel(G)
    sums, most = (_directed if G.directed else _undirected)(G, places, weight)
    shares = np.divide(sums, most, out=np.zeros(len(sums)), where=sums != 0)
    return [share or 0 for share in shares.tolist()]


def _undirected(G: NetworkXGraph, places: Array, weight: str | None) -> tuple[Array, Array]:
    """t of some nodes, and what it is at most."""
    degrees = (G.degrees() - 2 * G.loops)[places]
    most = degrees * (degrees - 1)
    if weight is None:
        return _doubled(G, places), most
    return _rooted_sums([G.lists("out", weight)], places), most


def _directed(G: NetworkXGraph, places: Array, weight: str | None) -> tuple[Array, Array]:
    """t of some nodes, and what it is at most: both edges of a triangle lead to other nodes."""
    sides = [G.lists("out", weight), G.lists("in", weight)]
    degrees = (G.degrees("out") + G.degrees("in") - 2 * G.loops)[places]
    mutual: Array = np.empty(len(places), np.int64)
    count_mutual(*_columns(sides)[:2], places, np.zeros(len(G)), mutual)
    sums = _sums(sides, places) if weight is None else _rooted_sums(sides, places)
    return sums, 2 * (degrees * (degrees - 1) - 2 * mutual)


def _doubled(G: NetworkXGraph, places: Array) -> Array:
    """Twice the triangles of some nodes of an undirected graph. A graph that is stored streams for
    one of them as for all; of another, only what is near them is looked at.
    """
    if isinstance(G, StoredGraph):
        streamed: Array = 2 * counted(G.to_penstock()).values
        return streamed[places]
    if len(places) < len(G):
        return _sums([G.lists()], places).astype(np.int64)
    offsets, neighbours, *_ = G.lists()
    counts: Array = np.zeros(len(G), np.int64)
    starts = np.empty_like(offsets)
    ahead: U32 = np.empty(len(neighbours) + 1, np.uint32)
    count_triangles(offsets, neighbours, starts, ahead, np.zeros(len(G), np.uint8), counts)
    return 2 * counts[places]


def _sums(sides: list[Lists], places: Array) -> Array:
    """t of some nodes, over lists whose weights are v."""
    sums: Array = np.empty(len(places))
    add_triangles(*_columns(sides), places, np.zeros(len(sides[0].offsets) - 1), sums)
    return sums


def _rooted_sums(sides: list[Lists], places: Array) -> Array:
    """t of some nodes by weight: NaN if an edge of a triangle has no finite share in the largest
    weight (inf / inf), but an edge that is in none of its triangles does nothing to a node.
    """
    roots = [_roots(side) for side in sides]
    finite = [np.isfinite(each) for each in roots]

    def summed(values: list[Array]) -> Array:
        pairs = zip(sides, values, strict=True)
        return _sums([side._replace(weights=each) for side, each in pairs], places)

    if all(each.all() for each in finite):
        return summed(roots)
    known = summed([np.where(ok, each, 0) for ok, each in zip(finite, roots, strict=True)])
    within = summed([each.astype(np.float64) for each in finite])
    return np.where(within == summed([np.ones(len(each)) for each in roots]), known, np.nan)


def _columns(sides: list[Lists]) -> tuple[tuple[Array, ...], ...]:
    none: Array = np.empty(0)
    weights = tuple(none if side.weights is None else side.weights for side in sides)
    return tuple(side.offsets for side in sides), tuple(side.neighbours for side in sides), weights


def _roots(lists: Lists) -> Array:
    """The cube roots of weights over the largest."""
    assert lists.weights is not None
    if len(lists.weights) == 0:
        return lists.weights
    largest = lists.weights.max()
    if largest == 0:
        raise ZeroDivisionError("the largest weight is 0, and weights are divided by it")
    with np.errstate(invalid="ignore"):
        roots: Array = np.cbrt(lists.weights / largest)
    return roots


def _of_nodes(G: NetworkXGraph, nodes: Any, places: Array, values: list[Any]) -> Any:
    """Values by name, or the only one if ``nodes`` is a node."""
    if nodes is None:
        return G.named(values)
    return values[0] if G.find(nodes) is not None else G.named_at(places, values)


def _refuse_parallel(G: NetworkXGraph) -> None:
    if G.multigraph:
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")

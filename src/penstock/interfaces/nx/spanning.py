"""Spanning trees and forests, the lightest or the heaviest.

Of a graph of NetworkX, all algorithms choose the edges that NetworkX's choose, in the same order.
Those of a graph of Penstock come in the order of its nodes, whichever the algorithm; of several
edges between two nodes the one that counts has the key 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from math import isnan
from operator import getitem
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.lists import Lists, keep
from penstock.algorithms._in_order.spanning import (
    edges_once,
    grow_tree,
    heavy_between_trees,
    join_trees,
    merge_trees,
)
from penstock.algorithms.minimum_spanning_forest import minimum_spanning_forest
from penstock.config import thread_count
from penstock.engine.result import Result
from penstock.interfaces.export import ranked_edges
from penstock.interfaces.nx.graph import NetworkXGraph, Weight
from penstock.interfaces.nx.listed import ListedGraph
from penstock.interfaces.nx.stored import StoredGraph
from penstock.process import garbage_collection_disabled
from penstock.types import Array

#: The places of both ends of each edge.
Ends = tuple[Array, Array]
Edge = tuple[Any, ...]


class _Wanted(NamedTuple):
    """Which forest: of the least sum of weights, each times the sign."""

    algorithm: str
    weight: Weight
    ignore_nan: bool
    sign: int


def minimum_spanning_edges(
    G: NetworkXGraph,
    algorithm: str = "kruskal",
    weight: Weight = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[Edge]:
    """The edges of a minimum spanning forest."""
    wanted = _Wanted(algorithm, weight, ignore_nan, 1)
    _check(G, algorithm)
    return _edges(G, wanted, keys, data)


def maximum_spanning_edges(
    G: NetworkXGraph,
    algorithm: str = "kruskal",
    weight: Weight = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[Edge]:
    """The edges of a maximum spanning forest."""
    wanted = _Wanted(algorithm, weight, ignore_nan, -1)
    _check(G, algorithm)
    return _edges(G, wanted, keys, data)


def minimum_spanning_tree(
    G: NetworkXGraph,
    weight: Weight = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
) -> Any:
    """A minimum spanning forest as a graph with all nodes: of NetworkX with all attributes, or of
    Penstock, in memory, with all columns.
    """
    return _tree(G, _Wanted(algorithm, weight, ignore_nan, 1))


def maximum_spanning_tree(
    G: NetworkXGraph,
    weight: Weight = "weight",
    algorithm: str = "kruskal",
    ignore_nan: bool = False,
) -> Any:
    """A maximum spanning forest as a graph with all nodes: of NetworkX with all attributes, or of
    Penstock, in memory, with all columns.
    """
    return _tree(G, _Wanted(algorithm, weight, ignore_nan, -1))


def _check(G: NetworkXGraph, algorithm: str) -> None:
    if G.directed:
        raise nx.NetworkXNotImplemented("not implemented for directed type")
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"{algorithm} is not a valid choice for an algorithm.")
    if G.multigraph and _ALGORITHMS[algorithm] is _boruvka:
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")


def _tree(G: NetworkXGraph, wanted: _Wanted) -> Any:
    _check(G, wanted.algorithm)
    if isinstance(G, StoredGraph):
        return G.with_edges(_table(G, wanted))
    assert isinstance(G, ListedGraph)
    tree = G.original.__class__()
    tree.graph.update(G.original.graph)
    edges = _edges(G, wanted, keys=True, data=True)
    with garbage_collection_disabled():
        tree.add_nodes_from(G.original)
        for node, attributes in G.original._node.items():
            if attributes:
                tree.nodes[node].update(attributes)
        tree.add_edges_from(edges)
    return tree


def _edges(G: NetworkXGraph, wanted: _Wanted, keys: bool, data: bool) -> Iterator[Edge]:
    """The edges of a forest as tuples, with keys if there are any and attributes if asked for."""
    if isinstance(G, StoredGraph):
        found = _stored_edges(G, wanted)
    else:
        assert isinstance(G, ListedGraph)
        found = _listed_edges(G, wanted)
    src, dst, names, attributes = found
    shown = [src, dst]
    if keys and G.multigraph:
        shown.append(names)
    if data:
        shown.append(attributes)
    with garbage_collection_disabled():
        edges = list(zip(*shown, strict=True))
    yield from edges


def _stored_edges(G: StoredGraph, wanted: _Wanted) -> tuple[Iterable[Any], ...]:
    """Both ends, keys and attributes of the forest's edges, one after another."""
    table = _table(G, wanted)
    src, dst = table.src.tolist(), table.dst.tolist()
    names = [each.name for each in G.stored.columns]
    columns = [getattr(table, name).tolist() for name in names]
    rows = zip(*columns, strict=True) if columns else repeat((), len(src))
    return src, dst, repeat(0, len(src)), (dict(zip(names, row, strict=True)) for row in rows)


def _listed_edges(G: ListedGraph, wanted: _Wanted) -> tuple[Iterable[Any], ...]:
    """See :func:`_stored_edges`."""
    src, dst = (G.names_at(places) for places in _ends(G, wanted))
    # In compiled code of the interpreter: a graph of a million edges has many of them.
    between: Iterable[Any] = map(getitem, map(G.original._adj.__getitem__, src), dst)
    if not G.multigraph:
        return src, dst, (), between
    several = list(between)
    keys = list(map(_lightest(wanted), several))
    return src, dst, keys, map(getitem, several, keys)


def _lightest(wanted: _Wanted) -> Callable[[Mapping[Any, Any]], Any]:
    """The key of the edge that counts among several between two nodes; None if none does."""

    def lightest(between: Mapping[Any, Any]) -> Any:
        weights = {
            key: wanted.sign * attributes.get(wanted.weight, 1)
            for key, attributes in between.items()
        }
        numbers = [key for key, weight in weights.items() if not isnan(weight)]
        return min(numbers, key=weights.__getitem__, default=None)

    return lightest


def _ends(G: ListedGraph, wanted: _Wanted) -> Ends:
    """The edges of the forest of a graph of NetworkX."""
    if G.multigraph:
        lists = _lists_of_lightest(G, wanted)
        hidden = True
    else:
        every = _weighted(G.lists("out", wanted.weight))
        assert every.weights is not None
        lists = keep(every, ~np.isnan(every.weights))
        hidden = len(lists.neighbours) < len(G.lists().neighbours)
    if hidden and not wanted.ignore_nan:
        _refuse_nan(G, wanted)
    return _ALGORITHMS[wanted.algorithm](G, lists, wanted.sign)


def _lists_of_lightest(G: ListedGraph, wanted: _Wanted) -> Lists:
    lightest = _lightest(wanted)

    def weigh(_u: Any, _v: Any, between: Mapping[Any, Any]) -> Any:
        key = lightest(between)
        return None if key is None else between[key].get(wanted.weight, 1)

    return G.lists("out", weigh)


def _refuse_nan(G: ListedGraph, wanted: _Wanted) -> None:
    """Loops are looked at by Kruskal's algorithm only."""
    keys = {"keys": True} if G.multigraph else {}
    for edge in G.original.edges(data=True, **keys):
        if isnan(edge[-1].get(wanted.weight, 1)) and (
            edge[0] != edge[1] or wanted.algorithm == "kruskal"
        ):
            raise ValueError(f"NaN found as an edge weight. Edge {edge}")


def _weighted(lists: Lists) -> Lists:
    """The lists, where every edge has a weight."""
    if lists.weights is not None:
        return lists
    return lists._replace(weights=np.ones(len(lists.neighbours)))


def _kruskal(G: NetworkXGraph, lists: Lists, sign: int) -> Ends:
    src, dst, weights = edges_once(*lists[:3])
    chosen = _lightest_forest(len(G), src, dst, sign * weights)
    return src[chosen], dst[chosen]


def _lightest_forest(n: int, src: Array, dst: Array, weights: Array) -> Array:
    """Which edges make the forest, from light to heavy, of equal ones in their order. The lightest
    are sorted first, and then those of the others that still join trees.
    """
    parents: Array = np.arange(n)
    few, limit = 2 * n, np.inf
    if len(src) > 2 * few:
        limit = np.partition(weights, few)[few]
    light = np.flatnonzero(weights <= limit)
    chosen = _join_sorted(light, src, dst, weights, parents)
    if len(light) == len(src):
        return chosen
    heavy = heavy_between_trees(limit, src, dst, weights, parents)
    return np.concatenate([chosen, _join_sorted(heavy, src, dst, weights, parents)])


def _join_sorted(edges: Array, src: Array, dst: Array, weights: Array, parents: Array) -> Array:
    order = edges[np.argsort(weights[edges], kind="stable")]
    chosen: Array = join_trees(order, src, dst, parents)
    return chosen


def _prim(G: NetworkXGraph, lists: Lists, sign: int) -> Ends:
    """A tree grows from a node that a set of those that are left gives, which is how NetworkX
    chooses it.
    """
    n = len(G)
    src, dst = np.empty(n, np.int64), np.empty(n, np.int64)
    visited, best = np.zeros(n, np.bool_), np.full(n, np.nan)
    left = set(G.names)
    end = 0
    while left:
        place = G.place(left.pop())
        begin = end
        end = grow_tree(place, *lists[:3], sign, visited, best, src, dst, begin)
        # One by one: a difference would change the order of the set.
        for node in G.names_at(dst[begin:end]):
            left.discard(node)
    return src[:end], dst[:end]


def _boruvka(G: NetworkXGraph, lists: Lists, sign: int) -> Ends:
    src, dst = np.empty(len(G), np.int64), np.empty(len(G), np.int64)
    count = merge_trees(*lists[:3], sign, src, dst)
    return src[:count], dst[:count]


_ALGORITHMS: dict[str, Callable[[NetworkXGraph, Lists, int], Ends]] = {
    "boruvka": _boruvka,
    "borůvka": _boruvka,
    "kruskal": _kruskal,
    "prim": _prim,
}


def _table(G: StoredGraph, wanted: _Wanted) -> Result:
    """The edges of the forest of a graph of Penstock, with all columns."""
    column, graph = G.column(wanted.weight), G.stored
    plain = wanted.sign == 1 and not wanted.ignore_nan
    others = any(each.name != column for each in graph.columns)
    if column == graph.weight and not others and (plain or column is None):
        return minimum_spanning_forest(G.to_penstock(wanted.weight)).edges
    src, dst, columns = _sift(G, wanted)
    order, ids = np.lexsort((dst, src)), G.stored.ids
    columns = {name: values[order] for name, values in columns.items()}
    return Result.table("dst", ids[src[order]], ids[dst[order]], id_name="src", columns=columns)


def _sift(G: StoredGraph, wanted: _Wanted) -> tuple[Array, Array, dict[str, Array]]:
    """The forest of the edges that have gone past, which those that come have to better."""
    column = G.column(wanted.weight)
    src, dst = np.empty(0, np.int64), np.empty(0, np.int64)
    columns = {each.name: np.empty(0, each.dtype) for each in G.stored.columns}
    for more_src, more_dst, more in ranked_edges(G.stored, thread_count()):
        src, dst = np.concatenate([src, more_src]), np.concatenate([dst, more_dst])
        columns = {name: np.concatenate([columns[name], more[name]]) for name in columns}
        weights = np.ones(len(src)) if column is None else columns[column].astype(np.float64)
        numbers = np.flatnonzero(~np.isnan(weights))
        if len(numbers) < len(src) and not wanted.ignore_nan:
            raise ValueError(f"NaN found as an edge weight: {column} of a graph of Penstock")
        weights = wanted.sign * weights[numbers]
        chosen = numbers[_lightest_forest(len(G), src[numbers], dst[numbers], weights)]
        src, dst = src[chosen], dst[chosen]
        columns = {name: values[chosen] for name, values in columns.items()}
    return src, dst, columns

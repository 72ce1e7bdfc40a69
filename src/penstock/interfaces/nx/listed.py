"""A graph of NetworkX, its dictionaries read into lists once and kept.

What is read is what a function asks for: the lists, then one array for each weight. The NetworkX
graph stays the owner of names and attributes, and must not be changed while this one is used;
NetworkX forgets a converted graph when its own is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.lists import Lists, Parallel, keep, weigh_backwards
from penstock.interfaces.nx.dictionaries import read_lists, read_weights
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.interfaces.nx.in_memory import graph_of_lists
from penstock.store.graph import Graph
from penstock.types import Array, Direction


class ListedGraph(NetworkXGraph):
    """See the module."""

    def __init__(self, original: nx.Graph) -> None:
        self.original = original
        self.directed = original.is_directed()
        self.multigraph = original.is_multigraph()
        self._lists: dict[Any, Lists] = {}
        self._graphs: dict[Any, Graph] = {}

    @classmethod
    def of(cls, original: nx.Graph) -> ListedGraph:
        """That of a graph; the same one as long as NetworkX keeps it, whatever attributes it was
        converted for.
        """
        if hasattr(original, "_graph"):
            # It is a view, which changes with another graph, and NetworkX would not notice.
            original.__networkx_cache__ = None
        cache = getattr(original, "__networkx_cache__", None) or {}
        for kept in cache.get("backends", {}).get("penstock", {}).values():
            if isinstance(kept, ListedGraph):
                return kept
        return cls(original)

    def __reduce__(self) -> tuple[Any, ...]:
        return ListedGraph, (self.original,)

    @cached_property
    def names(self) -> Any:
        """The names by place."""
        names = list(self.original)
        numbers = range(len(names))
        # True == 1 and 1.0 == 1, but users want back what they gave.
        plain = all(type(name) is int for name in names) and names == list(numbers)
        return numbers if plain else names

    @cached_property
    def _places(self) -> dict[Node, int]:
        return {name: place for place, name in enumerate(self.names)}

    def find(self, node: Node) -> int | None:
        """The place of a node; None if there is none of that name."""
        try:
            return self._places.get(node)
        except TypeError:  # it cannot be hashed, so it is not a node
            return None

    def __getitem__(self, node: Node) -> Mapping[Node, Any]:
        """See :meth:`NetworkXGraph.__getitem__`."""
        found: Mapping[Node, Any] = self.original[node]
        return found

    @cached_property
    def num_edges(self) -> int:
        """How many edges there are."""
        return int(self.original.number_of_edges())

    def number_of_edges(self, u: Node = None, v: Node = None) -> int:
        """How many edges there are, or how many from one node to another."""
        return self.num_edges if u is None else int(self.original.number_of_edges(u, v))

    def lists(
        self, direction: Direction = "out", weight: Weight = None, parallel: Parallel = "min"
    ) -> Lists:
        """See :meth:`NetworkXGraph.lists`."""
        # A function may weigh an undirected edge differently from its two ends.
        direction = direction if self.directed or callable(weight) else "out"
        if callable(weight):  # which may give other weights the next time
            return self._make(direction, weight, parallel)
        key = (direction, weight, parallel if self.multigraph else None)
        if key not in self._lists:
            self._lists[key] = self._make(direction, weight, parallel)
        return self._lists[key]

    def _make(self, direction: Direction, weight: Weight, parallel: Parallel) -> Lists:
        if weight is None:
            return read_lists(self.original, self.names, direction)
        lists = self.lists(direction)
        if direction == "in":
            return weigh_backwards(lists, self.lists("out", weight, parallel))
        found = read_weights(self.original, weight, parallel, len(lists.neighbours))
        return keep(lists._replace(weights=found.weights, whole=found.whole), found.there)

    def to_penstock(self, weight: Weight = None, parallel: Parallel = "sum") -> Graph:
        """See :meth:`NetworkXGraph.to_penstock`."""
        key = (weight, parallel if self.multigraph else None)
        if key in self._graphs:
            return self._graphs[key]
        directions: tuple[Direction, ...] = ("out", "in") if self.directed else ("out",)
        lists = {each: self.lists(each, weight, parallel) for each in directions}
        made = graph_of_lists(np.arange(len(self)), lists)
        if not callable(weight):
            self._graphs[key] = made
        return made

    def degrees(self, direction: Direction = "out") -> Array:
        """See :meth:`NetworkXGraph.degrees`."""
        if not self.multigraph:
            sizes: Array = np.diff(self.lists(direction).offsets).astype(np.int64)
            return sizes if self.directed else sizes + self.loops
        if self.directed:
            degrees = self.original.out_degree if direction == "out" else self.original.in_degree
        else:
            degrees = self.original.degree
        return np.fromiter((degree for _, degree in degrees()), np.int64, len(self))

    @cached_property
    def loops(self) -> Array:
        """See :meth:`NetworkXGraph.loops`."""
        offsets, neighbours, *_ = self.lists()
        owners = np.repeat(np.arange(len(self)), np.diff(offsets))
        loops: Array = np.bincount(owners[owners == neighbours], minlength=len(self))
        if self.multigraph:
            for place in np.flatnonzero(loops).tolist():
                node = self.names[place]
                loops[place] = self.original.number_of_edges(node, node)
        return loops

    def part(self, places: Array) -> nx.Graph:
        """See :meth:`NetworkXGraph.part`."""
        return self.original.subgraph(self.names_at(places)).copy()

    def with_only(self, src: Array, dst: Array) -> nx.Graph:
        """See :meth:`NetworkXGraph.with_only`; not of a multigraph."""
        offsets, neighbours, *_ = self.lists()
        owners = np.repeat(np.arange(len(self)), np.diff(offsets))
        chosen = np.isin(owners * len(self) + neighbours, src * len(self) + dst)
        original, adjacency = self.original, self.original._adj
        made = original.__class__()
        made.graph.update(original.graph)
        nodes = self.names_at(np.unique(np.concatenate([src, dst])))
        made.add_nodes_from((node, original._node[node]) for node in nodes)
        ends = zip(self.names_at(owners[chosen]), self.names_at(neighbours[chosen]), strict=True)
        made.add_edges_from((u, v, adjacency[u][v]) for u, v in ends)
        return made

    def to_networkx(self) -> nx.Graph:
        """The graph that this was made of."""
        return self.original

"""What the functions of the backend know of a graph: places, names, lists, and a Penstock graph.

A node has a *name*, which is what NetworkX calls it, and a *place*, 0 .. n-1: its rank in the order
in which NetworkX iterates over the nodes. Results of Penstock's algorithms on what
:meth:`~NetworkXGraph.to_penstock` gives are by place: they ascend by id, and the ids by place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.lists import Lists, Parallel
from penstock.errors import OptionError
from penstock.store.graph import Graph
from penstock.types import U32, Array, Direction

Node = Any
#: What NetworkX's functions take: the name of an edge attribute, a function of an edge, or None.
Weight = str | Callable[[Node, Node, Any], Any] | None


class NetworkXGraph(ABC):
    """A graph that NetworkX's functions take, and send to the backend of this name."""

    __networkx_backend__ = "penstock"
    directed: bool
    multigraph: bool

    # For the functions of the backend

    @property
    @abstractmethod
    def names(self) -> Any:
        """The names by place: a list, or a range."""

    @abstractmethod
    def find(self, node: Node) -> int | None:
        """The place of a node; None if there is none of that name."""

    @abstractmethod
    def to_penstock(self, weight: Weight = None, parallel: Parallel = "sum") -> Graph:
        """The graph that algorithms run on, with these weights if there are any."""

    @abstractmethod
    def lists(
        self, direction: Direction = "out", weight: Weight = None, parallel: Parallel = "min"
    ) -> Lists:
        """All lists in memory. Edges that a weight function hides are not in them. Of an undirected
        graph both directions are the same.
        """

    @abstractmethod
    def degrees(self, direction: Direction = "out") -> Array:
        """The degree of each node, by place, as NetworkX counts: every parallel edge, and a
        self-loop of an undirected graph twice.
        """

    @property
    @abstractmethod
    def loops(self) -> Array:
        """How many edges each node has to itself, by place."""

    @abstractmethod
    def part(self, places: Array) -> Any:
        """A graph of its own of the nodes at these places and the edges among them, with all
        attributes.
        """

    @abstractmethod
    def with_only(self, src: Array, dst: Array) -> Any:
        """A graph of its own of some edges, given by the places of their ends, and of these ends,
        with all attributes. Undirected edges lead from the smaller place to the larger.
        """

    @abstractmethod
    def to_networkx(self) -> nx.Graph:
        """The graph as NetworkX has it."""

    def if_there(self, weight: Weight) -> Weight:
        """The weight; None if all edges are known to be without it, as each weighs 1 then."""
        return weight

    def place(self, node: Node) -> int:
        """The place of a node; raises NodeNotFound if there is none of that name."""
        found = self.find(node)
        if found is None:
            raise nx.NodeNotFound(f"Node {node} is not in the graph")
        return found

    def named(self, values: Array | list[Any]) -> dict[Node, Any]:
        """Values by place as a dictionary by name."""
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        return dict(zip(self.names, plain, strict=True))

    def named_at(self, places: Array, values: Array | list[Any]) -> dict[Node, Any]:
        """The values of some places as a dictionary by name."""
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        return dict(zip(self.names_at(places), plain, strict=True))

    def names_at(self, places: Array | Iterable[int]) -> list[Node]:
        """The names at some places."""
        plain = places.tolist() if isinstance(places, np.ndarray) else list(places)
        if isinstance(self.names, range):
            return plain
        names = self.names
        return [names[place] for place in plain]

    def places_of(self, nodes: Any) -> Array:
        """The places of those of ``nodes`` that there are: of one, of a collection of them, or of
        all for None (NetworkX's ``nbunch``), in their order.
        """
        if nodes is None:
            return np.arange(len(self))
        if (one := self.find(nodes)) is not None:
            return np.array([one])
        if not isinstance(nodes, Iterable):
            raise nx.NetworkXError(f"Node {nodes} is not in the graph.")
        found = []
        for node in nodes:
            if (place := self.find(node)) is not None:
                found.append(place)
            elif not isinstance(node, Hashable):
                raise nx.NetworkXError(f"Node {node} in sequence nbunch is not a valid node.")
        return np.array(found, np.int64)

    # For users and for those functions of NetworkX that are not dispatched

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.directed

    def is_multigraph(self) -> bool:
        """Whether there may be several edges between two nodes."""
        return self.multigraph

    @property
    @abstractmethod
    def num_edges(self) -> int:
        """How many edges there are."""

    def number_of_edges(self, u: Node = None, v: Node = None) -> int:
        """How many edges there are, or how many from one node to another."""
        if u is None:
            return self.num_edges
        place, other = self.find(u), self.find(v)
        if place is None or other is None:
            return 0
        offsets, neighbours, counts, _ = self.lists("out", None, "sum")
        row = slice(int(offsets[place]), int(offsets[place + 1]))
        found = neighbours[row] == other
        return int(found.sum() if counts is None else counts[row][found].sum())

    def number_of_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.names)

    order = number_of_nodes
    __len__ = number_of_nodes

    def size(self, weight: Weight = None) -> int:
        """How many edges there are."""
        _refuse_weight(weight, "size")
        return self.num_edges

    def subgraph(self, nodes: Any) -> Any:
        """A graph of its own of some nodes and the edges among them."""
        return self.part(self.places_of(nodes))

    def __iter__(self) -> Iterator[Node]:
        return iter(self.names)

    def __contains__(self, node: object) -> bool:
        return self.find(node) is not None

    has_node = __contains__

    @property
    def nodes(self) -> Nodes:
        """The nodes: ``for node in G.nodes``, ``node in G.nodes``, ``len(G.nodes)``."""
        return Nodes(self)

    @cached_property
    def degree(self) -> Degrees:
        """Degrees: ``G.degree[node]``, ``dict(G.degree)``, ``for node, degree in G.degree()``."""
        total = self.degrees("out")
        return Degrees(self, total + self.degrees("in") if self.directed else total)

    @cached_property
    def out_degree(self) -> Degrees:
        """Degrees of a directed graph, edges that leave a node only."""
        return Degrees(self, self.degrees("out"))

    @cached_property
    def in_degree(self) -> Degrees:
        """Degrees of a directed graph, edges that arrive at a node only."""
        return Degrees(self, self.degrees("in"))

    def neighbors(self, node: Node) -> Iterator[Node]:
        """The nodes that edges lead to from a node."""
        return iter(self._neighbours(node, "out"))

    successors = neighbors

    def predecessors(self, node: Node) -> Iterator[Node]:
        """The nodes that edges come from to a node."""
        return iter(self._neighbours(node, "in"))

    def has_edge(self, u: Node, v: Node) -> bool:
        """Whether an edge leads from one node to another."""
        return u in self and v in self._neighbours(u, "out")

    @abstractmethod
    def __getitem__(self, node: Node) -> Mapping[Node, Any]:
        """From each neighbour of a node to the attributes of the edge, as NetworkX has them."""

    def _neighbours(self, node: Node, direction: Direction) -> list[Node]:
        place = self.find(node)
        if place is None:
            raise nx.NetworkXError(f"The node {node} is not in the graph.")
        return self.names_at(self.neighbours_at(place, direction))

    def neighbours_at(self, place: int, direction: Direction = "out") -> U32:
        """The places of the neighbours of the node at a place."""
        offsets, neighbours, *_ = self.lists(direction)
        return neighbours[int(offsets[place]) : int(offsets[place + 1])]

    def __repr__(self) -> str:
        kind = ("Multi" if self.multigraph else "") + ("DiGraph" if self.directed else "Graph")
        return f"<{kind} of Penstock: {len(self):,} nodes, {self.number_of_edges():,} edges>"


class Nodes(Collection[Node]):
    """The nodes of a graph, without attributes."""

    def __init__(self, graph: NetworkXGraph) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[Node]:
        return iter(self._graph)

    def __len__(self) -> int:
        return len(self._graph)

    def __contains__(self, node: object) -> bool:
        return node in self._graph

    def __call__(self) -> Nodes:
        """Themselves, as NetworkX's views do."""
        return self

    def __repr__(self) -> str:
        return f"<{len(self):,} nodes>"


class Degrees:
    """The degrees of a graph's nodes."""

    def __init__(self, graph: NetworkXGraph, degrees: Array) -> None:
        self._graph = graph
        self._degrees = degrees

    def __getitem__(self, node: Node) -> int:
        place = self._graph.find(node)
        if place is None:
            raise KeyError(node)
        return int(self._degrees[place])

    def __iter__(self) -> Iterator[tuple[Node, int]]:
        return iter(zip(self._graph.names, self._degrees.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self._degrees)

    def __call__(self, nbunch: Any = None, weight: Weight = None) -> Any:
        """The degree of one node, or pairs of some (None: of all)."""
        _refuse_weight(weight, "degree")
        if nbunch is None:
            return self
        if (place := self._graph.find(nbunch)) is not None:
            return int(self._degrees[place])
        places = self._graph.places_of(nbunch)
        return iter(self._graph.named_at(places, self._degrees[places]).items())


def _refuse_weight(weight: Weight, what: str) -> None:
    if weight is not None:
        raise OptionError(
            f"{what}: counts edges only; for sums of weights use to_networkx(), or a table of the "
            "edges as in graph.to_polars()"
        )

"""A graph of Penstock as NetworkX's functions take it, wherever it is: nothing is converted.

Nodes are the user's ids, in ascending order. The functions that stream run on the graph as it is;
those that go from node to node load its lists once, which then have to fit into memory.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from penstock.algorithms._in_order.lists import Lists, Parallel, arrange, merge_parallel
from penstock.algorithms.induced_subgraph import induced_subgraph
from penstock.config import memory_budget
from penstock.dynamic.graph import DynamicGraph
from penstock.engine.result import Result
from penstock.errors import BudgetError, OptionError
from penstock.interfaces.nx.attributes import EdgeTable, Neighbours
from penstock.interfaces.nx.graph import NetworkXGraph, Node, Weight
from penstock.interfaces.nx.in_memory import graph_of_edges
from penstock.interfaces.opening import open_any
from penstock.store.graph import Graph
from penstock.types import U32, Array, Direction


class StoredGraph(NetworkXGraph):
    """See the module. Of a graph that changes it is a snapshot, which stays as it is."""

    def __init__(self, graph: Graph | DynamicGraph) -> None:
        self.stored = graph.snapshot() if isinstance(graph, DynamicGraph) else graph
        self.directed = self.stored.directed
        self.multigraph = self.stored.multigraph
        self._lists: dict[Any, Lists] = {}

    @cached_property
    def names(self) -> Any:
        """The names by place."""
        if self.stored.description.first_id == 0:
            return range(self.stored.num_vertices)
        return self.stored.ids.tolist()

    def find(self, node: Node) -> int | None:
        """The place of a node; None if there is none of that name."""
        ids = self.stored.ids
        if isinstance(node, float) and node.is_integer():  # which equals a whole number
            node = int(node)
        if not isinstance(node, str if ids.dtype == object else int | np.integer):
            return None
        place = int(np.searchsorted(ids, node))
        return place if place < len(ids) and ids[place] == node else None

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.stored.path is None:
            return super().__reduce_ex__(protocol)
        return _reopened, (str(self.stored.path.absolute()),)

    @property
    def num_edges(self) -> int:
        """How many edges there are."""
        return self.stored.num_edges

    def column(self, weight: Weight) -> str | None:
        """The column of the edges that a weight names; "weight" is also the graph's own. None:
        every edge weighs 1, which in NetworkX is so of edges without the attribute.
        """
        if callable(weight):
            raise OptionError(
                "weight: a graph of Penstock's has no attributes that a function could be given; "
                "name a column of its edges"
            )
        if weight == "weight" and self.stored.weight is not None:
            return self.stored.weight
        return weight if weight in {each.name for each in self.stored.columns} else None

    def if_there(self, weight: Weight) -> Weight:
        """See :meth:`NetworkXGraph.if_there`."""
        return self.column(weight)

    def is_whole(self, column: str | None) -> bool:
        """Whether the numbers of a column of the edges are whole; without one they are 1."""
        kinds = {each.name: each.dtype.kind for each in self.stored.columns}
        return column is None or kinds[column] in "iu"

    def to_penstock(self, weight: Weight = None, parallel: Parallel = "sum") -> Graph:
        """See :meth:`NetworkXGraph.to_penstock`; weighted only if there is such a column."""
        column = self.column(weight)
        if column is None or column == self.stored.weight:
            return self.stored
        raise OptionError(
            f"weight: edges have a column {column!r}, but the graph was built with "
            f"{self.stored.weight!r} as its weight; build it with weights={column!r}"
        )

    def lists(
        self, direction: Direction = "out", weight: Weight = None, parallel: Parallel = "min"
    ) -> Lists:
        """See :meth:`NetworkXGraph.lists`."""
        merged: Parallel = parallel if self.multigraph else "min"
        key = (self.stored.stored(direction), self.column(weight), merged)
        if key not in self._lists:
            self._lists[key] = self._load(*key)
        found = self._lists[key]
        if weight is not None and found.weights is None:
            return found._replace(weights=np.ones(len(found.neighbours)))
        return found

    def __getitem__(self, node: Node) -> Neighbours:
        """See :meth:`NetworkXGraph.__getitem__`; attributes are the columns of the edges, which are
        loaded when one is first asked for.
        """
        place = self.find(node)
        if place is None:
            raise KeyError(node)
        near = self.neighbours_at(place)
        return Neighbours(
            dict(zip(self.names_at(near), near.tolist(), strict=True)),
            lambda other: self._attributes(place, other),
        )

    def _attributes(self, place: int, other: int) -> dict[Any, Any]:
        if not self.directed:  # parallel edges have the same numbers from both ends
            place, other = sorted((place, other))
        return self._edge_table.attributes(place, other, multigraph=self.multigraph)

    @cached_property
    def _edge_table(self) -> EdgeTable:
        """All edges, with all columns."""
        direction = self.stored.stored("out")
        entries, columns = self._num_entries(direction), self.stored.columns
        self._check_room(entries, 12 + sum(column.dtype.itemsize for column in columns))
        neighbours: U32 = np.empty(entries, np.uint32)
        values = {column.name: np.empty(entries, column.dtype) for column in columns}
        degrees = self._read(direction, neighbours, values)
        # Numbers of edges in place of weights: a float64 has them exactly.
        numbers: Array = np.arange(entries, dtype=np.float64)
        lists = arrange(degrees, neighbours, numbers, self._order, self._ranks)
        assert lists.weights is not None
        order = lists.weights.astype(np.int64)
        moved = {name: column[order] for name, column in values.items()}
        return EdgeTable(lists.offsets, lists.neighbours, moved)

    def _num_entries(self, direction: Direction) -> int:
        return self.stored.list_stats(direction).num_edges

    def _check_room(self, entries: int, entry_bytes: int) -> None:
        # Put into order they are there four times for a moment.
        needed = 4 * (entries * entry_bytes + 8 * self.stored.num_vertices)
        # What there is of memory has lists that were loaded before taken off already.
        if needed > (room := memory_budget(None)):
            raise BudgetError(
                f"this function goes from node to node and needs all lists in memory, "
                f"{needed / 1e9:.1f} GB of {room / 1e9:.1f} GB; Penstock's own functions stream "
                "them, as do those of NetworkX that the backend's page says stream"
            )

    def _read(self, direction: Direction, neighbours: U32, values: dict[str, Array]) -> Array:
        """Fill arrays with the lists of a direction and some columns; gives the degrees."""
        degrees: Array = np.zeros(self.stored.num_vertices, np.int64)
        at = 0
        for part in self.stored.iter_adjacency(direction):
            end = at + len(part.neighbours)
            neighbours[at:end] = part.neighbours
            for name, column in values.items():
                column[at:end] = part.columns[name]
            # A long list is in several pages.
            degrees[part.first_vid : part.first_vid + len(part.degrees)] += part.degrees
            at = end
        return degrees

    def _load(self, direction: Direction, column: str | None, parallel: Parallel) -> Lists:
        entries = self._num_entries(direction)
        self._check_room(entries, 4 if column is None else 12)
        neighbours: U32 = np.empty(entries, np.uint32)
        # Without weights, several edges between two nodes weigh as many as they are.
        counted = column is None and parallel == "sum" and self.multigraph
        weights: Array = np.ones(entries if column or counted else 0)
        degrees = self._read(direction, neighbours, {} if column is None else {column: weights})
        given = weights if column or counted else None
        lists = arrange(degrees, neighbours, given, self._order, self._ranks)
        lists = lists._replace(whole=self.is_whole(column))
        return merge_parallel(lists, parallel) if self.multigraph else lists

    @cached_property
    def _order(self) -> Array:
        """The vertex number at each place."""
        order = self.stored.vid_of_rank
        return np.arange(len(self), dtype=np.uint32) if order is None else np.asarray(order)

    @cached_property
    def _ranks(self) -> Array:
        """The place of each vertex number."""
        ranks = np.empty(len(self), np.uint32)
        ranks[self._order] = np.arange(len(self), dtype=np.uint32)
        return ranks

    def degrees(self, direction: Direction = "out") -> Array:
        """See :meth:`NetworkXGraph.degrees`."""
        found = np.asarray(self.stored.degrees(direction)).astype(np.int64)[self._order]
        return found if self.directed else found + self.loops

    @cached_property
    def loops(self) -> Array:
        """How many edges each node has to itself, by place."""
        loops: Array = np.zeros(len(self), np.int64)
        for src, dst, _ in self.stored.iter_edges():
            np.add.at(loops, self._ranks[src[src == dst]], 1)
        return loops

    def part(self, places: Array) -> StoredGraph:
        """See :meth:`NetworkXGraph.part`; in memory."""
        wanted = self.stored.ids[np.sort(places)]
        return self._with_edges(wanted, induced_subgraph(self.stored, wanted).edges)

    def with_edges(self, edges: Result) -> StoredGraph:
        """A graph of the same nodes in memory, with some of the edges: a table of ``src`` and
        ``dst`` and the columns that edges have.
        """
        return self._with_edges(self.stored.ids, edges)

    def with_only(self, src: Array, dst: Array) -> StoredGraph:
        """See :meth:`NetworkXGraph.with_only`; in memory."""
        ids, n = self.stored.ids, len(self)
        wanted = ids[np.unique(np.concatenate([src, dst]))]
        among = induced_subgraph(self.stored, wanted).edges
        begin, end = np.searchsorted(ids, among.src), np.searchsorted(ids, among.dst)
        return self._with_edges(wanted, among, np.isin(begin * n + end, src * n + dst))

    def _with_edges(
        self, ids: Array, edges: Result, chosen: slice | Array = slice(None)
    ) -> StoredGraph:
        made = graph_of_edges(
            self.stored.description,
            ids,
            np.searchsorted(ids, edges.src[chosen]),
            np.searchsorted(ids, edges.dst[chosen]),
            {each.name: getattr(edges, each.name)[chosen] for each in self.stored.columns},
        )
        return StoredGraph(made)

    def to_networkx(self) -> nx.Graph:
        """The graph as NetworkX has it; refused if it is too large for that."""
        return self.stored.to_networkx()


def _reopened(path: str) -> StoredGraph:
    return StoredGraph(open_any(path))

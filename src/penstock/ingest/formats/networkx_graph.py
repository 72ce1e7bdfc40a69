"""NetworkX graphs of every class.

Nodes are integers or strings; all of them become vertices, with or without edges. The graph says
whether it is directed. Its edge attribute "weight" is the weight if any edge has it; an edge
without a weight has weight 1, as in NetworkX. Other attributes must be numbers that every edge has.
Keys of parallel edges, and attributes of nodes, are not kept. Read as directed, an undirected graph
has each edge in both directions, and a loop once, as in ``to_directed``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from penstock.ingest.formats._attributes import choose_attributes, number_array, number_type
from penstock.ingest.formats._labels import Labels, read_labels
from penstock.ingest.formats._objects import Edges, Rows, attribute_words, object_source
from penstock.protocols import ReadOptions, Source
from penstock.types import U64, Array

NAME = "networkx"
SUFFIXES: tuple[str, ...] = ()

_REMEDY = "number the nodes with nx.convert_node_labels_to_integers(G) or nx.relabel_nodes(G, ...)"
#: The weight of an edge that has none.
_NO_WEIGHT = 1


def accepts(data: object) -> bool:
    """Whether it is a graph of NetworkX."""
    library = sys.modules.get("networkx")
    return library is not None and isinstance(data, library.Graph)


def open_source(data: Any, options: ReadOptions) -> Source:
    """Open a graph; its edges are read in groups of nodes."""
    num_edges = data.number_of_edges()

    def has(name: str) -> bool:
        # Most graphs have no attributes at all, and that can be seen fast.
        return any(name in attributes for attributes in filter(None, _attributes(data)))

    weight, names = choose_attributes(options, NAME, has=has, num_edges=num_edges)
    defaults = {name: _NO_WEIGHT if name == weight else None for name in names}
    dtypes = {
        name: number_type(
            (each.get(name, default) for each in _attributes(data)), attribute_words(NAME, name)
        )
        for name, default in defaults.items()
    }
    labels = read_labels(list(data), options.ids, NAME, _REMEDY)
    both_ways = bool(options.directed) and not data.is_directed()

    def columns(attributes: Iterable[Mapping[str, Any]]) -> dict[str, Array]:
        arrays, found = {}, list(attributes) if defaults else []
        for name, default in defaults.items():
            values = (each.get(name, default) for each in found)
            what = attribute_words(NAME, name)
            arrays[name] = number_array(values, len(found), dtypes[name], what)
        return arrays

    def rows() -> Rows:
        for source, target, attributes in _edges(data, labels, options.chunk_rows):
            arrays = columns(attributes)
            if data.is_directed() or both_ways:
                yield source, target, arrays
            else:
                once = source <= target
                kept = {name: array[once] for name, array in arrays.items()}
                yield source[once], target[once], kept

    count = 2 * num_edges - _num_loops(data) if both_ways else num_edges
    edges = Edges(rows, count, data.is_directed(), dtypes, weight, have_ids=labels.as_given)
    return object_source(NAME, labels, edges, options.chunk_rows)


def _num_loops(graph: Any) -> int:
    loops = (nodes[node] for node, nodes in graph.adjacency() if node in nodes)
    return sum(len(edges) if graph.is_multigraph() else 1 for edges in loops)


def _attributes(graph: Any) -> Iterator[Mapping[str, Any]]:
    """The attributes of every edge; those of an undirected one from both ends."""
    return _each_edge((nodes for _, nodes in graph.adjacency()), multigraph=graph.is_multigraph())


def _each_edge(
    neighbours: Iterable[Mapping[Any, Any]], *, multigraph: bool
) -> Iterator[Mapping[str, Any]]:
    values = chain.from_iterable(nodes.values() for nodes in neighbours)
    return chain.from_iterable(edges.values() for edges in values) if multigraph else values


def _edges(
    graph: Any, labels: Labels, rows: int
) -> Iterator[tuple[U64, U64, Iterable[Mapping[str, Any]]]]:
    """The edges by their first end, undirected ones from both: as ids if these are the nodes
    themselves, else as places among the nodes; and their attributes.
    """
    multigraph = graph.is_multigraph()
    numbers: U64 = np.arange(len(labels.ids), dtype=np.uint64)
    places = {}
    if labels.as_given:
        numbers = labels.ids
    else:
        places = {node: place for place, node in enumerate(graph)}
    first = 0
    neighbours: Iterable[Any]
    for group in _groups(graph, rows):
        if multigraph:
            neighbours = (node for nodes in group for node, edges in nodes.items() for _ in edges)
            counts = [sum(map(len, nodes.values())) for nodes in group]
        else:
            neighbours = chain.from_iterable(group)
            counts = [len(nodes) for nodes in group]
        if places:
            neighbours = map(places.__getitem__, neighbours)
        source = np.repeat(numbers[first : first + len(group)], counts)
        target = np.fromiter(neighbours, np.uint64, len(source))
        yield source, target, _each_edge(group, multigraph=multigraph)
        first += len(group)


def _groups(graph: Any, rows: int) -> Iterator[list[Mapping[Any, Any]]]:
    """The neighbours of one node after another, in groups that have about so many."""
    held: list[Mapping[Any, Any]] = []
    count = 0
    for _, neighbours in graph.adjacency():
        held.append(neighbours)
        count += len(neighbours)
        if count >= rows:
            yield held
            held, count = [], 0
    yield held

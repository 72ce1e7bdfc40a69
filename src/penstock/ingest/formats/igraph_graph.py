"""igraph's graphs.

The vertex attribute "name" has the ids, integers or strings; without it they are 0 .. n-1. All
vertices are kept. The graph says whether it is directed. The edge attribute "weight" is the weight
if there is one; what else is asked for must be a number on every edge. Read as directed, an
undirected graph has each edge in both directions, and a loop once.
"""

from __future__ import annotations

import sys
from itertools import chain
from typing import Any

import numpy as np

from penstock.ingest.formats._attributes import choose_attributes, number_array, number_type
from penstock.ingest.formats._labels import read_labels
from penstock.ingest.formats._objects import Edges, Rows, attribute_words, object_source
from penstock.protocols import ReadOptions, Source
from penstock.types import U64, Array

NAME = "igraph"
SUFFIXES: tuple[str, ...] = ()

_NAMES = "name"
_REMEDY = "set graph.vs['name'], or delete it to have ids from 0 on"


def accepts(data: object) -> bool:
    """Whether it is a graph of igraph."""
    library = sys.modules.get("igraph")
    return library is not None and isinstance(data, library.Graph)


def open_source(data: Any, options: ReadOptions) -> Source:
    """Open a graph."""
    num_edges = data.ecount()
    known = set(data.edge_attributes())
    weight, names = choose_attributes(options, NAME, has=known.__contains__, num_edges=num_edges)
    # What is asked for of a graph without edges need not be there.
    dtypes = {
        name: number_type(data.es[name] if name in known else (), attribute_words(NAME, name))
        for name in names
    }
    named = _NAMES in data.vertex_attributes()
    objects = data.vs[_NAMES] if named else range(data.vcount())
    labels = read_labels(objects, options.ids, NAME, _REMEDY)
    both_ways = bool(options.directed) and not data.is_directed()

    def rows() -> Rows:
        numbers = chain.from_iterable(data.get_edgelist())
        ends = np.fromiter(numbers, np.uint64, 2 * num_edges).reshape(-1, 2)
        for start in range(0, num_edges, options.chunk_rows):
            edges = data.es[start : start + options.chunk_rows]
            columns = {
                name: number_array(edges[name], len(edges), dtype, attribute_words(NAME, name))
                for name, dtype in dtypes.items()
            }
            source, target = ends[start : start + len(edges)].T
            yield _both_ways(source, target, columns) if both_ways else (source, target, columns)

    count = 2 * num_edges - sum(data.is_loop()) if both_ways else num_edges
    edges = Edges(rows, count, data.is_directed(), dtypes, weight)
    return object_source(NAME, labels, edges, options.chunk_rows)


def _both_ways(
    source: U64, target: U64, columns: dict[str, Array]
) -> tuple[U64, U64, dict[str, Array]]:
    """Each edge, and right after it the same from its other end, so that the first and the last of
    parallel edges are the same in both directions.
    """
    kept = np.column_stack((np.ones(len(source), np.bool_), source != target)).ravel()
    return (
        np.column_stack((source, target)).ravel()[kept],
        np.column_stack((target, source)).ravel()[kept],
        {name: np.repeat(array, 2)[kept] for name, array in columns.items()},
    )

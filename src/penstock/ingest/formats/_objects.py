"""Graphs of other libraries, in memory, as sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from penstock.ingest.formats._labels import Labels
from penstock.ingest.formats._values import check_weight
from penstock.protocols import Advance, Source
from penstock.types import U64, Array, EdgeChunk

#: Both ends of some edges, as places among the vertices or as ids, and the edge columns.
Rows = Iterator[tuple[U64, U64, dict[str, Array]]]


class Edges(NamedTuple):
    """The edges of a graph, from its first one on each time that ``rows`` is called."""

    rows: Callable[[], Rows]
    num_edges: int
    directed: bool
    dtypes: dict[str, np.dtype[Any]]
    weight: str | None
    #: Whether rows have ids, not places among the vertices.
    have_ids: bool = False


def object_source(name: str, labels: Labels, edges: Edges, chunk_rows: int) -> Source:
    """A source of all vertices and edges, in chunks of so many rows."""
    weight = edges.weight

    def chunks(advance: Advance) -> Iterator[EdgeChunk]:
        done = 0
        for source, target, columns in edges.rows():
            if weight is not None:
                check_weight(columns[weight], attribute_words(name, weight), done)
            for start in range(0, len(source), chunk_rows):
                part = slice(start, start + chunk_rows)
                here = {column: array[part] for column, array in columns.items()}
                if edges.have_ids:
                    chunk = EdgeChunk(source[part], target[part], here)
                else:
                    chunk = EdgeChunk(labels.take(source[part]), labels.take(target[part]), here)
                yield chunk
                advance(len(chunk))
            done += len(source)

    declared = labels.range()
    return Source(
        chunks=chunks,
        size=edges.num_edges,
        unit="edges",
        id_kind=labels.kind,
        columns=dict(edges.dtypes),
        weight=weight,
        declared=declared,
        vertices=None if declared is not None else lambda: labels.all(chunk_rows),
        directed=edges.directed,
        name=name,
    )


def attribute_words(name: str, attribute: str) -> str:
    """How messages speak of an edge attribute."""
    return f"{name}: edge attribute {attribute!r}"

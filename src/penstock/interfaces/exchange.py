"""Graphs as objects of other libraries, in the user's ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.config import thread_count
from penstock.engine.result_columns import Namer, ids_of
from penstock.errors import BudgetError
from penstock.interfaces.export import edge_batches, ranked_edges
from penstock.optional import optional
from penstock.store.graph import Graph
from penstock.store.reading import read_locked
from penstock.types import I64, U32, Array, Direction

if TYPE_CHECKING:
    import pyarrow as pa

#: What tables call the ends of an edge, unless a column is called so.
_END_NAMES = (("src", "dst"), ("source", "target"), ("from", "to"))
#: What an edge takes in NetworkX, about: two entries of dictionaries, and one dictionary.
_NETWORKX_BYTES = 200


@read_locked
def to_arrow(graph: Graph) -> pa.Table:
    """See :meth:`penstock.store.exports.ExportMixin.to_arrow`."""
    import pyarrow as pa

    schema, batches = edge_batches(graph, _END_NAMES, thread_count())
    return pa.Table.from_batches(batches, schema)


def to_pandas(graph: Graph) -> Any:
    """See :meth:`penstock.store.exports.ExportMixin.to_pandas`."""
    optional("pandas", "to_pandas")
    return to_arrow(graph).to_pandas()


def to_polars(graph: Graph) -> Any:
    """See :meth:`penstock.store.exports.ExportMixin.to_polars`."""
    return optional("polars", "to_polars").from_arrow(to_arrow(graph))


@read_locked
def to_scipy(graph: Graph) -> Any:
    """See :meth:`penstock.store.exports.ExportMixin.to_scipy`."""
    sparse = optional("scipy.sparse", "to_scipy")
    direction = graph.directions[0]
    offsets, neighbours, values = _ranked_lists(graph, direction)
    width = np.int32 if max(graph.num_vertices, len(values)) < 1 << 31 else np.int64
    lists = (values, neighbours.astype(width), offsets.astype(width))
    matrix = sparse.csr_array(lists, shape=(graph.num_vertices, graph.num_vertices))
    if direction == "in":
        matrix = matrix.T.tocsr()
    matrix.sort_indices()
    return matrix


def _ranked_lists(graph: Graph, direction: Direction) -> tuple[I64, U32, Array]:
    """Where the list of each vertex begins, the neighbours, and the weights (1 without); vertices
    are places among the ascending ids.
    """
    threads = thread_count()
    order = graph.vid_of_rank
    ranks = Namer(ids_of(graph), order, threads).ranks
    degrees = graph.degrees(direction)
    offsets = np.zeros(graph.num_vertices + 1, np.int64)
    np.cumsum(degrees if order is None else degrees[order], out=offsets[1:])
    neighbours = np.empty(offsets[-1], np.uint32)
    weight = graph.weight
    types = {column.name: column.dtype for column in graph.columns}
    values = np.ones(len(neighbours), np.int64 if weight is None else types[weight])
    # Where the next neighbours of each vertex go: long lists come in several parts.
    ends = offsets[:-1].copy()
    for part in graph.iter_adjacency(direction, threads):
        vids = np.arange(part.first_vid, part.first_vid + len(part.degrees), dtype=np.uint32)
        rows = ranks(vids)
        before = np.cumsum(part.degrees, dtype=np.int64) - part.degrees
        places = np.repeat(ends[rows] - before, part.degrees) + np.arange(len(part.neighbours))
        ends[rows] += part.degrees
        neighbours[places] = ranks(part.neighbours)
        if weight is not None:
            values[places] = part.columns[weight]
    return offsets, neighbours, values


@read_locked
def to_igraph(graph: Graph) -> Any:
    """See :meth:`penstock.store.exports.ExportMixin.to_igraph`."""
    igraph = optional("igraph", "to_igraph")
    parts = list(ranked_edges(graph, thread_count()))
    ends = [np.stack(part[:2], axis=1) for part in parts]
    edges = np.concatenate([np.empty((0, 2), np.uint32), *ends]).astype(np.int64)
    made = igraph.Graph(n=graph.num_vertices, edges=edges, directed=graph.directed)
    for column in graph.columns:
        values = [part[2][column.name] for part in parts]
        made.es[column.name] = np.concatenate([np.empty(0, column.dtype), *values]).tolist()
    if not np.array_equal(graph.ids, np.arange(graph.num_vertices)):
        made.vs["name"] = graph.ids.tolist()
    return made


@read_locked
def to_networkx(graph: Graph, limit: int) -> Any:
    """See :meth:`penstock.store.exports.ExportMixin.to_networkx`."""
    nx = optional("networkx", "to_networkx")
    if graph.num_edges > limit:
        gigabytes = graph.num_edges * _NETWORKX_BYTES / 1e9
        raise BudgetError(
            f"to_networkx: the graph has {graph.num_edges:,} edges, the limit is {limit:,}; in "
            f"NetworkX they would take {gigabytes:,.1f} GB or more. Use graph.nx(), which NetworkX "
            f"takes without a conversion, or pass limit={graph.num_edges} if there is that much "
            "memory"
        )
    several = graph.multigraph
    name = f"{'Multi' if several else ''}{'Di' if graph.directed else ''}Graph"
    made = getattr(nx, name)()
    # One object for each id, however many edges it has.
    nodes: Array = np.array(graph.ids.tolist(), object)
    made.add_nodes_from(nodes)
    for src, dst, columns in ranked_edges(graph, thread_count()):
        rows: list[Iterable[Any]] = [nodes[src].tolist(), nodes[dst].tolist()]
        if columns:
            values = zip(*(column.tolist() for column in columns.values()), strict=True)
            rows.append(dict(zip(columns, row, strict=True)) for row in values)
        made.add_edges_from(zip(*rows, strict=True))
    return made


def nx_graph(graph: Graph) -> Any:
    """See :meth:`penstock.store.exports.ExportMixin.nx`."""
    optional("networkx", "nx")
    from penstock.interfaces.nx.stored import StoredGraph

    return StoredGraph(graph)

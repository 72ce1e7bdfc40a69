"""Edges as a result: a table of both ends, in the user's ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.engine.result import Result
from penstock.engine.result_columns import Namer, ids_of
from penstock.jit import kernel
from penstock.store.graph import Graph
from penstock.types import U32, Array

#: Bytes that :func:`edge_table` takes for each edge, its table included, besides its arguments.
EDGE_BYTES = 36
#: Edges that are fewer than one of so many vertices are sorted by comparing them.
FEW = 4


def edge_table(
    graph: Graph,
    src: U32,
    dst: U32,
    columns: Mapping[str, Array],
    *,
    name: str = "dst",
    undirected: bool = False,
    **facts: Any,
) -> Result:
    """Edges that are given by vertex numbers, in ascending order of ids; of an undirected graph, or
    if they are taken as ``undirected``, from the smaller id to the larger. Columns called like the
    ends get an underscore. ``name`` says which column is the values of the table, whose edges are
    the table itself.
    """
    ranks = Namer(ids_of(graph), graph.vid_of_rank).ranks
    begin, end = ranks(src), ranks(dst)
    if undirected or not graph.directed:
        begin, end = np.minimum(begin, end), np.maximum(begin, end)
    order = _order(begin, end, graph.num_vertices)
    begin, end = begin[order], end[order]
    take = ids_of(graph).take
    found = {"dst": take(end), **{_free(each): array[order] for each, array in columns.items()}}
    made: Result = Result.table(
        name, take(begin), found.pop(name), id_name="src", columns=found,
        edges=lambda: made, **facts,
    )  # fmt: skip
    return made


def _order(begin: Array, end: Array, num_vertices: int) -> Array:
    """The places of edges in the order of both ends; equal ones stay in theirs."""
    if len(begin) * FEW < num_vertices:
        key = begin.astype(np.uint64) << np.uint64(32) | end.astype(np.uint64)
        return np.argsort(key, kind="stable")
    width = np.uint32 if len(begin) < 1 << 32 else np.int64
    order: Array = np.arange(len(begin), dtype=width)
    for ranks in (end, begin):
        places: Array = np.empty_like(order)
        _sort_by(ranks, order, np.zeros(num_vertices + 1, np.int64), places)
        order = places
    return order


@kernel
def _sort_by(ranks, order, counts, places):  # type: ignore[no-untyped-def]
    """Put an order into that of the ranks, by counting; equal ones stay as they are."""
    one = np.uint64(1)
    for k in range(np.uint64(len(ranks))):
        counts[np.uint64(ranks[k]) + one] += 1
    for k in range(np.uint64(1), np.uint64(len(counts))):
        counts[k] += counts[k - one]
    for k in range(np.uint64(len(order))):
        rank = np.uint64(ranks[order[k]])
        places[counts[rank]] = order[k]
        counts[rank] += 1


def _free(name: str) -> str:
    return f"{name}_" if name in ("src", "dst") else name

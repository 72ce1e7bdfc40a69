"""Edges as a result: a table of both ends, in the user's ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.engine.result import Result
from penstock.engine.result_columns import Namer, ids_of
from penstock.store.graph import Graph
from penstock.types import U32, Array


def edge_table(
    graph: Graph,
    src: U32,
    dst: U32,
    columns: Mapping[str, Array],
    *,
    name: str = "dst",
    **facts: Any,
) -> Result:
    """Edges that are given by vertex numbers, in ascending order of ids; of an undirected graph
    from the smaller id to the larger. Columns called like the ends get an underscore. ``name`` says
    which column is the values of the table, whose edges are the table itself.
    """
    ranks = Namer(ids_of(graph), graph.vid_of_rank).ranks
    begin, end = ranks(src), ranks(dst)
    if not graph.directed:
        begin, end = np.minimum(begin, end), np.maximum(begin, end)
    # One number to sort by: several times faster than sorting by two columns.
    key = begin.astype(np.uint64) << np.uint64(32) | end.astype(np.uint64)
    del begin, end
    if columns:
        order = np.argsort(key, kind="stable")
        key = key[order]
    else:
        key.sort()
    begin, end = key >> np.uint64(32), key & np.uint64(0xFFFFFFFF)
    take = ids_of(graph).take
    found = {"dst": take(end), **{_free(each): array[order] for each, array in columns.items()}}
    made: Result = Result.table(
        name, take(begin), found.pop(name), id_name="src", columns=found,
        edges=lambda: made, **facts,
    )  # fmt: skip
    return made


def _free(name: str) -> str:
    return f"{name}_" if name in ("src", "dst") else name

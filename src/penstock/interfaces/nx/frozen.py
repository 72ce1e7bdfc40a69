"""A Penstock graph of lists that are in memory already, which are used where they stand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.dynamic.view import LiveView, Version
from penstock.dynamic.view_lists import FrozenLists, Side
from penstock.interfaces.nx.graph import Lists
from penstock.interfaces.nx.kernels import offsets_of
from penstock.store.kept import Kept
from penstock.store.layout import Column
from penstock.types import U32, Array, Direction, IdKind


class FrozenIds:
    """The ids of a graph's vertices, ascending with their numbers."""

    def __init__(self, ids: Array) -> None:
        self.kind: IdKind = "string" if ids.dtype == object else "int"
        #: What others keep with the ids.
        self.kept = Kept()
        self._ids = ids

    def in_order(self) -> tuple[Array, U32 | None]:
        """See :class:`penstock.dynamic.view.IdSource`."""
        return self._ids, None


def view_of(ids: FrozenIds, lists: Mapping[Direction, Lists]) -> LiveView:
    """A graph of lists by place: both directions of a directed one, or one of an undirected one."""
    sides = {}
    for direction, (offsets, neighbours, weights, _) in lists.items():
        given = () if weights is None else (weights,)
        sides[direction] = Side(
            np.diff(offsets).astype(np.uint32), FrozenLists(offsets, neighbours, given)
        )
    weighted = lists["out"].weights is not None
    columns = (Column("weight", np.dtype(np.float64)),) if weighted else ()
    return _view(ids, sides, columns, "weight" if weighted else None, several=False)


def frozen_graph(
    ids: FrozenIds,
    src: Array,
    dst: Array,
    columns: Mapping[str, Array],
    *,
    directed: bool,
    weight: str | None,
    multigraph: bool,
) -> LiveView:
    """A graph of edges between places, an undirected one once."""
    ends: dict[Direction, tuple[Array, Array, Array]] = {}
    every: Array = np.arange(len(src))
    if directed:
        ends = {"out": (src, dst, every), "in": (dst, src, every)}
    else:
        back = np.flatnonzero(src != dst)  # a loop is in its node's list once
        both = np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]])
        ends = {"out": (*both, np.concatenate([every, back]))}
    count = len(ids.in_order()[0])
    sides = {}
    for direction, (begin, end, edge) in ends.items():
        order = np.lexsort((edge, end, begin))
        degrees = np.bincount(begin, minlength=count)
        lists = FrozenLists(
            offsets_of(degrees),
            end[order].astype(np.uint32),
            tuple(values[edge[order]] for values in columns.values()),
        )
        sides[direction] = Side(degrees.astype(np.uint32), lists)
    described = tuple(Column(name, values.dtype) for name, values in columns.items())
    return _view(ids, sides, described, weight, several=multigraph)


def _view(
    ids: FrozenIds,
    sides: Mapping[Direction, Side],
    columns: tuple[Column, ...],
    weight: str | None,
    *,
    several: bool,
) -> LiveView:
    lists = sides["out"].added
    edges = len(lists.neighbours)
    if "in" not in sides:
        places = np.repeat(np.arange(len(lists.starts), dtype=np.uint32), sides["out"].degrees)
        edges = (edges + int(np.count_nonzero(places == lists.neighbours))) // 2
    return LiveView(
        Version(
            directed="in" in sides, num_edges=edges, ids=ids, sides=sides, columns=columns,
            weight=weight, multigraph=several,
        )
    )  # fmt: skip

"""A Penstock graph of lists that are in memory already, which are used where they stand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.algorithms._in_order.lists import Lists, offsets_of
from penstock.store.layout import Column
from penstock.store.list_graph import FixedIds, ListGraph, PackedLists
from penstock.store.source import Description
from penstock.types import Array, Direction


def graph_of_lists(ids: Array, lists: Mapping[Direction, Lists]) -> ListGraph:
    """A graph of lists by place: both directions of a directed one, or one of an undirected one.
    Ids ascend with the places.
    """
    packed = {
        direction: PackedLists(offsets, neighbours, () if weights is None else (weights,))
        for direction, (offsets, neighbours, weights, _) in lists.items()
    }
    weighted = lists["out"].weights is not None
    described = Description(
        len(ids), _num_edges(packed), directed="in" in packed,
        columns=(Column("weight", np.dtype(np.float64)),) if weighted else (),
        weight="weight" if weighted else None,
    )  # fmt: skip
    return ListGraph(described, FixedIds(ids), packed)


def graph_of_edges(
    like: Description, ids: Array, src: Array, dst: Array, columns: Mapping[str, Array]
) -> ListGraph:
    """A graph of edges between places, an undirected one once; what it is besides is taken from the
    description of another one. Ids ascend with the places.
    """
    ends: dict[Direction, tuple[Array, Array, Array]] = {}
    every: Array = np.arange(len(src))
    if like.directed:
        ends = {"out": (src, dst, every), "in": (dst, src, every)}
    else:
        back = np.flatnonzero(src != dst)  # a loop is in its node's list once
        both = np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]])
        ends = {"out": (*both, np.concatenate([every, back]))}
    lists: dict[Direction, PackedLists] = {}
    for direction, (begin, end, edge) in ends.items():
        order = np.lexsort((edge, end, begin))
        lists[direction] = PackedLists(
            offsets_of(np.bincount(begin, minlength=len(ids))),
            end[order].astype(np.uint32),
            tuple(values[edge[order]] for values in columns.values()),
        )
    described = Description(
        len(ids), len(src), like.directed,
        columns=tuple(Column(name, values.dtype) for name, values in columns.items()),
        weight=like.weight, multigraph=like.multigraph, id_kind=like.id_kind,
    )  # fmt: skip
    return ListGraph(described, FixedIds(ids), lists)


def _num_edges(lists: Mapping[Direction, PackedLists]) -> int:
    """How many edges there are; an undirected one is in two lists, a loop in one."""
    offsets, neighbours, _ = lists["out"]
    if "in" in lists:
        return len(neighbours)
    places = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets))
    return (len(neighbours) + int(np.count_nonzero(places == neighbours))) // 2

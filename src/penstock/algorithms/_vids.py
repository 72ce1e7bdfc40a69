"""From a result's columns, in the user's ids and order, back to arrays by vertex number."""

from __future__ import annotations

import numpy as np

from penstock.store.graph import Graph
from penstock.types import NO_VERTEX, U32, VID, Array


def by_vid(graph: Graph, values: Array) -> Array:
    """Values that are in ascending order of ids."""
    order = graph.vid_of_rank
    if order is None:
        return values
    placed = np.empty_like(values)
    placed[order] = values
    return placed


def vids_by_vid(graph: Graph, ids: Array, present: Array) -> U32:
    """Vertices that are given by their ids, where ``present`` says so (by vertex number); the
    others are ``NO_VERTEX``, and so are ids that are none.
    """
    named = by_vid(graph, ids)[present]
    ranks = np.minimum(np.searchsorted(graph.ids, named), graph.num_vertices - 1)
    order = graph.vid_of_rank
    vids = ranks if order is None else order[ranks]
    found: U32 = np.full(graph.num_vertices, NO_VERTEX, VID)
    found[present] = np.where(graph.ids[ranks] == named, vids, NO_VERTEX)
    return found

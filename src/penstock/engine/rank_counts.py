"""The counts of a graph that a plan is made with: of the whole graph, or of a rank's share.

Ranks must plan alike, so each plans for the rank with the largest share.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.engine.counts import Counts, ListCounts, counts_of
from penstock.engine.grid import Grid
from penstock.engine.options import RunOptions
from penstock.engine.ownership import pages_by_number, vertices_in, vertices_of
from penstock.store.graph import Graph
from penstock.store.page import LARGE
from penstock.types import I64, Array, Direction


def counts_for(graph: Graph, options: RunOptions, grid: Grid | None = None) -> Counts:
    """The counts that a run is planned with; ``grid``: if its hosts stand in rows."""
    counts, ranks = counts_of(graph), options.peers.size
    if ranks == 1:
        return counts
    places = ranks if grid is None else grid.places
    lists = {
        each: _largest_share(graph, each, counts.lists[each], options, places)
        for each in counts.lists
    }
    table = graph.page_table(counts.stored("in") if counts.has("in") else "out")
    owners = pages_by_number(len(table), options.page_ranks)
    vertices = max(vertices_of(table, owners, rank).count for rank in range(ranks))
    counts = replace(counts, lists=lists, own_vertices=vertices)
    if grid is None:
        return counts
    columns = [owners % places == place for place in range(places)]
    return replace(
        counts,
        grid=grid,
        column_vertices=max(vertices_in(table, column).count for column in columns),
        group_vertices=max(
            int(sums_in(table[pages.start : pages.stop])[column[pages.start : pages.stop]].sum())
            for pages in grid.groups(len(table))
            for column in columns
        ),
    )


def sums_in(table: Array) -> I64:
    """The number of accumulators for each page: one for each list in it, or for its part of a list;
    none if all lists are empty.
    """
    sizes = np.where(table["kind"] == LARGE, 1, table["num_vertices"])
    found: I64 = np.where(table["num_edges"] == 0, 0, sizes).astype(np.int64)
    return found


def _largest_share(
    graph: Graph, stored: Direction, lists: ListCounts, options: RunOptions, places: int
) -> ListCounts:
    table = graph.page_table(stored)
    owners = pages_by_number(len(table), options.page_ranks) % places
    edges = np.bincount(owners, table["num_edges"], minlength=places)
    pages = np.bincount(owners, minlength=places)
    return replace(lists, num_edges=int(edges.max()), num_pages=int(pages.max()), head_bytes=None)

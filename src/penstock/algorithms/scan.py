"""SCAN: clusters of vertices that share neighbours, and the hubs and outliers between them.

Returns int64: the smallest id of a core of the cluster, -1 for hubs and -2 for outliers; ``role``
(uint8) says what each vertex is.

Method: the common neighbours of both ends of every edge are counted once, as triangles are, and
kept beside the graph; they do not depend on epsilon and mu. A run is then four passes over edges
and these numbers; see ``_scan``. All of it is whole numbers but for one comparison of doubles for
each edge, which follows the definition: the outcome depends neither on threads nor on windows.

Trade-off: what is kept takes 4 bytes an edge and 4 a vertex. Algorithms that prune (pSCAN, ppSCAN)
count fewer common neighbours for one epsilon, and start again for the next.

State: ``labels`` (uint32) a vertex of the same tree that is not above, then the rank of the id that
names the cluster, NO_VERTEX without; ``roles`` (uint8); ``numbers`` (uint32) in turn the similar
neighbours of each vertex, the smallest rank of each tree, and a label among the neighbours.

Xu, Yuruk, Feng, Schweiger: "SCAN: a structural clustering algorithm for networks", KDD 2007.
Tseng, Dhulipala, Shun: "Parallel index-based structural graph clustering and its approximation",
SIGMOD 2021 (counting once, asking often).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms._scan import Clustering, cluster
from penstock.algorithms._scan_check import verify
from penstock.algorithms._scan_edges import open_edges, scan_needs
from penstock.algorithms._scan_kernels import OUTLIER
from penstock.arrays import parts
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.counts import Counts
from penstock.engine.edge_columns import home_of
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.result_columns import ids_of
from penstock.errors import OptionError
from penstock.store.graph import Graph
from penstock.types import I64, NO_VERTEX, U32, VID


def _requirements(counts: Counts, epsilon: float, mu: int, index: Any) -> list[Needs]:
    _check(epsilon, mu)
    return [scan_needs(counts)]


@algorithm(requirements=_requirements, verify=verify)
def scan(task: Task, epsilon: float = 0.7, mu: int = 2, index: str | None = None) -> Result:
    """SCAN: clusters by shared neighbours, with the hubs and outliers between them.

    Two neighbours are similar if the closed neighbourhoods of both, which have the vertex itself in
    them, have enough in common: their common vertices over the geometric mean of their sizes are at
    least ``epsilon``. A vertex with ``mu`` similar ones in its closed neighbourhood is a core.
    Similar cores are in one cluster, and so are others that are similar to one of them (borders).
    Of the rest, a hub has neighbours in two clusters or more, an outlier has not.

    The first run counts the common neighbours of all edges and keeps them; later runs, with any
    ``epsilon`` and ``mu``, read them. ``stats`` has the numbers of ``clusters``, ``cores``,
    ``borders``, ``hubs`` and ``outliers``, ``indexed``: whether nothing had to be counted, and
    ``not_kept``: why what was counted could not be kept, if it could not.

    Parameters
    ----------
    graph
        Directed or not; a directed one needs the lists of both directions.
    epsilon
        How similar is similar: above 0, at most 1.
    mu
        Similar vertices that make a core, itself counted: 1 or more.
    index
        The folder that keeps what is counted. By default it is beside the graph, with ``.columns``
        behind the name, or with the graph if that is in memory, and there is room; if nothing can
        be written there, the run goes on without. False (on the command line: none) keeps nothing.

    Semantics
    ---------
    direction
        Ignored: a directed graph is taken as the undirected one with the same edges, two edges
        between the same vertices as one.
    duplicates
        Count once.
    loops
        Do not count: a vertex is in its closed neighbourhood anyway.
    isolates
        Are outliers; with ``mu=1`` every vertex is a core.
    values
        The smallest id of a core of the cluster; -1 for hubs, -2 for outliers. ``role`` is 0 for a
        core, 1 for a border, 2 for a hub, 3 for an outlier. Where ids are strings, or do not fit
        int64, the value is the place of that id in ascending order, from 0, and ``label`` has the
        id.
    ties
        A border of several clusters is in the one with the smallest label. A similarity equal to
        ``epsilon`` is enough, as doubles compare. In cdlib a vertex does not count as similar to
        itself: its ``mu`` is one less.
    passes
        5 with an index, 4 if ``mu`` is 2; only 2 if the lists of earlier neighbours fit memory with
        their numbers (8 bytes an edge and 12 a vertex), and none if they still are there. A
        directed graph takes one more. The first run has those of ``triangles`` before.

    Examples
    --------
    >>> import penstock as ps
    >>> g = ps.from_edges([0, 0, 1, 3, 3, 4, 2, 6], [1, 2, 2, 4, 5, 5, 6, 3], directed=False)
    >>> found = ps.scan(g, epsilon=0.6, mu=3)
    >>> found.values.tolist(), found.role.tolist()
    ([0, 0, 0, 3, 3, 3, -1], [0, 0, 0, 0, 0, 0, 2])
    """
    graph = task.graph
    home = home_of(graph, index)
    with task.open() as engine:
        edges = open_edges(engine, home)
        found = cluster(engine, edges.windows, edges.num_neighbours, float(epsilon), int(mu))
    more = {**found.counts, "indexed": edges.indexed, "not_kept": edges.not_kept}
    has_numbers = ids_of(graph).dtype == np.int64
    return task.result(
        "cluster", lambda: _values(graph, found), more=more,
        columns={"role": found.roles},
        vid_columns={} if has_numbers else {"label": lambda: _heads(graph, found.labels)},
    )  # fmt: skip


def _check(epsilon: Any, mu: Any) -> None:
    number = isinstance(epsilon, int | float | np.integer | np.floating)
    if not number or isinstance(epsilon, bool) or not 0 < epsilon <= 1:
        raise OptionError(f"epsilon: expected a number above 0 and at most 1, got {epsilon!r}")
    if not isinstance(mu, int | np.integer) or isinstance(mu, bool) or mu < 1:
        raise OptionError(f"mu: expected a whole number of 1 or more, got {mu!r}")


def _values(graph: Graph, found: Clustering) -> I64:
    """The numbers that users see: ids of cores, or ranks of ids that are no such numbers."""
    ids = ids_of(graph)
    values: I64 = np.empty(len(found.labels), np.int64)
    for begin, end in parts(len(values)):
        labels = found.labels[begin:end]
        few = np.where(found.roles[begin:end] == OUTLIER, np.int64(-2), np.int64(-1))
        there = labels != NO_VERTEX
        few[there] = ids.take(labels[there]) if ids.dtype == np.int64 else labels[there]
        values[begin:end] = few
    return values


def _heads(graph: Graph, labels: U32) -> U32:
    """The vertices whose ranks are given."""
    order = graph.vid_of_rank
    if order is None:
        return labels
    there = labels != NO_VERTEX
    heads: U32 = np.full(len(labels), NO_VERTEX, VID)
    heads[there] = order[labels[there]]
    return heads

"""Breadth-first search from one vertex, or from several at once.

Returns levels (int32: edges on a shortest path from a source, -1 where none leads or it is longer
than a limit) and parents (uint32: the smallest vertex number among the neighbours one level above,
or one of them if lists have no order; a source for itself, ``NO_VERTEX`` where no path leads). Both
are the same whatever the number of threads.

Method: level by level, top-down or bottom-up, whichever costs less; see ``_levels``, also for how
a level is repeated. If memory is short, the first edges of each vertex are in memory, and other
lists are read one by one; see :mod:`penstock.engine.frontier_tiered`.

Beamer, Asanovic, Patterson: "Direction-optimizing breadth-first search", SC 2012. Iwabuchi:
"Locality-aware graph data store for large-scale graph analytics", thesis, Tokyo Institute of
Technology 2017 (the rule of ``alpha`` and ``beta``, and the breakdown).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from penstock.algorithms._levels import (
    I32,
    STATE_BYTES,
    Rule,
    search_levels,
    search_over_hosts,
)
from penstock.algorithms._levels_check import check_levels, check_parents
from penstock.algorithms._sources import check_count, check_selected, sources_of
from penstock.algorithms._vertex_programs import refuse_options, search, search_needs
from penstock.algorithms._vids import by_vid, vids_by_vid
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.counts import Counts, Selected
from penstock.engine.direction import Mode, Outlook
from penstock.engine.frontier import QUEUE_BYTES, streamed_bytes
from penstock.engine.needs import WHOLE_LISTS, Needs
from penstock.engine.result import Result
from penstock.engine.vertices import vids_of
from penstock.errors import OptionError, VerificationError
from penstock.store.graph import Graph
from penstock.types import Direction


def verify(graph: Graph, result: Result) -> None:
    """Look at every edge: none leads down more than one level or out of what is reached, and the
    parent of a vertex is the smallest of its neighbours one level above. This leaves one answer,
    unless lists have no order: then the parent is one of these neighbours.
    """
    levels: I32 = by_vid(graph, result.values)
    given = result.stats["parameters"]
    sources = vids_of(graph, given["source"], "source")
    smallest = check_levels(graph, "bfs", levels, sources, given["depth_limit"])
    parents = vids_by_vid(graph, result.parents, levels >= 0)
    if graph.neighbour_order == "none":
        check_parents(graph, "bfs", levels, parents)
        return
    wrong = parents != smallest
    if wrong.any():
        k = np.argmax(wrong)
        raise VerificationError(
            f"bfs: vertex number {k} of level {levels[k]} has parent {parents[k]}; its smallest "
            f"neighbour one level above is {smallest[k]}"
        )


def _requirements(
    counts: Counts,
    source: Selected,
    depth_limit: int | None,
    alpha: float | None,
    beta: float | None,
    breakdown: bool,
    resident_edges: int | None,
    dual: bool,
) -> list[Needs]:
    """In memory, or with the first edges of each list there, or else on a stream."""
    _check(source, depth_limit, alpha, beta)
    both: tuple[Direction, ...] = counts.both_ways if counts.has("in") else ("out",)
    # Pages that a search reads on a stream: 1.2 to 2.3 times all of R-MAT graphs, 3.8 of a uniform
    # one; and with first edges, once all are loaded, hardly any of the first and all of the second.
    memory = Needs(
        both, 0.3, vertex_bytes=STATE_BYTES + QUEUE_BYTES, forms=("memory",), takes_gaps=True,
        gathered_bytes=1,
    )  # fmt: skip
    heads = replace(memory, passes=1.1, forms=("heads",), takes_gaps=False)
    if dual or resident_edges is not None:
        if any(counts.of(each).head_bytes is None for each in both):
            raise OptionError(
                "resident_edges, dual: lists can be read one by one only from a disk, in the "
                "banded layout with neighbours in order of their numbers, and if load is not False"
            )
        if resident_edges is not None:
            check_count(resident_edges, "resident_edges")
        asked = WHOLE_LISTS if dual else resident_edges
        return [replace(heads, head_edges=asked, way="dual" if dual else "resident_edges")]
    mapped = 0 if counts.directed else 4  # degrees, to choose between the two ways
    stream = Needs(
        ("out",), 2.0, vertex_bytes=STATE_BYTES + mapped, more_bytes=streamed_bytes(counts),
        forms=("stream",), gathered_bytes=1,
    )  # fmt: skip
    # In-lists that are not there yet may be too large to make.
    without = [replace(memory, directions=("out",))] if "in" in counts.unbuilt else []
    return [memory, *without, heads, stream]


def _on_devices(
    counts: Counts, source: Selected, depth_limit: int | None, **others: Any
) -> list[Needs]:
    _check(source, depth_limit, None, None)
    refuse_options("bfs", **others)
    return search_needs(counts, source)


def _on_hosts(
    counts: Counts,
    source: Selected,
    depth_limit: int | None,
    alpha: float | None,
    beta: float | None,
    **others: Any,
) -> list[Needs]:
    """In memory, or on a stream; what others have found comes besides."""
    _check(source, depth_limit, alpha, beta)
    refuse_options("bfs", **others)
    return search_over_hosts(counts)


def _check(
    source: Selected, depth_limit: int | None, alpha: float | None, beta: float | None
) -> None:
    check_selected(source)
    if depth_limit is not None:
        check_count(depth_limit, "depth_limit")
    threshold_rule(alpha, beta)


def threshold_rule(alpha: float | None, beta: float | None) -> Rule | None:
    """Iwabuchi's rule: bottom-up while the frontier grows and the edges that top-down would look at
    exceed those that bottom-up would by a factor of 1 / ``alpha``; top-down again while it shrinks
    and they are fewer by a factor of 1 / ``beta``.
    """
    if alpha is None and beta is None:
        return None
    if alpha is None or beta is None:
        missing = "alpha" if alpha is None else "beta"
        raise OptionError(f"{missing}: expected a number, as the other one is given; got None")
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 < value < np.inf:
            raise OptionError(f"{name}: expected a number above 0, got {value}")

    def choose(outlook: Outlook) -> Mode:
        down = outlook.edge_factor * outlook.count
        up = outlook.edge_factor * outlook.unreached + outlook.count
        if outlook.before < outlook.count and down > up / alpha:
            return "bottom-up"
        if outlook.before > outlook.count and down < up / beta:
            return "top-down"
        return outlook.mode

    return choose


@algorithm(requirements=_requirements, verify=verify, on_devices=_on_devices, on_hosts=_on_hosts)
def bfs(
    task: Task,
    source: Vertices,
    depth_limit: int | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    breakdown: bool = False,
    resident_edges: int | None = None,
    dual: bool = False,
) -> Result:
    """Breadth-first search: how many edges each vertex is away from a source.

    The values are levels, -1 for vertices that no path leads to; ``parents`` is a vertex one level
    above each, a source for itself. ``path(target)`` of the result is a shortest path.

    Parameters
    ----------
    graph
        Directed or not. In-lists, if there are any, make it faster.
    source
        The id of the vertex to begin at, or several: a level is then the distance from the nearest.
    depth_limit
        The last level to look for; None: all of them.
    alpha
        With ``beta``, choose the way by Iwabuchi's rule instead of by cost: bottom-up once the
        frontier grows and m_td > m_bu / alpha, where m_td is the edges per vertex times the
        vertices of the frontier, and m_bu the edges per vertex times those not reached, plus the
        frontier.
    beta
        Top-down again once the frontier shrinks and m_td < m_bu / beta.
    breakdown
        A row of ``iterations`` for each level, with what became of its edges: top-down ``claimed``
        (a vertex was found), ``failed`` (another one had found it), ``peer`` (it is on the same
        level) and ``parent`` (on one above); bottom-up ``scanned``, how many vertices looked at 1,
        2, ..., 64 edges, and at more.
    resident_edges
        The first so many edges of each vertex stay in memory, and other lists are read from the
        disk one by one; None: all edges if ``memory`` allows, else as many as it allows.
    dual
        NETALX's dual-graph model, to compare with: whole lists in memory for bottom-up, and
        top-down reads every list from the disk.

    Semantics
    ---------
    direction
        Edges of a directed graph are followed from source to target.
    duplicates
        Change nothing.
    loops
        Change nothing.
    isolates
        Are not reached, unless they are a source.
    values
        Level 0 are the sources. Vertices that no path leads to, or only paths longer than
        ``depth_limit``, have level -1 and no parent (-1; None if ids are strings or do not fit
        int64).
    ties
        The parent is the neighbour one level above that has the smallest number inside: with
        ``vertex_order="degree"``, the one of the highest degree. Of a graph that changes, whose
        lists have no order, it is one of them.
    passes
        One to load the first edges of each vertex, kept for further searches; then single lists
        are read, hardly any of R-MAT graphs, about all of a uniform one, once or twice. Where lists
        cannot be read one by one, pages are: about 2 passes on R-MAT graphs, up to 4 on uniform
        ones.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.bfs(ps.from_edges([0, 1, 0], [1, 2, 3]), 0)
    >>> found.values.tolist(), found.parents.tolist()
    ([0, 1, 2, 1], [0, 0, 1, 0])
    >>> found.path(2)
    [0, 1, 2]
    """
    sources = sources_of(task, source)
    if not task.options.runs_loops:
        levels, parents = search(task, sources, depth_limit)
        return task.result("level", levels, more={}, vid_columns={"parents": parents})
    with task.open() as engine:
        levels, parents = search_levels(
            engine, sources, limit=depth_limit,
            rule=threshold_rule(alpha, beta), breakdown=breakdown, dual=dual,
        )  # fmt: skip
    return task.result("level", levels, more={}, vid_columns={"parents": parents})

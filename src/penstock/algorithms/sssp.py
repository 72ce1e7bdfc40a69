"""Shortest paths from one vertex, or from the nearest of several, to all others, by the sum of
weights (Dijkstra's problem).

Returns float64 distances, inf where no path leads or only longer ones than ``cutoff``. Weights must
not be negative or NaN: an edge out of a vertex that is reached is checked when it is relaxed,
others are not looked at. A weight of inf is no edge. Without weights every edge counts 1, and this
is a breadth-first search.

Method: a stepping algorithm between delta-stepping and rho-stepping. A vertex whose distance was
lowered is *pending*; a step relaxes the edges of the pending vertices nearer than a bound, until
none is pending. With ``delta`` the bound is that much beyond the nearest pending vertex. Without,
it is the farthest of some bounds, doubling from a fraction of the mean weight, whose vertices have
no more than a share of all edges: small steps through the dense core of a graph, where each edge
is then relaxed about once, and large ones elsewhere. On a stream, where a step costs whole pages,
it is a multiple of the mean weight. Where the frontier has few edges, vertices that come below the
bound during a step have their turn in it.

Trade-off: a larger delta means fewer steps and more edges relaxed in vain.

Distances are exact and the same whatever the number of threads: relaxing only ever lowers them,
until none can be lowered. They are int32 while the weights are integers of at most 4 bytes and no
distance reaches 2**30 (if one does, the run begins again), else float64, which holds integers up
to 2**53. Both are float64 in a checkpoint. A vertex that is not reached has a distance that is
farther than any: the next number after the cutoff, so that nothing beyond it is ever taken.

Repeating: a step may be abandoned and repeated if the vertices it began with are pending again.

Meyer, Sanders: "Delta-stepping: a parallelizable shortest path algorithm", J. Algorithms 2003.
Dong, Gu, Sun, Zhang: "Efficient stepping algorithms and implementations for parallel shortest
paths", SPAA 2021.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.algorithms._levels import search_levels, search_over_hosts
from penstock.algorithms._paths import (
    check_weights,
    find_parents,
    parent_needs,
    verify,
)
from penstock.algorithms._sources import check_selected, sources_of
from penstock.algorithms._sssp_steps import shortest_distances
from penstock.algorithms._vertex_programs import (
    distance_needs,
    distances_from,
    refuse_options,
    search,
    search_needs,
)
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.counts import Counts, Selected, counts_of
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.errors import OptionError
from penstock.types import U32, Array

#: Bytes of state for each vertex, at most: float64 distances, pending, chosen, a frontier, degrees.
STATE_BYTES = 21
#: Over several hosts in addition: lowered, and the most that hosts send each other in a step.
TOLD_BYTES = 25


def _requirements(
    counts: Counts, source: Selected, cutoff: float | None, delta: float | None
) -> list[Needs]:
    _check(source, cutoff, delta)
    columns = () if counts.weight is None else (counts.weight,)
    # A stream reads 4 to 4.5 times all pages of R-MAT graphs, more from many sources; steps in
    # memory look at each list once or twice, and at all vertices each.
    memory = Needs(
        ("out",), 3.0, columns, vertex_bytes=STATE_BYTES, forms=("memory",), takes_gaps=True,
        work=2.0,
    )  # fmt: skip
    return [memory, replace(memory, passes=4.5 if source.count == 1 else 5.0, forms=("stream",))]


def _on_devices(
    counts: Counts, source: Selected, cutoff: float | None, delta: float | None
) -> list[Needs]:
    _check(source, cutoff, delta)
    refuse_options("sssp", delta=delta)
    return search_needs(counts, source) if counts.weight is None else distance_needs(counts, source)


def _on_hosts(
    counts: Counts, source: Selected, cutoff: float | None, delta: float | None
) -> list[Needs]:
    if counts.weight is None:
        _check(source, cutoff, delta)
        return search_over_hosts(counts)
    return [
        replace(each, vertex_bytes=each.vertex_bytes + TOLD_BYTES, gathered_bytes=1)
        for each in _requirements(counts, source, cutoff, delta)
    ]


def _check(source: Selected, cutoff: float | None, delta: float | None) -> None:
    check_selected(source)
    if delta is not None and not 0 < delta < np.inf:
        raise OptionError(f"delta: expected a number above 0, got {delta}")
    if cutoff is not None and not cutoff >= 0:
        raise OptionError(f"cutoff: expected a number of 0 or more, got {cutoff}")


def _levels(task: Task, sources: U32, limit: int | None) -> tuple[Array, U32]:
    """Levels and parents by a breadth-first search."""
    if not task.options.runs_loops:
        return search(task, sources, limit)
    with task.open() as engine:
        return search_levels(engine, sources, limit=limit)


@algorithm(requirements=_requirements, verify=verify, on_devices=_on_devices, on_hosts=_on_hosts)
def sssp(
    task: Task, source: Vertices, cutoff: float | None = None, delta: float | None = None
) -> Result:
    """Shortest paths by weight from a source to every vertex.

    The values are distances, inf for vertices that no path leads to; ``parents`` is the vertex
    before each on a shortest path, a source for itself, and is worked out when it is first used.
    ``path(target)`` of the result is a shortest path.

    Parameters
    ----------
    graph
        Directed or not, with weights of 0 or more; without weights every edge counts 1.
    source
        The id of the vertex to begin at, or several: a distance is then that from the nearest.
    cutoff
        The longest distance to look for; vertices farther away are left out. None: no limit.
    delta
        How far beyond the nearest vertex a step looks; None chooses as it goes. The distances are
        the same with any.

    Semantics
    ---------
    direction
        Edges of a directed graph are followed from source to target.
    duplicates
        The lightest counts.
    loops
        Change nothing.
    isolates
        Are not reached, unless they are a source.
    values
        Sums of weights, 0 for sources. Vertices that no path leads to, or only paths longer than
        ``cutoff``, have inf and no parent (-1; None if ids are strings or do not fit int64).
    tolerance
        None: integer weights add up exactly (up to 2**53), others as float64 in the order of the
        path.
    ties
        The parent is, of the vertices that are nearer and before it on a shortest path, the one
        with the smallest number inside; across edges of weight 0 one that is as near.
    passes
        About 4 on R-MAT graphs, 5 from many sources, fewer with a ``cutoff``; one more for
        ``parents``.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.sssp(ps.from_edges([0, 0, 1], [1, 2, 2], [2.0, 9.0, 3.0]), 0)
    >>> found.values.tolist(), found.parents.tolist()
    ([0.0, 2.0, 5.0], [0, 0, 1])
    >>> found.path(2)
    [0, 1, 2]
    """
    graph, sources = task.graph, sources_of(task, source)
    farthest = np.inf if cutoff is None else float(cutoff)
    if graph.weight is None:
        limit = None if farthest >= graph.num_vertices else int(farthest)
        levels, parents = _levels(task, sources, limit)
        distances = np.where(levels < 0, np.inf, levels)
        return task.result("distance", distances, more={}, vid_columns={"parents": parents})
    if task.options.runs_loops:
        with task.open() as engine:
            distances = shortest_distances(engine, sources, cutoff=farthest, delta=delta)
    else:
        check_weights(task)
        distances = distances_from(task, sources, farthest)

    def parents_when_used() -> U32:
        needs = parent_needs(counts_of(graph))
        with Task(graph, task.options).open_part(*needs) as another:
            return find_parents(another, sources, distances)

    return task.result("distance", distances, more={}, vid_columns={"parents": parents_when_used})

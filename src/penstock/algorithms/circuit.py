"""Potentials in a network of conductances.

Returns the potential of each vertex, float32. Some vertices are held at potentials that are given;
each other takes the mean of its in-neighbours, weighted by the conductances of the edges,
``V'[v] = sum of g[u, v] * V[u] / sum of g[u, v]``, over and over, all at once, until hardly
anything changes: Jacobi's method for Kirchhoff's current law. With potentials of 0 and 1 these are
also the probabilities that a walk against the edges comes to a 1 first.

Method: a vertex program that pulls both sums along in-edges, a pass over the lists an iteration;
sums are float64, see ``_simulation``. Price: a potential that is kept acts on its neighbours only,
and what is far from all of them, or held by few among many, settles slowly: along a path of length
L it takes about L * L iterations.

Repeating: iterations are steps of a vertex program, which looks after itself.

Doyle, Snell: "Random walks and electric networks", 1984.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms._simulation import (
    F32,
    STEP_ERROR,
    check_max_iter,
    column_of,
    compare,
    finite_values,
    given_values,
    replay,
)
from penstock.algorithms._vids import by_vid
from penstock.algorithms._weights import F64, weighed_edges
from penstock.engine.algorithm import Cost, Task, VertexValues, algorithm
from penstock.engine.programs import Settings
from penstock.engine.result import Result
from penstock.errors import ConvergenceError, OptionError, VerificationError
from penstock.program import Program
from penstock.store.graph import Graph


def _init(vertex):  # type: ignore[no-untyped-def]
    return vertex.kept if vertex.kept == vertex.kept else 0.0


def _gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.potential, 1.0


def _weighed_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return edge.weight * src.potential, edge.weight


def _sum(a, b):  # type: ignore[no-untyped-def]
    return a[0] + b[0], a[1] + b[1]


def _apply(old, a):  # type: ignore[no-untyped-def]
    if old.kept == old.kept:
        return old.kept
    return a[0] / a[1] if a[1] != 0 else old.potential


def _moving(new, old, p):  # type: ignore[no-untyped-def]
    return 0.0 if abs(new.potential - old.potential) <= p.enough else 1.0


def _program(*, weighted: bool) -> Program:
    return Program(
        state={"potential": np.float32},
        init=_init,
        gather=_weighed_gather if weighted else _gather,
        sum=_sum,
        identity=(0.0, 0.0),
        apply=_apply,
        accumulator=(np.float64, np.float64),
        fixed={"kept": np.float32},
        totals={"moving": _moving},
        name="circuit",
    )


def _cost(graph: Graph, fixed: object, tol: float, max_iter: int, weight: bool) -> Cost:
    column = column_of(graph, weight=weight)
    columns = () if column is None else (column,)
    # How soon it settles depends on what is kept: no graph says.
    return Cost(12, ("in",), float(max_iter), columns=columns, gathered_bytes=4, work=1.4)


def _mean(values: F64, sums: F64, weights: F64) -> F64:
    return np.divide(sums, weights, out=values.copy(), where=weights != 0)


def verify(graph: Graph, result: Result) -> None:
    """Vertices that are held have their potential, those that nothing leads to from there 0, and
    another step, edge by edge in float64, changes hardly any; after a given number of steps, all of
    them are done again.
    """
    own = result.stats["parameters"]
    column = column_of(graph, weight=own["weight"])
    kept = given_values(graph, own["fixed"], "fixed", np.nan)
    start = np.where(np.isnan(kept), 0, kept).astype(np.float64)
    if own["tol"] == 0:
        expected = replay(graph, column, start, _mean, own["max_iter"], kept)
        compare(graph, result, expected, STEP_ERROR * (10 + own["max_iter"]))
        return
    values = by_vid(graph, result.values.astype(np.float64))
    reached = _reached(graph, kept)
    wrong = np.flatnonzero(~reached & (values != 0))
    if len(wrong):
        raise VerificationError(
            f"circuit: {graph.ids_by_vid()[wrong[0]]} has {values[wrong[0]]:.8g}, but nothing "
            "leads there from a vertex with a potential"
        )
    expected = replay(graph, column, values, _mean, 1, kept)
    compare(graph, result, expected, 2 * own["tol"] + 10 * STEP_ERROR)


def _reached(graph: Graph, kept: F32) -> Any:
    """Vertices that edges lead to from those that are held, and these."""
    reached = ~np.isnan(kept)
    before = -1
    while (count := int(np.count_nonzero(reached))) > before:
        before = count
        for src, dst, _ in weighed_edges(graph, None):
            reached[dst[reached[src]]] = True
    return reached


@algorithm(cost=_cost, verify=verify, on_devices=True)
def circuit(
    task: Task,
    fixed: VertexValues,
    tol: float = 1e-6,
    max_iter: int = 1000,
    weight: bool = True,
) -> Result:
    """Potentials in a network of conductances, some of which are given.

    Parameters
    ----------
    graph
        Directed or not; an edge acts on its target only (an undirected edge counts both ways).
    fixed
        Potentials that are kept: a number for each of some vertices; or an array in ascending order
        of ids, NaN where a vertex is free.
    tol
        Stop when no potential changes by more than ``tol`` times the largest one that is kept; 0
        runs exactly ``max_iter`` iterations.
    max_iter
        Iterations at most; if ``tol`` is not met by then, a ConvergenceError is raised.
    weight
        An edge's weight is its conductance; if there are no weights, or with False, each has 1.

    Semantics
    ---------
    direction
        A vertex takes the mean of its in-neighbours; undirected edges count both ways.
    duplicates
        Edges that were kept twice are parallel conductances: they count twice.
    loops
        A vertex counts itself among its neighbours: it changes more slowly, towards the same
        potential.
    isolates
        Vertices without in-edges keep their value: 0 if none is given. So does a part of the graph
        that no given potential leads into.
    values
        float32, between the smallest and the largest of 0 and the potentials that are kept, if
        conductances are not negative.
    tolerance
        The largest change of a vertex in the last iteration, as a share of the largest absolute
        potential that is kept; below about 1e-7 float32 cannot tell. Far from the potentials that
        are kept, the error may be many times as large.
    passes
        1 an iteration. The fewer edges lead to potentials that are kept, the more iterations: tens
        if they are a tenth of all, thousands if it is one vertex among a million.

    Examples
    --------
    >>> import penstock as ps
    >>> path = ps.from_edges([0, 1, 2, 3], [1, 2, 3, 4], directed=False)
    >>> ps.circuit(path, {0: 0.0, 4: 8.0}).values.round(3)
    array([0., 2., 4., 6., 8.], dtype=float32)
    """
    check_max_iter(max_iter)
    if not 0 <= tol < np.inf:
        raise OptionError(f"tol: expected a number of 0 or more, got {tol}")
    graph, column = task.graph, column_of(task.graph, weight=weight)
    kept = given_values(graph, fixed, "fixed", np.nan)
    scale = float(np.abs(kept[~np.isnan(kept)]).max(initial=0.0)) or 1.0
    settings = Settings(
        params={"enough": tol * scale},
        max_iter=max_iter if graph.num_vertices else 0,
        fixed={"kept": kept},
        until=(lambda totals: totals["moving"] == 0) if tol else None,
    )
    outcome = task.execute(_program(weighted=column is not None), settings)
    values = finite_values("circuit", outcome, "potential", "conductances must not be negative")
    moving = int(outcome.totals["moving"])
    if tol and graph.num_vertices and not outcome.converged:
        raise ConvergenceError(
            f"circuit: after {max_iter} iterations {moving:,} potentials still change by more than "
            f"{tol * scale:.3g}; give a larger max_iter or tol, or tol=0 to take them as they are"
        )
    return task.result("potential", values, more={"converged": outcome.converged})

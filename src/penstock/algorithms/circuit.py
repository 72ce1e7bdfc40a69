"""Potentials in a network of conductances.

Returns the potential of each vertex, float32. Some vertices are held at potentials that are given;
each other takes the mean of its in-neighbours, weighted by the conductances of the edges,
``V'[v] = sum of g[u, v] * V[u] / sum of g[u, v]``, over and over, all at once, until the error is
small: Jacobi's method for Kirchhoff's current law. With potentials of 0 and 1 these are also the
probabilities that a walk against the edges comes to a 1 first.

Method: a vertex program that pulls both sums along in-edges, a pass over the lists an iteration;
sums are float64, see ``_simulation``.

Error: a small change says nothing, as potentials far from those that are given may have a long way
to go in small steps. So each vertex also has a bound of its error, as a share of the largest
potential: the *doubt*. Errors are averaged just as potentials are, so the doubt is the average of
the in-neighbours' doubts, and 0 where a potential is given. First it is 1 for all vertices that
edges lead to from a given potential; while these are being found, they are marked by it. The others
have potential 0 and no doubt. It ends when no doubt is above ``tol``. With ``tol=0`` there is none,
which saves 8 bytes a vertex.

Price: a potential that is kept acts on its neighbours only,
and what is far from all of them, or held by few among many, settles slowly: along a path of length
L it takes about L * L iterations.

Repeating: iterations are steps of a vertex program, which looks after itself.

Doyle, Snell: "Random walks and electric networks", 1984.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.algorithms._simulation import (
    F32,
    STEP_ERROR,
    column_of,
    compare,
    finite_values,
    given_values,
    replay,
)
from penstock.algorithms._vids import by_vid
from penstock.algorithms._weights import F64, weighed_edges
from penstock.engine.algorithm import Task, VertexValues, algorithm
from penstock.engine.counts import Counts
from penstock.engine.execute import program_requirements
from penstock.engine.given import given_bytes
from penstock.engine.needs import Needs
from penstock.engine.parameters import check_max_iter, check_tol
from penstock.engine.programs import Settings
from penstock.engine.result import Result
from penstock.errors import ConvergenceError, VerificationError
from penstock.program import Program
from penstock.store.graph import Graph

#: What rounding to float32 can add to an error in an iteration, as a share of the largest value.
ROUNDING = 2.0**-24
#: The share of an error that a verifier's further iterations leave.
LEFT = 0.1


class _Bound(NamedTuple):
    """What a result is verified by."""

    #: Potentials after some more steps, and the share of their first error that is left.
    values: F64
    left: float


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


def _init_doubt(vertex):  # type: ignore[no-untyped-def]
    return _init(vertex), 1.0 if vertex.kept == vertex.kept else 0.0


def _gather_doubt(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.potential, 1.0, src.doubt


def _weighed_gather_doubt(src, edge, dst):  # type: ignore[no-untyped-def]
    return edge.weight * src.potential, edge.weight, abs(edge.weight) * src.doubt


def _sum_doubt(a, b):  # type: ignore[no-untyped-def]
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _apply_doubt(old, a, p):  # type: ignore[no-untyped-def]
    doubt = old.doubt
    if p.found > 0:  # in the iteration before: there may be more
        doubt = 1.0 if old.doubt > 0 or a[2] > 0 else 0.0
    elif old.kept == old.kept:
        doubt = 0.0
    elif a[1] != 0:
        doubt = a[2] / abs(a[1])
    return _apply(old, a), doubt


def _found(new, old):  # type: ignore[no-untyped-def]
    return 1.0 if new.doubt > 0 and old.doubt == 0 else 0.0


def _moving(new, old, p):  # type: ignore[no-untyped-def]
    return 0.0 if new.doubt <= p.tol else 1.0


def _program(*, weighted: bool, bounded: bool) -> Program:
    if bounded:
        return Program(
            state={"potential": np.float32, "doubt": np.float32},
            init=_init_doubt,
            gather=_weighed_gather_doubt if weighted else _gather_doubt,
            sum=_sum_doubt,
            identity=(0.0, 0.0, 0.0),
            apply=_apply_doubt,
            accumulator=(np.float64, np.float64, np.float64),
            fixed={"kept": np.float32},
            totals={"moving": _moving, "found": _found},
            name="circuit",
        )
    return Program(
        state={"potential": np.float32},
        init=_init,
        gather=_weighed_gather if weighted else _gather,
        sum=_sum,
        identity=(0.0, 0.0),
        apply=_apply,
        accumulator=(np.float64, np.float64),
        fixed={"kept": np.float32},
        name="circuit",
    )


def _requirements(
    counts: Counts, fixed: Any, tol: float, max_iter: int, weight: bool
) -> list[Needs]:
    check_max_iter(max_iter)
    check_tol(tol)
    weighted = weight and counts.weight is not None
    # How soon it settles depends on what is kept: no graph says.
    return program_requirements(
        counts, _program(weighted=weighted, bounded=tol > 0), passes=float(max_iter),
        params={"tol": 0.0, "found": 1.0} if tol else {},
        given={"kept": given_bytes(fixed, np.dtype(np.float32))}, work=1.8 if tol else 1.4,
    )  # fmt: skip


def _mean(values: F64, sums: F64, weights: F64) -> F64:
    return np.divide(sums, weights, out=values.copy(), where=weights != 0)


def verify(graph: Graph, result: Result) -> None:
    """Measure the largest error, by going on from the result, edge by edge in float64, until nine
    tenths of any error would be gone: then what has changed is what was wrong. Vertices that
    nothing leads to from a given potential have 0. After a given number of steps, all of them are
    done again.
    """
    own = result.stats["parameters"]
    column = column_of(graph, weight=own["weight"])
    kept = given_values(graph, own["fixed"], "fixed", np.nan).whole()
    start = np.where(np.isnan(kept), 0, kept).astype(np.float64)
    if own["tol"] == 0:
        expected = replay(graph, column, start, _mean, own["max_iter"], kept)
        compare(graph, result, expected, STEP_ERROR * (10 + own["max_iter"]))
        return
    values = by_vid(graph, result.values.astype(np.float64))
    reached = _reached(graph, column, kept)
    wrong = np.flatnonzero(~reached & (values != 0))
    if len(wrong):
        raise VerificationError(
            f"circuit: {graph.ids_by_vid()[wrong[0]]} has {values[wrong[0]]:.8g}, but nothing "
            "leads there from a vertex with a potential"
        )
    bound = _continued(graph, column, values, kept, reached, own["max_iter"])
    scale = float(np.abs(start).max(initial=0))
    error = float(np.abs(values - bound.values).max(initial=0)) / (scale or 1.0)
    result.stats["measured_error"] = error / (1 - bound.left)
    allowed = own["tol"] + ROUNDING * (own["max_iter"] + 1)
    # The error is between these: error / (1 + left) and error / (1 - left).
    if not error <= (1 + bound.left) * allowed:
        k = int(np.abs(values - bound.values).argmax())
        raise VerificationError(
            f"circuit: {graph.ids_by_vid()[k]} has {values[k]:.8g}, and is nearer to "
            f"{bound.values[k]:.8g}; the largest error is about {error:.3g} of the largest "
            f"potential, allowed are {allowed:.3g}"
        )


def _continued(
    graph: Graph, column: str | None, values: F64, kept: F32, reached: Any, most: int
) -> _Bound:
    """More steps, until at most a tenth of the first error is left at any vertex."""
    held = ~np.isnan(kept)
    values = np.where(held, kept.astype(np.float64), values)
    doubt = (reached & ~held).astype(np.float64)
    for _ in range(most):
        if doubt.max(initial=0) <= LEFT:
            break
        sums, doubts, weights = np.zeros((3, len(values)))
        for src, dst, each in weighed_edges(graph, column):
            np.add.at(sums, dst, each * values[src])
            np.add.at(doubts, dst, np.abs(each) * doubt[src])
            np.add.at(weights, dst, each)
        values = np.where(held, values, _mean(values, sums, weights))
        doubt = np.where(held, 0.0, np.abs(_mean(doubt, doubts, weights)))
    left = float(doubt.max(initial=0))
    if not left <= LEFT:
        raise VerificationError(
            f"circuit: {most:,} more iterations leave {left:.3g} of an error: the result cannot "
            "have settled in as many"
        )
    return _Bound(values, left)


def _reached(graph: Graph, column: str | None, kept: F32) -> Any:
    """Vertices that conductances lead to from those that are held, and these."""
    reached = ~np.isnan(kept)
    before = -1
    while (count := int(np.count_nonzero(reached))) > before:
        before = count
        for src, dst, each in weighed_edges(graph, column):
            reached[dst[reached[src] & (each != 0)]] = True
    return reached


@algorithm(
    requirements=_requirements, verify=verify, on_devices=_requirements, on_hosts=_requirements
)
def circuit(
    task: Task,
    fixed: VertexValues,
    tol: float = 1e-4,
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
        Stop when no potential can be off by more than ``tol`` times the largest one that is kept;
        0 runs exactly ``max_iter`` iterations.
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
        No potential is off by more than ``tol``, and 6e-8 an iteration for the rounding of float32,
        as a share of the largest absolute potential that is kept: on any graph, if conductances are
        not negative. With ``tol=0`` the potentials are as far as ``max_iter`` iterations lead, and
        ``stats["converged"]`` is False.
    passes
        1 an iteration. The fewer edges lead to potentials that are kept, the more iterations: tens
        if they are a tenth of all; if it is one vertex among a million, far more than the default
        of ``max_iter``.

    Examples
    --------
    >>> import penstock as ps
    >>> path = ps.from_edges([0, 1, 2, 3], [1, 2, 3, 4], directed=False)
    >>> ps.circuit(path, {0: 0.0, 4: 8.0}).values.round(3)
    array([0., 2., 4., 6., 8.], dtype=float32)
    """
    graph = task.graph
    kept = given_values(graph, fixed, "fixed", np.nan)
    settings = Settings(
        params={"tol": float(tol), "found": 1.0} if tol else {},
        max_iter=max_iter if graph.num_vertices else 0,
        fixed={"kept": kept},
        until=(lambda totals: totals["moving"] + totals["found"] == 0) if tol else None,
    )
    outcome = task.execute(settings)
    values = finite_values("circuit", outcome, "potential", "conductances must not be negative")
    if tol and graph.num_vertices and not outcome.converged:
        moving = int(outcome.totals["moving"])
        raise ConvergenceError(
            f"circuit: after {max_iter} iterations {moving:,} potentials may be off by more than "
            f"{tol:.3g} of the largest one; give a larger max_iter or tol, or tol=0 to take them "
            "as they are"
        )
    return task.result("potential", values, more={"converged": outcome.converged})

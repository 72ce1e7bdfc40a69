"""Diffusion of heat along edges.

Returns the temperature of each vertex after a number of steps, float32. At every step
``T'[v] = T[v] + c * sum of w[u, v] * (T[u] - T[v])`` over the in-edges of v, for all vertices at
once: explicit Euler steps of the heat equation on a graph.

Method: a vertex program that pulls along in-edges, a pass over the lists a step. Sums are float64;
see ``_simulation``. Price: the step length ``c`` is the same everywhere, and small enough for the
busiest vertex it is slow for all others.

Repeating: iterations are steps of a vertex program, which looks after itself.

Kondor, Lafferty: "Diffusion kernels on graphs and other discrete structures", ICML 2002.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms._simulation import (
    STEP_ERROR,
    column_of,
    compare,
    finite_values,
    given_values,
    replay,
)
from penstock.algorithms._weights import weight_needs, weight_sums
from penstock.engine.algorithm import Task, VertexValues, algorithm
from penstock.engine.counts import Counts
from penstock.engine.execute import program_requirements
from penstock.engine.given import Numbers, given_bytes
from penstock.engine.needs import Needs
from penstock.engine.parameters import check_max_iter
from penstock.engine.programs import Settings
from penstock.engine.result import Result
from penstock.errors import OptionError
from penstock.metrics import Counters
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.store.mapped import iter_parts


def _init(vertex):  # type: ignore[no-untyped-def]
    return vertex.initial


def _flow(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.heat - dst.heat


def _weighed_flow(src, edge, dst):  # type: ignore[no-untyped-def]
    return edge.weight * (src.heat - dst.heat)


def _apply(old, a, p):  # type: ignore[no-untyped-def]
    return old.heat + p.c * a


def _program(*, weighted: bool) -> Program:
    return Program(
        state={"heat": np.float32},
        init=_init,
        gather=_weighed_flow if weighted else _flow,
        sum="add",
        identity=0.0,
        apply=_apply,
        fixed={"initial": np.float32},
        name="heat",
    )


def _choose_step(task: Task, column: str | None, initial: Numbers, settings: Settings) -> Counters:
    """The longest step at which no vertex goes beyond its neighbours."""
    if column is None:
        degrees = task.graph.degrees("in")
        most = max((float(part.max()) for _, part in iter_parts(degrees)), default=0.0)
        counted = Counters()
    else:
        sums = weight_sums(task, "in", None, held=initial.held_bytes)
        most, counted = sums.largest, sums.counted
    settings.params["c"] = 1 / most if most > 0 else 1.0
    return counted


def _requirements(
    counts: Counts, initial: Any, c: float | None, max_iter: int, weight: bool
) -> list[Needs]:
    check_max_iter(max_iter)
    if c is not None and not 0 <= c < np.inf:
        raise OptionError(f"c: expected a number of 0 or more, got {c}")
    if c is None:
        counts.stored("in")
    column = counts.weight if weight else None
    given = {"initial": given_bytes(initial, np.dtype(np.float32))}
    weighs = c is None and column is not None
    parts = (weight_needs(counts, "in", 0, given["initial"]),) if weighs else ()
    return program_requirements(
        counts, _program(weighted=column is not None), passes=float(max_iter + weighs),
        params={"c": 0.0}, given=given, work=1.2 if column is None else 1.4, parts=parts,
    )  # fmt: skip


def verify(graph: Graph, result: Result) -> None:
    """The same steps edge by edge, in float64."""
    own = result.stats["parameters"]
    c = result.stats["c"]
    expected = replay(
        graph,
        column_of(graph, weight=own["weight"]),
        given_values(graph, own["initial"], "initial", 0.0).whole().astype(np.float64),
        lambda values, sums, weights: values + c * (sums - weights * values),
        own["max_iter"],
    )
    compare(graph, result, expected, STEP_ERROR * (10 + own["max_iter"]))


@algorithm(
    requirements=_requirements, verify=verify, on_devices=_requirements, on_hosts=_requirements
)
def heat(
    task: Task,
    initial: VertexValues,
    c: float | None = None,
    max_iter: int = 10,
    weight: bool = True,
) -> Result:
    """Diffusion of heat: the temperature of each vertex after some steps.

    Parameters
    ----------
    graph
        Directed or not; heat comes along in-edges (an undirected edge counts both ways).
    initial
        Temperatures to begin with: a number for each of some vertices, the others have 0; or one
        number for all, or an array in ascending order of ids.
    c
        Conductivity times the length of a step: the share of a difference that an edge of weight 1
        evens out in a step. None: as much as leaves every vertex between the temperatures around
        it, 1 / the largest sum of weights of in-edges that a vertex has; stats["c"] tells.
    max_iter
        Steps, exactly.
    weight
        Count an edge by its weight; if there are no weights, or with False, each counts 1.

    Semantics
    ---------
    direction
        A vertex takes on the temperature of its in-neighbours; undirected edges count both ways.
    duplicates
        Edges that were kept twice count twice.
    loops
        Make no difference to ``T[v]``, only to the c that is chosen.
    isolates
        Vertices without in-edges keep their temperature.
    values
        float32, in the unit of ``initial``. With a c that is too large they go beyond all bounds,
        which raises a ConvergenceError. The sum of all is kept where edges lead both ways.
    tolerance
        None: exactly ``max_iter`` steps. The rounding of float32 adds less than 1e-6 of the largest
        temperature a step, unless c is larger than the one that None chooses.
    passes
        1 a step; 1 more before if c is to be chosen and there are weights.

    Examples
    --------
    >>> import penstock as ps
    >>> path = ps.from_edges([0, 1], [1, 2], directed=False)
    >>> ps.heat(path, {0: 8.0}, c=0.25, max_iter=2).values
    array([5. , 2.5, 0.5], dtype=float32)
    """
    graph = task.graph
    column = column_of(graph, weight=weight)
    start = given_values(graph, initial, "initial", 0.0)
    settings = Settings(
        params={"c": 0.0 if c is None else float(c)},
        max_iter=max_iter if graph.num_vertices else 0,
        fixed={"initial": start},
        prepare=(
            (lambda settings: _choose_step(task, column, start, settings)) if c is None else None
        ),
    )
    outcome = task.execute(settings)
    values = finite_values("heat", outcome, "heat", "give a smaller c, or none")
    return task.result("heat", values, more={"c": settings.params["c"]})

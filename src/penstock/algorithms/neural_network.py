"""A network of neurons: every vertex is one, every edge a synapse.

Returns the activation of each vertex after a number of steps, float32. Input vertices keep theirs;
each other has ``x'[v] = tanh(b[v] + sum of w[u, v] * x[u])`` over its in-edges, all at once. Others
begin at 0. After as many steps as there are layers, a network without cycles is at rest: it has
been evaluated. One with cycles is a recurrent (Hopfield) network.

Method: a vertex program that pulls along in-edges, a pass over the lists a step; sums are float64,
see ``_simulation``. Price: all neurons are computed at every step, those at rest too.

Repeating: iterations are steps of a vertex program, which looks after itself.

Hopfield: "Neurons with graded response have collective computational properties like those of
two-state neurons", PNAS 1984.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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
from penstock.engine.algorithm import Task, VertexValues, algorithm
from penstock.engine.counts import Counts
from penstock.engine.execute import program_requirements
from penstock.engine.given import given_bytes
from penstock.engine.needs import Needs
from penstock.engine.parameters import check_max_iter
from penstock.engine.programs import Settings
from penstock.engine.result import Result
from penstock.engine.state import Given
from penstock.errors import OptionError
from penstock.program import Program
from penstock.store.graph import Graph


def _init(vertex):  # type: ignore[no-untyped-def]
    return vertex.kept if vertex.kept == vertex.kept else 0.0


def _gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.activation


def _weighed_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return edge.weight * src.activation


def _apply(old, a, p):  # type: ignore[no-untyped-def]
    return old.kept if old.kept == old.kept else math.tanh(p.bias + a)


def _apply_own_bias(old, a):  # type: ignore[no-untyped-def]
    return old.kept if old.kept == old.kept else math.tanh(old.bias + a)


def _is_one(bias: object) -> bool:
    """Whether it is one number for all vertices."""
    return not isinstance(bias, Mapping) and np.ndim(bias) == 0  # type: ignore[arg-type]


def _program(*, weighted: bool, one_bias: bool) -> Program:
    return Program(
        state={"activation": np.float32},
        init=_init,
        gather=_weighed_gather if weighted else _gather,
        sum="add",
        identity=0.0,
        apply=_apply if one_bias else _apply_own_bias,
        fixed={"kept": np.float32, **({} if one_bias else {"bias": np.float32})},
        name="neural_network",
    )


def _requirements(
    counts: Counts, inputs: Any, bias: Any, max_iter: int, weight: bool
) -> list[Needs]:
    check_max_iter(max_iter)
    one_bias, kind = _is_one(bias), np.dtype(np.float32)
    if one_bias and not np.isfinite(bias):
        raise OptionError(f"bias: expected numbers, got {bias}")
    given = {"kept": given_bytes(inputs, kind)}
    if not one_bias:
        given["bias"] = given_bytes(bias, kind)
    weighted = weight and counts.weight is not None
    return program_requirements(
        counts, _program(weighted=weighted, one_bias=one_bias), passes=float(max_iter),
        params={"bias": 0.0} if one_bias else {}, given=given, work=1.4,
    )  # fmt: skip


def verify(graph: Graph, result: Result) -> None:
    """The same steps edge by edge, in float64."""
    own = result.stats["parameters"]
    kept = given_values(graph, own["inputs"], "inputs", np.nan).whole()
    bias = given_values(graph, own["bias"], "bias", 0.0).whole()
    expected = replay(
        graph,
        column_of(graph, weight=own["weight"]),
        np.where(np.isnan(kept), 0, kept).astype(np.float64),
        lambda values, sums, weights: np.tanh(bias + sums),
        own["max_iter"],
        kept,
    )
    compare(graph, result, expected, STEP_ERROR * (10 + own["max_iter"]))


@algorithm(
    requirements=_requirements, verify=verify, on_devices=_requirements, on_hosts=_requirements
)
def neural_network(
    task: Task,
    inputs: VertexValues,
    bias: VertexValues = 0.0,
    max_iter: int = 10,
    weight: bool = True,
) -> Result:
    """Activations in a network of neurons after some steps.

    Parameters
    ----------
    graph
        Directed or not; signals come along in-edges (an undirected edge counts both ways).
    inputs
        Activations that are kept: a number for each of some vertices; or an array in ascending
        order of ids, NaN where a vertex is no input. All others begin at 0.
    bias
        What is added to the sum of each vertex: one number for all, or a number for each of some
        vertices, 0 for the others.
    max_iter
        Steps, exactly: at least the number of layers for a signal to come through.
    weight
        Count an edge by its weight, which may be negative; if there are no weights, or with False,
        each counts 1.

    Semantics
    ---------
    direction
        Signals go from the source of an edge to its target; undirected edges count both ways.
    duplicates
        Edges that were kept twice count twice.
    loops
        A neuron hears its own activation of the step before.
    isolates
        Vertices without in-edges have tanh(bias).
    values
        float32 from -1 to 1; inputs are what they are.
    tolerance
        None: exactly ``max_iter`` steps. The rounding of float32 is 6e-8 a step; networks with
        large weights enlarge it from step to step.
    passes
        1 a step.

    Examples
    --------
    >>> import penstock as ps
    >>> xor = ps.from_edges([0, 1, 0, 1, 2, 3], [2, 2, 3, 3, 4, 4], [9.0, 9, 9, 9, 9, -9])
    >>> bias = {2: -4.0, 3: -13.0, 4: -8.0}
    >>> [ps.neural_network(xor, {0: a, 1: b}, bias)[4] > 0 for a, b in [(1, 1), (1, 0), (0, 1)]]
    [False, True, True]
    """
    graph = task.graph
    one_bias = _is_one(bias)
    fields: dict[str, Given] = {"kept": given_values(graph, inputs, "inputs", np.nan)}
    if not one_bias:
        fields["bias"] = given_values(graph, bias, "bias", 0.0)
    settings = Settings(
        params={"bias": float(bias)} if one_bias else {},
        max_iter=max_iter if graph.num_vertices else 0,
        fixed=fields,
    )
    outcome = task.execute(settings)
    advice = "weights must be finite numbers"
    values = finite_values("neural_network", outcome, "activation", advice)
    return task.result("activation", values, more={})

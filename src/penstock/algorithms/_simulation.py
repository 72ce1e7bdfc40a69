"""What the simulations share: values that vertices make of those of their in-neighbours, step by
step, all at once.

A value is float32, sums over in-edges are float64. The order of a sum is the order of the list, so
that results are the same whatever the number of threads. Weights are taken as they are; without
weights every edge counts 1. Values that vertices keep are a field with NaN for those that do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.algorithms._vids import by_vid
from penstock.algorithms._weights import F64, weighed_edges
from penstock.engine import vertices
from penstock.engine.execute import Outcome
from penstock.engine.given import Numbers
from penstock.engine.result import Result
from penstock.errors import ConvergenceError, OptionError, VerificationError
from penstock.store.graph import Graph
from penstock.store.mapped import PART

F32 = NDArray[np.float32]
#: ``step(values, sums of weight times value, sums of weights)``: the next values.
Step = Callable[[F64, F64, F64], F64]

#: How far a replay may be off after each step, as a share of the largest value.
STEP_ERROR = 1e-6


def column_of(graph: Graph, *, weight: bool) -> str | None:
    """The column that edges count by; None: each counts 1."""
    return graph.weight if weight else None


def given_values(graph: Graph, values: Any, name: str, missing: float) -> Numbers:
    """Numbers that the user gives for vertices, by vertex number."""
    given = vertices.by_vid(graph, values, name, missing, np.float32)
    for part, _ in given.entries():
        bad = np.isinf(part) if np.isnan(missing) else ~np.isfinite(part)
        if bad.any():
            raise OptionError(f"{name}: expected numbers, got {part[bad][0]}")
    return given


def finite_values(name: str, outcome: Outcome, field: str, advice: str) -> F32:
    """The values that a program left; raises if some are not finite."""
    column = outcome.columns[field]
    for begin in range(0, column.length, PART):
        part = column.read(begin, min(begin + PART, column.length))
        if not (np.isfinite(part.min()) and np.isfinite(part.max())):
            raise ConvergenceError(
                f"{name}: after {outcome.iterations} iterations some values are beyond all bounds; "
                f"{advice}"
            )
    return column.whole()


def replay(
    graph: Graph, column: str | None, start: F64, step: Step, times: int, kept: F32 | None = None
) -> F64:
    """The same simulation edge by edge, in float64. Vertices have the values that they keep, where
    ``kept`` has one.
    """
    values = start
    for _ in range(times):
        sums, weights = np.zeros(len(values)), np.zeros(len(values))
        for src, dst, each in weighed_edges(graph, column):
            np.add.at(sums, dst, each * values[src])
            np.add.at(weights, dst, each)
        values = step(values, sums, weights)
        if kept is not None:
            values = np.where(np.isnan(kept), values, kept)
    return values


def compare(graph: Graph, result: Result, expected: F64, error: float) -> None:
    """Raise if values differ by more than an error, as a share of the largest; notes the largest
    difference as ``stats["measured_error"]``, as such a share, too.
    """
    values = by_vid(graph, result.values.astype(np.float64))
    scale = max(float(np.abs(expected).max(initial=0)), 1e-30)
    differences = np.abs(values - expected) / scale
    result.stats["measured_error"] = float(differences.max(initial=0))
    wrong = np.flatnonzero(~(differences <= error))
    if len(wrong):
        k = wrong[0]
        raise VerificationError(
            f"{result.stats['algorithm']}: {graph.ids_by_vid()[k]} has {values[k]:.8g}; it should "
            f"be {expected[k]:.8g} ({len(wrong):,} are wrong)"
        )

"""How far ranks are from what they should be, measured along the edges in float64.

If a step of the power method changes ranks by r in all, they are ``r / (1 - alpha)`` from the exact
ones at most: the map makes distances alpha times as large at most. This needs neither the exact
ranks nor anything that the run has said of itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.algorithms._ranking import ROUNDING, Walk, error_bound
from penstock.algorithms._vids import by_vid
from penstock.algorithms._weights import F64, weighed_edges
from penstock.engine.result import Result
from penstock.errors import VerificationError
from penstock.store.graph import Graph


def verify_walk(graph: Graph, result: Result, walk: Walk) -> None:
    """Raise if ranks are farther from the exact ones than ``tol`` promises; without a ``tol``, from
    those after so many iterations. Notes ``stats["measured_error"]``, in all.
    """
    own = result.stats["parameters"]
    ranks = by_vid(graph, result.values.astype(np.float64))
    step = _step_of(graph, walk)
    rounding = ROUNDING[own["dtype"]]
    if own["tol"] == 0 and own.get("mode", "sync") == "sync":
        measured = float(np.abs(_walked(graph, walk, step, own["max_iter"]) - ranks).sum())
        allowed = rounding * (own["max_iter"] + 1)
        if walk.alpha < 1:
            allowed = min(allowed, rounding / (1 - walk.alpha))
        aim = f"after exactly {own['max_iter']} iterations"
    else:
        # Pages of an asynchronous run come in any order: its iterations cannot be done again, but
        # its last change tells how far the next one can lead.
        change = own["tol"] or result.stats["change"]
        residual = float(np.abs(step(ranks) - ranks).sum())
        measured, allowed = residual, change + rounding  # if alpha is 1, nothing bounds the error
        if walk.alpha < 1:
            measured = residual / (1 - walk.alpha)
            allowed = error_bound(walk.alpha, change, own["dtype"])
        aim = f"exactly, with a last change of {change:.3g}"
    result.stats["measured_error"] = measured
    # Only if alpha is 1, a multiple of the right ranks is as good as they are in a step.
    whole = walk.alpha < 1 or abs(float(ranks.sum()) - 1) < 1e-4
    if len(ranks) and not (measured <= allowed and whole):
        raise VerificationError(
            f"{walk.name}: the ranks may be off by {measured:.3g} in all from what they are {aim}; "
            f"allowed are {allowed:.3g}. They add up to {ranks.sum():.8g}"
        )


def _step_of(graph: Graph, walk: Walk) -> Callable[[F64], F64]:
    """One step of the power method, edge by edge."""
    n = graph.num_vertices
    column = graph.weight if walk.weight else None
    out = np.zeros(n)
    for src, _, weights in weighed_edges(graph, column):
        np.add.at(out, src, weights)
    jump = _jump(graph, walk)
    landing = jump if walk.landing is None else walk.landing.whole()

    def step(ranks: F64) -> F64:
        share = np.divide(ranks, out, out=np.zeros(n), where=out > 0)
        arrived = np.zeros(n)
        for src, dst, weights in weighed_edges(graph, column):
            np.add.at(arrived, dst, share[src] * weights)
        arrived += ranks[out == 0].sum() * landing
        return (1 - walk.alpha) * jump + walk.alpha * arrived

    return step


def _walked(graph: Graph, walk: Walk, step: Callable[[F64], F64], times: int) -> F64:
    """The ranks after so many steps."""
    ranks = _evenly(graph) if walk.start is None else walk.start.whole()
    for _ in range(times):
        ranks = step(ranks)
    return ranks


def _jump(graph: Graph, walk: Walk) -> F64:
    """Where jumps lead."""
    return _evenly(graph) if walk.jump is None else walk.jump.whole()


def _evenly(graph: Graph) -> F64:
    return np.full(graph.num_vertices, 1 / max(graph.num_vertices, 1))

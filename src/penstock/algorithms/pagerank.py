"""PageRank: how likely a random surfer is to be at each vertex.

Returns float32 ranks that add up to 1 (float64 with ``dtype``). Pull iterations of the power
method; each vertex holds its *share*, rank / out-degree, which is what its out-neighbours gather,
so that an edge costs one load and one addition. Sums are float64. The rank of vertices without
out-edges is spread evenly over all, as NetworkX does. Weights play no part. After Page, Brin,
Motwani and Winograd, 1999.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from penstock.engine.algorithm import Cost, Task, algorithm
from penstock.engine.programs import Settings
from penstock.engine.result import Result
from penstock.errors import ConvergenceError, OptionError, VerificationError
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.store.mapped import iter_parts


def _init(vertex, p):  # type: ignore[no-untyped-def]
    return 1.0 / p.num_vertices / max(vertex.out_degree, 1)


def _gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.share


def _apply(old, a, p):  # type: ignore[no-untyped-def]
    # rank = (1 - alpha) / n + alpha * (sum of shares + dangling rank / n)
    rank = (1.0 - p.alpha + p.alpha * p.dangling) / p.num_vertices + p.alpha * a
    return rank / max(old.out_degree, 1)


def _dangling(new, old):  # type: ignore[no-untyped-def]
    return new.share if old.out_degree == 0 else 0.0


def _change(new, old):  # type: ignore[no-untyped-def]
    return abs(new.share - old.share) * max(old.out_degree, 1)


def program(dtype: np.dtype[np.floating]) -> Program:
    """PageRank as a vertex program."""
    return Program(
        state={"share": dtype},
        init=_init,
        gather=_gather,
        sum="add",
        identity=0.0,
        apply=_apply,
        totals={"dangling": _dangling, "change": _change},
        name="pagerank",
    )


def _cost(
    graph: Graph, alpha: float, tol: float, max_iter: int, dtype: str, mode: str, strategy: str
) -> Cost:
    passes = float(max_iter)
    if tol > 0 and 0 < alpha < 1:
        expected = np.log(max(graph.num_vertices * tol, 1e-300)) / np.log(alpha)
        passes = float(min(max(np.ceil(expected), 1), max_iter))
    width = np.dtype(dtype).itemsize
    return Cost(2 * width + 4, ("in",), passes, gathered_bytes=width)


def verify(graph: Graph, result: Result) -> None:
    """One step of the power method, along out-edges in float64, must hardly change the ranks."""
    parameters = {"alpha": 0.85, "tol": 1e-6, **result.stats["parameters"]}
    alpha, n = parameters["alpha"], graph.num_vertices
    order = graph.vid_of_rank
    ranks = np.empty(n) if order is not None else result.values.astype(np.float64)
    if order is not None:
        ranks[order] = result.values
    degrees = np.zeros(n, np.int64)
    for src, dst, _ in graph.iter_edges():
        np.add.at(degrees, src, 1)
        if not graph.directed:
            np.add.at(degrees, dst[src != dst], 1)
    share = ranks / np.maximum(degrees, 1)
    arrived = np.zeros(n)
    for src, dst, _ in graph.iter_edges():
        np.add.at(arrived, dst, share[src])
        if not graph.directed:
            np.add.at(arrived, src[src != dst], share[dst[src != dst]])
    lost = ranks[degrees == 0].sum()
    step = (1 - alpha) / max(n, 1) + alpha * (arrived + lost / max(n, 1))
    change = float(np.abs(step - ranks).sum())
    allowed = max(2 * result.stats["change"], 1e-5)
    if n and not (change <= allowed and abs(ranks.sum() - 1) < 1e-4):
        raise VerificationError(
            f"pagerank: one more step changes the ranks by {change:.3g} in all (allowed "
            f"{allowed:.3g}); they add up to {ranks.sum():.8g}"
        )


@algorithm(cost=_cost, verify=verify)
def pagerank(
    task: Task,
    alpha: float = 0.85,
    tol: float = 1e-6,
    max_iter: int = 100,
    dtype: Literal["float32", "float64"] = "float32",
    mode: Literal["sync", "async"] = "sync",
    strategy: Literal["auto", "pull", "push"] = "auto",
) -> Result:
    """PageRank: ranks that add up to 1.

    Parameters
    ----------
    graph
        Directed or not (an undirected edge counts both ways).
    alpha
        The damping factor: how likely the surfer follows an edge.
    tol
        Stop when the ranks change by less than ``tol`` times the number of vertices in all; 0 runs
        exactly ``max_iter`` iterations.
    max_iter
        Iterations at most; if ``tol`` is not met by then, a ConvergenceError is raised.
    dtype
        float32 or float64.
    mode
        "sync", or "async": each page's results count at once.
    strategy
        "pull" along in-edges, "push" along out-edges, or what fits the graph ("auto").

    Examples
    --------
    >>> import penstock as ps
    >>> ps.pagerank(ps.from_edges([0, 1, 2], [1, 2, 0])).values.round(3)
    array([0.333, 0.333, 0.333], dtype=float32)
    """
    if not 0 <= alpha <= 1:
        raise OptionError(f"alpha: expected a number from 0 to 1, got {alpha}")
    if max_iter < 0 or tol < 0:
        raise OptionError(f"max_iter, tol: expected no negative numbers, got {max_iter}, {tol}")
    graph = task.graph
    n = graph.num_vertices
    degrees = graph.degrees("out")
    dangling = graph.catalog.directions[graph.stored("out")].degree_histogram[0]
    settings = Settings(
        params={"alpha": float(alpha), "dangling": dangling / max(n, 1)},
        max_iter=max_iter if n else 0,
        mode=mode,
        strategy=strategy,
        until=(lambda totals: totals["change"] < n * tol) if tol else None,
    )
    outcome = task.execute(program(np.dtype(dtype)), settings)
    if np.isnan(outcome.totals["change"]):
        raise ConvergenceError(
            f"pagerank: after {outcome.iterations} iterations some ranks are not numbers (NaN)"
        )
    if tol and n and not outcome.converged:
        raise ConvergenceError(
            f"pagerank: after {max_iter} iterations the ranks still change by "
            f"{outcome.totals['change']:.3g} (wanted {n * tol:.3g}); give a larger max_iter or "
            "tol, or tol=0 to take the ranks as they are"
        )
    ranks = outcome.values.pop("share")
    for begin, part in iter_parts(degrees):
        ranks[begin : begin + len(part)] *= np.maximum(part, 1)
    change = outcome.totals["change"]
    return task.result("pagerank", ranks, more={"change": change, "converged": outcome.converged})

"""PageRank: how likely a random surfer is to be at each vertex.

Returns float32 ranks that add up to 1 (float64 with ``dtype``). The surfer follows edges, jumps now
and then, and leaves vertices without out-edges for others, all as NetworkX has it: jumps lead
anywhere or as ``personalization`` says, the rank of vertices without out-edges goes where jumps
lead or as ``dangling`` says. Only the default for weights is another: they play no part unless
``weight`` is set, so that a graph with weights costs no more than one without.

Method, encoding of state and repeating: see ``_ranking``; the power method, one pass over the lists
an iteration. Without the options it holds a share twice and the degree of each vertex; every option
takes a field more. After Page, Brin, Motwani and Winograd, 1999.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from penstock.algorithms._ranking import (
    Pace,
    Walk,
    distribution,
    passes_until,
    walk_needs,
    walk_ranks,
)
from penstock.algorithms._ranking_check import verify_walk
from penstock.engine.algorithm import Task, VertexValues, algorithm
from penstock.engine.counts import Counts
from penstock.engine.given import given_bytes
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.errors import OptionError
from penstock.store.graph import Graph


def _requirements(
    counts: Counts,
    alpha: float,
    tol: float,
    max_iter: int,
    dtype: str,
    mode: Any,
    strategy: Any,
    personalization: Any,
    dangling: Any,
    weight: bool,
) -> list[Needs]:
    if not 0 <= alpha <= 1:
        raise OptionError(f"alpha: expected a number from 0 to 1, got {alpha}")
    pace = Pace(tol, max_iter, np.dtype(dtype), mode, strategy)
    given = {}
    if personalization is not None or dangling is not None:
        given["jump"] = given_bytes(personalization, pace.dtype)
    if dangling is not None:
        given["landing"] = given_bytes(dangling, pace.dtype)
    passes = passes_until(tol, alpha, max_iter)
    return walk_needs(counts, pace, given, name="pagerank", weight=weight, passes=passes)


def _walk(
    graph: Graph,
    *,
    alpha: float = 0.85,
    personalization: Any = None,
    dangling: Any = None,
    weight: bool = False,
    dtype: str = "float32",
    **others: object,
) -> Walk:
    """What the surfer does, from the parameters."""

    def spread(values: Any, name: str) -> Any:
        return None if values is None else distribution(graph, values, name, np.dtype(dtype))

    anywhere = None if dangling is None else 1.0
    jump = spread(anywhere if personalization is None else personalization, "personalization")
    return Walk("pagerank", alpha, weight, jump, spread(dangling, "dangling"))


def verify(graph: Graph, result: Result) -> None:
    """Measure how far the ranks are from the exact ones; see ``_ranking_check``."""
    verify_walk(graph, result, _walk(graph, **{**result.stats["parameters"], "dtype": "float64"}))


@algorithm(
    requirements=_requirements, verify=verify, on_devices=_requirements, on_hosts=_requirements
)
def pagerank(
    task: Task,
    alpha: float = 0.85,
    tol: float = 1e-6,
    max_iter: int = 100,
    dtype: Literal["float32", "float64"] = "float32",
    mode: Literal["sync", "async"] = "sync",
    strategy: Literal["auto", "pull", "push"] = "auto",
    personalization: VertexValues | None = None,
    dangling: VertexValues | None = None,
    weight: bool = False,
) -> Result:
    """PageRank: ranks that add up to 1.

    Parameters
    ----------
    graph
        Directed or not (an undirected edge counts both ways).
    alpha
        The damping factor: how likely the surfer follows an edge.
    tol
        Stop when the ranks change by less than ``tol`` in an iteration, the changes of all vertices
        added up; 0 runs exactly ``max_iter`` iterations.
    max_iter
        Iterations at most; if ``tol`` is not met by then, a ConvergenceError is raised.
    dtype
        float32 or float64.
    mode
        "sync", or "async": each page's results count at once.
    strategy
        "pull" along in-edges, "push" along out-edges, or what fits the graph ("auto").
    personalization
        How likely each vertex is to be jumped to: a number of 0 or more for each, which need not
        add up to 1; vertices that are left out get 0. None: all alike.
    dangling
        Where the rank of vertices without out-edges goes, given like ``personalization``. None: as
        that says.
    weight
        Follow edges in proportion to their weights, which must not be negative. By default every
        edge counts the same, even if it has a weight (NetworkX uses weights if there are any).

    Semantics
    ---------
    direction
        Rank flows from the source of an edge to its target; an undirected edge counts both ways.
    duplicates
        Edges that were kept twice count twice.
    loops
        Rank flows along a loop from a vertex to itself; an undirected loop counts once.
    isolates
        Without out-edges, or with weights of 0 only, a vertex is dangling: its rank is given away
        as ``dangling`` says. Without in-edges it has what jumps bring.
    values
        Above or equal to 0, and 1 in all.
    tolerance
        The differences from the exact ranks add up to ``(alpha * tol + 5e-7) / (1 - alpha)`` at
        most, 1e-5 by default, on graphs of any size (5e-7 is for the rounding of float32; float64
        has 1e-12). ``stats["error_bound"]`` has this bound for the last change, after ``max_iter``
        iterations with ``tol=0``, too. For a ``tol`` below 1e-7 use float64. NetworkX multiplies
        its ``tol`` by the number of vertices.
    passes
        1 an iteration, 1 more before with ``weight``. About ``log(tol) / log(alpha)`` iterations at
        most, 85 by default; 12 to 25 on random graphs.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.pagerank(ps.from_edges([0, 1, 2], [1, 2, 0])).values.round(3)
    array([0.333, 0.333, 0.333], dtype=float32)
    """
    walk = _walk(
        task.graph,
        alpha=alpha, personalization=personalization, dangling=dangling, weight=weight, dtype=dtype,
    )  # fmt: skip
    return walk_ranks(task, walk, Pace(tol, max_iter, np.dtype(dtype), mode, strategy))

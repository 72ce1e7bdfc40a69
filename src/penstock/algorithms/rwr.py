"""Random walk with restart: how near each vertex is to some sources.

Returns float32 values that add up to 1 (float64 with ``dtype``): how likely a walker is to be at
each vertex who goes back to a source with probability ``restart`` at every step. This is PageRank
with jumps to the sources only, and the same code; see ``_ranking`` for method, encoding of state
and repeating. From a vertex without out-edges the walker goes back too.

Price: one pass over the lists an iteration.

Pan, Yang, Faloutsos, Duygulu: "Automatic multimedia cross-modal correlation discovery", KDD 2004.
Kang, Tsourakakis, Faloutsos: "PEGASUS: a peta-scale graph mining system", ICDM 2009.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from penstock.algorithms._ranking import Pace, Walk, passes_until, walk_needs, walk_ranks
from penstock.algorithms._ranking_check import verify_walk
from penstock.algorithms._sources import check_selected
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.counts import Counts, Selected
from penstock.engine.needs import Needs
from penstock.engine.result import Result
from penstock.engine.vertices import some_vertices, vids_of
from penstock.errors import OptionError
from penstock.store.graph import Graph
from penstock.types import Array


def _requirements(
    counts: Counts,
    source: Selected,
    restart: float,
    tol: float,
    max_iter: int,
    weight: bool,
    dtype: str,
) -> list[Needs]:
    check_selected(source)
    if not 0 <= restart <= 1:
        raise OptionError(f"restart: expected a number from 0 to 1, got {restart}")
    pace = Pace(tol, max_iter, np.dtype(dtype))
    given = {"jump": source.count * (4 + pace.dtype.itemsize)}
    passes = passes_until(tol / 2, 1 - restart, max_iter)
    return walk_needs(counts, pace, given, name="rwr", weight=weight, passes=passes)


def _walk(
    graph: Graph,
    *,
    source: Any,
    restart: float = 0.15,
    weight: bool = False,
    dtype: str = "float32",
    **others: object,
) -> Walk:
    """What the walker does, from the parameters."""
    sources = vids_of(graph, source, "source")
    numbers: Array = np.full(len(sources), 1 / len(sources), dtype)
    jump = some_vertices(graph.num_vertices, sources, numbers, 0)
    return Walk("rwr", 1 - restart, weight, jump, start=jump)


def verify(graph: Graph, result: Result) -> None:
    """Measure how far the values are from the exact ones; see ``_ranking_check``."""
    verify_walk(graph, result, _walk(graph, **{**result.stats["parameters"], "dtype": "float64"}))


@algorithm(
    requirements=_requirements, verify=verify, on_devices=_requirements, on_hosts=_requirements
)
def rwr(
    task: Task,
    source: Vertices,
    restart: float = 0.15,
    tol: float = 1e-5,
    max_iter: int = 100,
    weight: bool = False,
    dtype: Literal["float32", "float64"] = "float32",
) -> Result:
    """Random walk with restart: how near each vertex is to a source.

    The values say how likely the walker is to be at each vertex, in the long run.

    Parameters
    ----------
    graph
        Directed or not (an undirected edge counts both ways).
    source
        The id of the vertex where the walk begins and goes back to, or several ids: then to each of
        them as often.
    restart
        How likely the walker goes back, at each step.
    tol
        Stop when the values change by less than ``tol`` in an iteration, the changes of all
        vertices added up; 0 runs exactly ``max_iter`` iterations.
    max_iter
        Iterations at most; if ``tol`` is not met by then, a ConvergenceError is raised.
    weight
        Follow edges in proportion to their weights, which must not be negative.
    dtype
        float32 or float64.

    Semantics
    ---------
    direction
        The walker goes from the source of an edge to its target; along an undirected edge both
        ways.
    duplicates
        Edges that were kept twice are taken twice as often.
    loops
        The walker stays where it is; an undirected loop counts once.
    isolates
        From a vertex without out-edges, or with weights of 0 only, the walker goes back to a
        source. What it cannot reach from there has 0.
    values
        Above or equal to 0, and 1 in all.
    tolerance
        The differences from the exact values add up to ``((1 - restart) * tol + 5e-7) / restart``
        at most, 6e-5 by default, on graphs of any size (5e-7 is for the rounding of float32;
        float64 has 1e-12). ``stats["error_bound"]`` has this bound for the last change, with
        ``tol=0``, too. For a ``tol`` below 1e-7 use float64.
    passes
        1 an iteration, 1 more before with ``weight``; 20 to 75 iterations.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.rwr(ps.from_edges([0, 1, 2], [1, 2, 0]), 0).values.round(3)
    array([0.389, 0.33 , 0.281], dtype=float32)
    """
    walk = _walk(task.graph, source=source, restart=restart, weight=weight, dtype=dtype)
    return walk_ranks(task, walk, Pace(tol, max_iter, np.dtype(dtype)))

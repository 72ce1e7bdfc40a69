"""Shortest paths from one vertex to all others, by the sum of weights (Dijkstra's problem).

Returns float64 distances, inf where no path leads. Weights must not be negative or NaN: an edge out
of a vertex that is reached is checked when it is relaxed, others are not looked at. A weight of inf
is no edge. Without weights every edge counts 1, and this is a breadth-first search.

Method: a stepping algorithm between delta-stepping and rho-stepping. A vertex whose distance was
lowered is *pending*; a step relaxes the edges of the pending vertices nearer than a bound, until
none is pending. With ``delta`` the bound is that much beyond the nearest pending vertex. Without,
it is the farthest of some bounds, doubling from a fraction of the mean weight, whose vertices have
no more than a share of all edges: small steps through the dense core of a graph, where each edge
is then relaxed about once, and large ones elsewhere. On a stream, where a step costs whole pages,
it is a multiple of the mean weight.

Trade-off: a larger delta means fewer steps and more edges relaxed in vain.

Distances are exact and the same whatever the number of threads: relaxing only ever lowers them,
until none can be lowered. They are int32 while the weights are integers of at most 4 bytes and no
distance reaches 2**30 (if one does, the run begins again), else float64, which holds integers up
to 2**53. Both are float64 in a checkpoint.

Repeating: a step may be abandoned and repeated if the vertices it began with are pending again.

Meyer, Sanders: "Delta-stepping: a parallelizable shortest path algorithm", J. Algorithms 2003.
Dong, Gu, Sun, Zhang: "Efficient stepping algorithms and implementations for parallel shortest
paths", SPAA 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.algorithms.bfs import bfs
from penstock.engine.engine import Engine
from penstock.engine.recovery import Recovery
from penstock.errors import InputError, OptionError
from penstock.jit import compare_and_swap, inlined, kernel
from penstock.store.graph import Graph
from penstock.types import U8, U32, VID, Array

#: Bytes of state for each vertex.
STATE_BYTES = 18
#: Vertices of a group, whose nearest pending vertex is known: a step looks only at groups that have
#: one near enough.
GROUP = 256
#: int32 distances and weights stay below, so that their sum is below :data:`NOT_REACHED`.
HALF = 1 << 30
NOT_REACHED = (1 << 31) - 1
#: The smallest bound is the mean weight divided by this, the largest 2**(BOUNDS - 1) times that.
FINENESS, BOUNDS = 128, 9
#: The share of all edges that a step should not exceed, and vertices that are looked at to find
#: out: one of so many.
STEP_SHARE, STRIDE = 1 / 8, 16
#: The bound on a stream, in mean weights.
STREAM_WEIGHTS = 2.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a step reaches: ``unit`` times one of the first ``bounds`` powers of two, the largest
    that keeps it to ``edges``.
    """

    unit: float
    bounds: int = 1
    edges: int = 0


@dataclass(frozen=True, slots=True)
class _State:
    distances: Array
    pending: U8
    #: The smallest distance of a pending vertex in each group, or less.
    nearest: Array
    chosen: U32
    degrees: U32

    @property
    def far(self) -> Any:
        """The distance of a vertex that is not reached."""
        integer = self.distances.dtype.kind == "i"
        return self.distances.dtype.type(NOT_REACHED if integer else np.inf)


def sssp(engine: Engine, source_vid: int, delta: float | None = None) -> Array:
    """The distance of each vertex from the source."""
    if delta is not None and not 0 < delta < np.inf:
        raise OptionError(f"delta: expected a positive number, got {delta}")
    graph = engine.graph
    if graph.catalog.weight is None:
        levels, _ = bfs(engine, source_vid)
        return np.where(levels < 0, np.inf, levels)
    dtype = next(c.dtype for c in graph.catalog.columns if c.name == graph.catalog.weight)
    kinds = [np.int32, np.float64] if dtype.kind in "iu" and dtype.itemsize <= 4 else [np.float64]
    pace = _pace(engine, delta)
    for kind in kinds:
        distances = _attempt(engine, source_vid, np.dtype(kind), pace)
        if distances is not None:
            break
    assert distances is not None
    return distances


def _pace(engine: Engine, delta: float | None) -> Pace:
    if delta is not None:
        return Pace(float(delta))
    with_edges = np.flatnonzero(engine.graph.degrees("out"))
    sample = with_edges[:: max(1, len(with_edges) // 16)].astype(VID)
    means = np.zeros(64)
    engine.traverse(sample, _sample_weights, means, engine.num_vertices)
    usable = means[(means > 0) & (means < np.inf)]
    mean = float(usable.mean()) if len(usable) else 1.0
    if not engine.is_resident():
        return Pace(STREAM_WEIGHTS * mean)
    edges = engine.graph.catalog.directions[engine.graph.stored("out")].num_edges
    return Pace(mean / FINENESS, BOUNDS, int(edges * STEP_SHARE))


def _attempt(engine: Engine, source_vid: int, dtype: np.dtype[Any], pace: Pace) -> Array | None:
    """Distances of some type as float64, or None if they are too large for it."""
    groups = -(-engine.num_vertices // GROUP)
    state = _State(
        engine.array("distances", dtype),
        engine.array("pending", np.uint8, 0),
        np.empty(groups, dtype),
        engine.array("chosen", VID),
        engine.graph.degrees("out"),
    )
    fits = _step_until_done(engine, state, source_vid, pace)
    del state.pending, state.chosen
    return distances

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
#: Vertices whose weights are looked at for the mean.
SAMPLES = 16
#: The bound on a stream, in mean weights.
STREAM_WEIGHTS = 2.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How far a step reaches beyond the nearest pending vertex: ``unit`` times the largest of the
    first ``bounds`` powers of two that keeps it to ``edges``.
    """

    unit: float
    bounds: int = 1
    edges: int = 0


class _State:
    """Everything that changes. Kernels see the arrays."""

    def __init__(self, engine: Engine, dtype: np.dtype[Any]) -> None:
        integers = dtype.kind == "i"
        #: The distance of a vertex that is not reached.
        self.far = dtype.type(NOT_REACHED if integers else np.inf)
        #: What distances and weights must be below.
        self.limit = dtype.type(HALF if integers else np.inf)
        self.distances = engine.array("distances", dtype, self.far)
        self.pending: U8 = engine.array("pending", np.uint8, 0)
        self.chosen: U32 = engine.array("chosen", VID)
        #: The smallest distance of a pending vertex in each group, or less.
        self.nearest = np.full(-(-engine.num_vertices // GROUP), self.far, dtype)
        self.degrees: U32 = np.asarray(engine.graph.degrees("out"))
        self.dtype, self.length = np.dtype(np.float64), engine.num_vertices

    # Distances in a checkpoint

    def read(self, begin: int, end: int) -> Array:
        """Some distances as float64."""
        part = self.distances[begin:end]
        return np.where(part == self.far, np.inf, part)

    def write(self, begin: int, array: Array) -> None:
        """Take distances back."""
        self.distances[begin : begin + len(array)] = np.minimum(array, self.far)


def sssp(engine: Engine, source_vid: int, delta: float | None = None) -> Array:
    """The distance of each vertex from the source."""
    if delta is not None and not 0 < delta < np.inf:
        raise OptionError(f"delta: expected a positive number, got {delta}")
    dtype = weight_dtype(engine.graph)
    if dtype is None:
        levels, _ = bfs(engine, source_vid)
        return np.where(levels < 0, np.inf, levels)
    pace = _pace(engine, delta)
    if dtype.kind in "iu" and dtype.itemsize <= 4:
        distances = _attempt(engine, source_vid, np.dtype(np.int32), pace)
        if distances is not None:
            return distances
    distances = _attempt(engine, source_vid, np.dtype(np.float64), pace)
    assert distances is not None
    return distances


def weight_dtype(graph: Graph) -> np.dtype[Any] | None:
    """The type of the weights, if there are any."""
    columns = {column.name: column.dtype for column in graph.catalog.columns}
    return None if graph.catalog.weight is None else columns[graph.catalog.weight]


def _pace(engine: Engine, delta: float | None) -> Pace:
    if delta is not None:
        return Pace(float(delta))
    with_edges = np.flatnonzero(engine.graph.degrees("out"))
    sample = with_edges[:: max(1, len(with_edges) // SAMPLES)].astype(VID)
    means = np.zeros(len(sample))
    engine.traverse(sample, _mean_weights, sample, means)
    usable = means[(means > 0) & (means < np.inf)]
    mean = float(usable.mean()) if len(usable) else 1.0
    if not engine.is_resident():
        return Pace(STREAM_WEIGHTS * mean)
    edges = engine.graph.catalog.directions[engine.graph.stored("out")].num_edges
    return Pace(mean / FINENESS, BOUNDS, int(edges * STEP_SHARE))


def _attempt(engine: Engine, source_vid: int, dtype: np.dtype[Any], pace: Pace) -> Array | None:
    """The distances, computed in some type; None if they are too large for it."""
    state = _State(engine, dtype)
    done = _relax_all(engine, state, source_vid, pace)
    distances = state.distances
    del state.pending, state.chosen
    engine.free("pending")
    engine.free("chosen")
    if done and dtype.kind == "i":
        wide = engine.array("float distances", np.float64)
        engine.each(_widen, distances, state.far, wide)
        distances = wide
    engine.free("distances")
    return distances if done else None


def _relax_all(engine: Engine, state: _State, source_vid: int, pace: Pace) -> bool:
    """Relax until nothing is pending; False if a distance or weight reaches the limit."""
    saved_arrays = {"distances": state, "pending": state.pending}
    faults: U8 = np.zeros(1, np.uint8)
    with Recovery(engine, {"algorithm": "sssp", "source": source_vid}) as recovery:
        saved = recovery.resume(saved_arrays)
        if saved is None:
            state.distances[source_vid], state.pending[source_vid] = 0, 1
        engine.each(_find_nearest, state.distances, state.pending, state.nearest, state.far)
        step = 0 if saved is None else saved[0]
        while (low := state.nearest.min(initial=state.far)) < state.far:
            if low >= state.limit:
                return False
            bound = _bound(engine, state, low, pace)
            frontier = _take(engine, state, bound)
            with engine.step(active=len(frontier), bound=float(bound)):
                engine.traverse(
                    frontier, _relax, state.distances, state.pending, state.nearest,
                    state.limit, faults,
                )  # fmt: skip
            if faults[0]:
                _refuse_bad_weights(engine.graph)
                return False
            step += 1
            recovery.after(step, saved_arrays, {})
    return True


def _bound(engine: Engine, state: _State, low: Any, pace: Pace) -> Any:
    """The distance that pending vertices must be below to have their edges relaxed now."""
    dtype = state.distances.dtype
    least = np.nextafter(low, np.inf) if dtype.kind == "f" else low + 1
    widths = pace.unit * 2.0 ** np.arange(pace.bounds)
    bounds = np.clip(float(low) + widths, float(least), float(state.limit)).astype(dtype)
    if pace.bounds == 1:
        return bounds[0]
    edges = sum(
        engine.each(
            _count_edges, state.distances, state.pending, state.nearest, state.degrees, bounds
        )
    )  # fmt: skip
    within = np.cumsum(edges) * STRIDE <= pace.edges
    return bounds[max(0, int(np.count_nonzero(within)) - 1)]


def _take(engine: Engine, state: _State, bound: Any) -> U32:
    """The pending vertices below the bound, ascending; they are pending no more."""
    parts = engine.each(
        _choose, state.distances, state.pending, state.nearest, bound, state.far, state.chosen
    )
    return np.concatenate([state.chosen[begin:end] for begin, end in parts])


def _refuse_bad_weights(graph: Graph) -> None:
    """Raise for the first weight that is negative or NaN, if there is one."""
    name = graph.catalog.weight
    assert name is not None
    for src, dst, columns in graph.iter_edges():
        bad = np.flatnonzero(~(columns[name] >= 0))
        if len(bad):
            ids = graph.ids_by_vid()
            src_id, dst_id = ids[src[bad[0]]], ids[dst[bad[0]]]
            raise InputError(
                f"sssp: edge {src_id} - {dst_id} has {name} {columns[name][bad[0]]}; shortest "
                "paths need weights of 0 or more: rebuild the graph with others"
            )


@inlined
def _lower(array, index, value, seen):  # type: ignore[no-untyped-def]
    """``array[index] = min(array[index], value)``, atomically; whether it was lowered. ``seen``:
    what was there just now.
    """
    while value < seen:
        found = compare_and_swap(array, index, seen, value)
        if found == seen:
            return True
        seen = found
    return False


@kernel
def _relax(block, vertices, found, distances, pending, nearest, limit, faults):  # type: ignore[no-untyped-def]
    """Relax the edges of some vertices; nothing is found."""
    offsets, neighbours, weights = block.offsets, block.neighbours, block.columns[0]
    first, one, group = np.uint64(block.first), np.uint64(1), np.uint64(GROUP)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        distance = distances[u]
        edge, end = np.uint64(offsets[u - first]), np.uint64(offsets[u - first + one])
        while edge < end:
            v = np.uint64(neighbours[edge])
            weight = weights[edge]
            if not (weight >= 0 and weight <= limit):
                faults[0] = 1
            longer = distance + weight
            seen = distances[v]
            if longer < seen and _lower(distances, v, longer, seen):
                pending[v] = 1
                _lower(nearest, v // group, longer, nearest[v // group])
            edge += one
    return 0


@inlined
def _groups(begin, end, size):  # type: ignore[no-untyped-def]
    """The groups that begin in a range of vertices."""
    return np.uint64((begin + size - 1) // size), np.uint64((end + size - 1) // size)


@kernel
def _find_nearest(begin, end, distances, pending, nearest, far):  # type: ignore[no-untyped-def]
    first, last = _groups(begin, end, GROUP)
    count, size = np.uint64(len(distances)), np.uint64(GROUP)
    for group in range(first, last):
        least = far
        for v in range(group * size, min(count, (group + np.uint64(1)) * size)):
            if pending[v] and distances[v] < least:
                least = distances[v]
        nearest[group] = least


@kernel
def _count_edges(begin, end, distances, pending, nearest, degrees, bounds):  # type: ignore[no-untyped-def]
    """For each bound, edges of a sample of the pending vertices between the last bound and it."""
    first, last = _groups(begin, end, GROUP)
    count, size = np.uint64(len(distances)), np.uint64(GROUP)
    edges = np.zeros(len(bounds), np.int64)
    farthest = bounds[-1]
    for group in range(first, last):
        if nearest[group] < farthest:
            stop = min(count, (group + np.uint64(1)) * size)
            for v in range(group * size, stop, np.uint64(STRIDE)):
                if pending[v] and distances[v] < farthest:
                    k = 0
                    while distances[v] >= bounds[k]:
                        k += 1
                    edges[k] += degrees[v]
    return edges


@kernel
def _choose(begin, end, distances, pending, nearest, bound, far, chosen):  # type: ignore[no-untyped-def]
    """Write the pending vertices below the bound into their part of ``chosen``, which begins and
    ends where the two numbers returned say.
    """
    first, last = _groups(begin, end, GROUP)
    count, size = np.uint64(len(distances)), np.uint64(GROUP)
    start = at = first * size
    for group in range(first, last):
        if nearest[group] < bound:
            least = far
            for v in range(group * size, min(count, (group + np.uint64(1)) * size)):
                waits, distance = pending[v], distances[v]
                taken = np.uint8(waits & (distance < bound))
                chosen[at] = v
                at += np.uint64(taken)
                pending[v] = waits - taken
                least = min(least, distance if waits > taken else far)
            nearest[group] = least
    return start, at


@kernel
def _widen(begin, end, distances, far, wide):  # type: ignore[no-untyped-def]
    for v in range(np.uint64(begin), np.uint64(end)):
        wide[v] = distances[v] if distances[v] < far else np.inf


@kernel
def _mean_weights(block, vertices, found, sample, means):  # type: ignore[no-untyped-def]
    """The mean of the first few weights of each vertex in an ascending sample."""
    offsets, weights = block.offsets, block.columns[0]
    for u in vertices:
        begin, end = np.int64(offsets[u - block.first]), np.int64(offsets[u - block.first + 1])
        few = weights[begin : min(end, begin + 256)]
        if len(few):
            means[np.searchsorted(sample, u)] = few.mean()
    return 0

"""Shortest paths from one vertex, or from the nearest of several, to all others, by the sum of
weights (Dijkstra's problem).

Returns float64 distances, inf where no path leads or only longer ones than ``cutoff``. Weights must
not be negative or NaN: an edge out of a vertex that is reached is checked when it is relaxed,
others are not looked at. A weight of inf is no edge. Without weights every edge counts 1, and this
is a breadth-first search.

Method: a stepping algorithm between delta-stepping and rho-stepping. A vertex whose distance was
lowered is *pending*; a step relaxes the edges of the pending vertices nearer than a bound, until
none is pending. With ``delta`` the bound is that much beyond the nearest pending vertex. Without,
it is the farthest of some bounds, doubling from a fraction of the mean weight, whose vertices have
no more than a share of all edges: small steps through the dense core of a graph, where each edge
is then relaxed about once, and large ones elsewhere. On a stream, where a step costs whole pages,
it is a multiple of the mean weight. Where the frontier has few edges, vertices that come below the
bound during a step have their turn in it.

Trade-off: a larger delta means fewer steps and more edges relaxed in vain.

Distances are exact and the same whatever the number of threads: relaxing only ever lowers them,
until none can be lowered. They are int32 while the weights are integers of at most 4 bytes and no
distance reaches 2**30 (if one does, the run begins again), else float64, which holds integers up
to 2**53. Both are float64 in a checkpoint. A vertex that is not reached has a distance that is
farther than any: the next number after the cutoff, so that nothing beyond it is ever taken.

Repeating: a step may be abandoned and repeated if the vertices it began with are pending again.

Meyer, Sanders: "Delta-stepping: a parallelizable shortest path algorithm", J. Algorithms 2003.
Dong, Gu, Sun, Zhang: "Efficient stepping algorithms and implementations for parallel shortest
paths", SPAA 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.algorithms import _sssp_kernels as kernels
from penstock.algorithms._levels import search_levels
from penstock.algorithms._paths import find_parents, parent_needs, refuse_bad_weights, verify
from penstock.algorithms._sources import check_selected, source_identity, sources_of
from penstock.algorithms._vertex_programs import (
    distance_needs,
    distances_from,
    refuse_options,
    search,
    search_needs,
)
from penstock.engine.algorithm import Task, Vertices, algorithm
from penstock.engine.checkpoint_file import within
from penstock.engine.counts import Counts, Selected, counts_of
from penstock.engine.engine import Engine, Kernel
from penstock.engine.needs import Needs
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.errors import CorruptionError, OptionError
from penstock.store.graph import Graph
from penstock.store.kept import Slot
from penstock.store.mapped import iter_parts
from penstock.types import I64, U8, U32, VID, Array

#: Bytes of state for each vertex, at most: float64 distances, pending, chosen, a frontier, degrees.
STATE_BYTES = 21
#: int32 distances and weights stay below, so that their sum is below :data:`NOT_REACHED`.
HALF = 1 << 30
NOT_REACHED = (1 << 31) - 1
#: The smallest bound is the mean weight divided by this, the largest 2**(BOUNDS - 1) times that.
FINENESS, BOUNDS = 64, 10
#: The share of all edges that a step should not exceed.
STEP_SHARE = 1 / 8
#: A frontier with no more edges is thin.
THIN_EDGES = 1 << 16
#: Groups that are not worth more than one thread.
FEW_GROUPS = 256
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

    def __init__(self, engine: Engine, dtype: np.dtype[Any], cutoff: float) -> None:
        integers = dtype.kind == "i"
        #: The distance of a vertex that is not reached.
        self.far = dtype.type(
            min(np.floor(cutoff) + 1, NOT_REACHED) if integers else np.nextafter(cutoff, np.inf)
        )
        #: What distances and weights must be below.
        self.limit = dtype.type(HALF if integers else np.inf)
        self.distances = engine.array("distances", dtype, self.far)
        self.pending: U8 = engine.array("pending", np.uint8, 0)
        self.chosen: U32 = engine.array("chosen", VID)
        #: The smallest distance of a pending vertex in each group, or less.
        self.nearest = np.full(-(-engine.num_vertices // kernels.GROUP), self.far, dtype)
        self.degrees: U32 = np.asarray(engine.graph.degrees("out"))
        #: Whether the distances of a checkpoint were small enough.
        self.fits = True
        self.dtype, self.length = np.dtype(np.float64), engine.num_vertices

    # Distances in a checkpoint

    def read(self, begin: int, end: int) -> Array:
        """Some distances as float64."""
        part = self.distances[begin:end]
        return np.where(part == self.far, np.inf, part)

    def write(self, begin: int, array: Array) -> None:
        """Take distances back."""
        self.fits &= not ((array >= self.limit) & (array < np.inf)).any()
        self.distances[begin : begin + len(array)] = np.minimum(array, self.far)


def shortest_distances(
    engine: Engine, sources: U32 | int, *, cutoff: float = np.inf, delta: float | None = None
) -> Array:
    """The distance of each vertex from the nearest source, in a graph with weights."""
    begins: U32 = np.atleast_1d(np.asarray(sources, VID))
    dtype = _weight_dtype(engine.graph)
    pace = _pace(engine, delta)
    if dtype.kind in "iu" and dtype.itemsize <= 4:
        distances = _attempt(engine, begins, np.dtype(np.int32), cutoff, pace)
        if distances is not None:
            return distances
    distances = _attempt(engine, begins, np.dtype(np.float64), cutoff, pace)
    if distances is None:
        raise CorruptionError(
            "an edge does not have the same weight in the lists of both its ends; see `penstock "
            "verify`: restore or rebuild the graph"
        )
    return distances


def _weight_dtype(graph: Graph) -> np.dtype[Any]:
    return next(c.dtype for c in graph.columns if c.name == graph.weight)


def _pace(engine: Engine, delta: float | None) -> Pace:
    if delta is not None:
        return Pace(float(delta))
    mean = _mean_weight(engine)
    if engine.costs.reading > 0:
        return Pace(STREAM_WEIGHTS * mean)
    edges = engine.graph.list_stats("out").num_edges
    return Pace(mean / FINENESS, BOUNDS, int(edges * STEP_SHARE))


MEAN_WEIGHT: Slot[float] = Slot("mean weight")


def _mean_weight(engine: Engine) -> float:
    """About the mean weight; it stays with the open graph."""
    kept = engine.graph.kept
    mean = kept.get(MEAN_WEIGHT, engine.columns)
    if mean is None:
        candidates = [
            begin + np.flatnonzero(part)[:: max(1, np.count_nonzero(part) // SAMPLES)]
            for begin, part in iter_parts(engine.graph.degrees("out"))
        ]
        with_edges = np.concatenate([*candidates, np.empty(0, np.int64)])
        sample = with_edges[:: max(1, len(with_edges) // SAMPLES)].astype(VID)
        means = np.zeros(len(sample))
        engine.traverse(sample, kernels.mean_weights, sample, means)
        usable = means[(means > 0) & (means < np.inf)]
        mean = float(usable.mean()) if len(usable) else 1.0
        kept.put(MEAN_WEIGHT, engine.columns, value=mean)
    return mean


def _attempt(
    engine: Engine, sources: U32, dtype: np.dtype[Any], cutoff: float, pace: Pace
) -> Array | None:
    """The distances, computed in some type; None if they are too large for it."""
    state = _State(engine, dtype, cutoff)
    identity = {"algorithm": "sssp", **source_identity(sources), "cutoff": str(cutoff)}
    done = _relax_all(engine, state, sources, identity, pace)
    distances = state.distances
    del state.pending, state.chosen
    engine.free("pending")
    engine.free("chosen")
    if done and dtype.kind == "i":
        wide = engine.array("float distances", np.float64)
        engine.map_ranges(kernels.widen, distances, state.far, wide)
        distances = wide
    elif done and cutoff < np.inf:
        engine.map_ranges(kernels.widen, distances, state.far, distances)
    engine.free("distances")
    return distances if done else None


def _relax_all(
    engine: Engine, state: _State, sources: U32, identity: dict[str, Any], pace: Pace
) -> bool:
    """Relax until nothing is pending; False if a distance or weight reaches the limit."""
    saved_arrays = {"distances": state, "pending": state.pending}
    with Recovery(engine, identity) as recovery:
        rules = {"distances": within(0, np.inf), "pending": within(0, 1)}
        saved = recovery.resume(saved_arrays, rules)
        if saved is None:
            state.distances[sources], state.pending[sources] = 0, 1
        if not state.fits:
            return False
        _each_group(engine, state, kernels.find_nearest, state.far)
        step = 0 if saved is None else saved[0]
        while (low := state.nearest.min(initial=state.far)) < state.far:
            if low >= state.limit:
                return False
            bound = _bound(engine, state, low, pace)
            frontier = _take(engine, state, bound)
            tally: I64 = np.zeros(2, np.int64)
            with engine.step(active=len(frontier), bound=float(bound)):
                engine.traverse(
                    frontier, kernels.relax, state.distances, state.pending, state.nearest,
                    bound, state.limit, _spare(engine, state, frontier), tally,
                )  # fmt: skip
                engine.count_edges(int(tally[1]))
            if tally[0]:
                refuse_bad_weights(engine.graph)
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
    rows = _each_group(engine, state, kernels.count_edges, state.degrees, bounds, below=bounds[-1])
    within = np.cumsum(sum(rows)) * kernels.STRIDE <= pace.edges
    return bounds[max(0, int(np.count_nonzero(within)) - 1)]


def _take(engine: Engine, state: _State, bound: Any) -> U32:
    """The pending vertices below the bound, ascending; they are pending no more."""
    parts = _each_group(engine, state, kernels.choose, bound, state.far, state.chosen, below=bound)
    return np.concatenate([state.chosen[begin:end] for begin, end in parts])


def _each_group(
    engine: Engine, state: _State, kernel: Kernel, *args: Any, below: Any = None
) -> list[Any]:
    """Call a kernel for all groups; it has something to do in those with a vertex ``below``."""
    arrays = (state.distances, state.pending, state.nearest)
    if below is None or np.count_nonzero(state.nearest < below) > FEW_GROUPS:
        return engine.map_ranges(kernel, kernels.GROUP, *arrays, *args)
    return engine.map_ranges(kernel, 1, *arrays, *args, length=len(state.nearest))


def _spare(engine: Engine, state: _State, frontier: U32) -> int:
    """Edges that each call of a step may relax for vertices that come below the bound meanwhile:
    where the frontier is thin this saves many steps, elsewhere distances would not be final.
    """
    if len(frontier) > THIN_EDGES or state.degrees[frontier].sum(dtype=np.int64) > THIN_EDGES:
        return 0
    return THIN_EDGES


def _requirements(
    counts: Counts, source: Selected, cutoff: float | None, delta: float | None
) -> list[Needs]:
    _check(source, cutoff, delta)
    columns = () if counts.weight is None else (counts.weight,)
    # A stream reads 4 to 4.5 times all pages of R-MAT graphs, more from many sources; steps in
    # memory look at each list once or twice, and at all vertices each.
    memory = Needs(
        ("out",), 3.0, columns, vertex_bytes=STATE_BYTES, forms=("memory",), takes_gaps=True,
        work=2.0,
    )  # fmt: skip
    return [memory, replace(memory, passes=4.5 if source.count == 1 else 5.0, forms=("stream",))]


def _on_devices(
    counts: Counts, source: Selected, cutoff: float | None, delta: float | None
) -> list[Needs]:
    _check(source, cutoff, delta)
    refuse_options("sssp", delta=delta)
    return search_needs(counts, source) if counts.weight is None else distance_needs(counts, source)


def _check(source: Selected, cutoff: float | None, delta: float | None) -> None:
    check_selected(source)
    if delta is not None and not 0 < delta < np.inf:
        raise OptionError(f"delta: expected a number above 0, got {delta}")
    if cutoff is not None and not cutoff >= 0:
        raise OptionError(f"cutoff: expected a number of 0 or more, got {cutoff}")


def _levels(task: Task, sources: U32, limit: int | None) -> tuple[Array, U32]:
    """Levels and parents by a breadth-first search."""
    if not task.options.on_plain_cpu:
        return search(task, sources, limit)
    with task.open() as engine:
        return search_levels(engine, sources, limit=limit)


@algorithm(requirements=_requirements, verify=verify, on_devices=_on_devices)
def sssp(
    task: Task, source: Vertices, cutoff: float | None = None, delta: float | None = None
) -> Result:
    """Shortest paths by weight from a source to every vertex.

    The values are distances, inf for vertices that no path leads to; ``parents`` is the vertex
    before each on a shortest path, a source for itself, and is worked out when it is first used.
    ``path(target)`` of the result is a shortest path.

    Parameters
    ----------
    graph
        Directed or not, with weights of 0 or more; without weights every edge counts 1.
    source
        The id of the vertex to begin at, or several: a distance is then that from the nearest.
    cutoff
        The longest distance to look for; vertices farther away are left out. None: no limit.
    delta
        How far beyond the nearest vertex a step looks; None chooses as it goes. The distances are
        the same with any.

    Semantics
    ---------
    direction
        Edges of a directed graph are followed from source to target.
    duplicates
        The lightest counts.
    loops
        Change nothing.
    isolates
        Are not reached, unless they are a source.
    values
        Sums of weights, 0 for sources. Vertices that no path leads to, or only paths longer than
        ``cutoff``, have inf and no parent (-1; None if ids are strings or do not fit int64).
    tolerance
        None: integer weights add up exactly (up to 2**53), others as float64 in the order of the
        path.
    ties
        The parent is, of the vertices that are nearer and before it on a shortest path, the one
        with the smallest number inside; across edges of weight 0 one that is as near.
    passes
        About 4 on R-MAT graphs, 5 from many sources, fewer with a ``cutoff``; one more for
        ``parents``.

    Examples
    --------
    >>> import penstock as ps
    >>> found = ps.sssp(ps.from_edges([0, 0, 1], [1, 2, 2], [2.0, 9.0, 3.0]), 0)
    >>> found.values.tolist(), found.parents.tolist()
    ([0.0, 2.0, 5.0], [0, 0, 1])
    >>> found.path(2)
    [0, 1, 2]
    """
    graph, sources = task.graph, sources_of(task, source)
    farthest = np.inf if cutoff is None else float(cutoff)
    if graph.weight is None:
        limit = None if farthest >= graph.num_vertices else int(farthest)
        levels, parents = _levels(task, sources, limit)
        distances = np.where(levels < 0, np.inf, levels)
        return task.result("distance", distances, more={}, vid_columns={"parents": parents})
    if task.options.on_plain_cpu:
        with task.open() as engine:
            distances = shortest_distances(engine, sources, cutoff=farthest, delta=delta)
    else:
        refuse_bad_weights(graph)
        distances = distances_from(task, sources, farthest)

    def parents_when_used() -> U32:
        needs = parent_needs(counts_of(graph))
        with Task(graph, task.options).open_part(*needs) as another:
            return find_parents(another, sources, distances)

    return task.result("distance", distances, more={}, vid_columns={"parents": parents_when_used})

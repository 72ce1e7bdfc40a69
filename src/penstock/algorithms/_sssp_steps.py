"""Distances from some vertices by weight: the steps of :mod:`penstock.algorithms.sssp`, which says
what the method is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.algorithms import _sssp_kernels as kernels
from penstock.algorithms._paths import refuse_bad_weights
from penstock.algorithms._sources import source_identity
from penstock.engine.checkpoint_file import within
from penstock.engine.engine import Engine, Kernel
from penstock.engine.joining import agreed, join_largest
from penstock.engine.recovery import Recovery
from penstock.errors import CorruptionError
from penstock.store.graph import Graph
from penstock.store.kept import Slot
from penstock.store.mapped import iter_parts
from penstock.types import I64, U8, U32, U64, VID, Array

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
        #: Over several hosts: vertices that were lowered in this step.
        several = engine.peers.size > 1
        self.lowered: U8 = engine.array("lowered", np.uint8, 0, length=0)
        if several:
            words = -(-engine.num_vertices // 8)
            self.lowered = engine.array("lowered", np.uint8, 0, length=8 * words)
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
    mean = agreed(engine, kept.get(MEAN_WEIGHT, engine.columns))
    if mean is None:
        candidates = [
            begin + np.flatnonzero(part)[:: max(1, np.count_nonzero(part) // SAMPLES)]
            for begin, part in iter_parts(engine.graph.degrees("out"))
        ]
        with_edges = np.concatenate([*candidates, np.empty(0, np.int64)])
        sample = with_edges[:: max(1, len(with_edges) // SAMPLES)].astype(VID)
        means = np.zeros(len(sample))
        engine.traverse(sample, kernels.mean_weights, sample, means)
        join_largest(engine, means)
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
    del state.pending, state.chosen, state.lowered
    for name in ("pending", "chosen", "lowered"):
        engine.free(name)
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
                    state.lowered, bound, state.limit, _spare(engine, state, frontier), tally,
                )  # fmt: skip
                engine.count_edges(int(tally[1]))
                refused = _tell(engine, state, tally)
            if refused:
                refuse_bad_weights(engine)
                return False
            step += 1
            recovery.after(step, saved_arrays, {})
    return True


def _tell(engine: Engine, state: _State, tally: I64) -> bool:
    """Every host has all distances, and relaxes the lists that it has: each tells the others which
    it has lowered, and all come to the same. Returns whether any refused a weight.
    """
    if engine.peers.size == 1:
        return bool(tally[0])
    arrays = state.distances, state.pending, state.nearest
    words: U64 = state.lowered.view(np.uint64)
    count = engine.call(kernels.take_lowered, *arrays, state.lowered, words, state.chosen)
    lowered = state.chosen[:count]
    said = engine.peers.allgather(tally[:1], lowered, state.distances[lowered])
    for rank, (_, vertices, distances) in enumerate(said):
        if rank != engine.peers.rank:
            engine.call(kernels.lower, vertices, distances, *arrays)
    return any(bool(refused[0]) for refused, _, _ in said)


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

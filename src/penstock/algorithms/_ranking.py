"""Random walks that jump now and then: what PageRank and random walks with restart share.

At each step the walker follows an out-edge with probability ``alpha``, evenly or in proportion to
the weights, and otherwise jumps. From a vertex without out-edges (or with weights of 0 only) it
goes elsewhere. A walk says where jumps and these *landings* lead.

Method: pull iterations of the power method. Each vertex holds its *share*, rank / out-degree (or
rank / the sum of its out-weights), which is what its out-neighbours gather, so that an edge costs
one load and one addition, with weights a multiplication more. Sums are float64.

The sums of out-weights take a pass over the out-lists before the first iteration. They are kept in
units of the mean weight, rounded to a power of two, so that shares in float32 neither vanish nor
overflow whatever the weights are measured in (if that is very far from 1, with a second pass).

Error: one step makes the distance of two vectors alpha times as large at most, in the sum of
absolute differences. So if the last step changed the ranks by ``change`` in all, and rounding moves
them by :data:`ROUNDING` a step at most, they are ``(alpha * change + ROUNDING) / (1 - alpha)`` from
the exact ones at most, whatever the number of vertices. Changes are summed in float64. Rounding is
relative to each rank, and the ranks add up to 1: it does not grow with the graph either, and two
steps of float32 differ by rounding alone by ``2 * 2**-24 / (1 - alpha)`` at most (8e-7 for 0.85,
below the default of ``tol``). Measured are 1e-10 on graphs of a million vertices.

Repeating: iterations are steps of a vertex program, which looks after itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from penstock.algorithms._weights import WeightSums, weight_column, weight_needs, weight_sums
from penstock.arrays import sequential_sum
from penstock.engine import vertices
from penstock.engine.algorithm import Task
from penstock.engine.counts import Counts
from penstock.engine.execute import program_requirements
from penstock.engine.given import Numbers, SparseNumbers
from penstock.engine.needs import Needs
from penstock.engine.parameters import check_max_iter, check_tol
from penstock.engine.programs import Settings
from penstock.engine.result import Result
from penstock.errors import ConvergenceError, OptionError
from penstock.metrics import Counters
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.store.mapped import iter_parts, read_range
from penstock.types import Array

#: What rounding moves the ranks by in a step, in all, at most: 8 roundings of each value; in
#: float64 also the order of long sums.
ROUNDING = {"float32": 8 * 2.0**-24, "float64": 1e-12}
#: A mean weight that is so large, or so small, is taken into account while sums are made.
FAR_UNIT = 2.0**60


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a walk leads. ``jump`` and ``landing`` are probabilities by vertex number."""

    name: str
    alpha: float
    #: Whether edges are followed in proportion to their weights.
    weight: bool
    #: None: to all vertices alike.
    jump: Numbers | None
    #: None: where jumps lead. If it is given, jumps are too.
    landing: Numbers | None = None
    #: Where the walk begins; None: anywhere.
    start: SparseNumbers | None = None

    @property
    def is_plain(self) -> bool:
        """Whether all vertices are alike to it, and all edges."""
        return not self.weight and self.jump is None

    @property
    def fields(self) -> dict[str, Numbers]:
        """What is given for each vertex."""
        given = {"jump": self.jump, "landing": self.landing}
        return {name: array for name, array in given.items() if array is not None}


@dataclass(frozen=True, slots=True)
class Pace:
    """How to walk, and for how long: until ranks change by less than ``tol`` in all, or, if that
    is 0, for ``max_iter`` iterations.
    """

    tol: float
    max_iter: int
    dtype: np.dtype[np.floating]
    mode: Literal["sync", "async"] = "sync"
    strategy: Literal["auto", "pull", "push"] = "auto"


def walk_needs(
    counts: Counts, pace: Pace, given: Mapping[str, int], *, name: str, weight: bool, passes: float
) -> list[Needs]:
    """What :func:`walk_ranks` needs. ``given``: the bytes that are held of where jumps and landings
    lead, if these are not to all vertices alike.
    """
    _check_pace(pace)
    if not weight and not given:
        program, params = _plain(pace.dtype), dict.fromkeys(("alpha", "dangling"), 0.0)
    else:
        program = _general(name, pace.dtype, weight=weight, given=given)
        params = dict.fromkeys(("alpha", "dangling", "even"), 0.0)
    parts: tuple[Needs, ...] = ()
    if weight:
        weight_column(counts, name)
        params["unit"] = 1.0
        parts = (weight_needs(counts, "out", pace.dtype.itemsize, sum(given.values())),)
    return program_requirements(
        counts, program, passes=passes + weight, params=params, given=given, mode=pace.mode,
        strategy=pace.strategy, work=1.2 if weight else 1.0, parts=parts,
    )  # fmt: skip


def passes_until(tol: float, factor: float, max_iter: int) -> float:
    """Iterations until changes that shrink by a factor each are below a share ``tol`` of the first
    one.
    """
    if tol > 0 and 0 < factor < 1:
        expected = np.log(max(tol, 1e-300)) / np.log(factor)
        return float(min(max(np.ceil(expected), 1), max_iter))
    return float(max_iter)


def _check_pace(pace: Pace) -> None:
    check_tol(pace.tol)
    check_max_iter(pace.max_iter)


def distribution(graph: Graph, values: Any, name: str, dtype: np.dtype[np.floating]) -> Numbers:
    """Numbers that the user gives for vertices, by vertex number, scaled to add up to 1."""
    given = vertices.by_vid(graph, values, name, 0.0, dtype)
    if graph.num_vertices == 0:
        return given
    parts = [
        (part.min(), part.max(), count * part.sum(dtype=np.float64))
        for part, count in given.entries()
    ]
    smallest, largest = np.min([a for a, _, _ in parts]), np.max([b for _, b, _ in parts])
    total = float(sequential_sum(c for _, _, c in parts))
    if not (smallest >= 0 and 0 < total < np.inf):
        raise OptionError(
            f"{name}: expected numbers of 0 or more, not all of them 0; they go from "
            f"{smallest} to {largest} and add up to {total}"
        )
    return given.divided_by(total)


def walk_ranks(task: Task, walk: Walk, pace: Pace) -> Result:
    """How likely the walker is to be at each vertex."""
    graph, n = task.graph, task.graph.num_vertices
    settings = Settings(
        params={"alpha": float(walk.alpha), "dangling": _dangling_at_first(graph, walk)},
        max_iter=pace.max_iter if n else 0,
        mode=pace.mode,
        strategy=pace.strategy,
        until=(lambda totals: totals["change"] < pace.tol) if pace.tol else None,
    )
    if not walk.is_plain:
        settings.params["even"] = 1.0 if walk.start is None else 0.0
        settings.fixed = {**walk.fields}
    if walk.weight:
        settings.params["unit"] = 1.0
        settings.prepare = lambda settings: _weigh(task, walk, pace.dtype, settings)
    outcome = task.execute(settings)
    change = outcome.totals["change"]
    if np.isnan(change):
        raise ConvergenceError(
            f"{walk.name}: after {outcome.iterations} iterations some ranks are not numbers (NaN)"
        )
    if pace.tol and n and not outcome.converged:
        narrow = pace.dtype == np.float32 and pace.tol * (1 - walk.alpha) < ROUNDING["float32"]
        raise ConvergenceError(
            f"{walk.name}: after {pace.max_iter} iterations the ranks still change by "
            f"{change:.3g} in all (tol is {pace.tol:.3g}); give a larger max_iter or tol"
            f"{', or dtype=float64 (float32 may be too coarse)' if narrow else ''}, or tol=0 to "
            "take the ranks as they are"
        )
    ranks, out = outcome.columns["share"], settings.fixed.get("out_weight")
    degrees = out if isinstance(out, np.ndarray) else graph.degrees("out")
    for at, begin, end in outcome.parts("share"):
        part = read_range(degrees, begin, end)
        mine = ranks.read(at, at + end - begin)
        mine *= np.where(part > 0, part, part.dtype.type(1))
        ranks.write(at, mine)
    more = {
        "change": change, "enough": pace.tol, "converged": outcome.converged,
        "error_bound": error_bound(walk.alpha, change, pace.dtype),
    }  # fmt: skip
    return task.result(walk.name, ranks.whole(), more=more)


def error_bound(alpha: float, change: float, dtype: DTypeLike) -> float:
    """How far ranks are from the exact ones in all, at most, after a step that changed them so."""
    most = alpha * change + ROUNDING[np.dtype(dtype).name]
    return most / (1 - alpha) if alpha < 1 else np.inf


def _dangling_at_first(graph: Graph, walk: Walk) -> float:
    """The share of the walk that is at vertices without out-edges to begin with."""
    if walk.start is not None:
        return _at_dead_ends(graph.degrees("out"), walk)
    dangling = graph.list_stats("out").degree_histogram[0]
    return float(dangling / max(graph.num_vertices, 1))


def _at_dead_ends(out: Array, walk: Walk) -> float:
    """The share of the walk that is at vertices whose out-degree or out-weight is 0 to begin
    with.
    """
    if walk.start is not None:
        dangling = out[walk.start.vids] == 0
        return float(walk.start.numbers[dangling].sum(dtype=np.float64))
    count = sum(int(np.count_nonzero(part == 0)) for _, part in iter_parts(out))
    return count / max(len(out), 1)


def _weigh(task: Task, walk: Walk, dtype: np.dtype[np.floating], settings: Settings) -> Counters:
    """Fill in what the weights decide."""
    graph = task.graph

    def weigh(factor: float) -> WeightSums:
        held = sum(numbers.held_bytes for numbers in walk.fields.values())
        return weight_sums(task, "out", dtype, held=held, factor=factor, refuse=walk.name)

    sums = weigh(1.0)
    mean = sums.total / max(graph.list_stats("out").num_edges, 1)
    unit = 2.0 ** round(np.log2(mean)) if 0 < mean < np.inf else 1.0
    if 1 / FAR_UNIT < unit < FAR_UNIT:
        np.multiply(sums.values, 1 / unit, out=sums.values)
    else:
        counted = sums.counted
        sums = weigh(1 / unit)
        sums.counted.add(counted)
    settings.params["dangling"] = _at_dead_ends(sums.values, walk)
    settings.params["unit"] = unit
    settings.fixed["out_weight"] = sums.values
    return sums.counted


# The programs


def _plain(dtype: np.dtype[np.floating]) -> Program:
    """All vertices are alike, and all edges."""

    def init(vertex, p):  # type: ignore[no-untyped-def]
        return 1.0 / p.num_vertices / max(vertex.out_degree, 1)

    def gather(src, edge, dst):  # type: ignore[no-untyped-def]
        return src.share

    def apply(old, a, p):  # type: ignore[no-untyped-def]
        # rank = (1 - alpha) / n + alpha * (sum of shares + dangling rank / n)
        rank = (1.0 - p.alpha + p.alpha * p.dangling) / p.num_vertices + p.alpha * a
        return rank / max(old.out_degree, 1)

    def dangling(new, old):  # type: ignore[no-untyped-def]
        return new.share if old.out_degree == 0 else 0.0

    def change(new, old):  # type: ignore[no-untyped-def]
        return abs(new.share - old.share) * max(old.out_degree, 1)

    return Program(
        state={"share": dtype},
        init=init,
        gather=gather,
        sum="add",
        identity=0.0,
        apply=apply,
        totals={"dangling": dangling, "change": change},
        name="pagerank",
    )


def _degree(vertex, p):  # type: ignore[no-untyped-def]
    return vertex.out_degree


def _weight(vertex, p):  # type: ignore[no-untyped-def]
    return vertex.out_weight


def _evenly(vertex, p):  # type: ignore[no-untyped-def]
    return 1.0 / p.num_vertices


def _jump(vertex, p):  # type: ignore[no-untyped-def]
    return vertex.jump


def _landing(vertex, p):  # type: ignore[no-untyped-def]
    return vertex.landing


def _general(
    name: str, dtype: np.dtype[np.floating], *, weight: bool, given: Collection[str]
) -> Program:
    """With fields for what the walk makes a difference of: ``given`` has some of jump, landing."""
    out = _weight if weight else _degree
    jump = _jump if "jump" in given else _evenly
    land = _landing if "landing" in given else jump

    def init(vertex, p):  # type: ignore[no-untyped-def]
        rank = p.even / p.num_vertices + (1.0 - p.even) * jump(vertex, p)
        return rank / out(vertex, p) if out(vertex, p) > 0 else rank

    def follow(src, edge, dst):  # type: ignore[no-untyped-def]
        return src.share

    def weigh(src, edge, dst):  # type: ignore[no-untyped-def]
        return src.share * edge.weight

    def step(old, a, p):  # type: ignore[no-untyped-def]
        rank = (1.0 - p.alpha) * jump(old, p) + p.alpha * (a + p.dangling * land(old, p))
        return rank / out(old, p) if out(old, p) > 0 else rank

    def weighed_step(old, a, p):  # type: ignore[no-untyped-def]
        return step(old, a / p.unit, p)

    def dangling(new, old, p):  # type: ignore[no-untyped-def]
        return new.share if out(old, p) == 0 else 0.0

    def change(new, old, p):  # type: ignore[no-untyped-def]
        change = abs(new.share - old.share)
        return change * out(old, p) if out(old, p) > 0 else change

    fixed = dict.fromkeys(given, dtype)
    return Program(
        state={"share": dtype},
        init=init,
        gather=weigh if weight else follow,
        sum="add",
        identity=0.0,
        apply=weighed_step if weight else step,
        fixed={**fixed, "out_weight": dtype} if weight else fixed,
        totals={"dangling": dangling, "change": change},
        name=name,
    )

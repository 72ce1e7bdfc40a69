"""Radius and diameter, of a graph and of each vertex, by counters of what is within reach.

Returns, for each vertex, its effective radius (float32): the distance within which it reaches a
share, 90 %, of all vertices that it ever reaches; ``eccentricity`` (int32), the distance beyond
which nothing more was found; and ``reached`` (float32), about how many vertices it reaches, itself
included. ``stats`` has what this says of the graph. Numbers of vertices are estimates, with a
standard error of ``1.04 / sqrt(2**b)`` (13 % for b = 6); eccentricities are never too large, as a
counter that changes has met a new vertex, but can be too small, as a new vertex need not change it.

Method: every vertex has a HyperLogLog counter (``_counters``) of the vertices within some distance.
At each iteration it is united with those of the out-neighbours, and counts a distance one larger;
neighbours whose counters did not change are skipped. It ends when none changes. If few vertices
have changed and the graph is undirected, only their neighbours' lists are read.

Trade-off: ``2 * 2**b`` bytes a vertex, and a pass over the lists for each of the first distances,
instead of a search from each vertex.

State: counters before and after an iteration, which are alike in between; whether each vertex has
changed; eccentricity and estimate. What the estimates were is logged in a temporary file, 8 bytes
for each change, and read once when the last ones are known.

Repeating: an iteration may be repeated on the counters of before, once those of after are equal to
them again, and the log ends where it did.

Kang, Tsourakakis, Appel, Faloutsos, Leskovec: "HADI: mining radii of large graphs", TKDD 2011.
Boldi, Vigna: "In-core computation of geometric centralities with HyperBall", ICDMW 2013.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.algorithms import _counters as counters
from penstock.algorithms._vids import by_vid
from penstock.algorithms._weights import weighed_edges
from penstock.arrays import distinct, sequential_sum
from penstock.engine.algorithm import Task, algorithm
from penstock.engine.checkpoint_file import Facts, within
from penstock.engine.counts import Counts
from penstock.engine.edge_rows import mark_neighbours
from penstock.engine.engine import Engine
from penstock.engine.needs import Needs
from penstock.engine.parameters import check_max_iter
from penstock.engine.recovery import Recovery
from penstock.engine.result import Result
from penstock.engine.scratch import ScratchColumn
from penstock.engine.sharing import one_at_a_time
from penstock.engine.state import rank_of_vid
from penstock.errors import OptionError, VerificationError
from penstock.store.graph import Graph
from penstock.store.mapped import read_range
from penstock.types import U8, U32, Array

F32 = NDArray[np.float32]
#: Lists are read one by one if fewer edges than one of so many are of vertices that have changed.
SPARSE = 64
#: Entries that are handled together.
PART = 1 << 16
#: Vertices whose reach a verifier works out without counters.
SAMPLES = 8


class _Balls:
    """The counters of all vertices, and what is known from them."""

    def __init__(self, engine: Engine, b: int) -> None:
        n, self.m = engine.num_vertices, 1 << b
        self.engine = engine
        # All registers one after another; a counter begins where a cache line does.
        self.old, self.new = (
            engine.array(name, np.uint8, 0, length=n * self.m) for name in ("counters", "counters'")
        )
        self.changed: U8 = engine.array("changed", np.uint8, 1)
        self.changing: U8 = engine.array("changing", np.uint8, 0)
        self.last = engine.array("last", np.int32, 0)
        self.reached: F32 = engine.array("reached", np.float32)
        #: Estimates that changed, and how many there were up to each step.
        self.log = ScratchColumn(engine.scratch_folder(), np.dtype(np.uint64), 0)
        self.ends = [0]
        #: The sum of all estimates at each distance.
        self.neighbourhood: list[float] = []
        self.saved = {
            "counters": self.old, "changed": self.changed, "last": self.last,
            "reached": self.reached, "log": self.log,
        }  # fmt: skip
        self.first = float(counters.estimates(np.eye(1, self.m, dtype=np.uint8))[0])

    def begin(self, b: int, seed: int) -> None:
        """Each counter holds its own vertex."""
        graph = self.engine.graph
        order = graph.vid_of_rank
        for start in range(0, self.engine.num_vertices, PART):
            end = min(start + PART, self.engine.num_vertices)
            ranks = np.arange(start, end, dtype=np.uint64)
            vids = ranks if order is None else read_range(order, start, end)
            counters.add(vids, *counters.places_of(ranks, b, seed), self.old, self.m)
        self.reached[:] = self.first
        self.neighbourhood = [float(np.float32(self.first)) * self.engine.num_vertices]
        self.new[:] = self.old

    def restore(self, facts: Facts) -> None:
        """Go on from what was saved."""
        ends, sums = facts.numbers("ends", whole=True), facts.numbers("neighbourhood")
        if ends[:1] != [0] or sorted(ends) != ends or not sums:
            raise facts.wrong("its steps do not follow each other")
        self.ends, self.neighbourhood, self.log.length = ends, sums, ends[-1]
        self.new[:] = self.old

    @property
    def facts(self) -> dict[str, Any]:
        """What is saved besides arrays."""
        return {"ends": self.ends, "neighbourhood": self.neighbourhood}

    def grow(self) -> int:
        """One iteration; how many counters changed."""
        engine = self.engine
        arrays = (self.old, self.new, self.changed, self.changing, self.m)
        few = self._few()
        with engine.step(mode="all" if few is None else "some") as row:
            if few is None:
                engine.scan(counters.unite_all, *arrays)
            else:
                touched = mark_neighbours(engine, few, self.changing, "out")
                self.changing[touched] = 0
                engine.traverse(touched, counters.unite_some, *arrays)
            row["active"] = self._settle(len(self.ends))
        self.changed, self.changing = self.changing, self.changed
        self.changing[:] = 0
        self.saved["changed"] = self.changed
        return int(row["active"])

    def _few(self) -> U32 | None:
        """The vertices that have changed, if they are few and their neighbours can be told."""
        graph = self.engine.graph
        if graph.directed or len(self.ends) == 1:
            return None
        most = graph.list_stats("out").num_edges // SPARSE
        if self.ends[-1] - self.ends[-2] > most:
            return None
        few = self.engine.select(counters.choose_marked, self.changed)
        edges = int(graph.degrees("out")[few].sum(dtype=np.int64))
        return few if edges <= most else None

    def _settle(self, step: int) -> int:
        @one_at_a_time
        def write(entries: Array) -> None:
            self.log.write(self.log.length, entries)
            self.log.length += len(entries)

        def some(begin: int, end: int) -> tuple[int, float]:
            entries: Array = np.empty(end - begin, np.uint64)
            count, total = counters.settle(
                begin, end, self.old, self.new, self.changing, self.last, self.reached, entries,
                step, self.m, counters.scale(self.m),
            )  # fmt: skip
            write(entries[:count])
            return count, total

        rows = self.engine.map_ranges(some)
        count = sum(int(count) for count, _ in rows)
        self.ends.append(self.log.length)
        if count:
            self.neighbourhood.append(sequential_sum(total for _, total in rows))
        return count

    def effective(self, share: float) -> F32:
        """How far each vertex must go for a share of what it reaches."""
        engine = self.engine
        del self.new, self.old
        self.saved.clear()
        engine.free("counters")
        engine.free("counters'")
        before: F32 = engine.array("before", np.float32, self.first)
        crossing: F32 = engine.array("radius", np.float32, 0)
        for step in range(1, len(self.ends)):
            for begin in range(self.ends[step - 1], self.ends[step], PART):
                entries = self.log.read(begin, min(begin + PART, self.ends[step]))
                counters.cross(entries, step, share, self.reached, before, crossing)
        return crossing


def _effective_diameter(neighbourhood: list[float], share: float) -> float:
    """Where the neighbourhood function passes a share of its last value, between distances."""
    wanted = share * neighbourhood[-1] if neighbourhood else 0.0
    h = next((h for h, pairs in enumerate(neighbourhood) if pairs >= wanted), 0)
    if h == 0:
        return 0.0
    below, above = neighbourhood[h - 1 : h + 1]
    return h - 1 + (wanted - below) / (above - below)


def _facts(last: Array, neighbourhood: list[float], share: float) -> dict[str, Any]:
    """What the result says of the graph as a whole."""
    more = last[last > 0]
    return {
        "diameter": int(last.max(initial=0)),
        "radius": int(more.min()) if len(more) else 0,
        "effective_diameter": _effective_diameter(neighbourhood, share),
        "neighbourhood": neighbourhood,
    }


def verify(graph: Graph, result: Result) -> None:
    """The same counters in NumPy, list by list and without shortcuts; and searches from a few
    vertices, which must not contradict them.
    """
    own = result.stats["parameters"]
    n, m = graph.num_vertices, 1 << own["b"]
    registers: U8 = np.zeros((n, m), np.uint8)
    places, heights = counters.places_of(
        rank_of_vid(graph).astype(np.uint64), own["b"], own["seed"]
    )
    registers[np.arange(n), places] = heights
    curve = [counters.estimates(registers)]
    last: Array = np.zeros(n, np.int32)
    while len(curve) - 1 != own["max_iter"] and n:
        grown = registers.copy()
        for part in graph.iter_adjacency("out"):
            lists = np.flatnonzero(part.degrees)
            if len(lists):
                starts = (np.cumsum(part.degrees, dtype=np.int64) - part.degrees)[lists]
                unions = np.maximum.reduceat(registers[part.neighbours], starts)
                rows = part.first_vid + lists
                grown[rows] = np.maximum(grown[rows], unions)
        different = (grown != registers).any(axis=1)
        if not different.any():
            break
        registers = grown
        last[different] = len(curve)
        curve.append(counters.estimates(registers))
    crossing = np.zeros(n)
    wanted = own["effective"] * curve[-1]
    for h in range(1, len(curve)):
        then, now = curve[h - 1], curve[h]
        here = (then < wanted) & (now >= wanted)
        crossing[here] = h - 1 + ((wanted - then)[here] / (now - then)[here])
    _same("eccentricity", last, by_vid(graph, result.eccentricity), 0)
    _same("reached", curve[-1], by_vid(graph, result.reached), 1e-4)
    _same("effective radius", crossing, by_vid(graph, result.values), 1e-3)
    _same("neighbourhood", [each.sum() for each in curve], result.stats["neighbourhood"], 1e-4)
    facts = _facts(last, result.stats["neighbourhood"], own["effective"])
    for name in ("diameter", "radius", "effective_diameter"):
        _same(name, [facts[name]], [result.stats[name]], 1e-6)
    if own["max_iter"] is None:
        _search(graph, last, curve[-1], 1.04 / np.sqrt(m))


def _same(name: str, expected: Any, found: Any, error: float) -> None:
    if len(expected) != len(found) or not np.allclose(found, expected, rtol=error, atol=error):
        raise VerificationError(
            f"radius: {name} is {np.asarray(found)[:10]}..., another way to work it out gives "
            f"{np.asarray(expected)[:10]}..."
        )


def _search(graph: Graph, last: Array, reached: Array, error: float) -> None:
    """Searches from a few vertices at once, a bit each: none goes less far than its counter says,
    or finds another number of vertices.
    """
    n = graph.num_vertices
    sample = distinct(np.linspace(0, max(n - 1, 0), min(n, SAMPLES)).astype(np.uint32))
    bits: U8 = np.zeros(n, np.uint8)
    bits[sample] = 1 << np.arange(len(sample))
    farthest, step = np.zeros(len(sample), int), 0
    growing = np.ones(len(sample), bool)
    while growing.any():
        step += 1
        before = bits.copy()
        for src, dst, _ in weighed_edges(graph, None):
            np.bitwise_or.at(bits, dst, before[src])
        found = np.bitwise_or.reduce(bits ^ before, initial=0)
        growing = (found >> np.arange(len(sample))) & 1 > 0
        farthest[growing] = step
    sizes = np.array([np.count_nonzero(bits >> k & 1) for k in range(len(sample))])
    if (last[sample] > farthest).any():
        raise VerificationError(
            f"radius: eccentricities {last[sample]} of the vertices {sample}, but they are "
            f"{farthest}"
        )
    if (np.abs(reached[sample] - sizes) > np.maximum(6 * error * sizes, 2)).any():
        raise VerificationError(
            f"radius: the vertices {sample} reach {sizes} vertices, estimated as {reached[sample]}"
        )


def _requirements(
    counts: Counts, b: int, effective: float, max_iter: int | None, seed: int
) -> list[Needs]:
    counters.check_size(b)
    if not 0 < effective <= 1:
        raise OptionError(f"effective: expected a share above 0, up to 1; got {effective}")
    if max_iter is not None:
        check_max_iter(max_iter)
    edges = 0 if counts.directed else counts.of("out").num_edges // SPARSE
    # One for each distance, on R-MAT graphs; where lists are read one by one, about 5 in all.
    passes = 12.0 if counts.directed else 8.0
    passes = passes if max_iter is None else min(passes, float(max_iter))
    # Two counters, and what is known from them; degrees, where lists are read one by one.
    held = 2 * (1 << b) + (10 if counts.directed else 14)
    more = 12 * edges + 128
    return [Needs(("out",), passes, (), held, 0, more, gathered_bytes=1 << b, work=4.0)]


@algorithm(requirements=_requirements, verify=verify)
def radius(
    task: Task, b: int = 6, effective: float = 0.9, max_iter: int | None = None, seed: int = 0
) -> Result:
    """Radius and diameter: how far each vertex, and the graph, reaches.

    The values are effective radii: the distance within which a vertex reaches 90 % of all that it
    ever reaches. ``eccentricity`` is how far it reaches at all, ``reached`` about how many vertices
    that are. ``stats`` has ``diameter`` and ``radius``, the largest and the smallest eccentricity
    (above 0), ``effective_diameter``, the distance of 90 % of all pairs that are connected, and
    ``neighbourhood``, the number of pairs within each distance from 0 on.

    Parameters
    ----------
    graph
        Directed or not.
    b
        A counter has 2**b bytes, and a standard error of 1.04 / sqrt(2**b): 26 % for 4, 13 % for 6,
        6.5 % for 8.
    effective
        The share that counts as effectively all.
    max_iter
        The largest distance to look at; None: until nothing changes. ``stats["converged"]`` says
        whether there was nothing beyond.
    seed
        Chooses the hash function; another one errs in another way.

    Semantics
    ---------
    direction
        Distances go along out-edges, from the vertex to what it reaches.
    duplicates
        Make no difference.
    loops
        Make no difference.
    isolates
        Vertices without out-edges reach themselves only: eccentricity and effective radius 0.
    values
        Numbers of edges, from 0 to the eccentricity, with a linear rise between two distances.
        Vertices that cannot be reached do not count. A vertex counts as reached by itself.
    tolerance
        Counts have the standard error of the counters, on graphs of any size. An eccentricity is
        never too large, and too small where the last vertices in reach leave the counter as it is:
        where few vertices are far away, as in paths and roads, by up to a share of about
        2 / 2**b. The diameter is the largest of them: on graphs of few levels hardly ever off by
        more than 1 or 2, on a path of 3,000 vertices by 0.3 to 2 % with b = 6.
    passes
        1 for each distance up to the diameter, and 1 more; fewer if the graph is undirected, where
        the last ones look at few lists. 5 to 6 on undirected R-MAT graphs.

    Examples
    --------
    >>> import penstock as ps
    >>> path = ps.from_edges([0, 1, 2, 3], [1, 2, 3, 4], directed=False)
    >>> found = ps.radius(path, b=10)
    >>> found.eccentricity.tolist(), found.stats["diameter"], found.stats["radius"]
    ([4, 3, 2, 3, 4], 4, 2)
    """
    with task.open() as engine:
        balls, converged = _grow(engine, b, seed, max_iter)
        values = balls.effective(effective)
    facts = _facts(balls.last, balls.neighbourhood, effective)
    return task.result(
        "effective_radius",
        values,
        more={**facts, "converged": converged},
        columns={"eccentricity": balls.last, "reached": balls.reached},
    )


def _grow(engine: Engine, b: int, seed: int, max_iter: int | None) -> tuple[_Balls, bool]:
    """The counters after all iterations, and whether nothing changed in the last one."""
    balls = _Balls(engine, b)
    engine.options.progress.start("distances", max_iter, "distances")
    with Recovery(engine, {"algorithm": "radius", "b": b, "seed": seed}) as recovery:
        # A register has leading zeros of a 64-bit hash, and one; the log vertices in upper halves.
        last = (engine.num_vertices << 32) - 1
        rules = {"counters": within(0, 65), "changed": within(0, 1), "log": within(0, last)}
        saved = recovery.resume(balls.saved, rules)
        if saved is None:
            balls.begin(b, seed)
        else:
            balls.restore(saved[1])
        step = len(balls.ends) - 1
        converged = engine.num_vertices == 0 or not balls.changed.any()
        while not converged and step != max_iter:
            converged = balls.grow() == 0
            step += 1
            recovery.after(step, balls.saved, balls.facts)
    return balls, converged

"""Graph500's validation: is an array of parents a right answer of kernel 2 (BFS) or 3 (SSSP)?

Everything is judged by the parents and the input edges, streamed; nothing that the search or the
construction made is taken for granted. The rules, by the specification's numbers:

1. the parents make a tree with the root at its top: there are no cycles
2. a vertex and its parent are one level apart; of SSSP, the distance of a vertex is that of its
   parent plus the weight of an edge between them
3. the ends of every input edge are at most one level apart, or at most its weight, or both outside
4. the tree spans the component of the root: no input edge has one end inside and one outside
5. a vertex and its parent are joined by an input edge

Levels are counted here, along the parents; then those that the search gave must be the same.
Distances must be those of the search; they are right if rules 1 to 5 hold, because a tree of such
edges proves that they can be reached and rule 3 that none can be lower. Two distances are taken for
equal if they differ by no more than :data:`TOLERANCE` times the larger one, or times 1.

Price: one pass over the edges and two over the vertices; 5 bytes a vertex for BFS, 6 for SSSP.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from penstock.errors import InputError
from penstock.interfaces.bench.graph500_edges import Edges
from penstock.jit import helper, kernel
from penstock.parallel import Workers, ordered_map
from penstock.types import I64, U8, Array

#: How far apart two distances may be that should be equal, relative to them.
TOLERANCE = 1e-9
#: Bytes for each vertex, beyond the parents and the levels or distances that are given.
BFS_BYTES, SSSP_BYTES = 5, 6
#: Vertices that a thread looks at in one go.
PART_VERTICES = 1 << 18

# What a kernel found; 0: nothing wrong.
OUT_OF_RANGE, ROUND, ENDS_OUTSIDE, ANOTHER_TOP = 1, 2, 3, 4
LEVEL_DIFFERS, TOO_FAR_APART, ONE_END_OUTSIDE = 5, 6, 7
NOT_JOINED, NOT_TIGHT, REACH_DIFFERS = 8, 9, 10


#: What a kernel says of some edges: a code, the edge that it is about, the edges within the tree.
Found = tuple[int, int, int, Edges]


class Failure(NamedTuple):
    """The first thing found to be wrong."""

    rule: int
    vertex: int
    message: str

    def __str__(self) -> str:
        return f"rule {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What validation says of one search."""

    #: Input edges, multiple ones and loops counted, with both ends in the tree.
    nedge: int
    failure: Failure | None = None


def validate_bfs(
    root: int, parents: I64, levels: Array, parts: Iterable[Edges], threads: int = 1
) -> Verdict:
    """Judge parents (a root's parent is itself, -1: not reached) and levels (-1: not reached)."""
    depths: Array = np.full(len(parents), -1, np.int32)
    failure = _check_tree(root, parents, depths, threads) or _check_values(
        root, depths, levels, "level", _compare_levels, threads
    )
    if failure is not None:
        return Verdict(0, failure)
    joined: U8 = np.zeros(len(parents), np.uint8)

    def check(part: Edges) -> Found:
        return (*_check_levels(part.src, part.dst, parents, depths, joined), part)

    def explain(u: int, v: int, weight: float) -> str:
        return f"an input edge joins {u} of level {depths[u]} and {v} of level {depths[v]}"

    nedge, failure = _over_edges(check, explain, parts, threads, depths)
    if failure is None:
        failure = _check_parents(root, parents, depths, joined, joined, threads)
    return Verdict(nedge, failure)


def validate_sssp(
    root: int, parents: I64, distances: Array, parts: Iterable[Edges], threads: int = 1
) -> Verdict:
    """Judge parents (a root's parent is itself, -1: not reached) and distances (inf: not
    reached).
    """
    depths: Array = np.full(len(parents), -1, np.int32)
    failure = _check_tree(root, parents, depths, threads) or _check_values(
        root, depths, distances, "distance", _compare_reach, threads
    )
    if failure is None and distances[root] != 0:
        failure = Failure(2, root, f"the root {root} has distance {distances[root]}, expected 0")
    if failure is not None:
        return Verdict(0, failure)
    joined: U8 = np.zeros(len(parents), np.uint8)
    tight: U8 = np.zeros(len(parents), np.uint8)

    def check(part: Edges) -> Found:
        found = _check_distances(
            part.src, part.dst, part.weights, parents, depths, distances, joined, tight, TOLERANCE
        )
        return (*found, part)

    def explain(u: int, v: int, weight: float) -> str:
        return (
            f"an input edge of weight {weight} joins {u} at distance {distances[u]} and {v} at "
            f"distance {distances[v]}"
        )

    nedge, failure = _over_edges(check, explain, parts, threads, depths)
    if failure is None:
        failure = _check_parents(root, parents, depths, joined, tight, threads, distances)
    return Verdict(nedge, failure)


def _check_tree(root: int, parents: I64, depths: Array, threads: int) -> Failure | None:
    """Rule 1; ``depths``, which are -1, become the number of edges from a vertex to the root."""
    if not 0 <= root < len(parents):
        return Failure(1, root, f"the root {root} is no vertex of 0 to {len(parents) - 1}")
    if parents[root] != root:
        return Failure(1, root, f"the root {root} has parent {parents[root]}, expected itself")
    depths[root] = 0

    def explain(v: int, code: int) -> Failure:
        said = {
            OUT_OF_RANGE: "from where the path leads to a number that is no vertex",
            ROUND: "from where the path leads round in a cycle instead of to the root",
            ENDS_OUTSIDE: "from where the path leads to a vertex that has no parent",
            ANOTHER_TOP: "from where the path leads to a vertex that is its own parent",
        }[code]
        return Failure(1, v, f"vertex {v} has parent {parents[v]}, {said} (the root is {root})")

    return _over_vertices(
        lambda a, b: _count_depths(a, b, parents, depths), explain, len(parents), threads
    )


def _check_values(
    root: int, depths: Array, values: Array, name: str, compare: Any, threads: int
) -> Failure | None:
    """Compare what the search gave for each vertex with the depths."""
    if len(values) != len(depths):
        return Failure(
            2, root, f"there are {len(depths)} parents but {len(values)} {name}s, expected as many"
        )

    def explain(v: int, code: int) -> Failure:
        path = (
            f"its path along parents to the root {root} has {depths[v]} edges"
            if depths[v] >= 0
            else "it has no parent"
        )
        return Failure(2, v, f"vertex {v} has {name} {values[v]}, but {path}")

    return _over_vertices(lambda a, b: compare(a, b, depths, values), explain, len(depths), threads)


def _check_parents(
    root: int,
    parents: I64,
    depths: Array,
    joined: U8,
    tight: U8,
    threads: int,
    distances: Array | None = None,
) -> Failure | None:
    """Whether every vertex of the tree was marked by an edge: rule 5, and rule 2 of SSSP."""

    def explain(v: int, code: int) -> Failure:
        above = int(parents[v])
        if code == NOT_JOINED:
            return Failure(5, v, f"vertex {v} has parent {above}, but no input edge joins the two")
        assert distances is not None
        return Failure(
            2, v,
            f"vertex {v} at distance {distances[v]} has parent {above} at distance "
            f"{distances[above]}, but no edge between them has the difference as its weight",
        )  # fmt: skip

    return _over_vertices(
        lambda a, b: _compare_marks(a, b, root, depths, joined, tight),
        explain, len(parents), threads,
    )  # fmt: skip


def _over_vertices(
    look: Callable[[int, int], tuple[int, int]],
    explain: Callable[[int, int], Failure],
    count: int,
    threads: int,
) -> Failure | None:
    """The first vertex at which ``look(begin, end)`` finds something, explained."""
    stopped = threading.Event()

    def work(_: int, begin: int) -> tuple[int, int]:
        # Ranges are begun in order: those that come after a failure cannot have the first one.
        if stopped.is_set():
            return 0, 0
        found = look(begin, min(begin + PART_VERTICES, count))
        if found[0]:
            stopped.set()
        return found

    workers = Workers(threads)
    try:
        found = workers.run(work, range(0, count, PART_VERTICES))
    finally:
        workers.close()
    return next((explain(int(vertex), int(code)) for code, vertex in found if code), None)


def _over_edges(
    check: Callable[[Edges], Found],
    explain: Callable[[int, int, float], str],
    parts: Iterable[Edges],
    threads: int,
    depths: Array,
) -> tuple[int, Failure | None]:
    """The number of edges within the tree, and the first edge that breaks a rule, explained."""
    nedge = 0
    for code, at, inside, part in ordered_map(check, parts, threads):
        nedge += int(inside)
        if not code:
            continue
        u, v = int(part.src[at]), int(part.dst[at])
        if code == OUT_OF_RANGE:
            raise InputError(
                f"an input edge joins {u} and {v}, but vertices are 0 to {len(depths) - 1}"
            )
        if code == ONE_END_OUTSIDE:
            there, missing = (u, v) if depths[v] < 0 else (v, u)
            return nedge, Failure(
                4, missing, f"an input edge joins {there}, which is in the tree, and {missing}, "
                "which has no parent",
            )  # fmt: skip
        weight = float(part.weights[at]) if len(part.weights) else 1.0
        return nedge, Failure(3, u, explain(u, v, weight))
    return nedge, None


# Kernels. Threads share the arrays: what two of them may write to a place is the same number.


@kernel
def _count_depths(begin, end, parents, depths):  # type: ignore[no-untyped-def]
    """Walk up from each vertex to one whose depth is known, then again to write the depths. A walk
    of more steps than there are vertices goes round in a cycle.
    """
    most = len(parents)
    for v in range(begin, end):
        if parents[v] == -1 or depths[v] >= 0:
            continue
        here, steps = v, 0
        while depths[here] < 0:
            above = parents[here]
            if above == -1:
                return ENDS_OUTSIDE, v
            if above < 0 or above >= most:
                return OUT_OF_RANGE, v
            if above == here:
                return ANOTHER_TOP, v
            steps += 1
            if steps > most:
                return ROUND, v
            here = above
        depth = depths[here] + steps
        here = v
        for _ in range(steps):
            depths[here] = depth
            depth -= 1
            here = parents[here]
    return 0, 0


@kernel
def _compare_levels(begin, end, depths, levels):  # type: ignore[no-untyped-def]
    for v in range(begin, end):
        if levels[v] != depths[v]:
            return LEVEL_DIFFERS, v
    return 0, 0


@kernel
def _compare_reach(begin, end, depths, distances):  # type: ignore[no-untyped-def]
    """A vertex in the tree has a distance of 0 or more, another one inf; NaN is neither."""
    for v in range(begin, end):
        inside = distances[v] >= 0 and distances[v] < np.inf
        outside = distances[v] == np.inf
        if not (inside if depths[v] >= 0 else outside):
            return REACH_DIFFERS, v
    return 0, 0


@kernel
def _compare_marks(begin, end, root, depths, joined, tight):  # type: ignore[no-untyped-def]
    for v in range(begin, end):
        if depths[v] >= 0 and v != root:
            if not joined[v]:
                return NOT_JOINED, v
            if not tight[v]:
                return NOT_TIGHT, v
    return 0, 0


@kernel
def _check_levels(src, dst, parents, depths, joined):  # type: ignore[no-untyped-def]
    """Rules 3 and 4 for some edges, and marks for rule 5; ``(code, edge, edges in the tree)``."""
    most = np.uint64(len(depths))
    inside = 0
    for i in range(len(src)):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        if u >= most or v >= most:
            return OUT_OF_RANGE, i, inside
        apart = depths[u] - depths[v]
        if depths[u] < 0 or depths[v] < 0:
            if apart != 0:
                return ONE_END_OUTSIDE, i, inside
            continue
        inside += 1
        if apart == 1:
            if np.uint64(parents[u]) == v:
                joined[u] = 1
        elif apart == -1:
            if np.uint64(parents[v]) == u:
                joined[v] = 1
        elif apart != 0:
            return TOO_FAR_APART, i, inside
    return 0, 0, inside


@helper
def _equal(a, b, tolerance):  # type: ignore[no-untyped-def]
    return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


@kernel
def _check_distances(src, dst, weights, parents, depths, distances, joined, tight, tolerance):  # type: ignore[no-untyped-def]
    """The same for distances, and marks for rule 2."""
    most = np.uint64(len(depths))
    inside = 0
    for i in range(len(src)):
        u, v = np.uint64(src[i]), np.uint64(dst[i])
        if u >= most or v >= most:
            return OUT_OF_RANGE, i, inside
        if depths[u] < 0 or depths[v] < 0:
            if depths[u] != depths[v]:
                return ONE_END_OUTSIDE, i, inside
            continue
        inside += 1
        weight = np.float64(weights[i])
        near, far = min(distances[u], distances[v]), max(distances[u], distances[v])
        if far > near + weight and not _equal(near + weight, far, tolerance):
            return TOO_FAR_APART, i, inside
        apart = depths[u] - depths[v]
        if apart == 1 and np.uint64(parents[u]) == v:
            joined[u] = 1
            if _equal(distances[v] + weight, distances[u], tolerance):
                tight[u] = 1
        elif apart == -1 and np.uint64(parents[v]) == u:
            joined[v] = 1
            if _equal(distances[u] + weight, distances[v], tolerance):
                tight[v] = 1
    return 0, 0, inside

"""PageRank, while edges come and go, within a tolerance that is stated.

The values are the ranks of ``ps.pagerank`` on the graph as it is (rank flows along edges, an
undirected one counts both ways, parallel ones count each; that of vertices without out-edges goes
to all alike; ranks add up to 1), as float64. After every batch the sum of the differences from the
exact ranks is at most ``tol``, on graphs of any size. The bound itself is in ``facts["error"]``,
and is smaller than ``tol`` most of the time. (In ``ps.pagerank``, ``tol`` is for the last change;
the error there is ``stats["error_bound"]``, up to ``alpha * tol / (1 - alpha)`` and rounding.)

Method. Let z be the solution of ``z = 1 + alpha * F z``, where F lets each vertex give equal parts
of its weight along its out-edges. The ranks are ``z / sum(z)``: jumps, and vertices without
out-edges, lead anywhere, which only adds a multiple of the same 1, whatever the number of vertices.
Kept are *weights* w and *residuals* ``r = 1 + alpha * F w - w``.

Bound: let n vertices have ranks p = w / W, W the sum of w, and let R be the sum of r. One step of
the power method changes p by ``(r - R / n) / W``, and makes every distance alpha times as large at
most, so that p is ``sum(|r - R / n|) / W / (1 - alpha)`` from the exact ranks at most. This is no
more than ``(sum(|r|) + |R|) / W / (1 - alpha)``, which is kept up to date with every change of r.
(Errors of rounding are not in it: about 1e-16 for each time that a vertex changes.)

A batch: if u had d edges and has e now, its weight is multiplied by e / d. So what flows along each
edge that stays is the same as before, and only the residuals of u and of the other ends of edges
that came and went change: a batch costs nothing for the edges that stay, however many a vertex has.
A new vertex has weight 1 and residual 0. If the bound is within ``tol`` still, that is all.

Otherwise residuals are *pushed*: ``w[v] += r[v]``, and ``alpha * r[v]`` goes to the residuals of
v's neighbours in equal parts, in place of r[v]. Vertices that gain much for an edge are pushed
first, those whose edges changed before others (after Gauss and Southwell's rule); where these have
become few, nearly all are. In an undirected graph the part of the residuals that is
proportional to the degrees is solved without a push: with ``w += c * degree`` the residuals change
by ``-c * (1 - alpha) * degree``; in a directed one, the part that is the same everywhere, for it
only scales the weights. This is done where it makes the bound smaller: that part would shrink no
faster than by alpha a push.

Price: a batch within the tolerance costs its edges only. Otherwise some passes over the residuals
(a few ms for a million vertices), and the lists of those pushed. Now and then these are all lists:
the more seldom, the larger ``tol`` is beside what a batch changes. State: 28 bytes a vertex.

Zhang, Lofgren, Goel: "Approximate personalized PageRank on dynamic graphs", KDD 2016.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from penstock.config import thread_count
from penstock.dynamic.changes import Changes, Gathered
from penstock.dynamic.maintained import pagerank_kernels as kernels
from penstock.dynamic.maintained.protocol import ByVertex, Maintained, Sides, read_only
from penstock.errors import OptionError
from penstock.parallel import Workers, ordered_map
from penstock.types import U32, VID, Array

#: Vertices that a worker goes over at a time, and whose lists are gathered at once.
RANGE, GATHERED = 1 << 18, 1 << 13
#: Vertices that gain so many times the average for an edge are pushed first, if they have at least
#: so large a part of all residuals; else those that gain so little.
LUMP, GOOD_PART, NEARLY_ALL = 2.0, 0.1, 0.02
#: Pushes along more than this part of all edges are worth a look at what needs none afterwards.
MOST = 0.25
#: Solving the even part again must leave less than this part of what the last time left.
ENOUGH = 0.9
#: The vertices divided by this are few.
FEW = 64
#: What a step of the power method may change ranks in all, at least: float64 does not do better.
LEAST_CHANGE = 1e-13


class Ranks:
    """Keeps ranks; see the module."""

    name = "pagerank"

    def __init__(self, sides: Sides, alpha: float, tol: float) -> None:
        self.facts: dict[str, Any] = {}
        self._sides, self._alpha, self._tol = sides, alpha, tol
        self._workers = Workers(thread_count(None))
        self._weights, self._residuals = ByVertex(np.float64, 1.0), ByVertex(np.float64)
        #: Degrees after a batch, and before it while it is dealt with.
        self._degrees, self._before = ByVertex(np.uint32), ByVertex(np.uint32)
        self._num_edges = 0
        self._tally = np.zeros(3)
        #: Vertices whose edges have changed since the last push.
        self._ends: list[U32] = []
        self._ranks: Array | None = None

    @property
    def values(self) -> Array:
        """Ranks by vertex number: made of the weights when first asked for after a batch."""
        if self._ranks is None:
            self._ranks = self._weights.now / max(self._tally[2], 1.0)
        return read_only(self._ranks)

    @property
    def columns(self) -> dict[str, Array]:
        """None."""
        return {}

    def start(self) -> None:
        """Compute from nothing: weights of 1, and their residuals by a push from weights of 0."""
        begin = perf_counter()
        n = self._sides.num_vertices
        for array in (self._weights, self._residuals, self._degrees, self._before):
            array.reset(n)
        self._degrees.now[:] = self._before.now[:] = self._sides.out.degrees()
        self._num_edges = int(self._degrees.now.sum(dtype=np.int64))
        self._weights.now[:], self._residuals.now[:] = 0, 1
        self._tally[:] = n, n, 0
        self._ends.clear()
        self._finish(begin, 0)

    def update(self, changes: Changes) -> None:
        """Bring the ranks within the tolerance."""
        begin = perf_counter()
        self._tally[2] += changes.num_vertices - len(self._weights.now)
        for array in (self._weights, self._residuals, self._degrees, self._before):
            array.grow(changes.num_vertices)
        self._take(changes)
        self._finish(begin, len(changes.added_src) + len(changes.removed_src))

    def _finish(self, begin: float, ends: int) -> None:
        pushed = self._push_down()
        self._ranks = None
        self.facts = {
            "seconds": perf_counter() - begin, "touched": ends + pushed[0], "edges": pushed[1],
            "waves": pushed[2], "error": self._bound(),
        }  # fmt: skip

    def _bound(self) -> float:
        """What the ranks differ from the exact ones in all, at most."""
        size, total, weight = self._tally.tolist()
        return float((size + abs(total)) / max(weight, 1.0) / (1 - self._alpha))

    def _take(self, changes: Changes) -> None:
        """Change residuals and weights as the edges have changed."""
        rows = [
            (changes.added_src, changes.added_dst, 1),
            (changes.removed_src, changes.removed_dst, -1),
        ]
        if not self._sides.directed:
            for src, dst, sign in rows[:2]:
                other = src != dst
                rows.append((dst[other], src[other], sign))
        weights, residuals, tally = self._weights.now, self._residuals.now, self._tally
        before, degrees = self._before.now, self._degrees.now
        for src, _, sign in rows:
            kernels.count_edges(src, sign, degrees)
            self._num_edges += sign * len(src)
        for src, dst, sign in rows:
            kernels.move_ends(
                src, dst, float(sign), self._alpha, before, degrees, weights, residuals, tally
            )
        self._ends += [changes.added_src, changes.added_dst]
        self._ends += [changes.removed_src, changes.removed_dst]
        for src, _, _ in rows:
            kernels.keep_shares(src, before, degrees, weights, residuals, tally)

    # Pushing

    def _push_down(self) -> tuple[int, int, int]:
        """Push until the bound is within the tolerance: vertices, edges, and waves."""
        vertices = edges = waves = 0
        self._even_left = np.inf
        if self._bound() > self._tol:
            chosen, least = self._choose_ends()
        while self._bound() > self._tol:
            while len(chosen):
                edges += self._push(chosen)
                vertices += len(chosen)
                waves += 1
                # What flows to and fro between a few is pushed again before all are looked at.
                again = kernels.select_among(
                    chosen, least, self._degrees.now, self._residuals.now, chosen
                )
                few = again <= len(self._degrees.now) // FEW and self._bound() > self._tol
                chosen = chosen[: again if few else 0]
            if self._bound() > self._tol or edges > MOST * self._num_edges:
                self._solve_even_part()
            if self._bound() > self._tol:
                chosen, least = self._choose()
        return vertices, edges, waves

    def _choose_ends(self) -> tuple[U32, float]:
        """Those of the vertices whose edges changed since the last push that gain much by one, and
        how much that is.
        """
        least = LUMP * self._average_gain()
        chosen: U32 = np.unique(np.concatenate([np.empty(0, VID), *self._ends]))
        self._ends.clear()
        count = kernels.select_among(chosen, least, self._degrees.now, self._residuals.now, chosen)
        return chosen[:count], least

    def _average_gain(self) -> float:
        """What a push of all vertices would gain for an edge."""
        return float(self._tally[0]) / max(self._num_edges + len(self._degrees.now), 1)

    def _push(self, vertices: U32) -> int:
        edges = 0
        for part, found in self._lists(vertices):
            kernels.push(
                part, found.offsets, found.neighbours, self._alpha, self._weights.now,
                self._residuals.now, self._tally,
            )  # fmt: skip
            edges += len(found.neighbours)
        return edges

    def _solve_even_part(self) -> None:
        """Measure anew, and solve the part of the residuals that needs no push, if that helps."""
        arrays = (self._degrees.now, self._weights.now, self._residuals.now)
        n, edges, total = len(arrays[0]), self._num_edges, float(self._tally[1])
        drift = offset = 0.0
        if self._sides.directed:
            offset = total / n if abs(total) < n / 2 else 0.0
        elif edges:
            drift = total / edges

        def measured(_: int, part: tuple[int, int]) -> Array:
            sums = np.zeros(4)
            kernels.measure(*part, drift, offset, *arrays, sums)
            return sums

        size, total, weight, moved = np.sum(self._workers.run(measured, self._ranges(n)), axis=0)
        self._tally[:] = size, total, weight
        left = moved + abs(total - drift * edges - offset * n)
        # A shift that undoes what was pushed since the last one would go on for ever.
        if moved >= size + abs(total) or left > ENOUGH * self._even_left:
            return
        self._even_left = left
        more, factor = drift / (1 - self._alpha), 1 / (1 - offset)

        def shifted(_: int, part: tuple[int, int]) -> None:
            kernels.shift(*part, drift, offset, more, factor, *arrays)

        self._workers.run(shifted, self._ranges(n))
        sums = moved, total - drift * edges - offset * n, weight + more * edges
        self._tally[:] = np.multiply(sums, factor)

    def _choose(self) -> tuple[U32, float]:
        """The vertices to push, and what they gain for an edge, at least."""
        average = self._average_gain()
        for least in (LUMP * average, NEARLY_ALL * average):
            chosen, size = self._select(least)
            if size >= GOOD_PART * self._tally[0]:
                break
        return chosen, least

    def _select(self, least: float) -> tuple[U32, float]:
        """Vertices that gain so much, and the sizes of their residuals in all."""

        def selected(_: int, part: tuple[int, int]) -> tuple[U32, float]:
            found: U32 = np.empty(part[1] - part[0], VID)
            count, size = kernels.select(
                *part, least, self._degrees.now, self._residuals.now, found
            )
            return found[:count], size

        parts = self._workers.run(selected, self._ranges(len(self._degrees.now)))
        return np.concatenate([found for found, _ in parts]), sum(size for _, size in parts)

    def _lists(self, vertices: U32) -> Iterator[tuple[U32, Gathered]]:
        """Some vertices, and their lists; those to come are gathered meanwhile."""
        parts = [vertices[at : at + GATHERED] for at in range(0, len(vertices), GATHERED)]
        gather = self._sides.out.gather
        if len(parts) == 1:
            return iter([(parts[0], gather(parts[0]))])
        return ordered_map(lambda part: (part, gather(part)), parts, 1)

    @staticmethod
    def _ranges(n: int) -> list[tuple[int, int]]:
        return [(begin, min(begin + RANGE, n)) for begin in range(0, n, RANGE)]


def make(sides: Sides, alpha: float = 0.85, tol: float = 1e-4) -> Maintained:
    """Ranks that differ from the exact ones by ``tol`` in all, at most; ``alpha`` is how likely the
    surfer is to follow an edge.
    """
    if not 0 <= alpha < 1:
        raise OptionError(f"pagerank: expected alpha from 0 to below 1, got {alpha}")
    least = LEAST_CHANGE / (1 - alpha)
    if not least <= tol < np.inf:
        raise OptionError(f"pagerank: expected tol of {least:.1g} or more, got {tol}")
    return Ranks(sides, alpha, tol)

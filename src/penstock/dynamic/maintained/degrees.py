"""Degrees that are kept while edges come and go."""

from __future__ import annotations

import time
from typing import Any, Literal, get_args

import numpy as np

from penstock.dynamic.changes import Changes
from penstock.dynamic.maintained.protocol import ByVertex, Sides, read_only
from penstock.errors import OptionError
from penstock.jit import kernel
from penstock.types import I64, U32, Array

Kind = Literal["out", "in", "both"]


@kernel
def _count(vertices, step, degrees):  # type: ignore[no-untyped-def]
    for i in range(len(vertices)):
        degrees[np.uint64(vertices[i])] += step


class DegreeCounts:
    """The number of edges of each vertex: those out of it, into it, or both.

    An undirected edge counts at both of its ends, and a loop once; a directed loop counts once as
    an edge out and once as an edge in.
    """

    def __init__(self, sides: Sides, kind: Kind) -> None:
        self._sides = sides
        self.kind: Kind = kind if sides.directed else "both"
        self._counts = ByVertex(np.int64)

    @property
    def now(self) -> I64:
        """By vertex number."""
        return self._counts.now

    def start(self) -> None:
        """Take the lengths of the lists."""
        sides = self._sides
        counts = self._counts.reset(sides.num_vertices)
        if self.kind != "in":
            counts += sides.out.degrees()
        if sides.directed and self.kind != "out":
            counts += sides.incoming("degree").degrees()

    def update(self, changes: Changes) -> None:
        """Count the edges of a batch."""
        counts = self._counts.grow(changes.num_vertices)
        for src, dst, step in (
            (changes.added_src, changes.added_dst, 1),
            (changes.removed_src, changes.removed_dst, -1),
        ):
            if self.kind != "in":
                _count(src, step, counts)
            if self.kind != "out":
                other: U32 = dst if self._sides.directed else dst[src != dst]
                _count(other, step, counts)


class MaintainedDegree:
    """The degree of each vertex (int64), as :class:`DegreeCounts` counts it.

    Exact after every batch. A batch costs two additions for each of its edges; memory: 8 bytes a
    vertex. A multigraph counts every parallel edge. In-degrees of a directed graph are read from
    the reverse lists at the start, so these must be kept.
    """

    name = "degree"

    def __init__(self, sides: Sides, direction: Kind) -> None:
        if direction not in get_args(Kind):
            raise OptionError(f"degree: direction: expected out, in or both; got {direction!r}")
        if sides.directed and direction != "out":
            sides.incoming(self.name)
        self._counts = DegreeCounts(sides, direction)
        self.facts: dict[str, Any] = {}

    def start(self) -> None:
        """Count from nothing."""
        began = time.perf_counter()
        self._counts.start()
        self.facts = {"seconds": time.perf_counter() - began, "touched": len(self._counts.now)}

    def update(self, changes: Changes) -> None:
        """Count the edges of a batch."""
        began = time.perf_counter()
        self._counts.update(changes)
        rows = len(changes.added_src) + len(changes.removed_src)
        self.facts = {"seconds": time.perf_counter() - began, "touched": 2 * rows}

    @property
    def values(self) -> Array:
        """Degrees by vertex number."""
        return read_only(self._counts.now)

    @property
    def columns(self) -> dict[str, Array]:
        """There are none."""
        return {}


def make(sides: Sides, direction: Kind = "out") -> MaintainedDegree:
    """Degrees of a live graph: "out", "in" or "both" (no difference for an undirected one)."""
    return MaintainedDegree(sides, direction)

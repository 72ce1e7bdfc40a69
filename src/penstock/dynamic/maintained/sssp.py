"""Distances by weight from one vertex, while edges come and go.

The values are those of ``ps.sssp`` on the graph as it is: float64 distances, inf where no path
leads; ``parents`` are vertices before each on a shortest path (the smallest number of those that
are nearer), the source for itself, ``NO_VERTEX`` where no path leads. Until the source is in the
graph nothing is reached.

Weights must not be negative or NaN: ``start`` looks at all of them, and ``check`` at those of a
batch before it is taken. A weight of inf is no edge. An edge whose weight changes must stand in
``Changes`` as removed and as added.

A directed graph must keep its reverse edges. Method, price and state: see ``paths``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.dynamic.maintained.paths import PathTree, column_of
from penstock.dynamic.maintained.protocol import Maintained, Sides


def make(sides: Sides, source: Any, weight: str | None = "weight") -> Maintained:
    """Distances from the vertex with the id ``source``, which may come later, by the edge property
    ``weight``; None counts every edge as 1.
    """
    return PathTree("sssp", sides, source, np.float64, column_of("sssp", sides, weight))

"""Breadth-first levels from one vertex, while edges come and go.

The values are those of ``ps.bfs`` on the graph as it is: levels (int32, -1 where no path leads) and
``parents`` (the smallest vertex number among the neighbours one level above, the source for itself,
``NO_VERTEX`` where no path leads). Until the source is in the graph nothing is reached.

A directed graph must keep its reverse edges. Method, price and state: see ``paths``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.dynamic.maintained.paths import PathTree
from penstock.dynamic.maintained.protocol import Maintained, Sides
from penstock.types import Array


class Levels(PathTree):
    """A tree of shortest paths by number of edges."""

    @property
    def values(self) -> Array:
        """Levels by vertex number; what is far reads -1 as a number with a sign."""
        return super().values.view(np.int32)


def make(sides: Sides, source: Any) -> Maintained:
    """Levels from the vertex with the id ``source``, which may come later."""
    return Levels("bfs", sides, source, np.uint32)

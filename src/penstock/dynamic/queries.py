"""What can be asked of a graph that changes, in the user's ids."""

from __future__ import annotations

import threading
from typing import Any

from penstock.dynamic import reading
from penstock.dynamic.state import State
from penstock.types import Array


class Queries:
    """The questions; :class:`~penstock.dynamic.graph.DynamicGraph` is asked them."""

    _lock: threading.RLock

    @property
    def _state(self) -> State:
        raise NotImplementedError

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._state.schema.directed

    @property
    def multigraph(self) -> bool:
        """Whether two vertices may have several edges."""
        return self._state.schema.multigraph

    @property
    def num_vertices(self) -> int:
        """How many vertices there are: all that an edge was ever added to, or that were added."""
        return self._state.num_vertices

    @property
    def num_edges(self) -> int:
        """How many edges there are; an undirected one counts once."""
        return self._state.num_edges

    @property
    def ids(self) -> Array:
        """The user's ids, ascending."""
        with self._lock:
            return self._state.ids.in_order()[0]

    def has_edges(self, src: Any, dst: Any) -> Array:
        """Whether there is an edge from each source to its target."""
        with self._lock:
            return reading.has_edges(self._state, src, dst)

    def degree(self, vertices: Any, direction: str = "out") -> Any:
        """The number of edges out of a vertex, or of each of several; "in": into it."""
        with self._lock:
            return reading.degree(self._state, vertices, direction)

    def neighbors(self, vertex: Any, direction: str = "out") -> Array:
        """The ids that a vertex has edges to."""
        return self.edges(vertex, direction)[0]

    def edges(self, vertex: Any, direction: str = "out") -> tuple[Array, dict[str, Array]]:
        """The ids that a vertex has edges to, and the properties of these edges."""
        with self._lock:
            return reading.edges(self._state, vertex, direction)

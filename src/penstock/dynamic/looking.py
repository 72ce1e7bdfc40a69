"""What can be asked of a graph that changes, in the user's ids."""

from __future__ import annotations

import threading
from typing import Any

from penstock.dynamic import reading
from penstock.dynamic.state import State
from penstock.types import Array


class Looking:
    """The questions; :class:`~penstock.dynamic.graph.DynamicGraph` is asked them."""

    _lock: threading.RLock

    @property
    def _state(self) -> State:
        raise NotImplementedError

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

    def edge_property(self, name: str, src: Any, dst: Any) -> Array:
        """A property of edges; raises if one is not there."""
        with self._lock:
            return reading.edge_property(self._state, name, src, dst)

    def vertex_property(self, name: str, ids: Any = None) -> Array:
        """A property of some vertices, or of all in ascending order of ids."""
        with self._lock:
            return reading.vertex_property(self._state, name, ids)

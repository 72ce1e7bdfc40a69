"""What a graph that changes has by subject: properties of edges and vertices, and internals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.dynamic import reading
from penstock.dynamic.batches import VertexBatch, check_values
from penstock.dynamic.robin_hood import ProbeDistances
from penstock.types import Array, IdKind

if TYPE_CHECKING:
    from penstock.dynamic.folder_catalog import LiveCatalog
    from penstock.dynamic.graph import DynamicGraph
    from penstock.dynamic.log_reader import Recovery


class _Group:
    """Belongs to a graph."""

    def __init__(self, graph: DynamicGraph) -> None:
        self._graph = graph


class EdgeProperties(_Group):
    """What edges carry, as ``d.edge_properties``."""

    def get(self, name: str, src: Any, dst: Any) -> Array:
        """A property of edges; raises if one is not there."""
        with self._graph._lock:
            return reading.edge_property(self._graph._state, name, src, dst)

    def set(self, name: str, src: Any, dst: Any, values: Any) -> int:
        """Set a property of edges that are there; returns of how many. Not in a multigraph."""
        return self._graph._change_edges(
            lambda state: reading.with_values(state, name, src, dst, values)
        )


class VertexProperties(_Group):
    """What vertices carry, as ``d.vertex_properties``."""

    def get(self, name: str, ids: Any = None) -> Array:
        """A property of some vertices, or of all in ascending order of ids."""
        with self._graph._lock:
            return reading.vertex_property(self._graph._state, name, ids)

    def set(self, name: str, ids: Any, values: Any) -> None:
        """Set a property of some vertices; those that are not there are added."""
        graph = self._graph
        wanted = graph._checked_ids(ids)
        index = reading.vertex_column(graph._state.schema, name)
        column = graph._state.schema.vertex_columns[index]
        graph._take(VertexBatch(wanted, index, check_values(values, column, len(wanted), "vertex")))


class Internals(_Group):
    """What is behind a graph, as ``d.internals``."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory; see :meth:`memory`."""
        return self._graph._state.nbytes

    def memory(self) -> dict[str, int]:
        """Bytes in memory by what takes them: "ids"; "vertices" (what all of them take besides,
        with their properties); "lists" (with their indexes, and what the vertices that have some
        take; merging gives these back).
        """
        with self._graph._lock:
            return self._graph._state.memory()

    @property
    def recovery(self) -> Recovery | None:
        """What opening found in the log."""
        return self._graph._storage.recovery

    @property
    def catalog(self) -> LiveCatalog | None:
        """What the directory says of the graph; None if it is in memory."""
        return self._graph._storage.catalog

    @property
    def id_kind(self) -> IdKind | None:
        """What ids are; None if no batch has said so."""
        return self._graph._state.id_kind

    @property
    def log_bytes(self) -> int:
        """How long the logs are together."""
        return self._graph._storage.log_bytes

    def probe_distances(self) -> dict[str, ProbeDistances]:
        """How far entries are from home, in the tables there are."""
        with self._graph._lock:
            state = self._graph._state
            sides = state.sides.items()
            found = {f"{name}-lists": side.added.probe_distances() for name, side in sides}
            ids = state.ids.probe_distances()
            return found if ids is None else {**found, "ids": ids}

"""A graph at the moment when a compaction begins: what is written while the graph goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.dynamic.layers import FrozenSide
from penstock.dynamic.state import State
from penstock.types import Array, Direction, IdKind


@dataclass(frozen=True, slots=True)
class FrozenIds:
    """The ids of the vertices there were, as :class:`~penstock.dynamic.merge_compact.VertexIds`."""

    kind: IdKind
    values: Array

    @property
    def num_vertices(self) -> int:
        """How many there were."""
        return len(self.values)

    def by_vid(self) -> Array:
        """The id of each vertex number."""
        return self.values


@dataclass(frozen=True, slots=True)
class FrozenState:
    """Lists and ids are those of the graph, which changes neither any more; columns are copies."""

    sides: Mapping[Direction, FrozenSide]
    ids: FrozenIds
    #: What ids are; None if no batch had said so.
    id_kind: IdKind | None
    #: The values of vertices.
    columns: tuple[Array, ...]

    @classmethod
    def of(cls, state: State) -> FrozenState:
        """The graph as it is now. Its sides must be changed no more."""
        count = state.num_vertices
        return cls(
            {each: FrozenSide(side, state.threads) for each, side in state.sides.items()},
            FrozenIds(state.ids.kind, state.ids.by_vid()[:count]),
            state.id_kind,
            tuple(column.grow(count).copy() for column in state.columns),
        )

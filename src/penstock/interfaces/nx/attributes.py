"""``G[node]`` of a stored graph: from each neighbour to what the edge there carries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from penstock.types import U32, Array

Node = Any


class EdgeTable(NamedTuple):
    """Edges by the place of their source, parallel ones side by side, and their columns by name."""

    offsets: Array
    neighbours: U32
    columns: dict[str, Array]

    def attributes(self, place: int, other: int, *, multigraph: bool) -> dict[Any, Any]:
        """What the edge between two places carries; of a multigraph, by the number of the edge."""
        begin, end = int(self.offsets[place]), int(self.offsets[place + 1])
        rows = begin + (self.neighbours[begin:end] == other).nonzero()[0]
        found = [{name: column[k].item() for name, column in self.columns.items()} for k in rows]
        return dict(enumerate(found)) if multigraph else found[0]


class Neighbours(Mapping[Node, Any]):
    """The neighbours of a node as NetworkX's ``G[node]`` has them. Cannot be written to."""

    def __init__(self, places: dict[Node, int], attributes: Callable[[int], Any]) -> None:
        self._places = places
        self._attributes = attributes

    def __getitem__(self, node: Node) -> Any:
        return self._attributes(self._places[node])

    def __contains__(self, node: object) -> bool:
        return node in self._places

    def __iter__(self) -> Iterator[Node]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<{len(self):,} neighbours>"

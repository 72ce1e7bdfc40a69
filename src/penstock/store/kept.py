"""What stays in memory with an open graph from one run to the next.

A layer that keeps something declares a :class:`Slot` for it, which says of what type it is::

    LISTS: Slot[Block] = Slot("lists")
    block = graph.kept.get(LISTS, "out", ())
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

#: A slot, and what tells things in it apart.
Key = tuple["Slot[Any]", tuple[Hashable, ...]]


@dataclass(frozen=True, slots=True)
class Slot(Generic[Value]):
    """A kind of thing that is kept, and its type."""

    name: str


class Kept:
    """All that is kept with one graph. Threads may use it at the same time."""

    def __init__(self) -> None:
        self._held: dict[Key, Any] = {}

    def get(self, slot: Slot[Value], *key: Hashable) -> Value | None:
        """What there is, if there is anything."""
        found: Value | None = self._held.get((slot, key))
        return found

    def put(self, slot: Slot[Value], *key: Hashable, value: Value) -> Value:
        """Keep something; it is returned."""
        self._held[slot, key] = value
        return value

    def take(self, slot: Slot[Value], *key: Hashable) -> Value | None:
        """What there is, which is not kept any more."""
        found: Value | None = self._held.pop((slot, key), None)
        return found

    def keys(self, slot: Slot[Any]) -> set[tuple[Hashable, ...]]:
        """What tells the things in a slot apart."""
        return {key for each, key in list(self._held) if each == slot}

    def items(self) -> Iterator[tuple[Key, Any]]:
        """Everything."""
        return iter(list(self._held.items()))

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()

    def __len__(self) -> int:
        return len(self._held)

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()  # a copy of the graph in another process begins with nothing

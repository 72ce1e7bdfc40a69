"""Graphs of lists that are grouped without pages, and whose in-lists may be made when needed."""

from __future__ import annotations

from penstock.store.graph import Graph
from penstock.store.grouping import Grouping, group_lists
from penstock.store.source import Description, ListStats
from penstock.types import U32, Array, Direction


class GroupedGraph(Graph):
    """A graph whose page tables say which lists come together. Degrees of a direction that is
    ``unbuilt`` are counted when they are first asked for.
    """

    def __init__(self, description: Description) -> None:
        super().__init__(description)
        self._degrees: dict[Direction, U32] = {}
        self._groups: dict[Direction, Grouping] = {}

    def _count_targets(self) -> U32:
        """How often each vertex is a target of the out-lists."""
        raise NotImplementedError

    def _group(self, direction: Direction, degrees: U32, grouping: Grouping) -> None:
        """Have lists of these degrees for a direction."""
        self._degrees[direction], self._groups[direction] = degrees, grouping
        lists = {**self.description.lists, direction: grouping.stats}
        self.description = self.description._replace(lists=lists)

    def _counted(self, direction: Direction) -> Direction:
        """The stored direction that serves as one, with its degrees counted."""
        stored = self.stored(direction)
        if stored not in self._degrees:
            degrees = self._count_targets()
            self._degrees[stored], self._groups[stored] = degrees, group_lists(degrees)
        return stored

    def degrees(self, direction: Direction) -> U32:
        """See :class:`~penstock.store.source.GraphSource`."""
        return self._degrees[self._counted(direction)]

    def page_table(self, direction: Direction) -> Array:
        """See :class:`~penstock.store.source.GraphSource`."""
        return self._groups[self._counted(direction)].table

    def list_stats(self, direction: Direction) -> ListStats:
        """See :class:`~penstock.store.graph.Graph`."""
        return self._groups[self._counted(direction)].stats

"""A graph, open: what users see of it, and what follows from what each kind of graph provides."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import FormatError
from penstock.store.exports import ExportMixin
from penstock.store.kept import Kept
from penstock.store.layout import Column
from penstock.store.source import Description, GraphSource, ListStats
from penstock.types import U32, Array, Direction, IdKind

if TYPE_CHECKING:
    import pyarrow as pa


def serving_direction(
    wanted: Direction, stored: Collection[Direction], *, directed: bool, path: Path | None
) -> Direction:
    """Which stored lists serve as those of a direction; raises if there are none."""
    if wanted in stored:
        return wanted
    if not directed:
        return "out"
    raise FormatError(
        f"{'' if path is None else f'{path}: '}the graph was built without its {wanted}-lists; "
        "rebuild it with both directions (a graph that changes: without reverse=False)"
    )


class Graph(GraphSource, ExportMixin):
    """A graph that algorithms run on, on disk or in memory; it does not change.

    Vertices have the user's ids outside and numbers 0 .. n-1 (*vids*, in stored order) inside.

    >>> import penstock as ps
    >>> graph = ps.from_edges(["ann", "bob"], ["bob", "cy"])
    >>> graph, graph.ids.tolist()
    (<Graph in memory: 3 vertices, 2 directed edges>, ['ann', 'bob', 'cy'])
    """

    def __init__(self, description: Description, path: Path | None = None) -> None:
        self.description = description
        self.path = path
        #: What layers above keep in memory as long as the graph is open.
        self.kept = Kept()
        #: The same, as long as the graph has the same ids.
        self.kept_of_ids = self.kept

    # What users see

    @property
    def num_vertices(self) -> int:
        """How many vertices there are, those without edges included."""
        return self.description.num_vertices

    @property
    def num_edges(self) -> int:
        """How many edges there are, after the duplicate and self-loop rules; an undirected edge
        counts once.
        """
        return self.description.num_edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self.description.directed

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.description.weight is not None

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions whose lists are stored; an undirected graph needs only "out"."""
        return tuple(self.description.lists)

    def ids_by_vid(self) -> Array:
        """The user's id of each vertex number."""
        if self.vid_of_rank is None:
            return self.ids
        ids = np.empty_like(self.ids)
        ids[self.vid_of_rank] = self.ids
        return ids

    def to_edges(self) -> tuple[Array, ...]:
        """All edges as arrays ``(src, dst)`` or ``(src, dst, weight)`` of the user's ids; an
        undirected edge appears once.
        """
        ids = self.ids_by_vid()
        src, dst, weight = [], [], []
        for edges in self.iter_edges():
            src.append(ids[edges[0]])
            dst.append(ids[edges[1]])
            if self.weight is not None:
                weight.append(edges[2][self.weight])
        none: Array = np.empty(0, ids.dtype)
        found = (np.concatenate([none, *src]), np.concatenate([none, *dst]))
        if self.weight is None:
            return found
        dtype = next(column.dtype for column in self.columns if column.name == self.weight)
        return (*found, np.concatenate([np.empty(0, dtype), *weight]))

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        place = "in memory" if self.path is None else str(self.path)
        return f"<Graph {place}: {self.num_vertices:,} vertices, {self.num_edges:,} {kind} edges>"

    # What the layers above use

    @property
    def columns(self) -> tuple[Column, ...]:
        """What edges have besides their ends."""
        return self.description.columns

    @property
    def weight(self) -> str | None:
        """The column that algorithms take as the weight, if there is one."""
        return self.description.weight

    @property
    def vertex_order(self) -> str:
        """What the numbers of vertices ascend by."""
        return self.description.vertex_order

    @property
    def neighbour_order(self) -> str:
        """What the neighbours in a list ascend by; "none" if they have no order."""
        return self.description.neighbour_order

    @property
    def multigraph(self) -> bool:
        """Whether an edge may be there several times."""
        return self.description.multigraph

    @property
    def id_kind(self) -> IdKind:
        """Whether ids are numbers or strings."""
        return self.description.id_kind

    @property
    def tag(self) -> int:
        """Tells graphs apart, and versions of one that changes."""
        return self.description.tag

    def list_stats(self, direction: Direction) -> ListStats:
        """The lists that serve as those of a direction, in numbers."""
        return self.description.lists[self.stored(direction)]

    def mapped_strings(self) -> pa.ChunkedArray | None:
        """Ids that are strings, ascending, as Arrow maps them; None if they are in no file."""
        return None

    @property
    def unbuilt(self) -> Mapping[Direction, int]:
        """The directions whose lists can be made of the others, and are not there yet, with the
        bytes that making and keeping them takes. Their degrees are known, counted when first asked
        for; their lists are there after :meth:`build_lists`.
        """
        return MappingProxyType({})

    def build_lists(self, direction: Direction, memory: int | None = None) -> None:
        """Make the lists of a direction that is ``unbuilt``, in about this much memory."""
        raise NotImplementedError(f"{direction}-lists of {self!r} cannot be made")

    def stored(self, direction: Direction) -> Direction:
        """Which stored lists serve as those of a direction; raises if there are none."""
        if direction in self.description.lists:
            return direction
        return serving_direction(direction, self.unbuilt, directed=self.directed, path=self.path)

    def iter_edges(self, threads: int = 1) -> Iterator[tuple[U32, U32, dict[str, Array]]]:
        """Every edge once, as vertex numbers (source, target, columns), a page at a time."""
        direction = self.directions[0]
        for part in self.iter_adjacency(direction, threads):
            vertices = np.arange(
                part.first_vid, part.first_vid + len(part.degrees), dtype=np.uint32
            )
            src = np.repeat(vertices, part.degrees)
            if self.directed:
                ends = (src, part.neighbours)
                yield *(ends if direction == "out" else ends[::-1]), part.columns
                continue
            once = src <= part.neighbours
            columns = {name: values[once] for name, values in part.columns.items()}
            yield src[once], part.neighbours[once], columns

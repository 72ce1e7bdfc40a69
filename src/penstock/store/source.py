"""What every kind of graph provides to the layers above, and where its lists come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from penstock.store.layout import Column
from penstock.types import U32, U64, Adjacency, Array, Direction, IdKind

if TYPE_CHECKING:
    from penstock.store.paged import PagedGraph


class ListStats(NamedTuple):
    """The lists of one direction in numbers."""

    num_pages: int
    num_edges: int
    max_degree: int
    #: Entry 0: vertices of degree 0; entry k: of degree 2**(k-1) .. 2**k - 1.
    degree_histogram: tuple[int, ...]


class Description(NamedTuple):
    """What a graph is, whatever form its lists have."""

    num_vertices: int
    #: An undirected edge counts once, though it is in two lists.
    num_edges: int
    directed: bool
    #: The directions that there are lists of; an undirected graph has "out" only.
    lists: Mapping[Direction, ListStats] = MappingProxyType({})
    columns: tuple[Column, ...] = ()
    #: The column that algorithms take as the weight.
    weight: str | None = None
    vertex_order: str = "given"
    #: "id": neighbours ascend by vertex number; "none": they have no order.
    neighbour_order: str = "none"
    #: Whether an edge may be there several times.
    multigraph: bool = False
    #: Whether an edge may lead from a vertex to itself.
    self_loops: bool = True
    id_kind: IdKind = "int"
    #: The first id, if each of the others is one more than the one before.
    first_id: int | None = None
    #: Tells graphs apart, and versions of one that changes.
    tag: int = 0


class InPlace(NamedTuple):
    """Lists in memory, wherever each of them stands: that of vertex v is
    ``neighbours[starts[v] : ends[v]]``. ``columns`` are all those that edges have, aligned with it.
    ``offsets``: the same once more if they stand one after another, as those of a block do.
    """

    starts: U64
    ends: U64
    neighbours: U32
    columns: tuple[Array, ...]
    offsets: Array | None = None


class ListArrays(NamedTuple):
    """Lists of consecutive vertices, one after another: that of the vertex at place i is
    ``neighbours[offsets[i] : offsets[i + 1]]``; ``columns`` are aligned with it.
    """

    offsets: Array
    neighbours: U32
    columns: tuple[Array, ...]


class ListSource(Protocol):
    """The lists of one direction, from someone who has them in another form than pages.

    The page table of the direction then says which vertices come together, and how many edges they
    have. If there is a ``base``, the lists are those of its pages with some changes.
    """

    @property
    def in_place(self) -> InPlace | None:
        """The lists themselves, if all of them are in memory."""

    @property
    def base(self) -> PagedGraph | None:
        """The graph whose lists are changed, if there is one."""

    def base_pages(self, page: int) -> range:
        """The pages of the base that hold the lists of a page; none for vertices that it has
        not.
        """

    def fill(
        self, vertices: range, stored: ListArrays | None, columns: Sequence[int], out: ListArrays
    ) -> None:
        """Write the lists of consecutive vertices into arrays that are there already; ``columns``:
        the numbers of the columns that are wanted. ``stored``: what the base has of these lists, if
        it has any.
        """


class GraphSource(Protocol):
    """What each kind of graph provides; :class:`~penstock.store.graph.Graph` has what follows from
    it. The page table says which vertices come together, in pages or not.
    """

    description: Description

    @property
    def ids(self) -> Array:
        """The user's ids, ascending."""

    @property
    def vid_of_rank(self) -> U32 | None:
        """The vertex number of each id in ascending order; None if they are 0, 1, 2, ..."""

    @property
    def storage(self) -> PagedGraph | None:
        """The graph whose pages are read, if there are any: itself, or one that was changed."""

    def degrees(self, direction: Direction) -> U32:
        """How many neighbours each vertex has."""

    def page_table(self, direction: Direction) -> Array:
        """One row a page; see ``PAGE_TABLE_DTYPE``."""

    def source(self, direction: Direction) -> ListSource | None:
        """Where the lists of a direction come from; None: they are pages of ``storage``."""

    def iter_adjacency(self, direction: Direction = "out", threads: int = 1) -> Iterator[Adjacency]:
        """The lists of every page of a direction, in order."""

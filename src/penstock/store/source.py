"""Where lists come from that are not, or not only, pages; and graphs that change meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from penstock.types import U32, U64, Array

if TYPE_CHECKING:
    from penstock.store.graph import Graph

Function = TypeVar("Function", bound=Callable[..., Any])


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

    offsets: U32
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
    def base(self) -> Graph | None:
        """The graph whose lists are changed, if there is one."""

    def base_pages(self, page: int) -> range:
        """The pages of the base that hold the lists of a page; none for vertices that it has
        not.
        """

    def fill(
        self,
        first: int,
        count: int,
        stored: ListArrays | None,
        columns: Sequence[int],
        out: ListArrays,
    ) -> None:
        """Write the lists of ``count`` vertices from ``first`` on into arrays that are there
        already; ``columns``: the numbers of the columns that are wanted. ``stored``: what the base
        has of these lists, if it has any.
        """

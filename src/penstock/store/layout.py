"""What a page layout is, and where layouts are found.

A layout says how adjacency is spelled in the body of a page. Adding one is adding a file here and
a line to :func:`make_layout`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from penstock.errors import CorruptionError, FormatError
from penstock.store.page import HEADER_BYTES, LARGE, SMALL, PageHeader
from penstock.types import U8, U32, Adjacency, Array

#: The most vertices of a small page that is read, and of one that is written: decoding one takes 4
#: bytes a vertex and more, even if none of them has an edge.
MAX_PAGE_VERTICES = 1 << 22
PACKED_VERTICES = 1 << 20

#: Entries after the last neighbour that :meth:`Layout.decode_into` may write to.
DECODE_ROOM = 8

LAYOUTS = ("banded", "slotted")

#: One row of a direction's page table (``<direction>.pages.npy``).
PAGE_TABLE_DTYPE = np.dtype(
    [
        ("first_vid", "<u8"),
        ("first_edge", "<u8"),
        ("num_vertices", "<u4"),
        ("num_edges", "<u4"),
        ("run", "<u4"),
        ("kind", "u1"),
        ("reserved", "u1", (3,)),
    ]
)


@dataclass(frozen=True, slots=True)
class Column:
    """An edge column: its name and NumPy dtype."""

    name: str
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class PageSpec:
    """What all pages of one direction have in common."""

    layout: str
    page_bytes: int
    num_vertices: int
    columns: tuple[Column, ...] = ()
    #: Banded: bytes of an id in each band, ascending.
    bands: tuple[int, ...] = ()
    #: Slotted: bytes of a physical id's page and slot number.
    p: int = 0
    q: int = 0

    @property
    def column_bytes(self) -> int:
        """Bytes of one edge's columns."""
        return sum(column.dtype.itemsize for column in self.columns)


class Layout(Protocol):
    """How the body of a page is written and read. Stateless once made."""

    code: int

    def fit(self, degrees: U32, neighbours: U32, vertex: int, edge: int) -> tuple[int, int]:
        """How far a small page reaches that begins at ``vertex`` (whose list begins at ``edge``):
        the first vertex and edge not in it. The same ``vertex`` means that its list alone is too
        long for a page. Depends on the lists only, not on where the arrays happen to end.
        """

    def fit_large(self, neighbours: U32, edge: int) -> int:
        """The first edge that is not in a large page beginning at ``edge``."""

    def encode(self, page: U8, kind: int, part: Adjacency) -> int:
        """Write the body of a page (zeroed before); returns the bytes in use, header included."""

    def decode(self, page: U8, header: PageHeader) -> Adjacency:
        """Read the body of a page whose checksum has been checked. Keeps nothing of the page."""

    def decode_into(
        self, page: U8, header: PageHeader, offsets: U32, neighbours: U32
    ) -> dict[str, Array]:
        """Read the body of a page into arrays that are there already: the list of its vertex i
        becomes ``neighbours[offsets[i] : offsets[i + 1]]``. They have at least num_vertices + 1 and
        num_edges + DECODE_ROOM entries; what is in them after these is left alone. Returns the
        columns, which are views of the page if the layout keeps a column's values together.
        """

    def audit(self, page: U8, header: PageHeader) -> tuple[Adjacency, int]:
        """Decode, and raise if any byte that decoding passes over is not as :meth:`encode` writes
        it. Also returns the bytes in use, as :meth:`encode` does.
        """


def check_counts(header: PageHeader, spec: PageSpec, vertex_bytes: int, edge_bytes: int) -> None:
    """Raise if a header promises more than a page can hold or the graph has, before room is made
    for it. A vertex takes at least ``vertex_bytes`` of a page, an edge ``edge_bytes``.
    """
    vertices, edges = header.num_vertices, header.num_edges
    if (
        vertices > MAX_PAGE_VERTICES
        or header.first_vid + vertices > spec.num_vertices
        or HEADER_BYTES + vertices * vertex_bytes + edges * edge_bytes > spec.page_bytes
        or header.kind not in (SMALL, LARGE)
        or (header.kind == LARGE and vertices != 1)
    ):
        raise CorruptionError(
            f"page {header.page_id}: its header is impossible (kind {header.kind}, first vertex "
            f"{header.first_vid:,}, {vertices:,} vertices, {edges:,} edges)"
        )


def check_room(header: PageHeader, offsets: U32, neighbours: U32) -> None:
    """Raise if a page holds more than the arrays it is to be decoded into."""
    vertices, edges = len(offsets) - 1, len(neighbours) - DECODE_ROOM
    if header.num_vertices > vertices or header.num_edges > edges:
        raise CorruptionError(
            f"page {header.page_id}: its header says {header.num_vertices:,} vertices and "
            f"{header.num_edges:,} edges, more than the {max(vertices, 0):,} and "
            f"{max(edges, 0):,} that there is room for: restore or rebuild the graph"
        )


def make_layout(spec: PageSpec, first_vids: U32 | None = None) -> Layout:
    """The layout that a spec names. ``first_vids``: first vertex of each page, which the slotted
    layout needs because its neighbours are page and slot numbers.
    """
    if spec.layout == "banded":
        from penstock.store.banded import BandedLayout

        return BandedLayout(spec)
    if spec.layout == "slotted":
        from penstock.store.slotted import SlottedLayout

        if first_vids is None:
            raise ValueError("the slotted layout needs the first vertex of each page")
        return SlottedLayout(spec, first_vids)
    raise FormatError(f"page layout {spec.layout!r} is not known (known: {', '.join(LAYOUTS)})")

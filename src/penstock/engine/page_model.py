"""How many slotted pages a graph takes, from its degrees alone: the sizes that GStream's cost model
starts from. Pure functions.

A page holds, for each vertex, a slot (VID, OFF) and a record (ADJLIST_SZ, then a physical id of
p + q bytes for each edge). Vertices that share a page make it a *small page*; a vertex that does
not fit one gets *large pages* of its own. Degrees come as groups of vertices that have about the
same, whose ids are in no order: a graph's own degrees, or those that R-MAT is expected to give.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from penstock.errors import AddressingError, OptionError
from penstock.types import U32

#: R-MAT as Graph500 has it: the probabilities of the four quarters, and edges a vertex.
RMAT = (0.57, 0.19, 0.19, 0.05)
EDGE_FACTOR = 16
#: The largest scale that R-MAT degrees are made for: 2**40 vertices.
MOST_SCALE = 40


class DegreeGroup(NamedTuple):
    """Vertices, and how many edges each of them has (in the mean)."""

    num_vertices: int
    degree: float


@dataclass(frozen=True, slots=True)
class PageFormat:
    """A slotted page and the bytes of what is in it.

    ``p`` and ``q`` are those of a page number and of a slot number.
    """

    p: int
    q: int
    page_bytes: int
    #: Bytes of a vertex number in a slot; as wide as a physical id unless told.
    vid_bytes: int | None = None
    off_bytes: int = 4
    #: Bytes of ADJLIST_SZ, before the edges of a vertex.
    size_bytes: int = 4

    def __post_init__(self) -> None:
        if min(self.p, self.q) < 1:
            raise OptionError(
                f"physical ids: expected at least one byte each for pages and slots, got "
                f"({self.p},{self.q})"
            )
        if self.vertex_bytes + self.edge_bytes > self.page_bytes:
            raise OptionError(
                f"page size: a vertex with one edge takes {self.vertex_bytes + self.edge_bytes} "
                f"bytes, got pages of {self.page_bytes}: use larger pages"
            )

    @property
    def edge_bytes(self) -> int:
        """Of a physical id."""
        return self.p + self.q

    @property
    def vertex_bytes(self) -> int:
        """What a vertex takes without its edges: slot and ADJLIST_SZ."""
        vid_bytes = self.edge_bytes if self.vid_bytes is None else self.vid_bytes
        return vid_bytes + self.off_bytes + self.size_bytes

    @property
    def max_pages(self) -> int:
        """Pages that p bytes can name."""
        return 1 << (8 * self.p)

    @property
    def max_slots(self) -> int:
        """Slots of a page that q bytes can name."""
        return 1 << (8 * self.q)

    @property
    def max_page_bytes(self) -> int:
        """The page beyond which slots run out before room does, if each vertex has one edge."""
        return self.max_slots * (self.vertex_bytes + self.edge_bytes)

    @property
    def edges_per_large_page(self) -> int:
        """Each large page has a slot and a record of its own."""
        return (self.page_bytes - self.vertex_bytes) // self.edge_bytes

    @property
    def most_vertices(self) -> int:
        """Vertices that a page may have."""
        return min(self.page_bytes // self.vertex_bytes, self.max_slots)


#: What the paper stored its graphs in, in the order in which it chose: up to RMAT29, and beyond.
PAPER_FORMATS = (PageFormat(2, 2, 1 << 20), PageFormat(3, 3, 64 << 20))


@dataclass(frozen=True, slots=True)
class Pages:
    """A graph in slotted pages."""

    format: PageFormat
    num_vertices: int
    num_edges: int
    num_small: int
    num_large: int

    @property
    def count(self) -> int:
        """Small and large (S + L)."""
        return self.num_small + self.num_large

    @property
    def topology_bytes(self) -> int:
        """All pages; they are of one size, full or not."""
        return self.count * self.format.page_bytes


def rmat_degrees(scale: int, edge_factor: int = EDGE_FACTOR) -> list[DegreeGroup]:
    """Expected out-degrees of an R-MAT graph, each edge counted once.

    Each of ``scale`` steps chooses a bit of both ends. A vertex with z zero bits meets a target
    that has a zero where it has one i times, and where it has a one j times, with probability
    a^i b^(z-i) c^j d^(ones-j); an edge drawn lambda times in the mean is there with probability
    1 - exp(-lambda). There are as many groups as counts of ones.

    >>> [round(group.degree) for group in rmat_degrees(27)[:2]]
    [902138, 333930]
    """
    if not 1 <= scale <= MOST_SCALE:
        raise OptionError(f"rmat: expected a scale from 1 to {MOST_SCALE}, got {scale}")
    a, b, c, d = RMAT
    drawn = edge_factor * 2.0**scale
    groups = []
    for ones in range(scale + 1):
        zeros = scale - ones
        degree = 0.0
        for i in range(zeros + 1):
            for j in range(ones + 1):
                mean = drawn * a**i * b ** (zeros - i) * c**j * d ** (ones - j)
                degree -= math.comb(zeros, i) * math.comb(ones, j) * math.expm1(-mean)
        groups.append(DegreeGroup(math.comb(scale, ones), degree))
    return groups


def degree_groups(parts: Iterable[U32]) -> list[DegreeGroup]:
    """The degrees of a graph, which come in parts.

    >>> degree_groups([np.array([3, 1, 1], np.uint32)])
    [DegreeGroup(num_vertices=2, degree=1), DegreeGroup(num_vertices=1, degree=3)]
    """
    counts: Counter[int] = Counter()
    for part in parts:
        found = np.sort(part)
        begins = np.flatnonzero(np.diff(found, prepend=np.int64(-1)))
        lengths = np.diff(begins, append=len(found))
        counts.update(dict(zip(found[begins].tolist(), lengths.tolist(), strict=True)))
    return [DegreeGroup(count, degree) for degree, count in sorted(counts.items())]


def count_pages(degrees: Iterable[DegreeGroup], form: PageFormat) -> Pages:
    """The pages of a graph; raises if p bytes cannot name them.

    Vertices fill a page until one does not fit, and then begin another. A record of r bytes meets
    the end of a page of P with probability r / P and then leaves r / 2 of it empty: r^2 / 2P in
    the mean. A vertex with large pages ends the small page before it, half full in the mean.
    """
    vertices, edges, used, large = 0, 0.0, 0.0, 0
    shared, cut = 0, 0
    page_bytes = form.page_bytes
    for count, degree in degrees:
        vertices += count
        edges += count * degree
        record = form.vertex_bytes + degree * form.edge_bytes
        if record > page_bytes:
            large += count * math.ceil(degree / form.edges_per_large_page)
            cut += count
            continue
        shared += count
        used += count * (record + record**2 / (2 * page_bytes))
    small = math.ceil(max(used / page_bytes, shared / form.max_slots))
    small += min(cut // 2, shared)
    found = Pages(form, vertices, round(edges), small, large)
    if found.count > form.max_pages:
        raise AddressingError(
            f"({form.p},{form.q})-byte physical ids name at most {form.max_pages:,} pages; the "
            f"graph needs {found.count:,} pages of {page_bytes:,} bytes: use larger pages "
            "(--page-size) or wider ids (--physical-ids)"
        )
    return found


def paper_pages(degrees: Iterable[DegreeGroup]) -> Pages:
    """The pages in the first of the paper's formats that can name them all."""
    groups = list(degrees)
    first, last = PAPER_FORMATS
    try:
        return count_pages(groups, first)
    except AddressingError:
        return count_pages(groups, last)

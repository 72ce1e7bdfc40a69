"""One page, checked against everything that is known about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import CorruptionError
from penstock.jit import kernel
from penstock.store.banded import CODE as BANDED
from penstock.store.catalog import Catalog
from penstock.store.hashing import mix
from penstock.store.layout import make_layout
from penstock.store.page import LARGE, SMALL, PageHeader, check_page
from penstock.store.slotted import CODE as SLOTTED
from penstock.types import U8, U32, U64, Adjacency, Array, Direction

_TABLE_FIELDS = ("first_vid", "first_edge", "num_vertices", "num_edges", "run", "kind")
_OUT, _IN, _BOTH = 0, 1, 2
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a page turned out to be."""

    problems: tuple[str, ...] = ()
    #: Whether the page could be read to its end; only then do the other facts mean anything.
    decoded: bool = False
    num_edges: int = 0
    #: Sum modulo 2**64 of a hash of each edge and its columns: the same for the out-lists and the
    #: in-lists of a directed graph, and zero over all lists of an undirected one.
    total: int = 0
    num_loops: int = 0
    used_bytes: int = 0
    #: The first and the last neighbour; -1 if there is none.
    first: int = -1
    last: int = -1


@kernel
def _salt(salts, bits):  # type: ignore[no-untyped-def]
    """Work a column, as unsigned numbers, into a hash for each edge."""
    for e in range(len(salts)):
        salts[e] = mix((salts[e] + np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(bits[e]))


@kernel
def _owners(first_vid, degrees, out):  # type: ignore[no-untyped-def]
    """The vertex each edge belongs to. Writes _AT_ONCE at a time: what is too much the next one
    overwrites, and ``out`` needs room for as many more.
    """
    at = np.int64(0)
    for i in range(len(degrees)):
        vertex = np.uint32(first_vid + i)
        stop = at + np.int64(degrees[i])
        done = at
        while done < stop:
            for k in range(_AT_ONCE):
                out[done + k] = vertex
            done += _AT_ONCE
        at = stop


@kernel
def _first_wrong(owners, neighbours, num_vertices, step):  # type: ignore[no-untyped-def]
    """The first edge whose neighbour is too large, or less than ``step`` above the one before it in
    the same list (-1: any order will do); -1 if there is none.
    """
    wrong = len(neighbours) > 0 and neighbours.max() >= num_vertices
    if step > 0:
        for k in range(1, len(neighbours)):
            wrong |= (neighbours[k] <= neighbours[k - 1]) & (owners[k] == owners[k - 1])
    elif step == 0:
        for k in range(1, len(neighbours)):
            wrong |= (neighbours[k] < neighbours[k - 1]) & (owners[k] == owners[k - 1])
    if not wrong:
        return -1
    for k in range(len(neighbours)):
        same = k > 0 and step >= 0 and owners[k] == owners[k - 1]
        if neighbours[k] >= num_vertices or (
            same and np.int64(neighbours[k]) < np.int64(neighbours[k - 1]) + step
        ):
            return k
    return -1


@kernel
def _sum(owners, neighbours, mode, salts):  # type: ignore[no-untyped-def]
    """The sum of a hash of each edge and its salt, and the number of self-loops; see PageFacts."""
    total = np.uint64(0)
    loops = np.int64(0)
    high = np.uint64(32)
    salted = len(salts) > 0
    if mode == _BOTH:
        for k in range(len(neighbours)):
            mine, theirs = np.uint64(owners[k]), np.uint64(neighbours[k])
            key = (min(mine, theirs) << high) | max(mine, theirs)
            key = mix(key ^ salts[k]) if salted else mix(key)
            total += key if mine < theirs else (np.uint64(0) if mine == theirs else -key)
            loops += mine == theirs
        return total, loops
    sources, targets = (owners, neighbours) if mode == _OUT else (neighbours, owners)
    if salted:
        for k in range(len(neighbours)):
            total += mix(((np.uint64(sources[k]) << high) | np.uint64(targets[k])) ^ salts[k])
        return total, loops
    # One multiplication is enough where only numbers of vertices differ, and is twice as fast.
    for k in range(len(neighbours)):
        key = ((np.uint64(sources[k]) << high) | np.uint64(targets[k])) + np.uint64(1)
        key *= np.uint64(0x9E3779B97F4A7C15)
        total += key ^ (key >> high)
    return total, loops


class PageChecker:
    """Checks the pages of one direction.

    ``table`` and ``degrees`` are None if they are not to be trusted; what depends on them is then
    left out.
    """

    def __init__(
        self, catalog: Catalog, direction: Direction, table: Array | None, degrees: U32 | None
    ) -> None:
        self._catalog = catalog
        self._direction: Direction = direction
        self._table = table
        self._degrees = degrees
        self.step = list_step(catalog)
        self._mode = {"out": _OUT, "in": _IN}[direction] if catalog.directed else _BOTH
        self._layout = None
        if table is not None:
            firsts = table["first_vid"].astype(np.uint32)
            self._layout = make_layout(catalog.page_spec(), firsts)
        # The sum of weights over duplicates may be rounded differently in the two directions.
        summed = catalog.weight if catalog.rules.get("duplicates") == "sum" else None
        self._hashed = [c.name for c in catalog.columns if c.name != summed or c.dtype.kind != "f"]

    def check(self, page: U8, page_id: int) -> PageFacts:
        """Everything about one page. The page table must have been found good."""
        if self._layout is None or self._table is None:
            return PageFacts(self._outside(page, page_id))
        try:
            check_page(page, "page")
            header = PageHeader.read(page, "page")
            problems = self._header_problems(header, page_id)
            if problems:
                return PageFacts(tuple(problems))
            part, used = self._layout.audit(page, header)
        except CorruptionError as error:
            return PageFacts((_text(error),))
        return self._lists(part, header, used)

    def _outside(self, page: U8, page_id: int) -> tuple[str, ...]:
        """What can be said about a page without a page table."""
        code = {"slotted": SLOTTED, "banded": BANDED}[self._catalog.layout]
        try:
            check_page(page, "page")
            PageHeader.read(page, "page").check_place(
                "page", layout=code, direction=self._direction, tag=self._catalog.tag,
                page_id=page_id,
            )  # fmt: skip
        except CorruptionError as error:
            return (_text(error),)
        return ()

    def _header_problems(self, header: PageHeader, page_id: int) -> list[str]:
        assert self._layout is not None
        assert self._table is not None
        header.check_place(
            "page", layout=self._layout.code, direction=self._direction, tag=self._catalog.tag,
            page_id=page_id,
        )  # fmt: skip
        row = self._table[page_id]
        return [
            f"its header has {name} {getattr(header, name):,}, the page table {int(row[name]):,}"
            for name in _TABLE_FIELDS
            if getattr(header, name) != row[name]
        ]

    def _lists(self, part: Adjacency, header: PageHeader, used: int) -> PageFacts:
        catalog = self._catalog
        salts: U64 = np.zeros(header.num_edges if self._hashed else 0, np.uint64)
        for name in self._hashed:
            values = part.columns[name]
            _salt(salts, values.view(f"u{values.dtype.itemsize}"))
        owners: U32 = np.empty(header.num_edges + _AT_ONCE, np.uint32)
        _owners(part.first_vid, part.degrees, owners)
        wrong = _first_wrong(owners, part.neighbours, catalog.num_vertices, self.step)
        total, loops = _sum(owners, part.neighbours, self._mode, salts)
        problems = []
        if wrong >= 0:
            order = ("in any order", "ascending", "ascending without repeats")[self.step + 1]
            problems.append(
                f"the neighbours of vertex {owners[wrong]:,} are not numbers below "
                f"{catalog.num_vertices:,}, {order}"
            )
        if self._degrees is not None and header.kind == SMALL:
            expected = self._degrees[part.first_vid : part.first_vid + len(part.degrees)]
            if not np.array_equal(part.degrees, expected):
                at = int(np.flatnonzero(part.degrees != expected)[0])
                problems.append(
                    f"vertex {part.first_vid + at:,} has {part.degrees[at]:,} neighbours, "
                    f"{self._direction}.degrees.npy says {expected[at]:,}"
                )
        weight = catalog.weight
        if weight is not None and part.columns[weight].dtype.kind == "f":
            missing = np.isnan(part.columns[weight])
            if missing.any():
                problems.append(
                    f"{int(missing.sum()):,} of its edges have NaN as their weight {weight!r}"
                )
        ends = part.neighbours[[0, -1]] if header.kind == LARGE and header.num_edges else (-1, -1)
        return PageFacts(
            tuple(problems), True, header.num_edges, int(total), int(loops), used,
            int(ends[0]), int(ends[1]),
        )  # fmt: skip


def list_step(catalog: Catalog) -> int:
    """How much more than the one before each neighbour of a list must be; -1: any order will do."""
    by_vid = catalog.neighbour_order == "id" or (
        catalog.neighbour_order == "degree" and catalog.vertex_order == "degree"
    )
    if by_vid:
        return 0 if catalog.rules.get("duplicates") == "keep" else 1
    # Only sorted lists can be divided into bands.
    return 0 if len(catalog.bands) > 1 else -1


def _text(error: CorruptionError) -> str:
    """What an error says, without the name of the page it begins with."""
    return str(error).partition(": ")[2]

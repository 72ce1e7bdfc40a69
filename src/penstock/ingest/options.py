"""What the user may say about the graph to be built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from penstock.errors import OptionError
from penstock.ingest.sorting import DuplicateRule
from penstock.store.packer import SMALL_PAGE_BYTES, default_page_bytes
from penstock.types import Direction

VertexOrder = Literal["degree", "none"]
NeighbourOrder = Literal["id", "degree", "input"]
Directions = Literal["both", "out", "in"]
LayoutName = Literal["banded", "slotted"]

MIN_PAGE_BYTES = SMALL_PAGE_BYTES
#: Page offsets inside a page are 32-bit numbers.
MAX_PAGE_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build a graph. See :func:`penstock.build` for the meaning of each."""

    directed: bool = True
    duplicates: DuplicateRule = "last"
    self_loops: Literal["keep", "drop"] = "keep"
    vertex_order: VertexOrder = "degree"
    neighbour_order: NeighbourOrder = "id"
    directions: Directions = "both"
    layout: LayoutName = "banded"
    page_bytes: int | None = None
    physical_ids: tuple[int, int] | None = None
    num_vertices: int | None = None
    stripes: tuple[Path, ...] = ()
    tmpdir: Path | None = None
    memory: int = 0
    threads: int = 1
    overwrite: bool = False

    def __post_init__(self) -> None:
        _one_of("duplicates", self.duplicates, get_args(DuplicateRule))
        _one_of("self_loops", self.self_loops, ("keep", "drop"))
        _one_of("vertex_order", self.vertex_order, get_args(VertexOrder))
        _one_of("neighbour_order", self.neighbour_order, get_args(NeighbourOrder))
        _one_of("directions", self.directions, get_args(Directions))
        _one_of("layout", self.layout, get_args(LayoutName))
        if self.physical_ids is not None:
            _one_of("physical_ids", self.physical_ids, ((2, 2), (3, 3), (2, 4), (4, 2)))
        size = self.page_bytes
        if size is not None and (not MIN_PAGE_BYTES <= size <= MAX_PAGE_BYTES or size % 4096):
            raise OptionError(
                f"page_size: expected a multiple of 4096 from {MIN_PAGE_BYTES:,} to "
                f"{MAX_PAGE_BYTES:,} bytes, got {size:,}"
            )
        if self.num_vertices is not None and self.num_vertices < 0:
            raise OptionError(f"num_vertices: expected 0 or more, got {self.num_vertices}")

    def stored_directions(self) -> tuple[Direction, ...]:
        """The lists to write; an undirected graph has one list a vertex."""
        if not self.directed:
            return ("out",)
        return ("out", "in") if self.directions == "both" else (self.directions,)


def choose_page_bytes(asked: int | None, topology_bytes: int) -> int:
    """What was asked for, or what suits the size of the graph."""
    return default_page_bytes(topology_bytes, MIN_PAGE_BYTES) if asked is None else asked


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        raise OptionError(f"{name}: expected one of {', '.join(map(str, allowed))}; got {value!r}")

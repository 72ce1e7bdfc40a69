"""The header every page begins with, and the checksum it carries. See docs/format.md.

=======  =====  =========================================================================
offset   bytes  field (little-endian)
=======  =====  =========================================================================
0        8      XXH3-64 of the rest of the page (bytes 8 .. page size)
8        4      ``PSPG``
12       1      page format version
13       1      layout: 1 slotted, 2 banded
14       1      kind: 1 small page, 2 large page
15       1      direction: 0 out, 1 in
16       8      tag of the graph the page belongs to
24       8      page id within its direction
32       8      first vertex
40       8      index of the page's first edge among all edges of the direction
48       4      number of vertices
52       4      number of edges
56       4      position in its run of large pages; 0 in a small page
60       4      zero
=======  =====  =========================================================================
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import xxhash

from penstock.errors import CorruptionError
from penstock.types import U8, Direction

HEADER_BYTES = 64
PAGE_VERSION = 1
SMALL, LARGE = 1, 2
#: Every page leaves this many bytes free at its end, so that a wide load cannot leave the page.
TAIL_BYTES = 8
DIRECTION_CODES: dict[Direction, int] = {"out": 0, "in": 1}

_HEADER = struct.Struct("<4sBBBBQQQQIIII")
_MAGIC = b"PSPG"


@dataclass(frozen=True, slots=True)
class PageHeader:
    """What a page says about itself."""

    layout: int
    kind: int
    direction: int
    tag: int
    page_id: int
    first_vid: int
    first_edge: int
    num_vertices: int
    num_edges: int
    run: int = 0

    def seal(self, page: U8) -> None:
        """Write the header into a page whose body is complete, and the checksum over both."""
        page[8:HEADER_BYTES] = memoryview(
            _HEADER.pack(
                _MAGIC, PAGE_VERSION, self.layout, self.kind, self.direction, self.tag,
                self.page_id, self.first_vid, self.first_edge, self.num_vertices,
                self.num_edges, self.run, 0,
            )
        )  # fmt: skip
        page[:8] = memoryview(checksum(page[8:]).to_bytes(8, "little"))

    @classmethod
    def read(cls, page: U8, where: str) -> PageHeader:
        """Take the header off a page; ``where`` names the page in errors."""
        magic, version, *fields, zero = _HEADER.unpack(page[8:HEADER_BYTES].tobytes())
        if magic != _MAGIC:
            raise CorruptionError(f"{where}: not a page (begins with {magic!r})")
        if version != PAGE_VERSION or zero != 0:
            raise CorruptionError(f"{where}: page format {version} is not known (need 1)")
        return cls(*fields)

    def check_place(
        self, where: str, *, layout: int, direction: Direction, tag: int, page_id: int
    ) -> None:
        """Raise if this is not the page that belongs in that place of that graph."""
        expected = (layout, DIRECTION_CODES[direction], tag, page_id)
        if (self.layout, self.direction, self.tag, self.page_id) != expected:
            raise CorruptionError(
                f"{where}: holds another page (layout {self.layout}, {_name(self.direction)}-page "
                f"{self.page_id} of graph {self.tag:016x}; expected layout {layout}, "
                f"{direction}-page {page_id} of {tag:016x}): restore or rebuild the graph"
            )


def _name(direction: int) -> str:
    return next((k for k, code in DIRECTION_CODES.items() if code == direction), str(direction))


def checksum(data: U8) -> int:
    """XXH3-64 of some bytes."""
    return int(xxhash.xxh3_64_intdigest(data.data))


def check_page(page: U8, where: str) -> None:
    """Raise if any bit of a page is not as it was written."""
    stored = int.from_bytes(page[:8].tobytes(), "little")
    found = checksum(page[8:])
    if stored != found:
        raise CorruptionError(
            f"{where}: checksum is {found:016x}, the page says {stored:016x}; "
            "the file was changed or damaged after it was written: restore or rebuild the graph"
        )

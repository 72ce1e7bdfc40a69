"""A copy of the input's rows, kept compactly until they have been sorted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.sorting.packing import pack, unpack, width_of
from penstock.sorting.spill import Spill
from penstock.types import U64, Array


@dataclass(frozen=True, slots=True)
class IntChunk:
    """Rows whose ids are numbers."""

    src: U64
    dst: U64
    columns: dict[str, Array]

    def __len__(self) -> int:
        return len(self.src)


@dataclass(frozen=True, slots=True)
class Packed:
    """A chunk as bytes, and what is needed to read them."""

    rows: int
    widths: tuple[int, int]
    blocks: list[Array]


def pack_chunk(chunk: IntChunk) -> Packed:
    """Make a chunk small."""
    widths = tuple(width_of(int(ids.max())) if len(ids) else 1 for ids in (chunk.src, chunk.dst))
    blocks = [pack(chunk.src, widths[0]), pack(chunk.dst, widths[1])]
    blocks += [np.ascontiguousarray(values).view(np.uint8) for values in chunk.columns.values()]
    return Packed(len(chunk), (widths[0], widths[1]), blocks)


class Spool:
    """Chunks in order; in memory as long as they fit ``limit`` bytes, then in files."""

    def __init__(self, folder: Path | None, limit: int, columns: dict[str, np.dtype[Any]]) -> None:
        self._spill = Spill(folder, limit)
        self._columns = columns
        self._chunks: list[tuple[int, tuple[int, int]]] = []
        self.num_rows = 0

    def append(self, packed: Packed) -> None:
        """Keep a chunk."""
        if packed.rows == 0:
            return
        for block in packed.blocks:
            self._spill.append(len(self._chunks), block)
        self._chunks.append((packed.rows, packed.widths))
        self.num_rows += packed.rows

    def shrink(self, limit: int) -> None:
        """Hold no more than this in memory from now on."""
        self._spill.shrink(limit)

    @property
    def num_bytes(self) -> int:
        """Bytes that were put in."""
        return self._spill.total_bytes

    def raw_chunks(self, *, take: bool) -> Iterator[tuple[int, tuple[int, int], list[Array]]]:
        """The chunks, still packed, for :meth:`unpack`; with ``take`` each is deleted once read."""
        for key, (rows, widths) in enumerate(self._chunks):
            yield rows, widths, list(self._spill.read(key, take=take))

    def unpack(self, raw: tuple[int, tuple[int, int], list[Array]]) -> IntChunk:
        """A chunk as it was."""
        _, widths, blocks = raw
        columns = {
            name: block.view(dtype)
            for (name, dtype), block in zip(self._columns.items(), blocks[2:], strict=True)
        }
        return IntChunk(unpack(blocks[0], widths[0]), unpack(blocks[1], widths[1]), columns)

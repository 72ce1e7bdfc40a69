"""Widths, sentinels and the small values that pass between layers. One home for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
U8 = NDArray[np.uint8]
U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]

Direction = Literal["out", "in"]
IdKind = Literal["int", "string"]

#: A vertex number inside a graph: 0 .. n-1, in the order the vertices are stored in.
VID = np.dtype("<u4")
#: The vertex number that never occurs; it marks ids that are not vertices.
NO_VERTEX = 0xFFFFFFFF
#: More vertices than this cannot be numbered.
MAX_VERTICES = NO_VERTEX

#: The dtypes an edge column may have, by NumPy's names.
COLUMN_DTYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)


@dataclass(frozen=True, slots=True)
class Names:
    """A column of strings: entry ``i`` is ``data[start[i] : start[i] + length[i]]`` (UTF-8)."""

    data: U8
    start: I64
    length: I64

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True)
class EdgeChunk:
    """Some consecutive rows of an input: the user's ids, and one array for each edge column."""

    src: U64 | Names
    dst: U64 | Names
    columns: dict[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.src)


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The lists of consecutive vertices, decoded: vertex ``first_vid + i`` has ``degrees[i]``
    neighbours, which follow those of vertex ``first_vid + i - 1`` in ``neighbours``.
    """

    first_vid: int
    degrees: U32
    neighbours: U32
    columns: dict[str, Array]

"""A block: adjacency lists as kernels see them, wherever they came from."""

from __future__ import annotations

from typing import NamedTuple

from penstock.types import U32, Array

#: As ``first`` of a block: the lists are those of some vertices, one after another.
BY_PLACE = -1


class Block(NamedTuple):
    """The lists of consecutive vertices, or of some.

    The list of vertex v is ``neighbours[offsets[v - first] : offsets[v - first + 1]]``; each array
    of ``columns`` (edge columns that were asked for, in that order) is aligned with ``neighbours``.
    A block is a page, or a whole direction that is in memory. A vertex too long for a page is in
    several blocks, with a part of its list in each.

    If ``first`` is ``BY_PLACE``, the block comes with vertices, and the list of the one at place i
    is ``neighbours[offsets[i] : offsets[i + 1]]``.
    """

    first: int
    #: uint32, or uint64 where there are more edges than that can count
    offsets: Array
    neighbours: U32
    columns: tuple[Array, ...]

"""A block: adjacency lists as kernels see them, wherever they came from."""

from __future__ import annotations

from typing import NamedTuple

from penstock.types import U32, Array

#: As ``first`` of a block: the lists are those of some vertices, one after another.
BY_PLACE = -1


class _Fields(NamedTuple):
    first: int
    #: uint32, or uint64 where there are more edges than that can count
    offsets: Array
    neighbours: U32
    columns: tuple[Array, ...]
    ends: Array


class Block(_Fields):
    """The lists of consecutive vertices, or of some.

    The list of vertex v is ``neighbours[offsets[v - first] : ends[v - first]]``; each array of
    ``columns`` (edge columns that were asked for, in that order) is aligned with ``neighbours``.
    A block is a page, or a whole direction that is in memory. A vertex too long for a page is in
    several blocks, with a part of its list in each.

    Unless ``ends`` is given, each list ends where the next one begins: ``offsets`` has one entry
    more, and ``ends`` is ``offsets[1:]``. Lists that stand anywhere, with room between them, come
    only to algorithms that say they use ``ends``.

    If ``first`` is ``BY_PLACE``, the block comes with vertices, and the list of the one at place i
    is ``neighbours[offsets[i] : ends[i]]``.
    """

    __slots__ = ()

    def __new__(
        cls,
        first: int,
        offsets: Array,
        neighbours: U32,
        columns: tuple[Array, ...],
        ends: Array | None = None,
    ) -> Block:
        """A block."""
        ends = offsets[1:] if ends is None else ends
        return super().__new__(cls, first, offsets, neighbours, columns, ends)

    @property
    def is_packed(self) -> bool:
        """Whether each list begins where the one before it ends."""
        return len(self.offsets) > len(self.ends)

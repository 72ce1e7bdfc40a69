"""Lists without the neighbours outside of a range of vertices."""

from __future__ import annotations

from collections.abc import Callable

from penstock.device.lists import restrict_lists
from penstock.stream.block import Block
from penstock.stream.lists import Piece

Narrow = Callable[[Piece], Piece]


def narrow_to(low: int, high: int) -> Narrow:
    """A function that keeps the neighbours from ``low`` to ``high``, numbered from ``low``."""
    return lambda piece: piece._replace(
        block=restrict(piece.block, piece.begin, piece.end, low, high)
    )


def restrict(block: Block, begin: int, end: int, low: int, high: int) -> Block:
    """The lists of vertices ``begin`` to ``end`` without the neighbours outside of a range; these
    are numbered from its beginning.
    """
    offsets, neighbours, places = restrict_lists(
        block.offsets, block.ends, block.neighbours, begin - block.first, end - block.first, low,
        high, len(block.columns) > 0,
    )  # fmt: skip
    return Block(begin, offsets, neighbours, tuple(c[places] for c in block.columns))

"""Gathered values in ranges: because they do not fit memory, or so that they fit the cache.

When a vertex gathers from all over a vector bigger than the processor's cache, each value comes
from memory. Cut into ranges, the lists pass once for each, and each range stays in the cache. That
pays if most edges lead outside of what the cache would hold anyway: degree order puts the vertices
that most edges lead to first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.engine.engine import Engine
from penstock.engine.narrowing import Narrow, narrow_to
from penstock.engine.topology import CUT_LISTS
from penstock.stream.block import Block
from penstock.stream.lists import Lists, Piece
from penstock.stream.resident import ResidentLists


@dataclass(frozen=True, slots=True)
class Range:
    """Vertices ``low`` to ``high``, and the lists to gather from them."""

    low: int
    high: int
    lists: Lists
    #: Leaves of a piece's lists what lies in the range.
    narrow: Narrow


def ranges_of(engine: Engine, shares: int = 1) -> list[Range]:
    """The ranges of a run: for the cache, for memory, or one that is everything; ``shares`` is how
    many the devices want.
    """
    n, plan = engine.num_vertices, engine.plan
    lists = engine.lists("in")
    cut = plan.cut_ranges
    if plan.cut and shares in (1, cut) and isinstance(lists, ResidentLists):
        return _cut_lists(engine, lists, cut)
    count = plan.ranges * shares
    if count == 1:
        return [Range(0, n, lists, lambda piece: piece)]
    size = -(-n // count)
    return [
        Range(low, min(low + size, n), lists, narrow_to(low, min(low + size, n)))
        for low in range(0, n, size)
    ]


def _cut_lists(engine: Engine, lists: ResidentLists, ranges: int) -> list[Range]:
    """The same lists once more, one form for each range; kept with the graph."""
    n = engine.num_vertices
    size = -(-n // ranges)
    found = []
    for low in range(0, n, size):
        high = min(low + size, n)
        key = (low, high, lists.direction, engine.columns)
        blocks = engine.graph.kept.get(CUT_LISTS, *key)
        if blocks is None:
            narrow = narrow_to(low, high)

            def cut(stream: int, piece: Piece, narrow: Narrow = narrow) -> Block:
                return narrow(piece).block

            blocks = lists.scan(cut)
            engine.graph.kept.put(CUT_LISTS, *key, value=blocks)
        found.append(Range(low, high, lists, _exchange(lists.pieces, blocks)))
    return found


def _exchange(pieces: Sequence[Piece], blocks: Sequence[Block]) -> Narrow:
    """What gives a piece another block."""
    of = {(p.page, p.begin): block for p, block in zip(pieces, blocks, strict=True)}
    return lambda piece: piece._replace(block=of[piece.page, piece.begin])

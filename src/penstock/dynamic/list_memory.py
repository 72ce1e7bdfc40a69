"""What kernels of degree-aware lists work on, as the kernels take it."""

from __future__ import annotations

from typing import NamedTuple

from penstock.types import I64, U8, U32, U64


class ListMemory(NamedTuple):
    """All lists with their indexes; :mod:`penstock.dynamic.list_sizes` says how they are cut up."""

    #: By vertex: places in the pool, class of the chunk, place of the index, class of the index
    #: (0: none), tombstones in it.
    starts: U64
    ends: U64
    sizes: U8
    index_at: U64
    indexes: U8
    dead: U32
    #: The pool of lists, with ``width`` bytes of payload for each entry, and that of indexes.
    neighbours: U32
    payload: U8
    slots: U32
    marks: U8
    #: Free chunks by part and class, in both pools; extents by part; the tops of both pools.
    heads: U64
    slot_heads: U64
    extents: U64
    tops: U64
    width: int


class SortedRows(NamedTuple):
    """Rows of a batch: ``source << 32 | target``, and the number of each row in the batch."""

    pairs: U64
    rows: U32

    def first(self, count: int) -> SortedRows:
        """The first of them."""
        return SortedRows(self.pairs[:count], self.rows[:count])


class Batch(NamedTuple):
    """What the rows of a batch say, by their numbers, and what becomes of each."""

    #: Whether a row adds; empty: all do.
    adds: U8
    #: New properties.
    values: U8
    #: Whether an edge appeared or went.
    out: U8
    #: Where edges are, if they are only looked for; else empty.
    places: I64


class Rules(NamedTuple):
    """How rows take effect."""

    threshold: int
    multigraph: bool
    #: Only find, into the places of the batch.
    looking: bool


class RunTable(NamedTuple):
    """Room for a small table of the targets of one source: keys are unused between two runs."""

    keys: U32
    facts: U32

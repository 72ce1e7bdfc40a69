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
    #: Whether two vertices may have several edges.
    multi: bool


class GivenRows(NamedTuple):
    """The rows of a batch as they come: ends, whether each adds (empty: all do), new properties."""

    src: U32
    dst: U32
    adds: U8
    values: U8


class DealtRows(NamedTuple):
    """The rows of a batch by parts, in their order within a part, and what becomes of each.

    The results of a row have a place here, not where the row was given: two threads never write to
    the same cache line, which would cost more than all the rest.
    """

    #: See :class:`SortedRows`.
    pairs: U64
    adds: U8
    values: U8
    #: How many edges a row made or deleted; empty: only the totals are asked for.
    counts: U32
    #: Where edges are, if they are only looked for; else empty.
    places: I64


class SortedRows(NamedTuple):
    """Rows of a part: ``source << 32 | target``, with the source's number within the part, and the
    place of each row among those that were dealt. No places: they are not asked for.
    """

    pairs: U64
    rows: U32

    def first(self, count: int, numbered: bool) -> SortedRows:
        """The first of them, with their places or without."""
        return SortedRows(self.pairs[:count], self.rows[: count if numbered else 0])


class Rules(NamedTuple):
    """How rows take effect."""

    threshold: int
    #: Only find, into the places of the rows.
    looking: bool


class RunRoom(NamedTuple):
    """Room of one thread, for rows of one source and for sorting. Keys and filter are zeros between
    two runs.
    """

    #: A table of the targets that the rows name, plus one, and a number for each.
    keys: U32
    numbers: U32
    #: A bit for each hash that a target has.
    filter: U64
    #: By row: the number of its target. By number: what is known of the target.
    targets: U32
    facts: U32
    #: Places of the list whose hash is in the filter.
    candidates: U32
    #: Counts of digits.
    digits: I64

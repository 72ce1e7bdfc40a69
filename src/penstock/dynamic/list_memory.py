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

    Results stand where their rows were dealt to: if threads wrote them where the rows were given,
    all would write to the same cache lines, which takes longer than everything else together.
    """

    #: See :class:`SortedRows`.
    pairs: U64
    adds: U8
    values: U8
    #: How many edges a row made or deleted, or how many there are, if they are only looked for.
    #: Empty: that is not asked for.
    counts: U32
    #: Where edges are, if that is asked for; else empty.
    places: I64


class SortedRows(NamedTuple):
    """Rows of a part: ``source << 32 | target``, with the number of the source within the part, and
    where each row was dealt to (empty: that is not asked for).
    """

    pairs: U64
    rows: U32


class Rules(NamedTuple):
    """How rows take effect."""

    threshold: int
    #: Only look for edges.
    looking: bool


class RunRoom(NamedTuple):
    """Room of one thread, for rows of one source and for sorting. Keys and filter are zeros between
    two runs.
    """

    #: A table of the targets that the rows name, plus one, and the number of each.
    keys: U32
    numbers: U32
    #: A bit for each hash that a target has.
    filter: U64
    #: By row: the number of its target. By number: what is known of the target.
    targets: U32
    facts: U32
    #: Places in the list that the filter lets pass; targets that are in the list, by their places.
    likely: U32
    found: U32
    #: Counts of digits.
    digits: U64

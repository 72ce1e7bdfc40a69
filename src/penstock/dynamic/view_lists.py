"""The lists of one direction of a graph that changes, as the engine takes them.

Lists that are all in memory, in one layer, are used where they stand. ``ChangedLists`` are the
lists of a base with edges added and removed in memory, in layers while a compaction is under way;
they write the lists of consecutive vertices into buffers of a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.dynamic.sparse_lists import SparseLists
from penstock.dynamic.tables import FrozenTables, Layer, Tables
from penstock.errors import CorruptionError
from penstock.jit import kernel
from penstock.store.layout import Column
from penstock.store.list_graph import MemoryLists, PackedLists, copy_lists, measure
from penstock.store.paged import PagedGraph
from penstock.store.source import InPlace, ListArrays
from penstock.types import I64, U8, U32, U64

if TYPE_CHECKING:
    from penstock.dynamic.merge import MergedSide


@dataclass(frozen=True, slots=True)
class Side:
    """One direction of a graph that changes, at one moment."""

    #: How long each list is; and so, how many vertices there are.
    degrees: U32
    #: The edges in memory: all that there are, or those that the base has not.
    added: Tables
    #: A graph that has the first vertices, and ``removed``: edges of it that are there no more.
    base: PagedGraph | None = None
    removed: Tables | None = None
    #: Changes between the base and these, from the lowest layer up; they are changed no more.
    lower: tuple[Layer, ...] = ()

    @classmethod
    def of(cls, side: MergedSide) -> Side:
        """That of a base and its changes as they are now."""
        base = None if side.bottom is None else side.bottom.graph
        *lower, highest = side.layers
        return cls(side.degrees(), highest.added, base, highest.removed, tuple(lower))

    @property
    def is_in_place(self) -> bool:
        """Whether the lists are those in memory, as they are."""
        return self.base is None and not self.lower


def freeze(side: Side) -> Side:
    """The same direction of a base with copies of its changes, which later ones do not touch."""
    removed = None if side.removed is None else _freeze_sparse(side.removed)
    return Side(side.degrees, _freeze_sparse(side.added), side.base, removed, side.lower)


def _freeze_sparse(lists: Tables) -> FrozenTables:
    if isinstance(lists, FrozenTables):
        return lists
    assert isinstance(lists, SparseLists)
    copied = freeze_lists(lists.lists, lists.lists.num_vertices)
    arrays = (copied.starts, copied.ends, copied.neighbours, copied.columns)
    return FrozenTables(*arrays, lists.changed.numbers)


def freeze_lists(lists: Tables, count: int) -> PackedLists:
    """A copy of the first lists."""
    starts, ends = lists.bounds(0, count)
    offsets: U64 = np.empty(count + 1, np.uint64)
    measure(starts, ends, offsets)
    total = int(offsets[-1])
    neighbours: U32 = np.empty(total, np.uint32)
    columns = tuple(np.empty(total, column.dtype) for column in lists.columns)
    out = ListArrays(offsets, neighbours, columns)
    copy_lists(starts, ends, (lists.neighbours, *lists.columns), out)
    return PackedLists(offsets, neighbours, columns)


def no_lists(columns: Sequence[Column]) -> FrozenTables:
    """Lists that are all empty."""
    nowhere: U64 = np.empty(0, np.uint64)
    values = tuple(np.empty(0, column.dtype) for column in columns)
    return FrozenTables(nowhere, nowhere, np.empty(0, np.uint32), values)


class ChangedLists:
    """Lists with changes, as a :class:`~penstock.store.source.ListSource`: those of a base, or of
    the lowest layer if there is none. ``base_pages``: for each page of the view that has vertices
    of the base, where the base's pages of it begin and end.
    """

    in_place = None

    def __init__(self, side: Side, base_pages: tuple[I64, I64]) -> None:
        self.base = side.base
        self._lower = side.lower
        self._highest = Layer(side.added, side.removed)
        self._pages = base_pages

    def base_pages(self, page: int) -> range:
        """See :class:`~penstock.store.source.ListSource`."""
        begins, ends = self._pages
        return range(int(begins[page]), int(ends[page])) if page < len(begins) else range(0)

    def fill(
        self, vertices: range, stored: ListArrays | None, columns: Sequence[int], out: ListArrays
    ) -> None:
        """See :class:`~penstock.store.source.ListSource`."""
        some = (vertices.start, vertices.stop)
        for layer in self._lower:
            stored = _with_layer(layer, some, stored, columns)
        if not _put(self._highest, some, stored, columns, out):
            raise CorruptionError(
                f"{self.base!r}: with what was changed since, the lists of vertices "
                f"{vertices[0]:,} to {vertices[-1]:,} have {int(out.offsets[len(vertices)]):,} "
                f"edges, more than the {len(out.neighbours):,} of any page; the base is not the "
                "one that the changes were made to: restore it"
            )


def _with_layer(
    layer: Layer, some: tuple[int, int], stored: ListArrays | None, columns: Sequence[int]
) -> ListArrays:
    """The lists of some vertices with the changes of one layer, in new arrays."""
    starts, ends, _ = (*layer.added.bounds(*some), layer.added.neighbours)
    most = int((ends - starts).sum()) + (0 if stored is None else len(stored.neighbours))
    dtypes = [layer.added.columns[k].dtype for k in columns]
    offsets: U32 = np.empty(some[1] - some[0] + 1, np.uint32)
    room = tuple(np.empty(most, dtype) for dtype in dtypes)
    out = ListArrays(offsets, np.empty(most, np.uint32), room)
    _put(layer, some, stored, columns, out)
    total = int(offsets[-1])
    return ListArrays(offsets, out.neighbours[:total], tuple(each[:total] for each in room))


def _put(
    layer: Layer,
    some: tuple[int, int],
    stored: ListArrays | None,
    columns: Sequence[int],
    out: ListArrays,
) -> bool:
    """Write the lists of some vertices: those below, with the changes of a layer. False if there is
    no room for them.
    """
    # Plain tuples: these cost a call of a kernel less than records do, and there are some calls for
    # each page of a stream.
    starts, ends = layer.added.bounds(*some)
    new, chosen = layer.added.neighbours, tuple(layer.added.columns[k] for k in columns)
    added = (starts, ends, new)
    if stored is None:
        copy_lists(starts, ends, (new, *chosen), out)
        return True
    kept: U8 = np.empty(len(stored.neighbours), np.uint8)
    gone = (starts[:0], ends[:0], new)
    if layer.removed is not None:
        gone = (*layer.removed.bounds(*some), layer.removed.neighbours)
    _sift(stored[:2], gone, added, kept, out.offsets)
    if int(out.offsets[len(starts)]) > len(out.neighbours):
        return False
    plan = (stored.offsets, kept, starts, ends, out.offsets)
    _merge(stored.neighbours, new, out.neighbours, plan)
    for old, more, column in zip(stored.columns, chosen, out.columns, strict=True):
        _merge(old, more, column, plan)
    return True


def make_source(side: Side, base_pages: tuple[I64, I64]) -> MemoryLists | ChangedLists:
    """Where the lists of a side come from."""
    if not side.is_in_place:
        return ChangedLists(side, base_pages)
    lists = side.added
    starts, ends = lists.bounds(0, len(side.degrees))
    return MemoryLists(InPlace(starts, ends, lists.neighbours, lists.columns))


@kernel
def _sift(old, removed, added, kept, offsets):  # type: ignore[no-untyped-def]
    """Say of each entry of the base's lists whether it is kept, which it is unless its vertex has
    it among those that are removed (in no order; there may be none of any vertex); and where the
    lists begin that are made of those kept and the new ones.
    """
    (old_offsets, entries), (gone_starts, gone_ends, gone) = old, removed
    starts, ends, _ = added
    one, total = np.uint64(1), np.uint64(0)
    offsets[0] = 0
    for i in range(np.uint64(len(starts))):
        begin, end = np.uint64(old_offsets[i]), np.uint64(old_offsets[i + one])
        count = np.uint64(0)
        if i < np.uint64(len(gone_starts)):
            count = gone_ends[i] - gone_starts[i]
        if count == 0:
            kept[begin:end] = 1
            total += end - begin
        else:
            out = np.sort(gone[gone_starts[i] : gone_ends[i]])
            for k in range(begin, end):
                at = np.searchsorted(out, entries[k])
                kept[k] = at == len(out) or out[at] != entries[k]
                total += np.uint64(kept[k])
        total += ends[i] - starts[i]
        offsets[i + one] = total


@kernel
def _merge(old, new, out, plan):  # type: ignore[no-untyped-def]
    """What is kept of each old list, and then the new one, to where :func:`_sift` says. ``plan``:
    where old lists begin, what is kept, where new ones begin and end, where those made begin.
    """
    old_offsets, kept, starts, ends, offsets = plan
    one = np.uint64(1)
    for i in range(np.uint64(len(starts))):
        at = np.uint64(offsets[i])
        for k in range(np.uint64(old_offsets[i]), np.uint64(old_offsets[i + one])):
            if kept[k]:
                out[at] = old[k]
                at += one
        for k in range(starts[i], ends[i]):
            out[at] = new[k]
            at += one

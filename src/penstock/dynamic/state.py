"""The graph itself: ids, sides, vertex columns, and how a batch changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.config import thread_count
from penstock.dynamic import batch_kernels, reverse
from penstock.dynamic.base import BaseLists
from penstock.dynamic.batches import Batch, EdgeBatch, VertexBatch
from penstock.dynamic.changes import Changes
from penstock.dynamic.folder_catalog import LiveSchema
from penstock.dynamic.ids import Ids, IntIds, StringIds
from penstock.dynamic.layers import FrozenSide
from penstock.dynamic.lists import THRESHOLD, DegreeAwareLists
from penstock.dynamic.maintained.protocol import ByVertex
from penstock.dynamic.merge import MergedSide, totals
from penstock.dynamic.region import check_reservable
from penstock.dynamic.view import LiveView, Version
from penstock.dynamic.view_lists import Side
from penstock.parallel import Workers
from penstock.process import return_freed_memory
from penstock.store.paged import PagedGraph
from penstock.store.source import Description
from penstock.types import NO_VERTEX, U8, U32, Array, Direction, IdKind

#: A batch of at least so many rows that comes first is sorted, not looked up row by row.
BULK_ROWS = 1 << 21


@dataclass(frozen=True, slots=True)
class Effect:
    """What a batch did."""

    changes: Changes
    #: Edges that came and went; an undirected one counts once.
    added: int
    removed: int


class State:
    """What a graph that changes is now."""

    def __init__(
        self,
        schema: LiveSchema,
        *,
        base: PagedGraph | None = None,
        threads: int | None = None,
        threshold: int = THRESHOLD,
        folder: Path | None = None,
        reverse_path: Path | None = None,
    ) -> None:
        """``folder``: where scratch files may be; None: ids are in memory. ``reverse_path``: where
        a store of in-lists may be; None: in memory.
        """
        self.schema = schema
        self.threads = thread_count(threads)
        self._threshold = threshold
        self._folder = folder
        self.workers = Workers(self.threads)
        self.ids: Ids = self._make_ids(schema.ids or "int")
        self._ids_known = schema.ids is not None
        self.sides = self._make_sides(base)
        self.num_edges = 0 if base is None else base.num_edges
        if base is not None and base.num_vertices:
            self.set_id_kind(base.id_kind)
            self.ids.load(base)
            return_freed_memory()
        self.columns = [ByVertex(column.dtype) for column in schema.vertex_columns]
        self._grow()
        self._reverse_path = reverse_path
        self._reverse_store: PagedGraph | None = None

    def _make_ids(self, kind: IdKind) -> Ids:
        return IntIds(self.workers, self._folder) if kind == "int" else StringIds()

    def set_id_kind(self, kind: IdKind) -> None:
        """From now on ids are of this kind; nothing if that is known already."""
        if not self._ids_known:
            self._ids_known = True
            if self.ids.kind != kind:
                self.ids = self._make_ids(kind)

    def ids_for(self, given: Any) -> Ids:
        """What would check some ids: as ids are known to be, or as the first one given is."""
        if self._ids_known or not hasattr(given, "__len__") or not len(given):
            return self.ids
        first = given[0] if hasattr(given, "__getitem__") else next(iter(given))
        first = first.as_py() if hasattr(first, "as_py") else first
        kind: IdKind = "string" if isinstance(first, str) else "int"
        return self.ids if self.ids.kind == kind else self._make_ids(kind)

    @property
    def id_kind(self) -> IdKind | None:
        """What ids are; None if no batch has said so."""
        return self.ids.kind if self._ids_known else None

    def sides_above(self, frozen: Mapping[Direction, FrozenSide]) -> dict[Direction, MergedSide]:
        """Sides without changes that stand on those there are, to take their place."""
        return {each: MergedSide(below, self._new_lists()) for each, below in frozen.items()}

    def stand_on(self, bases: Mapping[Direction, BaseLists]) -> None:
        """Let stores take the place of the frozen sides that they were made of."""
        for direction, base in bases.items():
            frozen = self.sides[direction].base
            self.sides[direction].stand_on(base)
            if frozen is not None:
                frozen.close()
        return_freed_memory()

    def _make_sides(self, base: PagedGraph | None) -> dict[Direction, MergedSide]:
        """Those that the base has, or that there are from the beginning."""
        sides: dict[Direction, MergedSide] = {"out": self._side("out", base)}
        schema = self.schema
        there = schema.reverse if base is None else "in" in base.directions
        if schema.directed and there and schema.reverse is not False:
            sides["in"] = self._side("in", base)
        return sides

    def _side(self, direction: Direction, graph: PagedGraph | None) -> MergedSide:
        base = None if graph is None else BaseLists(graph, direction, self.threads)
        return MergedSide(base, self._new_lists())

    def _new_lists(self) -> DegreeAwareLists:
        schema = self.schema
        return DegreeAwareLists(
            schema.columns, multigraph=schema.multigraph, threads=self.threads,
            threshold=self._threshold,
        )  # fmt: skip

    # Reverse lists

    @property
    def can_reverse(self) -> bool:
        """Whether there are no in-lists yet, and some may be made."""
        schema = self.schema
        return schema.directed and schema.reverse is not False and "in" not in self.sides

    def build_reverse(self, memory: int | None = None) -> MergedSide:
        """The in-lists of a directed graph, which every batch keeps up from now on; made, in about
        this much memory, unless they are there.
        """
        if not self.can_reverse:
            return self.sides["in"]
        out, lists = self.sides["out"], self._new_lists()
        if isinstance(out.added, DegreeAwareLists):
            lists.load_reversed(out.added)
            side = MergedSide(None, lists)
        else:
            still, path = LiveView(self.version(0)), self._reverse_path
            if path is None:
                store = reverse.reverse_in_memory(still, memory, self.threads)
            else:
                store = reverse.reverse_in_folder(still, path, memory, self.threads)
            side = MergedSide(BaseLists(store, "in", self.threads), lists)
            self._reverse_store = store
        side.grow(self.num_vertices)
        self.sides["in"] = side
        return side

    @property
    def uses_reverse_store(self) -> bool:
        """Whether the in-lists stand on the store that :meth:`build_reverse` made of them."""
        bottom = self.sides["in"].bottom if "in" in self.sides else None
        return bottom is not None and bottom.graph is self._reverse_store

    def _reverse_bytes(self) -> int:
        """What making in-lists takes in memory, about."""
        out = self.sides["out"]
        if out.base is None:
            return out.added.nbytes + 4 * (self.threads + 1) * self.num_vertices
        if self._reverse_path is not None:
            return reverse.made_bytes(self.num_vertices)
        return reverse.kept_bytes(self.num_vertices, self.num_edges, self.schema.columns)

    @property
    def num_vertices(self) -> int:
        """Vertices there are."""
        return self.ids.num_vertices

    def memory(self) -> dict[str, int]:
        """Bytes in memory, by what takes them: ids; what all vertices take besides; lists, their
        indexes, and what only vertices that changed since the base take.
        """
        sides = self.sides.values()
        fixed = sum(side.nbytes - side.changed_bytes for side in sides)
        columns = sum(column.now.nbytes for column in self.columns)
        return {"ids": self.ids.nbytes(), "vertices": fixed + columns, "lists": self.changed_bytes}

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(self.memory().values())

    @property
    def changed_bytes(self) -> int:
        """Those of them that merging gives back."""
        return sum(side.changed_bytes for side in self.sides.values())

    def close(self, *, wait: bool = True) -> None:
        """End the threads."""
        self.workers.close(wait=wait)
        for side in self.sides.values():
            side.close(wait=wait)

    def _grow(self) -> None:
        for side in self.sides.values():
            side.grow(self.num_vertices)
        for column in self.columns:
            column.grow(self.num_vertices)

    # Batches

    def check_room(self, batch: Batch) -> None:
        """Raise if a batch may not fit: what is in the log must take effect."""
        if isinstance(batch, VertexBatch):
            self.ids.check_room(batch.ids)
            vertices, rows = len(batch.ids), 0
        else:
            self.ids.check_room(batch.src, batch.dst)
            vertices = rows = 2 * len(batch)
        check_reservable(sum(side.missing_bytes(vertices, rows) for side in self.sides.values()))

    def apply(self, batch: Batch, *, telling: bool = True) -> Effect:
        """Change the graph as a checked batch says. Unless ``telling``, the effect names no
        edges.
        """
        before = self.num_vertices
        none: U32 = np.empty(0, np.uint32)
        if isinstance(batch, VertexBatch):
            vids = self.ids.number(batch.ids)[0]
            self._grow()
            if batch.column >= 0:
                self.columns[batch.column].grow(self.num_vertices)[vids] = batch.values
            return Effect(Changes(none, none, none, none, self.num_vertices, before), 0, 0)
        src, dst, adds, columns = self._numbered(batch)
        self._grow()
        changes = (none,) * 4
        if telling:
            counts = self._change(src, dst, adds, columns)
            added, removed = totals(counts, adds)
            changes = self._told(src, dst, adds, counts)
        else:
            added, removed = self._change_untold(src, dst, adds, columns)
        self.num_edges += added - removed
        return Effect(Changes(*changes, self.num_vertices, before), added, removed)

    def _numbered(self, batch: EdgeBatch) -> tuple[U32, U32, U8 | None, tuple[Array, ...]]:
        """The rows as vertex numbers; those that delete what cannot be there are left out."""
        if batch.adds is None:
            src, dst = self.ids.number(batch.src, batch.dst)
            return src, dst, None, batch.columns
        adding = batch.adds != 0
        self.ids.number(batch.src[adding], batch.dst[adding])
        src, dst = self.ids.find(batch.src), self.ids.find(batch.dst)
        known = (src != NO_VERTEX) & (dst != NO_VERTEX)
        if known.all():
            return src, dst, batch.adds, batch.columns
        columns = tuple(values[known] for values in batch.columns)
        return src[known], dst[known], batch.adds[known], columns

    def _change(self, src: U32, dst: U32, adds: U8 | None, columns: Sequence[Array]) -> U32:
        """Change the sides; how many edges each row made or deleted."""
        out = self.sides["out"]
        if adds is None and len(src) >= BULK_ROWS and self.num_edges == 0 and out.base is None:
            return self._load(src, dst, columns)
        if not self.schema.directed:
            both = _BothWays.of(src, dst, adds, columns)
            return out.apply_counted(both.src, both.dst, both.adds, both.columns)[both.first]
        counts = out.apply_counted(src, dst, adds, columns)
        if "in" in self.sides:
            self.sides["in"].change(dst, src, adds, columns)
        return counts

    def _change_untold(
        self, src: U32, dst: U32, adds: U8 | None, columns: Sequence[Array]
    ) -> tuple[int, int]:
        """Change the sides; how many edges came and went."""
        if not self.schema.directed or len(src) >= BULK_ROWS:
            return totals(self._change(src, dst, adds, columns), adds)
        if "in" in self.sides:
            self.sides["in"].change(dst, src, adds, columns)
        return self.sides["out"].change(src, dst, adds, columns)

    def _load(self, src: U32, dst: U32, columns: Sequence[Array]) -> U32:
        """Many edges at once into a graph that has none."""
        if not self.schema.directed:
            both = _BothWays.of(src, dst, None, columns)
            new = self.sides["out"].load_rows(both.src, both.dst, both.columns)
            return new[both.first].astype(np.uint32)
        if "in" in self.sides:
            self.sides["in"].load_rows(dst, src, columns)
        return self.sides["out"].load_rows(src, dst, columns).astype(np.uint32)

    def _told(self, src: U32, dst: U32, adds: U8 | None, counts: U32) -> tuple[U32, U32, U32, U32]:
        """Edges that came and went, seen from before and after the batch. If edges have values, one
        that was added where it is already may have new ones: it stands in both.
        """
        adding = np.ones(len(src), bool) if adds is None else adds != 0
        if self.schema.multigraph:
            came, went = adding & (counts > 0), ~adding & (counts > 0)
            old_src, old_dst = (np.repeat(each[went], counts[went]) for each in (src, dst))
            return src[came], dst[came], old_src, old_dst
        valued = bool(self.schema.columns)
        rows = np.flatnonzero((counts > 0) | (adding & valued))
        ends = (src[rows].astype(np.uint64), dst[rows].astype(np.uint64))
        if not self.schema.directed:
            ends = (np.minimum(*ends), np.maximum(*ends))
        # Rows of a pair, in their order: the first says what was there before, the last what is.
        keys = (ends[0] << np.uint64(32)) | ends[1]
        order = np.argsort(keys, kind="stable")
        rows, keys = rows[order], keys[order]
        first = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
        last = np.append(first[1:], True)[: len(keys)]
        was = ~adding[rows[first]] | (counts[rows[first]] == 0)
        now = adding[rows[last]]
        rows = rows[last]
        come, gone = rows[now & (~was | valued)], rows[was & (~now | valued)]
        return src[come], dst[come], src[gone], dst[gone]

    def version(self, tag: int) -> Version:
        """The graph as it is, for the engine."""
        sides = {direction: Side.of(side) for direction, side in self.sides.items()}
        schema = self.schema
        description = Description(
            self.ids.num_vertices, self.num_edges, schema.directed, columns=schema.columns,
            weight=schema.weight, multigraph=schema.multigraph, id_kind=self.ids.kind, tag=tag,
        )  # fmt: skip
        if not self.can_reverse:
            return Version(description, self.ids, sides)
        return Version(
            description, self.ids, sides, lambda memory: Side.of(self.build_reverse(memory)),
            self._reverse_bytes(),
        )  # fmt: skip


class _BothWays(NamedTuple):
    """Each row in both directions, one right after the other, a loop once."""

    src: U32
    dst: U32
    adds: U8 | None
    columns: list[Array]
    #: Where those of each row begin.
    first: U32

    @classmethod
    def of(cls, src: U32, dst: U32, adds: U8 | None, columns: Sequence[Array]) -> _BothWays:
        sources, targets = np.empty((2, 2 * len(src)), np.uint32)
        first: U32 = np.empty(len(src) + 1, np.uint32)
        rows = int(batch_kernels.both_ways(src, dst, sources, targets, first))
        times = np.diff(first) if adds is not None or columns else first[:0]
        ops = None if adds is None else np.repeat(adds, times)
        values = [np.repeat(each, times) for each in columns]
        return cls(sources[:rows], targets[:rows], ops, values, first[:-1])

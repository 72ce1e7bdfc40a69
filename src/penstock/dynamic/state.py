"""The graph itself: ids, sides, vertex columns, and how a batch changes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penstock.config import thread_count
from penstock.dynamic import batch_kernels
from penstock.dynamic.base import BaseLists
from penstock.dynamic.batches import Batch, EdgeBatch, VertexBatch
from penstock.dynamic.changes import Changes
from penstock.dynamic.folder_catalog import LiveSchema
from penstock.dynamic.ids import Ids, IntIds, StringIds
from penstock.dynamic.lists import THRESHOLD, DegreeAwareLists
from penstock.dynamic.maintained.protocol import ByVertex
from penstock.dynamic.merge import MergedSide
from penstock.dynamic.region import check_reservable
from penstock.dynamic.view import Version
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
    ) -> None:
        """``folder``: where scratch files may be; None: ids are in memory."""
        self.schema = schema
        self.base = base
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

    def rebase(self, base: PagedGraph) -> None:
        """Stand on a base that has everything, vertex numbers included: let all changes go. If that
        fails, everything is as it was, which says the same.
        """
        sides = self._make_sides(base)
        self._close_sides()
        self.schema = replace(self.schema, ids=self.id_kind)
        self.base, self.sides = base, sides
        self._grow()
        return_freed_memory()

    def _make_sides(self, base: PagedGraph | None) -> dict[Direction, MergedSide]:
        two = self.schema.directed and self.schema.reverse
        directions: tuple[Direction, ...] = ("out", "in") if two else ("out",)
        return {direction: self._side(direction, base) for direction in directions}

    def _side(self, direction: Direction, graph: PagedGraph | None) -> MergedSide:
        schema = self.schema
        base = None if graph is None else BaseLists(graph, direction, self.threads)
        added = DegreeAwareLists(
            schema.columns, multigraph=schema.multigraph, threads=self.threads,
            threshold=self._threshold,
        )  # fmt: skip
        return MergedSide(base, added)

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

    def close(self) -> None:
        """End the threads."""
        self.workers.close()
        self._close_sides()

    def _close_sides(self) -> None:
        for side in self.sides.values():
            for lists in (side.base, side.added, side.removed):
                if lists is not None:
                    lists.close()

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
            return
        self.ids.check_room(batch.src, batch.dst)
        check_reservable(
            sum(
                lists.missing_bytes(2 * len(batch))
                for side in self.sides.values()
                for lists in (side.added, side.removed)
                if lists is not None
            )
        )

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
        counts = self._change(src, dst, adds, columns)
        total = int(counts.sum())
        added = total if adds is None else int(counts[adds != 0].sum())
        self.num_edges += 2 * added - total
        changes = (none,) * 4
        if telling:
            changes = self._told(src, dst, adds, counts)
        return Effect(Changes(*changes, self.num_vertices, before), added, total - added)

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
        if adds is None and len(src) >= BULK_ROWS and self.num_edges == 0 and self.base is None:
            return self._load(src, dst, columns)
        out = self.sides["out"]
        if not self.schema.directed:
            both = _BothWays.of(src, dst, adds, columns)
            return out.apply_counted(both.src, both.dst, both.adds, both.columns)[both.first]
        counts = out.apply_counted(src, dst, adds, columns)
        if "in" in self.sides:
            self.sides["in"].apply(dst, src, adds, columns)
        return counts

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
        sides = {
            direction: Side(side.degrees(), side.added, self.base, side.removed)
            for direction, side in self.sides.items()
        }
        schema = self.schema
        description = Description(
            self.ids.num_vertices, self.num_edges, schema.directed, columns=schema.columns,
            weight=schema.weight, multigraph=schema.multigraph, id_kind=self.ids.kind, tag=tag,
        )  # fmt: skip
        return Version(description, self.ids, sides)


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

"""The lists of a run: loaded, in tiers or streamed, as the plan says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.engine.options import RunOptions
from penstock.engine.plan import Lists as ListBytes
from penstock.engine.plan import Plan, TierNeeds
from penstock.metrics import Metrics, clock
from penstock.parallel import Workers
from penstock.process import retain_freed_memory
from penstock.store.graph import Graph
from penstock.store.source import InPlace
from penstock.stream.arena import Arena, buffer_bytes
from penstock.stream.block import Block
from penstock.stream.blocks import stream_buffer_bytes
from penstock.stream.budget import Budget
from penstock.stream.cache import PageCache
from penstock.stream.lists import Lists, StreamedLists, column_positions, load
from penstock.stream.policy import POLICIES
from penstock.stream.resident import ResidentLists
from penstock.stream.tiers import TieredLists, can_tier, tier_bytes
from penstock.types import I64, Direction

#: Room for what is found in the lists under way.
FOUND_BYTES = 8 << 20


def list_bytes(graph: Graph, direction: Direction, columns: Sequence[str]) -> ListBytes:
    """What the lists of one direction take, in the forms that they can have."""
    table = graph.page_table(direction)
    page_bytes = graph.catalog.page_bytes
    buffers = stream_buffer_bytes(graph, direction, columns)
    if in_place(graph, direction) is not None:
        return ListBytes(len(table), page_bytes, buffers, 0)
    edges = int(table["num_edges"].sum(dtype=np.int64))
    widths = {column.name: column.dtype.itemsize for column in graph.catalog.columns}
    offsets = (4 if edges < 1 << 32 else 8) * (graph.num_vertices + 1)
    per_edge = 4 + sum(widths[name] for name in columns if name in widths)
    return ListBytes(len(table), page_bytes, buffers, offsets + edges * per_edge)


def in_place(graph: Graph, direction: Direction) -> InPlace | None:
    """The lists of a direction themselves, if whoever has them has them in memory: they are not
    loaded then.
    """
    source = graph.source(direction)
    return None if source is None else source.in_place


def stand_apart(graph: Graph, direction: Direction) -> bool:
    """Whether the lists of a direction are in memory with room between them."""
    lists = in_place(graph, direction)
    return lists is not None and lists.offsets is None


def tier_needs(
    graph: Graph, directions: Sequence[Direction], options: RunOptions, head_edges: int | None
) -> TierNeeds | None:
    """What lists in tiers would take; None if there cannot be any."""
    if not options.load or not all(can_tier(graph, stored) for stored in directions):
        return None
    fixed = buffer_bytes(options.memory) + FOUND_BYTES + graph.num_vertices // 8
    heads: I64 = np.zeros(1, np.int64)
    for stored in directions:
        key = (f"tier sizes {stored}", ())
        if key not in graph.kept:
            degrees = np.asarray(graph.degrees(stored))
            graph.kept[key] = tier_bytes(graph, stored, degrees)
        size, more = graph.kept[key]
        fixed += size
        heads = heads + more
    return TierNeeds(fixed, heads, head_edges)


@dataclass(slots=True)
class Topology:
    """The lists of one run, opened or loaded when first asked for."""

    graph: Graph
    options: RunOptions
    plan: Plan
    #: The stored lists that the plan counts with.
    directions: tuple[Direction, ...]
    columns: tuple[str, ...]
    workers: Workers
    metrics: Metrics
    budget: Budget
    load_seconds: float = 0.0
    _lists: dict[Direction, Lists] = field(default_factory=dict)
    _streamed: list[StreamedLists] = field(default_factory=list)
    _arena: Arena | None = None

    def close(self) -> None:
        """Close the files."""
        for lists in self._streamed:
            lists.close()
        if self._arena is not None:
            self.graph.kept[self._arena_key] = self._arena
            self._arena = None

    def lists(self, direction: Direction) -> Lists:
        """The lists of a direction, opened or loaded when first asked for."""
        stored = self.graph.stored(direction)
        if stored not in self._lists:
            self._make_room()
            if self.plan.resident:
                self._lists[stored] = self._loaded(stored)
            elif self.plan.head_edges is not None:
                self._lists[stored] = self._tiered(stored, self.plan.head_edges)
            else:
                self._lists[stored] = self._open(stored, self.workers)
        return self._lists[stored]

    def _open(self, stored: Direction, workers: Workers) -> StreamedLists:
        share = self.plan.cache_pages // len(self.directions)
        sizes = list_bytes(self.graph, stored, self.columns)
        self.budget.take(workers.count * sizes.stream_bytes, "page buffers")
        self.budget.take(share * sizes.page_bytes, "page cache")
        retain_freed_memory(8 << 20)
        cache = PageCache(share, POLICIES[self.options.cache])
        opened = StreamedLists(self.graph, stored, self.columns, workers, self.metrics, cache)
        self._streamed.append(opened)
        return opened

    def drop_cache(self) -> None:
        """Forget the pages that are cached and cache no more: their memory is for others."""
        for lists in self._streamed:
            lists.drop_cache()
        self.budget.give_back("page cache")

    def _loaded(self, stored: Direction) -> ResidentLists:
        """Lists where they stand, or that an earlier run left with the graph, or that are loaded
        now.
        """
        key = (stored, self.columns)
        table = self.graph.page_table(stored)
        there = in_place(self.graph, stored)
        if there is not None:
            names = [column.name for column in self.graph.catalog.columns]
            columns = tuple(
                there.columns[names.index(name)]
                for name in column_positions(self.graph, self.columns)
            )
            if there.offsets is not None:
                lists = Block(0, there.offsets, there.neighbours, columns)
            else:
                lists = Block(0, there.starts, there.neighbours, columns, there.ends)
            return ResidentLists(lists, table, stored, self.workers)
        sizes = list_bytes(self.graph, stored, self.columns)
        block = self.graph.kept.get(key)
        if block is None:
            begin = clock()
            with_columns = {c.name: c.dtype for c in self.graph.catalog.columns}
            streams = Workers(self.plan.streams)
            opened = self._open(stored, streams)
            try:
                block = load(
                    opened, self.graph.num_vertices, [with_columns[name] for name in self.columns]
                )
            finally:
                streams.close()
                opened.close()
                self.budget.give_back("page buffers")
            self._streamed.clear()
            self.graph.kept[key] = block
            self.load_seconds += clock() - begin
        self.budget.take(sizes.resident_bytes, f"{stored}-lists")
        return ResidentLists(block, table, stored, self.workers)

    def _tiered(self, stored: Direction, head_edges: int) -> TieredLists:
        """Lists in tiers, of which an earlier run may have left what is in memory."""
        begin, kept = clock(), self.graph.kept
        key = (f"tier {stored}", (str(head_edges),))
        if self._arena is None:
            # Taken away, because only one run at a time can use it.
            bands = len(self.graph.catalog.page_spec().bands)
            self._arena = kept.pop(self._arena_key, None) or Arena(self.options.memory, bands)
            self.budget.take(self._arena.nbytes, "list buffers")
        retain_freed_memory(8 << 20)
        sizes = list_bytes(self.graph, stored, ())
        self.budget.take(self.workers.count * sizes.stream_bytes, "page buffers")
        loaded = key in kept
        found = TieredLists(
            self.graph, stored, self.workers, self.metrics, arena=self._arena,
            head_edges=head_edges, tier=kept.get(key),
        )  # fmt: skip
        self._streamed.append(found)
        kept[key] = found.tier
        self.budget.take(_held_bytes(found.tier), f"first edges of {stored}-lists")
        if not loaded:
            self.load_seconds += clock() - begin
        return found

    @property
    def _arena_key(self) -> tuple[str, tuple[str, ...]]:
        return ("tier buffers", (str(self.options.memory),))

    def _make_room(self) -> None:
        """Forget lists of earlier runs that this one has no use for, as far as they would not fit
        beside its own.
        """
        kept = self.graph.kept
        others = {key: _held_bytes(value) for key, value in kept.items() if not self._uses(*key)}
        total = sum(others.values())
        for key, size in others.items():
            if total > self.options.memory - self.plan.memory_bytes:
                kept.pop(key, None)  # another run may have taken it
                total -= size

    def _uses(self, what: str, columns: tuple[str, ...]) -> bool:
        """Whether lists that are kept with the graph are some that this run will ask for."""
        if self.plan.head_edges is not None:
            tiers = [(f"tier {stored}", (str(self.plan.head_edges),)) for stored in self.directions]
            return (what, columns) in (self._arena_key, *tiers)
        wanted = what in self.directions or (self.plan.cut and what.startswith("cut "))
        return self.plan.resident and columns == self.columns and wanted


def _held_bytes(value: Any) -> int:
    """Bytes of the arrays in what is kept with a graph."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Arena):
        return value.nbytes
    return sum(map(_held_bytes, value)) if isinstance(value, list | tuple) else 0

"""The lists of a run: loaded, in tiers or streamed, as the plan says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.engine.counts import Counts
from penstock.engine.grid import pages_at
from penstock.engine.narrowing import narrow_to
from penstock.engine.options import RunOptions
from penstock.engine.ownership import own_table, pages_by_number
from penstock.engine.plan import Plan
from penstock.engine.row_lists import RowLists, narrowed
from penstock.engine.sizes import ListBytes, list_bytes, used_in_place
from penstock.metrics import Metrics, clock
from penstock.parallel import Workers
from penstock.process import retain_freed_memory
from penstock.store.graph import Graph
from penstock.store.kept import Slot
from penstock.store.source import InPlace
from penstock.stream.arena import Arena
from penstock.stream.block import Block
from penstock.stream.budget import Budget
from penstock.stream.cache import PageCache
from penstock.stream.lists import Lists, Own, Piece, StreamedLists, column_positions, load
from penstock.stream.policy import POLICIES
from penstock.stream.resident import ResidentLists
from penstock.stream.tiers import Tier, TieredLists
from penstock.types import Direction


def in_place(graph: Graph, direction: Direction) -> InPlace | None:
    """The lists of a direction themselves, if the source is already in memory: they are not loaded
    then.
    """
    source = graph.source(direction)
    return None if source is None else source.in_place


#: What earlier runs leave: lists by direction and columns; the same cut into ranges, by range,
#: direction and columns; heads by direction and edges; buffers to read single lists, by budget.
LISTS: Slot[Block] = Slot("lists")
ROW_LISTS: Slot[list[Piece]] = Slot("lists of a row of hosts")
CUT_LISTS: Slot[list[Block]] = Slot("lists cut into ranges")
TIERS: Slot[Tier] = Slot("first edges of lists")
BUFFERS: Slot[Arena] = Slot("buffers of single lists")


@dataclass(slots=True)
class Topology:
    """The lists of one run, opened or loaded when first asked for."""

    graph: Graph
    counts: Counts
    options: RunOptions
    plan: Plan
    workers: Workers
    metrics: Metrics
    budget: Budget
    load_seconds: float = 0.0
    _lists: dict[Direction, Lists] = field(default_factory=dict)
    _streamed: list[StreamedLists] = field(default_factory=list)
    _arena: Arena | None = None

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The stored lists that the plan counts with."""
        return self.plan.directions

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that come with the lists."""
        return self.plan.needs.columns

    def close(self) -> None:
        """Close the files."""
        for lists in self._streamed:
            lists.close()
        if self._arena is not None:
            self.graph.kept.put(BUFFERS, self.options.memory, value=self._arena)
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
        sizes = self._sizes(stored)
        self.budget.take(workers.count * sizes.stream_bytes, "page buffers")
        self.budget.take(share * sizes.page_bytes, "page cache")
        retain_freed_memory(8 << 20)
        cache = PageCache(share, POLICIES[self.options.cache])
        opened = StreamedLists(
            self.graph, stored, self.columns, workers, self.metrics, cache, self._own(stored)
        )
        self._streamed.append(opened)
        return opened

    @property
    def _share(self) -> tuple[Any, ...]:
        """What tells lists of this rank's pages from lists of others."""
        peers = self.options.peers
        return () if peers.size == 1 else ((peers.rank, self.options.page_ranks),)

    def _own(self, stored: Direction) -> Own | None:
        """The pages of this rank; None if it is alone."""
        peers = self.options.peers
        if peers.size == 1:
            return None
        table = self.graph.page_table(stored)
        owners = pages_by_number(len(table), self.options.page_ranks)
        mine = pages_at(owners, self.plan.grid, peers.rank)
        return Own(np.flatnonzero(mine), own_table(table, mine))

    def _sizes(self, stored: Direction) -> ListBytes:
        needs, options = self.plan.needs, self.options
        there = used_in_place(self.counts, stored, needs, options)
        return list_bytes(self.counts, stored, self.columns, in_place=there)

    def drop_cache(self) -> None:
        """Forget the pages that are cached and cache no more: their memory is for others."""
        for lists in self._streamed:
            lists.drop_cache()
        self.budget.give_back("page cache")

    def _loaded(self, stored: Direction) -> ResidentLists:
        """Lists where they stand, or that an earlier run left with the graph, or that are loaded
        now.
        """
        table = self.graph.page_table(stored)
        there = in_place(self.graph, stored)
        needs, options = self.plan.needs, self.options
        if there is not None and used_in_place(self.counts, stored, needs, options):
            names = [column.name for column in self.graph.columns]
            columns = tuple(
                there.columns[names.index(name)]
                for name in column_positions(self.graph, self.columns)
            )
            if there.offsets is not None:
                lists = Block(0, there.offsets, there.neighbours, columns)
            else:
                lists = Block(0, there.starts, there.neighbours, columns, there.ends)
            return ResidentLists(lists, table, stored, self.workers)
        sizes, own = self._sizes(stored), self._own(stored)
        key = (stored, *self._share, self.columns)
        block = self.graph.kept.get(LISTS, *key)
        if block is None:
            begin = clock()
            with_columns = {c.name: c.dtype for c in self.graph.columns}
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
            self.graph.kept.put(LISTS, *key, value=block)
            self.load_seconds += clock() - begin
        self.budget.take(sizes.resident_bytes, f"{stored}-lists")
        return ResidentLists(block, table, stored, self.workers, own)

    def row_lists(self, direction: Direction) -> RowLists:
        """Own lists as far as they are in the range of the rank's row."""
        stored, grid, rank = self.graph.stored(direction), self.plan.grid, self.options.peers.rank
        assert grid is not None
        narrow = narrow_to(*grid.range_of(rank))
        table = self.graph.page_table(stored)
        if not self.plan.resident:
            opened = self._open(stored, self.workers)
            return RowLists(table, narrow, self.workers, streamed=opened)
        key = (stored, (rank, grid), self.columns)
        pieces = self.graph.kept.get(ROW_LISTS, *key)
        if pieces is None:
            self._make_room()
            begin, pieces = clock(), []
            streams = Workers(self.plan.streams)
            opened = self._open(stored, streams)
            try:
                opened.scan(narrowed(narrow, lambda stream, piece: pieces.append(piece)))
            finally:
                streams.close()
                opened.close()
                self.budget.give_back("page buffers")
            self._streamed.remove(opened)
            self.graph.kept.put(ROW_LISTS, *key, value=pieces)
            self.load_seconds += clock() - begin
        self.budget.take(_held_bytes(pieces), f"{stored}-lists")
        return RowLists(table, narrow, self.workers, kept=pieces)

    def _tiered(self, stored: Direction, head_edges: int) -> TieredLists:
        """Lists in tiers, of which an earlier run may have left what is in memory."""
        begin, kept, paged = clock(), self.graph.kept, self.graph.storage
        assert paged is not None
        loaded = kept.get(TIERS, stored, head_edges)
        if self._arena is None:
            # Taken away, because only one run at a time can use it.
            bands = len(paged.catalog.page_spec().bands)
            self._arena = kept.take(BUFFERS, self.options.memory) or Arena(
                self.options.memory, bands
            )
            self.budget.take(self._arena.nbytes, "list buffers")
        retain_freed_memory(8 << 20)
        sizes = list_bytes(self.counts, stored, ())
        self.budget.take(self.workers.count * sizes.stream_bytes, "page buffers")
        found = TieredLists(
            paged, stored, self.workers, self.metrics, arena=self._arena,
            head_edges=head_edges, tier=loaded,
        )  # fmt: skip
        self._streamed.append(found)
        kept.put(TIERS, stored, head_edges, value=found.tier)
        self.budget.take(_held_bytes(found.tier), f"first edges of {stored}-lists")
        if loaded is None:
            self.load_seconds += clock() - begin
        return found

    def _make_room(self) -> None:
        """Forget lists of earlier runs that this one has no use for, as far as they would not fit
        beside its own.
        """
        kept = self.graph.kept
        sizes = {key: _held_bytes(value) for key, value in kept.items() if not self._uses(*key)}
        others = {key: size for key, size in sizes.items() if size}
        total = sum(others.values())
        for (slot, key), size in others.items():
            if total > self.options.memory - self.plan.memory_bytes:
                kept.take(slot, *key)  # another run may have taken it
                total -= size

    def _uses(self, slot: Slot[Any], key: tuple[Any, ...]) -> bool:
        """Whether lists that are kept with the graph are some that this run will ask for."""
        if self.plan.head_edges is not None:
            if slot == BUFFERS:
                return key == (self.options.memory,)
            tiers = [(stored, self.plan.head_edges) for stored in self.directions]
            return slot == TIERS and key in tiers
        if not self.plan.resident or key[-1:] != (self.columns,):
            return False
        mine = [(stored, *self._share, self.columns) for stored in self.directions]
        return (slot == LISTS and key in mine) or (slot == CUT_LISTS and self.plan.cut)


def _held_bytes(value: Any) -> int:
    """Bytes of the arrays in what is kept with a graph."""
    if isinstance(value, list | tuple):
        return sum(map(_held_bytes, value))
    return int(getattr(value, "nbytes", 0))

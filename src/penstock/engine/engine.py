"""The engine: the verbs that algorithms are written with, over a graph of any size.

``scan`` goes over every list, ``traverse`` over the lists of given vertices, ``map_ranges`` over
ranges of vertices. Where the lists are, how many threads work and what stays in memory is decided
once, by :mod:`penstock.engine.plan`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np

from penstock.arrays import distinct
from penstock.engine.direction import IN_MEMORY, STREAMED, ListCosts
from penstock.engine.options import RunOptions
from penstock.engine.ownership import Vertices, pages_by_number, vertices_of
from penstock.engine.plan import Plan
from penstock.engine.rank_counts import counts_for
from penstock.engine.row_lists import RowLists
from penstock.engine.run_memory import RunMemory
from penstock.engine.topology import Topology
from penstock.engine.watched_peers import seconds_into
from penstock.metrics import Metrics, clock
from penstock.parallel import Workers
from penstock.process import DeferredSignals
from penstock.progress import Silent
from penstock.store.graph import Graph
from penstock.stream.arena import DEEP_STREAMS
from penstock.stream.block import Block
from penstock.stream.budget import Budget
from penstock.stream.lists import Lists, Piece, piece_edges
from penstock.stream.resident import ResidentLists
from penstock.stream.tiers import Tier, TieredLists
from penstock.types import I64, U32, Array, Direction

Kernel = Callable[..., Any]
#: Vertices in a range of :meth:`Engine.map_ranges`.
EACH_VERTICES = 1 << 16


class Engine(RunMemory):
    """One run over one graph. A context manager: leaving it ends the threads."""

    def __init__(self, graph: Graph, plan: Plan, options: RunOptions) -> None:
        if options.peers.size == 1 and graph.storage is not None:
            graph.storage.require_whole()
        self.graph = graph
        self.counts = counts_for(graph, options, plan.grid)
        self.peers = options.peers
        self.plan = plan
        self.options = options
        self.num_vertices = graph.num_vertices
        self.threads = options.threads
        self.columns = plan.needs.columns
        #: The stored lists that the plan counts with.
        self.directions = plan.directions
        self.budget = Budget(options.memory)
        self.workers = Workers(options.threads if self.plan.resident else self.plan.streams)
        self.metrics = Metrics(
            max(self.plan.streams, options.threads, DEEP_STREAMS if self.is_tiered() else 1),
            tracing=options.trace is not None,
        )
        self._topology = Topology(
            graph, self.counts, options, plan, self.workers, self.metrics, self.budget
        )  # fmt: skip
        self.deferred = DeferredSignals(active=options.checkpoint is not None)
        #: What a run has to say about its result, for the result's stats.
        self.facts: dict[str, Any] = {}
        self._within_step = False
        #: How many times longer kernels are made to take on each stream; none: on no stream.
        self.slowdowns: list[float] = []

    def __enter__(self) -> Engine:
        self.deferred.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.workers.close()
        self._topology.close()
        self.deferred.__exit__(*error)

    @cached_property
    def page_owners(self) -> I64:
        """The rank of each page of the lists that values are gathered along."""
        return pages_by_number(len(self.gather_table), self.options.page_ranks)

    @cached_property
    def vertices_of_ranks(self) -> list[Vertices]:
        """The vertices whose values each rank makes."""
        if self.peers.size == 1:
            return [Vertices.everything(self.num_vertices)]
        return [
            vertices_of(self.gather_table, self.page_owners, rank)
            for rank in range(self.peers.size)
        ]

    @property
    def own_vertices(self) -> Vertices:
        """The vertices whose values this rank makes."""
        return self.vertices_of_ranks[self.peers.rank]

    @property
    def own_edges(self) -> int:
        """Edges in the lists that this rank gathers along."""
        own = self.page_owners == self.peers.rank
        return int(self.gather_table["num_edges"][own].sum(dtype=np.int64))

    @property
    def _gather_direction(self) -> Direction:
        has_in = not self.graph.directed or "in" in self.graph.directions
        return "in" if has_in else "out"

    @property
    def gather_table(self) -> Array:
        """The pages of the lists that values are gathered along."""
        return self.graph.page_table(self._gather_direction)

    @property
    def way(self) -> str:
        """The algorithm's own name for the way to run that the plan has chosen."""
        return self.plan.needs.way

    # Lists

    def is_resident(self) -> bool:
        """Whether the lists are in memory as a whole."""
        return self.plan.resident

    def is_tiered(self) -> bool:
        """Whether the first edges of each list are in memory, and lists are read one by one."""
        return self.plan.head_edges is not None

    @property
    def costs(self) -> ListCosts:
        """What it costs to look at lists where they are."""
        return IN_MEMORY if self.plan.resident else STREAMED

    def lists(self, direction: Direction) -> Lists:
        """The lists of a direction, opened or loaded when first asked for."""
        return self._topology.lists(direction)

    def row_lists(self) -> RowLists:
        """What of the lists that values are gathered along a rank goes over in a run over rows of
        hosts.
        """
        return self._topology.row_lists(self._gather_direction)

    def block(self, direction: Direction) -> Block:
        """The lists of a direction as one block, of a plan that has them in memory as a whole."""
        lists = self.lists(direction)
        assert isinstance(lists, ResidentLists)
        return lists.block

    def tier(self, direction: Direction) -> Tier:
        """What is in memory of lists in tiers."""
        lists = self.lists(direction)
        assert isinstance(lists, TieredLists)
        return lists.tier

    def drop_cache(self) -> None:
        """Forget the pages that are cached and cache no more: their memory is for others."""
        self._topology.drop_cache()

    # Files and times

    def scratch_folder(self) -> Path:
        """Where columns go that do not fit memory: where asked, or beside checkpoint or graph."""
        if self.options.tmpdir is not None:
            return self.options.tmpdir
        place = self.options.checkpoint or self.graph.path
        return Path(tempfile.gettempdir()) if place is None else place.absolute().parent

    @property
    def load_seconds(self) -> float:
        """How long it took to load what is in memory."""
        return self._topology.load_seconds

    # Verbs

    def scan(
        self,
        kernel: Kernel,
        *args: Any,
        direction: Direction = "out",
        edge_values: Array | None = None,
    ) -> list[Any]:
        """``kernel(block, begin, end, *args)`` for every block; what it returned, in order.

        ``edge_values``: an array in the order of the stored edges. The part of it that belongs to
        the neighbours of a block comes before the other arguments.
        """
        lists = self.lists(direction)
        firsts = lists.table["first_edge"]

        def work(stream: int, piece: Piece) -> Any:
            given = args
            if edge_values is not None:
                first = 0 if lists.resident else int(firsts[piece.page])
                given = (edge_values[first : first + len(piece.block.neighbours)], *args)
            return self.timed_call(
                stream, piece, kernel, piece.block, piece.begin, piece.end, *given
            )

        return lists.scan(work)

    def traverse(
        self,
        vertices: U32,
        kernel: Kernel,
        *args: Any,
        direction: Direction = "out",
        most: int | None = None,
    ) -> U32:
        """``kernel(block, vertices, found, *args)`` for blocks that hold lists of these vertices.

        The kernel may write numbers into ``found`` and returns how many; all of them together are
        returned, in the order of the lists. If they are more than ``most``, not all of them are:
        a caller that can find them otherwise limits the memory that they take. Only pages that
        hold lists of the vertices are read.
        """
        lists = self.lists(direction)
        if not lists.resident:
            vertices = distinct(vertices)
        none: U32 = np.empty(0, np.uint32)
        total = 0

        def work(stream: int, piece: Piece) -> U32:
            room = piece_edges(piece)
            found: U32 = np.empty(room, np.uint32)
            count = self.timed_call(
                stream, piece, kernel, piece.block, piece.vertices, found, *args, edges=room
            )
            nonlocal total
            if count == 0 or (most is not None and total > most):
                return none
            total += int(count)
            return found[:count].copy()

        return np.concatenate([none, *lists.visit(vertices, work)])

    def reduce(
        self,
        vertices: U32,
        kernel: Kernel,
        target: Array,
        *args: Any,
        direction: Direction = "out",
    ) -> None:
        """``kernel(block, vertices, sums, *args)`` for blocks that hold lists of these vertices
        (each once): it writes what each list comes to into ``sums``, which go to ``target`` at the
        place of their vertex.

        A list that is longer than a page comes in parts; what they come to is added up in the order
        of the pages, so that the outcome depends neither on the number of threads nor on where
        lists are.
        """
        lists = self.lists(direction)

        def work(stream: int, piece: Piece) -> tuple[int, Any] | None:
            assert piece.vertices is not None
            sums = np.zeros(len(piece.vertices), target.dtype)
            self.timed_call(stream, piece, kernel, piece.block, piece.vertices, sums, *args)
            if len(piece.block.ends) > 1:
                target[piece.vertices] = sums
                return None
            return int(piece.vertices[0]), sums[0]

        given = vertices
        if not lists.resident:
            given = distinct(vertices)
            target[given] = 0  # pages without edges are not visited
        begun: set[int] = set()
        for part in lists.visit_in_parts(given, work):
            if part is not None:
                vertex, value = part
                target[vertex] = target[vertex] + value if vertex in begun else value
                begun.add(vertex)

    def select(self, kernel: Kernel, *args: Any, length: int | None = None) -> U32:
        """The vertices that a kernel chooses, ascending: ``kernel(begin, end, chosen, *args)``
        writes those of a range into ``chosen`` and returns how many. ``length``: of the first so
        many vertices, if not of all.
        """

        def some(begin: int, end: int) -> U32:
            chosen: U32 = np.empty(end - begin, np.uint32)
            return chosen[: kernel(begin, end, chosen, *args)].copy()

        return np.concatenate([np.empty(0, np.uint32), *self.map_ranges(some, length=length)])

    def map_ranges(self, kernel: Kernel, *args: Any, length: int | None = None) -> list[Any]:
        """``kernel(begin, end, *args)`` over ranges of vertices; what it returned, in order."""
        total = self.num_vertices if length is None else length
        cuts = [*range(0, total, EACH_VERTICES), total]

        def work(stream: int, k: int) -> Any:
            with self.metrics.timed("kernel", stream):
                return kernel(cuts[k], cuts[k + 1], *args)

        return self.workers.run(work, range(len(cuts) - 1))

    def run_per_thread(self, kernel: Kernel, *args: Any, single: bool = False) -> list[Any]:
        """``kernel(claims, *args)`` once in every thread, or in a ``single`` one; what it returned.
        The threads share ``claims``, two counters that begin at 0, to divide the work.
        """
        claims: I64 = np.zeros(2, np.int64)

        def work(stream: int, k: int) -> Any:
            with self.metrics.timed("kernel", stream):
                return kernel(claims, *args)

        return self.workers.run(work, range(1 if single else self.workers.count))

    def call(self, kernel: Kernel, *args: Any) -> Any:
        """``kernel(*args)``, once; its time is counted."""
        with self.metrics.timed("kernel", 0):
            return kernel(*args)

    def count_edges(self, edges: int) -> None:
        """Count edges that a kernel says it looked at; or fewer than were counted for it."""
        self.metrics.per_stream[0].edges_traversed += edges

    def timed_call(
        self, stream: int, piece: Piece, kernel: Kernel, *args: Any, edges: int | None = None
    ) -> Any:
        """Call a kernel for a piece; its time and edges are counted."""
        counters = self.metrics.per_stream[stream]
        counters.edges_traversed += piece_edges(piece) if edges is None else edges
        begin = clock()
        try:
            return kernel(*args)
        finally:
            if self.slowdowns and self.slowdowns[stream] > 1:
                sleep((clock() - begin) * (self.slowdowns[stream] - 1))
            self.metrics.count("kernel", stream, piece.page, begin)

    # Steps

    @contextmanager
    def step(self, **facts: Any) -> Iterator[dict[str, Any]]:
        """One iteration, level or phase: a row of the per-iteration table."""
        if self._within_step:
            yield {}
            return
        with self.metrics.row(**facts) as row, seconds_into(self.peers, row):
            yield row
        self.options.progress.advance(1)

    @contextmanager
    def within_step(self) -> Iterator[None]:
        """What is called here is part of a step: it has no rows, no progress bar and no checkpoints
        of its own. Arrays that it leaves are not counted any more afterwards.
        """
        before, options = self._within_step, self.options
        held = self._held_arrays()
        self._within_step = True
        self.options = replace(options, checkpoint=None, progress=Silent())
        try:
            yield
        finally:
            self._within_step, self.options = before, options
            for name in self._held_arrays():
                self.budget.give_back(name)
            self.budget.holders |= held

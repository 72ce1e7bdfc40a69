"""A frontier: the vertices that were found last, to be expanded to those that come after them.

Each vertex is in one frontier at most. :meth:`Frontier.expand` moves on to the next frontier: by
pushing from the vertices of the frontier along their lists (top-down), or by having the vertices
that are not visited look through theirs (bottom-up). What is done with an edge is the algorithm's
(:mod:`penstock.engine.expansion`); where lists are, and how threads divide them, is the business of
:mod:`frontier_resident`, :mod:`frontier_streamed` and :mod:`frontier_tiered`.

Between two steps, with bit v % 64 of word v // 64 for vertex v:

- ``state.visited`` uint64 words: the vertices that have been in a frontier, and the bits after the
  last vertex
- ``bits`` uint64 words: the vertices of the frontier, if ``listed`` is None; else anything
- ``next_bits`` uint64 words: no bit if lists are streamed, where vertices found are added; else
  anything: all words that matter are written
- ``listed`` uint32: the vertices of the frontier in any order, or None if ``bits`` says which they
  are; unless lists are streamed a part of ``queue``, with room behind it for all that are not
  visited
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from penstock.engine import frontier_kernels as plain
from penstock.engine.counts import Counts, counts_of
from penstock.engine.direction import Mode, Outlook
from penstock.engine.engine import Engine
from penstock.engine.expansion import Expansion, kernels_of
from penstock.engine.push_kernels import HELD
from penstock.engine.sizes import FOUND_BYTES
from penstock.types import I64, U32, VID, Direction

#: Bytes for each vertex: the frontier, the next one and the visited vertices, as bits ...
SET_BYTES = 1
#: ... and, unless lists are streamed, the queue.
QUEUE_BYTES = 4
#: On a stream, vertices found are listed while they are fewer than one of this many; else bits say
#: which they are.
LISTED = 64


def streamed_bytes(counts: Counts, directions: tuple[Direction, ...] = ("out",)) -> int:
    """What a frontier on a stream takes besides, at most: it has only vertices that an edge leads
    to, listed in parts and then as a whole; and what is found on the way.
    """
    n = listed = counts.num_vertices
    if len(directions) == 1:
        known: Direction = "out" if len(counts.directions) == 1 else "in"
        listed -= counts.of(known).degree_histogram[0]
    return 8 * listed + 8 * (n // LISTED) + FOUND_BYTES


class Frontier(ABC):
    """The vertices that were found last, and what is known of them and of those still to find."""

    #: Names of arrays, to be freed.
    _held: tuple[str, ...] = ("frontier bits", "next bits")

    def __init__(
        self,
        engine: Engine,
        expansion: Expansion,
        state: Any,
        directions: tuple[Direction, ...],
    ) -> None:
        graph, n = engine.graph, engine.num_vertices
        self.engine = engine
        self.kernels = kernels_of(expansion)
        self.state = state
        #: The lists that lead on.
        self.directions = directions
        #: The lists of edges that lead to a vertex, and whether they can be looked at.
        self.against: Direction = "in" if directions[0] == "out" else "out"
        self.can_pull = len(directions) == 1 and self._has_lists_against()
        if n % 64:
            state.visited[-1] |= ~np.uint64(0) << np.uint64(n % 64)
        self.bits = engine.vertex_set("frontier bits")
        self.next_bits = engine.vertex_set("next bits")
        self.listed: U32 | None = None
        #: The number of the frontier, and how it was found.
        self.step = 0
        self.mode: Mode = "top-down"
        #: What other ranks have to be told, if there are any.
        self.exchange: FrontierExchange | None = None
        if engine.peers.size > 1:
            from penstock.engine.frontier_joining import FrontierExchange

            assert expansion.told is not None
            self.exchange = FrontierExchange(engine, expansion.told, state)
        lists = counts_of(graph).lists
        known = graph.stored(self.against if len(graph.directions) == 2 else directions[0])
        #: Vertices of the frontier and of the one before it; edges that lead away from it.
        self.count = self.before = self.edges = 0
        #: Vertices with edges that are not reached, and edges of vertices that are not.
        self.unreached = n - lists[known].degree_histogram[0]
        self.unexplored = self._num_edges = lists[graph.stored(directions[0])].num_edges
        #: Edges that the last expansion looked at.
        self.looked = 0

    @property
    def outlook(self) -> Outlook:
        """What the choice of a way depends on."""
        factor = self._num_edges / max(self.engine.num_vertices, 1)
        return Outlook(
            self.count, self.before, self.edges, max(self.unreached, 0), self.unexplored,
            self.mode, factor,
        )  # fmt: skip

    def _has_lists_against(self) -> bool:
        return not self.engine.graph.directed or self.against in self.engine.directions

    def choose(self) -> Mode:
        """The way to the next frontier that costs less."""
        return self._choose() if self.can_pull else "top-down"

    def expand(self, mode: Mode, most_steps: int | None = None) -> dict[str, Any]:
        """Move on to the next frontier, or over several small ones, but not more than
        ``most_steps``. Returns how many ``levels`` that were, how many vertices were ``found``, and
        what else there is to say.
        """
        before, self.mode = self.engine.metrics.total().edges_traversed, mode
        step = self.step
        if mode == "bottom-up":
            facts = self._pull()
        else:
            facts = self._push(self.engine.num_vertices if most_steps is None else most_steps)
        self.looked = self.engine.metrics.total().edges_traversed - before
        return {"levels": self.step - step, "found": self.count} | facts

    def resume(self, step: int) -> None:
        """Begin with the vertices in ``bits``, which are visited, and perhaps others."""
        rows = self.engine.map_ranges(
            plain.count_edges, self.state.visited, self.bits, *self._sizes()
        )
        count, reached, *here = (sum(column) for column in zip(*rows, strict=True))
        edges, explored = map(self._of_all, here)
        self._move(count, edges, None, step)
        self.unreached += count - reached
        self.unexplored += edges - explored

    def free(self) -> None:
        """Give the memory back: it is not used any more."""
        for name in self._held:
            self.engine.free(name)

    def _move(self, count: int, edges: int, listed: U32 | None, steps: int = 1) -> None:
        """A frontier is complete: how many vertices and edges it has."""
        self.step += steps
        self.before, self.count, self.edges = self.count, count, edges
        self.listed = listed
        self.unreached -= count
        self.unexplored -= edges

    def _look_up(self, vertices: U32, known: int) -> None:
        """Vertices look through their lists, which are read, from edge ``known`` of each on; those
        that are found are set in ``next_bits``.
        """
        engine, looked = self.engine, np.zeros(1, np.int64)
        before = engine.metrics.total().edges_traversed
        engine.traverse(
            vertices, self.kernels.pull_block, self.next_bits, known, looked,
            np.int32(self.step + 1), self.state, direction=self.against, most=0,
        )  # fmt: skip
        # Lists are read as a whole; what counts is how far they were looked at, and that once.
        listed = engine.metrics.total().edges_traversed - before
        engine.count_edges(int(looked[0]) - known * len(vertices) - listed)

    def _read_and_push(self, vertices: U32, direction: Direction, most: int) -> U32:
        """Vertices are expanded along lists that are read; those that are found are set in
        ``next_bits``, and returned unless they are more than ``most``.
        """
        return self.engine.traverse(
            vertices, self.kernels.push_block, np.zeros(1, np.int64), self.next_bits,
            np.int32(self.step + 1), self.state, direction=direction, most=most,
        )  # fmt: skip

    @abstractmethod
    def start(self, vertices: U32) -> None:
        """Begin with some vertices."""

    def _of_all(self, edges: int) -> int:
        """The sum over all ranks of edges that were counted with :meth:`_sizes`."""
        return edges

    @abstractmethod
    def _sizes(self) -> tuple[Any, Any]:
        """Where lists that lead on begin and end, and degrees, whichever are known."""

    @abstractmethod
    def _choose(self) -> Mode: ...

    @abstractmethod
    def _push(self, most_steps: int) -> dict[str, Any]: ...

    @abstractmethod
    def _pull(self) -> dict[str, Any]: ...


class Queued(Frontier):
    """A frontier in a queue: where lists begin and end is in memory."""

    _held = (*Frontier._held, "queue")

    def __init__(self, engine: Engine, *args: Any, **options: Any) -> None:
        super().__init__(engine, *args, **options)
        self.queue: U32 = engine.array("queue", VID)
        #: Entries of the queue that are used; the frontier is at their end.
        self.queued = 0

    def start(self, vertices: U32) -> None:
        """See :class:`Frontier`."""
        self.queue[: len(vertices)] = vertices
        self.queued = len(vertices)
        self._enter(0, steps=0)

    def _of_all(self, edges: int) -> int:
        # Each rank has some of the lists, and others are empty.
        return edges if self.exchange is None else self.exchange.total(edges)

    def _enter(self, begin: int, steps: int = 1) -> None:
        """The vertices of the queue from ``begin`` on are the frontier now."""
        end = self.queued
        rows = self.engine.run_per_thread(
            plain.enter_queue, self.queue, begin, end, self.state.visited, self._sizes()[0],
            single=end - begin <= HELD,
        )  # fmt: skip
        edges = self._of_all(sum(rows))
        self._move(end - begin, edges, self.queue[begin:end], steps)

    def _enter_next_bits(self, count: int, edges: int) -> None:
        """The vertices in ``next_bits`` are the frontier now, and those that other ranks found."""
        if self.exchange is not None:
            count = self.exchange.join_bits(self.next_bits, self.step + 1)
        edges = self._of_all(edges)
        self.bits, self.next_bits = self.next_bits, self.bits
        np.bitwise_or(self.state.visited, self.bits, out=self.state.visited)
        self._move(count, edges, None)

    def _begin_of_queue(self) -> int:
        """Where the frontier begins in the queue, after putting it there."""
        if self.listed is None:
            n = self.engine.num_vertices
            self.queued = int(plain.vertices_of(0, n, self.queue, self.bits))
            self.listed = self.queue[: self.queued]
        return self.queued - len(self.listed)

    def _push_lists(
        self, block: Any, tail: I64, begin: int, end: int, *, single: bool = False
    ) -> None:
        """The vertices of a part of the queue are expanded along lists in memory; those found are
        added to it at its ``tail``.
        """
        parts = plain.parts_of_long_lists(block.offsets, block.ends, self.queue, begin, end)

        def push(claims: I64, *args: Any) -> int:
            held: U32 = np.empty(HELD, VID)
            return int(self.kernels.push(held, claims, *args))

        rows = self.engine.run_per_thread(
            push, tail, block, self.queue, begin, end, parts, np.int32(self.step + 1), self.state,
            single=single,
        )  # fmt: skip
        self.engine.count_edges(sum(rows))

    def _pull_lists(
        self, words: int, block: Any, rest: Any, out: Any, *, single: bool
    ) -> tuple[int, int, int]:
        """The unvisited vertices of the first words look through lists in memory; what the kernel
        returns.
        """
        self.next_bits[words:] = 0
        rows = self.engine.run_per_thread(
            self.kernels.pull, words, None if block.is_packed else 1, block, rest, out,
            self.next_bits, np.int32(self.step + 1), self.state, single=single,
        )  # fmt: skip
        count, edges, looked = (int(sum(column)) for column in zip(*rows, strict=True))
        self.engine.count_edges(looked)
        return count, edges, looked

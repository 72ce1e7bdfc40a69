"""The state of a search by levels, and what it takes; ``_levels`` says what its arrays mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.algorithms._direction import Frontier, Mode, Thresholds
from penstock.algorithms._level_bits import vertices_of
from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.sizes import FOUND_BYTES
from penstock.process import retain_freed_memory
from penstock.stream.block import Block
from penstock.stream.resident import ResidentLists
from penstock.types import NO_VERTEX, U32, U64, VID, Array, Direction

I32 = NDArray[np.int32]

#: Bytes of state for each vertex: levels, parents, three bits ...
STATE_BYTES = 9
#: ... and, in memory, the queue.
MORE_BYTES = 4
#: On a stream, vertices found are listed while they are fewer than one of so many; else bits say
#: which they are.
LISTED = 64
#: Freed memory that a search in memory leaves for the next one, at most.
KEPT_BYTES = 64 << 20


def frontier_bytes(counts: Counts, directions: tuple[Direction, ...] = ("out",)) -> int:
    """What the frontier of a streamed search takes, at most: it has only vertices that an edge
    leads to, listed in parts and then as a whole; and what is found on the way.
    """
    n = listed = counts.num_vertices
    if len(directions) == 1:
        known: Direction = "out" if len(counts.directions) == 1 else "in"
        listed -= counts.of(known).degree_histogram[0]
    return 8 * listed + 8 * (n // LISTED) + FOUND_BYTES


class Search:
    """The arrays of a search, and what is known of its frontier."""

    def __init__(
        self,
        engine: Engine,
        *,
        can_pull: bool,
        directions: tuple[Direction, ...],
        thresholds: Thresholds | None,
        breakdown: bool,
        dual: bool = False,
    ) -> None:
        graph, n = engine.graph, engine.num_vertices
        self.engine = engine
        self.can_pull = can_pull
        #: The lists that lead on.
        self.directions = directions
        self.thresholds = thresholds
        self.breakdown = breakdown
        self.resident = engine.is_resident()
        #: Whether the first edges are in memory; whether top-down is to do without them.
        self.tiered, self.dual = engine.is_tiered(), dual
        #: Whether a vertex takes the first neighbour one level above: it is the smallest, or lists
        #: have no order that would make one of them the right one.
        self.first_will_do = graph.neighbour_order in ("id", "none")
        if self.resident:
            # A search takes little longer than getting new memory for its arrays each time.
            retain_freed_memory(min(KEPT_BYTES, engine.options.memory // 16))
        self.levels: I32 = engine.array("levels", np.int32, -1)
        self.parents: U32 = engine.array("parents", VID, NO_VERTEX)
        self.visited = self._bits("visited")
        if n % 64:
            self.visited[-1] = ~np.uint64(0) << np.uint64(n % 64)
        self.frontier_bits = self._bits("frontier bits")
        self.next_bits = self._bits("next bits")
        self.frontier: U32 | None = None
        #: Not on a stream, the frontier and what is found after it; how many of them there are.
        self.streamed = not self.resident and not self.tiered
        self.queue: U32 = np.empty(0, VID) if self.streamed else engine.array("queue", VID)
        self.queued = 0
        #: On a stream, needed to choose between the two ways; mapped, so that they count as memory.
        self.degrees: U32 = np.empty(0, np.uint32)
        if can_pull and self.streamed:
            self.degrees = np.asarray(graph.degrees("out"))
        self.level = 0
        self.mode: Mode = "top-down"
        known = graph.stored("in" if len(graph.directions) == 2 else "out")
        #: Vertices of the frontier and of the one before it; edges that lead away from it.
        self.count = self.before = self.edges = 0
        #: Vertices with edges that are not reached, and edges of vertices that are not.
        self.unreached = n - graph.list_stats(known).degree_histogram[0]
        self.unexplored = self._num_edges = graph.list_stats("out").num_edges

    def _bits(self, name: str) -> U64:
        words = -(-self.engine.num_vertices // 64)
        self.engine.budget.take(8 * words, f"state {name!r}")
        return np.zeros(words, np.uint64)

    def free(self) -> None:
        """The search is over: nothing but levels and parents is held any more."""
        for name in ("visited", "frontier bits", "next bits", "queue"):
            self.engine.free(name)

    def block(self, direction: Direction) -> Block:
        """The lists of a direction, in memory."""
        lists = self.engine.lists(direction)
        assert isinstance(lists, ResidentLists)
        return lists.block

    def extents(self) -> tuple[Array, Array, Array, Array]:
        """Where the lists that lead on begin and end, if that is in memory; and the same of further
        lists, of fewer vertices or none.
        """
        first = self.directions[0]
        if self.tiered:
            tier = self.engine.tier(first)
            return tier.heads.offsets, tier.heads.ends, tier.rest, tier.rest[1:]
        here = self.block(first)
        if len(self.directions) == 2:
            more = self.block(self.directions[1])
            return here.offsets, here.ends, more.offsets, more.ends
        return here.offsets, here.ends, here.offsets[:0], here.ends[:0]

    def known(self) -> Frontier:
        """What the choice of a way depends on."""
        factor = self._num_edges / max(self.engine.num_vertices, 1)
        return Frontier(
            self.count, self.before, self.edges, max(self.unreached, 0), self.unexplored,
            self.mode, factor,
        )  # fmt: skip

    def move(self, count: int, edges: int, frontier: U32 | None, levels: int = 1) -> None:
        """A level is complete: so many vertices are the frontier now, and edges lead away."""
        self.level += levels
        self.before, self.count, self.edges = self.count, count, edges
        self.frontier = frontier
        self.unreached -= count
        self.unexplored -= edges

    def listed(self) -> U32:
        """The vertices of the frontier."""
        if self.frontier is None and not self.streamed:
            n = self.engine.num_vertices
            self.queued = int(vertices_of(0, n, self.queue, self.frontier_bits))
            self.frontier = self.queue[: self.queued]
        elif self.frontier is None:
            self.frontier = self.engine.select(vertices_of, self.frontier_bits)
        return self.frontier

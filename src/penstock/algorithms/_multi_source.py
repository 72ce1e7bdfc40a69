"""Breadth-first searches from many vertices at once: sums of distances, and how many reach.

Each of 64 sources has a bit of a word, and a *plane* has such a word for each vertex, three times:
``seen`` has the bits of the sources that reached it, ``frontier`` of those that did on the last
level, ``coming`` of those that do on this one. All planes go through a level together, so that the
topology is read once a level for all of them. In memory there should be no more than caches hold,
as words are looked up at random; on a stream as many as memory allows.

A level is found by pushing, the vertices of the frontier OR their word into those of their
out-neighbours; or by pulling, the vertices that miss a source which is still under way OR the words
of their in-neighbours until none is missing. Pushing is for frontiers with few edges, or for lack
of in-lists; pulling for lack of out-lists.

The outcome is in integers and does not depend on the order of anything.

Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper, Neumann, Vo: "The more the merrier: efficient
multi-source graph traversal", VLDB 2014.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.direction import ListCosts
from penstock.engine.engine import Engine, Kernel
from penstock.jit import compare_and_swap, count_ones, helper, kernel
from penstock.store.mapped import iter_parts
from penstock.types import U32, U64, Array, Direction

#: Sources of a plane.
BITS = 64
#: Bytes of a plane for each vertex.
PLANE_BYTES = 24
#: Bytes for each vertex besides: degrees both ways, and vertices to visit, twice on the way.
MORE_BYTES = 16


def pushing_pays(pushed: int, pulled: int, costs: ListCosts) -> bool:
    """Whether a level is found faster by pushing along the edges of the frontier than by pulling
    along those of vertices that miss something.
    """
    return pushed <= pulled * costs.pulling


class Searches:
    """The words of all planes, and what is known of the level that they are on."""

    def __init__(self, engine: Engine, planes: int) -> None:
        graph = engine.graph
        self.engine = engine
        self.planes = planes
        words = planes * engine.num_vertices
        self.seen, self.frontier, self.coming = (
            engine.array(name, np.uint64, 0, length=words)
            for name in ("seen", "frontier", "coming")
        )
        self.can_push = not graph.directed or "out" in graph.directions
        self.can_pull = not graph.directed or "in" in graph.directions
        none: U32 = np.empty(0, np.uint32)
        both = self.can_push and self.can_pull
        self.out_degrees = np.asarray(graph.degrees("out")) if both else none
        self.in_degrees = np.asarray(graph.degrees("in")) if both else none
        #: Bits of each plane that are in some frontier.
        self.alive: U64 = np.zeros(planes, np.uint64)
        self.level = 0
        #: Edges of the frontier, and of vertices that may miss something, added up over planes.
        self.pushed = self.pulled = 0

    @property
    def at_once(self) -> int:
        """Sources of a batch."""
        return BITS * self.planes

    def free(self) -> None:
        """Give the words back."""
        del self.seen, self.frontier, self.coming
        for name in ("seen", "frontier", "coming"):
            self.engine.free(name)

    def add(self, sources: U32, sums: Array, counts: Array) -> int:
        """Search from some sources (at most a batch; each once). The distance to each vertex that
        they reach is added to ``sums``, the number of other sources that reach it to ``counts``.
        How many levels it took is returned.
        """
        self._begin(sources)
        while self.alive.any():
            self.level += 1
            pays = pushing_pays(self.pushed, self.pulled, self.engine.costs)
            if self.can_push and (pays or not self.can_pull):
                self._push()
            else:
                self._pull()
            self._settle(sums, counts)
        return self.level

    def _begin(self, sources: U32) -> None:
        n = self.engine.num_vertices
        self.engine.map_ranges(
            _forget, self.seen, self.frontier, self.coming, length=len(self.seen)
        )
        place = np.arange(len(sources), dtype=np.uint64)
        bits = np.uint64(1) << (place % np.uint64(BITS))
        where = place // np.uint64(BITS) * np.uint64(n) + sources.astype(np.uint64)
        self.seen[where] = bits
        self.frontier[where] = bits
        self.alive[:] = 0
        np.bitwise_or.at(self.alive, place // np.uint64(BITS), bits)
        self.level = 0
        if self.can_push and self.can_pull:
            self.pushed = int(self.out_degrees[sources].sum(dtype=np.int64))
            edges = sum(int(p.sum(dtype=np.int64)) for _, p in iter_parts(self.in_degrees))
            self.pulled = edges * int(np.count_nonzero(self.alive))

    def _push(self) -> None:
        active = self.engine.select(_active, self.frontier, self.alive)
        self._visit(active, _push_lists, "out")

    def _pull(self) -> None:
        missing = self.engine.select(_missing, self.seen, self.alive)
        self._visit(missing, _pull_lists, "in")

    def _visit(self, vertices: U32, kernel: Kernel, direction: Direction) -> None:
        words = (self.seen, self.frontier, self.coming, self.alive)
        n = np.uint64(self.engine.num_vertices)
        self.engine.traverse(vertices, kernel, *words, n, direction=direction, most=0)

    def _settle(self, sums: Array, counts: Array) -> None:
        rows = self.engine.map_ranges(
            _settle_range, self.seen, self.frontier, self.coming, self.alive, self.out_degrees,
            self.in_degrees, sums, counts, np.int64(self.level),
        )  # fmt: skip
        self.pushed = sum(row[0] for row in rows)
        self.pulled = sum(row[1] for row in rows)
        self.alive[:] = 0
        for row in rows:
            self.alive |= row[2]
        self.frontier, self.coming = self.coming, self.frontier


@helper
def _join(array, at, bits):  # type: ignore[no-untyped-def]
    """``array[at] |= bits``, atomically."""
    before = array[at]
    while before | bits != before:
        found = compare_and_swap(array, at, before, before | bits)
        if found == before:
            return
        before = found


@kernel
def _forget(begin, end, seen, frontier, coming):  # type: ignore[no-untyped-def]
    for at in range(np.uint64(begin), np.uint64(end)):
        seen[at] = 0
        frontier[at] = 0
        coming[at] = 0


@kernel
def _active(begin, end, chosen, frontier, alive):  # type: ignore[no-untyped-def]
    """The vertices of the frontier."""
    n = np.uint64(len(frontier) // len(alive))
    first, size = np.uint64(begin), np.uint64(end - begin)
    some = np.zeros(size, np.bool_)
    for plane in range(np.uint64(len(alive))):
        if alive[plane] != 0:
            for i in range(size):
                some[i] |= frontier[plane * n + first + i] != 0
    return _choose(some, first, chosen)


@kernel
def _missing(begin, end, chosen, seen, alive):  # type: ignore[no-untyped-def]
    """The vertices that miss a source which is under way."""
    n = np.uint64(len(seen) // len(alive))
    first, size = np.uint64(begin), np.uint64(end - begin)
    some = np.zeros(size, np.bool_)
    for plane in range(np.uint64(len(alive))):
        if alive[plane] != 0:
            for i in range(size):
                some[i] |= alive[plane] & ~seen[plane * n + first + i] != 0
    return _choose(some, first, chosen)


@helper
def _choose(some, first, chosen):  # type: ignore[no-untyped-def]
    count = np.uint64(0)
    for i in range(np.uint64(len(some))):
        chosen[count] = first + i
        count += np.uint64(some[i])
    return count


@kernel
def _push_lists(block, vertices, found, seen, frontier, coming, alive, n):  # type: ignore[no-untyped-def]
    """Vertices OR their word into their neighbours'."""
    offsets, neighbours = block.offsets, block.neighbours
    first, one = np.uint64(block.first), np.uint64(1)
    for plane in range(np.uint64(len(alive))):
        base = plane * n
        for i in range(np.uint64(len(vertices))):
            u = np.uint64(vertices[i])
            word = frontier[base + u]
            if word == 0:
                continue
            edge, end = np.uint64(offsets[u - first]), np.uint64(offsets[u - first + one])
            while edge < end:
                at = base + np.uint64(neighbours[edge])
                new = word & ~seen[at]
                if new != 0:
                    _join(coming, at, new)
                edge += one
    return 0


@kernel
def _pull_lists(block, vertices, found, seen, frontier, coming, alive, n):  # type: ignore[no-untyped-def]
    """Vertices take what they miss from their neighbours' words.

    A block of one vertex may be a part of its list, with others at work on other parts.
    """
    offsets, neighbours = block.offsets, block.neighbours
    first, one, whole = np.uint64(block.first), np.uint64(1), len(offsets) > 2
    for plane in range(np.uint64(len(alive))):
        base = plane * n
        for i in range(np.uint64(len(vertices))):
            v = np.uint64(vertices[i])
            wanted = alive[plane] & ~seen[base + v]
            if wanted == 0:
                continue
            missing = wanted
            edge, end = np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])
            while edge < end and missing != 0:
                missing &= ~frontier[base + np.uint64(neighbours[edge])]
                edge += one
            came = wanted & ~missing
            if came == 0:
                continue
            if whole:
                coming[base + v] = came
            else:
                _join(coming, base + v, came)
    return 0


@kernel
def _settle_range(begin, end, seen, frontier, coming, alive, outs, ins, sums, counts, level):  # type: ignore[no-untyped-def]
    """What came is seen, and counted; the frontier is emptied, to be what comes next.

    Edges of the new frontier, edges of vertices that miss a source which was under way, both added
    up over planes, and the bits of the new frontier in each plane.
    """
    n = np.uint64(len(seen) // len(alive))
    bits = np.zeros(len(alive), np.uint64)
    pushed, pulled, counted = np.int64(0), np.int64(0), len(outs) > 0
    for plane in range(np.uint64(len(alive))):
        if alive[plane] == 0:
            continue
        for v in range(np.uint64(begin), np.uint64(end)):
            at = plane * n + v
            frontier[at] = 0
            new = coming[at]
            if new != 0:
                seen[at] |= new
                bits[plane] |= new
                ones = count_ones(new)
                sums[v] += np.int64(ones) * level
                counts[v] += np.uint32(ones)
                if counted:
                    pushed += np.int64(outs[v])
            if counted and alive[plane] & ~seen[at] != 0:
                pulled += np.int64(ins[v])
    return pushed, pulled, bits

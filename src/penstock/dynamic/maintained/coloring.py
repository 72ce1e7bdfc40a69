"""A colouring that is kept while edges come and go."""

from __future__ import annotations

import time
from typing import Any, Literal, get_args

import numpy as np

from penstock.dynamic.changes import Changes
from penstock.dynamic.maintained import coloring_kernels as kernels
from penstock.dynamic.maintained.degrees import DegreeCounts
from penstock.dynamic.maintained.ordering import IdOrder
from penstock.dynamic.maintained.protocol import ByVertex, Sides, gather_both, pieces, read_only
from penstock.errors import OptionError
from penstock.types import I64, U32, Array

Priority = Literal["id", "degree", "random"]
#: Entries of lists that are copied at a time.
LIST_ENTRIES = 1 << 24


class MaintainedColoring:
    """Colours from 0 (int32): the ends of every edge have different ones; directions, parallel
    edges and loops make no difference.

    Each vertex has a priority: the smaller id is higher; or the larger degree (edges in and out as
    they are stored, after the batch); or a random number, which the seed and the id determine. Ties
    go to the smaller id, so that at any moment priorities are a total order.

    *Start*: vertices take their turns in the order of priority, each with the smallest colour that
    no neighbour has yet. This is the greedy colouring of ``ps.color`` in that order.

    *Insertion*: if both ends have the same colour, the one of lower priority takes the smallest
    colour that none of its neighbours has, of whatever priority. So a repair never makes another
    conflict. A new vertex has colour 0 before its first edges are looked at.

    *Deletion*: colours stay, even if fewer are needed now.

    *A batch*: all conflicts are found on the graph after it. The lower ends of conflicts have turns
    in the order of priority, and one that still has the colour of a neighbour of higher priority
    takes a new one. The order of edges in the batch makes no difference; a batch of one edge is the
    rule above. The visitor queue follows the same rule (``distributed.color_repair``), with
    priority by id: the same batches give the same colours.

    Why this ends with a proper colouring: a repaired vertex differs from all its neighbours, so the
    only conflicts ever there are those of the beginning, each known to its lower end. That has one
    turn, after that of the higher end (the order is total), and after it the conflict is gone.
    Nothing depends on priorities of earlier batches: they may change with degrees.

    Price: a look at each new edge, and the lists of the lower ends of conflicts. 21 bytes a vertex
    (29 if random), and copies of lists of at most 64 MB, or the longest.

    Iwabuchi's thesis, section 4.8.2, as ``docs/design/0021-colouring.md`` reads it; Sallinen,
    Iwabuchi, Poudel, Gokhale, Ripeanu, Pearce: "Graph colouring as a challenge problem
    for dynamic graph processing on distributed systems", SC 2016.
    """

    name = "color"

    def __init__(self, sides: Sides, priority: Priority, seed: int) -> None:
        if priority not in get_args(Priority):
            raise OptionError(
                f"color: priority: expected {', '.join(get_args(Priority))}; got {priority!r}"
            )
        if not 0 <= seed < 1 << 64:
            raise OptionError(f"color: seed: expected 0 to 2**64 - 1; got {seed}")
        self._sides = sides
        self._lists = sides.both(self.name)
        self.priority, self.seed = priority, seed
        self._colours = ByVertex(np.int32, -1)
        self._marks = ByVertex(np.uint8)
        self._order = IdOrder(sides.ids_by_vid)
        self._degrees = DegreeCounts(sides, "both")
        self._random = ByVertex(np.uint64)
        #: How many vertices have each colour.
        self._uses: I64 = np.zeros(1, np.int64)
        self.facts: dict[str, Any] = {}

    def start(self) -> None:
        """Colour the graph as it is, greedily."""
        began = time.perf_counter()
        n = self._sides.num_vertices
        self._colours.reset(n)
        self._uses[:] = 0
        self._degrees.start()
        self._grow(n)
        everything: U32 = np.arange(n, dtype=np.uint32)
        self._tell(began, n, self._take_turns(everything))

    def update(self, changes: Changes) -> None:
        """Repair the conflicts that a batch made."""
        began = time.perf_counter()
        old, n = len(self._colours.now), changes.num_vertices
        colours = self._colours.grow(n)
        colours[old:] = 0
        self._uses[0] += n - old
        self._degrees.update(changes)
        self._grow(n)
        src, dst = changes.added_src, changes.added_dst
        losers: U32 = np.empty(min(len(src), n), np.uint32)
        found = kernels.find_losers(src, dst, colours, *self._priorities(), self._marks.now, losers)
        self._tell(began, len(src) + found, self._take_turns(losers[:found]))

    def _grow(self, n: int) -> None:
        """Know the priorities of new vertices."""
        self._marks.grow(n)
        self._order.grow(n)
        if self.priority != "random":
            return
        old = len(self._random.now)
        numbers, ids = self._random.grow(n)[old:], self._order.ids[old:]
        if ids.dtype.kind in "iu":
            kernels.scramble(ids, np.uint64(self.seed), numbers)
        else:
            from xxhash import xxh64_intdigest

            numbers[:] = [xxh64_intdigest(each.encode(), self.seed) for each in ids.tolist()]

    def _priorities(self) -> tuple[Array, Array]:
        """What decides, larger first; and what decides ties, smaller first."""
        keys = self._order.keys
        if self.priority == "degree":
            return self._degrees.now, keys
        if self.priority == "random":
            return self._random.now, keys
        return np.broadcast_to(np.uint8(0), len(keys)), keys

    def _take_turns(self, vertices: U32) -> int:
        """Give some vertices their turns in the order of priority; how many got a new colour."""
        first, keys = self._priorities()
        order = np.argsort(keys[vertices])
        if self.priority != "id":
            decides = first[vertices[order]].astype(np.uint64)
            order = order[np.argsort(~decides, kind="stable")]
        vertices = vertices[order]
        recoloured = 0
        for piece in pieces(self._degrees.now[vertices], LIST_ENTRIES):
            some = vertices[piece]
            # A new colour is the smallest one that is free: each turn adds at most one to them.
            most = len(self._uses) + len(some)
            self._uses = np.append(self._uses, np.zeros(len(some), np.int64))
            recoloured += kernels.recolour(
                some, *gather_both(self._lists, some), self._colours.now, first, keys,
                np.zeros(most, np.int32), self._uses,
            )  # fmt: skip
            self._uses = self._uses[: self._colors() + 1].copy()
        return recoloured

    def _colors(self) -> int:
        """The highest colour in use, and one."""
        used = np.flatnonzero(self._uses)
        return int(used[-1]) + 1 if len(used) else 0

    def _tell(self, began: float, touched: int, recoloured: int) -> None:
        self.facts = {
            "seconds": time.perf_counter() - began,
            "touched": touched,
            "recoloured": recoloured,
            "colors": self._colors(),
        }

    @property
    def values(self) -> Array:
        """Colours by vertex number."""
        return read_only(self._colours.now)

    @property
    def columns(self) -> dict[str, Array]:
        """There are none."""
        return {}


def make(sides: Sides, priority: Priority = "id", seed: int = 0) -> MaintainedColoring:
    """A colouring of a live graph, with priorities by "id", "degree" or "random"."""
    return MaintainedColoring(sides, priority, seed)

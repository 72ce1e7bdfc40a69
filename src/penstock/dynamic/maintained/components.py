"""Connected components that are kept while edges come and go."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock.dynamic.changes import Changes
from penstock.dynamic.maintained import component_kernels as kernels
from penstock.dynamic.maintained.ordering import IdOrder
from penstock.dynamic.maintained.protocol import ByVertex, Sides, pieces, read_only
from penstock.dynamic.maintained.trees import TreeSearch
from penstock.types import I64, NO_VERTEX, U32, Array

#: Entries of lists that are looked at at a time to start with.
LIST_ENTRIES = 1 << 24
#: Labels that are written after a batch. If there are more, all are, when they are read.
RENAMED_AT_ONCE = 1 << 16
#: A search of trees that goes on for more turns than so many, and one for each ``2**TURN_BITS``
#: vertices, takes longer than to start again.
LEAST_TURNS, TURN_BITS = 256, 11
#: Names and dtypes of the state of :mod:`component_kernels`, in the order of its kernels.
FOREST = {
    "parents": np.uint32, "comps": np.uint32, "after": np.uint32,
    "ahead": np.uint32, "sizes": np.uint32, "roots": np.uint32, "least": np.uint32,
    "free": np.uint32,
}  # fmt: skip
#: Those of which a new vertex has its own number.
OWN = ("comps", "after", "ahead", "roots", "least")


class MaintainedComponents:
    """The smallest of the users' ids in the component of each vertex, as ``connected_components``
    of the library gives it; of a directed graph the weak components. Parallel edges and loops make
    no difference.

    Exact after every batch. A spanning forest is kept.

    *Insertion* of an edge between two components: the smaller one is turned so that the end of the
    edge is its root, and hung under the other end. Other edges cost a look.

    *Deletion* of an edge of the forest: the lower end becomes a child of a neighbour outside its
    own tree, if it has one. Else the tree is searched for an edge that leads out, and if it is
    long, at the same time the rest of the component, in turns of growing length. What is searched
    to its end without one is a component of its own. Other edges cost a look.

    Price: a batch costs its edges, the lists of lower ends, and the lists of the smaller side where
    that had to be searched. If trees are so deep that there would be thousands of turns, everything
    starts again instead (``facts["restarted"]``). Reading is free, but after a batch that changed
    the smallest id of a component much larger than what was joined to it or split from it: then the
    first look at the values goes over all vertices once. 52 bytes a vertex, and copies of the lists
    that are searched.
    """

    name = "connected_components"

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._lists = sides.both(self.name)
        self._order = IdOrder(sides.ids_by_vid)
        self._forest = {
            name: ByVertex(dtype, NO_VERTEX if name == "parents" else 0)
            for name, dtype in FOREST.items()
        }
        self._marks = ByVertex(np.uint32)
        self._tallies: I64 = np.zeros(3, np.int64)
        self._values = ByVertex(np.uint64)
        self._is_stale = False
        self.facts: dict[str, Any] = {}

    def start(self) -> None:
        """Join the ends of every edge there is."""
        began = time.perf_counter()
        for array in self._forest.values():
            array.reset(0)
        self._tallies[:] = 0
        self._add_vertices(0, self._sides.num_vertices)
        joined = 0
        for side in self._lists:
            vertices: U32 = np.arange(side.num_vertices, dtype=np.uint32)
            for piece in pieces(side.degrees(), LIST_ENTRIES):
                offsets, neighbours, _ = side.gather(vertices[piece])
                src = np.repeat(vertices[piece], np.diff(offsets))
                joined += self._link(src, neighbours)[0]
        self._is_stale = True
        self._tell(began, self._sides.num_vertices, joined=joined)

    def update(self, changes: Changes) -> None:
        """Follow a batch: first what went, then what came."""
        began = time.perf_counter()
        self._add_vertices(len(self._marks.now), changes.num_vertices)
        renamed: U32 = np.empty(RENAMED_AT_ONCE, np.uint32)
        self._tallies[kernels.RENAMED] = 0
        found = self._cut(changes.removed_src, changes.removed_dst, renamed)
        if found is None:
            self.start()
            self.facts |= {"seconds": time.perf_counter() - began, "restarted": True}
            return
        cut, searched, split = found
        joined, moved = self._link(changes.added_src, changes.added_dst, renamed)
        self._name(renamed)
        rows = len(changes.added_src) + len(changes.removed_src)
        self._tell(began, rows + searched + moved, joined=joined, cut=cut, split=split)

    def _add_vertices(self, old: int, n: int) -> None:
        """Give each new vertex a component of its own."""
        self._order.grow(n)
        self._marks.grow(n)
        for name, array in self._forest.items():
            new = array.grow(n)[old:]
            if name in OWN:
                new[:] = np.arange(old, n)
            elif name == "sizes":
                new[:] = 1
        self._tallies[kernels.COMPONENTS] += n - old
        if self._values.now.dtype != self._order.ids.dtype:
            self._values = ByVertex(self._order.ids.dtype)
        before = len(self._values.now)
        self._values.grow(n)[before:] = self._order.ids[before:]

    def _arrays(self) -> tuple[Array, ...]:
        return tuple(array.now for array in self._forest.values())

    def _link(self, src: U32, dst: U32, renamed: U32 | None = None) -> tuple[int, int]:
        room = np.empty(0, np.uint32) if renamed is None else renamed
        if not len(src):
            return 0, 0
        found: tuple[int, int] = kernels.link(
            src, dst, self._order.keys, room, self._tallies, *self._arrays()
        )
        return found

    def _cut(self, src: U32, dst: U32, renamed: U32) -> tuple[int, int, int] | None:
        """Take edges away. Edges of the forest among them, vertices looked at, and components that
        were split off; None if it is better to start again.
        """
        forest = {name: array.now for name, array in self._forest.items()}
        orphans: U32 = np.empty(min(len(src), len(self._marks.now)), np.uint32)
        cut = kernels.cut(src, dst, forest["parents"], orphans)
        if not cut:
            return 0, 0, 0
        most_turns = LEAST_TURNS + (len(self._marks.now) >> TURN_BITS)
        search = TreeSearch(orphans[:cut], self._lists, forest, self._marks.now, most_turns)
        apart = search.run()
        if apart is None:
            return None
        kernels.split(*apart, self._order.keys, renamed, self._tallies, *list(forest.values())[1:])
        return cut, search.looked_at, len(apart.roots)

    def _name(self, renamed: U32) -> None:
        """Write the labels that are others now, or leave that to who reads them."""
        count = int(self._tallies[kernels.RENAMED])
        if self._is_stale or count > len(renamed):
            self._is_stale = True
            return
        some = renamed[:count]
        comps, least = self._forest["comps"].now, self._forest["least"].now
        self._values.now[some] = self._order.ids[least[comps[some]]]

    def _tell(self, began: float, touched: int, **more: int) -> None:
        components = int(self._tallies[kernels.COMPONENTS])
        seconds = time.perf_counter() - began
        self.facts = {"seconds": seconds, "touched": touched, "components": components, **more}

    @property
    def values(self) -> Array:
        """Labels by vertex number."""
        if self._is_stale:
            comps, least = self._forest["comps"].now, self._forest["least"].now
            least[:] = NO_VERTEX
            kernels.find_least(self._order.keys, comps, least)
            for begin in range(0, len(comps), 1 << 20):
                part = slice(begin, begin + (1 << 20))
                self._values.now[part] = self._order.ids[least[comps[part]]]
            self._is_stale = False
        return read_only(self._values.now)

    @property
    def columns(self) -> dict[str, Array]:
        """There are none."""
        return {}


def make(sides: Sides) -> MaintainedComponents:
    """The (weakly) connected components of a live graph."""
    return MaintainedComponents(sides)

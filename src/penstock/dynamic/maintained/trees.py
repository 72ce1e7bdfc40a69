"""Joining the trees again that a forest fell into, or finding out that they are apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.arrays import distinct
from penstock.dynamic.changes import LiveSide
from penstock.dynamic.maintained import component_kernels as kernels
from penstock.dynamic.maintained.protocol import gather_both
from penstock.types import I64, U32, Array

#: Vertices of a tree that may be looked at in its first turn; later turns double what there is. A
#: tree with more is long.
FIRST_TURN = 512


class Apart(NamedTuple):
    """Trees that no edge leads out of: their roots, and their vertices one tree after another."""

    roots: U32
    at: I64
    members: U32


class TreeSearch:
    """Components that lost edges of their forest: each is some trees, those of orphans and that of
    the root it had.

    Every orphan first looks for a new parent among its neighbours, in another tree of the
    component. Then trees without are searched from their roots downwards, in turns, for an edge to
    another tree; where there is one, the tree is turned and hung under it. The tree of the old root
    is searched only if another turns out to be long. The search of a component ends when all its
    trees but one are searched to their ends, or are joined. So the price is a small multiple of the
    second largest tree that is apart, or less.
    """

    def __init__(
        self,
        orphans: U32,
        lists: tuple[LiveSide, ...],
        forest: dict[str, Array],
        stamps: U32,
        most_turns: int,
    ) -> None:
        self._orphans, self._lists, self._forest = orphans, lists, forest
        self._stamps, self._most_turns = stamps, most_turns
        #: Components, and the place among them of that of each tree; tree 0 is none.
        homes = forest["comps"][orphans]
        self._parts = distinct(homes)
        places = np.searchsorted(self._parts, homes)
        self._home_of = np.concatenate(([0], places, np.arange(len(self._parts))))
        self._main = len(orphans) + 1
        self._roots: U32 = np.concatenate(([0], orphans, forest["roots"][self._parts])).astype(
            np.uint32
        )
        self._trees: U32 = np.arange(len(self._roots), dtype=np.uint32)
        self._groups: U32 = self._trees.copy()
        #: How many, then those vertices that have stamps.
        self._stamped: U32 = np.empty(len(stamps) + 1, np.uint32)
        self._stamped[0] = len(self._roots) - 1
        self._stamped[1 : len(self._roots)] = self._roots[1:]
        stamps[self._roots[1:]] = self._trees[1:]
        self.looked_at = len(orphans)

    def run(self) -> Apart | None:
        """Join what can be joined. The trees that are apart from the one that keeps the number of
        the component, whose root is set; None if there were too many turns (then the forest is one
        of smaller trees, but nothing else is changed).
        """
        kernels.adopt(
            self._orphans, *gather_both(self._lists, self._orphans), self._forest["parents"],
            self._forest["comps"], self._stamps, self._stamped, self._groups,
        )  # fmt: skip
        found = self._search()
        kernels.forget(self._stamped, self._stamps)
        return found

    def _search(self) -> Apart | None:
        is_main = self._trees >= self._main
        tops = self._flatten()
        if (is_main[tops] | (self._trees == 0)).all():
            return Apart(self._roots[:0], np.zeros(1, np.int64), self._roots[:0])
        looked_at: I64 = np.zeros(len(self._trees), np.int64)
        begun = ~is_main
        queue = _Queue(len(self._stamps))
        queue.add(self._roots[1 : self._main], self._trees[1 : self._main])
        self._stamps[self._orphans] |= kernels.VISITED
        for _ in range(self._most_turns):
            is_top = tops == self._trees
            waiting = np.bincount(tops[queue.trees], minlength=len(tops))
            going_on = is_top & ((waiting > 0) | ~begun)
            going_on[0] = False
            per_part = np.bincount(self._home_of[going_on], minlength=len(self._parts))
            active = going_on & (per_part > 1)[self._home_of]
            if not active.any():
                return self._end(tops, going_on, queue)
            longest = np.zeros(len(self._parts), np.int64)
            np.maximum.at(longest, self._home_of[active], looked_at[active])
            late = np.flatnonzero(active & ~begun & (longest[self._home_of] >= FIRST_TURN))
            begun[late] = True
            queue.add(self._roots[late], self._trees[late])
            self._stamps[self._roots[late]] |= kernels.VISITED
            some, trees = queue.take((active & begun)[tops], tops, looked_at)
            looked_at += np.bincount(tops[trees], minlength=len(tops))
            self._look(some, trees, queue)
            joined, tops = tops, self._flatten()
            moved = np.flatnonzero(joined != tops)
            np.add.at(looked_at, tops[moved], looked_at[moved])
        return None

    def _look(self, some: U32, trees: U32, queue: _Queue) -> None:
        count = kernels.look(
            some, trees, *gather_both(self._lists, some), self._main, self._forest["parents"],
            self._forest["comps"], self._stamps, self._stamped, self._groups, queue.found,
            queue.of, queue.count,
        )  # fmt: skip
        queue.extend(count)
        self.looked_at += len(some)

    def _flatten(self) -> U32:
        tops: U32 = np.empty(len(self._groups), np.uint32)
        kernels.flatten(self._groups, tops)
        return tops

    def _end(self, tops: U32, going_on: Array, queue: _Queue) -> Apart:
        standing = np.flatnonzero(going_on[: self._main])
        roots = self._roots[standing]
        self._forest["roots"][self._forest["comps"][roots]] = roots
        apart = (tops == self._trees) & ~going_on
        apart[0] = False
        vertices, trees = queue.found[: queue.count], queue.of[: queue.count]
        keep = apart[tops[trees]]
        vertices, trees = vertices[keep], tops[trees[keep]]
        order = np.argsort(trees, kind="stable")
        number = np.flatnonzero(apart)
        at = np.searchsorted(trees[order], np.append(number, len(tops))).astype(np.int64)
        return Apart(self._roots[number], at, vertices[order])


class _Queue:
    """Vertices that were found, with their trees; and of these those still to be looked at."""

    def __init__(self, most: int) -> None:
        self.found: U32 = np.empty(most, np.uint32)
        self.of: U32 = np.empty(most, np.uint32)
        self.count = 0
        self.vertices, self.trees = self.found[:0], self.of[:0]

    def add(self, vertices: U32, trees: U32) -> None:
        """Put vertices into it."""
        count = self.count + len(vertices)
        self.found[self.count : count], self.of[self.count : count] = vertices, trees
        self.extend(count)

    def extend(self, count: int) -> None:
        """So many are found now."""
        new = slice(self.count, count)
        self.vertices = np.concatenate((self.vertices, self.found[new]))
        self.trees = np.concatenate((self.trees, self.of[new]))
        self.count = count

    def take(self, active: Array, tops: U32, looked_at: I64) -> tuple[U32, U32]:
        """What is looked at next of each group of trees that is active: what came first."""
        groups = tops[self.trees]
        order = np.argsort(groups, kind="stable")
        groups = groups[order]
        place = np.arange(len(groups)) - np.searchsorted(groups, groups)
        now = active[groups] & (place < np.maximum(FIRST_TURN, looked_at)[groups])
        chosen, rest = order[now], order[~now]
        some = self.vertices[chosen], self.trees[chosen]
        self.vertices, self.trees = self.vertices[rest], self.trees[rest]
        return some

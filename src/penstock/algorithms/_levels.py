"""The search behind BFS and neighbourhoods: levels and parents, level by level, from one vertex or
several.

Top-down, the frontier's out-lists are read, and each unvisited neighbour takes the smallest vertex
that offers itself as parent. Bottom-up, where in-lists exist, each unvisited vertex looks for its
first visited neighbour, which is of the frontier: those above it have no unvisited neighbours.
Lists are sorted, so the first is the smallest and the rest of the list need not be read; if they
have no order at all, as in a graph that changes, the first will do.
``_direction`` chooses between the two. Small levels in memory are found top-down by one thread,
many in one call.

State, between two levels; ``level`` is that of the frontier, and bit v % 64 of word v // 64 stands
for vertex v:

- ``levels`` int32: the level of each vertex, -1 if it is not reached yet
- ``parents`` uint32: the smallest neighbour one level above, ``NO_VERTEX`` if it is not reached yet
- ``visited`` uint64 words: the vertices that are reached, and the bits after the last vertex
- ``frontier_bits`` uint64 words: the vertices of the frontier, if ``frontier`` is None; else
  anything
- ``next_bits`` uint64 words: anything in memory, where bottom-up writes all words that matter; no
  bit on a stream, where vertices found are added
- ``frontier`` uint32: the vertices of the frontier in any order, or None if ``frontier_bits`` says
  which they are; in memory a part of ``queue``, with room behind it for all that are not reached

While a level is found, ``visited`` stays as it is.

Repeating: level k may be repeated once all vertices of levels k and above, and those without a
level, are again as at the beginning: level -1, parent ``NO_VERTEX``, not visited.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.algorithms import _direction
from penstock.algorithms import _level_steps as steps
from penstock.algorithms import _level_tiers as tiers
from penstock.algorithms._direction import Mode, Thresholds, choose_by_cost, choose_streamed
from penstock.algorithms._level_state import I32, Search
from penstock.algorithms._sources import source_identity
from penstock.engine.checkpoint_file import within
from penstock.engine.engine import Engine
from penstock.engine.recovery import Recovery
from penstock.types import NO_VERTEX, U32, VID, Direction


def search_levels(
    engine: Engine,
    sources: U32 | int,
    *,
    can_pull: bool,
    limit: int | None = None,
    directions: tuple[Direction, ...] = ("out",),
    thresholds: Thresholds | None = None,
    breakdown: bool = False,
    dual: bool = False,
) -> tuple[I32, U32]:
    """The level and the parent of each vertex, up to a level if there is a ``limit``; ``can_pull``:
    there are in-lists to use. ``directions``: the lists that edges are followed in, of a directed
    graph both if their direction is not to matter; then nothing is pulled. ``thresholds``: a rule
    that chooses the way instead of the usual one. ``breakdown``: count what becomes of each edge,
    a row for each level. ``dual``: of lists in tiers, top-down reads all.
    """
    begins: U32 = np.atleast_1d(np.asarray(sources, VID))
    search = Search(
        engine, can_pull=can_pull, directions=directions, thresholds=thresholds,
        breakdown=breakdown, dual=dual,
    )  # fmt: skip
    saved_arrays = {"levels": search.levels, "parents": search.parents}
    engine.options.progress.start("levels", None, "levels")
    identity = {"algorithm": "bfs", **source_identity(begins), "limit": limit}
    identity["directions"] = " ".join(directions)
    with Recovery(engine, identity) as recovery:
        last = engine.num_vertices - 1
        rules = {"levels": within(-1, last), "parents": within(0, last, NO_VERTEX)}
        saved = recovery.resume(saved_arrays, rules)
        if saved is None:
            steps.begin_at(search, begins)
        else:
            if saved[0] > len(search.levels):
                raise saved[1].wrong(f"its step is {saved[0]}")
            steps.restore(search, saved[0])
        while search.count and (limit is None or search.level < limit):
            search.mode = _choose(search)
            with engine.step(mode=search.mode, active=search.count) as row:
                left = len(search.levels) if limit is None else limit - search.level
                row |= _advance(search, left)
            engine.options.progress.advance(row.get("levels", 1) - 1)
            recovery.after(search.level, saved_arrays, {})
    search.free()
    return search.levels, search.parents


def _choose(search: Search) -> Mode:
    """Which way to find the next level."""
    if not search.can_pull:
        return "top-down"
    if search.thresholds is not None:
        return search.thresholds.choose(search.known())
    if search.tiered:
        return tiers.choose(search)
    return (choose_by_cost if search.resident else choose_streamed)(search.known())


def _advance(search: Search, left: int) -> dict[str, Any]:
    """Find a level, or some small ones of at most so many that are ``left``; what there is to say
    about it.
    """
    up = search.mode == "bottom-up"
    if search.tiered:
        return (tiers.pull if up else tiers.push)(search)
    if search.streamed:
        return (steps.pull_streamed if up else steps.push_streamed)(search)
    if not up and search.edges <= _direction.SMALL_EDGES:
        return steps.push_small(search, left)
    return (steps.pull if up else steps.push)(search)

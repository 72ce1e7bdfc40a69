"""What an expansion does with edges, and the kernels that do it.

An algorithm that goes from vertices to their neighbours says what to do with one edge, in compiled
functions (an :class:`Expansion`). The kernels here call them for every edge in question, over lists
 in memory or in blocks that were read, on one thread or on several.

``visit(u, v, edge, columns, step, state, alone)``: an edge leads from a vertex that is expanded, u,
to v. True if v is found by it: then v is among the vertices of the next frontier. If several
threads may be at it, one of them must get True, and the others not.

``look(v, u, place, left, step, state, alone)``: vertex v looks at its neighbour u, which is at a
place in its list, with ``left`` neighbours after it. It says ``MISSED``, ``FOUND`` (v is found, but
looks on) or ``ENOUGH`` (v is found, and does not look any further).

``fetch(v, state)`` begins to bring into the cache what ``visit`` needs of v.

``step`` is the number of the frontier that is being found. ``state`` is a named tuple of arrays;
if it takes part in a :class:`~penstock.engine.frontier.Frontier`, ``state.visited`` has a bit for
each vertex that has been in a frontier, and does not change while the next one is found. ``alone``:
no other thread is at work on v. ``edge`` and ``columns``: the place of the edge in each array of
the block's columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from penstock.engine.pull_kernels import MISSED, make_pull_kernels
from penstock.engine.push_kernels import make_push_kernels
from penstock.jit import Function, always_inline


@always_inline
def no_visit(u, v, edge, columns, step, state, alone):  # type: ignore[no-untyped-def]
    """For expansions that only look."""
    return False


@always_inline
def no_look(v, u, place, left, step, state, alone):  # type: ignore[no-untyped-def]
    """For expansions that only visit."""
    return MISSED


@always_inline
def no_fetch(v, state):  # type: ignore[no-untyped-def]
    """For state that is in the cache anyway."""


class Told(NamedTuple):
    """What ranks send to the owner of a vertex that they have found."""

    #: Fields of the state, arrays by vertex number.
    fields: tuple[str, ...]
    #: ``take(state, step, vertices, *values)``: another rank has found own vertices, too.
    take: Callable[..., None]


class Expansion(NamedTuple):
    """What to do with an edge; see the beginning of this file."""

    visit: Function = no_visit
    look: Function = no_look
    fetch: Function = no_fetch
    #: Whether ``visit`` is called for edges to visited vertices, too.
    every_edge: bool = False
    #: What ranks tell the owners of vertices that they find; None: it runs on one host only.
    told: Told | None = None


class Kernels(NamedTuple):
    """The kernels of an expansion."""

    push: Function
    push_steps: Function
    push_block: Function
    pull: Function
    pull_block: Function


@always_inline
def is_set(bits, v):  # type: ignore[no-untyped-def]
    """Whether vertex v (uint64) is in a set of bits."""
    return (bits[v >> np.uint64(6)] >> (v & np.uint64(63))) & np.uint64(1) != np.uint64(0)


@always_inline
def _is_visited(v, state):  # type: ignore[no-untyped-def]
    return is_set(state.visited, v)


@always_inline
def _never(v, state):  # type: ignore[no-untyped-def]
    return False


@cache
def kernels_of(expansion: Expansion) -> Kernels:
    """The kernels that call an expansion's functions."""
    visit, look, fetch, every_edge, _ = expansion
    passes_by = _never if every_edge else _is_visited
    push, push_steps, push_block = make_push_kernels(visit, fetch, passes_by)
    pull, pull_block = make_pull_kernels(look)
    return Kernels(push, push_steps, push_block, pull, pull_block)

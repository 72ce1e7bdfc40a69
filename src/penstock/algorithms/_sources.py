"""The vertices that traversals begin at."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from penstock.engine.algorithm import Task
from penstock.engine.counts import Counts, Selected
from penstock.errors import OptionError
from penstock.store.graph import Graph
from penstock.types import U32, VID

#: So many sources are spelled out where a checkpoint says what it is of.
SPELLED = 16


def sources_of(task: Task, source: Any, name: str = "source") -> U32:
    """The vertex numbers of what a user gives as sources: one vertex or several."""
    return task.vids(source, name)


def check_selected(source: Selected, name: str = "source") -> None:
    """Raise if a parameter names no vertex."""
    if source.count == 0:
        raise OptionError(f"{name}: expected a vertex or several, got none")


def check_k(counts: Counts, k: int | None) -> None:
    """Raise unless so many vertices can be chosen."""
    n = counts.num_vertices
    if k is not None and not 1 <= k <= n:
        raise OptionError(f"k: expected a number from 1 to {n:,} (the vertices), got {k}")


def all_or_some(graph: Graph, k: int | None, seed: int) -> U32:
    """All vertices, or ``k`` at random, ascending. Which ones depends on the ids and the seed, not
    on how the graph is stored.
    """
    n = graph.num_vertices
    if k is None:
        return np.arange(n, dtype=VID)
    ranks = np.random.default_rng(seed).choice(n, k, replace=False)
    order = graph.vid_of_rank
    return np.sort((ranks if order is None else order[ranks]).astype(VID))


def source_identity(sources: U32) -> dict[str, Any]:
    """The sources, as a checkpoint knows them."""
    if len(sources) <= SPELLED:
        return {"sources": sources.tolist()}
    return {"sources": f"{len(sources)} ({hashlib.sha256(sources.tobytes()).hexdigest()[:16]})"}


def check_count(value: Any, name: str) -> None:
    """Raise unless it is a whole number of 0 or more."""
    if not isinstance(value, int | np.integer) or value < 0:
        raise OptionError(f"{name}: expected a whole number of 0 or more, got {value!r}")

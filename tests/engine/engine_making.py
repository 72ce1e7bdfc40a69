"""Small graphs with many pages, and ways to run programs, for the tests of this folder."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.engine.counts import counts_of
from penstock.engine.execute import Outcome, execute, program_requirements
from penstock.engine.given import Numbers
from penstock.engine.options import RunOptions
from penstock.engine.plan import SPARE_BYTES
from penstock.engine.planning import plan_run
from penstock.engine.programs import Settings
from penstock.errors import BudgetError
from penstock.ingest import options as build_options
from penstock.program import Program
from penstock.store.graph import Graph

PAGE = 4096
#: Enough for everything that these tests do, if it may all be in memory.
PLENTY = 1 << 28


def edges(n: int = 4000, m: int = 14000, hubs: int = 2, seed: int = 1) -> tuple[Any, Any, Any]:
    """Random edges with hubs (lists longer than a page, both ways), loops, and vertices without."""
    rng = np.random.default_rng(seed)
    src = rng.integers(0, n, m)
    dst = rng.integers(0, n, m)
    parts = [(src, dst)]
    for hub in range(hubs):
        spokes = rng.permutation(n)[: n * 9 // 10]
        parts += [(np.full(len(spokes), 7 + hub), spokes), (spokes, np.full(len(spokes), 11 + hub))]
    src, dst = (np.concatenate(each) for each in zip(*parts, strict=True))
    keep = (src % 7 != 3) & (dst % 7 != 3)  # these have no edges
    src, dst = src[keep], dst[keep]
    weights = rng.integers(1, 20, len(src)).astype(np.int32)
    return src, dst, weights


def build(
    path: Path | None,
    *,
    page: int = PAGE,
    weighted: bool = False,
    given: Any = None,
    **options: Any,
) -> Graph:
    """A graph with pages smaller than users can have."""
    src, dst, weights = edges() if given is None else given
    if given is None:
        options.setdefault("num_vertices", 7000)  # the last ones are alone
    arrays = (src, dst, weights) if weighted else (src, dst)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_options, "MIN_PAGE_BYTES", page)
        if path is None:
            return ps.from_edges(*arrays, **options)
        options.setdefault("memory", "256MB")
        return ps.build(arrays, path, weights=weighted, page_size=page, **options)


def options(**given: Any) -> RunOptions:
    """Options, without the least budget that users must give."""
    return RunOptions(**{"memory": PLENTY, "threads": 2, **given})


def run(
    graph: Graph, program: Program, *, how: Mapping[str, Any] | None = None, **given: Any
) -> Outcome:
    """Run a program; ``how`` are the options, the rest are settings."""
    settings = Settings(**{"params": {}, "max_iter": 100, **given})
    held = {k: v.held_bytes for k, v in settings.fixed.items() if isinstance(v, Numbers)}
    requirements = program_requirements(
        counts_of(graph), program, passes=1.0, params=settings.params, given=held,
        mode=settings.mode, strategy=settings.strategy,
    )  # fmt: skip
    chosen = options(**(how or {}))
    return execute(graph, plan_run(graph, requirements, chosen), settings, chosen)


def values(graph: Graph, program: Program, **given: Any) -> Any:
    """The values of the first field."""
    outcome = run(graph, program, **given)
    return outcome.values[next(iter(program.state))]


# What they must come to, by NumPy: once for each graph, not to be changed


def arcs(graph: Graph, *columns: str) -> tuple[Any, ...]:
    """Every arc as vids, and its columns; an undirected edge is two."""
    parts = [(s, d, *(c[name] for name in columns)) for s, d, c in graph.iter_edges()]
    none = (np.empty(0, np.uint32), np.empty(0, np.uint32), *(np.empty(0) for _ in columns))
    src, dst, *rest = (np.concatenate(each) for each in zip(none, *parts, strict=True))
    if graph.directed:
        return (src, dst, *rest)
    twice = src != dst
    more = [np.concatenate([each, each[twice]]) for each in rest]
    return (np.concatenate([src, dst[twice]]), np.concatenate([dst, src[twice]]), *more)


@cache
def ranks(graph: Graph, iterations: int) -> Any:
    """What the rank program computes."""
    src, dst = arcs(graph)
    n = graph.num_vertices
    degrees = np.bincount(src, minlength=n)
    rank, lost = np.full(n, 1 / max(n, 1)), 0.0
    for _ in range(iterations):
        share = rank / np.maximum(degrees, 1)
        came = np.bincount(dst, weights=share[src], minlength=n)
        rank = 0.15 / n + 0.85 * (came + lost / n) if n else rank
        lost = rank[degrees == 0].sum()
    return rank


@cache
def labels(graph: Graph) -> Any:
    """What the label program computes."""
    src, dst = arcs(graph)
    label = graph.ids_by_vid().argsort().argsort().astype(np.uint32)
    while True:
        new = label.copy()
        np.minimum.at(new, dst, label[src])
        if (new == label).all():
            return label
        label = new


@cache
def distances(graph: Graph, source: int) -> Any:
    """What the path program computes; ``source`` is the index of an id."""
    src, dst, weight = arcs(graph, "weight")
    far = np.full(graph.num_vertices, np.inf)
    far[graph.ids_by_vid().argsort()[source]] = 0.0
    while True:
        new = far.copy()
        np.minimum.at(new, dst, far[src] + weight)
        if (new == far).all():
            return far
        far = new


def budgets(graph: Graph, program: Program, **given: Any) -> dict[str, int]:
    """The least budget that leads to each tier of state, within some kB; "ranges" has 3 or more."""
    found: dict[str, int] = {}
    for memory in range(SPARE_BYTES + 2048, SPARE_BYTES + (4 << 20), 4096):
        try:
            plan = run(graph, program, max_iter=0, how={"memory": memory, "load": False}, **given)
        except BudgetError:
            continue
        tier = plan.engine.plan.state
        if tier == "ranges" and plan.engine.plan.ranges > 6:
            continue
        found.setdefault(tier, memory)
        if tier == "memory":
            break
    return found


def resources() -> set[str]:
    """The threads of this process and the files that it has open."""
    found = {thread.name for thread in threading.enumerate()}
    for fd in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{fd}"))
    return found

"""Small graphs that change, as versions of which views are made, and the same edges as a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.dynamic.base import BaseLists
from penstock.dynamic.id_order import order_ids
from penstock.dynamic.layers import FrozenSide
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.merge import MergedSide
from penstock.dynamic.view import LiveView, Version
from penstock.dynamic.view_lists import Side
from penstock.ingest import options as build_options
from penstock.store import grouping
from penstock.store.kept import Kept
from penstock.store.layout import Column
from penstock.store.source import Description

WEIGHT = Column("weight", np.dtype("float64"))


class Ids:
    """Ids by vertex number, put in order once."""

    def __init__(self, by_vid: Any) -> None:
        self.by_vid = np.asarray(by_vid)
        self.kind = "string" if self.by_vid.dtype == object else "int"
        self.kept = Kept()
        self._order: Any = None

    def in_order(self) -> Any:
        if self._order is None:
            self._order = order_ids(self.by_vid)
        return self._order


class Changing:
    """Edges of vertex numbers that come and go: a weight each, no parallel ones. ``ids`` are the
    users' ids by vertex number; all vertices are there from the beginning, but for ``late`` ones
    that come when it is frozen.
    """

    def __init__(
        self, ids: Any, *, directed: bool, base: ps.Graph | None = None, threads: int = 2,
        late: int = 0,
    ) -> None:  # fmt: skip
        self.ids, self.directed = Ids(ids), directed
        self.sides: dict[Any, MergedSide] = {}
        for direction in ("out", "in") if directed else ("out",):
            under = None if base is None else BaseLists(base, direction, threads)
            side = MergedSide(under, DegreeAwareLists([WEIGHT], threads=threads))
            side.grow(len(self.ids.by_vid) - late)
            self.sides[direction] = side
        #: What should be there: weights by pair, the smaller end first if undirected.
        self.edges: dict[tuple[int, int], float] = {}
        self.version = 1

    def _key(self, u: int, v: int) -> tuple[int, int]:
        return (u, v) if self.directed or u <= v else (v, u)

    def change(self, src: Any, dst: Any, adds: Any, weights: Any) -> None:
        """One batch of rows."""
        src, dst = np.asarray(src, np.uint32), np.asarray(dst, np.uint32)
        adds, weights = np.asarray(adds, np.uint8), np.asarray(weights, np.float64)
        for u, v, add, weight in zip(
            *map(np.ndarray.tolist, (src, dst, adds, weights)), strict=True
        ):
            if add:
                self.edges[self._key(u, v)] = weight
            else:
                self.edges.pop(self._key(u, v), None)
        if self.directed:
            self.sides["out"].apply(src, dst, adds, [weights])
            self.sides["in"].apply(dst, src, adds, [weights])
        else:
            loop = src == dst
            both = [np.stack(pair, 1)[~loop].ravel() for pair in ((src, dst), (dst, src))]
            twice = [np.repeat(each[~loop], 2) for each in (adds, weights)]
            # A loop stands in one list, once.
            a = [np.concatenate([x, src[loop]]) for x in both]
            b = [np.concatenate([x, y[loop]]) for x, y in zip(twice, (adds, weights), strict=True)]
            self.sides["out"].apply(a[0], a[1], b[0], [b[1]])
        self.version += 1

    def freeze(self) -> None:
        """As a compaction does when it begins: changes go above those that there are."""
        for direction, side in self.sides.items():
            above = MergedSide(FrozenSide(side, 2), DegreeAwareLists([WEIGHT], threads=2))
            above.grow(len(self.ids.by_vid))
            self.sides[direction] = above

    def as_version(self) -> Version:
        """What it is now."""
        described = Description(
            len(self.ids.by_vid), len(self.edges), self.directed, columns=(WEIGHT,),
            weight="weight", id_kind=self.ids.kind, tag=self.version,
        )  # fmt: skip
        sides = {direction: Side.of(side) for direction, side in self.sides.items()}
        return Version(described, self.ids, sides)

    def view(self) -> LiveView:
        """A view of it."""
        return LiveView(self.as_version())

    def as_graph(self, **options: Any) -> ps.Graph:
        """The same edges as a graph that does not change; ids are 0 to n - 1 in some order."""
        ids = self.ids.by_vid
        pairs = np.array(sorted(self.edges), np.int64).reshape(-1, 2)
        weights = np.array([self.edges[pair] for pair in sorted(self.edges)], np.float64)
        return ps.from_edges(
            ids[pairs[:, 0]], ids[pairs[:, 1]], weights, directed=self.directed,
            num_vertices=len(ids), **options,
        )  # fmt: skip


def some_batches(n: int = 130, seed: int = 3) -> list[tuple[Any, ...]]:
    """Batches with a hub, loops, edges that are added twice, deleted, and added again; the last
    vertices have none.
    """
    rng = np.random.default_rng(seed)
    batches = []
    for k in range(4):
        rows = 260
        src, dst = rng.integers(0, n - 9, rows), rng.integers(0, n - 9, rows) % (20 + 30 * k)
        src[:70] = 5 if k < 2 else src[:70]
        adds = rng.random(rows) < (1.0, 0.8, 0.6, 0.7)[k]
        batches.append((src, dst, adds, rng.integers(1, 20, rows).astype(float)))
    return batches


def made(
    *, directed: bool, ids: Any = None, n: int = 130, seed: int = 3, late: int = 0
) -> Changing:
    """A graph after some batches. ``ids``: ascending with the vertex numbers unless given."""
    live = Changing(np.arange(n) if ids is None else ids, directed=directed, late=late)
    for batch in some_batches(n, seed):
        live.change(*batch)
    return live


def made_on_base(path: Path | None, *, directed: bool, n: int = 130, late: int = 0) -> Changing:
    """The same on a base with the first vertices, of which lists are longer than a page if there is
    a path.
    """
    rng = np.random.default_rng(8)
    known = n - 20
    hub = rng.permutation(known) if path is None else np.arange(known)
    src = np.concatenate([rng.integers(0, known, 500), np.full(known, 3)])
    dst = np.concatenate([rng.integers(0, known, 500), hub])
    weight = rng.integers(1, 20, len(src)).astype(float)
    arrays = (np.append(src, known - 1), np.append(dst, known - 1), np.append(weight, 1.0))
    options: dict[str, Any] = {"directed": directed, "vertex_order": "none"}
    if path is None:
        base = ps.from_edges(*arrays, num_vertices=known, **options)
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(build_options, "MIN_PAGE_BYTES", 4096)
            base = ps.build(
                arrays, path, weights=True, page_size=4096, memory="64MB",
                num_vertices=known, **options,
            )  # fmt: skip
    live = Changing(np.arange(n), directed=directed, base=base, late=late)
    for u, v, weight in zip(*(each.tolist() for each in base.to_edges()), strict=True):
        live.edges[live._key(u, v)] = weight
    for batch in some_batches(n):
        live.change(*batch)
    return live


def made_frozen(path: Path | None, *, directed: bool, based: bool, n: int = 130) -> Changing:
    """A graph that was frozen twice, with changes above that touch those below. What was frozen
    first has fewer vertices.
    """
    if based:
        live = made_on_base(path, directed=directed, n=n, late=4)
    else:
        live = made(directed=directed, n=n, late=4)
    for seed in (21, 22):
        live.freeze()
        for batch in some_batches(n, seed)[2:]:
            live.change(*batch)
        pairs = np.array(sorted(live.edges))[seed::5]
        adds = np.arange(len(pairs)) % 3 == 0
        live.change(pairs[:, 0], pairs[:, 1], adds, np.full(len(pairs), float(seed)))
        live.change([n - 1, n - 2, 3], [4, n - 3, n - 2], [1, 1, 1], [float(seed)] * 3)
    below = live.sides["out"].base
    assert [below.side.base.num_vertices, below.num_vertices] == [n - 4, n]
    return live


def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of few edges."""
    monkeypatch.setattr(grouping, "PAGE_EDGES", 60)
    monkeypatch.setattr(grouping, "PAGE_VERTICES", 24)

"""Stores with small pages to go on from, and a graph that changes in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import penstock as ps
from penstock.dynamic import base as base_module
from penstock.dynamic import merge_lists as merge_module
from penstock.dynamic.base import BaseLists
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.merge import MergedSide
from penstock.ingest import options as build_options

PAGE = 4096
#: With a column of 8 bytes a page has fewer than 400 edges; without, fewer than 2,000.
LONG = 2600
#: Small numbers, which are drawn more often, have the longest lists, of several pages.
N = 3000


def store(arrays: tuple[Any, ...], path: Path | None, **options: Any) -> Any:
    """A graph in pages of 4 KiB, in memory or on disk. A third array is a weight."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_options, "MIN_PAGE_BYTES", PAGE)
        if path is None:
            return ps.from_edges(*arrays, **options)
        weighted = len(arrays) > 2
        return ps.build(arrays, path, weights=weighted, page_size=PAGE, memory="64MB", **options)


def some_edges(n: int = 3000, m: int = 9000, seed: int = 3, *, weighted: bool = False) -> Any:
    """Edges with two lists of several pages each way, repeats, loops, and isolated vertices."""
    rng = np.random.default_rng(seed)
    others = rng.permutation(n - 50)[:LONG]
    src = np.concatenate([rng.integers(0, n - 50, m), np.full(LONG, 7), others, [5, 5, 9]])
    dst = np.concatenate([rng.integers(0, n - 50, m), others, np.full(LONG, 8), [5, 5, 9]])
    if not weighted:
        return src, dst
    return src, dst, rng.random(len(src))


@contextmanager
def many_pieces() -> Iterator[None]:
    """Within this, a few rows are divided among threads as many are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_module, "FEW_ROWS", 0)
        patch.setattr(base_module, "FEW_EDGES", 0)
        patch.setattr(base_module, "PIECE_ROWS", 50)
        patch.setattr(merge_module, "FEW_EDGES", 0)
        patch.setattr(merge_module, "PIECE_EDGES", 100)
        yield


def lists_of(graph: Any, direction: str = "out") -> list[list[tuple[Any, ...]]]:
    """Each list as it is stored: neighbours, each with its columns."""
    lists: list[list[tuple[Any, ...]]] = [[] for _ in range(graph.num_vertices)]
    for part in graph.iter_adjacency(direction):
        owners = np.repeat(np.arange(len(part.degrees)), part.degrees) + part.first_vid
        rows = zip(
            part.neighbours.tolist(), *(c.tolist() for c in part.columns.values()), strict=True
        )
        for owner, row in zip(owners.tolist(), rows, strict=True):
            lists[owner].append(row)
    return lists


def split(gathered: Any) -> list[list[tuple[Any, ...]]]:
    """What was gathered, list by list."""
    rows = list(
        zip(gathered.neighbours.tolist(), *(c.tolist() for c in gathered.columns), strict=True)
    )
    ends = gathered.offsets.tolist()
    return [rows[a:b] for a, b in pairwise(ends)]


class Model:
    """One direction of a graph: for each vertex, its neighbours and the columns of each edge."""

    def __init__(self, lists: Sequence[list[tuple[Any, ...]]], *, multigraph: bool) -> None:
        self.multigraph = multigraph
        self.lists: list[dict[int, list[tuple[Any, ...]]]] = []
        for entries in lists:
            mine: dict[int, list[tuple[Any, ...]]] = {}
            for v, *values in entries:
                mine.setdefault(v, []).append(tuple(values))
            self.lists.append(mine)
        self.degrees = [len(entries) for entries in lists]
        self.num_edges = sum(self.degrees)

    def copy(self) -> Model:
        """Another that goes its own way."""
        other = Model([], multigraph=self.multigraph)
        other.lists, other.degrees = [dict(mine) for mine in self.lists], list(self.degrees)
        other.num_edges = self.num_edges
        return other

    def apply(self, u: int, v: int, values: tuple[Any, ...] | None) -> int:
        """Add an edge with these values, or delete it; returns how many appeared or went."""
        there = self.lists[u].get(v, [])
        if values is None:
            self.lists[u].pop(v, None)
            self.degrees[u] -= len(there)
            self.num_edges -= len(there)
            return len(there)
        if there and not self.multigraph:
            self.lists[u][v] = [values]
            return 0
        self.lists[u][v] = [*there, values]
        self.degrees[u] += 1
        self.num_edges += 1
        return 1

    def entries(self, u: int) -> list[tuple[Any, ...]]:
        """The entries of a list, in order."""
        return sorted((v, *values) for v, all_ in self.lists[u].items() for values in all_)


vertex = st.one_of(st.integers(0, 12), st.integers(0, N + 3))
pairs = st.one_of(st.tuples(vertex, vertex), st.tuples(st.just("edge"), st.integers(0, 1 << 30)))
#: Rows of a batch, as :meth:`Live.batch` takes them.
rows = st.lists(st.tuples(pairs, st.booleans(), st.integers(0, 99)), max_size=40)


class Live:
    """A side and its model, which go through the same batches. The model has N + 4 vertices, the
    side ``n`` of them.
    """

    def __init__(self, started, n=N + 4):
        self.base, self.lists, model = started
        self.columns, self.model, self.n = self.base.columns, model.copy(), n
        self.added = DegreeAwareLists(self.columns, multigraph=model.multigraph, threads=2)
        self.side = MergedSide(self.base if isinstance(self.base, BaseLists) else None, self.added)
        self.side.grow(n)
        self.there = [(u, row[0]) for u, entries in enumerate(self.lists) for row in entries]
        self.ends = []

    def close(self):
        self.added.close()
        self.side.removed.close()

    def batch(self, drawn, *, repeats=1):
        """Rows of a batch; edges of the base are drawn by their number."""
        ends = [
            self.there[pair[1] % len(self.there)] if pair[0] == "edge" else pair
            for pair, _, _ in drawn
        ]
        self.ends = [(min(u, self.n - 1), min(v, self.n - 1)) for u, v in ends] * repeats
        src, dst = np.array(self.ends or np.empty((0, 2)), np.uint32).T.copy()
        adds = np.array([add for _, add, _ in drawn] * repeats, np.uint8)
        if repeats > 1:
            adds[len(drawn) :: 3] ^= 1
        values = np.array([value for _, _, value in drawn] * repeats, np.float64)
        columns = tuple(values.astype(column.dtype) for column in self.columns)
        return src, dst, adds, columns

    def expect(self, src, dst, adds, columns):
        """What the model says of each row."""
        values = list(zip(*(c.tolist() for c in columns), strict=True)) or [()] * len(src)
        rows = zip(src.tolist(), dst.tolist(), adds.tolist(), values, strict=True)
        return [self.model.apply(u, v, some if add else None) for u, v, add, some in rows]

    def check(self):
        """Everything there is to see."""
        side, model = self.side, self.model
        assert side.num_edges == model.num_edges
        assert side.degrees().tolist() == model.degrees[: self.n]
        asked = [1, 0, self.n - 1, 1, *{u for u, _ in self.ends}]
        chosen = np.array(asked, np.uint32)
        assert side.degrees_of(chosen).tolist() == [model.degrees[v] for v in asked]
        found = split(side.gather(chosen))
        assert [sorted(entries) for entries in found] == [model.entries(v) for v in asked]
        if self.ends:
            src, dst = np.array(self.ends, np.uint32).T.copy()
            expected = [v in model.lists[u] for u, v in self.ends]
            assert side.has(src, dst).tolist() == expected
            counts = [len(model.lists[u].get(v, ())) for u, v in self.ends]
            assert side.count(src, dst).tolist() == counts
            there, columns = side.values(src, dst)
            assert there.tolist() == expected
            found = zip(*(c.tolist() for c in columns), strict=True)
            for (u, v), values in zip(self.ends, found, strict=bool(columns)):
                assert values in model.lists[u].get(v, [(0.0,)])

"""Stores with small pages to go on from, and a graph that changes in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.dynamic import base as base_module
from penstock.dynamic import merge_lists as merge_module
from penstock.ingest import options as build_options

PAGE = 4096
#: With a column of 8 bytes a page has fewer than 400 edges; without, fewer than 2,000.
LONG = 2600


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

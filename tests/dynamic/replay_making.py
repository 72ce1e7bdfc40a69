"""Graphs for tests of maintained algorithms that are too large for lists in Python: degree-aware
lists, random batches, and those of a graph with known answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from penstock.dynamic.changes import Changes
from penstock.dynamic.lists import DegreeAwareLists
from penstock.dynamic.maintained.protocol import Sides
from penstock.store.layout import Column

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="no ../shared/data beside the project"
)
#: Files of edges, how many lines to skip, and whether they are directed.
REAL = {"facebook_combined.txt": (1, False), "wiki-Vote.txt": (4, True)}
NO_ROWS = np.empty((0, 2), np.int64)


class ListsGraph:
    """Edges with weights, one of each pair; ids are vertex numbers."""

    def __init__(self, num_vertices: int, *, directed: bool) -> None:
        weight = Column("weight", np.dtype(np.float64))
        self.directed, self.num_vertices = directed, num_vertices
        self.out = DegreeAwareLists((weight,), threads=1)
        self.in_ = DegreeAwareLists((weight,), threads=1) if directed else self.out
        self.sides = Sides(directed, self.out, lambda: self.in_, self.ids_by_vid, ("weight",))
        self.batch(NO_ROWS)

    def ids_by_vid(self) -> np.ndarray:
        return np.arange(self.num_vertices, dtype=np.uint64)

    def batch(
        self, added: np.ndarray, removed: np.ndarray = NO_ROWS, weights: np.ndarray | None = None
    ) -> Changes:
        """Remove rows, then add rows with weights (1); one that is there is removed and added."""
        old = self.num_vertices
        self.num_vertices = max(old, int(added.max(initial=-1)) + 1)
        for side in (self.out, self.in_):
            side.grow(self.num_vertices)
        weights = np.ones(len(added)) if weights is None else weights
        there = self.out.find(*self._columns(added)) >= 0
        gone = self._apply(np.concatenate([removed, added[there]]), np.empty(0), adding=False)
        came = self._apply(added, weights.astype(np.float64), adding=True)
        return Changes(*self._columns(came), *self._columns(gone), self.num_vertices, old)

    def _apply(self, rows: np.ndarray, weights: np.ndarray, *, adding: bool) -> np.ndarray:
        if not self.directed:
            # Of equal pairs in both directions only the last weight may count for both.
            rows = np.sort(rows, axis=1)
        src, dst = self._columns(rows)
        adds = np.full(len(rows), adding, np.uint8)
        columns = (weights,) if adding else (np.zeros(len(rows)),)
        applied = self.out.apply(src, dst, adds, columns)
        if self.directed:
            self.in_.apply(dst, src, adds, columns)
        else:
            other = src != dst
            more = tuple(column[other] for column in columns)
            self.out.apply(dst[other], src[other], adds[other], more)
        return rows[applied == 1]

    @staticmethod
    def _columns(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return rows[:, 0].astype(np.uint32), rows[:, 1].astype(np.uint32)

    def edges(self) -> np.ndarray:
        """Every edge as a row; an undirected one once."""
        matrix = self.matrix().tocoo()
        rows = np.stack([matrix.row, matrix.col], axis=1)
        return rows if self.directed else rows[rows[:, 0] <= rows[:, 1]]

    def matrix(self) -> sparse.csr_matrix:
        """Weights by source and target."""
        n = self.num_vertices
        offsets, neighbours, (weights,) = self.out.gather(np.arange(n, dtype=np.uint32))
        return sparse.csr_matrix((weights, neighbours.astype(np.int64), offsets), (n, n))

    def close(self) -> None:
        """End the threads."""
        self.out.close()
        self.in_.close()


def real_graph(name: str, rng: np.random.Generator) -> ListsGraph:
    """A graph from a file, with weights from 1 to 19."""
    skip, directed = REAL[name]
    rows = np.loadtxt(SHARED / "graphs" / name, np.int64, skiprows=skip, ndmin=2)[:, :2]
    live = ListsGraph(int(rows.max()) + 1, directed=directed)
    live.batch(rows, weights=rng.integers(1, 20, len(rows)))
    return live


def random_batches(
    live: ListsGraph, rng: np.random.Generator, rounds: int, size: int
) -> Iterator[Changes]:
    """Batches of new edges between old and new vertices, of edges that go, of both, and of both
    with new weights for edges that stay.
    """
    for k in range(rounds):
        there = rng.permutation(live.edges())[: 2 * size]
        removed, others = there[:size], there[size:]
        added = rng.integers(0, live.num_vertices + size // 4, (size, 2))
        if k % 4 == 1:
            added = NO_ROWS
        elif k % 4 == 3:
            added = np.concatenate([added, others])
        yield live.batch(added, removed if k % 4 else NO_ROWS, rng.integers(1, 20, len(added)))


def replayed(*, directed: bool) -> tuple[ListsGraph, Iterator[Changes]]:
    """The peers of Gnutella (ids less 1) before 10,000 edges each came, went, and changed; and the
    batches. No edge is in two lines of these. Some edges are there in both directions at first, of
    which one goes: it is left out of an undirected graph.
    """
    folder = SHARED / "p2p-31"
    num_vertices = len((folder / "p2p-31.v").read_text().splitlines())
    base = np.loadtxt(folder / "p2p-31.e.mutable_base", np.int64)
    lines = (folder / "p2p-31.e.mutable_delta").read_text().splitlines()
    delta = np.array([(*line.replace("d", "0").split(), 0)[1:4] for line in lines], np.int64)
    going = np.array([line[0] == "d" for line in lines])
    end = np.loadtxt(folder / "p2p-31.e", np.int64) @ (1 << 32, 1, 0)

    def stays(rows: np.ndarray) -> np.ndarray:
        return np.full(len(rows), True) if directed else ~np.isin(rows @ (1, 1 << 32, 0), end)

    base = base[stays(base)]
    live = ListsGraph(num_vertices, directed=directed)
    live.batch(base[:, :2] - 1, weights=base[:, 2])

    def batches() -> Iterator[Changes]:
        for at in range(0, len(delta), 3000):
            rows, goes = delta[at : at + 3000], going[at : at + 3000]
            gone, came = rows[goes & stays(rows)], rows[~goes]
            yield live.batch(came[:, :2] - 1, gone[:, :2] - 1, came[:, 2])

    return live, batches()


def known(name: str) -> np.ndarray:
    """Answers for the peers after all batches, by vertex number; inf where no path leads."""
    rows = np.loadtxt(SHARED / "p2p-31" / f"p2p-31-{name}")
    found = np.empty(len(rows))
    found[rows[:, 0].astype(np.int64) - 1] = rows[:, 1]
    return np.where(found > 1e18, np.inf, found)

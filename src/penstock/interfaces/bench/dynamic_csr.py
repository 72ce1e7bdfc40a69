"""A static graph in place of a dynamic one: plain lists (CSR), made anew after each batch."""

from __future__ import annotations

import numpy as np

from penstock.interfaces.bench.dynamic_store_kernels import begin_search, visit
from penstock.interfaces.bench.dynamic_stores import ALL_ADDS, Ranks
from penstock.jit import kernel
from penstock.types import I64, U8, U64, Array


@kernel
def bfs_csr(offsets, targets, source, levels):  # type: ignore[no-untyped-def]
    """Levels by id; those that are not reached stay as they are."""
    visited, frontier, found = begin_search(source, levels)
    size, level = 1, 0
    while size > 0:
        level, new = level + 1, 0
        for k in range(size):
            v = np.int64(frontier[k])
            if v + 1 >= len(offsets):
                continue
            for at in range(offsets[v], offsets[v + 1]):
                new = visit(visited, levels, level, found, new, targets[at])
        frontier, found, size = found, frontier, new


@kernel
def superstep_csr(offsets, targets, ranks):  # type: ignore[no-untyped-def]
    """Each vertex gives its rank to its neighbours in equal parts."""
    work = np.zeros(len(ranks))
    for v in range(len(offsets) - 1):
        begin, end = offsets[v], offsets[v + 1]
        for at in range(begin, end):
            if targets[at] < len(ranks):
                work[targets[at]] += ranks[v] / (end - begin)
    ranks[:] = work


class Csr:
    """Sorted lists without gaps, made anew from all edges after each batch."""

    def __init__(self, *, unique: bool = True) -> None:
        self.unique, self.delay = unique, 0
        self._keys: U64 = np.empty(0, np.uint64)
        self._offsets: I64 = np.zeros(1, np.int64)
        self._targets: Array = np.empty(0, np.uint32)

    @property
    def num_edges(self) -> int:
        """Edges there are."""
        return len(self._keys)

    @property
    def nbytes(self) -> int:
        """Bytes of the lists."""
        return self._offsets.nbytes + self._targets.nbytes

    def update(self, src: U64, dst: U64, adds: U8 = ALL_ADDS) -> None:
        """Apply a batch."""
        keys = np.concatenate([self._keys, src << np.uint64(32) | dst])
        if len(adds):
            keys = _left(keys, np.concatenate([np.ones(len(self._keys), np.uint8), adds]))
        self._keys = np.unique(keys) if self.unique else np.sort(keys)
        sources = (self._keys >> np.uint64(32)).astype(np.int64)
        counts = np.bincount(sources)
        self._offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._targets = self._keys.astype(np.uint32)

    def edges(self) -> tuple[U64, U64]:
        """All of them."""
        return self._keys >> np.uint64(32), self._keys & np.uint64(0xFFFFFFFF)

    def bfs(self, source: int, num_ids: int) -> Array:
        """Levels."""
        levels: Array = np.full(num_ids, -1, np.int32)
        bfs_csr(self._offsets, self._targets, source, levels)
        return levels

    def first_ranks(self) -> Ranks:
        """Ones."""
        return ((np.diff(self._offsets) > 0).astype(np.float64),)

    def superstep(self, ranks: Ranks) -> None:
        """One step of PageRank."""
        superstep_csr(self._offsets, self._targets, *ranks)


def _left(keys: U64, adds: U8) -> U64:
    """The keys that are added and not deleted by a later row."""
    order = np.argsort(keys, kind="stable")
    keys, kept = keys[order], adds[order] != 0
    ends = np.append(np.flatnonzero(keys[1:] != keys[:-1]), len(keys) - 1)
    rows = np.arange(len(keys))
    last_delete = np.maximum.accumulate(np.where(kept, -1, rows))
    # Of the run of equal keys that a row is in: where its last delete is, if there is one.
    by_run = last_delete[ends][np.searchsorted(ends, rows)]
    left: U64 = keys[kept & (rows > by_run)]
    return left

"""Stores of a graph that changes, to be compared: each applies requests to one side, out-lists.

They are what the DegAwareRHH paper compares, written as it says: see the files of their kernels.
Ids are small numbers (a search has a bit for each). A store that is told to be unique has an edge
once; else as often as it was added, and a delete removes all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from penstock.interfaces.bench import dynamic_baselines as baselines
from penstock.interfaces.bench import dynamic_degaware as degaware
from penstock.interfaces.bench import dynamic_degaware_reading as reading
from penstock.interfaces.bench import dynamic_stinger as stinger
from penstock.types import I64, U8, U64, Array

#: Every request of a batch is an insertion.
ALL_ADDS: U8 = np.empty(0, np.uint8)
#: Sizes of blocks of a pool are powers of two below this one.
SIZE_CLASSES = 64
#: Updates after which DegAwareRHH makes its tables anew; the paper: 1 to 10 million.
REHASH_EVERY = 5_000_000


#: Values of vertices, in the order of a store's own tables.
Ranks = tuple[Array, ...]


class Store(Protocol):
    """What is measured."""

    #: How long an access to another place in memory waits; see the kernels.
    delay: int

    @property
    def num_edges(self) -> int:
        """Edges there are."""

    @property
    def nbytes(self) -> int:
        """Bytes of tables and of what was taken from pools; not what pools have in reserve."""

    def update(self, src: U64, dst: U64, adds: U8 = ALL_ADDS) -> None:
        """Apply a batch in order: row i adds an edge, or deletes it if ``adds[i]`` is 0."""

    def edges(self) -> tuple[U64, U64]:
        """All edges, in any order."""

    def bfs(self, source: int, num_ids: int) -> Array:
        """The level of each id, -1 if it is not reached."""

    def first_ranks(self) -> Ranks:
        """One for each vertex, as far as the store knows vertices."""

    def superstep(self, ranks: Ranks) -> None:
        """Each vertex gives its rank to its neighbours in equal parts."""


class _ArrayStore(ABC):
    """A store whose kernels write edges and levels into arrays."""

    @property
    @abstractmethod
    def num_edges(self) -> int:
        """Edges there are."""

    @abstractmethod
    def _read_edges(self, src: U64, dst: U64) -> None:
        """Write all edges into arrays of their number."""

    @abstractmethod
    def _search(self, source: int, levels: Array) -> None:
        """Write the levels of the vertices that are reached."""

    def edges(self) -> tuple[U64, U64]:
        """All of them."""
        src: U64 = np.empty(self.num_edges, np.uint64)
        dst = np.empty_like(src)
        self._read_edges(src, dst)
        return src, dst

    def bfs(self, source: int, num_ids: int) -> Array:
        """Levels."""
        levels: Array = np.full(num_ids, -1, np.int32)
        self._search(source, levels)
        return levels


class BaselineVec(_ArrayStore):
    """A hash table of vertices, each with a growing array."""

    def __init__(self, *, unique: bool = True) -> None:
        self.unique, self.delay = unique, 0
        self._vertices: Array = np.empty(baselines.FIRST_VERTICES, baselines.VERTEX)
        self._heads: I64 = np.full(baselines.FIRST_VERTICES, -1, np.int64)
        self._pool: Array = np.empty(baselines.FIRST_POOL, baselines.TARGET)
        self._free: I64 = np.full(SIZE_CLASSES, -1, np.int64)
        self._counters = _counters(baselines.NUM_COUNTERS, baselines.WAITED)

    @property
    def num_edges(self) -> int:
        """Edges there are."""
        return int(self._counters[baselines.EDGES])

    @property
    def nbytes(self) -> int:
        """Bytes taken."""
        vertices = int(self._counters[baselines.VERTICES]) * baselines.VERTEX.itemsize
        taken = int(self._counters[baselines.TAKEN]) * self._pool.itemsize
        return vertices + self._heads.nbytes + taken

    def update(self, src: U64, dst: U64, adds: U8 = ALL_ADDS) -> None:
        """Apply a batch."""
        self._vertices, self._heads, self._pool = baselines.update_vec(
            self._vertices, self._heads, self._pool, self._free, self._counters, src, dst, adds,
            self.unique, self.delay,
        )  # fmt: skip

    def _read_edges(self, src: U64, dst: U64) -> None:
        baselines.edges_vec(self._vertices, self._pool, self._counters, src, dst)

    def _search(self, source: int, levels: Array) -> None:
        baselines.bfs_vec(
            self._vertices, self._heads, self._pool, self._counters, source, levels
        )  # fmt: skip

    def first_ranks(self) -> Ranks:
        """Ones."""
        return (np.ones(int(self._counters[baselines.VERTICES])),)

    def superstep(self, ranks: Ranks) -> None:
        """One step of PageRank."""
        baselines.superstep_vec(self._vertices, self._heads, self._pool, self._counters, *ranks)


class BaselineMap(BaselineVec):
    """A hash table of vertices, each with a hash table with chains."""

    def __init__(self, *, unique: bool = True) -> None:
        super().__init__(unique=unique)
        self._pool = np.empty(baselines.FIRST_POOL, np.int64)
        self._nodes: Array = np.empty(baselines.FIRST_POOL, baselines.NODE)
        self._counters[baselines.FREE_NODE] = -1

    @property
    def nbytes(self) -> int:
        """Bytes taken."""
        nodes = int(self._counters[baselines.NODES]) * baselines.NODE.itemsize
        return super().nbytes + nodes

    def update(self, src: U64, dst: U64, adds: U8 = ALL_ADDS) -> None:
        """Apply a batch."""
        self._vertices, self._heads, self._pool, self._nodes = baselines.update_map(
            self._vertices, self._heads, self._pool, self._nodes, self._free, self._counters, src,
            dst, adds, self.unique, self.delay,
        )  # fmt: skip

    def _read_edges(self, src: U64, dst: U64) -> None:
        baselines.edges_map(self._vertices, self._pool, self._nodes, self._counters, src, dst)

    def _search(self, source: int, levels: Array) -> None:
        baselines.bfs_map(
            self._vertices, self._heads, self._pool, self._nodes, self._counters, source, levels
        )

    def superstep(self, ranks: Ranks) -> None:
        """One step of PageRank."""
        baselines.superstep_map(
            self._vertices, self._heads, self._pool, self._nodes, self._counters, *ranks
        )


class Stinger(_ArrayStore):
    """Lists of blocks."""

    def __init__(self, *, unique: bool = True) -> None:
        self.unique, self.delay = unique, 0
        self._vertices: Array = np.empty(stinger.FIRST_VERTICES, stinger.VERTEX)
        self._vertices["first"], self._vertices["degree"] = -1, 0
        self._heads: Array = np.empty(stinger.FIRST_BLOCKS, stinger.HEAD)
        self._edges: Array = np.empty(stinger.FIRST_BLOCKS * stinger.BLOCK_EDGES, stinger.EDGE)
        self._counters = _counters(stinger.NUM_COUNTERS, stinger.WAITED)

    @property
    def num_edges(self) -> int:
        """Edges there are."""
        return int(self._counters[stinger.EDGES])

    @property
    def nbytes(self) -> int:
        """Bytes taken."""
        block = stinger.HEAD.itemsize + stinger.BLOCK_EDGES * stinger.EDGE.itemsize
        return int(self._counters[stinger.BLOCKS]) * block + self._vertices.nbytes

    def update(self, src: U64, dst: U64, adds: U8 = ALL_ADDS) -> None:
        """Apply a batch."""
        self._vertices, self._heads, self._edges = stinger.update_stinger(
            self._vertices, self._heads, self._edges, self._counters, src, dst, adds, self.unique,
            self.delay,
        )  # fmt: skip

    def _read_edges(self, src: U64, dst: U64) -> None:
        stinger.edges_stinger(self._vertices, self._heads, self._edges, src, dst)

    def _search(self, source: int, levels: Array) -> None:
        stinger.bfs_stinger(self._vertices, self._heads, self._edges, source, levels)

    def first_ranks(self) -> Ranks:
        """Ones."""
        return ((self._vertices["degree"] > 0).astype(np.float64),)

    def superstep(self, ranks: Ranks) -> None:
        """One step of PageRank."""
        stinger.superstep_stinger(self._vertices, self._heads, self._edges, *ranks)


class DegAware(_ArrayStore):
    """DegAwareRHH as published."""

    def __init__(
        self, *, unique: bool = True, threshold: int = 2, rehash_every: int | None = REHASH_EVERY
    ) -> None:
        self.unique, self.delay = unique, 0
        self.threshold = threshold
        self.rehash_every = -1 if rehash_every is None else rehash_every
        first = 1 << degaware.FIRST_BITS
        self._low: Array = np.empty(first, degaware.LOW)
        self._high: Array = np.empty(first, degaware.HIGH)
        self._low["mark"] = self._high["mark"] = degaware.EMPTY
        self._chunks: Array = np.empty(degaware.FIRST_CHUNKS, degaware.CHUNK)
        self._pool: Array = np.empty(degaware.FIRST_POOL, degaware.EDGE)
        self._free: I64 = np.full(SIZE_CLASSES, -1, np.int64)
        self._counters = _counters(degaware.NUM_COUNTERS, degaware.WAITED)
        self._counters[[degaware.LOW_BITS, degaware.HIGH_BITS]] = degaware.FIRST_BITS
        self._counters[degaware.FREE_CHUNK] = -1
        self._counters[degaware.LARGEST] = degaware.CHUNK_BITS

    @property
    def num_edges(self) -> int:
        """Edges there are."""
        return int(self._counters[degaware.EDGES])

    @property
    def nbytes(self) -> int:
        """Bytes taken."""
        chunks = int(self._counters[degaware.CHUNKS]) * degaware.CHUNK.itemsize
        taken = int(self._counters[degaware.TAKEN]) * degaware.EDGE.itemsize
        return self._low.nbytes + self._high.nbytes + chunks + taken

    def update(self, src: U64, dst: U64, adds: U8 = ALL_ADDS) -> None:
        """Apply a batch."""
        self._low, self._high, self._chunks, self._pool = degaware.update_degaware(
            self._low, self._high, self._chunks, self._pool, self._free, self._counters, src, dst,
            adds, self.unique, self.threshold, self.rehash_every, self.delay,
        )  # fmt: skip

    @property
    def _tables(self) -> tuple[Array, int, Array, int, Array, Array]:
        low, high = self._counters[[degaware.LOW_BITS, degaware.HIGH_BITS]].tolist()
        return self._low, low, self._high, high, self._chunks, self._pool

    def _read_edges(self, src: U64, dst: U64) -> None:
        reading.edges_degaware(self._low, self._high, self._chunks, self._pool, src, dst)

    def _search(self, source: int, levels: Array) -> None:
        reading.bfs_degaware(*self._tables, source, levels)

    def first_ranks(self) -> Ranks:
        """Ones."""
        return np.ones(len(self._low)), np.ones(len(self._high))

    def superstep(self, ranks: Ranks) -> None:
        """One step of PageRank."""
        reading.superstep_degaware(*self._tables, *ranks)

    def probe_distances(self) -> tuple[float, float, Array]:
        """Average distances from home: of the low-degree table, of the middle-high-degree table,
        and of each edge chunk. NaN where there is nothing.
        """
        low, low_bits, high, high_bits, chunks, pool = self._tables
        means: Array = np.empty(int(self._counters[degaware.CHUNKS]))
        reading.chunk_distances(chunks, len(means), pool, means)
        return (
            float(reading.table_distance(low, low_bits)),
            float(reading.table_distance(high, high_bits)),
            means[~np.isnan(means)],
        )


def _counters(count: int, waited: int) -> I64:
    """Zeros, and something to begin waiting with."""
    found: I64 = np.zeros(count, np.int64)
    found[waited] = 88172645463325252
    return found

"""Shards and their replicas: how Garaph cuts a page for the blocks of a GPU. Pure functions.

A shard is the lists of neighbouring vertices whose accumulators, each in R copies, fit the shared
memory of one block. Copies keep threads of a warp from meeting at one address; too many of them
leave room for few vertices. Sections 2.1 and 3.2 of *Garaph: Efficient GPU-accelerated Graph
Processing on a Single Machine with Balanced Replication* (Ma et al., USENIX ATC 2017).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.jit import kernel
from penstock.types import U16, U32, Array

#: Threads of a warp: with a copy for each of them no two meet.
MOST_REPLICAS = 32
#: Vertices of a shard are numbered in 16 bits.
MOST_VERTICES = 1 << 16


class Shards(NamedTuple):
    """A page cut into shards."""

    #: Where each shard begins among the page's vertices, and where the last ends.
    bounds: U32
    replicas: NDArray[np.int32]
    #: The vertex of each edge, counted from where its shard begins.
    targets: U16
    #: Accumulators in shared memory that the largest shard needs.
    cells: int


def replicas(num_vertices: int, num_edges: int) -> int:
    """Copies of each accumulator: the power of two nearest to the average degree, from 1 to 32.

    ``R = 2 ** min(ceil(log2(E / V) - 0.5), 5)``, equation (2).

    >>> [replicas(100, edges) for edges in (0, 100, 150, 300, 1000, 10**6)]
    [1, 1, 2, 4, 8, 32]
    """
    if num_edges <= num_vertices:
        return 1
    return 1 << min(math.ceil(math.log2(num_edges / num_vertices) - 0.5), 5)


def shard_vertices(shared_bytes: int, blocks: int, vertex_bytes: int, copies: int) -> int:
    """Vertices that a shard may have: ``C_shm / (N_block * S_vertex) / R``, at least one.

    ``shared_bytes`` is the memory that ``blocks`` blocks share; ``vertex_bytes`` is the size of an
    accumulator.

    >>> shard_vertices(48 * 1024, 1, 4, 1)  # "each shard contains at most 12K vertices"
    12288
    """
    return max(1, min(shared_bytes // (blocks * vertex_bytes * copies), MOST_VERTICES))


def time_model(
    num_vertices: int, num_edges: int, copies: int, load_time: float, atomic_time: float
) -> float:
    """How long it takes to gather a shard, equation (1):
    ``R V t_l + E t_l + E^2 / (V R) t_a + V t_a log2 R``.
    """
    loads = (copies * num_vertices + num_edges) * load_time
    conflicts = num_edges * num_edges / (num_vertices * copies) * atomic_time
    return loads + conflicts + num_vertices * math.log2(copies) * atomic_time


def shard_bounds(
    offsets: Array, shared_bytes: int, blocks: int, vertex_bytes: int, copies: int | None = None
) -> tuple[U32, NDArray[np.int32]]:
    """Where the shards of a page with these offsets begin and the last ends, and their replicas:
    ``copies`` for all, or as their degrees say.

    A shard is made as large as its own R leaves room for: it begins large and shrinks while the
    degrees of what is left ask for more copies. No more copies than fit for a single vertex.
    """
    count = len(offsets) - 1
    most = 1 << (max(shared_bytes // (blocks * vertex_bytes), 1).bit_length() - 1)
    bounds, chosen = [0], []
    while bounds[-1] < count:
        begin, copied, wanted = bounds[-1], 0, copies or 1
        while wanted > copied:
            copied = min(wanted, most)
            end = min(begin + shard_vertices(shared_bytes, blocks, vertex_bytes, copied), count)
            num_edges = int(offsets[end]) - int(offsets[begin])
            wanted = min(copies or replicas(end - begin, num_edges), most)
        bounds.append(end)
        chosen.append(wanted)
    return np.array(bounds, np.uint32), np.array(chosen, np.int32)


def cut_shards(
    offsets: Array, shared_bytes: int, blocks: int, vertex_bytes: int, copies: int | None = None
) -> Shards:
    """Cut a page with these offsets into shards; see :func:`shard_bounds`."""
    bounds, factors = shard_bounds(offsets, shared_bytes, blocks, vertex_bytes, copies)
    targets: U16 = np.empty(int(offsets[-1]) - int(offsets[0]), np.uint16)
    fill_targets(offsets, bounds, targets)
    return Shards(bounds, factors, targets, int((np.diff(bounds) * factors).max(initial=0)))


@kernel
def fill_targets(offsets, bounds, targets):  # type: ignore[no-untyped-def]
    """For each edge, its vertex less the first of the shard."""
    one, start = np.uint64(1), np.uint64(offsets[0])
    for s in range(np.uint64(len(bounds) - 1)):
        begin = np.uint64(bounds[s])
        for i in range(begin, np.uint64(bounds[s + one])):
            target = np.uint16(i - begin)
            for k in range(np.uint64(offsets[i]) - start, np.uint64(offsets[i + one]) - start):
                targets[k] = target

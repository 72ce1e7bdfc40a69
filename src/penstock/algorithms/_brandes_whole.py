"""Brandes' dependencies on graphs that are small: a whole source in one call of a kernel.

Where lists are in memory and short, calling a kernel for each level costs more than the work. Here
a call does a chunk of sources one after the other. Chunks are the same however many are worked on
at once, and what they come to is added up in their order.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.counts import Counts
from penstock.engine.engine import Engine
from penstock.engine.sharing import map_chunks
from penstock.engine.whole_lists import all_lists
from penstock.jit import kernel
from penstock.types import U32, Array

#: Vertices and stored edges that such a graph has, together, at most.
SMALL = 1 << 20
#: Bytes that :func:`fold` takes for each stored edge.
FOLD_BYTES = 40
#: What this way to run is called.
WHOLE_SOURCES = "whole sources"
#: Sources in a chunk.
CHUNK = 32
#: Bytes for each vertex of a chunk that is worked on, besides the sums.
CHUNK_BYTES = 8 + 8 + 4 + 4


def is_small(counts: Counts) -> bool:
    """Whether sources are better taken as a whole, if lists are in memory."""
    return counts.num_vertices + counts.of("out").num_edges <= SMALL


def chunk_bytes(counts: Counts, *, of_edges: bool) -> int:
    """What a thread needs for a chunk."""
    length = counts.of("out").num_edges if of_edges else counts.num_vertices
    return counts.num_vertices * CHUNK_BYTES + 8 * length


def chunk_sums(
    engine: Engine, sources: U32, *, of_edges: bool, extra: float
) -> tuple[int, list[Array]]:
    """Take as many sources from the beginning as are worth it at once: how many, and the sums of
    each chunk, for each vertex or for each stored edge.
    """
    lists = all_lists(engine)
    length = len(lists[1]) if of_edges else engine.num_vertices

    def work(part: U32) -> tuple[Array, int]:
        sums = np.zeros(length)
        return sums, int(sweep(*lists, part, sums, extra, of_edges))

    count, found = map_chunks(engine, work, sources, CHUNK)
    engine.count_edges(sum(edges for _, edges in found))
    return count, [sums for sums, _ in found]


@kernel
def sweep(offsets, neighbours, sources, sums, extra, of_edges):  # type: ignore[no-untyped-def]
    """Both sweeps of each source, its edges read twice; how many were read.

    ``share[v]`` is 1 / paths + dependency / paths, as in ``_brandes``.
    """
    n = len(offsets) - 1
    one = np.uint64(1)
    levels = np.full(n, -1, np.int32)
    queue = np.empty(n, np.uint32)
    paths = np.zeros(n, np.float64)
    share = np.zeros(n, np.float64)
    edges = 0
    for k in range(len(sources)):
        source = np.uint64(sources[k])
        levels[source], paths[source] = 0, 1.0
        queue[0] = source
        done, count = 0, 1
        while done < count:
            u = np.uint64(queue[done])
            done += 1
            edges += 2 * (np.int64(offsets[u + one]) - np.int64(offsets[u]))
            for edge in range(np.uint64(offsets[u]), np.uint64(offsets[u + one])):
                v = np.uint64(neighbours[edge])
                if levels[v] < 0:
                    levels[v] = levels[u] + 1
                    queue[count] = v
                    count += 1
                if levels[v] == levels[u] + 1:
                    paths[v] += paths[u]
        for i in range(count - 1, -1, -1):
            u = np.uint64(queue[i])
            total = 0.0
            for edge in range(np.uint64(offsets[u]), np.uint64(offsets[u + one])):
                v = np.uint64(neighbours[edge])
                if levels[v] == levels[u] + 1:
                    total += share[v]
                    if of_edges:
                        sums[edge] += paths[u] * share[v]
            if u != source:
                share[u] = 1.0 / paths[u] + total
                if not of_edges:
                    sums[u] += paths[u] * total + extra
        if not of_edges:
            sums[source] += extra * (count - 1)
        for i in range(count):
            v = np.uint64(queue[i])
            levels[v], paths[v], share[v] = -1, 0.0, 0.0
    return edges


def fold(engine: Engine, totals: Array) -> Array:
    """The sums of an undirected graph's edges: each is stored with both of its ends, and is given
    what went along either way.
    """
    offsets, neighbours = all_lists(engine)
    src = np.repeat(np.arange(len(offsets) - 1), (offsets[1:] - offsets[:-1]).astype(np.int64))
    there = np.lexsort((neighbours, src))
    back = np.lexsort((src, neighbours))
    both: Array = np.empty_like(totals)
    both[there] = totals[there] + totals[back]
    loops = src == neighbours
    both[loops] = 0
    return both

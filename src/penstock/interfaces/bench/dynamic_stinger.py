"""A store like STINGER: the edges of a vertex in a list of blocks, each of 14 edges.

Vertices are found by their number alone. An edge takes 32 bytes (neighbour, weight, two times), a
block has a head. The search for an edge, or for an empty place, goes along the blocks; a deleted
edge leaves its place empty for the next. ``delay`` is how long each access to another place in
memory waits, in rounds of :func:`.dynamic_store_kernels.wait`: one for a vertex and one for each
block.
"""

from __future__ import annotations

import numpy as np

from penstock.interfaces.bench.dynamic_store_kernels import begin_search, doubled, visit, wait
from penstock.jit import helper, kernel

BLOCK_EDGES = 14
#: Edges, blocks, what waiting left.
EDGES, BLOCKS, WAITED, NUM_COUNTERS = range(4)
NONE = -1
FIRST_VERTICES, FIRST_BLOCKS = 64, 64

VERTEX = np.dtype([("first", "<i8"), ("degree", "<i8")])
HEAD = np.dtype([("next", "<i8"), ("count", "<i8"), ("vertex", "<i8"), ("times", "<i8", 2)])
EDGE = np.dtype([("id", "<i8"), ("weight", "<i8"), ("first", "<i8"), ("recent", "<i8")])


@helper
def _add(vertices, heads, edges, counters, unique, delay, v, target, now):  # type: ignore[no-untyped-def]
    """Put an edge into the first empty place, or a new block at the end; gives the arrays."""
    last, place = np.int64(NONE), np.int64(NONE)
    block = vertices[v].first
    while block != NONE:
        counters[WAITED] = wait(counters[WAITED], delay)
        if unique:
            for at in range(block * BLOCK_EDGES, (block + 1) * BLOCK_EDGES):
                if edges[at].id == target:
                    edges[at].recent = now
                    return heads, edges
        if place == NONE and heads[block].count < BLOCK_EDGES:
            place = block
            if not unique:
                break
        last, block = block, heads[block].next
    if place == NONE:
        place = counters[BLOCKS]
        counters[BLOCKS] += 1
        if place == len(heads):
            heads, edges = doubled(heads, place), doubled(edges, place * BLOCK_EDGES)
        heads[place].next = NONE
        heads[place].count = 0
        heads[place].vertex = v
        for at in range(place * BLOCK_EDGES, (place + 1) * BLOCK_EDGES):
            edges[at].id = NONE
        if last == NONE:
            vertices[v].first = place
        else:
            heads[last].next = place
    at = place * BLOCK_EDGES
    while edges[at].id != NONE:
        at += 1
    edges[at].id = target
    edges[at].weight = 1
    edges[at].first = now
    edges[at].recent = now
    heads[place].count += 1
    vertices[v].degree += 1
    counters[EDGES] += 1
    return heads, edges


@helper
def _delete(vertices, heads, edges, counters, unique, delay, v, target):  # type: ignore[no-untyped-def]
    block = vertices[v].first
    while block != NONE:
        counters[WAITED] = wait(counters[WAITED], delay)
        for at in range(block * BLOCK_EDGES, (block + 1) * BLOCK_EDGES):
            if edges[at].id == target:
                edges[at].id = NONE
                heads[block].count -= 1
                vertices[v].degree -= 1
                counters[EDGES] -= 1
                if unique:
                    return
        block = heads[block].next


@kernel
def update_stinger(vertices, heads, edges, counters, src, dst, adds, unique, delay):  # type: ignore[no-untyped-def]
    """Apply rows in order; gives the arrays, which may have grown."""
    for i in range(len(src)):
        v, target = np.int64(src[i]), np.int64(dst[i])
        counters[WAITED] = wait(counters[WAITED], delay)
        while v >= len(vertices):
            old = len(vertices)
            vertices = doubled(vertices, old)
            for k in range(old, len(vertices)):
                vertices[k].first = NONE
                vertices[k].degree = 0
        if len(adds) == 0 or adds[i]:
            heads, edges = _add(vertices, heads, edges, counters, unique, delay, v, target, i)
        else:
            _delete(vertices, heads, edges, counters, unique, delay, v, target)
    return vertices, heads, edges


@kernel
def bfs_stinger(vertices, heads, edges, source, levels):  # type: ignore[no-untyped-def]
    """Levels by the number of a vertex; those that are not reached stay as they are."""
    visited, frontier, found = begin_search(source, levels)
    size, level = 1, 0
    while size > 0:
        level, new = level + 1, 0
        for k in range(size):
            v = np.int64(frontier[k])
            if v >= len(vertices):
                continue
            block = vertices[v].first
            while block != NONE:
                for at in range(block * BLOCK_EDGES, (block + 1) * BLOCK_EDGES):
                    if edges[at].id != NONE:
                        new = visit(visited, levels, level, found, new, edges[at].id)
                block = heads[block].next
        frontier, found, size = found, frontier, new


@kernel
def superstep_stinger(vertices, heads, edges, ranks):  # type: ignore[no-untyped-def]
    """Each vertex gives its rank to its neighbours in equal parts."""
    work = np.zeros(len(ranks))
    for v in range(min(len(vertices), len(ranks))):
        block = vertices[v].first
        while block != NONE:
            for at in range(block * BLOCK_EDGES, (block + 1) * BLOCK_EDGES):
                if edges[at].id != NONE:
                    work[edges[at].id] += ranks[v] / vertices[v].degree
            block = heads[block].next
    ranks[:] = work


@kernel
def edges_stinger(vertices, heads, edges, src, dst):  # type: ignore[no-untyped-def]
    """All edges, into arrays that are long enough."""
    to = 0
    for v in range(len(vertices)):
        block = vertices[v].first
        while block != NONE:
            for at in range(block * BLOCK_EDGES, (block + 1) * BLOCK_EDGES):
                if edges[at].id != NONE:
                    src[to], dst[to] = v, edges[at].id
                    to += 1
            block = heads[block].next

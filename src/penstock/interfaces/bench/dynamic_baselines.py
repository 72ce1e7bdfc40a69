"""BaselineVec and BaselineMap, the two plain stores that DegAwareRHH was compared with.

Both find the source of an edge in a hash table with chains: ``heads`` has the first vertex of each
chain, ``next`` in its record leads on. BaselineVec then has a growing array of targets for each
vertex, searched from its beginning; a deleted edge is replaced by the last. BaselineMap has another
hash table with chains for each vertex: its heads come from one pool, its nodes from another.

Ids are 64 bits, and an edge and a vertex have a byte of properties, as in the paper. Arrays of
targets and of heads have a power of two of places and come from a pool; those given back are linked
by size in ``free``. ``delay`` is how long each access to another place in memory waits, in rounds
of :func:`.dynamic_store_kernels.wait`: one for each vertex and node of a chain, one for the
beginning of an array.
"""

from __future__ import annotations

import numpy as np

from penstock.interfaces.bench.dynamic_store_kernels import begin_search, doubled, visit, wait
from penstock.jit import helper, kernel

#: Vertices, edges, places taken of each pool, a free node, what waiting left.
VERTICES, EDGES, TAKEN, NODES, FREE_NODE, WAITED, NUM_COUNTERS = range(7)
NONE = -1
FIRST_VERTICES, FIRST_POOL = 64, 256
FIRST_HEADS = 4

VERTEX = np.dtype(
    [("id", "<u8"), ("next", "<i8"), ("start", "<i8"), ("count", "<i8"), ("capacity", "<i8"),
     ("property", "u1")]
)  # fmt: skip
TARGET = np.dtype([("id", "<u8"), ("property", "u1")])
NODE = np.dtype([("id", "<u8"), ("next", "<i8"), ("property", "u1")])


@helper
def _hash(value, count):  # type: ignore[no-untyped-def]
    mixed = value * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(count - 1))


@helper
def _in_chain(records, at, counters, delay, id):  # type: ignore[no-untyped-def]
    """The record of that id in the chain that begins at ``at``, or NONE."""
    while at != NONE:
        counters[WAITED] = wait(counters[WAITED], delay)
        if records[at].id == id:
            return at
        at = records[at].next
    return at


@helper
def _vertex(vertices, heads, counters, delay, id):  # type: ignore[no-untyped-def]
    """The record of a vertex, or NONE."""
    return _in_chain(vertices, heads[_hash(id, len(heads))], counters, delay, id)


@helper
def _add_vertex(vertices, heads, counters, id):  # type: ignore[no-untyped-def]
    """A new record at the end; there are at least as many chains as vertices."""
    at = counters[VERTICES]
    if at == len(vertices):
        vertices = doubled(vertices, at)
    if at == len(heads):
        heads = np.full(2 * len(heads), NONE, np.int64)
        for k in range(at):
            chain = _hash(vertices[k].id, len(heads))
            vertices[k].next = heads[chain]
            heads[chain] = k
    chain = _hash(id, len(heads))
    vertices[at].id = id
    vertices[at].next = heads[chain]
    vertices[at].start = NONE
    vertices[at].count = 0
    vertices[at].capacity = 0
    heads[chain] = at
    counters[VERTICES] += 1
    return vertices, heads


@helper
def _size_class(capacity):  # type: ignore[no-untyped-def]
    found = 0
    while (1 << found) < capacity:
        found += 1
    return found


@helper
def _find(pool, start, count, id):  # type: ignore[no-untyped-def]
    for at in range(start, start + count):
        if pool[at].id == id:
            return at
    return NONE


@helper
def _lengthen(vertices, pool, free, counters, v):  # type: ignore[no-untyped-def]
    """Twice as many places for the targets of a vertex; gives the pool."""
    old, count = vertices[v].start, vertices[v].count
    capacity = max(2 * vertices[v].capacity, 1)
    kind = _size_class(capacity)
    start = free[kind]
    if start != NONE:
        free[kind] = np.int64(pool[start].id)
    else:
        start = counters[TAKEN]
        while start + capacity > len(pool):
            pool = doubled(pool, start)
        counters[TAKEN] = start + capacity
    for k in range(count):
        pool[start + k].id = pool[old + k].id
    if old != NONE:
        pool[old].id = np.uint64(free[kind - 1])
        free[kind - 1] = old
    vertices[v].start = start
    vertices[v].capacity = capacity
    return pool


@kernel
def update_vec(vertices, heads, pool, free, counters, src, dst, adds, unique, delay):  # type: ignore[no-untyped-def]
    """Apply rows in order; gives the arrays, which may have grown."""
    for i in range(len(src)):
        v = _vertex(vertices, heads, counters, delay, src[i])
        counters[WAITED] = wait(counters[WAITED], delay)
        if len(adds) == 0 or adds[i]:
            if v == NONE:
                v = counters[VERTICES]
                vertices, heads = _add_vertex(vertices, heads, counters, src[i])
            count = vertices[v].count
            if unique and _find(pool, vertices[v].start, count, dst[i]) != NONE:
                continue
            if count == vertices[v].capacity:
                pool = _lengthen(vertices, pool, free, counters, v)
            pool[vertices[v].start + count].id = dst[i]
            vertices[v].count = count + 1
            counters[EDGES] += 1
        elif v != NONE:
            at = _find(pool, vertices[v].start, vertices[v].count, dst[i])
            while at != NONE:
                vertices[v].count -= 1
                counters[EDGES] -= 1
                end = vertices[v].start + vertices[v].count
                pool[at].id = pool[end].id
                at = NONE if unique else _find(pool, at, end - at, dst[i])
    return vertices, heads, pool


@kernel
def bfs_vec(vertices, heads, pool, counters, source, levels):  # type: ignore[no-untyped-def]
    """Levels by id; those that are not reached stay as they are."""
    visited, frontier, found = begin_search(source, levels)
    size, level = 1, 0
    while size > 0:
        level, new = level + 1, 0
        for k in range(size):
            v = _vertex(vertices, heads, counters, 0, frontier[k])
            if v == NONE:
                continue
            for at in range(vertices[v].start, vertices[v].start + vertices[v].count):
                new = visit(visited, levels, level, found, new, pool[at].id)
        frontier, found, size = found, frontier, new


@kernel
def superstep_vec(vertices, heads, pool, counters, ranks):  # type: ignore[no-untyped-def]
    """Each vertex gives its rank to its neighbours in equal parts."""
    work = np.zeros(len(ranks))
    for v in range(counters[VERTICES]):
        for at in range(vertices[v].start, vertices[v].start + vertices[v].count):
            target = _vertex(vertices, heads, counters, 0, pool[at].id)
            if target != NONE:
                work[target] += ranks[v] / vertices[v].count
    ranks[:] = work


@kernel
def edges_vec(vertices, pool, counters, src, dst):  # type: ignore[no-untyped-def]
    """All edges, into arrays that are long enough."""
    to = 0
    for v in range(counters[VERTICES]):
        for at in range(vertices[v].start, vertices[v].start + vertices[v].count):
            src[to], dst[to] = vertices[v].id, pool[at].id
            to += 1


@helper
def _find_node(pool, nodes, counters, delay, start, capacity, id):  # type: ignore[no-untyped-def]
    """A node of the table at ``start``, or NONE."""
    if capacity == 0:
        return np.int64(NONE)
    return _in_chain(nodes, pool[start + _hash(id, capacity)], counters, delay, id)


@helper
def _more_chains(vertices, pool, free, nodes, counters, v):  # type: ignore[no-untyped-def]
    """Twice as many chains for the edges of a vertex; gives the pool of heads."""
    old, held = vertices[v].start, vertices[v].capacity
    capacity = max(2 * held, FIRST_HEADS)
    kind = _size_class(capacity)
    start = free[kind]
    if start != NONE:
        free[kind] = pool[start]
    else:
        start = counters[TAKEN]
        while start + capacity > len(pool):
            pool = doubled(pool, start)
        counters[TAKEN] = start + capacity
    pool[start : start + capacity] = NONE
    for k in range(held):
        at = pool[old + k]
        while at != NONE:
            following = nodes[at].next
            chain = start + _hash(nodes[at].id, capacity)
            nodes[at].next = pool[chain]
            pool[chain] = at
            at = following
    if held:
        pool[old] = free[kind - 1]
        free[kind - 1] = old
    vertices[v].start = start
    vertices[v].capacity = capacity
    return pool


@helper
def _remove_nodes(vertices, pool, nodes, counters, delay, v, id):  # type: ignore[no-untyped-def]
    """Take all nodes of an edge out of their chain."""
    if vertices[v].capacity == 0:
        return
    chain = vertices[v].start + _hash(id, vertices[v].capacity)
    before, at = np.int64(NONE), pool[chain]
    while at != NONE:
        counters[WAITED] = wait(counters[WAITED], delay)
        following = nodes[at].next
        if nodes[at].id == id:
            if before == NONE:
                pool[chain] = following
            else:
                nodes[before].next = following
            nodes[at].next = counters[FREE_NODE]
            counters[FREE_NODE] = at
            vertices[v].count -= 1
            counters[EDGES] -= 1
        else:
            before = at
        at = following


@kernel
def update_map(  # type: ignore[no-untyped-def]
    vertices, heads, pool, nodes, free, counters, src, dst, adds, unique, delay
):
    """Apply rows in order; gives the arrays, which may have grown."""
    for i in range(len(src)):
        v = _vertex(vertices, heads, counters, delay, src[i])
        counters[WAITED] = wait(counters[WAITED], delay)
        if len(adds) == 0 or adds[i]:
            if v == NONE:
                v = counters[VERTICES]
                vertices, heads = _add_vertex(vertices, heads, counters, src[i])
            start, capacity = vertices[v].start, vertices[v].capacity
            if unique:
                at = _find_node(pool, nodes, counters, delay, start, capacity, dst[i])
                if at != NONE:
                    continue
            if vertices[v].count == capacity:
                pool = _more_chains(vertices, pool, free, nodes, counters, v)
            at = counters[FREE_NODE]
            if at != NONE:
                counters[FREE_NODE] = nodes[at].next
            else:
                at = counters[NODES]
                counters[NODES] += 1
                if at == len(nodes):
                    nodes = doubled(nodes, at)
            chain = vertices[v].start + _hash(dst[i], vertices[v].capacity)
            nodes[at].id = dst[i]
            nodes[at].next = pool[chain]
            pool[chain] = at
            vertices[v].count += 1
            counters[EDGES] += 1
        elif v != NONE:
            _remove_nodes(vertices, pool, nodes, counters, delay, v, dst[i])
    return vertices, heads, pool, nodes


@kernel
def bfs_map(vertices, heads, pool, nodes, counters, source, levels):  # type: ignore[no-untyped-def]
    """Levels by id; those that are not reached stay as they are."""
    visited, frontier, found = begin_search(source, levels)
    size, level = 1, 0
    while size > 0:
        level, new = level + 1, 0
        for k in range(size):
            v = _vertex(vertices, heads, counters, 0, frontier[k])
            if v == NONE:
                continue
            for chain in range(vertices[v].start, vertices[v].start + vertices[v].capacity):
                at = pool[chain]
                while at != NONE:
                    new = visit(visited, levels, level, found, new, nodes[at].id)
                    at = nodes[at].next
        frontier, found, size = found, frontier, new


@kernel
def superstep_map(vertices, heads, pool, nodes, counters, ranks):  # type: ignore[no-untyped-def]
    """Each vertex gives its rank to its neighbours in equal parts."""
    work = np.zeros(len(ranks))
    for v in range(counters[VERTICES]):
        for chain in range(vertices[v].start, vertices[v].start + vertices[v].capacity):
            at = pool[chain]
            while at != NONE:
                target = _vertex(vertices, heads, counters, 0, nodes[at].id)
                if target != NONE:
                    work[target] += ranks[v] / vertices[v].count
                at = nodes[at].next
    ranks[:] = work


@kernel
def edges_map(vertices, pool, nodes, counters, src, dst):  # type: ignore[no-untyped-def]
    """All edges, into arrays that are long enough."""
    to = 0
    for v in range(counters[VERTICES]):
        for chain in range(vertices[v].start, vertices[v].start + vertices[v].capacity):
            at = pool[chain]
            while at != NONE:
                src[to], dst[to] = vertices[v].id, nodes[at].id
                to += 1
                at = nodes[at].next

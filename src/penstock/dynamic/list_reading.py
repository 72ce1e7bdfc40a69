"""Kernels that read degree-aware lists, fill empty ones, and lay them out again."""

from __future__ import annotations

import numpy as np

from penstock.dynamic.batch_kernels import source_of
from penstock.dynamic.list_sizes import BLOCK_BITS, INDEX_SIZES, PARTS, SIZES
from penstock.jit import atomic_add, kernel, prefetch


@kernel
def measure(vertices, starts, ends, offsets):  # type: ignore[no-untyped-def]
    """Where the copies of lists begin, one after another."""
    total = 0
    offsets[0] = 0
    for i in range(len(vertices)):
        v = np.uint64(vertices[i])
        total += np.int64(ends[v] - starts[v])
        offsets[i + 1] = total


@kernel
def lengths(starts, ends, out):  # type: ignore[no-untyped-def]
    """How long each list is."""
    for v in range(np.uint64(len(starts))):
        out[v] = np.uint32(ends[v] - starts[v])


@kernel
def copy_lists(vertices, offsets, lists, found, found_payload):  # type: ignore[no-untyped-def]
    """Copy lists to where :func:`measure` says."""
    starts, neighbours, payload, width = (
        lists.starts, lists.neighbours, lists.payload, lists.width
    )  # fmt: skip
    last = len(vertices) - 1
    for i in range(len(vertices)):
        prefetch(neighbours, np.int64(starts[np.uint64(vertices[min(i + 8, last)])]))
        start = np.int64(starts[np.uint64(vertices[i])])
        begin = offsets[i]
        for k in range(offsets[i + 1] - begin):
            found[begin + k] = neighbours[start + k]
        for k in range((offsets[i + 1] - begin) * width):
            found_payload[begin * width + k] = payload[start * width + k]


@kernel
def load_sorted(part, begin, end, given, batch, lists):  # type: ignore[no-untyped-def]
    """Make the lists of rows that are ``given`` sorted by source and target, all of one part, where
    no list is yet. Of equal rows the first counts as new and the last has the properties; in a
    multigraph each is an edge. One pass counts what the pool must give at once, one copies. Returns
    how many edges there are.
    """
    pairs, rows, values, multi = given.pairs, given.rows, batch.values, lists.multi
    starts, ends, sizes = lists.starts, lists.ends, lists.sizes
    neighbours, payload = lists.neighbours, lists.payload
    high, wide = np.uint64(32), np.uint64(lists.width)
    base, edges = np.uint64(0), 0
    for copying in (False, True):
        total = np.uint64(0)
        i = begin
        while i < end:
            source = pairs[i] >> high
            u = source_of(pairs[i], part)
            at = base + total
            count = np.uint64(0)
            previous = ~pairs[i]
            while i < end and pairs[i] >> high == source:
                again = pairs[i] == previous and not multi
                if not again:
                    count += np.uint64(1)
                if copying:
                    to, row = at + count - np.uint64(1), np.uint64(rows[i])
                    batch.counts[row] = 0 if again else 1
                    neighbours[to] = np.uint32(pairs[i])
                    for k in range(wide):
                        payload[to * wide + k] = values[row * wide + k]
                previous = pairs[i]
                i += 1
            c = 1
            while SIZES[c] < count:
                c += 1
            if copying:
                starts[u] = at
                ends[u] = at + count
                sizes[u] = c
                edges += np.int64(count)
            total += SIZES[c]
        if not copying:
            base = np.uint64(atomic_add(lists.tops, 0, total))
    return edges


@kernel
def needed_places(degrees):  # type: ignore[no-untyped-def]
    """Entries of the chunks that lists of these lengths take."""
    total = np.uint64(0)
    for v in range(len(degrees)):
        c = 0
        while SIZES[c] < np.uint64(degrees[v]):
            c += 1
        total += SIZES[c]
    return total


@kernel
def place_lists(degrees, lists):  # type: ignore[no-untyped-def]
    """Take a chunk for each list that is to have this length, in the order of the vertices, and
    leave it empty; none has a chunk before.
    """
    at = lists.tops[0]
    for v in range(len(degrees)):
        c = 0
        while SIZES[c] < np.uint64(degrees[v]):
            c += 1
        if c:
            lists.starts[v] = lists.ends[v] = at
            lists.sizes[v] = c
            at += SIZES[c]
    lists.tops[0] = at


@kernel
def relay_lists(part, n, old, old_payload, lists):  # type: ignore[no-untyped-def]
    """Move the lists of one part from a pool that was left, in the order of their vertices."""
    starts, ends, sizes = lists.starts, lists.ends, lists.sizes
    neighbours, payload = lists.neighbours, lists.payload
    block, wide = 1 << BLOCK_BITS, np.uint64(lists.width)
    total = np.uint64(0)
    for first in range(part * block, n, PARTS * block):
        for v in range(first, min(first + block, n)):
            total += SIZES[sizes[v]]
    at = np.uint64(atomic_add(lists.tops, 0, total))
    for first in range(part * block, n, PARTS * block):
        for v in range(first, min(first + block, n)):
            if sizes[v] == 0:
                continue
            begin, count = starts[v], ends[v] - starts[v]
            for k in range(count):
                neighbours[at + k] = old[begin + k]
            for k in range(count * wide):
                payload[at * wide + k] = old_payload[begin * wide + k]
            starts[v] = at
            ends[v] = at + count
            at += SIZES[sizes[v]]


@kernel
def relay_indexes(part, n, old_slots, old_marks, lists):  # type: ignore[no-untyped-def]
    """Move the indexes of one part from a pool that was left, in the order of their vertices."""
    index_at, indexes, slots, marks = lists.index_at, lists.indexes, lists.slots, lists.marks
    block, double = 1 << BLOCK_BITS, np.uint64(lists.multi)
    total = np.uint64(0)
    for first in range(part * block, n, PARTS * block):
        for v in range(first, min(first + block, n)):
            total += INDEX_SIZES[indexes[v]] << double
    at = np.uint64(atomic_add(lists.tops, 1, total))
    for first in range(part * block, n, PARTS * block):
        for v in range(first, min(first + block, n)):
            begin, size = index_at[v], INDEX_SIZES[indexes[v]] << double
            for k in range(size):
                slots[at + k] = old_slots[begin + k]
                marks[at + k] = old_marks[begin + k]
            index_at[v] = at
            at += size


@kernel
def live_chunks(sizes, indexes, multi):  # type: ignore[no-untyped-def]
    """Entries of all chunks of lists, slots of all chunks of indexes."""
    entries = slots = np.uint64(0)
    for v in range(len(sizes)):
        entries += SIZES[sizes[v]]
        slots += INDEX_SIZES[indexes[v]] << np.uint64(multi)
    return entries, slots


@kernel
def measure_probes(index_at, indexes, marks, histogram):  # type: ignore[no-untyped-def]
    """Count entries of indexes by their distance from home; returns the worst average of one."""
    worst = 0.0
    for v in range(len(indexes)):
        if indexes[v] == 0:
            continue
        total = entries = 0
        at = index_at[v]
        for k in range(INDEX_SIZES[indexes[v]]):
            mark = marks[at + k]
            if mark != 0 and mark < 128:
                histogram[mark - 1] += 1
                total += np.int64(mark) - 1
                entries += 1
        if entries:
            worst = max(worst, total / entries)
    return worst

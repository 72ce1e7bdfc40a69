"""Peeling edges: loops over the lists of earlier and of later neighbours.

An edge is a place in the lists of earlier neighbours: ``neighbours[e]`` and ``owners[e]`` are its
ends, the smaller one first. The later neighbours of a vertex u stand in
``later[later_offsets[u] : later_offsets[u + 1]]``, ascending, and ``later_edges`` has the edge of
each. ``counts[e]`` is how many triangles of the edges that are left e is in; while it is peeled
beside others it has the mark PEELING as well, and once it is gone it is GONE and the level at which
it went.
"""

from __future__ import annotations

import numpy as np

from penstock.jit import atomic_add, helper, kernel

PEELING, GONE = np.uint32(1 << 30), np.uint32(1 << 31)
#: What a count is without marks.
COUNT = np.uint32((1 << 30) - 1)
#: Bits of a row for each neighbour, at least.
BITS = 6
#: Edges that a thread takes at a time.
HANDFUL = 32


# Lists


@helper
def _place(entries, low, high, value):  # type: ignore[no-untyped-def]
    """Where the first entry of an ascending list is that is not below a value."""
    one = np.uint64(1)
    while low < high:
        middle = (low + high) >> one
        if entries[middle] < value:
            low = middle + one
        else:
            high = middle
    return low


@kernel
def set_owners(begin, end, offsets, owners):  # type: ignore[no-untyped-def]
    """The later end of each edge."""
    for v in range(np.uint64(begin), np.uint64(end)):
        owners[offsets[v] : offsets[v + np.uint64(1)]] = v


@kernel
def count_later(begin, end, neighbours, places):  # type: ignore[no-untyped-def]
    """Count the later neighbours of u at ``places[u + 2]``."""
    for e in range(np.uint64(begin), np.uint64(end)):
        atomic_add(places, np.uint64(neighbours[e]) + np.uint64(2), np.uint64(1))


@kernel
def fill_later(low, high, offsets, neighbours, places, later, later_edges):  # type: ignore[no-untyped-def]
    """Write the later neighbours of vertices low to high. ``places[u + 1]`` is where the next one
    of u goes: in the end, where its list ends.
    """
    one, low, high = np.uint64(1), np.uint64(low), np.uint64(high)
    for v in range(low, np.uint64(len(offsets)) - one):
        stop = np.uint64(offsets[v + one])
        e = _place(neighbours, np.uint64(offsets[v]), stop, low)
        while e < stop and neighbours[e] < high:
            u = np.uint64(neighbours[e])
            at = places[u + one]
            later[at] = v
            later_edges[at] = e
            places[u + one] = at + one
            e += one


@kernel
def count_left(begin, end, offsets, counts, ends):  # type: ignore[no-untyped-def]
    """How many of the earlier edges of v are left, at ``ends[v + 1]``."""
    one = np.uint64(1)
    for v in range(np.uint64(begin), np.uint64(end)):
        left = np.uint64(0)
        for e in range(np.uint64(offsets[v]), np.uint64(offsets[v + one])):
            left += np.uint64(counts[e] < GONE)
        ends[v + one] = left


@kernel
def move_left(  # type: ignore[no-untyped-def]
    begin, end, offsets, neighbours, counts, origins, is_first, to, neighbours2, counts2, origins2
):
    """Copy the edges that are left to new lists, with where they were in the very first ones."""
    one = np.uint64(1)
    for v in range(np.uint64(begin), np.uint64(end)):
        at = np.uint64(to[v])
        for e in range(np.uint64(offsets[v]), np.uint64(offsets[v + one])):
            if counts[e] < GONE:
                neighbours2[at] = neighbours[e]
                counts2[at] = counts[e]
                origins2[at] = e if is_first else np.uint64(origins[e])
                at += one


@kernel
def give_levels(begin, end, counts, origins, first_counts):  # type: ignore[no-untyped-def]
    """Copy what became of edges to their places in the very first lists."""
    for e in range(np.uint64(begin), np.uint64(end)):
        first_counts[origins[e]] = counts[e]


@kernel
def finish(begin, end, counts, level):  # type: ignore[no-untyped-def]
    """Make trussness of levels; edges that are left get that of a level."""
    for e in range(np.uint64(begin), np.uint64(end)):
        gone = counts[e] >= GONE
        counts[e] = (counts[e] & COUNT if gone else np.uint32(level)) + np.uint32(2)


@kernel
def measure_rows(begin, end, offsets, later_offsets, rows):  # type: ignore[no-untyped-def]
    """How many words of bits each vertex gets: a power of two."""
    one = np.uint64(1)
    for v in range(np.uint64(begin), np.uint64(end)):
        size = np.uint64(offsets[v + one]) - np.uint64(offsets[v])
        size += later_offsets[v + one] - later_offsets[v]
        words = np.uint64(size > 0)
        while words * np.uint64(64) < size * np.uint64(BITS):
            words += words
        rows[v + one] = words


@kernel
def fill_rows(begin, end, offsets, neighbours, later_offsets, later, rows, bits):  # type: ignore[no-untyped-def]
    """Set the bits of the neighbours of each vertex, which are the last digits of their numbers."""
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    for v in range(np.uint64(begin), np.uint64(end)):
        row, mask = rows[v], ((rows[v + one] - rows[v]) << six) - one
        for e in range(np.uint64(offsets[v]), np.uint64(offsets[v + one])):
            bit = np.uint64(neighbours[e]) & mask
            bits[row + (bit >> six)] |= one << (bit & low_bits)
        for e in range(later_offsets[v], later_offsets[v + one]):
            bit = np.uint64(later[e]) & mask
            bits[row + (bit >> six)] |= one << (bit & low_bits)


# Levels


@kernel
def smallest(begin, end, counts):  # type: ignore[no-untyped-def]
    """The smallest count of the edges that are left; GONE or more if there are none."""
    least = np.uint32(0xFFFFFFFF)
    for e in range(np.uint64(begin), np.uint64(end)):
        least = min(least, counts[e])
    return least


@kernel
def find_low(begin, end, counts, level, queue, ends):  # type: ignore[no-untyped-def]
    """Put the edges that are in no more triangles than the level says at the end of a queue."""
    found = np.int64(0)
    for e in range(np.uint64(begin), np.uint64(end)):
        found += np.int64(counts[e] <= level)
    at = np.uint64(atomic_add(ends, 0, found))
    for e in range(np.uint64(begin), np.uint64(end)):
        if counts[e] <= level:
            queue[at] = e
            at += np.uint64(1)


# Triangles


@helper
def _seek(entries, low, high, value):  # type: ignore[no-untyped-def]
    """The same as :func:`_place`, in steps that double: for a value that is not far."""
    step = np.uint64(1)
    while low + step < high and entries[low + step] < value:
        low += step
        step += step
    return _place(entries, low, min(low + step + np.uint64(1), high), value)


@helper
def _triangles(  # type: ignore[no-untyped-def]
    edge, offsets, neighbours, owners, later_offsets, later, later_edges, rows, bits, counts, pairs
):
    """The other two edges of each triangle that an edge is in, none of which is gone. There are as
    many as its count says, which ends the search.

    The neighbours of one end are looked up in the row of bits of the other, which has more, and
    those that may be neighbours of both are then searched.
    """
    one, six, low_bits = np.uint64(1), np.uint64(6), np.uint64(63)
    found, most = np.uint64(0), np.uint64(counts[edge] & COUNT)
    if most == found:
        return found
    a, b = np.uint64(neighbours[edge]), np.uint64(owners[edge])
    if rows[a + one] - rows[a] < rows[b + one] - rows[b]:
        a, b = b, a
    row, mask = rows[a], ((rows[a + one] - rows[a]) << six) - one
    earlier, earlier_end = np.uint64(offsets[a]), np.uint64(offsets[a + one])
    after, after_end = later_offsets[a], later_offsets[a + one]
    for side in range(2):
        x, x_end = np.uint64(offsets[b]), np.uint64(offsets[b + one])
        if side:
            x, x_end = later_offsets[b], later_offsets[b + one]
        while x < x_end:
            c = np.uint64(later[x]) if side else np.uint64(neighbours[x])
            bit = c & mask
            if (bits[row + (bit >> six)] >> (bit & low_bits)) & one:
                e = np.uint64(later_edges[x]) if side else x
                if counts[e] < GONE:
                    f = edge
                    if c < a:
                        earlier = _seek(neighbours, earlier, earlier_end, c)
                        if earlier < earlier_end and neighbours[earlier] == c:
                            f = earlier
                    else:
                        after = _seek(later, after, after_end, c)
                        if after < after_end and later[after] == c:
                            f = np.uint64(later_edges[after])
                    if f != edge and counts[f] < GONE:
                        pairs[found, 0] = e
                        pairs[found, 1] = f
                        found += one
                        if found == most:
                            return found
            x += one
    return found


# Peeling


@kernel
def peel_alone(  # type: ignore[no-untyped-def]
    offsets, neighbours, owners, later_offsets, later, later_edges, rows, bits, counts,
    queue, head, tail, level, many,
):  # fmt: skip
    """Peel the edges of a queue one after another, and those that come down to the level, until
    none or ``many`` wait: where the queue begins and ends then.
    """
    pairs = np.empty((np.uint64(level) + np.uint64(1), 2), np.uint64)
    one = np.uint64(1)
    begin, end = np.uint64(head), np.uint64(tail)
    while begin < end and end - begin < many:
        edge = np.uint64(queue[begin])
        begin += one
        found = _triangles(
            edge, offsets, neighbours, owners, later_offsets, later, later_edges, rows, bits,
            counts, pairs,
        )  # fmt: skip
        counts[edge] = GONE | level
        for k in range(found):
            for side in range(2):
                other = pairs[k, side]
                count = counts[other]
                counts[other] = count - np.uint32(1)
                if count == level + np.uint32(1):
                    queue[end] = other
                    end += one
    return begin, end


@kernel
def mark(begin, end, queue, counts, level):  # type: ignore[no-untyped-def]
    """Edges of a queue are about to be peeled."""
    for k in range(np.uint64(begin), np.uint64(end)):
        counts[queue[k]] |= PEELING


@kernel
def leave(begin, end, queue, counts, level):  # type: ignore[no-untyped-def]
    """Edges of a queue are peeled."""
    for k in range(np.uint64(begin), np.uint64(end)):
        counts[queue[k]] = GONE | level


@kernel
def peel_together(  # type: ignore[no-untyped-def]
    claims, offsets, neighbours, owners, later_offsets, later, later_edges, rows, bits, counts,
    queue, head, tail, level, ends,
):  # fmt: skip
    """Peel the edges of a queue beside other threads; those that come down to the level go to its
    end, ``ends[0]``. A triangle goes once: of two of its edges that are peeled now, with the
    smaller; what is peeled now is not counted down.
    """
    pairs = np.empty((np.uint64(level) + np.uint64(1), 2), np.uint64)
    minus_one = np.uint32(0xFFFFFFFF)
    while True:
        begin = np.int64(head) + atomic_add(claims, 0, np.int64(HANDFUL))
        if begin >= np.int64(tail):
            break
        for i in range(np.uint64(begin), np.uint64(min(begin + HANDFUL, np.int64(tail)))):
            edge = np.uint64(queue[i])
            found = _triangles(
                edge, offsets, neighbours, owners, later_offsets, later, later_edges, rows, bits,
                counts, pairs,
            )  # fmt: skip
            for k in range(found):
                e, f = pairs[k, 0], pairs[k, 1]
                e_goes, f_goes = counts[e] >= PEELING, counts[f] >= PEELING
                if (e_goes and (f_goes or e < edge)) or (f_goes and f < edge):
                    continue
                for side in range(2):
                    if f_goes if side else e_goes:
                        continue
                    other = f if side else e
                    if atomic_add(counts, other, minus_one) == level + np.uint32(1):
                        queue[atomic_add(ends, 0, np.int64(1))] = other

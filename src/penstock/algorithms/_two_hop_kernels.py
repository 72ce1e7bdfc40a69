"""The kernels of two-hop neighbourhoods: see :mod:`penstock.algorithms._two_hop`.

The middles of a range come as six arguments: its first target and the one after its last, the
``places`` of the parts of lists that are in the range, their ``entries``, the rows of bits, and how
many targets of the range have an edge to them. The part of middle u is ``entries[places[2 * u] :
places[2 * u + 1]]``; if the end is before the beginning it is a row, and the beginning its number,
from 1 on. Target w is bit w % 32 of word w // 32 of a row or a bit set, counted from the first.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.window_kernels import lower_bound
from penstock.jit import atomic_add, count_ones, helper, kernel, prefetch

#: Neighbours whose parts are on their way into the cache.
AHEAD = 8
#: Vertices that are taken at a time.
CLAIM = 16


@kernel
def count_targets(block, begin, end, counts):  # type: ignore[no-untyped-def]
    """Count how often each vertex is in lists."""
    first = np.uint64(block.first)
    low = np.uint64(block.offsets[np.uint64(begin) - first])
    high = np.uint64(block.offsets[np.uint64(end) - first])
    for k in range(low, high):
        atomic_add(counts, np.uint64(block.neighbours[k]), np.uint32(1))


@kernel
def weigh(counts, begin, degrees):  # type: ignore[no-untyped-def]
    """How many paths of two edges have one of some vertices in the middle, by the degrees of those
    from ``begin`` on; and the vertex after the last that is a target.
    """
    paths, last = 0.0, 0
    for k in range(len(degrees)):
        paths += float(counts[begin + k]) * float(degrees[k])
        if counts[begin + k] > 0:
            last = begin + k + 1
    return paths, last


@kernel
def reach(counts, low, last, width, most, entry_bytes, word_bytes, room):  # type: ignore[no-untyped-def]
    """Where a range ends that begins with ``low``; its entries; and its targets that have any. It
    has at most ``width`` targets, and unless it is one target, at most so many entries, and so much
    room for entries and for words of 32 bits.
    """
    w, entries, reached = low, np.int64(0), np.int64(0)
    while w < last and w - low < width:
        more = entries + np.int64(counts[w])
        size = entry_bytes * more + word_bytes * ((w - low) // 32 + 1)
        if (more > most or size > room) and w > low:
            break
        entries = more
        reached += counts[w] > 0
        w += 1
    return w, entries, reached


@kernel
def find_parts(begin, end, offsets, neighbours, low, high, places):  # type: ignore[no-untyped-def]
    """Where the parts of sorted lists are that are in a range."""
    one = np.uint64(1)
    for v in range(np.uint64(begin), np.uint64(end)):
        edge, stop = np.uint64(offsets[v]), np.uint64(offsets[v + one])
        edge = lower_bound(neighbours, edge, stop, low)
        places[v + v] = edge
        places[v + v + one] = lower_bound(neighbours, edge, stop, high)


@kernel
def keep_parts(block, begin, end, low, high, in_order, done, places, entries):  # type: ignore[no-untyped-def]
    """Append the parts of lists that are in a range. Blocks come in order; a list may go on in the
    next one. ``done``: the vertex after the last whose list has begun, and where its part ends.
    """
    first, one, place = np.uint64(block.first), np.uint64(1), np.uint64(done[1])
    neighbours, goes_on = block.neighbours, np.uint64(begin) < np.uint64(done[0])
    for v in range(np.uint64(begin), np.uint64(end)):
        edge = np.uint64(block.offsets[v - first])
        stop = np.uint64(block.offsets[v - first + one])
        if not goes_on:
            places[v + v] = place
        if in_order:
            edge = lower_bound(neighbours, edge, stop, low)
        while edge < stop:
            w = np.uint64(neighbours[edge])
            if w >= low and w < high:
                entries[place] = w
                place += one
            elif in_order:
                break
            edge += one
        places[v + v + one] = place
    done[0], done[1] = end, place


@kernel
def mark_parts(block, begin, end, target, in_order, done, places):  # type: ignore[no-untyped-def]
    """The same for a range of one target, whose entries are all alike: the part of a list is the
    only entry that there is, or nothing.
    """
    first, one, zero = np.uint64(block.first), np.uint64(1), np.uint64(0)
    neighbours, goes_on = block.neighbours, np.uint64(begin) < np.uint64(done[0])
    for v in range(np.uint64(begin), np.uint64(end)):
        edge = np.uint64(block.offsets[v - first])
        stop = np.uint64(block.offsets[v - first + one])
        if not goes_on:
            places[v + v] = places[v + v + one] = zero
        if in_order:
            edge = lower_bound(neighbours, edge, stop, target)
            stop = min(stop, edge + one)
        while edge < stop:
            if np.uint64(neighbours[edge]) == target:
                places[v + v + one] = one
                break
            edge += one
    done[0] = end


@kernel
def count_thick(begin, end, places, least):  # type: ignore[no-untyped-def]
    """How many parts have more entries than that."""
    count, one = np.int64(0), np.uint64(1)
    for v in range(np.uint64(begin), np.uint64(end)):
        count += np.uint64(places[v + v + one]) - np.uint64(places[v + v]) > least
    return count


@kernel
def make_rows(begin, end, low, high, places, entries, rows, reached, least, numbers):  # type: ignore[no-untyped-def]
    """Turn parts that have more entries than that into rows, with the next of the ``numbers``."""
    five, low_bits, one = np.uint64(5), np.uint64(31), np.uint64(1)
    words = (high - low + low_bits) >> five
    for v in range(np.uint64(begin), np.uint64(end)):
        edge, stop = np.uint64(places[v + v]), np.uint64(places[v + v + one])
        if stop - edge > least:
            row = np.uint64(atomic_add(numbers, 0, np.uint32(1)))
            places[v + v], places[v + v + one] = row + one, 0
            for k in range(edge, stop):
                w = np.uint64(entries[k]) - low
                rows[row * words + (w >> five)] |= np.uint32(one << (w & low_bits))


@helper
def _ones(bits, words):  # type: ignore[no-untyped-def]
    """How many bits of the first words are set."""
    found = np.uint64(0)
    for j in range(words):
        found += np.uint64(count_ones(bits[j]))
    return found


@helper
def _unite(  # type: ignore[no-untyped-def]
    v, neighbours, edge, stop, low, high, places, entries, rows, reached, bits
):
    """Set the bits of all targets that are neighbours of v, or of those neighbours that are given:
    how many are set, and how many words this may have written to, at most.

    Rows come first. It stops when every target is there that any edge leads to: this is looked at
    after 16 rows, 32, 64, and so on.
    """
    five, low_bits, one = np.uint64(5), np.uint64(31), np.uint64(1)
    words, ahead = (high - low + low_bits) >> five, np.uint64(AHEAD)
    united, look, single, found = np.uint64(0), np.uint64(16), np.uint64(0), np.uint64(0)
    for k in range(edge, stop + one):
        if k + ahead < stop:
            u = np.uint64(neighbours[k + ahead])
            prefetch(places, u + u)
        u = v if k == stop else np.uint64(neighbours[k])
        begin, end = np.uint64(places[u + u]), np.uint64(places[u + u + one])
        if begin <= end:
            single += end - begin
            continue
        at = (begin - one) * words
        for j in range(words):
            bits[j] |= rows[at + j]
        united += one
        if united == look:
            look += look
            if _ones(bits, words) == reached:
                return reached, words
    if united:
        found = _ones(bits, words)
    written = words if united else min(single, words)
    if single == 0 or found == reached:
        return found, written
    for k in range(edge, stop + one):
        if k + ahead < stop:
            u = np.uint64(neighbours[k + ahead])
            prefetch(entries, np.uint64(places[u + u]))
        u = v if k == stop else np.uint64(neighbours[k])
        begin, end = np.uint64(places[u + u]), np.uint64(places[u + u + one])
        while begin < end:
            w = np.uint64(entries[begin]) - low
            old = bits[w >> five]
            new = old | np.uint32(one << (w & low_bits))
            bits[w >> five] = new
            found += np.uint64(new != old)
            begin += one
        if found == reached:
            break
    return found, written


@kernel
def unite(block, begin, end, low, high, places, entries, rows, reached, bits):  # type: ignore[no-untyped-def]
    """Set the bits of one vertex that its list, or a part of it, leads to."""
    first, v, one = np.uint64(block.first), np.uint64(begin), np.uint64(1)
    edge, stop = np.uint64(block.offsets[v - first]), np.uint64(block.offsets[v - first + one])
    _unite(v, block.neighbours, edge, stop, low, high, places, entries, rows, reached, bits)


@helper
def _has(bits, v, low, high):  # type: ignore[no-untyped-def]
    """1 if a vertex is one of the targets of the range that are set, else 0."""
    if v < low or v >= high:
        return np.uint64(0)
    w = v - low
    return (np.uint64(bits[w >> np.uint64(5)]) >> (w & np.uint64(31))) & np.uint64(1)


@kernel
def add_size(v, low, high, bits, sizes):  # type: ignore[no-untyped-def]
    """Add the targets that are set to the size of a vertex, without itself."""
    found = _ones(bits, np.uint64(len(bits))) - _has(bits, np.uint64(v), low, high)
    sizes[v] += np.int64(found)


@kernel
def add_sizes(  # type: ignore[no-untyped-def]
    block, begin, end, low, high, places, entries, rows, reached, bits, sizes
):
    """Add the targets within two edges of each vertex to its size. No bit is set before, nor is one
    afterwards.
    """
    _add_sizes(
        begin, end, block.first, block.offsets, block.neighbours, low, high, places, entries, rows,
        reached, bits, sizes,
    )  # fmt: skip


@kernel
def add_all_sizes(  # type: ignore[no-untyped-def]
    claims, offsets, neighbours, low, high, places, entries, rows, reached, sizes
):
    """The same for all vertices, some at a time."""
    bits = np.zeros((high - low + np.uint64(31)) >> np.uint64(5), np.uint32)
    total = np.int64(len(offsets)) - 1
    begin = atomic_add(claims, 0, CLAIM)
    while begin < total:
        _add_sizes(
            begin, min(begin + CLAIM, total), 0, offsets, neighbours, low, high, places, entries,
            rows, reached, bits, sizes,
        )  # fmt: skip
        begin = atomic_add(claims, 0, CLAIM)


@helper
def _add_sizes(  # type: ignore[no-untyped-def]
    begin, end, first, offsets, neighbours, low, high, places, entries, rows, reached, bits, sizes
):
    """If few bits are set, only their words are cleared."""
    first, five, one = np.uint64(first), np.uint64(5), np.uint64(1)
    words = (high - low + np.uint64(31)) >> five
    for v in range(np.uint64(begin), np.uint64(end)):
        edge = np.uint64(offsets[v - first])
        stop = np.uint64(offsets[v - first + one])
        if edge == stop:
            continue
        found, written = _unite(
            v, neighbours, edge, stop, low, high, places, entries, rows, reached, bits
        )
        sizes[v] += np.int64(found - _has(bits, v, low, high))
        if written == words:
            bits[:words] = 0
            continue
        for k in range(edge, stop + one):
            u = v if k == stop else np.uint64(neighbours[k])
            for e in range(np.uint64(places[u + u]), np.uint64(places[u + u + one])):
                bits[(np.uint64(entries[e]) - low) >> five] = 0


@kernel
def count_links(block, vertices, found, links):  # type: ignore[no-untyped-def]
    """Count the edges that lead from some vertices to each; those that had none are found."""
    first, one, count = np.uint64(block.first), np.uint64(1), np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        v = np.uint64(vertices[i])
        low = np.uint64(block.offsets[v - first])
        for k in range(low, np.uint64(block.offsets[v - first + one])):
            u = np.uint64(block.neighbours[k])
            if u != v and atomic_add(links, u, np.uint32(1)) == 0:
                found[count] = u
                count += one
    return count


@kernel
def count_paths(block, vertices, found, links, paths):  # type: ignore[no-untyped-def]
    """Count the edges that lead on from some vertices, each as often as edges lead to its vertex;
    those that had none are found.
    """
    first, one, count = np.uint64(block.first), np.uint64(1), np.uint64(0)
    for i in range(np.uint64(len(vertices))):
        u = np.uint64(vertices[i])
        low, weight = np.uint64(block.offsets[u - first]), np.int64(links[u])
        for k in range(low, np.uint64(block.offsets[u - first + one])):
            w = np.uint64(block.neighbours[k])
            if w != u and atomic_add(paths, w, weight) == 0:
                found[count] = w
                count += one
    return count


@kernel
def near(begin, end, chosen, links, paths):  # type: ignore[no-untyped-def]
    """The vertices of a range that edges or paths lead to."""
    count = np.uint64(0)
    for v in range(np.uint64(begin), np.uint64(end)):
        if links[v] or paths[v]:
            chosen[count] = v
            count += np.uint64(1)
    return count

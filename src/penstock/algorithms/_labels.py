"""Kernels of label propagation: the most frequent label among the neighbours of each vertex."""

from __future__ import annotations

import numpy as np

from penstock.jit import helper, kernel

#: Neighbours whose labels are counted in a short list; beyond, in a hash table.
FEW = 16
#: Slots of a hash table, at least.
SLOTS = 1024
#: Labels that are fetched together; a table has room for so many more than it should have.
HANDFUL = 128
#: Multiplied with it, numbers are spread over the upper half of 64 bits, too.
FACTOR = 0x9E3779B97F4A7C15


@kernel
def number(begin, end, labels):  # type: ignore[no-untyped-def]
    """Every vertex has its own number."""
    for v in range(np.uint64(begin), np.uint64(end)):
        labels[v] = v


@helper
def _slots(labels):  # type: ignore[no-untyped-def]
    """Slots of a hash table for so many labels: a power of two, a quarter of which stays empty."""
    slots = np.uint64(SLOTS)
    while np.uint64(3) * slots < np.uint64(4) * labels:
        slots *= np.uint64(2)
    return slots


@helper
def _longest(offsets, others, begin, end):  # type: ignore[no-untyped-def]
    """How many edges the vertex that has most has, in both lists together."""
    longest = np.uint64(0)
    for v in range(begin, end):
        longest = max(longest, np.uint64(offsets[v + 1] - offsets[v] + others[v + 1] - others[v]))
    return longest


@kernel
def vote(begin, end, base, offsets, neighbours, others, other_neighbours, labels, new):  # type: ignore[no-untyped-def]
    """The most frequent label among the neighbours of vertices, the smallest of equally frequent
    ones; how many differ from before. Entry 0 of ``offsets`` (and ``others``, the offsets of lists
    that count as well) belongs to vertex ``base``.

    Labels are fetched a handful at a time and counted run by run, and the best so far is kept; once
    it has more than half of the list, no other can come up to it. The keys of the hash table carry
    the number of the vertex's turn, so that it is empty again for the next one. As many slots are
    used as a vertex needs that is like the one before; if they do not do, it has another turn.
    """
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    high = np.uint64(32)
    few_labels, few_counts = np.empty(FEW, np.uint32), np.empty(FEW, np.uint32)
    fetched, handful = np.empty(HANDFUL + 1, np.uint32), np.uint64(HANDFUL)
    size = _slots(_longest(offsets, others, begin, end))
    keys, counts = np.zeros(size, np.uint64), np.zeros(size, np.uint32)
    turn, share, changed = np.uint64(0), 0.0, 0
    v = np.uint64(begin)
    while v < np.uint64(end):
        edge, last = np.uint64(offsets[v]), np.uint64(offsets[v + one])
        other, other_last = np.uint64(others[v]), np.uint64(others[v + one])
        degree = last - edge + other_last - other
        mine = labels[np.uint64(base) + v]
        best, most, distinct = mine, np.uint32(0), np.uint64(0)
        turn += one
        mask = _slots(np.uint64(share * degree)) - one
        while two * np.uint64(most) <= degree and four * distinct <= three * mask:
            if edge < last:
                length = min(handful, last - edge)
                for i in range(length):
                    fetched[i] = labels[neighbours[edge + i]]
                edge += length
            elif other < other_last:
                length = min(handful, other_last - other)
                for i in range(length):
                    fetched[i] = labels[other_neighbours[other + i]]
                other += length
            else:
                break
            # One more, which ends the last run.
            fetched[length] = ~fetched[length - one]
            label, run = fetched[0], np.uint32(1)
            for i in range(one, length + one):
                if fetched[i] == label:
                    run += np.uint32(1)
                    continue
                slot = np.uint64(0)
                if degree <= np.uint64(FEW):
                    while slot < distinct and few_labels[slot] != label:
                        slot += one
                    if slot == distinct:
                        few_labels[slot], few_counts[slot] = label, np.uint32(0)
                        distinct += one
                    few_counts[slot] += run
                    count = few_counts[slot]
                else:
                    key = (turn << high) | np.uint64(label)
                    slot = (np.uint64(label) * np.uint64(FACTOR) >> high) & mask
                    while keys[slot] != key and keys[slot] >> high == turn:
                        slot = (slot + one) & mask
                    if keys[slot] != key:
                        keys[slot], counts[slot] = key, np.uint32(0)
                        distinct += one
                    counts[slot] += run
                    count = counts[slot]
                if count > most or (count == most and label < best):
                    best, most = label, count
                label, run = fetched[i], np.uint32(1)
        if four * distinct > three * mask and share < 1.0:
            share = 1.0
            continue
        if degree > np.uint64(FEW):
            share = np.float64(distinct) / np.float64(degree)
        new[np.uint64(base) + v] = best
        changed += best != mine
        v += one
    return changed

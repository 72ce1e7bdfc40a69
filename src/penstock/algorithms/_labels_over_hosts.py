"""Labels of components, joined over several hosts: each links its own lists, and then the labels of
others.

Most vertices have the label of the largest component or their own number as label. So labels are
sent as bits (which vertices have the most frequent label) and as a list of the other vertices whose
label is not their own number.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from penstock.algorithms._trees import link
from penstock.engine.engine import Engine
from penstock.engine.joining import join_in_pairs
from penstock.engine.peers import Arrays
from penstock.jit import count_ones, kernel
from penstock.types import U32, U64, VID, Array

#: Entries that are looked at to find the most frequent label.
SAMPLES = 1 << 10


def join_labels(engine: Engine, labels: U32) -> None:
    """Afterwards vertices that had the same label on any host have the same label on all hosts. A
    label is its own label, before and after.
    """
    join_in_pairs(
        engine, give=partial(_pack, engine, labels), merge=partial(_merge, engine, labels),
        take=partial(_unpack, engine, labels),
    )  # fmt: skip


def most_frequent(labels: U32) -> tuple[int, float]:
    """The most frequent label among evenly spaced vertices, and its share of them."""
    sample = labels[:: max(1, len(labels) // SAMPLES)]
    if len(sample) == 0:
        return -1, 1.0
    names, counts = np.unique(sample, return_counts=True)
    top = int(np.argmax(counts))
    return int(names[top]), float(counts[top] / len(sample))


@kernel
def compress(begin, end, labels):  # type: ignore[no-untyped-def]
    """Each vertex gets the label that its own leads to."""
    for v in range(np.uint64(begin), np.uint64(end)):
        label = labels[v]
        above = labels[label]
        while above != label:
            label = above
            above = labels[label]
        labels[v] = label


def _pack(engine: Engine, labels: U32) -> Arrays:
    top = max(most_frequent(labels)[0], 0)
    bits: U64 = np.zeros(-(-len(labels) // 64), np.uint64)
    others: U32 = np.empty(len(labels), VID)
    count = engine.call(_encode, labels, np.uint32(top), bits, others)
    name: Array = np.array([top], np.uint32)
    chosen = others[:count].copy()
    return name, bits, chosen, labels[chosen]


def _merge(engine: Engine, labels: U32, top: U32, bits: U64, vertices: U32, theirs: U32) -> None:
    engine.map_ranges(_link_bits, labels, top[0], bits)
    engine.map_ranges(_link_pairs, labels, vertices, theirs, length=len(vertices))
    engine.map_ranges(compress, labels)


def _unpack(engine: Engine, labels: U32, top: U32, bits: U64, vertices: U32, theirs: U32) -> None:
    engine.map_ranges(_from_bits, labels, top[0], bits)
    labels[vertices] = theirs


@kernel
def _encode(labels, top, bits, others):  # type: ignore[no-untyped-def]
    """Set the bits of vertices with the label ``top``, and list those with another that is not
    their own; how many.
    """
    count, six, zero, one = np.uint64(0), np.uint64(6), np.uint64(0), np.uint64(1)
    for word in range(len(bits)):
        begin, found = np.uint64(word) << six, zero
        for v in range(begin, min(begin + np.uint64(64), np.uint64(len(labels)))):
            is_top = np.uint64(labels[v] == top)
            found |= is_top << (v - begin)
            others[count] = v
            count += np.uint64(labels[v] != v) & (one - is_top)
        bits[word] = found
    return count


@kernel
def _link_bits(begin, end, labels, top, bits):  # type: ignore[no-untyped-def]
    one, six = np.uint64(1), np.uint64(6)
    for word in range(np.uint64(begin) >> six, (np.uint64(end) + np.uint64(63)) >> six):
        left = bits[word]
        while left != np.uint64(0):
            v = (word << six) + count_ones(~left & (left - one))
            left &= left - one
            if labels[v] != labels[top]:
                link(labels, labels[v], labels[top])


@kernel
def _link_pairs(begin, end, labels, vertices, theirs):  # type: ignore[no-untyped-def]
    for k in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(vertices[k])
        if labels[v] != theirs[k]:
            link(labels, labels[v], theirs[k])


@kernel
def _from_bits(begin, end, labels, top, bits):  # type: ignore[no-untyped-def]
    one, six = np.uint64(1), np.uint64(6)
    for v in range(np.uint64(begin), np.uint64(end)):
        is_top = bits[v >> six] >> (v & np.uint64(63)) & one
        labels[v] = top if is_top else np.uint32(v)

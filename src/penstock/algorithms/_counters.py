"""HyperLogLog counters: about how many different vertices were added, in a few bytes.

A counter is ``m = 2**b`` registers of a byte. A vertex is hashed to 64 bits: the lowest b choose a
register, and the number of zeros at the end of the others, plus 1, is what the register is raised
to. The union of two counters is the larger of each two registers, so that it does not matter in
which order, or how often, vertices are added. The standard error of an estimate is
``1.04 / sqrt(m)``; small numbers are counted by the registers that are still 0, and are better.

The hash is of the position of the user's id among all ids: the same graph has the same counters
however it is stored. Registers stay below 64, which leaves the top bit of each byte free for
comparing eight of them at once.

Flajolet, Fusy, Gandouet, Meunier: "HyperLogLog: the analysis of a near-optimal cardinality
estimation algorithm", AofA 2007.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from penstock.errors import OptionError
from penstock.jit import compare_and_swap, helper, kernel, prefetch
from penstock.types import U8, U64

F64 = NDArray[np.float64]

#: Fewer registers are not worth the name, more take more than lists do.
SMALLEST, LARGEST = 4, 14


def check_size(b: int) -> None:
    """Raise unless counters can have 2**b bytes."""
    if not SMALLEST <= b <= LARGEST:
        raise OptionError(f"b: expected {SMALLEST} to {LARGEST}, got {b}; a counter has 2**b bytes")


#: Registers that are compared together.
LINE = np.uint64(64)
#: Neighbours whose counters are on their way from memory.
AHEAD = np.uint64(8)
_TOPS = np.uint64(0x8080808080808080)
#: 2**-r for each value r of a register.
_POWERS: F64 = 2.0 ** -np.arange(256.0)


def places_of(ranks: U64, b: int, seed: int) -> tuple[U64, U8]:
    """The register of each vertex, and what it is raised to."""
    mixed = ranks + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % (1 << 64))
    # The finaliser of SplitMix64 (Steele, Lea, Flood, 2014).
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    rest = (mixed >> np.uint64(b)) | np.uint64(1 << (64 - b))
    lowest = rest & (~rest + np.uint64(1))
    return mixed & np.uint64((1 << b) - 1), (np.log2(lowest.astype(np.float64)) + 1).astype(
        np.uint8
    )


def estimates(registers: U8) -> F64:
    """The estimates of counters, a row each."""
    m = registers.shape[1]
    raw: F64 = scale(m) / _POWERS[registers].sum(axis=1)
    zeros = np.count_nonzero(registers == 0, axis=1)
    few = (raw <= 2.5 * m) & (zeros > 0)
    raw[few] = m * np.log(m / zeros[few])
    return raw


def scale(m: int) -> float:
    """What the harmonic mean of the registers is multiplied with."""
    known = {16: 0.673, 32: 0.697, 64: 0.709}
    return known.get(m, 0.7213 / (1 + 1.079 / m)) * m * m


@kernel
def add(vertices, places, heights, registers, m):  # type: ignore[no-untyped-def]
    """Put one vertex each into counters that are empty."""
    for k in range(len(vertices)):
        registers[np.uint64(vertices[k]) * np.uint64(m) + places[k]] = heights[k]


@helper
def _larger(a, b):  # type: ignore[no-untyped-def]
    """The larger of each two registers in two words of eight."""
    kept = ((a | _TOPS) - b) & _TOPS  # the top bit is left where a is not below b
    kept = kept - (kept >> np.uint64(7))
    return b ^ ((a ^ b) & kept)


@helper
def _estimate(registers, at, m, factor):  # type: ignore[no-untyped-def]
    total, zeros = 0.0, 0
    for j in range(at, at + m):
        total += _POWERS[registers[j]]
        zeros += np.int64(registers[j] == 0)
    found = factor / total
    if found <= 2.5 * m and zeros > 0:
        found = m * math.log(m / zeros)
    return found


@helper
def _unite(block, vertices, begin, end, old, new, changed, changing, m):  # type: ignore[no-untyped-def]
    """Each vertex, of a range or of some, unites its counter with those of its neighbours that
    have changed. Vertices whose counters change are marked.

    A block with one vertex may be a part of its list, and others work on the rest.
    """
    given = len(vertices) > 0
    offsets, neighbours = block.offsets, block.neighbours
    first, one, size = np.uint64(block.first), np.uint64(1), np.uint64(m)
    alone = len(offsets) == 2
    stop = np.uint64(len(neighbours))
    mine = np.empty(m, np.uint8)
    words, targets = mine.view(np.uint64), new.view(np.uint64)
    for i in range(np.uint64(begin), np.uint64(end)):
        v = np.uint64(vertices[i]) if given else i
        at = v * size
        touched = False
        for k in range(np.uint64(offsets[v - first]), np.uint64(offsets[v - first + one])):
            u = np.uint64(neighbours[k])
            if k + AHEAD < stop:
                prefetch(old, np.uint64(neighbours[k + AHEAD]) * size)
            if changed[u] == 0:
                continue
            if not touched:
                touched = True
                for j in range(size):
                    mine[j] = old[at + j]
            other = u * size
            if size < LINE:
                for j in range(size):
                    mine[j] = max(mine[j], old[other + j])
            # Loops of a length that the compiler knows become a few vector instructions.
            for part in range(np.uint64(0), size & ~(LINE - one), LINE):
                for j in range(LINE):
                    mine[part + j] = max(mine[part + j], old[other + part + j])
        if not touched:
            continue
        differs = np.uint8(0)
        for j in range(size):
            differs |= mine[j] ^ old[at + j]
        if differs == 0:
            continue
        changing[v] = 1
        if not alone:
            for j in range(size):
                new[at + j] = mine[j]
            continue
        for j in range(size >> np.uint64(3)):
            place = (at >> np.uint64(3)) + j
            had = targets[place]
            while True:
                wanted = _larger(had, words[j])
                if wanted == had:
                    break
                seen = compare_and_swap(targets, place, had, wanted)
                if seen == had:
                    break
                had = seen


@kernel
def unite_all(block, begin, end, old, new, changed, changing, m):  # type: ignore[no-untyped-def]
    """For all vertices of a range."""
    none = np.empty(0, np.uint32)
    _unite(block, none, begin, end, old, new, changed, changing, m)


@kernel
def unite_some(block, vertices, found, old, new, changed, changing, m):  # type: ignore[no-untyped-def]
    """For some vertices; nothing is found."""
    _unite(block, vertices, 0, len(vertices), old, new, changed, changing, m)
    return 0


@kernel
def settle(begin, end, old, new, changing, last, reached, entries, step, m, factor):  # type: ignore[no-untyped-def]
    """Count what has changed: ``old`` becomes like ``new`` there, and the new estimates are
    entries, with the vertex in the upper half. How many, and the sum of the estimates of all.
    """
    size = np.uint64(m)
    count, total = 0, 0.0
    pair = np.empty(1, np.float32)
    bits = pair.view(np.uint32)
    for v in range(np.uint64(begin), np.uint64(end)):
        if changing[v]:
            at = v * size
            for j in range(at, at + size):
                old[j] = new[j]
            last[v] = step
            pair[0] = _estimate(new, at, size, factor)
            reached[v] = pair[0]
            entries[count] = (v << np.uint64(32)) | np.uint64(bits[0])
            count += 1
        total += np.float64(reached[v])
    return count, total


@kernel
def choose_marked(begin, end, chosen, marks):  # type: ignore[no-untyped-def]
    """Vertices with a mark."""
    count = 0
    for v in range(np.uint64(begin), np.uint64(end)):
        if marks[v]:
            chosen[count] = v
            count += 1
    return count


@kernel
def cross(entries, step, share, reached, before, crossing):  # type: ignore[no-untyped-def]
    """From estimates at a step, where they passed a share of the last one: between the steps."""
    pair = np.empty(1, np.uint32)
    value = pair.view(np.float32)
    for k in range(len(entries)):
        v = entries[k] >> np.uint64(32)
        pair[0] = np.uint32(entries[k] & np.uint64(0xFFFFFFFF))
        now, then = np.float64(value[0]), np.float64(before[v])
        wanted = share * np.float64(reached[v])
        if then < wanted <= now:
            crossing[v] = step - 1 + (wanted - then) / (now - then)
        before[v] = value[0]

"""Sample sort of edges: sample, splitters, buckets; then each bucket on its own.

An edge is one 64-bit key, ``source << shift | target``. Bucket b has the keys from ``lows[b]`` up
to the next one's low, and keeps them relative to its low in as few bytes as its range needs. Within
a bucket rows stay in input order until they are sorted, which the duplicate rules rely on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penstock.errors import InputError
from penstock.ingest.packing import unpack, width_of
from penstock.jit import inlined, kernel
from penstock.types import I64, U8, U32, U64, Adjacency, Array

DuplicateRule = Literal["keep", "first", "last", "min", "max", "sum"]
_RULE_CODES = {"keep": 0, "first": 1, "last": 2, "min": 3, "max": 4, "sum": 5}


@dataclass(frozen=True, slots=True)
class KeySpec:
    """How edges of a graph become keys."""

    num_vertices: int
    #: Both orientations of each edge, for undirected graphs.
    mirrored: bool

    @property
    def shift(self) -> int:
        """Bits of the target."""
        return max(1, (self.num_vertices - 1).bit_length())

    @property
    def stop(self) -> int:
        """One more than the largest key."""
        return self.num_vertices << self.shift


@dataclass(frozen=True, slots=True)
class Buckets:
    """The ranges of keys; ``lows[0]`` is 0."""

    lows: U64
    stop: int
    widths: I64
    #: Where to begin looking for the bucket of a key.
    cells: Array

    def range_of(self, bucket: int) -> tuple[int, int]:
        """First key of a bucket, and first key after it."""
        last = bucket + 1 == len(self.lows)
        return int(self.lows[bucket]), self.stop if last else int(self.lows[bucket + 1])


def make_buckets(samples: U64, num_buckets: int, start: int, stop: int, align: int = 0) -> Buckets:
    """Splitters from a sample of keys so that buckets get about equally many.

    ``align`` clears that many low bits of each splitter, so that no source is divided. A key (or
    source) that would fill more than one bucket gets one of its own.
    """
    ordered = np.sort(samples)
    picks: Any = (
        ordered[(np.arange(1, num_buckets) * len(ordered)) // num_buckets] if len(ordered) else []
    )
    lows = np.asarray(picks, np.uint64) >> np.uint64(align) << np.uint64(align)
    after = lows[1:][lows[1:] == lows[:-1]] + (np.uint64(1) << np.uint64(align))
    lows = np.unique(np.concatenate([lows, after]))
    lows = lows[(lows > np.uint64(start)) & (lows < np.uint64(stop))]
    lows = np.concatenate([np.array([start], np.uint64), lows])
    ends = np.append(lows[1:], np.uint64(stop))
    widths = np.array([width_of(int(b) - int(a) - 1) for a, b in zip(lows, ends, strict=True)])
    return Buckets(lows, stop, widths, _make_cells(lows))


@kernel
def make_keys(src, dst, table, target_table, first_id, shift, mirrored, drop_loops, keys, rows):  # type: ignore[no-untyped-def]
    """Keys of a chunk. ``table`` takes ids (less ``first_id``) to vertex numbers; empty: they are
    the numbers. ``target_table``, unless empty, says what stands in a key for a target (by vertex
    number). ``rows``, unless empty, receives the row each key comes from. Returns how many.
    """
    relabel = len(table) > 0
    by_rank = len(target_table) > 0
    track = len(rows) > 0
    bits = np.uint64(shift)
    count = 0
    for i in range(len(src)):
        u = src[i] - first_id
        v = dst[i] - first_id
        if u == v and drop_loops:
            continue
        if relabel:
            u = np.uint64(table[np.int64(u)])
            v = np.uint64(table[np.int64(v)])
        to = np.uint64(target_table[np.int64(v)]) if by_rank else v
        keys[count] = (u << bits) | to
        if track:
            rows[count] = i
        count += 1
        if mirrored and u != v:
            to = np.uint64(target_table[np.int64(u)]) if by_rank else u
            keys[count] = (v << bits) | to
            if track:
                rows[count] = i
            count += 1
    return count


#: Bits of a key, after its leading one, that choose a cell.
_CELL_BITS = 7


@inlined
def _cell(offset):  # type: ignore[no-untyped-def]
    """A number that grows with the offset, about in proportion to its logarithm: the exponent and
    the first bits of the fraction, as floating point has them.
    """
    return np.float64(offset + np.uint64(1)).view(np.int64) >> (52 - _CELL_BITS)


@kernel
def _make_cells(lows):  # type: ignore[no-untyped-def]
    """For each cell the last bucket that begins at or before every key of it."""
    first = _cell(np.uint64(0))
    cells = np.zeros(_cell(np.uint64(0xFFFFFFFFFFFFFFFE)) + 2 - first, np.uint16)
    bucket = 0
    for cell in range(len(cells)):
        while bucket + 1 < len(lows) and _cell(lows[bucket + 1] - lows[0]) - first < cell:
            bucket += 1
        cells[cell] = bucket
    return cells


@kernel
def _scatter(keys, rows, lows, cells, widths, starts, moved, out, order):  # type: ignore[no-untyped-def]
    """Group keys by bucket, in order, packed. ``starts`` receives each bucket's first byte; returns
    the keys in each.
    """
    num_buckets = len(lows)
    first = _cell(np.uint64(0))
    bucket = np.empty(len(keys), np.uint16)
    counts = np.zeros(num_buckets, np.int64)
    for i in range(len(keys)):
        b = np.int64(cells[_cell(keys[i] - lows[0]) - first])
        while b + 1 < num_buckets and lows[b + 1] <= keys[i]:
            b += 1
        bucket[i] = b
        counts[b] += 1
    row_at = np.zeros(num_buckets, np.int64)
    total = 0
    for b in range(num_buckets):
        row_at[b] = total
        total += counts[b]
    track = len(order) > 0
    for i in range(len(keys)):
        b = bucket[i]
        to = row_at[b]
        row_at[b] = to + 1
        moved[to] = keys[i] - lows[b]
        if track:
            order[to] = rows[i]
    at = 0
    row = 0
    for b in range(num_buckets):
        starts[b] = at
        width = widths[b]
        for _ in range(counts[b]):
            value = moved[row]
            row += 1
            for _k in range(width):
                out[at] = np.uint8(value & np.uint64(0xFF))
                value >>= np.uint64(8)
                at += 1
    starts[num_buckets] = at
    return counts


def scatter(
    keys: U64, rows: U32, columns: list[Array], buckets: Buckets
) -> list[tuple[int, list[U8]]]:
    """Divide the keys of a chunk among buckets: for each bucket its packed keys, then each
    column's values as bytes.
    """
    num_buckets = len(buckets.lows)
    starts: I64 = np.zeros(num_buckets + 1, np.int64)
    out: U8 = np.empty(len(keys) * int(buckets.widths.max()), np.uint8)
    order: U32 = np.empty(len(keys) if columns else 0, np.uint32)
    counts = _scatter(
        keys, rows, buckets.lows, buckets.cells, buckets.widths, starts, np.empty_like(keys), out,
        order,
    )  # fmt: skip
    moved = [column[order] for column in columns]
    row_ends = np.cumsum(counts)
    found = []
    for b in np.flatnonzero(counts):
        parts = [out[starts[b] : starts[b + 1]]]
        for column in moved:
            parts.append(column[row_ends[b] - counts[b] : row_ends[b]].view(np.uint8))
        found.append((int(b), parts))
    return found


@kernel
def _sort_pairs(keys, order, keys2, order2, bits):  # type: ignore[no-untyped-def]
    """Stable radix sort of keys with their rows; returns 1 if the result is in the second pair."""
    digit = 11
    passes = (bits + digit - 1) // digit
    mask = np.uint64((1 << digit) - 1)
    a, oa, b, ob = keys, order, keys2, order2
    counts = np.zeros(1 << digit, np.int64)
    for p in range(passes):
        shift = np.uint64(p * digit)
        counts[:] = 0
        for i in range(len(a)):
            counts[np.int64((a[i] >> shift) & mask)] += 1
        total = 0
        for d in range(len(counts)):
            here = counts[d]
            counts[d] = total
            total += here
        for i in range(len(a)):
            d = np.int64((a[i] >> shift) & mask)
            b[counts[d]] = a[i]
            ob[counts[d]] = oa[i]
            counts[d] += 1
        a, oa, b, ob = b, ob, a, oa
    return passes & 1


@kernel
def _unique(keys):  # type: ignore[no-untyped-def]
    """Drop repeats from sorted keys, in place; returns how many stay."""
    if len(keys) == 0:
        return 0
    count = 1
    for i in range(1, len(keys)):
        if keys[i] != keys[i - 1]:
            keys[count] = keys[i]
            count += 1
    return count


@kernel
def _pick(keys, order, weights, rule, picked, sums):  # type: ignore[no-untyped-def]
    """One row for each distinct key, by the rule; returns how many, or -1 if a sum of integers is
    too large. ``keys`` shrinks in place.
    """
    count = 0
    i = 0
    while i < len(keys):
        best = order[i]
        total = weights[best] if len(weights) else weights.dtype.type(0)
        j = i + 1
        while j < len(keys) and keys[j] == keys[i]:
            row = order[j]
            if rule == 2 or rule == 5:
                best = row
            if rule == 5:
                before = total
                total += weights[row]
                if (weights[row] > 0 and total < before) or (weights[row] < 0 and total > before):
                    return -1
            elif (rule == 3 and weights[row] < weights[best]) or (
                rule == 4 and weights[row] > weights[best]
            ):
                best = row
            j += 1
        keys[count] = keys[i]
        picked[count] = best
        if len(sums):
            sums[count] = total
        count += 1
        i = j
    return count


@kernel
def _lists(keys, base, shift, first, target_of, degrees, neighbours):  # type: ignore[no-untyped-def]
    """Sorted keys (less ``base``) as adjacency; returns how many are self-loops."""
    bits = np.uint64(shift)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    loops = 0
    for i in range(len(keys)):
        key = keys[i] + base
        u = key >> bits
        v = key & mask
        if len(target_of):
            v = np.uint64(target_of[np.int64(v)])
        loops += u == v
        degrees[np.int64(u - first)] += np.uint32(1)
        neighbours[i] = np.uint32(v)
    return loops


@dataclass(frozen=True, slots=True)
class SortSpec:
    """What is to be made of the rows of a bucket."""

    shift: int
    rule: DuplicateRule
    columns: dict[str, np.dtype[Any]]
    weight: str | None
    #: Lists in input order instead of ascending.
    input_order: bool
    #: What a target in a key stands for; empty: itself.
    target_of: U32

    @property
    def column_bytes(self) -> int:
        """Bytes of one row's columns."""
        return sum(dtype.itemsize for dtype in self.columns.values())


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a bucket: keys relative to ``low``, and columns."""

    low: int
    stop: int
    keys: U64
    columns: dict[str, Array]


def load_rows(blocks: list[U8], low: int, stop: int, spec: SortSpec) -> Rows:
    """Put the blocks of a bucket together again."""
    width = width_of(stop - low - 1)
    counts = [len(block) // (width + spec.column_bytes) for block in blocks]
    total = sum(counts)
    keys: U64 = np.empty(total, np.uint64)
    columns = {name: np.empty(total, dtype) for name, dtype in spec.columns.items()}
    row = 0
    for block, count in zip(blocks, counts, strict=True):
        at = count * width
        unpack(block[:at], width, 0, keys[row : row + count])
        for values in columns.values():
            size = count * values.dtype.itemsize
            values[row : row + count].view(np.uint8)[:] = block[at : at + size]
            at += size
        row += count
    return Rows(low, stop, keys, columns)


def widest(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that sums of numbers of a type are kept in."""
    if dtype.kind == "f":
        return np.dtype(np.float64)
    return np.dtype(np.uint64) if dtype == np.uint64 else np.dtype(np.int64)


def reduce_rows(rows: Rows, spec: SortSpec) -> tuple[Rows, U32 | None]:
    """Sort, and apply the duplicate rule. The second result says, for lists in input order, where
    in the input of this call each row was.
    """
    keys = rows.keys
    if not rows.columns and not spec.input_order:
        keys.sort()
        if spec.rule != "keep":
            keys = keys[: _unique(keys)]
        return Rows(rows.low, rows.stop, keys, {}), None
    order: U32 = np.arange(len(keys), dtype=np.uint32)
    keys2, order2 = np.empty_like(keys), np.empty_like(order)
    bits = max(1, (rows.stop - rows.low - 1).bit_length())
    if _sort_pairs(keys, order, keys2, order2, bits):
        keys, order = keys2, order2
    columns = rows.columns
    if spec.rule == "keep":
        return Rows(rows.low, rows.stop, keys, {k: v[order] for k, v in columns.items()}), order
    picked: U32 = np.empty(len(keys), np.uint32)
    weights = columns[spec.weight] if spec.weight is not None else np.empty(0, np.float64)
    sums = np.empty(len(keys) if spec.rule == "sum" else 0, weights.dtype)
    count = _pick(keys, order, weights, _RULE_CODES[spec.rule], picked, sums)
    if count < 0:
        raise InputError(
            "weight: those of one edge add up to more than 64 bits hold; give them as floats, or "
            "choose another duplicates= than 'sum' (--duplicates)"
        )
    picked = picked[:count]
    kept = {k: v[picked] for k, v in columns.items()}
    if spec.rule == "sum" and spec.weight is not None:
        kept[spec.weight] = sums[:count]
    return Rows(rows.low, rows.stop, keys[:count], kept), picked


def to_adjacency(rows: Rows, origin: U32 | None, spec: SortSpec) -> tuple[Adjacency, int]:
    """Sorted rows as the lists of the vertices their range covers, and the number of self-loops."""
    first = rows.low >> spec.shift
    last = (rows.stop - 1) >> spec.shift
    keys, columns = rows.keys, rows.columns
    degrees: U32 = np.zeros(last - first + 1, np.uint32)
    neighbours: U32 = np.empty(len(keys), np.uint32)
    loops = _lists(
        keys, np.uint64(rows.low), spec.shift, np.uint64(first), spec.target_of, degrees, neighbours
    )
    if spec.input_order:
        assert origin is not None
        source = (keys + np.uint64(rows.low)) >> np.uint64(spec.shift)
        order = np.lexsort((origin, source))
        neighbours = neighbours[order]
        columns = {name: values[order] for name, values in columns.items()}
    return Adjacency(first, degrees, neighbours, columns), int(loops)

"""What becomes of a bucket: sorted, rid of duplicates, turned into lists. See ``keys``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from penstock.errors import InputError
from penstock.jit import kernel
from penstock.sorting.rows import Rows, column_bytes, sort_keys
from penstock.types import U32, Adjacency, Array

DuplicateRule = Literal["keep", "first", "last", "min", "max", "sum"]
#: Lists that are made at once, unless there are many rows for them.
_PART_VERTICES = 1 << 20
_RULE_CODES = {"keep": 0, "first": 1, "last": 2, "min": 3, "max": 4, "sum": 5}


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
def _pick(keys, order, weights, rule, bounds, picked, sums):  # type: ignore[no-untyped-def]
    """One row for each distinct key, by the rule; returns how many, or -1 if a sum is not within
    ``bounds``. ``keys`` shrinks in place.
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
                weight = weights[row]
                if (weight > 0 and total > bounds[1] - weight) or (
                    weight < 0 and total < bounds[0] - weight
                ):
                    return -1
                total += weight
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
        return column_bytes(self.columns)


def widest(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that sums of numbers of a type are kept in."""
    if dtype.kind == "f":
        return np.dtype(np.float64)
    return np.dtype(np.uint64) if dtype == np.uint64 else np.dtype(np.int64)


def _bounds(dtype: np.dtype[Any]) -> Array:
    """The least and the greatest number of a type."""
    if dtype.kind == "f":
        return np.array([-np.inf, np.inf], dtype)
    return np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)


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
    keys, order = sort_keys(rows)
    columns = rows.columns
    if spec.rule == "keep":
        return Rows(rows.low, rows.stop, keys, rows.taken(order)), order
    picked: U32 = np.empty(len(keys), np.uint32)
    weights = columns[spec.weight] if spec.weight is not None else np.empty(0, np.float64)
    sums = np.empty(len(keys) if spec.rule == "sum" else 0, weights.dtype)
    count = _pick(
        keys, order, weights, _RULE_CODES[spec.rule], _bounds(weights.dtype), picked, sums
    )
    if count < 0:
        raise InputError(
            "weight: those of one edge add up to more than 64 bits hold; give them as floats, or "
            "choose another duplicates= than 'sum' (--duplicates)"
        )
    picked = picked[:count]
    kept = rows.taken(picked)
    if spec.rule == "sum" and spec.weight is not None:
        kept[spec.weight] = sums[:count]
    return Rows(rows.low, rows.stop, keys[:count], kept), picked


def to_lists(rows: Rows, origin: U32 | None, spec: SortSpec) -> Iterable[tuple[Adjacency, int]]:
    """Sorted rows as the lists of the vertices their range covers, and the number of self-loops.

    A range with many more vertices than rows comes in several parts, each made when it is asked
    for: lists without edges take memory, too.
    """
    first = rows.low >> spec.shift
    end = ((rows.stop - 1) >> spec.shift) + 1
    step = max(_PART_VERTICES, 4 * len(rows.keys))
    if end - first <= step:
        return [_to_adjacency(rows, origin, spec, first, end)]
    return _parts(rows, origin, spec, range(first, end, step), end)


def _parts(
    rows: Rows, origin: U32 | None, spec: SortSpec, firsts: range, end: int
) -> Iterator[tuple[Adjacency, int]]:
    begin = 0
    for first in firsts:
        stop_vertex = min(first + firsts.step, end)
        bound = (stop_vertex << spec.shift) - rows.low
        stop = int(np.searchsorted(rows.keys, np.uint64(bound)))
        some = Rows(
            rows.low,
            rows.stop,
            rows.keys[begin:stop],
            {name: values[begin:stop] for name, values in rows.columns.items()},
        )
        places = None if origin is None else origin[begin:stop]
        yield _to_adjacency(some, places, spec, first, stop_vertex)
        begin = stop


def _to_adjacency(
    rows: Rows, origin: U32 | None, spec: SortSpec, first: int, end: int
) -> tuple[Adjacency, int]:
    """The lists of the vertices from ``first`` to ``end``, whose rows these are."""
    keys, columns = rows.keys, rows.columns
    degrees: U32 = np.zeros(end - first, np.uint32)
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

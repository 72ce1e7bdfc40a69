"""Ids in ascending order, and which vertex each belongs to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from penstock.dynamic.base_kernels import is_ascending
from penstock.jit import kernel
from penstock.radix import sort_pairs
from penstock.types import NO_VERTEX, U32, Array

#: Ids up to this many times their number are put in order without sorting.
_DENSE = 4
#: Makes an array for what is put in order, in memory or in a file.
Empty = Callable[[int, DTypeLike], Array]


def order_ids(ids: Array, empty: Empty = np.empty) -> tuple[Array, U32 | None]:
    """Ids by vertex number (int64 of 0 or more, or strings) as :meth:`IdSource.in_order` of
    a view gives them; what is returned are copies.
    """
    if ids.dtype == object:
        order = np.argsort(ids, kind="stable").astype(np.uint32)
        return ids[order], order
    n = len(ids)
    if is_ascending(ids):
        ascending = empty(n, np.int64)
        ascending[:] = ids
        return ascending, None
    most = int(ids.max())
    order = empty(n, np.uint32)
    if most < _DENSE * n:
        places, ascending = empty(most + 1, np.uint32), empty(n, np.int64)
        places[:] = NO_VERTEX
        _order_dense(ids, places, ascending, order)
        return ascending, order
    keys, keys2, order2 = empty(n, np.uint64), empty(n, np.uint64), empty(n, np.uint32)
    _number(ids, keys, order)
    if sort_pairs(keys, order, keys2, order2, most.bit_length()):
        keys, order = keys2, order2
    return keys.view(np.int64), order


def extend_order(
    found: tuple[Array, U32 | None], ids: Array, empty: Empty = np.empty
) -> tuple[Array, U32 | None]:
    """What :func:`order_ids` gives for ids, going by what it gave for the first of them."""
    old, order = found
    n, have = len(ids), len(old)
    new, places = order_ids(ids[have:], empty)
    if order is None and places is None and (not have or old[-1] < new[0]):
        ascending = empty(n, old.dtype)
        ascending[:have], ascending[have:] = old, new
        return ascending, None
    if old.dtype == object:
        assert order is not None
        assert places is not None
        where = np.searchsorted(old, new)
        return np.insert(old, where, new), np.insert(order, where, places + np.uint32(have))
    ascending, whole = empty(n, np.int64), empty(n, np.uint32)
    none: U32 = np.empty(0, np.uint32)
    _merge_orders(
        old, none if order is None else order, new, none if places is None else places,
        ascending, whole,
    )  # fmt: skip
    return ascending, whole


@kernel
def _number(ids, keys, order):  # type: ignore[no-untyped-def]
    """The ids as they are sorted, and the vertex number of each."""
    for v in range(len(ids)):
        keys[v] = np.uint64(ids[v])
        order[v] = v


@kernel
def _merge_orders(old, order, new, places, ascending, whole):  # type: ignore[no-untyped-def]
    """Merge ids in ascending order; an empty order means that they ascend with the numbers."""
    have, a, b = len(old), 0, 0
    for k in range(len(ascending)):
        if b == len(new) or (a < have and old[a] < new[b]):
            ascending[k] = old[a]
            whole[k] = order[a] if len(order) > 0 else a
            a += 1
        else:
            ascending[k] = new[b]
            whole[k] = have + (places[b] if len(places) > 0 else b)
            b += 1


@kernel
def _order_dense(ids, places, ascending, order):  # type: ignore[no-untyped-def]
    """Put ids in order by having a place for each number up to the largest."""
    for v in range(np.uint64(len(ids))):
        places[np.uint64(ids[v])] = v
    to = np.uint64(0)
    for k in range(np.uint64(len(places))):
        # What is no id is written over by the next one; the last one is an id.
        ascending[to] = k
        order[to] = places[k]
        to += np.uint64(places[k] != NO_VERTEX)

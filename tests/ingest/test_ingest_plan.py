"""The division of memory, as numbers: no part is more than its share, and refusals can be met."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BudgetError
from penstock.ingest import plan
from penstock.sorting.buckets import Buckets, make_buckets, scatter
from penstock.sorting.packing import pack, unpack, width_of

BUDGETS = st.integers(16 << 20, 1 << 40)
THREADS = st.integers(1, 128)


@given(BUDGETS, THREADS, st.integers(0, 400))
def test_reading_stays_within_the_budget(budget: int, threads: int, column_bytes: int) -> None:
    found = plan.plan_read(budget, threads, column_bytes)
    row = plan.CHUNK_ROW_BYTES + 3 * column_bytes
    under_way = (threads + 2) * found.chunk_rows * row
    assert found.chunk_rows == 4096 or under_way <= budget // 4
    assert found.block_bytes == 1 << 16 or (threads + 2) * found.block_bytes <= budget // 4
    assert found.spool_bytes <= budget // 2


@given(
    BUDGETS, THREADS, st.integers(0, 2**33), st.integers(0, 10**12), st.integers(0, 400),
    st.integers(0, 1 << 20),
)  # fmt: skip
def test_sorting_stays_within_the_budget(
    budget: int, threads: int, num_ids: int, num_rows: int, column_bytes: int, max_rows: int
) -> None:
    def planned(budget: int) -> plan.SortPlan:
        return plan.plan_sort(budget, threads, num_ids, num_rows, column_bytes, max_rows=max_rows)

    try:
        found = planned(budget)
    except BudgetError as error:
        advice = re.search(r"at least memory='(\d+)MB'", str(error))
        assert advice is not None
        assert int(advice[1]) * 10**6 > budget
        budget = int(advice[1]) * 10**6
        found = planned(budget)
    under_way = (threads + 2) * max_rows * plan.CHUNK_ROW_BYTES
    assert 4 * num_ids + under_way + found.spool_bytes + found.bucket_bytes <= budget
    assert found.bucket_rows >= 1 << 10
    assert 1 <= found.num_buckets <= plan.MAX_BUCKETS
    sorting = (threads + 2) * found.bucket_rows * found.row_bytes
    assert found.bucket_rows == 1 << 10 or sorting + found.bucket_bytes <= budget - 4 * num_ids


KEYS = st.lists(st.integers(0, 2**63), max_size=60)


@settings(deadline=None)
@given(KEYS, KEYS, st.integers(1, 30), st.sampled_from([0, 3, 60]))
def test_buckets_cover_all_keys(
    sample: list[int], others: list[int], num_buckets: int, align: int
) -> None:
    """Every key goes to the bucket whose range it is in, and comes back in input order."""
    stop = 2**63 + 2**62
    buckets = make_buckets(np.array(sample, np.uint64), num_buckets, 0, stop, align)
    lows = [int(low) for low in buckets.lows]
    assert lows[0] == 0
    assert lows == sorted(set(lows))
    assert all(low % (1 << align) == 0 for low in lows)
    assert len(lows) <= 2 * num_buckets
    given_keys = np.array(sample + others, np.uint64)
    rows = np.arange(len(given_keys), dtype=np.uint32)
    column = rows.astype(np.int16)
    found = dict(scatter(given_keys, rows, [column], buckets))
    for bucket in range(len(lows)):
        low, end = buckets.range_of(bucket)
        inside = [i for i, key in enumerate(given_keys.tolist()) if low <= key < end]
        packed, values = found.pop(bucket, (np.empty(0, np.uint8), np.empty(0, np.uint8)))
        assert values.view(np.int16).tolist() == inside
        width = width_of(end - low - 1)
        assert unpack(packed, width, low).tolist() == given_keys[inside].tolist()
    assert found == {}


def test_heavy_key_has_a_bucket_of_its_own() -> None:
    sample = np.array([5] * 90 + [7, 9, 1000, 2000], np.uint64)
    ranges = _ranges(make_buckets(sample, 4, 0, 4096))
    assert (5, 6) in ranges
    # It is the first key of the range: no splitter lies below it, and yet it is set apart.
    assert (5, 6) in _ranges(make_buckets(sample, 4, 5, 4096))
    assert _ranges(make_buckets(sample, 4, 5, 6)) == [(5, 6)]
    assert (0, 16) in _ranges(make_buckets(sample, 4, 0, 4096, align=4))


def _ranges(buckets: Buckets) -> list[tuple[int, int]]:
    return [buckets.range_of(bucket) for bucket in range(len(buckets.lows))]


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=30), st.integers(1, 8))
def test_packing(values: list[int], width: int) -> None:
    small = [value % (1 << (8 * width)) for value in values]
    packed = pack(np.array(small, np.uint64), width)
    assert len(packed) == width * len(small)
    assert unpack(packed, width).tolist() == small


@pytest.mark.parametrize("largest", [0, 1, 255, 256, 2**32 - 1, 2**32, 2**63, 2**64 - 1])
def test_width(largest: int) -> None:
    width = width_of(largest)
    assert largest < 1 << (8 * width)
    assert width == 1 or largest >= 1 << (8 * (width - 1))


def test_cells_find_the_bucket() -> None:
    """The table that says where to begin looking never begins too late."""
    rng = np.random.default_rng(41)
    sample = (rng.random(3000) ** 8 * 2**62).astype(np.uint64)
    buckets = make_buckets(sample, plan.MAX_BUCKETS, 0, 2**62)
    wanted = np.searchsorted(buckets.lows, sample, side="right") - 1
    found = np.empty(len(sample), np.int64)
    rows = np.arange(len(sample), dtype=np.uint32)
    for bucket, (_, mine) in scatter(sample, rows, [rows], buckets):
        found[mine.view(np.uint32)] = bucket
    assert np.array_equal(found, wanted)

"""Sorting more pairs than there is room for, and grouping by key, on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.device import sorting
from penstock.device.cpu_sort import SHARED, CpuSorter
from penstock.device.sorting import choose_splitters, make_sorter, sort_pairs
from penstock.device.spec import Device
from penstock.errors import BudgetError, OptionError

VALUES = ["u1", "i2", "f4", "f8", "c8", "M8[s]", "?"]


class Recording(CpuSorter):
    """Remembers how many pairs came, and whether they fitted."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.sorted, self.divided, self.ranges = [], [], []

    def sort(self, jobs):
        most = self.limits(jobs[0].target[0].dtype, jobs[0].target[1].dtype)
        assert max(map(len, jobs)) <= (most.sorted if len(jobs) > 1 else most.alone)
        assert all(sum(len(keys) for keys, _ in job.pieces) == len(job) for job in jobs)
        self.sorted += map(len, jobs)
        self.ranges += [
            (min(keys.min() for keys, _ in job.pieces), max(keys.max() for keys, _ in job.pieces))
            for job in jobs
        ]
        super().sort(jobs)

    def divide(self, jobs, splitters):
        assert max(map(len, jobs)) <= self.limits(*(a.dtype for a in jobs[0].target)).divided
        self.divided.append(sum(map(len, jobs)))
        return super().divide(jobs, splitters)


def assert_sorts(keys, values, sorter, **options):
    order = np.argsort(keys, kind="stable")
    expected = keys[order], values[order]
    found = sort_pairs(keys, values, sorter, **options)
    for one, two in zip(found, expected, strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


@settings(max_examples=60)
@given(
    st.integers(0, 400), st.sampled_from([1, 7, 300, 1 << 32, 1 << 64]),
    st.sampled_from([np.uint32, np.uint64]), st.sampled_from(VALUES), st.integers(16, 3000),
    st.integers(1, 3), st.integers(0, 99),
)  # fmt: skip
def test_sorts_like_a_stable_sort(count, span, key, value, room, threads, seed):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, min(span, np.iinfo(key).max), count, key, endpoint=True)
    values = rng.integers(0, 256, count).astype(np.uint8).astype(value)
    assert_sorts(keys, values, CpuSorter(room * threads, threads), seed=seed)


@pytest.mark.parametrize("key", [np.uint32, np.uint64])
@pytest.mark.parametrize("room", [None, 64, 1000])
def test_shapes_of_keys(key, room):
    top, few = np.iinfo(key).max, np.arange(500, dtype=key)
    shapes = [
        few[:0], few[:1], few, few[::-1], np.full(500, top), np.full(500, 0),
        np.where(few % 3 == 0, few, key(7)),  # more of one key than a bucket has
        np.where(few % 2 == 0, key(0), top), top - few // 100, few % 2,
        few % 3 + 2047,  # two numbers may differ little, but in many bits
    ]  # fmt: skip
    for keys in shapes:
        keys = keys.astype(key)
        assert_sorts(keys, np.arange(len(keys), dtype=np.float64), CpuSorter(room))


def test_each_pair_is_divided_once_and_sorted_once():
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 1 << 40, 20_000, np.uint64)
    sorter = Recording(room=keys.nbytes // 2)
    assert_sorts(keys, keys.copy(), sorter)
    assert sorter.divided == [20_000]
    assert sum(sorter.sorted) == 20_000
    assert len(sorter.sorted) < 10
    lows, highs = zip(*sorter.ranges, strict=True)
    assert all(high < low for high, low in zip(highs[:-1], lows[1:], strict=True))


def test_what_fits_is_not_divided():
    keys = np.arange(1000, dtype=np.uint32)[::-1]
    sorter = Recording(room=8000)
    assert_sorts(keys, keys.copy(), sorter)
    assert (sorter.divided, sorter.sorted) == ([], [1000])
    sorter = Recording(room=7999)
    assert_sorts(keys, keys.copy(), sorter)
    assert sorter.divided == [1000]


def test_pairs_of_one_key_are_not_sorted():
    keys = np.full(1000, 5, np.uint32)
    keys[::10] = np.arange(100)
    sorter = Recording(room=800)
    assert_sorts(keys, np.arange(1000), sorter)
    assert sum(sorter.sorted) < 200
    sorter = Recording()
    assert_sorts(np.full(9, 1 << 31, np.uint32), np.arange(9), sorter)
    assert sorter.sorted == []


def test_more_buckets_than_there_may_be_are_made_in_two_steps(monkeypatch):
    monkeypatch.setattr(sorting, "MOST_BUCKETS", 4)
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 1 << 20, 3000, np.uint32)
    sorter = Recording(room=800)
    assert_sorts(keys, np.arange(3000, dtype=np.uint32), sorter)
    assert len(sorter.divided) > 4
    assert sum(sorter.sorted) == 3000


def test_threads_share_pairs_that_one_would_sort_at_once():
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 1 << 60, SHARED * 2, np.uint64)
    sorter = Recording(threads=2)
    assert_sorts(keys, keys.astype(np.float32), sorter)
    assert len(sorter.sorted) > 1


@pytest.mark.parametrize("room", [None, 600])
def test_the_result_may_take_the_place_of_the_input(room):
    rng = np.random.default_rng(6)
    keys, values = rng.integers(0, 50, 300, np.uint64), rng.random(300)
    order = np.argsort(keys, kind="stable")
    expected = keys[order], values[order]
    found = sort_pairs(keys, values, CpuSorter(room), out=(keys, values))
    assert found[0] is keys
    assert found[1] is values
    np.testing.assert_array_equal(keys, expected[0])
    np.testing.assert_array_equal(values, expected[1])


def test_arrays_with_gaps_and_of_others():
    rng = np.random.default_rng(6)
    keys, values = rng.integers(0, 50, 900, np.uint64)[::3], rng.random(600)[::2]
    keys.flags.writeable = values.flags.writeable = False
    assert_sorts(keys, values, CpuSorter(500))


@given(st.lists(st.integers(0, 20), min_size=1), st.integers(2, 30))
def test_splitters_make_progress(sample, parts):
    low, high = min(sample), max(max(sample), min(sample) + 1)
    found = choose_splitters(np.array(sample, np.uint32), parts, low, high)
    assert found.dtype == np.uint32
    assert len(found) >= 1
    assert (np.diff(found.astype(int)) > 0).all()
    assert low < found[0]
    assert found[-1] <= high


def test_a_frequent_key_gets_a_bucket_of_its_own():
    sample = np.array([1, 2, *[6] * 20, 8, 9], np.uint64)
    found = choose_splitters(sample, 6, 1, 9).tolist()
    assert 6 in found
    assert 7 in found


def test_splitters_share_keys_out_evenly():
    found = choose_splitters(np.arange(1000, dtype=np.uint32), 10, 0, 999)
    np.testing.assert_array_equal(found, np.arange(100, 1000, 100))


@given(st.lists(st.integers(0, 9)))
def test_compact(numbers):
    keys = np.sort(np.array(numbers, np.uint32))
    groups = CpuSorter().compact(keys)
    unique, firsts = np.unique(keys, return_index=True)
    np.testing.assert_array_equal(groups.unique, unique)
    np.testing.assert_array_equal(groups.firsts, [*firsts, len(keys)])
    assert groups.unique.dtype == np.uint32


def test_scan():
    assert CpuSorter().scan(np.array([3, 1, 2], np.uint8)).tolist() == [0, 3, 4, 6]
    assert CpuSorter().scan(np.empty(0, np.int32)).tolist() == [0]
    with pytest.raises(TypeError):
        CpuSorter().scan(np.ones(2))


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        (np.ones(2), np.ones(2), "keys: expected an array of uint32 or uint64, got 1 .* float64"),
        (np.ones((2, 2), np.uint32), np.ones(2), "keys: .* got 2 dimensions"),
        (np.ones(2, ">u4"), np.ones(2), "keys: .* >u4"),
        (np.ones(2, np.uint32), np.ones(2, complex), "values: .* positions instead"),
        (np.ones(2, np.uint32), np.array(["a", None], object), "values: .* got 1 .* object"),
        (np.ones(2, np.uint32), np.ones(3), "values: expected one for each of 2 keys, got 3"),
    ],
)
def test_arrays_that_cannot_be_sorted(keys, values, message):
    with pytest.raises(OptionError, match=message):
        sort_pairs(keys, values, CpuSorter())


@pytest.mark.parametrize(
    "out", [(np.empty(2, "u8"), np.empty(2)), (np.empty(2, "u4"), np.empty(3))]
)
def test_a_place_that_does_not_suit_the_result(out):
    with pytest.raises(
        OptionError, match=r"out: expected 2 (keys of uint32|values of float64), got"
    ):
        sort_pairs(np.ones(2, np.uint32), np.ones(2), CpuSorter(), out=out)


def test_no_room():
    pairs = np.ones(5, np.uint32), np.ones(5)
    with pytest.raises(BudgetError, match=r"room: 20 B is not enough .* 12 bytes with 2 threads"):
        sort_pairs(*pairs, CpuSorter(20, 2))


def test_sorters_of_devices():
    sorter = make_sorter(Device("cpu", threads=3, memory=99))
    assert (sorter.threads, sorter.room) == (3, 99)
    assert make_sorter(Device("cpu")).threads == 1


def test_an_iteration_of_gimv_as_two_stages():
    """PageRank by map, sort, compact, reduce: first by column, so that entries meet their entry of
    the vector; then by row.
    """
    n, damping = 60, 0.85
    matrix = sp.random(n, n, 0.1, random_state=1, format="coo")
    vector = np.random.default_rng(2).random(n)
    expected = (1 - damping) / n + damping * (matrix @ vector)
    sorter = CpuSorter(room=400)

    columns, places = sort_pairs(matrix.col.astype(np.uint32), np.arange(matrix.nnz), sorter)
    groups = sorter.compact(columns)
    of_entries = np.repeat(vector[groups.unique], np.diff(groups.firsts))
    combined = damping * matrix.data[places] * of_entries

    rows, combined = sort_pairs(matrix.row[places].astype(np.uint32), combined, sorter)
    groups = sorter.compact(rows)
    result = np.full(n, (1 - damping) / n)
    result[groups.unique] += np.add.reduceat(combined, groups.firsts[:-1])
    np.testing.assert_allclose(result, expected, rtol=1e-12)

"""Sorting pairs on a GPU, in the simulator: small arrays, small blocks."""

from __future__ import annotations

import cuda_compiling
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from penstock.device.cuda.sort import CudaSorter, _rotate
from penstock.device.sorting import make_sorter, sort_pairs
from penstock.device.spec import Device
from penstock.errors import BudgetError

pytestmark = pytest.mark.usefixtures("simulator")

#: Bytes for about 100 pairs of 16 bytes in each of three streams.
LITTLE = 12_000


def sorter_of(memory=None, **options):
    """One that remembers the most bytes it held."""
    sorter = make_sorter(Device("cuda", memory=memory, block=32, **options))
    sorter.peak = 0
    take = sorter.memory.array

    def array(*args):
        made = take(*args)
        sorter.peak = max(sorter.peak, sorter.memory.budget.used)
        return made

    sorter.memory.array = array
    return sorter


def assert_sorts(keys, values, sorter):
    order = np.argsort(keys, kind="stable")
    found = sort_pairs(keys, values, sorter)
    np.testing.assert_array_equal(found[0], keys[order])
    np.testing.assert_array_equal(found[1], values[order])
    assert found[1].dtype == values.dtype
    assert sorter.memory.held == []


@settings(max_examples=12, phases=[Phase.generate])  # shrinking takes minutes here
@given(
    st.integers(1, 140), st.integers(1, 8), st.sampled_from([np.uint32, np.uint64]),
    st.sampled_from(["u1", "i2", "f4", "f8"]), st.integers(0, 99),
)  # fmt: skip
def test_sorts_at_once(count, bits, key, value, seed):
    rng = np.random.default_rng(seed)
    # The keys have high bits too, the same for all.
    keys = rng.integers(0, 1 << bits, count, key) + key(3 << 29)
    assert_sorts(keys, rng.integers(0, 100, count).astype(value), sorter_of())


@pytest.mark.parametrize("key", [np.uint32, np.uint64])
def test_sorts_by_all_bits(key):
    rng = np.random.default_rng(1)
    keys = rng.integers(0, np.iinfo(key).max, 40, key, endpoint=True)
    assert_sorts(keys, np.arange(40.0), sorter_of())


def test_keys_that_differ_little_but_in_many_bits():
    assert_sorts(np.array([17, 15, 16, 15, 17], np.uint32), np.arange(5), sorter_of())


def test_sorts_more_than_fits():
    rng = np.random.default_rng(2)
    keys, values = rng.integers(0, 200, 400, np.uint64), rng.random(400)
    sorter = sorter_of(LITTLE)
    limits = sorter.limits(keys.dtype, values.dtype)
    assert limits.sorted < 400 // 3
    assert limits.alone < 400
    assert_sorts(keys, values, sorter)
    assert LITTLE // 2 < sorter.peak <= LITTLE


def test_a_key_with_more_pairs_than_fit():
    keys = np.where(np.arange(300) % 4 == 0, np.arange(300), 77).astype(np.uint32)
    sorter = sorter_of(LITTLE // 2)
    assert_sorts(keys, np.arange(300, dtype=np.int16), sorter)
    assert sorter.peak <= LITTLE // 2


def test_what_needs_no_sorting():
    for keys in (np.empty(0, np.uint32), np.array([5], np.uint32), np.full(20, 9, np.uint32)):
        sorter = sorter_of()
        assert_sorts(keys, np.arange(len(keys)), sorter)
        assert sorter.peak == 0
    assert_sorts(np.arange(40, dtype=np.uint32), np.arange(40), sorter_of())


def test_memory_that_others_hold_is_not_taken():
    sorter = sorter_of(LITTLE)
    free = sorter.limits(np.dtype("u8"), np.dtype("f8"))
    sorter.memory.budget.take(LITTLE // 2, "others")
    assert sorter.limits(np.dtype("u8"), np.dtype("f8")).sorted <= free.sorted // 2


def test_no_room():
    pairs = np.arange(5, dtype=np.uint32), np.ones(5)
    with pytest.raises(
        BudgetError,
        match=r"cuda:0@2.0 kB: 2.0 kB is not enough .* 3 streams; requires at least 4.7 kB",
    ):
        sort_pairs(*pairs, make_sorter(Device("cuda", memory=2000, block=32)))


def test_memory_is_given_back_after_an_error():
    sorter = sorter_of()
    keys = np.arange(5, dtype=np.uint32)
    with pytest.raises(ValueError, match="read-only"):
        sort_pairs(keys[::-1], keys, sorter, out=(np.broadcast_to(keys, 5), keys.copy()))
    assert sorter.memory.held == []


@pytest.mark.parametrize("count", [1, 7, 64, 100])
@pytest.mark.parametrize("memory", [None, 20_000])
def test_scan(count, memory):
    numbers = np.random.default_rng(count).integers(-9, 9, count).astype(np.int16)
    sorter = sorter_of(memory)
    sorter.threads = 2  # of a tile of 4 numbers: there are sums of sums of sums
    np.testing.assert_array_equal(sorter.scan(numbers), np.append(0, np.cumsum(numbers)))
    assert sorter.memory.held == []


def test_scan_in_parts():
    numbers = np.arange(300)
    sorter = sorter_of(6000)
    np.testing.assert_array_equal(sorter.scan(numbers), np.append(0, np.cumsum(numbers)))
    assert sorter.peak <= 6000
    assert sorter.scan(numbers[:0]).tolist() == [0]
    with pytest.raises(TypeError):
        sorter.scan(np.ones(3))


@pytest.mark.parametrize("memory", [None, 9000])
@pytest.mark.parametrize("key", [np.uint32, np.uint64])
def test_compact(memory, key):
    rng = np.random.default_rng(3)
    for keys in (
        np.sort(rng.integers(0, 60, 150, key)),
        np.full(150, 4, key),  # in several parts
        np.arange(100, dtype=key),
        np.empty(0, key),
    ):
        sorter = sorter_of(memory)
        groups = sorter.compact(keys)
        unique, firsts = np.unique(keys, return_index=True)
        np.testing.assert_array_equal(groups.unique, unique)
        np.testing.assert_array_equal(groups.firsts, [*firsts, len(keys)])
        assert groups.unique.dtype == key
        assert sorter.memory.held == []
        assert sorter.peak <= (memory or 1 << 30)


def test_streams_rotate():
    events = []
    _rotate(
        ["a", "b", "c"], range(5), lambda lane, item: events.append(f"+{lane}{item}"),
        lambda lane, item: events.append(f"-{lane}{item}"),
    )  # fmt: skip
    assert " ".join(events) == "+a0 +b1 +c2 -a0 +a3 -b1 +b4 -c2 -a3 -b4"


def test_streams_are_those_of_the_device():
    assert CudaSorter(Device("cuda")).streams == 3
    assert CudaSorter(Device("cuda", streams=5)).streams == 5
    assert CudaSorter(Device("cuda", block=1024)).threads == 256


def test_kernels_compile_for_gpus():
    found = cuda_compiling.compiled_kernels("penstock.device.cuda.sort_kernels", 256)
    assert len(found) == 16

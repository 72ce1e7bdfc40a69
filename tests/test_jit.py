"""Atomic operations, from several threads at once; and bits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from penstock.jit import (
    atomic_add,
    atomic_min,
    compare_and_swap,
    count_ones,
    kernel,
    match8,
    match16,
    multiply_wide,
    trailing_zeros,
)  # fmt: skip


@kernel
def lower(array, values):  # type: ignore[no-untyped-def]
    """How often a value was below what was there."""
    count = 0
    for i in range(len(values)):
        if atomic_min(array, i % len(array), values[i]) > values[i]:
            count += 1
    return count


@kernel
def increase(array, times):  # type: ignore[no-untyped-def]
    """Add 1 by compare-and-swap, so many times."""
    for _ in range(times):
        seen = array[0]
        while True:
            found = compare_and_swap(array, 0, seen, seen + 1)
            if found == seen:
                break
            seen = found
    return 0


@kernel
def add(array, times):  # type: ignore[no-untyped-def]
    for _ in range(times):
        atomic_add(array, 0, 1)


@kernel
def count_bits(words):  # type: ignore[no-untyped-def]
    return [count_ones(word) for word in words]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_bits_are_counted(dtype):
    most = np.iinfo(dtype).max
    words = [0, 1, most, most - 1, most // 3]
    found = count_bits(np.array(words, dtype))
    assert [int(each) for each in found] == [each.bit_count() for each in words]


@kernel
def find(array, value):  # type: ignore[no-untyped-def]
    """Bits of what is equal from each place on, 8 and 16 at a time, and the first of the latter."""
    found = []
    for at in range(len(array) - 15):
        few, many = match8(array, at, value), match16(array, at, value)
        found.append((few, many, trailing_zeros(many) if many != 0 else np.uint32(99)))
    return found


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_many_integers_are_compared_at_once(dtype):
    most = np.iinfo(dtype).max
    array = np.random.default_rng(3).choice(np.array([0, 1, 2, most], dtype), 100)
    for value in (0, 1, most, 3):
        equal = array == value
        expected = []
        for at in range(85):
            few, many = (sum(1 << k for k in range(n) if equal[at + k]) for n in (8, 16))
            first = next((k for k in range(16) if equal[at + k]), 99)
            expected.append((few, many, first))
        assert find(array, dtype(value)) == expected


@kernel
def multiply(first, second):  # type: ignore[no-untyped-def]
    return multiply_wide(first, second)


def test_products_of_128_bits():
    numbers = [0, 1, 3, (1 << 32) - 1, 1 << 63, (1 << 64) - 1, 0x9E3779B97F4A7C15]
    for first in numbers:
        for second in numbers:
            high, low = map(int, multiply(np.uint64(first), np.uint64(second)))
            assert (high << 64) + low == first * second


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_atomic_min_keeps_the_smallest(dtype):
    rng = np.random.default_rng(1)
    parts = rng.integers(0, 1 << 31, (4, 100_000)).astype(dtype)
    array = np.full(7, np.iinfo(dtype).max, dtype)
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda part: lower(array, part), parts))
    places = np.arange(100_000) % 7
    assert array.tolist() == [parts[:, places == k].min() for k in range(7)]
    assert sum(counts) >= 7


def test_atomic_min_knows_signs():
    signed, unsigned = np.array([3], np.int32), np.array([3], np.uint32)
    lower(signed, np.array([-1], np.int32))
    lower(unsigned, np.array([0xFFFFFFFF], np.uint32))
    assert (signed[0], unsigned[0]) == (-1, 3)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int64, np.float32, np.float64])
def test_no_swap_is_lost(dtype):
    times = 50 if dtype is np.uint8 else 50_000
    array = np.zeros(1, dtype)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: increase(array, times), range(4)))
    assert array[0] == 4 * times


def test_no_addition_is_lost():
    array = np.zeros(1, np.int64)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: add(array, 100_000), range(4)))
    assert array[0] == 400_000

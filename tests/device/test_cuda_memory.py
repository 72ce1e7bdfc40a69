"""Memory of a GPU: budgets, layouts, the cache of loads, and what is left behind."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.device.cuda import memory as cuda_memory
from penstock.device.cuda.memory import ALIGNMENT, DeviceMemory, Layout, SpanCache, view
from penstock.device.cuda.tables import cut_vertices, group_lists, list_kinds
from penstock.errors import BudgetError


def test_the_budget_says_no_and_names_what_would_do():
    memory = DeviceMemory("cuda:0", 1000)
    memory.array("values", 200, np.float32)
    said = (
        r"pages needs 400 B, but only 200 B of 1.0 kB .*\(values 800 B\); requires at least 1.3 kB"
    )
    with pytest.raises(BudgetError, match=said):
        memory.array("pages", 100, np.uint32)
    assert memory.budget.holders == {"values": 800}
    memory.close()


def test_what_the_driver_refuses_is_given_back_and_said(monkeypatch):
    class Refusing:
        @staticmethod
        def device_array(*_):
            raise RuntimeError("Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")

    memory = DeviceMemory("cuda:0", 1000)
    monkeypatch.setattr(cuda_memory, "numba_cuda", lambda: Refusing)
    with pytest.raises(BudgetError, match="the GPU did not give 400 B"):
        memory.array("pages", 100, np.uint32)
    assert memory.held == []


def test_more_than_the_gpu_has(monkeypatch):
    monkeypatch.setattr(cuda_memory, "simulated", lambda: False)
    monkeypatch.setattr(cuda_memory, "free_bytes", lambda: 5 * 10**9)
    with pytest.raises(BudgetError, match=r"cuda:0@8.0 GB: the GPU has only 5.0 GB to give"):
        cuda_memory.device_limit("cuda:0@8.0 GB", 8 * 10**9)
    assert cuda_memory.device_limit("cuda:0", None) == 5 * 10**9


def test_nothing_is_held_after_closing():
    memory = DeviceMemory("cuda:0", 1000)
    memory.array("values", 10, np.int64)
    memory.host_array("staging", 64)
    assert memory.held == ["staging", "values"]
    memory.close()
    assert memory.held == []
    assert (memory.budget.used, memory.pinned) == (0, {})


@pytest.mark.parametrize("what", ["array", "host_array"])
def test_a_buffer_that_somebody_still_uses_is_a_leak(what):
    memory = DeviceMemory("cuda:0", 1000)
    made = memory.array("x", 10, np.uint8) if what == "array" else memory.host_array("x", 10)
    part = made[2:5]
    del made
    memory.close()
    assert memory.held == ["x"]
    del part
    gc.collect()
    assert memory.held == []


def test_a_host_buffer_of_the_same_name_takes_the_place_of_the_last():
    memory = DeviceMemory("cuda:0", 1000)
    memory.host_array("staging", 64)
    assert len(memory.host_array("staging", 128)) == 128
    assert memory.pinned == {"staging": 128}
    memory.close()
    assert memory.held == []


def test_arrays_of_a_layout_do_not_touch():
    layout = Layout()
    for name, count, dtype in [("a", 3, "u1"), ("b", 0, "f8"), ("c", 200, "f4"), ("d", 1, "u2")]:
        layout.add(name, count, dtype)
    memory = DeviceMemory("cuda:0", 10**6)
    buffer = memory.array("buffer", layout.size + 512, np.uint8)
    host = np.zeros(layout.size, np.uint8)
    for k, array in enumerate(layout.on_host(host).values()):
        array[:] = k + 1
    view(buffer, 512, 512 + layout.size).copy_to_device(host)
    there = layout.on_device(buffer, 512)
    for k, name in enumerate("abcd"):
        assert layout.begin(name) % ALIGNMENT == 0
        assert (there[name].copy_to_host() == k + 1).all()
    assert [len(there[name]) for name in "abcd"] == [3, 1, 200, 1]


class Driver:
    """As much of numba.cuda as views and peers need, over the host's memory."""

    def __init__(self):
        self.enabled = []
        self.gpus = [Context(self, k) for k in range(3)]
        self.current = []

    def current_context(self):
        return self.current[-1]

    @staticmethod
    def from_cuda_array_interface(described, owner, sync):
        assert not sync
        assert described["strides"] is None
        (count,), kind, (at, read_only) = (described[k] for k in ("shape", "typestr", "data"))
        assert not read_only
        base = owner.__array_interface__["data"][0]
        return np.frombuffer(owner.tobytes(), kind, count, at - base)


class Context:
    def __init__(self, driver, number):
        self.driver, self.number, self.handle = driver, number, f"handle {number}"

    def __enter__(self):
        self.driver.current.append(self)

    def __exit__(self, *error):
        self.driver.current.pop()

    def get_primary_context(self):
        return self

    def can_access_peer(self, other):
        return {self.number, other} != {0, 2}

    def enable_peer_access(self, handle):
        self.driver.enabled.append((self.number, handle))


@pytest.fixture
def driver(monkeypatch):
    made = Driver()
    monkeypatch.setattr(cuda_memory, "simulated", lambda: False)
    monkeypatch.setattr(cuda_memory, "numba_cuda", lambda: made)
    monkeypatch.setattr(cuda_memory, "_peers", {})
    return made


def test_a_view_is_made_of_an_address(driver):
    class Held(np.ndarray):
        @property
        def __cuda_array_interface__(self):
            return self.__array_interface__

    numbers = np.arange(40, dtype=np.uint32)
    assert view(numbers.view(Held), 3, 9).tolist() == list(range(3, 9))
    raw = numbers.view(np.uint8).view(Held)
    assert view(raw, 16, 32, np.dtype(np.uint32)).tolist() == [4, 5, 6, 7]
    assert view(raw, 16, 32, np.dtype(np.uint64)).tolist() == [4 + (5 << 32), 6 + (7 << 32)]


def test_gpus_that_can_reach_each_other_are_told_once(driver):
    can = cuda_memory.can_copy_directly
    assert [can(0, 1), can(0, 1), can(1, 0), can(1, 1), can(0, 2)] == [True] * 4 + [False]
    assert driver.enabled == [(1, "handle 0"), (0, "handle 1")]
    assert driver.current == []


class TestSpans:
    def test_the_longest_unused_makes_room(self):
        cache = SpanCache(9 * ALIGNMENT, 1)  # room for 9, each load has 3 at most
        for key in "abc":
            span = cache.place((key,), 3 * ALIGNMENT)
            cache.keep(span, key)
            cache.release(span)
        cache.release(cache.acquire(("a",)))
        last = cache.place(("d",), ALIGNMENT)
        assert cache.acquire(("b",)) is None
        assert cache.acquire(("a",)).content == "a"
        assert cache.acquire(("c",)).content == "c"
        assert cache.evictions == 1
        cache.release(last)

    def test_what_is_in_use_stays(self):
        cache = SpanCache(6 * ALIGNMENT, 2)
        first = cache.place(("a",), ALIGNMENT)
        cache.keep(first, "a")
        others = [cache.place((k,), ALIGNMENT) for k in range(5)]
        with pytest.raises(RuntimeError, match="in use"):
            cache.place(("z",), ALIGNMENT)
        cache.release(others[0])  # it was never said to be complete
        assert cache.place(("z",), ALIGNMENT).begin == others[0].begin
        assert first.content == "a"

    def test_a_load_that_failed_is_not_found(self):
        cache = SpanCache(3 * ALIGNMENT, 1)
        cache.release(cache.place(("a",), ALIGNMENT))
        assert cache.acquire(("a",)) is None

    def test_two_that_load_the_same_keep_one(self):
        cache = SpanCache(9 * ALIGNMENT, 1)
        one, two = (cache.place(("a",), ALIGNMENT) for _ in range(2))
        cache.keep(one, "one")
        cache.keep(two, "two")
        cache.release(two)
        cache.release(one)
        assert cache.acquire(("a",)).content == "one"
        assert cache.place(("b",), ALIGNMENT).begin == two.begin

    @settings(max_examples=150)
    @given(
        users=st.integers(0, 4),
        steps=st.lists(
            st.tuples(st.integers(0, 12), st.integers(1, 100), st.booleans()), max_size=60
        ),
    )
    def test_there_is_always_room_and_nobody_shares_it(self, users, steps):
        """Whatever is placed, kept and released: spans in use or kept never overlap, and with
        ``users`` in use there is room for one more of the largest size.
        """
        cache = SpanCache(70 * ALIGNMENT, users)
        in_use: list = []
        where: dict = {}
        for key, percent, again in steps:
            span = cache.acquire((key,)) if again else None
            if span is None:
                size = max(cache.largest * percent // 100, 1)
                span = cache.place((key,), size)
                assert span.end - span.begin >= size
                assert 0 <= span.begin < span.end <= cache.capacity
                taken = [s for s in {*in_use, *cache._kept.values()} if s is not span]
                assert all(s.end <= span.begin or span.end <= s.begin for s in taken)
                cache.keep(span, key)
                where[key] = span.begin
            else:
                assert span.content == key
                assert span.begin == where[key] or cache._kept[key,] is span
            in_use.append(span)
            if len(in_use) > users:
                cache.release(in_use.pop(0))
        free = sum(cache._ends) - sum(cache._begins)
        held = sum(s.end - s.begin for s in {*in_use, *cache._kept.values()})
        assert free + held == cache.capacity


def test_lists_by_length():
    offsets = np.cumsum([0, 0, 31, 32, 1023, 1024, 5]).astype(np.uint32)
    assert list_kinds(offsets).tolist() == [0, 0, 1, 1, 2, 0]


def test_groups_begin_with_the_longest_lists():
    lengths = np.r_[np.full(40, 2), 7, 0]
    order, bases = group_lists(np.r_[0, np.cumsum(lengths)].astype(np.uint32))
    assert order[0] == 40
    assert order[-1] == 41
    assert bases.tolist() == [0, 32 * 7, 32 * 7 + 32 * 2]


def test_some_vertices_in_groups():
    offsets = np.arange(0, 60, 2, dtype=np.uint32)  # two edges each

    def cut(vertices, most, skip):
        chosen = np.array(vertices, np.uint32)
        return cut_vertices(offsets, chosen, chosen, most, skip)

    assert cut([1, 2, 9, 10, 25], (100, 100), 5) == [0, 2, 4, 5]  # gaps
    assert cut([1, 2, 3, 4, 5], (3, 100), 5) == [0, 3, 5]  # ids
    assert cut([1, 2, 3, 4, 5], (100, 4), 5) == [0, 2, 4, 5]  # edges
    assert cut([1, 2], (100, 1), 5) == [0, 1, 2]  # a list longer than that is alone

"""The page cache: how much it keeps, what it never drops, and that no buffer is used twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.config import parse_bytes
from penstock.errors import BudgetError
from penstock.stream.budget import Budget, spell_enough
from penstock.stream.cache import PageCache
from penstock.stream.policy import POLICIES, keep, lfu, lru, mru


def buffer(value: int = 0) -> Any:
    return np.full(4, value, np.uint8)


def offered(cache: PageCache, page: int, mine: Any) -> Any:
    """Fill a buffer with the number of a page and offer it; the buffer to use next."""
    mine[:] = page
    free = cache.offer(page, mine, None)
    return buffer() if free is None else free


def test_policies_are_pure_choices() -> None:
    cached = OrderedDict([(7, 5), (3, 1), (9, 2)])
    assert [lru(cached, 1), mru(cached, 1), lfu(cached, 1), keep(cached, 1)] == [7, 9, 3, None]
    assert list(cached) == [7, 3, 9]
    none: dict[int, int] = {}
    assert [policy(none, 1) for policy in POLICIES.values()] == [None] * len(POLICIES)


def test_lfu_looks_at_the_longest_unused_only() -> None:
    cached = OrderedDict([(page, 5) for page in range(12)] + [(99, 1)])
    assert lfu(cached, 1) == 0


def fill(cache: PageCache, pages: list[int]) -> None:
    for page in pages:
        cache.offer(page, buffer(page), None)


@pytest.mark.parametrize(
    ("policy", "left"), [("lru", {1, 2, 9}), ("mru", {0, 1, 9}), ("keep", {0, 1, 2})]
)
def test_replacement(policy: str, left: set[int]) -> None:
    cache = PageCache(3, POLICIES[policy])
    fill(cache, [0, 1, 2, 9])
    assert {page for page in range(10) if page in cache} == left
    assert len(cache) == 3


def test_a_repeated_scan_hits_as_often_as_the_cache_is_large_with_keep_and_never_with_lru() -> None:
    def hits(policy: str) -> int:
        cache, found = PageCache(4, POLICIES[policy]), 0
        for _ in range(5):
            for page in range(10):
                if cache.acquire(page) is not None:
                    found += 1
                    cache.release(page)
                else:
                    cache.offer(page, buffer(), None)
        return found

    assert hits("keep") == 4 * 4
    assert hits("lru") == 0
    assert hits("mru") > 0


@pytest.mark.parametrize("policy", POLICIES)
def test_pages_in_use_are_never_replaced(policy: str) -> None:
    cache = PageCache(2, POLICIES[policy])
    fill(cache, [0, 1])
    held = [cache.acquire(0), cache.acquire(0), cache.acquire(1)]
    mine = buffer(5)
    assert cache.offer(5, mine, None) is mine
    cache.release(0)  # one of two
    assert cache.offer(5, mine, None) is mine
    cache.release(0)
    free = cache.offer(5, mine, None)
    assert free is (mine if policy == "keep" else held[0])
    assert 1 in cache


def test_buffers_are_exchanged() -> None:
    cache = PageCache(1, lru)
    first, second, spare = buffer(1), buffer(2), buffer(3)
    assert cache.offer(1, first, spare) is spare
    assert cache.offer(1, second, None) is second  # is there already
    assert cache.offer(2, second, None) is first
    assert cache.acquire(1) is None
    assert cache.acquire(2) is second
    assert PageCache(0, lru).offer(1, first, None) is first


@settings(deadline=None)
@given(
    st.integers(0, 5), st.sampled_from(sorted(POLICIES)),
    st.lists(st.tuples(st.integers(0, 8), st.booleans()), max_size=60),
)  # fmt: skip
def test_never_more_than_its_capacity_and_every_page_its_own(
    capacity: int, policy: str, uses: list[tuple[int, bool]]
) -> None:
    cache = PageCache(capacity, POLICIES[policy])
    mine, busy = buffer(), []
    for page, hold in uses:
        found = cache.acquire(page)
        if found is None:
            mine = offered(cache, page, mine)
        else:
            assert (found == page).all()
            if hold and len(busy) < 4:
                busy.append((page, found))
            else:
                cache.release(page)
        assert len(cache) <= capacity
        assert all((held == number).all() for number, held in busy)


@pytest.mark.parametrize("policy", POLICIES)
def test_threads_hammering_it_never_see_another_page(policy: str) -> None:
    cache = PageCache(6, POLICIES[policy])
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng, mine = np.random.default_rng(seed), buffer()
        for page in rng.integers(0, 20, 3000).tolist():
            found = cache.acquire(page)
            if found is None:
                mine = offered(cache, page, mine)
            else:
                if not (found == page).all():
                    wrong.append((page, found.copy()))
                cache.release(page)
            if len(cache) > 6:
                wrong.append(len(cache))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    cache.clear()
    assert len(cache) == 0


def test_budget_says_no_and_who_has_it() -> None:
    budget = Budget(10_000_000)
    budget.take(6_000_000, "state")
    budget.take(1_000_000, "state")
    assert (budget.used, budget.left) == (7_000_000, 3_000_000)
    with pytest.raises(BudgetError, match=r"cache needs 4\.0 MB.*state 7\.0 MB.*at least 11\.1 MB"):
        budget.take(4_000_000, "cache")
    assert budget.used == 7_000_000
    budget.give_back("state")
    budget.give_back("nobody")
    budget.take(10_000_000, "cache")
    assert budget.left == 0


@given(st.integers(1, 10**14))
def test_enough_is_enough(size: int) -> None:
    assert size <= parse_bytes(spell_enough(size)) <= size * 1.11 + 1

"""Plans are pure: they keep to the memory, or say how much is required."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.config import parse_bytes
from penstock.engine.plan import SPARE_BYTES, Limits, Plan, fit, refusal
from penstock.engine.sizes import ListBytes, Sizes
from penstock.errors import BudgetError

sizes = st.integers(0, 1 << 30) | st.integers(0, 5000)
lists = st.builds(
    ListBytes, st.integers(0, 10**5), st.sampled_from([4096, 1 << 16, 1 << 20]),
    st.integers(4096, 1 << 23), sizes,
)  # fmt: skip
all_sizes = st.builds(
    Sizes, st.lists(lists, max_size=2).map(tuple), sizes, st.none() | sizes, sizes, sizes
)
PAGE = 1 << 16
#: 100 pages of 64 KiB, a stream of 200 kB, 10 MB decoded; 8 MB of state, half of it gathered.
SMALL = Sizes((ListBytes(100, PAGE, 200_000, 10_000_000),), 8_000_000, 4_000_000, 1000)


def planned(given: Sizes, memory: int, *, load: bool = True, **limits: Any) -> Plan:
    """The best form that fits, or a refusal."""
    given = given if load else replace(given, forms=("stream",))
    found = fit(given, Limits(memory, **limits))
    if found is None:
        raise BudgetError(refusal(given, Limits(memory, **limits)).text)
    return found


@settings(max_examples=400, deadline=None)
@given(
    all_sizes, st.integers(1, 1 << 31) | st.integers(SPARE_BYTES, SPARE_BYTES + 10**7),
    st.integers(1, 8), st.none() | st.integers(1, 9), st.none() | st.integers(0, 100),
    st.booleans(),
)  # fmt: skip
def test_within_memory_or_told_what_would_do(
    given_sizes: Sizes, memory: int, threads: int, streams: Any, cache_pages: Any, load: Any
) -> None:
    def plan(allowed: int) -> Plan:
        return planned(
            given_sizes,
            allowed,
            threads=threads,
            streams=streams,
            cache_pages=cache_pages,
            load=load,
        )

    try:
        made = plan(memory)
    except BudgetError as error:
        figure = re.search(r"requires at least (\S+ \S+)", str(error))
        assert figure is not None
        enough = parse_bytes(figure[1])
        assert enough > memory
        made, memory = plan(enough), enough
    assert made.memory_bytes <= memory
    assert made.streams >= 1
    assert made.ranges >= 1
    assert made.cache_pages >= 0
    if cache_pages is not None:
        assert made.cache_pages <= cache_pages
    assert made == plan(memory)


def test_more_memory_is_never_a_worse_tier() -> None:
    order = ["ranges", "streamed", "memory"]
    seen = []
    for memory in range(2_400_000, 40_000_000, 50_000):
        plan = planned(SMALL, memory, threads=2)
        seen.append((plan.resident, order.index(plan.state), -plan.ranges))
    assert seen == sorted(seen)
    assert {tier for _, tier, _ in seen} == {0, 1, 2}
    assert seen[-1][0]


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (18_800_000, (True, "memory", 1, 4)),
        (18_700_000, (False, "memory", 1, 4)),
        (8_800_000, (False, "memory", 1, 4)),
        (8_500_000, (False, "memory", 1, 2)),
        (8_200_000, (False, "memory", 1, 1)),
        (8_100_000, (False, "streamed", 1, 4)),
        (4_300_000, (False, "streamed", 1, 1)),
        (4_100_000, (False, "ranges", 2, 1)),
        (1_000_000, (False, "ranges", 6, 1)),
    ],
)
def test_tiers(left: int, expected: tuple[bool, str, int, int]) -> None:
    plan = planned(SMALL, SPARE_BYTES + left, threads=2)
    assert (plan.resident, plan.state, plan.ranges, plan.streams) == expected


def test_the_rest_goes_to_the_cache() -> None:
    plan = planned(SMALL, SPARE_BYTES + 8_800_000 + 7 * PAGE + 5, threads=2)
    assert plan.cache_pages == 7
    assert planned(SMALL, 1 << 30, threads=2, load=False).cache_pages == 100
    assert planned(SMALL, 1 << 30, threads=2, load=False, cache_pages=3).cache_pages == 3


def test_a_cut_only_if_there_is_room() -> None:
    sizes_here = Sizes(SMALL.lists, 8_000_000, 4_000_000, 0, cut_bytes=5_000_000)
    assert planned(sizes_here, SPARE_BYTES + 23_800_000, threads=2).cut
    less = planned(sizes_here, SPARE_BYTES + 23_799_999, threads=2)
    assert (less.resident, less.cut) == (True, False)


def test_streams_that_were_asked_for_are_what_is_made() -> None:
    assert planned(SMALL, 1 << 30, threads=2, streams=7).streams == 7
    assert planned(SMALL, 1 << 30, threads=2, streams=500).streams == 100  # pages
    with pytest.raises(BudgetError, match="requires at least"):
        planned(SMALL, SPARE_BYTES + 1_000_000, threads=2, streams=7)


def test_state_that_may_not_travel_is_refused() -> None:
    sizes_here = Sizes(SMALL.lists, 8_000_000)
    with pytest.raises(BudgetError, match=r"memory: 8\.0 MB is not enough.*at least 10\.3 MB"):
        planned(sizes_here, 8_000_000, threads=2)

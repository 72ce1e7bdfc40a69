"""Which rank reads which stripe."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.distributed.assignment import GAIN, TURNS, assign, balance
from penstock.errors import InputNotFoundError

#: Of each stripe, the ranks that see it: at least one.
SEERS = st.integers(1, 4).flatmap(
    lambda ranks: st.tuples(
        st.just(ranks),
        st.lists(st.sets(st.integers(0, ranks - 1), min_size=1), min_size=1, max_size=6),
    )
)


def seen_by(ranks: int, seers: list[set[int]]) -> list[set[int]]:
    return [{k for k, each in enumerate(seers) if rank in each} for rank in range(ranks)]


def shares(dealt: tuple[int, ...], ranks: int) -> list[int]:
    return sorted(dealt.count(rank) for rank in range(ranks))


@given(SEERS)
def test_every_stripe_goes_to_a_rank_that_sees_it(drawn: tuple[int, list[set[int]]]) -> None:
    ranks, seers = drawn
    seen = seen_by(ranks, seers)
    dealt = assign(seen, len(seers))
    assert dealt == assign(seen, len(seers))
    if all(len(each) == len(seers) for each in seen):
        assert dealt == tuple(range(ranks))
    else:
        assert len(dealt) == len(seers)
        assert all(rank in seers[stripe] for stripe, rank in enumerate(dealt))


@given(SEERS)
def test_no_other_choice_is_more_even(drawn: tuple[int, list[set[int]]]) -> None:
    ranks, seers = drawn
    seen = seen_by(ranks, seers)
    if all(len(each) == len(seers) for each in seen):
        return
    found = shares(assign(seen, len(seers)), ranks)
    every = [shares(choice, ranks) for choice in product(*seers)]
    assert max(found) == min(map(max, every))
    assert sum(n * n for n in found) == min(sum(n * n for n in each) for each in every)


@given(st.integers(2, 9), st.integers(1, 80), st.data())
def test_two_copies_stand_the_loss_of_any_rank(
    ranks: int, stripes: int, data: st.DataObject
) -> None:
    seers = [{k % ranks, (k + 1 + k // ranks % (ranks - 1)) % ranks} for k in range(stripes)]
    gone = data.draw(st.integers(0, ranks - 1))
    seen = [set() if r == gone else own for r, own in enumerate(seen_by(ranks, seers))]
    dealt = assign(seen, stripes)
    assert gone not in dealt
    assert sorted(dealt.count(r) for r in range(ranks) if r != gone)[-1] <= -(-stripes // ranks) * 2


def test_large_numbers() -> None:
    ranks, stripes = 64, 4096
    seen = [{k for k in range(stripes) if (k * 7919) % (r + 5) < 3} for r in range(ranks)]
    seen[3] |= set(range(stripes))
    dealt = assign(seen, stripes)
    assert all(stripe in seen[rank] for stripe, rank in enumerate(dealt))


def test_a_graph_of_one_stripe_that_one_rank_has() -> None:
    assert assign([set(), {0}, set()], 1) == (1,)


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ([{0, 2}, {0}], r"stripe 1 of 3: none of the hosts .*\(h1, h2\) can read it; dealt to h3"),
        ([{1}, set()], r"stripes 0, 2 of 3: .*can read them; dealt to h2, h3; .*--copies 2"),
    ],
)
def test_a_stripe_that_no_rank_sees(seen: list[set[int]], message: str) -> None:
    with pytest.raises(InputNotFoundError, match=message):
        assign(seen, 3, hosts=["h1", "h2"], dealt_to=[["h2"], ["h3"], ["h3"]])


SPEEDS = SEERS.flatmap(
    lambda drawn: st.tuples(
        st.just(drawn), st.lists(st.floats(0.1, 9), min_size=drawn[0], max_size=drawn[0])
    )
)


def times(dealt: tuple[int, ...], cost: list[float]) -> list[float]:
    """How long each rank takes, if a stripe costs it so much."""
    return [each * dealt.count(rank) for rank, each in enumerate(cost)]


@given(SPEEDS)
def test_stripes_pass_to_ranks_that_see_them_and_end_earlier(drawn: Any) -> None:
    (ranks, seers), cost = drawn
    before = assign(seen_by(ranks, seers), len(seers))
    if len(before) != len(seers):
        return
    after = balance(before, seers, times(before, cost))
    assert all(rank in seers[stripe] for stripe, rank in enumerate(after))
    idle = {rank for rank in range(ranks) if rank not in before}
    if after != before and not idle:  # of ranks without a stripe no speed is known
        assert max(times(after, cost)) <= GAIN * max(times(before, cost)) + 1e-9


@given(st.lists(st.floats(0.2, 5), min_size=2, max_size=6))
def test_ranks_that_see_all_pages_end_together(cost: list[float]) -> None:
    before = tuple(range(len(cost)))
    after = balance((), (), times(before, cost))
    if not after:
        best = len(cost) / sum(1 / each for each in cost)
        assert best >= (GAIN - 0.2) * max(cost)
        return
    assert len(after) == TURNS * len(cost)
    found = times(after, cost)
    assert max(found) - min(found) <= 2 * max(cost), "to a stripe"
    assert balance(after, [set(before)] * len(after), found) == after


def test_what_no_one_else_sees_stays() -> None:
    assert balance((0, 1, 0), [{0}, {1}, {0}], [9.0, 1.0]) == (0, 1, 0)
    assert balance((0, 0, 1), [{0, 1}, {0}, {1}], [9.0, 1.0]) == (1, 0, 1)


def test_a_rank_without_a_stripe_counts_as_typical() -> None:
    assert balance((0, 0), [{0, 1}, {0}], [2.0, 0.0]) == (1, 0)
    assert balance((0, 0), [{0, 1}, {0}], [2.0, 2.5]) == (0, 0)

"""The end is told when it has come, and only then, whatever messages take their time."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.distributed.quiescence import Quiescence, Token


class World:
    """Ranks with work, messages in the air in any order, and a schedule that somebody else decides.

    Who has work may send messages; a message brings a piece of work. ``fuel`` bounds them all.
    """

    def __init__(self, size: int, seeds: list[int], fuel: int, *, ordered: bool) -> None:
        self.size = size
        self.ranks = [Quiescence(k, size) for k in range(size)]
        self.work = [seeds[k % len(seeds)] for k in range(size)]
        self.air: list[int] = []
        self.tokens: list[tuple[int, Token]] = []
        self.fuel = fuel
        self.ordered = ordered

    @property
    def finished(self) -> bool:
        return not self.air and not any(self.work)

    def over(self) -> bool:
        return self.ranks[0].over

    def do_work(self, rank: int, targets: list[int]) -> None:
        """Send messages; without one to send, a piece of work is done."""
        if not self.work[rank]:
            return
        if not targets or not self.fuel:
            self.work[rank] -= 1
        for target in targets:
            if self.fuel and target % self.size != rank:
                self.fuel -= 1
                self.ranks[rank].sent()
                self.air.append(target % self.size)

    def deliver(self, index: int) -> None:
        if self.air:
            rank = self.air.pop(0 if self.ordered else index % len(self.air))
            self.ranks[rank].received()
            self.work[rank] += 1

    def deliver_token(self) -> None:
        if self.tokens:
            rank, token = self.tokens.pop()
            self.ranks[rank].take(token)

    def rest(self, rank: int) -> None:
        """The rank looks whether it is idle."""
        if self.work[rank]:
            return
        token = self.ranks[rank].idle()
        if token is not None:
            self.tokens.append((self.ranks[rank].next_rank, token))
            assert len(self.tokens) == 1


steps = st.lists(
    st.one_of(
        st.tuples(st.just("work"), st.integers(0, 4), st.lists(st.integers(0, 4), max_size=3)),
        st.tuples(st.just("deliver"), st.integers(0, 9), st.just([])),
        st.tuples(st.just("token"), st.just(0), st.just([])),
        st.tuples(st.just("rest"), st.integers(0, 4), st.just([])),
    ),
    max_size=120,
)


def take_step(world: World, kind: str, number: int, targets: list[int]) -> None:
    if kind == "work":
        world.do_work(number % world.size, targets)
    elif kind == "deliver":
        world.deliver(number)
    elif kind == "token":
        world.deliver_token()
    else:
        world.rest(number % world.size)


@given(
    st.integers(1, 5),
    st.lists(st.integers(0, 2), min_size=1, max_size=5),
    st.booleans(),
    steps,
)
def test_never_too_early_and_always_in_the_end(size, seeds, ordered, schedule):
    world = World(size, seeds, 40, ordered=ordered)
    for step in schedule:
        take_step(world, *step)
        assert not world.over() or world.finished
    # Then everything that can happen does, again and again.
    for _ in range(500):
        for rank in range(size):
            world.do_work(rank, [])
            world.rest(rank)
        world.deliver(0)
        world.deliver_token()
        assert not world.over() or world.finished
        if world.over():
            break
    assert world.over()


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("speed", [0.1, 0.5, 0.9])
def test_many_schedules(seed, speed):
    """Messages that are slower or quicker than the token."""
    dice = random.Random(seed)
    for _ in range(20):
        world = World(dice.choice([2, 3, 4]), [1, 0, 0], 30, ordered=False)
        while not world.over():
            rank = dice.randrange(world.size)
            targets = [dice.randrange(world.size) for _ in range(dice.randrange(3))]
            if dice.random() < speed:
                if dice.random() < 0.5:
                    world.deliver(dice.randrange(100))
                else:
                    world.do_work(rank, targets)
            else:
                world.deliver_token()
                world.rest(rank)
            assert not world.over() or world.finished
        assert world.finished


def test_one_rank_is_done_when_it_is_idle():
    alone = Quiescence(0, 1)
    assert alone.idle() is None
    assert alone.over


def test_nothing_ever_sent_takes_one_round():
    ranks = [Quiescence(k, 3) for k in range(3)]
    token = ranks[0].idle()
    for k in (1, 2):
        ranks[k].take(token)
        token = ranks[k].idle()
    ranks[0].take(token)
    assert ranks[0].idle() is None
    assert ranks[0].over


def pass_on(world: World, rank: int) -> None:
    """The token comes to a rank, which is idle, and goes on."""
    world.deliver_token()
    world.rest(rank)


@pytest.mark.parametrize("answered", [2, 0])
def test_work_behind_the_token(answered):
    """The token has passed rank 1 when it gets work from rank 2, and answers: to rank 2, or to rank
    0, which alone can know then. Counted are a message that rank 2 sent and one that was received:
    they add up to 0, though rank 1 is at work.
    """
    world = World(3, [0, 0, 1], 9, ordered=True)
    world.rest(0)
    pass_on(world, 1)
    world.do_work(2, [1])
    world.deliver(0)
    world.do_work(1, [answered])
    world.deliver(0)
    world.do_work(2, [])
    world.do_work(answered, [])
    pass_on(world, 2)
    pass_on(world, 0)
    assert world.work == [0, 1, 0]
    assert not world.over()

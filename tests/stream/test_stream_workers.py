"""Threads that stay: order of results, which error is raised, and that nothing waits for ever."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from penstock.parallel import Turns, Workers


def test_results_are_in_the_order_of_the_pieces() -> None:
    workers = Workers(3)
    seen: set[int] = set()

    def work(worker: int, piece: int) -> int:
        seen.add(worker)
        time.sleep(0.001 * (piece % 3))
        return piece * 2

    assert workers.run(work, range(40)) == [2 * k for k in range(40)]
    assert seen <= {0, 1, 2}
    assert workers.run(work, []) == []
    workers.close()


def test_the_error_of_the_earliest_piece_wins_and_no_more_are_begun() -> None:
    workers = Workers(4)
    begun: list[int] = []
    together = threading.Barrier(4)

    def work(worker: int, piece: int) -> None:
        begun.append(piece)
        if piece < 4:
            together.wait()
            time.sleep(0.02 * (4 - piece))  # the last of them fails first
            raise ValueError(piece)

    with pytest.raises(ValueError, match=r"^0$"):
        workers.run(work, range(1000))
    assert len(begun) < 10
    assert workers.run(lambda w, k: k, range(3)) == [0, 1, 2]  # still of use
    workers.close()


def test_an_error_in_a_lone_piece_is_raised_too() -> None:
    workers = Workers(2)
    with pytest.raises(ZeroDivisionError):
        workers.run(lambda w, k: 1 // k, [0])
    workers.close()


def test_one_worker_works_on_one_piece_at_a_time() -> None:
    workers = Workers(3)
    busy = [0, 0, 0]

    def work(worker: int, piece: int) -> None:
        busy[worker] += 1
        assert busy[worker] == 1
        time.sleep(0.0005)
        busy[worker] -= 1

    workers.run(work, range(60))
    workers.close()


def test_closing_ends_the_threads() -> None:
    before = set(threading.enumerate())
    workers = Workers(3)
    workers.run(lambda w, k: time.sleep(0.001), range(20))
    assert set(threading.enumerate()) - before
    workers.close()
    assert set(threading.enumerate()) == before


def test_turns_pass_in_order() -> None:
    workers, turns, passed = Workers(4), Turns(), []

    def work(worker: int, number: int) -> None:
        time.sleep(0.001 * (number % 4))
        turns.take(number, lambda: passed.append(number))

    workers.run(work, range(40))
    assert passed == list(range(40))
    workers.close()


def test_an_error_of_who_deals_is_raised() -> None:
    workers, left = Workers(2), [2, 1, 0]

    def take(worker: int) -> int:
        return left.pop()

    with pytest.raises(IndexError, match="pop from empty list"):
        workers.run(lambda worker, piece: piece, range(3), take=take)
    workers.close()


@pytest.mark.parametrize("failing", [0, 3, 17])
@pytest.mark.parametrize("inside", [True, False])
def test_a_turn_that_fails_lets_nobody_wait_for_ever(failing: int, inside: Any) -> None:
    workers, turns, passed = Workers(4), Turns(), []

    def act(number: int) -> None:
        if number == failing:
            raise OSError(number)
        passed.append(number)

    def work(worker: int, number: int) -> Any:
        try:
            if number == failing and not inside:
                time.sleep(0.01)
                raise OSError(number)
            turns.take(number, lambda: act(number))
        except BaseException:
            turns.fail(number)
            raise

    with pytest.raises(OSError, match=str(failing)):
        workers.run(work, range(30))
    assert passed == list(range(failing))
    workers.close()

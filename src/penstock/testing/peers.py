"""What every transport between ranks must do: a suite for pytest.

Subclass :class:`PeersTests` in a test module and define ``run``; pytest finds the rest. With
``vanish``, ``freeze`` and ``patience`` it also tests that the loss of a rank is noticed in time.
"""

from __future__ import annotations

import threading
import time
from typing import Any
from unittest import SkipTest

import numpy as np

from penstock.engine.peers import Peers
from penstock.testing.peer_losses import LossTests


class PeersTests(LossTests):
    """The conformance suite."""

    def test_ranks_have_numbers(self) -> None:
        """Each rank has a number, and knows how many there are."""
        assert self.good(3, lambda peers: (peers.rank, peers.size)) == [(0, 3), (1, 3), (2, 3)]

    def test_one_rank(self) -> None:
        """A single rank has no one to exchange with."""

        def work(peers: Peers) -> Any:
            return peers.drain(), peers.allreduce(np.arange(3)).tolist()

        assert self.good(1, work) == [([[]], [0, 1, 2])]

    def test_allgather_keeps_types_and_shapes(self) -> None:
        """Arrays arrive unchanged, empty ones and structured ones too."""
        pair = np.dtype([("a", "<u4"), ("b", "<f8", (2,))], align=True)

        def make(rank: int) -> tuple[np.ndarray[Any, Any], ...]:
            values = np.arange(12) + rank
            return (
                *(values.astype(name) for name in ("u1", "i4", "u8", "f4", "f8", "c16", "?")),
                values.reshape(3, 4),
                values.reshape(3, 4).T,
                values[::2],
                np.array(rank),
                np.empty((0, 5), np.uint32),
                np.full(3, rank).astype("M8[s]"),
                np.array([(rank, (1.5, 2.5))], pair),
            )

        def work(peers: Peers) -> None:
            for rank, found in enumerate(peers.allgather(*make(peers.rank))):
                for came, sent in zip(found, make(rank), strict=True):
                    assert came.dtype == sent.dtype
                    assert came.shape == sent.shape
                    assert (came == sent).all()

        self.good(3, work)

    def test_message_without_arrays(self) -> None:
        """A message without arrays arrives."""
        assert self.good(2, lambda peers: peers.allgather()) == [[(), ()]] * 2

    def test_alltoall(self) -> None:
        """Each rank receives the messages for it."""

        def work(peers: Peers) -> list[int]:
            messages = [(np.array([10 * peers.rank + rank]),) for rank in range(peers.size)]
            return [int(found[0][0]) for found in peers.alltoall(messages)]

        assert self.good(4, work) == [[10 * k + rank for k in range(4)] for rank in range(4)]

    def test_allreduce_adds_in_order_of_ranks(self) -> None:
        """The same bits everywhere: 1e16 + 1 - 1e16 + 1 depends on the order."""
        values = [1e16, 1.0, -1e16, 1.0]
        found = self.good(
            4, lambda peers: float(peers.allreduce(np.array([values[peers.rank]]))[0])
        )
        assert found == [((0.0 + 1e16 + 1.0) - 1e16) + 1.0] * 4

    def test_posts_keep_their_order(self) -> None:
        """Small and large messages, mixed."""
        sizes = [1, 200_000, 3, 0, 70_000, 2, 2]

        def work(peers: Peers) -> Any:
            for number, size in enumerate(sizes):
                for rank in range(peers.size):
                    if rank != peers.rank:
                        peers.post(rank, np.full(size, number), np.array(number))
            found = peers.drain()
            assert not found[peers.rank]
            return [
                [(len(a), int(b)) for a, b in each]
                for k, each in enumerate(found)
                if k != peers.rank
            ]

        expected = [(size, number) for number, size in enumerate(sizes)]
        assert self.good(3, work) == [[expected] * 2] * 3

    def test_posts_of_several_threads(self) -> None:
        """All arrive, and those of one thread in order."""

        def work(peers: Peers) -> Any:
            def post(thread: int) -> None:
                for number in range(200):
                    peers.post(1 - peers.rank, np.array([thread, number]))

            threads = [threading.Thread(target=post, args=(k,)) for k in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            came = [tuple(map(int, each[0])) for each in peers.drain()[1 - peers.rank]]
            return [[n for k, n in came if k == thread] for thread in range(4)]

        assert self.good(2, work) == [[list(range(200))] * 4] * 2

    def test_fast_rank_runs_ahead(self) -> None:
        """What is posted for the next exchange is not in this one."""
        if not self.shares_memory:
            raise SkipTest("needs ranks that share memory")
        ahead = threading.Event()

        def work(peers: Peers) -> Any:
            peers.post(1 - peers.rank, np.array(1))
            if peers.rank == 1:
                first = peers.drain()
                peers.post(0, np.array(2))
                peers.post(0, np.zeros(100_000))
                ahead.set()
            else:
                # This drain need not wait: the other rank has ended its part.
                first = peers.drain()
                assert ahead.wait(30)
                peers.post(1, np.array(2))
            second = peers.drain()
            return [len(first[1 - peers.rank]), len(second[1 - peers.rank])]

        assert self.good(2, work) == [[1, 2], [1, 1]]

    def test_large_array(self) -> None:
        """An array that is larger than a frame."""
        count = self.large_bytes // 8

        def work(peers: Peers) -> bool:
            mine = np.arange(count) + peers.rank
            other = peers.allgather(np.array(7), mine)[1 - peers.rank]
            return int(other[0]) == 7 and bool(
                (other[1] == np.arange(count) + 1 - peers.rank).all()
            )

        assert self.good(2, work) == [True, True]

    def test_arrays_may_change_after_drain(self) -> None:
        """What was posted has been sent by then."""

        def work(peers: Peers) -> bool:
            values, right = np.empty(2_000_000, np.int64), True
            for number in range(5):
                values[:] = number
                found = peers.allgather(values)[1 - peers.rank][0]
                values[:] = -1
                right = right and bool((found == number).all())
            return right

        assert self.good(2, work) == [True, True]

    def test_many_small_exchanges(self) -> None:
        """No exchange is mixed up with another."""

        def work(peers: Peers) -> list[int]:
            return [int(peers.allreduce(np.array([k]))[0]) for k in range(300)]

        assert self.good(3, work) == [[3 * k for k in range(300)]] * 3

    def test_sizes_around_a_frame(self) -> None:
        """Single arrays around the size of a frame, and several that exceed it together."""

        def make(rank: int) -> list[tuple[np.ndarray[Any, Any], ...]]:
            rng = np.random.default_rng(rank)
            return [
                (rng.integers(0, 256, self.frame_bytes + more, np.uint8),)
                for more in (-17, -1, 0, 1, 17)
            ] + [tuple(rng.integers(0, 256, self.frame_bytes // 3, np.uint8) for _ in range(4))]

        def work(peers: Peers) -> bool:
            for arrays in make(peers.rank):
                peers.post(1 - peers.rank, *arrays)
            came = peers.drain()[1 - peers.rank]
            return all(
                len(one) == len(other) and all(map(np.array_equal, one, other))
                for one, other in zip(came, make(1 - peers.rank), strict=True)
            )

        assert self.good(2, work) == [True, True]

    def test_many_small_messages(self) -> None:
        """Thousands of messages in one exchange, to each rank; each arrives once."""
        count = 5000

        def work(peers: Peers) -> Any:
            others = [rank for rank in range(peers.size) if rank != peers.rank]
            for number in range(count):
                for rank in others:
                    peers.post(rank, np.array([number, peers.rank]))
            found = peers.drain()
            return [
                [each[0].tolist() for each in found[rank]] == [[k, rank] for k in range(count)]
                for rank in others
            ]

        assert self.good(3, work) == [[True, True]] * 3

    def test_nothing_but_empty_arrays(self) -> None:
        """Empty arrays keep their types and shapes."""
        pair = np.dtype([("a", "<u4"), ("b", "S3")])

        def work(peers: Peers) -> Any:
            peers.post(1 - peers.rank, np.empty(0))
            peers.post(1 - peers.rank, np.empty((3, 0, 2), np.uint8), np.empty(0, pair))
            ((first,), (second, third)) = peers.drain()[1 - peers.rank]
            return first.shape, second.shape, third.shape, third.dtype == pair

        assert self.good(2, work) == [((0,), (3, 0, 2), (0,), True)] * 2

    def test_structures_within_structures(self) -> None:
        """Fields that are strings or arrays, or have fields of their own."""
        inner = np.dtype([("x", "<i2"), ("y", "<f4", (2, 3))])
        outer = np.dtype(
            [("name", "S5"), ("word", "<U3"), ("inner", inner, (2,)), ("at", "<M8[s]")]
        )

        def make(rank: int) -> np.ndarray[Any, Any]:
            found = np.zeros(4, outer)
            found["name"], found["word"] = b"abc", "\u00e9\u00df"
            found["inner"]["y"] = np.arange(6).reshape(2, 3) + rank
            found["at"] = np.arange(4)
            return found

        def work(peers: Peers) -> bool:
            (came,) = peers.allgather(make(peers.rank))[1 - peers.rank]
            return came.dtype == outer and bool(np.array_equal(came, make(1 - peers.rank)))

        assert self.good(2, work) == [True, True]

    def test_arrays_that_came_stay(self) -> None:
        """Received arrays are aligned, and later exchanges do not overwrite them."""

        def work(peers: Peers) -> bool:
            kept = []
            for number in range(20):
                peers.post(1 - peers.rank, np.array(number, np.uint8), np.full(1000, number * 0.5))
                kept += peers.drain()[1 - peers.rank]
            return all(
                int(a) == k and bool((b == 0.5 * k).all()) and b.flags.aligned
                for k, (a, b) in enumerate(kept)
            )

        assert self.good(2, work) == [True, True]

    def test_threads_post_large_and_small(self) -> None:
        """At the same time; pieces of one message are not mixed with another."""
        sizes = [1, self.frame_bytes // 8 + 5, 3, self.frame_bytes // 24, 0, 7]

        def work(peers: Peers) -> Any:
            def post(thread: int) -> None:
                for number, size in enumerate(sizes):
                    head = np.array([thread, number])
                    peers.post(1 - peers.rank, head, np.full(size, thread * 100.0 + number))

            threads = [threading.Thread(target=post, args=(k,)) for k in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            came: dict[int, list[int]] = {k: [] for k in range(3)}
            for head, values in peers.drain()[1 - peers.rank]:
                poster, number = map(int, head)
                assert len(values) == sizes[number]
                assert (values == poster * 100.0 + number).all()
                came[poster].append(number)
            return came

        assert self.good(2, work) == [{k: list(range(len(sizes))) for k in range(3)}] * 2

    def test_ranks_of_different_speed(self) -> None:
        """Each is late at times: others wait for it, and are one exchange ahead of it."""

        def work(peers: Peers) -> list[int]:
            found = []
            for number in range(12):
                if number % peers.size == peers.rank:
                    time.sleep(0.03)
                messages = [(np.array(100 * number + rank),) for rank in range(peers.size)]
                came = peers.alltoall(messages)
                found.append(sum(int(each[0]) for each in came))
                if (number + 1) % peers.size == peers.rank:
                    time.sleep(0.03)
            return found

        expected = [[3 * (100 * number + rank) for number in range(12)] for rank in range(3)]
        assert self.good(3, work) == expected

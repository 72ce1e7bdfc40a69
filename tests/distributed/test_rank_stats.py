"""What is said of each rank of a run: what it did, and how long it waited for others."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from rank_making import ThreadHosts, build_hard

import penstock as ps
from penstock.distributed.rank_stats import join_iterations, slowest
from penstock.distributed.thread_peers import run_on_threads
from penstock.engine import watched_peers
from penstock.engine.peers import Arrays, Collectives
from penstock.engine.watched_peers import WatchedPeers
from penstock.types import Array


@pytest.fixture(scope="module")
def graph(tmp_path_factory: Any) -> ps.Graph:
    return build_hard(tmp_path_factory.mktemp("ranks"), directed=True)


@pytest.fixture(scope="module")
def found(graph: ps.Graph) -> ps.Result:
    return ps.pagerank(graph, hosts=ThreadHosts(3), load=False, max_iter=5, tol=0)


def test_ranks_have_every_vertex_and_edge_once(graph: ps.Graph, found: ps.Result) -> None:
    rows = found.stats["ranks"]
    assert [row["rank"] for row in rows] == [0, 1, 2]
    assert sum(row["own_vertices"] for row in rows) == graph.num_vertices
    assert sum(row["own_edges"] for row in rows) == graph.num_edges
    assert all(row["host"] and row["pid"] for row in rows)


def test_what_ranks_have_read_adds_up(found: ps.Result) -> None:
    rows = found.stats["ranks"]
    assert all(row["bytes_read"] > 0 for row in rows)
    assert sum(row["bytes_read"] for row in rows) == found.stats["bytes_read"]
    assert sum(row["edges"] for row in found.iterations) == found.stats["edges_traversed"]


def test_bytes_that_one_has_sent_the_other_has_received(found: ps.Result) -> None:
    rows = found.stats["ranks"]
    for a in rows:
        for b in rows:
            sent, received = a["sent_bytes"][b["rank"]], b["received_bytes"][a["rank"]]
            assert sent == received
            assert (sent > 0) == (a is not b)


def test_times_are_parts_of_the_whole(found: ps.Result) -> None:
    for row in found.stats["ranks"]:
        assert 0 < row["waiting_seconds"] < row["seconds"]
        assert row["busy_seconds"] == row["seconds"] - row["waiting_seconds"]
        assert row["exchange_seconds"] > 0
        assert row["peak_memory"] >= row["base_memory"] > 0
    for row in found.iterations:
        assert 0 < row["waiting_seconds"] < row["seconds"]
        assert row["exchange_seconds"] > 0


def test_one_host_says_nothing_of_ranks(graph: ps.Graph) -> None:
    alone = ps.pagerank(graph, max_iter=1, tol=0)
    assert "ranks" not in alone.stats
    assert "waiting_seconds" not in alone.iterations[0]


class _SlowPeers(Collectives):
    """Two ranks; posting takes a second, and the other rank comes after ten."""

    rank = 0
    size = 2

    def __init__(self) -> None:
        self.now = 0.0

    def post(self, rank: int, *arrays: Array) -> None:
        self.now += 1.0

    def drain(self) -> list[list[Arrays]]:
        self.now += 10.0
        return [[], [(np.zeros(3),)]]


def test_waiting_is_not_work(monkeypatch: Any) -> None:
    slow = _SlowPeers()
    monkeypatch.setattr(watched_peers, "clock", lambda: slow.now)
    watched = WatchedPeers(slow, tracing=True)
    with watched.section("exchange"):
        slow.now += 5.0
        watched.allgather(np.zeros(10))
        slow.now += 0.5
    assert (watched.exchange_seconds, watched.waiting_seconds) == (6.5, 10.0)
    assert (watched.sent_bytes, watched.received_bytes) == ([0, 80], [0, 24])
    spans = [(each.what, each.begin, each.end) for each in watched.sections]
    assert spans == [("wait", 6.0, 16.0), ("exchange", 0.0, 16.5)]


def test_several_threads_are_counted() -> None:
    def work(peers: Any) -> WatchedPeers:
        watched = WatchedPeers(peers, tracing=True)

        def post() -> None:
            with watched.section("exchange"):
                time.sleep(0.02)
                watched.post(1 - peers.rank, np.zeros(2))

        threads = [threading.Thread(target=post) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(watched.drain()[1 - peers.rank]) == 3
        return watched

    for watched in run_on_threads(2, work):
        assert sum(watched.sent_bytes) == sum(watched.received_bytes) == 48
        assert watched.exchange_seconds >= 0.06
        spans = [each for each in watched.sections if each.what == "exchange"]
        assert len({each.thread for each in spans}) == 3


def test_the_slowest_works_longest() -> None:
    rows = [{"rank": 0, "busy_seconds": 2.0}, {"rank": 1, "busy_seconds": 3.0}]
    assert slowest(rows) == 1


def test_rows_of_iterations_are_joined() -> None:
    ranks = [
        [{"step": 0, "active": 7, "edges": 3, "seconds": 1.0}],
        [{"step": 0, "active": 7, "edges": 5, "seconds": 2.0}],
    ]
    assert join_iterations(ranks) == [{"step": 0, "active": 7, "edges": 8, "seconds": 2.0}]

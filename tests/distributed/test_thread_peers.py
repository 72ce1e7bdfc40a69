"""Ranks that are threads."""

from __future__ import annotations

import pickle

from penstock.distributed.thread_peers import run_on_threads
from penstock.engine.peers import PeerLost
from penstock.testing.peers import PeersTests


def caught(peers, function):
    """What a function returns or raises. A rank that raised leaves, as one that returned."""
    try:
        return function(peers)
    except Exception as error:
        return error


class TestThreadPeers(PeersTests):
    large_bytes = 1_000_000
    frame_bytes = 100_000

    def run(self, size, function):
        return run_on_threads(size, caught, function)


def test_a_loss_can_be_sent():
    again = pickle.loads(pickle.dumps(PeerLost(3, "it is gone")))
    assert (again.rank, again.reason) == (3, "it is gone")
    assert str(again) == "rank 3 is lost: it is gone"

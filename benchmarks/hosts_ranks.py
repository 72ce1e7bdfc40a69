"""What runs on the ranks of ``hosts_network.py``."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock.distributed.dask_peers import CommPeers
from penstock.engine.peers import Peers

_post, _drain = CommPeers.post, CommPeers.drain


def empty_supersteps(peers: Peers, count: int) -> float:
    """Milliseconds for the sum of one number over all ranks."""
    number = np.ones(1)
    for _ in range(20):
        peers.allreduce(number)
    begin = time.perf_counter()
    for _ in range(count):
        peers.allreduce(number)
    return (time.perf_counter() - begin) / count * 1e3


def leave_out_values(left_out: bool) -> None:  # noqa: FBT001 - called by name, from another process
    """Whether ranks leave out the values of vertices from what they send each other.

    Of the messages that a rank posts to another in one exchange, only the last is sent: in a vertex
    program that gathers, the sums of the totals, which vertices are active, the accumulators of
    lists that are longer than a page, and once which vertices are named. The messages before it,
    which are the new values of vertices, are made but not sent. Ranks still wait for each other in
    each exchange. The result is wrong; the amount of work is the same.
    """
    CommPeers.post = _post_last if left_out else _post  # type: ignore[method-assign]
    CommPeers.drain = _drain_last if left_out else _drain  # type: ignore[method-assign]


def _post_last(self: CommPeers, rank: int, *arrays: Any) -> None:
    vars(self).setdefault("_last_posts", {})[rank] = arrays


def _drain_last(self: CommPeers) -> Any:
    for rank, arrays in vars(self).pop("_last_posts", {}).items():
        _post(self, rank, *arrays)
    return _drain(self)

"""What each rank of a run did, and how long it took: for ``stats["ranks"]``."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.engine.engine import Engine
from penstock.engine.watched_peers import WatchedPeers
from penstock.metrics import clock

#: Statistics that are sums over the ranks, and those of which the largest counts.
SUMS = (
    "edges_traversed", "bytes_read", "pages_read", "reads", "cache_hits", "io_seconds",
    "decode_seconds", "kernel_seconds", "nan",
)  # fmt: skip
LARGEST = ("peak_memory", "load_seconds", "planned_memory")
#: What is reported of a rank, in this order.
_OF_RANK = (
    "host", "pid", "own_vertices", "own_edges", "seconds", "busy_seconds", "waiting_seconds",
    "exchange_seconds", *SUMS[:8], "load_seconds", "sent_bytes", "received_bytes", "base_memory",
    "peak_memory", "planned_memory", "threads",
)  # fmt: skip
#: In the rows of the iterations: sums over the ranks, and the largest of them.
_ROW_SUMS = ("pages_read", "bytes_read", "reads", "cache_hits", "edges")
_ROW_LARGEST = ("seconds", "exchange_seconds", "waiting_seconds")


class RankWatch:
    """The call of one rank, from when this is made."""

    def __init__(self) -> None:
        self._began = clock()
        self._base_memory = resident_bytes()

    def facts(self, peers: WatchedPeers, engine: Engine | None) -> dict[str, Any]:
        """What the rank's statistics have besides those of every run.

        ``seconds`` are those of the whole call, ``busy_seconds`` without waiting for other ranks.
        ``sent_bytes`` and ``received_bytes`` are by rank, of arrays, without the headers of frames.
        ``base_memory`` is what the process used when the call began, ``peak_memory`` the most that
        it ever used, in earlier calls too.
        """
        seconds = clock() - self._began
        found: dict[str, Any] = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "seconds": seconds,
            "busy_seconds": seconds - peers.waiting_seconds,
            "waiting_seconds": peers.waiting_seconds,
            "exchange_seconds": peers.exchange_seconds,
            "sent_bytes": list(peers.sent_bytes),
            "received_bytes": list(peers.received_bytes),
            "base_memory": self._base_memory,
            "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        if engine is not None:
            found |= {"own_vertices": engine.own_vertices.count, "own_edges": engine.own_edges}
        return found


def rank_row(rank: int, stats: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown of one rank."""
    return {"rank": rank, **{name: stats[name] for name in _OF_RANK if name in stats}}


def join_stats(stats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The statistics of a run, from those of its ranks."""
    found = dict(stats[0])
    for name in ("host", "pid", "own_vertices", "own_edges", "base_memory", "busy_seconds"):
        found.pop(name, None)
    for name in (*SUMS, *LARGEST):
        counted = [each[name] for each in stats if name in each]
        if counted:
            found[name] = sum(counted) if name in SUMS else max(counted)
    for name in ("exchange_seconds", "waiting_seconds"):
        found[name] = sum(each[name] for each in stats)
    for name in ("sent_bytes", "received_bytes"):
        found[name] = sum(sum(each[name]) for each in stats)
    found["ranks"] = [rank_row(rank, each) for rank, each in enumerate(stats)]
    found["slowest_rank"] = slowest(found["ranks"])
    return found


def slowest(rows: Sequence[Mapping[str, Any]]) -> int:
    """The rank that worked longest: its time without waiting for others."""
    return int(max(rows, key=lambda row: row["busy_seconds"])["rank"])


def join_iterations(ranks: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of the iterations, from those of the ranks: counts are added, and of times the
    longest is taken. All else is the same on every rank.
    """
    found = []
    for rows in zip(*ranks, strict=True):
        row = dict(rows[0])
        row |= {name: sum(each[name] for each in rows) for name in _ROW_SUMS if name in row}
        row |= {name: max(each[name] for each in rows) for name in _ROW_LARGEST if name in row}
        found.append(row)
    return found


def resident_bytes() -> int:
    """The memory that this process uses now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

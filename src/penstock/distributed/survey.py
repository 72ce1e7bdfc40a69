"""The ranks: their machines, what they see of a graph, how fast they read and exchange."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.distributed.hosts import Hosts
from penstock.distributed.rank_limits import means_of
from penstock.engine.measuring import measure_disk
from penstock.engine.peers import Peers
from penstock.errors import PenstockError
from penstock.metrics import clock
from penstock.store.catalog import read_catalog
from penstock.store.paged import open_graph
from penstock.store.part import stripes_there
from penstock.types import U8

#: Empty exchanges that are timed, and some before that are not; bytes to each other rank, and how
#: often these are sent.
_EXCHANGES, _FIRST = 60, 10
_BULK_BYTES, _BULKS = 8 << 20, 4


@dataclass(frozen=True, slots=True)
class RankFacts:
    """What a rank reports."""

    rank: int
    host: str
    pid: int
    threads: int
    memory_bytes: int
    #: Of the disk with the graph, or else the folder where temporary files go.
    free_disk_bytes: int | None
    #: The stripes of the graph that it sees, and how many there are; None: it does not see it.
    stripes: tuple[int, ...] | None = None
    num_stripes: int | None = None
    #: Bytes a second, if measured.
    disk_rate: float | None = None
    exchange_ms: float | None = None
    network_rate: float | None = None


def survey(hosts: Hosts, graph: Path | None, *, measure: bool) -> list[dict[str, Any]]:
    """The ranks, by number. ``measure``: time disks and connections; takes a second or two."""
    addresses = {each["rank"]: each for each in hosts.describe()}
    found = hosts.run(look, None if graph is None else str(graph.absolute()), measure)
    return [_row(each, addresses.get(each.rank, {})) for each in found]


def _row(facts: RankFacts, described: Mapping[str, Any]) -> dict[str, Any]:
    row = asdict(facts)
    threads = described.get("threads")
    return {**row, "address": described.get("address"), "threads": threads or row["threads"]}


def look(peers: Peers, path: str | None, measure: bool) -> RankFacts:  # noqa: FBT001
    """What one rank finds; all call it at once."""
    memory, threads = means_of(peers)
    stripes = num_stripes = disk = exchange = network = None
    place = Path(path) if path is not None else None
    if place is not None:
        stripes, num_stripes = seen_stripes(place)
    if measure:
        disk = _disk_rate(place, threads)
        exchange, network = _exchange_rates(peers)
    return RankFacts(
        peers.rank, socket.gethostname(), os.getpid(), threads, memory, _free_bytes(place),
        stripes, num_stripes, disk, exchange, network,
    )  # fmt: skip


def seen_stripes(folder: Path) -> tuple[tuple[int, ...] | None, int | None]:
    """The stripes of a graph that are here, and how many it has; None if the graph is not here."""
    try:
        catalog = read_catalog(folder)
    except (PenstockError, OSError):
        return None, None
    return stripes_there(folder, catalog), catalog.num_stripes


def _free_bytes(place: Path | None) -> int | None:
    for folder in (place, Path(os.environ.get("TMPDIR") or "/tmp")):
        try:
            if folder is not None:
                return shutil.disk_usage(folder).free
        except OSError:
            continue
    return None


def _disk_rate(place: Path | None, threads: int) -> float | None:
    """None if the graph cannot be opened here."""
    if place is None:
        return None
    try:
        graph = open_graph(place)
        found = measure_disk(graph, threads)
    except (PenstockError, OSError):
        return None
    return None if found is None else found.rate


def _exchange_rates(peers: Peers) -> tuple[float | None, float | None]:
    """Milliseconds of a nearly empty exchange; bytes a second that arrive from others when all
    send to all.
    """
    nothing: U8 = np.zeros(1, np.uint8)
    if peers.size == 1:
        return None, None
    for _ in range(_FIRST):
        peers.allgather(nothing)
    begin = clock()
    for _ in range(_EXCHANGES):
        peers.allgather(nothing)
    exchange = 1e3 * (clock() - begin) / _EXCHANGES
    many: U8 = np.zeros(_BULK_BYTES, np.uint8)
    begin = clock()
    for _ in range(_BULKS):
        peers.alltoall([(many,)] * peers.size)
    rate = _BULKS * _BULK_BYTES * (peers.size - 1) / (clock() - begin)
    return exchange, rate

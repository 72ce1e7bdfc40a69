"""The timelines of all ranks in one file: a process of the viewer for each rank, on the clock of
rank 0.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.distributed.clocks import ClockOffset
from penstock.engine.watched_peers import WatchedPeers
from penstock.metrics import Metrics
from penstock.trace import NAMES, PROCESS, write_events
from penstock.types import Array

_KINDS = tuple(NAMES)


@dataclass(frozen=True, slots=True)
class Timeline:
    """What a rank did, and when by its own clock: as arrays, which are cheap to send."""

    host: str
    streams: int
    #: Threads that took part in exchanges, which have lanes after those of the streams.
    threads: int
    kinds: Array
    lanes: Array
    pages: Array
    begins: Array
    ends: Array
    offsets: tuple[ClockOffset, ...]


def timeline_of(
    metrics: Metrics | None, peers: WatchedPeers, offsets: Sequence[ClockOffset]
) -> Timeline:
    """The timeline of this rank."""
    streams = 0 if metrics is None else metrics.streams
    events = [] if metrics is None else metrics.events
    rows = [
        (_KINDS.index(each.what), each.stream, each.page, each.begin, each.end) for each in events
    ]
    lanes: dict[int, int] = {}
    for each in peers.sections:
        lane = lanes.setdefault(each.thread, streams + len(lanes))
        rows.append((_KINDS.index(each.what), lane, -1, each.begin, each.end))
    kinds, places, pages, begins, ends = zip(*rows, strict=True) if rows else ((),) * 5
    return Timeline(
        socket.gethostname(), streams, len(lanes), np.array(kinds, np.uint8),
        np.array(places, np.int32), np.array(pages, np.int64), np.array(begins, np.float64),
        np.array(ends, np.float64), tuple(offsets),
    )  # fmt: skip


def rank_events(timelines: Sequence[Timeline]) -> list[dict[str, Any]]:
    """All events, in Chrome's format; the first of all begins at 0."""
    offsets = timelines[0].offsets
    begins = [each.begins - offset.seconds for each, offset in zip(timelines, offsets, strict=True)]
    start = min((float(each.min()) for each in begins if len(each)), default=0.0)
    events: list[dict[str, Any]] = []
    for rank, line in enumerate(timelines):
        pid = rank + 1
        events.append(_name(PROCESS, pid, 0, f"rank {rank} (host {line.host})"))
        for lane in range(line.streams + line.threads):
            thread = lane - line.streams
            name = f"stream {lane}" if thread < 0 else f"exchange {thread}"
            events.append(_name("thread_name", pid, lane, name))
        times = (begins[rank] - start) * 1e6
        lengths = (line.ends - line.begins) * 1e6
        for k in np.argsort(times, kind="stable").tolist():
            event = {
                "name": NAMES[_KINDS[int(line.kinds[k])]],
                "ph": "X",
                "pid": pid,
                "tid": int(line.lanes[k]),
                "ts": float(times[k]),
                "dur": float(lengths[k]),
            }
            if line.pages[k] >= 0:
                event["args"] = {"page": int(line.pages[k])}
            events.append(event)
    return events


def _name(what: str, pid: int, lane: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": pid, "tid": lane, "args": {"name": name}}


def write_timelines(path: Path, timelines: Sequence[Timeline], *, overwrite: bool) -> None:
    """Write the timelines of all ranks, by rank, as one file, with the offsets of their clocks and
    the error bounds of these.
    """
    clocks = {
        f"rank {rank}": {
            "clock_ahead_seconds": offset.seconds, "known_within_seconds": offset.error
        }
        for rank, offset in enumerate(timelines[0].offsets)
    }  # fmt: skip
    write_events(path, rank_events(timelines), {"clocks": clocks}, overwrite=overwrite)

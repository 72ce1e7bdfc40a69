"""What a run counts and when things happened: the only channel of telemetry."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

clock = time.perf_counter


@dataclass(slots=True)
class Counters:
    """Sums over a run or a part of one. Each stream has its own, so that none waits for another.

    Bytes and pages are those that came from storage; a read is of a list, or of several together.
    """

    bytes_read: int = 0
    pages_read: int = 0
    reads: int = 0
    #: Pages that were in memory when they were needed.
    cache_hits: int = 0
    edges_traversed: int = 0
    #: Seconds summed over streams: waiting for storage, turning pages into blocks, in kernels.
    io_seconds: float = 0.0
    decode_seconds: float = 0.0
    kernel_seconds: float = 0.0

    def add(self, other: Counters) -> None:
        """Take another's sums in."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def minus(self, other: Counters) -> Counters:
        """What was counted since ``other`` was taken."""
        return Counters(
            **{f.name: getattr(self, f.name) - getattr(other, f.name) for f in fields(self)}
        )


@dataclass(frozen=True, slots=True)
class Event:
    """Something a stream did: read, decode or kernel."""

    what: str
    stream: int
    page: int
    begin: float
    end: float


@dataclass(slots=True)
class Metrics:
    """The telemetry of one run."""

    streams: int
    #: Whether events are kept; counters always are.
    tracing: bool = False
    started: float = field(default_factory=clock)
    per_stream: list[Counters] = field(init=False)
    events: list[Event] = field(default_factory=list)
    #: The per-iteration table.
    rows: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.per_stream = [Counters() for _ in range(self.streams)]

    def total(self) -> Counters:
        """All streams together."""
        total = Counters()
        for each in self.per_stream:
            total.add(each)
        return total

    @contextmanager
    def timed(self, what: str, stream: int, page: int = -1) -> Iterator[None]:
        """Count the time within as ``io``, ``decode`` or ``kernel`` seconds of a stream."""
        begin = clock()
        try:
            yield
        finally:
            self.count(what, stream, page, begin)

    def count(self, what: str, stream: int, page: int, begin: float) -> None:
        """Count the time since ``begin``."""
        end = clock()
        counters = self.per_stream[stream]
        name = f"{what}_seconds"
        setattr(counters, name, getattr(counters, name) + end - begin)
        if self.tracing:
            self.events.append(Event(what, stream, page, begin, end))

    @contextmanager
    def row(self, **facts: Any) -> Iterator[dict[str, Any]]:
        """One row of the per-iteration table: the facts, and what was counted meanwhile."""
        before, begin = self.total(), clock()
        row: dict[str, Any] = {"step": len(self.rows), **facts}
        yield row
        done = self.total().minus(before)
        row |= {
            "pages_read": done.pages_read,
            "bytes_read": done.bytes_read,
            "reads": done.reads,
            "cache_hits": done.cache_hits,
            "edges": done.edges_traversed,
            "seconds": clock() - begin,
        }
        self.rows.append(row)

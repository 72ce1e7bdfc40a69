"""Compactions that tests hold in the middle, and graphs that begin them soon."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.dynamic import storage
from penstock.dynamic.compaction import Compactor
from penstock.dynamic.compaction_limits import LogLimits, Need

SECONDS = 60


class Gate:
    """Base writers wait here until they may go on. ``fault`` is called then, and may raise."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.fault: Callable[[], None] = lambda: None
        #: The threads that came here.
        self.threads: list[str] = []

    def wait(self) -> None:
        self.threads.append(threading.current_thread().name)
        self.reached.set()
        assert self.opened.wait(SECONDS)
        self.fault()


@contextmanager
def gated() -> Iterator[Gate]:
    """Within this, every base is written behind a gate; it is opened in the end."""
    gate, real = Gate(), storage.compact

    def compact(*args: Any, **options: Any) -> Any:
        gate.wait()
        return real(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "compact", compact)
        try:
            yield gate
        finally:
            gate.opened.set()


@contextmanager
def waiting() -> Iterator[threading.Event]:
    """An event that is set when a writer begins to wait for a compaction."""
    began, real = threading.Event(), Compactor._wait

    def wait(self: Compactor) -> bool:
        began.set()
        return real(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compactor, "_wait", wait)
        yield began


def soon(path: Path | None, floor: int = 4000, **options: Any) -> ps.DynamicGraph:
    """A graph whose logs are merged when they have so many bytes, or twice what it is."""
    graph = ps.DynamicGraph(path, threads=2, **options)
    graph._compactor.limits = LogLimits(floor)
    return graph


def begin(graph: ps.DynamicGraph) -> None:
    """Begin a compaction in the background as if it were time to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compactor, "_need", lambda self: Need.NOW)
        assert graph._compactor._start(Need.NOW)


def settle(graph: ps.DynamicGraph) -> None:
    """Return when no compaction is under way."""
    compactor = graph._compactor
    with compactor._turn:
        assert compactor._turn.wait_for(lambda: compactor._owner is None, SECONDS)


def is_under_way(graph: ps.DynamicGraph) -> bool:
    return graph._compactor._owner is not None


def logs(graph: ps.DynamicGraph) -> list[str]:
    """The logs that the graph has, by what its directory says."""
    return [log.name for log in graph._storage._folder.catalog.logs]


def generation(graph: ps.DynamicGraph) -> int:
    return graph._storage._folder.catalog.generation


def crash(graph: ps.DynamicGraph) -> None:
    """Let go of everything as a process does that dies."""
    graph._end.detach()
    graph._storage._log.abandon()
    graph._storage._folder.close()
    graph._storage.state.close()


def edges(graph: Any) -> set[tuple[Any, ...]]:
    found = [*zip(*(each.tolist() for each in graph.to_edges()), strict=True)]
    assert len(set(found)) == len(found) == graph.num_edges
    return set(found)


class Ring:
    """A window of 200 edges that goes round a ring of 400 vertices, 50 at a time: logs grow, the
    graph does not.
    """

    def __init__(self, graph: ps.DynamicGraph) -> None:
        self.graph = graph
        self.next = 0
        #: In the order in which they came.
        self.edges: list[tuple[int, int]] = []

    def add(self, times: int = 1) -> None:
        for _ in range(times):
            src = np.arange(self.next, self.next + 50) % 400
            dst = (src + 1) % 400
            new = [*zip(src.tolist(), dst.tolist(), strict=True)]
            assert self.graph.add_edges(src, dst) == len({*new} - {*self.edges})
            self.edges = [edge for edge in self.edges if edge not in new] + new
            self.next += 50
            self.delete(self.edges[:-200])

    def delete(self, gone: list[tuple[int, int]]) -> None:
        if gone:
            assert self.graph.delete_edges(*zip(*gone, strict=True)) == len(gone)
            self.edges = [edge for edge in self.edges if edge not in gone]

    def delete_some(self) -> None:
        self.delete(self.edges[::7])

    def check(self, graph: Any = None) -> None:
        assert edges(self.graph if graph is None else graph) == {*self.edges}

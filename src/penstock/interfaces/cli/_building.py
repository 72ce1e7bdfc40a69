"""What ``build`` and ``generate`` have in common: watch, time, and show what came out."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.config import format_bytes
from penstock.interfaces.cli._bars import watching
from penstock.interfaces.cli._output import show
from penstock.progress import Progress

if TYPE_CHECKING:
    from penstock.store.paged import PagedGraph


@dataclass(slots=True)
class Building:
    """Takes the graph when it is there, and what is said about its input until then."""

    graph: PagedGraph | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _NotesApart:
    """Keeps notes for the end, and passes on how far the work has come."""

    progress: Progress
    notes: list[str]

    def start(self, stage: str, total: float | None, unit: str) -> None:
        """Pass it on."""
        self.progress.start(stage, total, unit)

    def advance(self, amount: float) -> None:
        """Pass it on."""
        self.progress.advance(amount)

    def note(self, text: str) -> None:
        """Keep it, once."""
        if text not in self.notes:
            self.notes.append(text)


def peak_bytes() -> int:
    """The most memory this process has had at any time, everything included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def building(*, as_json: bool) -> Iterator[tuple[Building, Progress]]:
    """Times the block, which must set ``graph``, and shows the graph afterwards."""
    result = Building()
    started = time.perf_counter()
    with watching(kernels=True) as progress:
        yield result, _NotesApart(progress, result.notes)
    seconds = time.perf_counter() - started
    if result.graph is not None:
        data = {**built(result.graph, seconds), "notes": result.notes}
        show("" if as_json else built_text(data), data, as_json=as_json)


def built(graph: PagedGraph, seconds: float) -> dict[str, Any]:
    """The facts of a graph that has just been built."""
    from penstock.interfaces.cli._summary import describe

    assert graph.path is not None
    facts = describe(graph.catalog, graph.path)
    return {**facts, "seconds": seconds, "peak_memory_bytes": peak_bytes()}


def built_text(data: dict[str, Any]) -> str:
    """Two lines about it, and what there is to say about its input."""
    kind = "directed" if data["directed"] else "undirected"
    left_out = [
        f"{count:,} {name.replace('_', ' ')}"
        for name, count in data["rules"].items()
        if name.endswith(("_dropped", "_skipped")) and count
    ]
    notes = f" ({', '.join(left_out)})" if left_out else ""
    lines = [
        f"{data['path']}: {data['num_vertices']:,} vertices, {data['num_edges']:,} {kind} edges"
        f"{notes}",
        f"{format_bytes(data['disk']['total_bytes'])} on disk, built in {data['seconds']:.1f} s",
    ]
    return "\n".join([*lines, *data["notes"]])

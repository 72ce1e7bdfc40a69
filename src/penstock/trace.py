"""The timeline of a run, in the format that Chrome's and Perfetto's viewers read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from penstock.errors import InputError, InputNotFoundError
from penstock.files import unfinished
from penstock.metrics import Metrics

#: What the parts of a stream's work are called, as GStream's figure has them; over several hosts
#: also what goes on between ranks.
NAMES = {
    "io": "read", "decode": "copy", "kernel": "kernel", "exchange": "exchange", "wait": "wait",
}  # fmt: skip
#: The event that names a process: there is one for each rank.
PROCESS = "process_name"


class Span(NamedTuple):
    """What a stream did for a while, as a trace file has it."""

    stream: int
    #: One of the values of :data:`NAMES`.
    part: str
    begin_ms: float
    length_ms: float
    #: The rank that it is a stream of, in a run over several hosts.
    rank: int | None = None


def trace_events(metrics: Metrics) -> list[dict[str, Any]]:
    """One complete event for each read, copy and kernel; a row of the viewer for each stream."""
    rows: list[dict[str, Any]] = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": k, "args": {"name": f"stream {k}"}}
        for k in range(metrics.streams)
    ]
    for event in sorted(metrics.events, key=lambda each: each.begin):
        rows.append(
            {
                "name": NAMES[event.what],
                "ph": "X",
                "pid": 1,
                "tid": event.stream,
                "ts": (event.begin - metrics.started) * 1e6,
                "dur": (event.end - event.begin) * 1e6,
                "args": {"page": event.page},
            }
        )
    return rows


def write_trace(path: Path, metrics: Metrics, *, overwrite: bool) -> None:
    """Write the timeline as JSON."""
    write_events(path, trace_events(metrics), {}, overwrite=overwrite)


def write_events(
    path: Path, events: list[dict[str, Any]], facts: dict[str, Any], *, overwrite: bool
) -> None:
    """Write events as JSON, with facts that viewers show beside them."""
    document: dict[str, Any] = {"traceEvents": events, "displayTimeUnit": "ms"}
    if facts:
        document["otherData"] = facts
    with unfinished(path, overwrite=overwrite) as temporary:
        temporary.write_text(json.dumps(document))


def read_trace(path: str | os.PathLike[str]) -> list[Span]:
    """What is in a trace file."""
    try:
        events = json.loads(Path(path).read_text())["traceEvents"]
        names = [event for event in events if event["ph"] == "M" and event["name"] == PROCESS]
        ranks = {event["pid"]: event["pid"] - 1 for event in names}
        return [
            Span(
                int(event["tid"]), str(event["name"]), event["ts"] / 1e3, event["dur"] / 1e3,
                ranks.get(event["pid"]),
            )
            for event in events
            if event["ph"] == "X"
        ]  # fmt: skip
    except OSError as error:
        raise InputNotFoundError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: is not a trace ({type(error).__name__}: {error}); "
            "expected what --trace writes"
        ) from None

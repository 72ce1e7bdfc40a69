"""The timeline of a run, in the format that Chrome's and Perfetto's viewers read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from penstock.errors import InputError, InputNotFoundError
from penstock.files import unfinished
from penstock.metrics import Metrics

#: What the parts of a stream's work are called, as GStream's figure has them.
NAMES = {"io": "read", "decode": "copy", "kernel": "kernel"}


class Span(NamedTuple):
    """What a stream did for a while, as a trace file has it."""

    stream: int
    #: One of the values of :data:`NAMES`.
    part: str
    begin_ms: float
    length_ms: float


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
    document = {"traceEvents": trace_events(metrics), "displayTimeUnit": "ms"}
    with unfinished(path, overwrite=overwrite) as temporary:
        temporary.write_text(json.dumps(document))


def read_trace(path: str | os.PathLike[str]) -> list[Span]:
    """What is in a trace file."""
    try:
        found = json.loads(Path(path).read_text())
        return [
            Span(int(event["tid"]), str(event["name"]), event["ts"] / 1e3, event["dur"] / 1e3)
            for event in found["traceEvents"]
            if event["ph"] == "X"
        ]
    except OSError as error:
        raise InputNotFoundError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: is not a trace ({type(error).__name__}: {error}); "
            "expected what --trace writes"
        ) from None

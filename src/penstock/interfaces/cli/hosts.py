"""``penstock hosts``: the ranks that would run a call over several hosts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.interfaces.cli._hosts import HostOptions
from penstock.interfaces.cli._options import Output


def command(
    *,
    graph: Annotated[
        Path | None,
        typer.Option(metavar="GRAPH", help="Show which stripes of a graph each rank sees."),
    ] = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Measure how fast they read the graph, and how fast they send to each other. "
            "Takes a few seconds.",
        ),
    ] = False,
    hosts: HostOptions,
    output: Output,
) -> None:
    """List the ranks of some hosts: their machines, threads, memory and free disk."""
    from penstock.distributed.survey import survey
    from penstock.interfaces.cli._output import show

    with hosts.open() as crew:
        rows = survey(crew, graph, measure=measure)
    text = "" if output.json else hosts_text(rows)
    show(text, {"graph": graph, "ranks": rows}, as_json=output.json)


def hosts_text(rows: list[dict[str, Any]]) -> str:
    """A line for each rank."""
    from penstock.interfaces.cli._output import table

    columns = [each for each in _columns() if any(row[each[1]] is not None for row in rows)]
    lines = [[name for name, _, _ in columns]]
    for row in rows:
        lines.append(["-" if row[key] is None else spell(row) for _, key, spell in columns])
    ranks = f"{len(rows)} rank{'s' * (len(rows) != 1)}"
    machines = len({row["host"] for row in rows})
    return f"{ranks} on {machines} machine{'s' * (machines != 1)}\n" + table(lines)


def _columns() -> list[tuple[str, str, Callable[[dict[str, Any]], str]]]:
    """The head of each column, the key of its values, and their format."""
    from penstock.config import format_bytes

    return [
        ("rank", "rank", lambda row: str(row["rank"])),
        ("host", "host", lambda row: row["host"]),
        ("address", "address", lambda row: row["address"]),
        ("process", "pid", lambda row: str(row["pid"])),
        ("threads", "threads", lambda row: str(row["threads"])),
        ("memory", "memory_bytes", lambda row: format_bytes(row["memory_bytes"])),
        ("free disk", "free_disk_bytes", lambda row: format_bytes(row["free_disk_bytes"])),
        ("stripes", "stripes", lambda row: f"{len(row['stripes'])} of {row['num_stripes']}"),
        ("disk", "disk_rate", lambda row: f"{format_bytes(row['disk_rate'])}/s"),
        ("exchange", "exchange_ms", lambda row: f"{row['exchange_ms']:.2f} ms"),
        ("network", "network_rate", lambda row: f"{format_bytes(row['network_rate'])}/s"),
    ]

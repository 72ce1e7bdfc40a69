"""What ``info`` says of the directory of a graph that changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.config import format_bytes
from penstock.interfaces.cli._output import facts


def describe_live(path: Path) -> dict[str, Any]:
    """The facts of a live graph's directory; its logs are read to their end."""
    from penstock.dynamic.folder import LiveFolder

    with LiveFolder.open(path, read_only=True) as folder:
        reader = folder.read_log()
        for _ in reader:
            pass
        catalog, found = folder.catalog, reader.recovery
    schema = catalog.schema
    base = None
    if catalog.base is not None:
        base = {
            "name": catalog.base.name,
            "num_vertices": catalog.base.num_vertices,
            "num_edges": catalog.base.num_edges,
        }
    return {
        "path": str(path),
        "live": True,
        "directed": schema.directed,
        "reverse": schema.reverse,
        "multigraph": schema.multigraph,
        "ids": schema.ids,
        "edge_properties": {column.name: column.dtype.name for column in schema.columns},
        "vertex_properties": {column.name: column.dtype.name for column in schema.vertex_columns},
        "weight": schema.weight,
        "generation": catalog.generation,
        "base": base,
        "log": {
            "name": catalog.log,
            "earlier": [log.name for log in catalog.earlier],
            "batches": found.records,
            "bytes": reader.num_bytes,
            "dropped_bytes": found.dropped_bytes,
            "closed": found.closed,
        },
        "written_by": catalog.written_by,
    }


def live_text(data: dict[str, Any]) -> str:
    """The same for people."""
    base, log = data["base"], data["log"]
    kind = "directed" if data["directed"] else "undirected"
    kind += " multigraph" if data["multigraph"] else " graph"
    kind += ", reverse edges kept" if data["reverse"] else ""
    merged = "none yet"
    if base is not None:
        merged = f"{base['num_vertices']:,} vertices, {base['num_edges']:,} edges ({base['name']})"
    ending = "closed" if log["closed"] else "not closed: open, or its writer died"
    if log["dropped_bytes"]:
        ending += f"; {log['dropped_bytes']:,} bytes of a torn tail will be dropped"
    since = f"{log['batches']:,} batches, {format_bytes(log['bytes'])} ({ending})"
    if log["earlier"]:
        since += f"; {1 + len(log['earlier'])} logs: a compaction is under way or was interrupted"
    pairs = [
        ("live graph", f"{data['path']}: {kind}"),
        ("ids", data["ids"] or "not known yet"),
        ("edge properties", _spell(data["edge_properties"])),
        ("vertex properties", _spell(data["vertex_properties"])),
        ("base", merged),
        ("log since", since),
        ("generation", f"{data['generation']:,}"),
    ]
    return facts(pairs)


def _spell(properties: dict[str, str]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in properties.items()) or "none"

"""What ``info`` says of the directory of a graph that changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.config import format_bytes
from penstock.interfaces.cli._output import facts

if TYPE_CHECKING:
    from penstock.dynamic.folder_catalog import LiveCatalog
    from penstock.dynamic.log_reader import Recovery
    from penstock.types import IdKind


@dataclass(frozen=True)
class _Found:
    """A live graph as it is now."""

    catalog: LiveCatalog
    log: Recovery
    num_vertices: int
    num_edges: int
    ids: IdKind | None


def _look(path: Path) -> _Found:
    """Look at a live graph: at its directory if that says everything, else by opening it."""
    from penstock.dynamic.folder import LiveFolder
    from penstock.dynamic.graph import DynamicGraph

    with LiveFolder.open(path, read_only=True) as folder:
        reader = folder.read_log()
        if next(iter(reader), None) is None:
            base, ids = folder.catalog.base, folder.catalog.schema.ids
            reader.recovery.tell(read_only=True)
            counts = (0, 0) if base is None else (base.num_vertices, base.num_edges)
            return _Found(folder.catalog, reader.recovery, *counts, ids)
    with DynamicGraph(path, read_only=True) as graph:
        catalog, log = graph.internals.catalog, graph.internals.recovery
        assert catalog is not None
        assert log is not None
        return _Found(catalog, log, graph.num_vertices, graph.num_edges, graph.internals.id_kind)


def describe_live(path: Path) -> dict[str, Any]:
    """The facts of a live graph's directory. If its log has batches, they are replayed."""
    found = _look(path)
    catalog, log = found.catalog, found.log
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
        "num_vertices": found.num_vertices,
        "num_edges": found.num_edges,
        "directed": schema.directed,
        "reverse": schema.reverse,
        "reverse_bytes": _reverse_bytes(found),
        "multigraph": schema.multigraph,
        "ids": found.ids,
        "edge_properties": {column.name: column.dtype.name for column in schema.columns},
        "vertex_properties": {column.name: column.dtype.name for column in schema.vertex_columns},
        "weight": schema.weight,
        "generation": catalog.generation,
        "base": base,
        "log": {
            "name": catalog.log,
            "batches": log.records,
            "bytes": log.end.end,
            "dropped_bytes": log.dropped_bytes,
            "closed": log.closed,
        },
        "written_by": catalog.written_by,
    }


def _reverse_bytes(found: _Found) -> int:
    """What the lists of edges turned round take in memory, about: with the room to grow."""
    schema = found.catalog.schema
    row = 4 + sum(column.dtype.itemsize for column in schema.columns)
    return int(1.25 * row * found.num_edges) + 30 * found.num_vertices if schema.directed else 0


def live_text(data: dict[str, Any]) -> str:
    """The same for people."""
    base, log = data["base"], data["log"]
    kind = "directed" if data["directed"] else "undirected"
    kind += " multigraph" if data["multigraph"] else " graph"
    size = format_bytes(data["reverse_bytes"])
    reverse = {
        True: "kept", False: "never kept", None: f"made when first needed, about {size} in memory"
    }[data["reverse"]]  # fmt: skip
    merged = "none yet"
    if base is not None:
        merged = f"{base['num_vertices']:,} vertices, {base['num_edges']:,} edges ({base['name']})"
    ending = "closed" if log["closed"] else "not closed: open, or its writer died"
    if log["dropped_bytes"]:
        ending += f"; {log['dropped_bytes']:,} bytes of a torn tail will be dropped"
    since = f"{log['batches']:,} batches, {format_bytes(log['bytes'])} ({ending})"
    pairs = [
        ("live graph", f"{data['path']}: {kind}"),
        ("vertices", f"{data['num_vertices']:,}"),
        ("edges", f"{data['num_edges']:,}"),
        ("reverse lists", reverse if data["directed"] else "not needed"),
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

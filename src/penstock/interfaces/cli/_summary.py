"""What a graph is, from its catalog alone: as data, and as text. Nothing large is read."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from penstock.config import format_bytes
from penstock.interfaces.cli._output import bar, facts, table
from penstock.store.catalog import FILE_NAME, READ_VERSION, WRITE_VERSION, Catalog, DirectionStats
from penstock.store.contents import stripe_name
from penstock.store.part import read_part, stripe_list, stripes_there


def describe(catalog: Catalog, path: Path) -> dict[str, Any]:
    """The facts of a graph directory, for ``--json`` and for the text."""
    part = _part(catalog, path)
    return {
        "path": str(path),
        "num_vertices": catalog.num_vertices,
        "num_edges": catalog.num_edges,
        "directed": catalog.directed,
        "weighted": catalog.weight is not None,
        "weight": catalog.weight,
        "columns": [{"name": c.name, "dtype": c.dtype.name} for c in catalog.columns],
        "ids": _ids(catalog),
        "rules": dict(catalog.rules),
        "vertex_order": catalog.vertex_order,
        "neighbour_order": catalog.neighbour_order,
        "layout": catalog.layout,
        "page_bytes": catalog.page_bytes,
        "bands": list(catalog.bands),
        "physical_ids": [catalog.p, catalog.q] if catalog.layout == "slotted" else None,
        "part": part,
        "stripes": [_stripe(path / stripe_name(k)) for k in range(catalog.num_stripes)],
        "directions": {
            name: _direction(stats, catalog.page_bytes)
            for name, stats in catalog.directions.items()
        },
        "disk": _disk(catalog, path, part),
        "format": {"read": READ_VERSION, "write": WRITE_VERSION},
        "written_by": catalog.written_by,
        "tag": f"{catalog.tag:016x}",
    }


def _ids(catalog: Catalog) -> dict[str, Any]:
    ids: dict[str, Any] = {"kind": catalog.ids.kind}
    if catalog.ids.kind == "range":
        ids |= {"first": catalog.ids.first, "last": catalog.ids.first + catalog.num_vertices - 1}
    return ids


def _part(catalog: Catalog, path: Path) -> dict[str, Any] | None:
    """Which stripes are here and which are not, if this is a part of a graph."""
    part = read_part(path, catalog)
    if part is None:
        return None
    there = stripes_there(path, catalog)
    return {
        "stripes": list(there),
        "of": catalog.num_stripes,
        "missing": [k for k in part.stripes if k not in there],
        "elsewhere": [
            k for k in range(catalog.num_stripes) if k not in there and k not in part.stripes
        ],
        "place": part.places[part.place],
        "places": list(part.places),
    }


def _stripe(folder: Path) -> dict[str, Any]:
    return {"folder": os.path.realpath(folder), "present": folder.is_dir()}


def _direction(stats: DirectionStats, page_bytes: int) -> dict[str, Any]:
    size = stats.num_pages * page_bytes
    return {
        **asdict(stats),
        "bytes": size,
        "fill": stats.used_bytes / size if size else 0.0,
        "bytes_per_edge": size / stats.num_edges if stats.num_edges else None,
        "degree_histogram": [
            {"from": low, "to": high, "vertices": count}
            for (low, high), count in zip(
                _degree_ranges(len(stats.degree_histogram)), stats.degree_histogram, strict=True
            )
        ],
    }


def _degree_ranges(count: int) -> list[tuple[int, int]]:
    return [(0, 0), *((2 ** (k - 1), 2**k - 1) for k in range(1, count))][:count]


def _disk(catalog: Catalog, path: Path, part: dict[str, Any] | None) -> dict[str, int]:
    """What is on this disk."""
    stripes = range(catalog.num_stripes) if part is None else part["stripes"]
    pages = catalog.page_bytes * sum(
        len(range(k, stats.num_pages, catalog.num_stripes))
        for stats in catalog.directions.values()
        for k in stripes
    )
    index = sum(record.bytes for record in catalog.files.values())
    with suppress(OSError):
        index += (path / FILE_NAME).stat().st_size
    return {"pages_bytes": pages, "index_bytes": index, "total_bytes": pages + index}


def as_text(data: dict[str, Any]) -> str:
    """The facts for people."""
    return "\n".join(
        [data["path"], _graph_text(data), "", _pages_text(data), "", _degrees_text(data)]
    )


def _graph_text(data: dict[str, Any]) -> str:
    rules = data["rules"]
    kind = "directed" if data["directed"] else "undirected"
    weight = f", weights in {data['weight']!r}" if data["weighted"] else ", no weights"
    disk = data["disk"]
    pairs = [
        ("vertices", f"{data['num_vertices']:,}  ({_ids_text(data['ids'])})"),
        ("edges", f"{data['num_edges']:,}  ({kind}{weight})"),
    ]
    if data["columns"]:
        columns = ", ".join(f"{c['name']} {c['dtype']}" for c in data["columns"])
        pairs.append(("edge columns", columns))
    pairs += [
        ("duplicates", _rule(rules.get("duplicates"), rules.get("duplicates_dropped"))),
        ("self-loops", _rule(rules.get("self_loops"), rules.get("self_loops_dropped"))),
    ]
    known = {"duplicates", "duplicates_dropped", "self_loops", "self_loops_dropped"}
    for name, value in rules.items():
        if name not in known:
            text = f"{value:,}" if isinstance(value, int) else str(value)
            pairs.append((name.replace("_", " "), text))
    by = {"degree": "by descending degree", "none": "in order of their ids"}
    pairs += [
        ("vertex order", by.get(data["vertex_order"], data["vertex_order"])),
        ("list order", f"by {data['neighbour_order']}"),
        (
            "on disk",
            f"{format_bytes(disk['total_bytes'])}  (pages {format_bytes(disk['pages_bytes'])}, "
            f"index {format_bytes(disk['index_bytes'])})",
        ),
    ]
    if data["part"] is not None:
        pairs += _part_pairs(data["part"])
    elif len(data["stripes"]) > 1 or not data["stripes"][0]["present"]:
        for k, stripe in enumerate(data["stripes"]):
            missing = "" if stripe["present"] else "  MISSING"
            pairs.append((f"stripe {k}", f"{stripe['folder']}{missing}"))
    pairs.append(("format", f"version {data['format']['read']}, written by {data['written_by']}"))
    return facts(pairs)


def _part_pairs(part: dict[str, Any]) -> list[tuple[str, str]]:
    places = f"{len(part['places'])} places, this one for {part['place']}"
    pairs = [("part", f"stripes {stripe_list(part['stripes'])} of {part['of']}  ({places})")]
    if part["missing"]:
        pairs.append(("MISSING", f"stripes {stripe_list(part['missing'])}: deal the graph again"))
    if part["elsewhere"]:
        text = f"stripes {stripe_list(part['elsewhere'])}; runs need the hosts that have them"
        pairs.append(("elsewhere", text))
    return pairs


def _ids_text(ids: dict[str, Any]) -> str:
    if ids["kind"] != "range":
        return "ids: strings" if ids["kind"] == "string" else "ids: integers"
    if ids["last"] < ids["first"]:
        return "no ids"
    return f"ids {ids['first']:,} to {ids['last']:,}"


def _rule(rule: object, dropped: object) -> str:
    return f"{rule}" + (f"  ({dropped:,} dropped)" if isinstance(dropped, int) and dropped else "")


def _pages_text(data: dict[str, Any]) -> str:
    if data["physical_ids"]:
        p, q = data["physical_ids"]
        head, spelling = "(p,q)", f"({p},{q})"
    else:
        head, spelling = "id bytes", "+".join(map(str, data["bands"])) or "-"
    heads = ("lists", "edges", "layout", head, "#SP", "#LP", "page size", "fill", "B/edge")
    rows = [(*heads, "max degree")]
    for name, stats in data["directions"].items():
        per_edge = stats["bytes_per_edge"]
        rows.append(
            (
                name if data["directed"] else "both",
                f"{stats['num_edges']:,}",
                data["layout"],
                spelling,
                f"{stats['small_pages']:,}",
                f"{stats['large_pages']:,}",
                _binary(data["page_bytes"]),
                f"{100 * stats['fill']:.1f}%",
                "-" if per_edge is None else f"{per_edge:.2f}",
                f"{stats['max_degree']:,}",
            )
        )
    return table(rows)


def _binary(count: int) -> str:
    """Page sizes are round in powers of two."""
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << shift and count % (1 << shift) == 0:
            return f"{count >> shift} {unit}"
    return f"{count:,} B"


def _degrees_text(data: dict[str, Any]) -> str:
    """How many vertices have how many edges: a line for each power of two."""
    directions = data["directions"]
    names = list(directions) if data["directed"] else ["both"]
    counts = [
        [entry["vertices"] for entry in stats["degree_histogram"]] for stats in directions.values()
    ]
    length = max(map(len, counts))
    counts = [column + [0] * (length - len(column)) for column in counts]
    most = max(counts[0], default=0) or 1
    rows: list[tuple[str, ...]] = [("degree", *(f"vertices ({name})" for name in names))]
    bars = [""]
    for k, (low, high) in enumerate(_degree_ranges(length)):
        name = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        rows.append((name, *(f"{column[k]:,}" for column in counts)))
        bars.append(bar(counts[0][k] / most))
    lines = zip(table(rows).split("\n"), bars, strict=True)
    return "\n".join(f"{line}  {drawn}".rstrip() for line, drawn in lines)

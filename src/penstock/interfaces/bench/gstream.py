"""The suite ``gstream``: run the experiments, write rows and pictures, and say what came out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.config import format_bytes, thread_count
from penstock.errors import AccessError, OptionError
from penstock.interfaces import pictures
from penstock.interfaces.bench.experiments import EXPERIMENTS
from penstock.interfaces.bench.workloads import SEED, Row, Workbench
from penstock.version import __version__

NAME = "gstream"


def chosen_experiments(names: str | None) -> list[str]:
    """The experiments of a list such as ``"pages,cache"``, in their own order; None: all."""
    wanted = [name.strip() for name in (names or ",".join(EXPERIMENTS)).split(",")]
    for name in wanted:
        if name not in EXPERIMENTS:
            raise OptionError(
                f"experiments: there is no {name!r}; there are {', '.join(EXPERIMENTS)}"
            )
    return [name for name in EXPERIMENTS if name in wanted]


def run_suite(
    bench: Workbench, experiments: Sequence[str], suffix: str | None = ".png"
) -> dict[str, Any]:
    """Run experiments; pictures, traces and ``results.json`` go to the workbench's folder.

    Graphs are made in a hidden folder there, which goes away. What an experiment found is written
    when it ends, whatever becomes of the next one. ``suffix`` says which kind of pictures; None:
    none.
    """
    out = bench.folder
    if suffix is not None:
        pictures.check_drawing(f"any{suffix}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".graphs-", dir=out) as folder:
            inside = replace(bench, folder=Path(folder), traces=out)
            inside.warm()
            data: dict[str, Any] = {
                **_facts(inside), "experiments": {}, "pictures": {},
                "results": str(out / "results.json"),
            }  # fmt: skip
            for name in experiments:
                data["experiments"][name] = EXPERIMENTS[name](inside)
                if suffix is not None:
                    path = out / f"{name}{suffix}"
                    pictures.DRAWINGS[name](data["experiments"][name], path)
                    data["pictures"][name] = str(path)
                (out / "results.json").write_text(json.dumps(data, indent=1) + "\n")
    except PermissionError as error:
        if isinstance(error, AccessError):
            raise
        raise AccessError(f"{error.filename}: no permission to write there") from None
    return data


def _facts(bench: Workbench) -> Row:
    graph = bench.graph
    lists = graph.catalog.directions["in"]
    return {
        "suite": NAME,
        "version": __version__,
        "scale": bench.scale,
        "seed": SEED,
        "num_vertices": graph.num_vertices,
        "num_edges": graph.num_edges,
        "page_bytes": graph.catalog.page_bytes,
        "pages": lists.num_pages,
        "topology_bytes": lists.num_pages * graph.catalog.page_bytes,
        "threads": thread_count(bench.threads),
        "repeat": bench.repeat,
    }


# As text

Cells = tuple[str, ...]


def summary(data: dict[str, Any]) -> list[tuple[str, list[Cells]]]:
    """A heading and a table for each experiment; the first row of a table has its heads."""
    return [(_HEADINGS[name], _TABLES[name](rows)) for name, rows in data["experiments"].items()]


def _pages_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "pages", "copied in each level or iteration")]
    for name, mine in _grouped(rows, "algorithm"):
        copied = " ".join(str(row["pages_copied"]) for row in mine)
        found.append((name, f"{mine[0]['pages']:,}", copied))
    return found


def _storage_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "topology in", "pull", "push", "plain reads for pull")]
    for name, mine in _grouped(rows, "algorithm"):
        for place, both in _grouped(mine, "storage"):
            times = {row["strategy"]: row for row in both}
            limit = times["pull"]["limit_seconds"]
            found.append(
                (
                    name,
                    place,
                    _time(times["pull"]["seconds"]),
                    _time(times["push"]["seconds"]),
                    "-" if limit is None else _time(limit),
                )
            )
    return found


def _streams_table(rows: list[Row]) -> list[Cells]:
    counts = list(dict.fromkeys(row["streams"] for row in rows))
    found: list[Cells] = [("streams", *map(str, counts))]
    for name, mine in _grouped(rows, "algorithm"):
        found.append((name, *(_time(row["seconds"]) for row in mine)))
    return found


def _cache_table(rows: list[Row]) -> list[Cells]:
    measured = [row for row in rows if row["order"] == "cached first"]
    policies = list(dict.fromkeys(row["policy"] for row in measured))
    found: list[Cells] = [("", "cached", *policies, *(f"hits {p}" for p in policies), "lru plain")]
    for name, mine in _grouped(rows, "algorithm"):
        for size, same in _grouped(mine, "cache_pages"):
            by = {(row["policy"], row["order"]): row for row in same}
            here = [by[policy, "cached first"] for policy in policies]
            found.append(
                (
                    name,
                    f"{size:,}",
                    *(_time(row["seconds"]) for row in here),
                    *(f"{row['hit_rate']:.0%}" for row in here),
                    f"{by['lru', 'by number']['hit_rate']:.0%}",
                )
            )
    return found


def _buffer_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "buffer", "time", "read")]
    return found + [
        (row["algorithm"], row["buffer"], _time(row["seconds"]), format_bytes(row["bytes_read"]))
        for row in rows
    ]


def _timeline_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "streams", "time", "reading", "decoding", "kernels", "trace")]
    parts = ("io_seconds", "decode_seconds", "kernel_seconds")
    return found + [
        (
            row["algorithm"],
            str(row["streams"]),
            _time(row["seconds"]),
            *(_time(row[part]) for part in parts),
            row["trace"],
        )
        for row in rows
    ]


def _modes_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "iteration", "active", "pull", "notify-pull", "chosen")]
    for name, mine in _grouped(rows, "program"):
        for step, same in _grouped(mine, "step"):
            by = {row["strategy"]: row for row in same}
            notified = by["notify-pull"]["chosen"] == "notify-pull"
            found.append(
                (
                    name,
                    str(step),
                    f"{by['pull']['active_share']:.1%}",
                    _time(by["pull"]["seconds"]),
                    _time(by["notify-pull"]["seconds"]) if notified else "-",
                    by["auto"]["chosen"],
                )
            )
    return found


def _grouped(rows: Iterable[Row], key: str) -> list[tuple[Any, list[Row]]]:
    """Rows by the value of a key, in order of appearance."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    return list(groups.items())


def _time(seconds: float) -> str:
    """
    >>> _time(0.01234), _time(12.34)
    ('12.3 ms', '12.3 s')
    """
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


_TABLES = {
    "timeline": _timeline_table,
    "pages": _pages_table,
    "storage": _storage_table,
    "streams": _streams_table,
    "cache": _cache_table,
    "buffer": _buffer_table,
    "modes": _modes_table,
}
_HEADINGS = {
    "timeline": "What the streams do when (GStream's Figure 4)",
    "pages": "Pages copied (GStream's Figure 5)",
    "storage": "Storage and strategy (GStream's Figure 13)",
    "streams": "Number of streams (GStream's Figure 14)",
    "cache": "Size of the page cache (GStream's Figure 15)",
    "buffer": "A host buffer of 20% of the graph",
    "modes": "Pull and notify-pull (Garaph's Figure 10)",
}

"""The suite ``gstream``: how the rows of each experiment are shown."""

from __future__ import annotations

from penstock.config import format_bytes
from penstock.interfaces import pictures
from penstock.interfaces.bench import experiments
from penstock.interfaces.bench.suite import Cells, Experiment, Row, Suite, as_time, grouped
from penstock.interfaces.bench.workloads import Workbench


def _headline(facts: Row) -> str:
    return (
        f"RMAT scale {facts['scale']}: {facts['num_vertices']:,} vertices, {facts['num_edges']:,} "
        f"edges, {facts['pages']:,} pages of {format_bytes(facts['page_bytes'])} in each direction"
        f"; {facts['threads']} threads, best of {facts['repeat']}"
    )


def _pages_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "pages", "copied in each level or iteration")]
    for name, mine in grouped(rows, "algorithm"):
        copied = " ".join(str(row["pages_copied"]) for row in mine)
        found.append((name, f"{mine[0]['pages']:,}", copied))
    return found


def _storage_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "topology in", "pull", "push", "plain reads for pull")]
    for name, mine in grouped(rows, "algorithm"):
        for place, both in grouped(mine, "storage"):
            times = {row["strategy"]: row for row in both}
            limit = times["pull"]["limit_seconds"]
            found.append(
                (
                    name,
                    place,
                    as_time(times["pull"]["seconds"]),
                    as_time(times["push"]["seconds"]),
                    "-" if limit is None else as_time(limit),
                )
            )
    return found


def _streams_table(rows: list[Row]) -> list[Cells]:
    counts = list(dict.fromkeys(row["streams"] for row in rows))
    found: list[Cells] = [("streams", *map(str, counts))]
    for name, mine in grouped(rows, "algorithm"):
        found.append((name, *(as_time(row["seconds"]) for row in mine)))
    return found


def _cache_table(rows: list[Row]) -> list[Cells]:
    measured = [row for row in rows if row["order"] == "cached first"]
    policies = list(dict.fromkeys(row["policy"] for row in measured))
    found: list[Cells] = [("", "cached", *policies, *(f"hits {p}" for p in policies), "lru plain")]
    for name, mine in grouped(rows, "algorithm"):
        for size, same in grouped(mine, "cache_pages"):
            by = {(row["policy"], row["order"]): row for row in same}
            here = [by[policy, "cached first"] for policy in policies]
            found.append(
                (
                    name,
                    f"{size:,}",
                    *(as_time(row["seconds"]) for row in here),
                    *(f"{row['hit_rate']:.0%}" for row in here),
                    f"{by['lru', 'by number']['hit_rate']:.0%}",
                )
            )
    return found


def _buffer_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "buffer", "time", "read")]
    return found + [
        (row["algorithm"], row["buffer"], as_time(row["seconds"]), format_bytes(row["bytes_read"]))
        for row in rows
    ]


def _timeline_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "streams", "time", "reading", "decoding", "kernels", "trace")]
    parts = ("io_seconds", "decode_seconds", "kernel_seconds")
    return found + [
        (
            row["algorithm"],
            str(row["streams"]),
            as_time(row["seconds"]),
            *(as_time(row[part]) for part in parts),
            row["trace"],
        )
        for row in rows
    ]


def _modes_table(rows: list[Row]) -> list[Cells]:
    found: list[Cells] = [("", "iteration", "active", "pull", "notify-pull", "chosen")]
    for name, mine in grouped(rows, "program"):
        for step, same in grouped(mine, "step"):
            by = {row["strategy"]: row for row in same}
            notified = by["notify-pull"]["chosen"] == "notify-pull"
            found.append(
                (
                    name,
                    str(step),
                    f"{by['pull']['active_share']:.1%}",
                    as_time(by["pull"]["seconds"]),
                    as_time(by["notify-pull"]["seconds"]) if notified else "-",
                    by["auto"]["chosen"],
                )
            )
    return found


SUITE: Suite[Workbench] = Suite(
    "gstream",
    _headline,
    {
        "timeline": Experiment(
            "What the streams do when (GStream's Figure 4)",
            experiments.timeline,
            _timeline_table,
            {"timeline": pictures.draw_timeline},
        ),
        "pages": Experiment(
            "Pages copied (GStream's Figure 5)",
            experiments.pages,
            _pages_table,
            {"pages": pictures.draw_pages},
        ),
        "storage": Experiment(
            "Storage and strategy (GStream's Figure 13)",
            experiments.storage,
            _storage_table,
            {"storage": pictures.draw_storage},
        ),
        "streams": Experiment(
            "Number of streams (GStream's Figure 14)",
            experiments.streams,
            _streams_table,
            {"streams": pictures.draw_streams},
        ),
        "cache": Experiment(
            "Size of the page cache (GStream's Figure 15)",
            experiments.cache,
            _cache_table,
            {"cache": pictures.draw_cache},
        ),
        "buffer": Experiment(
            "A host buffer of 20% of the graph",
            experiments.buffer,
            _buffer_table,
            {"buffer": pictures.draw_buffer},
        ),
        "modes": Experiment(
            "Pull and notify-pull (Garaph's Figure 10)",
            experiments.modes,
            _modes_table,
            {"modes": pictures.draw_modes},
        ),
    },
)

"""The report of a run over several hosts on its ranks: what each did, and which was slow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.config import format_bytes
from penstock.interfaces.cli._output import table


def ranks_text(stats: Mapping[str, Any]) -> str:
    """A line for each rank, with the slowest marked; empty if there are no ranks."""
    rows = stats.get("ranks")
    if not rows:
        return ""
    slowest = stats["slowest_rank"] if len(rows) > 1 else None
    cells = [[name for name, _ in _COLUMNS]]
    cells += [[spell(row) for _, spell in _COLUMNS] for row in rows]
    for k, line in enumerate(cells[1:]):
        line[0] += " *" if rows[k]["rank"] == slowest else ""
    notes = [
        "Ranks  (seconds; reading, decoding, kernels and exchange are sums over threads)",
        table(cells),
    ]
    if slowest is not None:
        notes.append(f"  * worked longest: {_longer(rows, slowest)}")
    if stats.get("dashboard"):
        notes.append(f"  Dask's dashboard: {stats['dashboard']}")
    return "\n".join(notes)


def _longer(rows: list[dict[str, Any]], slowest: int) -> str:
    busy = sorted(row["busy_seconds"] for row in rows)
    longest, median = busy[-1], busy[(len(busy) - 1) // 2]
    text = f"rank {slowest} was busy for {longest:.3g} s without waiting"
    return f"{text}, half of the ranks for at most {median:.3g} s"


def _seconds(name: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: f"{row[name]:.3g}"


#: The head of each column, and the format of its values.
_COLUMNS: tuple[tuple[str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("rank", lambda row: str(row["rank"])),
    ("host", lambda row: str(row["host"])),
    ("vertices", lambda row: f"{row['own_vertices']:,}"),
    ("edges", lambda row: f"{row['own_edges']:,}"),
    ("read", lambda row: format_bytes(row["bytes_read"])),
    ("reading", _seconds("io_seconds")),
    ("decoding", _seconds("decode_seconds")),
    ("kernels", _seconds("kernel_seconds")),
    ("exchange", _seconds("exchange_seconds")),
    ("waiting", _seconds("waiting_seconds")),
    ("in all", _seconds("seconds")),
    ("sent", lambda row: format_bytes(sum(row["sent_bytes"]))),
    ("received", lambda row: format_bytes(sum(row["received_bytes"]))),
    ("peak memory", lambda row: format_bytes(row["peak_memory"])),
    ("before", lambda row: format_bytes(row["base_memory"])),
)

"""What Graph500 prints: statistics over the searches, and lines as the reference code (version 3)
spells them, in its order. Pure: numbers in, text out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from penstock.config import format_bytes
from penstock.types import Array

Stats = dict[str, float | None]
Lines = list[tuple[str, Any]]

#: How wide a name is, with its colon.
_WIDTH = 32
#: What stands for a number that cannot be had.
UNAVAILABLE = "unavailable"


def statistics(values: Sequence[float]) -> Stats:
    """The seven numbers that describe some values; of a single one there is no deviation (None)."""
    found = np.asarray(values, np.float64)
    deviation = float(found.std(ddof=1)) if len(found) > 1 else None
    return {**_places(found), "mean": float(found.mean()), "stddev": deviation}


def rate_statistics(nedge: Sequence[int], seconds: Sequence[float]) -> Stats:
    """The same for edges a second, which are averaged harmonically: everything is computed of
    seconds an edge, and inverted. The deviation is Norris' standard error of a harmonic mean,
    ``deviation / (mean**2 * sqrt(n - 1))`` of the seconds an edge (Annals of Mathematical
    Statistics 11, 1940).
    """
    slowness = np.array([t / m for m, t in zip(nedge, seconds, strict=True)])
    places, mean = list(_places(slowness).items()), float(slowness.mean())
    # The fastest is the one with the least seconds an edge.
    mirrored = zip(places, reversed(places), strict=True)
    error = None
    if len(slowness) > 1:
        error = float(slowness.std(ddof=1)) / (mean**2 * math.sqrt(len(slowness) - 1))
    return {
        **{name: 1 / slow for (name, _), (_, slow) in mirrored},
        "harmonic_mean": 1 / mean,
        "harmonic_stddev": error,
    }


def _places(values: Array) -> dict[str, float]:
    """The least, the largest, and the quartiles; one between two values is their mean."""
    names = ("min", "firstquartile", "median", "thirdquartile", "max")
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    found = np.quantile(values, shares, method="averaged_inverted_cdf")
    return dict(zip(names, found.tolist(), strict=True))


def official(data: dict[str, Any]) -> Lines:
    """The names and values that the reference code prints, in its order; each kernel's searches
    are rows of ``data["searches"]``.
    """
    searches: dict[str, list[dict[str, Any]]] = data["searches"]
    lines: Lines = [
        ("SCALE", data["scale"]),
        ("edgefactor", data["edgefactor"]),
        ("NBFS", len(data["roots"])),
        ("graph_generation", data["graph_generation"]),
        ("num_mpi_processes", 1),
        ("construction_time", data["construction_time"]),
    ]
    for kernel, rows in searches.items():
        lines += _named(statistics(_column(rows, "seconds")), "time", kernel)
    # The same roots, so the same components, whatever the kernel.
    lines += _named(statistics(_column(next(iter(searches.values())), "nedge")), "nedge")
    for kernel, rows in searches.items():
        rates = rate_statistics(_column(rows, "nedge"), _column(rows, "seconds"))
        lines += _named(rates, "TEPS", kernel)
    for kernel, rows in searches.items():
        lines += _named(statistics(_column(rows, "validate_seconds")), "validate", kernel)
    return lines


def beyond_official(data: dict[str, Any]) -> Lines:
    """What the reference code does not tell, spelled alike."""
    lines: Lines = [
        ("penstock_version", data["version"]),
        ("threads", data["threads"]),
        ("memory_budget", format_bytes(data["memory"])),
        ("peak_memory", format_bytes(data["peak_memory"])),
        ("graph_size", format_bytes(data["graph_bytes"])),
    ]
    for kernel, rows in data["searches"].items():
        places = dict.fromkeys(_column(rows, "topology"))
        read = float(np.mean(_column(rows, "bytes_read")))
        power = data["power"][kernel]
        lines += [
            (f"{kernel:<4} topology", ", ".join(places)),
            (
                f"{kernel:<4} mean_bytes_read",
                format_bytes(read),
            ),
            (f"{kernel:<4} watts", _known(power["watts"])),
            (f"{kernel:<4} MTEPS_per_watt", _known(power["mteps_per_watt"])),
        ]
    return lines


def _known(value: float | None) -> Any:
    return UNAVAILABLE if value is None else value


def _column(rows: Iterable[dict[str, Any]], name: str) -> list[Any]:
    return [row[name] for row in rows]


def _named(stats: Stats, what: str, kernel: str | None = None) -> Lines:
    # The kernel's name takes four places: "bfs  min_time", "sssp min_time".
    prefix = "" if kernel is None else f"{kernel:<4} "
    return [(f"{prefix}{name}_{what}", value) for name, value in stats.items()]


def as_lines(lines: Iterable[tuple[str, Any]]) -> str:
    """Names and values, one pair a line.

    >>> print(as_lines([("SCALE", 20), ("bfs  harmonic_mean_TEPS", 2.5e8)]))
    SCALE:                          20
    bfs  harmonic_mean_TEPS:     !  2.5e+08
    """
    return "\n".join(_line(name, value) for name, value in lines)


def _line(name: str, value: Any) -> str:
    label = f"{name}:".ljust(_WIDTH)
    if "harmonic_mean" in name:
        # The reference code marks the number by which machines are ranked.
        label = f"{name}:".ljust(_WIDTH - 3) + "!  "
    if value is None:
        return f"{label}nan"
    digits = 11 if name.endswith("_nedge") else 6
    return label + (f"{value:.{digits}g}" if isinstance(value, float) else str(value))

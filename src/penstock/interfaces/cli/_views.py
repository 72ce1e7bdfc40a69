"""What is shown of a result: the top of it, or what says more for some algorithms.

A view is a function ``(result, k) -> View``; :data:`VIEWS` names those that are not the usual one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.engine.result import Result
from penstock.interfaces.cli._output import bar, table
from penstock.types import Array

#: Rows of a table that is not cut to the ``k`` of the user.
_MOST_ROWS = 30
_PART = 1 << 19


@dataclass(frozen=True, slots=True)
class View:
    """A result in a few lines."""

    heading: str
    body: str
    #: The ``k`` best rows, ``(id, value)``, as ``--json`` has them.
    top: list[tuple[Any, Any]]
    #: What was found in all.
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Heading and body, as far as there are any."""
        return "\n".join(part for part in (self.heading, self.body) if part)


def view(algorithm: str, result: Result, k: int) -> View:
    """What to show of a result of an algorithm."""
    return VIEWS.get(algorithm, highest)(result, k)


def highest(result: Result, k: int) -> View:
    """The largest values."""
    top = result.top(k)
    return View(f"Top {len(top)}" if top else "", _top_text("vertex", result.name, top), top)


def levels(result: Result, k: int) -> View:
    """How many vertices are how far from the source."""
    counts: Array = np.zeros(0, np.int64)
    for part in _parts(result):
        more = np.bincount(part[part >= 0])
        short, counts = sorted((counts, more), key=len)
        counts[: len(short)] += short
    reached = int(counts.sum())
    rows = [(str(level), int(count)) for level, count in enumerate(counts)]
    return View(
        f"reached {reached:,} of {len(result):,} vertices in {len(counts):,} levels",
        histogram("level", "vertices", rows),
        result.top(k),
        {"reached": reached, "levels": counts.tolist()},
    )


def distances(result: Result, k: int) -> View:
    """The farthest vertices that can be reached."""
    reached, total = 0, 0.0
    places: Array = np.zeros(0, np.int64)
    values: Array = np.zeros(0, np.float64)
    begin = 0
    for part in _parts(result):
        there = np.flatnonzero(np.isfinite(part))
        reached, total = reached + len(there), total + float(part[there].sum(dtype=np.float64))
        places = np.concatenate([places, there + begin])
        values = np.concatenate([values, part[there].astype(np.float64)])
        kept = np.sort(np.argsort(-values, kind="stable")[:k])
        places, values = places[kept], values[kept]
        begin += len(part)
    order = np.argsort(-values, kind="stable")
    top = list(zip(result.ids[places[order]].tolist(), values[order].tolist(), strict=True))
    mean = total / reached if reached else None
    heading = f"reached {reached:,} of {len(result):,} vertices"
    heading += "" if mean is None else f", {_cell(mean)} away on average; the farthest"
    return View(
        heading,
        _top_text("vertex", result.name, top),
        top,
        {"reached": reached, "mean": mean, "largest": top[0][1] if top else None},
    )


def components(result: Result, k: int) -> View:
    """The number of components and the largest ones, by their smallest id."""
    labels, sizes = _sizes(result)
    order = np.argsort(-sizes, kind="stable")[:k]
    top = list(zip(labels[order].tolist(), sizes[order].tolist(), strict=True))
    largest = int(sizes.max()) if len(sizes) else 0
    share = f" ({largest / len(result):.1%} of all)" if largest else ""
    return View(
        f"{len(sizes):,} components; the largest has {largest:,} vertices{share}",
        _top_text("component", "vertices", top),
        top,
        {"components": len(sizes), "largest": largest},
    )


def _sizes(result: Result) -> tuple[Array, Array]:
    """The label of each component, ascending, and how many vertices it has."""
    labels = result.values
    if labels.dtype == object:  # strings, or numbers beyond int64
        strings = any(isinstance(each, str) for each in labels[:1])
        names, inverse = np.unique(
            labels.astype("T" if strings else np.uint64), return_inverse=True
        )
        return names.astype(object), np.bincount(inverse, minlength=len(names))
    # A component is named after one of its own vertices, and ids are in order.
    roots = labels[labels == result.ids]
    sizes: Array = np.zeros(len(roots), np.int64)
    for part in _parts(result):
        sizes += np.bincount(np.searchsorted(roots, part), minlength=len(roots))
    return roots, sizes


def degrees(result: Result, k: int) -> View:
    """How many vertices have how many edges: a line for each power of two."""
    degree, count = result.ids, result.values
    bins = np.bincount(_bits(degree), weights=count).astype(np.int64)
    ends = [(0, 0), *((2 ** (b - 1), 2**b - 1) for b in range(1, len(bins)))]
    names = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in ends]
    rows = list(zip(names, bins.tolist(), strict=False))
    return View(
        "",
        histogram("degree", "vertices", rows, most=len(rows)),
        result.top(k),
        {"degrees": len(result), "largest": int(degree[-1]) if len(result) else None},
    )


def _bits(numbers: Array) -> Array:
    return np.ceil(np.log2(numbers.astype(np.float64) + 1)).astype(np.int64)


VIEWS: dict[str, Callable[[Result, int], View]] = {
    "bfs": levels,
    "sssp": distances,
    "connected_components": components,
    "degree_distribution": degrees,
}


def _parts(result: Result) -> Iterator[Array]:
    values = result.values
    return (values[a : a + _PART] for a in range(0, len(values), _PART))


def histogram(
    name: str, counted: str, rows: Sequence[tuple[str, int]], *, most: int = _MOST_ROWS
) -> str:
    """Counts with bars, a row each; beyond ``most`` rows the rest is one."""
    shown = list(rows[:most])
    if len(rows) > most:
        shown.append((f"{most:,} and more", sum(count for _, count in rows[most:])))
    highest_count = max((count for _, count in shown), default=0) or 1
    lines = table([(name, counted), *((each, f"{count:,}") for each, count in shown)]).split("\n")
    bars = ["", *(bar(count / highest_count) for _, count in shown)]
    return "\n".join(f"{a}  {b}".rstrip() for a, b in zip(lines, bars, strict=True))


def _top_text(id_name: str, value_name: str, top: Sequence[tuple[Any, Any]]) -> str:
    rows = [(id_name, value_name), *((str(each), _cell(value)) for each, value in top)]
    return table(rows) if top else ""


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)

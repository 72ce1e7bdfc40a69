"""What is shown of a result: the top of it, or what says more for some algorithms.

A view is a function ``(result, k) -> View``; :data:`VIEWS` names those that are not the usual one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.drawing.groups import group_sizes
from penstock.engine.result import Result
from penstock.interfaces.cli._output import bar, table
from penstock.types import Array

#: Rows of a table that is not cut to the ``k`` of the user.
_MOST_ROWS = 30
_PART = 1 << 19


@dataclass(frozen=True, slots=True)
class View:
    """A result in a few lines.

    For ``--json``, ``top`` has the best rows, ``(id, value)``, and ``summary`` what was found in
    all.
    """

    heading: str
    body: str
    top: list[tuple[Any, Any]]
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Heading and body, as far as there are any."""
        return "\n".join(part for part in (self.heading, self.body) if part)


#: For a result that ranks have written: its values are not here.
NOTHING = View("", "", [])


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
    return _groups(result, k, "component")


def communities(result: Result, k: int) -> View:
    """The number of communities and the largest ones, by their labels."""
    return _groups(result, k, "community")


def _groups(result: Result, k: int, word: str) -> View:
    labels, sizes = group_sizes(result)
    order = np.argsort(-sizes, kind="stable")[:k]
    top = list(zip(labels[order].tolist(), sizes[order].tolist(), strict=True))
    largest = int(sizes.max()) if len(sizes) else 0
    share = f" ({largest / len(result):.1%} of all)" if largest else ""
    plural = f"{word}s".replace("ys", "ies")
    return View(
        f"{len(sizes):,} {plural}; the largest has {largest:,} vertices{share}",
        _top_text(word, "vertices", top),
        top,
        {plural: len(sizes), "largest": largest},
    )


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


def counts(result: Result, k: int) -> View:
    """How many vertices have each value: a line each, or for each power of two if they are many."""
    values = result.values
    found = np.bincount(values) if len(values) else np.zeros(0, np.int64)
    largest = max(len(found) - 1, 0)
    if len(found) <= _MOST_ROWS:
        rows = [(f"{value:,}", int(count)) for value, count in enumerate(found)]
    else:
        bins = np.bincount(_bits(np.arange(len(found))), weights=found).astype(np.int64)
        ends = [(0, 0), *((2 ** (b - 1), 2**b - 1) for b in range(1, len(bins)))]
        names = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in ends]
        rows = list(zip(names, bins.tolist(), strict=True))
    return View(
        f"the largest is {largest:,}",
        histogram(result.name.replace("_", " "), "vertices", rows),
        result.top(k),
        {"largest": largest, "distinct": int(np.count_nonzero(found))},
    )


def subgraph(result: Result, k: int) -> View:
    """How large it is, and the vertices with the largest values."""
    top = result.top(k)
    edges = len(result.edges)
    return View(
        f"{len(result):,} vertices, {edges:,} edges" + ("; the highest" if top else ""),
        _top_text("vertex", result.name, top),
        top,
        {"vertices": len(result), "edges": edges},
    )


def edge_values(result: Result, k: int) -> View:
    """The edges with the largest values."""
    best = np.argsort(-result.values, kind="stable")[:k]
    src, dst = result.src[best].tolist(), result.dst[best].tolist()
    values = result.values[best].tolist()
    cells = [(str(a), str(b), _cell(value)) for a, b, value in zip(src, dst, values, strict=True)]
    top = list(zip(zip(src, dst, strict=True), values, strict=True))
    body = table([("src", "dst", result.name), *cells]) if cells else ""
    return View(f"Top {len(top)}" if top else "", body, top)


def forest(result: Result, k: int) -> View:
    """How heavy it is and how many trees it has, and the largest of them."""
    trees = components(result, k)
    weight, edges = result.stats["weight"], len(result.edges)
    found = trees.summary["components"]
    heading = f"{edges:,} edges of weight {_cell(weight)} in all; {found:,} trees, the largest"
    summary = {**trees.summary, "edges": edges, "weight": weight}
    return View(heading, trees.body.replace("component", "tree", 1), trees.top, summary)


def _bits(numbers: Array) -> Array:
    return np.ceil(np.log2(numbers.astype(np.float64) + 1)).astype(np.int64)


def clusters(result: Result, k: int) -> View:
    """The largest clusters by their labels, and how many vertices are what."""
    heads, sizes = group_sizes(result)
    order = np.argsort(-sizes, kind="stable")[:k]
    # Where ids are no int64, values are places in their order.
    names = heads if result.ids.dtype == np.int64 else result.ids[heads]
    top = list(zip(names[order].tolist(), sizes[order].tolist(), strict=True))
    words = ("clusters", "cores", "borders", "hubs", "outliers")
    found = {word: result.stats[word] for word in words}
    heading = ", ".join(f"{count:,} {word}" for word, count in found.items())
    return View(heading, _top_text("cluster", "vertices", top), top, found)


VIEWS: dict[str, Callable[[Result, int], View]] = {
    "bfs": levels,
    "color": counts,
    "connected_components": components,
    "core_number": counts,
    "cross_edges": subgraph,
    "degree_distribution": degrees,
    "edge_betweenness": edge_values,
    "egonet": subgraph,
    "induced_subgraph": subgraph,
    "k_core": subgraph,
    "k_hop": levels,
    "label_propagation": communities,
    "scan": clusters,
    "minimum_spanning_forest": forest,
    "sssp": distances,
    "strongly_connected_components": components,
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

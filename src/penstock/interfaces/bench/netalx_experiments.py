"""The experiments of NETALX, the thesis's chapter 3: each a function from a workbench to rows.

From each root, the fastest of some searches counts, without loading; times are medians over the
roots, TEPS harmonic means, other numbers means. "Tiers" have a quarter of the edges in memory,
unless an experiment says otherwise.
"""

from __future__ import annotations

import math
from typing import Any

from penstock.algorithms._levels import TOLD_APART
from penstock.interfaces.api import Generator
from penstock.interfaces.bench.netalx_searches import (
    BOTTOM_UP,
    DUAL,
    EDGE_FACTOR,
    MEMORY,
    SCALES_LESS,
    THESIS,
    TIERS,
    TOP_DOWN,
    Ground,
    Netalx,
    Rule,
    Search,
    Way,
    mean_of,
    median_of,
)
from penstock.interfaces.bench.suite import Row

#: The scale and so many below it.
SCALES_BELOW = 4
HEAD_EDGES = tuple(1 << i for i in range(9))
EDGE_FACTORS = (8, 16, 32, 64)
MODES = ("top-down", "bottom-up")
#: What becomes of an edge that is looked at top-down.
OUTCOMES = ("claimed", "failed", "peer", "parent")


def scale(bench: Netalx) -> list[Row]:
    """Speed against scale, in memory and in tiers (Figure 3.10)."""
    scales = range(bench.scale - SCALES_BELOW, bench.scale + 1)
    bench.start("scale", 2 * len(scales))
    rows = []
    for each in scales:
        with bench.another(scale=each) as ground:
            rows += [{"scale": each, **row} for row in _both(bench, ground)]
    return rows


def edge_factor(bench: Netalx) -> list[Row]:
    """Speed against edges per vertex, in memory and in tiers (Figure 3.14). As there, all graphs
    have about as many edges: twice the edge factor, one scale less.
    """
    bench.start("edge_factor", 2 * len(EDGE_FACTORS))
    rows = []
    for factor in EDGE_FACTORS:
        size = bench.scale + round(math.log2(EDGE_FACTOR / factor))
        with bench.another(scale=size, edge_factor=factor) as ground:
            rows += [
                {"edge_factor": factor, "scale": size, "num_edges": ground.graph.num_edges, **row}
                for row in _both(bench, ground)
            ]
    return rows


def _both(bench: Netalx, ground: Ground) -> list[Row]:
    ways: list[Way] = [(MEMORY, None), (TIERS, ground.head_edges())]
    return [row for row, _ in bench.measure(ground, ways)]


def heads(bench: Netalx) -> list[Row]:
    """How many edges of each vertex are in memory: speed and memory (Figure 3.11), seconds by
    direction (3.12), lists read bottom-up (3.13). The last row has all edges in memory.
    """
    ways: list[Way] = [*((TIERS, k) for k in HEAD_EDGES), (MEMORY, None)]
    bench.start("heads", len(ways))
    return [
        {**row, **_of_mode(runs, "top-down"), **_of_mode(runs, "bottom-up")}
        for row, runs in bench.measure(bench.ground, ways)
    ]


def _of_mode(runs: list[Search], mode: str) -> Row:
    def mean(name: str) -> float:
        return mean_of(runs, lambda run: run.sum_of(name, mode))

    prefix = mode.replace("-", "_")
    return {
        f"{prefix}_seconds": median_of(runs, lambda run: run.sum_of("seconds", mode)),
        f"{prefix}_lists": mean("lists_read"),
        f"{prefix}_bytes": mean("bytes_read"),
        f"{prefix}_edges": mean("edges"),
    }


def looks(bench: Netalx) -> list[Row]:
    """How many edges a vertex looks at bottom-up (Figure 3.5), summed over all searches; the last
    row of a rule has all that look at more. Rules: what is faster here, and that of the thesis.
    """
    rules: dict[str, Rule] = {"by cost": {}, "thesis": THESIS}
    bench.progress.start("looks", len(rules) * len(bench.ground.roots), "searches")
    rows: list[Row] = []
    for rule, options in rules.items():
        levels: list[Row] = []
        for root in bench.ground.roots:
            result = bench.search(bench.ground, root, MEMORY, breakdown=True, **options)
            levels += [row for row in result.iterations if row["mode"] == "bottom-up"]
            bench.progress.advance(1)
        # A search of few edges may have no such level.
        scanned = [[0] * (TOLD_APART + 1), *(row["scanned"] for row in levels)]
        counts = [sum(column) for column in zip(*scanned, strict=True)]
        all_edges = sum(row["edges"] for row in levels)
        rows += _looks_of(counts, all_edges, {"rule": rule, **_rule_of(options)})
    return rows


def _looks_of(counts: list[int], all_edges: int, common: Row) -> list[Row]:
    """A row for each number of edges; ``counts`` ends with the vertices that looked at more."""
    rows, vertices, edges = [], 0, 0
    for m, count in enumerate(counts, 1):
        more = m == len(counts)
        looked = all_edges - edges if more else m * count
        vertices, edges = vertices + count, edges + looked
        rows.append(
            {
                **common,
                "looks": None if more else m,
                "vertices": count,
                "edges": looked,
                "vertices_within": vertices / max(sum(counts), 1),
                "edges_within": edges / max(all_edges, 1),
            }
        )
    return rows


def edges(bench: Netalx) -> list[Row]:
    """Edges looked at in each level of one search: top-down throughout, with what became of each
    (Figure 3.3), bottom-up throughout, and as the engine chooses (Table 3.1). The first two are
    searches with thresholds that are never, or always, passed; the rows name them.
    """
    ways: dict[str, Rule] = {"top-down": TOP_DOWN, "bottom-up": BOTTOM_UP, "hybrid": {}}
    bench.progress.start("edges", len(ways), "searches")
    root = bench.ground.roots[0]
    rows = []
    for way, options in ways.items():
        result = bench.search(bench.ground, root, MEMORY, breakdown=True, **options)
        bench.progress.advance(1)
        rows += [
            {
                "approach": way,
                **_rule_of(options),
                "level": level,
                "mode": step["mode"],
                "active": step["active"],
                "found": step["found"],
                "edges": step["edges"],
                **{name: step.get(name) for name in OUTCOMES},
            }
            for level, step in enumerate(result.iterations)
        ]
    return rows


def _rule_of(options: Rule) -> Row:
    return {"alpha": options.get("alpha"), "beta": options.get("beta")}


def models(bench: Netalx) -> list[Row]:
    """Memory by model, and its parts (Figure 3.9), with the speed of each."""
    bench.start("models", 3)
    return [row for row, _ in _three(bench, bench.ground)]


def flat(bench: Netalx) -> list[Row]:
    """RMAT and uniform graphs in memory, dual and in tiers (Figure 3.18), smaller ones in memory:
    how much slower than either. ``levels`` are means over the roots; small levels that one step
    finds together are told as the first of them.
    """
    bench.start("flat", 8)
    kinds: tuple[Generator, ...] = ("rmat", "uniform")
    rows = []
    for kind in kinds:
        with bench.another(kind, bench.scale - SCALES_LESS) as ground:
            [(row, runs)] = bench.measure(ground, [(MEMORY, None)])
            found = [(bench.scale - SCALES_LESS, row, runs)]
        with bench.another(kind) as ground:
            found += [(bench.scale, *measured) for measured in _three(bench, ground)]
        smaller, whole = found[0][1]["teps"], found[1][1]["teps"]
        rows += [
            {
                "kind": kind,
                "scale": scale,
                **row,
                "slower_than_memory": whole / row["teps"],
                "slower_than_smaller": smaller / row["teps"],
                "levels": _by_level(runs),
            }
            for scale, row, runs in found
        ]
    return rows


def _three(bench: Netalx, ground: Ground) -> list[tuple[Row, list[Search]]]:
    return bench.measure(ground, [(MEMORY, None), (DUAL, None), (TIERS, ground.head_edges())])


def _by_level(runs: list[Search]) -> list[Row]:
    """Means over searches of what each level took; ``bottom_up``: in how many of them it was."""
    found: dict[int, Row] = {}
    names = ("seconds", "bytes_read", "lists_read")
    for run in runs:
        level = 0
        for step in run.levels:
            empty: dict[str, Any] = {"level": level, "bottom_up": 0.0, **dict.fromkeys(names, 0.0)}
            row = found.setdefault(level, empty)
            row["bottom_up"] += (step["mode"] == "bottom-up") / len(runs)
            for name in names:
                row[name] += step.get(name, 0) / len(runs)
            level += step["levels"]
    return [found[level] for level in sorted(found)]

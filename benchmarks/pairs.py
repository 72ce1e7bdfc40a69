"""Triangles: in memory against GAPBS, within small budgets, and what the methods are worth.

    python benchmarks/pairs.py --gapbs DIR --graphs kron20 kron22

DIR holds ``converter`` and ``tc`` of the GAP Benchmark Suite. Times are the smallest of several
trials in turns: of ours the whole call of the Python function on a graph in memory, of GAPBS the
time that it prints, with the relabelling that it does. ``budgets`` gives a run shares of the
topology as it is in memory (and then of the pages as they are on the disk), everything included,
and compares the pages that it reads with those of block nested loops. ``methods`` counts with
rows of bits for more or fewer vertices, and with vertices that are not in order of degree.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from common import folder_bytes, table, work_folder
from engine import gapbs, make

import penstock as ps
from penstock.algorithms import _triangles
from penstock.engine.counts import counts_of
from penstock.engine.sizes import list_bytes
from penstock.errors import BudgetError


def timed(graph: ps.Graph, **options: object) -> tuple[float, ps.Result]:
    """One call."""
    begin = time.perf_counter()
    found = ps.triangles(graph, **options)
    return time.perf_counter() - begin, found


def peers(
    name: str, path: Path, graph: ps.Graph, options: argparse.Namespace
) -> tuple[object, ...]:
    """Ours and GAPBS's, in turns."""
    mine = theirs = float("inf")
    found = timed(graph)[1]
    for _ in range(options.rounds):
        mine = min(mine, timed(graph)[0])
        theirs = min(theirs, gapbs(options.gapbs, "tc", path, "-n", "1"))
    return name, f"{found.stats['total']:,}", theirs, mine, mine / theirs


def budgets(name: str, graph: ps.Graph, options: argparse.Namespace) -> list[tuple[object, ...]]:
    """Within shares of the topology, against all in memory."""
    assert graph.path is not None
    decoded, stored = (
        list_bytes(counts_of(graph), "out", ()).resident_bytes,
        folder_bytes(graph.path),
    )
    whole, expected = timed(graph)
    rows: list[tuple[object, ...]] = []
    shares = [("memory", decoded, 2), ("memory", decoded, 4), ("disk", stored, 4)]
    for what, size, share in shares:
        best, found = float("inf"), expected
        try:
            for _ in range(options.rounds):
                whole = min(whole, timed(graph)[0])
                seconds, found = timed(ps.open(graph.path), memory=size // share)
                best = min(best, seconds)
        except BudgetError as error:
            rows.append((name, f"1/{share} of {what}", size / share / 1e6, str(error)))
            continue
        stats = found.stats
        assert stats["total"] == expected.stats["total"]
        bound = stats.get("nested_loop_pages", 0)
        rows.append(
            (name, f"1/{share} of {what}", size / share / 1e6, best, best / whole,
             stats["pages_read"], bound, stats["pages_read"] / bound if bound else "-"),
        )  # fmt: skip
    return rows


def methods(name: str, graph: ps.Graph, folder: Path) -> list[tuple[object, ...]]:
    """With other numbers of hubs, and another order of vertices."""
    rows: list[tuple[object, ...]] = []
    usual = _triangles.HUBS
    for hubs in (0, usual // 4, usual, 2 * usual):
        _triangles.HUBS = hubs
        rows.append((name, f"{hubs} hubs", min(timed(graph)[0] for _ in range(2))))
    _triangles.HUBS = usual
    other = folder / f"{name}-as-given.penstock"
    plain = ps.open(other) if other.exists() else ps.build(
        graph.to_edges()[:2], other, directed=False, vertex_order="none"
    )  # fmt: skip
    rows.append((name, "vertices in the order of ids", timed(plain)[0]))
    return rows


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Triangles, by pairs of windows.")
    parser.add_argument("parts", nargs="*", default=["peers", "budgets"])
    parser.add_argument("--gapbs", type=Path, required=True)
    parser.add_argument("--graphs", nargs="+", default=["kron20"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    options = parser.parse_args()
    heads: dict[str, tuple[object, ...]] = {
        "peers": ("graph", "triangles", "GAPBS (s)", "ours (s)", "ratio"),
        "budgets": ("graph", "budget", "MB", "s", "of memory", "pages", "nested loops", "ratio"),
        "methods": ("graph", "with", "s"),
    }
    with work_folder(options.folder) as folder:
        for part in options.parts:
            rows = [heads[part]]
            for name in options.graphs:
                path, graph = make(folder, options.gapbs, name, weighted=False)
                if part == "peers":
                    rows.append(peers(name, path, graph, options))
                elif part == "budgets":
                    rows += budgets(name, graph, options)
                else:
                    rows += methods(name, graph, folder)
            width = max(map(len, rows))
            table([(*row, *([""] * (width - len(row)))) for row in rows])
            print()


if __name__ == "__main__":
    main()

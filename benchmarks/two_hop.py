"""Sizes of two-hop neighbourhoods: against SciPy in memory, and within small budgets.

    python benchmarks/two_hop.py --scales 14 16
    python benchmarks/two_hop.py --part budgets --scales 20

The graphs are undirected R-MAT graphs of 16 edges a vertex. ``peers`` compares with the pattern of
A A + A in SciPy, which holds every pair of vertices within two edges; smallest of several calls in
turns. ``budgets`` gives runs shares of the topology as it is in memory, everything included.
Seconds are those of the clock, and in brackets those of the processor, all threads together.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import table, work_folder

import penstock as ps
from penstock.engine.counts import counts_of
from penstock.engine.sizes import list_bytes
from penstock.errors import BudgetError

Times = tuple[float, float]


def timed(call: Callable[[], Any]) -> tuple[Times, Any]:
    """Seconds of the clock and of the processor, and what was returned."""
    begin, used = time.perf_counter(), time.process_time()
    found = call()
    return (time.perf_counter() - begin, time.process_time() - used), found


def spelled(times: Times) -> str:
    """Both seconds."""
    return f"{times[0]:.2f} ({times[1]:.2f})"


def matrix_of(graph: ps.Graph) -> Any:
    """The graph without loops in SciPy's form."""
    import scipy.sparse as sp

    src, dst, *_ = graph.to_edges()
    src, dst = src[src != dst], dst[src != dst]
    ends = np.concatenate([src, dst]), np.concatenate([dst, src])
    n = graph.num_vertices
    return sp.csr_matrix((np.ones(len(ends[0]), np.int32), ends), (n, n))


def sizes_of(matrix: Any) -> Any:
    """The sizes, from all pairs of vertices within two edges."""
    both = matrix @ matrix + matrix
    return np.diff(both.indptr) - (both.diagonal() > 0)


def peers(scale: int, path: Path, rounds: int) -> list[tuple[object, ...]]:
    """Ours and SciPy's, in turns."""
    graph = ps.open(path)
    matrix = matrix_of(graph)
    ps.two_hop(graph)
    mine = theirs = (float("inf"), float("inf"))
    for _ in range(rounds):
        times, found = timed(lambda: ps.two_hop(graph).values)
        mine = min(mine, times)
        times, expected = timed(lambda: sizes_of(matrix))
        theirs = min(theirs, times)
        np.testing.assert_array_equal(found, expected)
    pairs = int(found.sum())
    return [(scale, f"{pairs:,}", spelled(theirs), spelled(mine), theirs[0] / mine[0])]


def budgets(scale: int, path: Path, rounds: int) -> list[tuple[object, ...]]:
    """Within shares of the topology, against all in memory."""
    graph = ps.open(path)
    decoded = list_bytes(counts_of(graph), "out", ()).resident_bytes
    ps.two_hop(graph)
    whole, expected = min((timed(lambda: ps.two_hop(graph)) for _ in range(rounds)), key=first)
    rows: list[tuple[object, ...]] = [(scale, "in memory", "", spelled(whole), 1.0, 0, "")]
    for share in (1, 2, 4):
        memory = decoded // share
        try:
            times, found = timed(lambda: ps.two_hop(ps.open(path), memory=memory))  # noqa: B023
        except BudgetError as error:
            rows.append((scale, f"1/{share}", memory / 1e6, str(error), "", "", ""))
            continue
        np.testing.assert_array_equal(found.values, expected.values)
        ranges = sum(row["mode"] == "count" for row in found.iterations)
        pages = found.stats["pages_read"]
        rows.append(
            (scale, f"1/{share}", memory / 1e6, spelled(times), times[0] / whole[0], ranges, pages)
        )
    return rows


def first(pair: tuple[Times, Any]) -> Times:
    """What pairs are compared by."""
    return pair[0]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Sizes of two-hop neighbourhoods.")
    parser.add_argument("--part", choices=["peers", "budgets"], default="peers")
    parser.add_argument("--scales", nargs="+", type=int, default=[14, 16])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder")
    options = parser.parse_args()
    heads: dict[str, tuple[object, ...]] = {
        "peers": ("scale", "pairs", "SciPy (s)", "ours (s)", "faster"),
        "budgets": ("scale", "budget", "MB", "seconds", "of memory", "ranges", "pages"),
    }
    part = peers if options.part == "peers" else budgets
    rows = [heads[options.part]]
    with work_folder(options.folder) as folder:
        for scale in options.scales:
            path = folder / f"rmat{scale}.penstock"
            if not path.exists():
                ps.generate("rmat", path, scale=scale, directed=False)
            rows += part(scale, path, options.rounds)
    table(rows)


if __name__ == "__main__":
    main()

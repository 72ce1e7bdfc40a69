"""The visitor queue: building a graph, searching it, components and colours, by ranks.

    python benchmarks/visitors.py --scales 16 18 20

R-MAT graphs of 16 edges a vertex, undirected, ids shuffled, all edges in one batch, into ranks that
are threads or processes. Seconds are those of the clock, and in brackets those of the processor,
all ranks together; ``M/s`` is edge requests a second of the clock. Each is the smallest of several.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import table

from penstock.distributed.crew import Crew, ProcessCrew, ThreadCrew
from penstock.distributed.runner import VisitorRunner
from penstock.ingest.generate import rmat

CREWS = {"threads": ThreadCrew, "processes": ProcessCrew}


def used(crew: Crew) -> float:
    """Seconds of the processor that the ranks have taken."""
    if not isinstance(crew, ProcessCrew):
        return time.process_time()
    ticks = 0
    for pid in crew.pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def timed(crew: Crew, call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    begin, before = time.perf_counter(), used(crew)
    call()
    return time.perf_counter() - begin, used(crew) - before


def measure(kind: str, ranks: int, src: Any, dst: Any) -> dict[str, tuple[float, float]]:
    """One run of everything."""
    crew = CREWS[kind](ranks)
    # The first few edges and answers load the kernels; they are far from all others.
    few = np.arange(1 << 40, (1 << 40) + 1000)
    source = int(src[0])
    with VisitorRunner(ranks, crew) as runner:
        runner.add_edges(few[1:], few[:-1])
        runner.bfs(1 << 40)
        runner.connected_components()
        found = {"build": timed(crew, lambda: runner.add_edges(src, dst))}
        found["bfs"] = min(timed(crew, lambda: runner.bfs(source)) for _ in range(3))
        found["components"] = min(timed(crew, runner.connected_components) for _ in range(3))
        found["colour"] = timed(crew, runner.color)
    with VisitorRunner(ranks, CREWS[kind](ranks), coloring="repair") as runner:
        crew = runner._crew
        assert crew is not None
        runner.add_edges(few[1:], few[:-1])
        found["build with colours"] = timed(crew, lambda: runner.add_edges(src, dst))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scales", type=int, nargs="+", default=[16, 18])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    for scale in given.scales:
        chunks = list(rmat(scale).chunks(lambda *_: None))
        src, dst = (np.concatenate([getattr(c, end) for c in chunks]) for end in ("src", "dst"))
        best: dict[tuple[str, int], dict[str, tuple[float, float]]] = {}
        for _ in range(given.repeats):
            for kind in CREWS:
                for ranks in given.ranks:
                    found = measure(kind, ranks, src, dst)
                    old = best.get((kind, ranks), found)
                    # The smallest by the clock, and the smallest by the processor.
                    best[kind, ranks] = {
                        k: (min(v[0], old[k][0]), min(v[1], old[k][1])) for k, v in found.items()
                    }
        names = list(next(iter(best.values())))
        rows = [
            (
                f"{ranks} {kind}",
                len(src) / found["build"][0] / 1e6,
                *(f"{found[n][0]:.2f} ({found[n][1]:.2f})" for n in names),
            )
            for (kind, ranks), found in best.items()
        ]
        print(f"\nkron{scale}, {len(src):,} requests\n")
        table([("ranks", "M/s", *names), *rows])


if __name__ == "__main__":
    main()

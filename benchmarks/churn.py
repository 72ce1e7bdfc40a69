"""A durable live graph whose edges are deleted and added again: how large the log gets, and
how long a batch waits while the graph is compacted in the background.

    python benchmarks/churn.py [--scale 18] [--rounds 12] [--folder DIR]

The graph is a quarter of an R-MAT graph's requests; in each round half of them are deleted and
added again, a quarter of a million rows at a time. The log is compared with what logging each edge
once takes, 16 bytes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from common import table, work_folder

import penstock as ps
from penstock.config import thread_count
from penstock.interfaces.bench.dynamic_workloads import rmat_requests

BATCH = 250_000
EDGE_BYTES = 16


def churn(folder: Path, scale: int, rounds: int) -> None:
    """Delete and add, and look at the log after each batch."""
    requests = rmat_requests(scale, threads=thread_count())
    rows = len(requests) // 4
    most, seconds = 0.0, []
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "live"
        graph = ps.DynamicGraph(path)
        graph.add_edges(requests.src[:rows], requests.dst[:rows])
        for _ in range(rounds):
            for change in (graph.delete_edges, graph.add_edges):
                for begin in range(0, rows // 2, BATCH):
                    some = slice(begin, min(begin + BATCH, rows // 2))
                    began = time.perf_counter()
                    change(requests.src[some], requests.dst[some])
                    seconds.append(time.perf_counter() - began)
                    logged = sum(each.stat().st_size for each in path.glob("log.*"))
                    most = max(most, logged / (EDGE_BYTES * graph.num_edges))
        graph.close()
    seconds.sort()
    changes = 2 * rounds * (rows // 2)
    table([
        ("", "measured", "must be"),
        ("log, of the graph", most, "<= 3"),
        ("requests", f"{changes:,}", ""),
        ("M/s", changes / sum(seconds) / 1e6, ""),
        ("median batch, seconds", seconds[len(seconds) // 2], ""),
        ("slowest batch, seconds", seconds[-1], ""),
    ])  # fmt: skip


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--folder", help="where to work; a temporary folder unless given")
    arguments = parser.parse_args()
    with work_folder(arguments.folder) as folder:
        churn(folder, arguments.scale, arguments.rounds)


if __name__ == "__main__":
    main()

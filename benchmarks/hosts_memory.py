"""Memory of ranks under a cap: each of several ranks may take no more than its budget and 40 MB.

    python benchmarks/hosts_memory.py --scale 22 --ranks 2,4

Ranks are processes of this machine. After a small call, in which modules are imported and kernels
compiled, each is put in a cgroup (v1, needs root). It counts what the process takes from then on,
page cache included, and ends it above the cap. PageRank, BFS and components are streamed within the
least memory that a plan allows.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import drop_caches, memory_cap, table, work_folder

import penstock as ps
from penstock.algorithms import find
from penstock.engine.host_plan import plan_over_hosts
from penstock.engine.options import RunOptions
from penstock.errors import BudgetError

MARGIN = 40_000_000
Call = Callable[..., Any]


def least_memory(graph: ps.Graph, name: str, own: dict[str, Any], ranks: int) -> int:
    """In MB, what each rank needs at least."""
    low, high = 17, 1 << 14
    while low < high:
        middle = (low + high) // 2
        options = RunOptions.of(memory=f"{middle}MB", threads=1, load=False)
        try:
            plan_over_hosts(graph, find(name), own, options, ranks)
            high = middle
        except BudgetError:
            low = middle + 1
    return low


@contextlib.contextmanager
def capped(hosts: ps.Hosts, limit: int) -> Iterator[list[Path]]:
    """Each rank in a cgroup of its own."""
    with ExitStack() as stack:
        groups = []
        for each in hosts.describe():
            group = stack.enter_context(memory_cap(limit))
            assert group is not None
            (group / "cgroup.procs").write_text(str(each["pid"]))
            # Before the group goes, the process is put back where it was.
            stack.callback((group.parent / "cgroup.procs").write_text, str(each["pid"]))
            groups.append(group)
        yield groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--folder", help="where graphs are kept; a temporary folder by default")
    given = parser.parse_args()
    rows: list[tuple[object, ...]] = [
        ("call", "ranks", "budget, MB", "cap, MB", "most taken, MB", "bytes read, MB")
    ]
    with work_folder(given.folder) as folder:
        path = folder / f"plain{given.scale}.penstock"
        graph = ps.open(path) if path.exists() else ps.generate("rmat", path, scale=given.scale)
        small = folder / "small.penstock"
        warm = ps.open(small) if small.exists() else ps.generate("rmat", small, scale=12)
        source = int(graph.to_edges()[0][0])
        calls: dict[str, tuple[str, dict[str, Any]]] = {
            "pagerank x 5": ("pagerank", {"tol": 0, "max_iter": 5}),
            "bfs": ("bfs", {"source": source}),
            "components": ("connected_components", {}),
        }
        for text in given.ranks.split(","):
            for title, (name, own) in calls.items():
                ranks = int(text)
                budget = least_memory(graph, name, own, ranks)
                expected = find(name)(graph, **own).values
                with ps.Hosts(ranks, threads=1) as hosts:
                    run = partial(find(name), hosts=hosts, load=False)
                    first = {"source": int(warm.to_edges()[0][0])} if "source" in own else own
                    run(warm, **first)
                    drop_caches()
                    with capped(hosts, budget * 1_000_000 + MARGIN) as groups:
                        found = run(graph, memory=f"{budget}MB", **own)
                        np.testing.assert_array_equal(found.values, expected)
                        most = max(
                            int((group / "memory.max_usage_in_bytes").read_text())
                            for group in groups
                        )
                read = sum(each["bytes_read"] for each in found.stats["ranks"])
                taken = (most / 1e6, read / 1e6)
                rows.append((title, ranks, budget, budget + MARGIN // 1_000_000, *taken))
    table(rows)


if __name__ == "__main__":
    main()

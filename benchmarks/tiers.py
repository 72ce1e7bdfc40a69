"""BFS with a share of the edges in memory and the others on the disk, against all in memory.

    python benchmarks/tiers.py --graphs rmat24 uniform24 --folder DIR

Each graph is made if it is not in DIR (undirected, 16 edges a vertex). Then, in turns, a process
searches from the same roots with all lists in memory, and another one in a cgroup (v1, needs root)
that holds no more than its plan and an interpreter, with the first edges of each vertex in memory,
at most the share of all edges. The page cache is dropped before each; lists are read past it
anyway. The time of a search is the whole call without loading; of each root the smallest counts.
Both must find the same trees.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from common import checked, drop_caches, run, table, work_folder

import penstock as ps
from penstock.stream.tiers import head_sums

#: The interpreter with its libraries, and what the system counts besides.
BASE_BYTES = 400 << 20


def make(folder: Path, name: str) -> Path:
    """The graph of a name such as rmat24."""
    kind, scale = re.fullmatch(r"(rmat|uniform)(\d+)", name).groups()  # type: ignore[union-attr]
    path = folder / f"{name}u.penstock"
    if not path.exists():
        ps.generate(kind, path, scale=int(scale), directed=False)
    return path


def share_of(path: Path, share: float) -> tuple[int, float]:
    """The most first edges of each vertex that are no more than a share of all edges."""
    sums = head_sums(np.asarray(ps.open(path).degrees("out")))
    k = int(np.searchsorted(sums, share * sums[-1] * (1 + 1e-6), side="right")) - 1
    return k, sums[k] / sums[-1]


def search(path: Path, roots: int, repeat: int, k: int | None, memory: str) -> None:
    """Searches from random roots; prints what they took."""
    graph = ps.open(path)
    degrees = np.asarray(graph.degrees("out"))
    chosen = np.random.default_rng(5).choice(np.flatnonzero(degrees), roots, replace=False)
    by_vid = graph.ids_by_vid()
    names = [int(by_vid[v]) for v in chosen]
    del by_vid
    rows = []
    planned = ps.bfs(graph, names[0], resident_edges=k, memory=memory).stats["planned_memory"]
    for root in names:
        best: dict[str, Any] = {}
        for _ in range(repeat):
            found = ps.bfs(graph, root, resident_edges=k, memory=memory)
            stats = found.stats
            if not best or stats["seconds"] < best["seconds"]:
                best = {name: stats[name] for name in ("seconds", "bytes_read", "reads")}
                best["levels"] = [
                    [row["mode"], row["seconds"], row.get("lists_read", 0), row["bytes_read"]]
                    for row in found.iterations
                ]
        best["sum"] = int(found.parents.sum()) + int(found.values.sum())
        rows.append(best)
        del found
    print(json.dumps({"roots": rows, "planned": planned}))


def compare(path: Path, share: float, roots: int, repeat: int, rounds: int) -> tuple[object, ...]:
    k, in_memory = share_of(path, share)
    common = [sys.executable, __file__, "--search", str(path), "--roots", str(roots)]
    common += ["--repeat", str(repeat)]
    found: dict[str, list[Any]] = {"memory": [], "tiers": []}
    planned = peak = 0
    for _ in range(rounds):
        drop_caches()
        found["memory"].append(checked(run([*common, "--memory", "100GB"])))
        drop_caches()
        capped = [*common, "--memory", "100GB", "--edges", str(k)]
        result = run(capped, cap=planned + BASE_BYTES if planned else None)
        found["tiers"].append(checked(result))
        planned, peak = found["tiers"][-1]["planned"], result.cgroup_peak_bytes or 0
    times, read = {}, 0.0
    for name, answers in found.items():
        per_root = [[row["seconds"] for row in answer["roots"]] for answer in answers]
        times[name] = np.min(per_root, axis=0)
    for one, other in zip(found["memory"][0]["roots"], found["tiers"][0]["roots"], strict=True):
        assert one["sum"] == other["sum"], "different trees"
    read = float(np.median([row["bytes_read"] for row in found["tiers"][-1]["roots"]]))
    ratio = float(np.median(times["tiers"]) / np.median(times["memory"]))
    return (
        path.stem, k, in_memory, float(np.median(times["memory"])),
        float(np.median(times["tiers"])), ratio, float(np.median(times["tiers"] / times["memory"])),
        read / 1e6, planned / 1e6, peak / 1e6,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=["rmat20", "uniform20"])
    parser.add_argument("--folder")
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--roots", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--search", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--edges", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.search is not None:
        search(given.search, given.roots, given.repeat, given.edges, given.memory)
        return
    head = ("graph", "k", "share", "memory s", "tiers s", "ratio", "by root", "MB read")
    rows: list[tuple[object, ...]] = [(*head, "planned MB", "cgroup MB")]
    with work_folder(given.folder) as folder:
        for name in given.graphs:
            path = make(folder, name)
            rows.append(compare(path, given.share, given.roots, given.repeat, given.rounds))
    table(rows)


if __name__ == "__main__":
    main()

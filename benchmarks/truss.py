"""Trusses of an R-MAT graph: in memory, and with less of it; and what NetworkX takes.

    python benchmarks/truss.py --scale 20 --memory 8GB 300MB --folder DIR

The graph is made if it is not in DIR (undirected, 16 edges a vertex). Each way runs in a process of
its own, the given number of times; the smallest time counts, of the whole call with loading. All
must find the same largest k. NetworkX has no trussness of edges: it is given a smaller graph and
the largest k of that, in the same process as the run it is compared with.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from common import checked, run, table, work_folder

import penstock as ps
from penstock.algorithms import find


def make(folder: Path, scale: int) -> Path:
    """The graph of a scale."""
    path = folder / f"rmat{scale}u.penstock"
    if not path.exists():
        ps.generate("rmat", path, scale=scale, directed=False)
    return path


def one(path: Path, name: str, memory: str) -> None:
    """A run of an algorithm; prints what it took."""
    compiled = ps.from_edges([0, 1, 2], [1, 2, 0], directed=False)
    algorithm = find(name)
    algorithm(compiled)
    begin = time.perf_counter()
    found = algorithm(ps.open(path), memory=memory)
    seconds = time.perf_counter() - begin
    stats = found.stats
    parts: dict[str, float] = {}
    for row in found.iterations:
        parts[row["mode"]] = parts.get(row["mode"], 0.0) + row["seconds"]
    print(
        json.dumps(
            {
                "seconds": seconds, "parts": parts, "rounds": stats["rounds"],
                "largest": stats.get("largest", stats.get("k")), "edges": stats["edges"],
                "planned": stats["planned_memory"], "read": stats["bytes_read"],
            }
        )
    )  # fmt: skip


def compare(path: Path, names: list[str], memories: list[str], repeat: int) -> list[Any]:
    """A row for each algorithm and budget."""
    rows: list[tuple[object, ...]] = []
    largest = set()
    for name in names:
        for memory in memories:
            command = [sys.executable, __file__, "--run", str(path), name, memory]
            answers = [checked(run(command)) for _ in range(repeat)]
            best = min(answers, key=lambda answer: float(answer["seconds"]))
            largest.add(best["largest"])
            peeling = best["parts"].get("peel", 0.0)
            rows.append(
                (name, memory, best["seconds"], peeling, best["rounds"], best["largest"],
                 best["edges"], best["planned"] / 1e6, best["read"] / 1e6)
            )  # fmt: skip
    assert len(largest) == 1, f"different largest k: {largest}"
    return rows


def networkx(folder: Path, scale: int) -> tuple[object, ...]:
    """The truss of the largest k by NetworkX, and by Penstock."""
    import networkx as nx

    graph = ps.open(make(folder, scale))
    find("k_truss")(ps.from_edges([0, 1, 2], [1, 2, 0], directed=False))
    begin = time.perf_counter()
    found = find("k_truss")(graph)
    seconds = time.perf_counter() - begin
    other = nx.Graph()
    for src, dst, _ in graph.iter_edges():
        keep = src != dst
        other.add_edges_from(zip(src[keep].tolist(), dst[keep].tolist(), strict=True))
    begin = time.perf_counter()
    truss = nx.k_truss(other, found.stats["k"])
    theirs = time.perf_counter() - begin
    assert truss.number_of_edges() == found.stats["edges"]
    return scale, found.stats["k"], found.stats["edges"], seconds, theirs, theirs / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=16)
    parser.add_argument("--memory", nargs="+", default=["8GB", "32MB"])
    parser.add_argument("--algorithms", nargs="+", default=["truss_number", "k_truss"])
    parser.add_argument("--networkx", type=int, default=13, help="the scale of its graph")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run is not None:
        one(Path(given.run[0]), *given.run[1:])
        return
    head = ("algorithm", "memory", "seconds", "peeling s", "rounds", "k", "edges")
    with work_folder(given.folder) as folder:
        path = make(folder, given.scale)
        rows = compare(path, given.algorithms, given.memory, given.repeat)
        table([(*head, "planned MB", "MB read"), *rows])
        print()
        small = networkx(folder, given.networkx)
        table([("scale", "k", "edges", "Penstock s", "NetworkX s", "times"), small])


if __name__ == "__main__":
    main()

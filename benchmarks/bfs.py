"""Breadth-first search in memory against GAPBS's, on flat, skewed and deep graphs.

    python benchmarks/bfs.py --gapbs DIR --graphs kron20 kron22 uniform22 path grid road tree

DIR holds ``converter`` and ``bfs`` of the GAP Benchmark Suite. Both search the same graphs from the
same sources (vertices with edges, at random), in turns, on all cores or so many ``--threads``. A
source's time is the smallest of its trials, a graph's the mean over its sources. Of ours it is the
whole call of the Python function; "with arrays" is the call and ``.values`` and ``.parents`` in the
order of ids.

``path``, ``grid``, ``road`` (a grid of which a third of the edges is missing) and ``tree`` (binary)
have a million vertices each; the path's are in random order.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

import numpy as np
from common import table, work_folder
from engine import gapbs, make, ours

import penstock as ps

SIDE = 1000
SHAPES = ("path", "grid", "road", "tree")


def shape_edges(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The edges of a graph of a simple shape."""
    rng = np.random.default_rng(7)
    n = SIDE * SIDE
    if kind == "path":
        order = rng.permutation(n)
        return order[:-1], order[1:]
    if kind == "tree":
        children = np.arange(1, n)
        return (children - 1) // 2, children
    places = np.arange(n).reshape(SIDE, SIDE)
    src = np.concatenate([places[:, :-1].ravel(), places[:-1].ravel()])
    dst = np.concatenate([places[:, 1:].ravel(), places[1:].ravel()])
    kept = rng.random(len(src)) < (1.0 if kind == "grid" else 0.65)
    return src[kept], dst[kept]


def prepare(folder: Path, binaries: Path, name: str) -> tuple[Path, ps.Graph]:
    """A graph in GAPBS's format and in ours."""
    if name not in SHAPES:
        return make(folder, binaries, name, weighted=False)
    path, target = folder / f"{name}.sg", folder / f"{name}.penstock"
    if not path.exists():
        edges = path.with_suffix(".el")
        np.savetxt(edges, np.stack(shape_edges(name), axis=1), fmt="%d")
        command = [str(binaries / "converter"), "-f", str(edges), "-s", "-b", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        edges.unlink()
    return path, ps.open(target) if target.exists() else ps.build(str(path), target)


def row(name: str, path: Path, graph: ps.Graph, options: argparse.Namespace) -> tuple[object, ...]:
    """The mean times of both, over the same sources."""
    with_edges = np.flatnonzero(graph.degrees("out"))
    chosen = graph.ids_by_vid()[
        np.random.default_rng(1).choice(with_edges, options.sources)
    ].tolist()

    def arrays(source: int) -> None:
        found = ps.bfs(graph, source, threads=options.threads)
        assert len(found.values) == len(found.parents)

    arrays(chosen[0])
    times = np.full((3, options.sources), np.inf)
    for _ in range(options.rounds):
        for k, source in enumerate(chosen):
            measured = (
                ours(lambda s=source: ps.bfs(graph, s, threads=options.threads)),
                ours(lambda s=source: arrays(s)),
                gapbs(options.gapbs, "bfs", path, "-r", str(source)),
            )
            times[:, k] = np.minimum(times[:, k], measured)
    graph.kept.clear()
    mine, complete, theirs = times.mean(axis=1).tolist()
    return (name, 1e3 * mine, 1e3 * complete, 1e3 * theirs, mine / theirs, complete / theirs)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="BFS in memory, against GAPBS.")
    parser.add_argument("--gapbs", type=Path, required=True, help="folder of its binaries")
    parser.add_argument("--graphs", nargs="+", default=["kron20", *SHAPES])
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    rows: list[tuple[object, ...]] = [
        ("graph", "ours (ms)", "with arrays", "GAPBS", "ratio", "with arrays")
    ]
    with work_folder(arguments.folder) as folder:
        for name in arguments.graphs:
            path, graph = prepare(folder, arguments.gapbs, name)
            rows.append(row(name, path, graph, arguments))
    table(rows)


if __name__ == "__main__":
    main()

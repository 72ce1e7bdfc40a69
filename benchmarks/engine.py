"""Algorithms on graphs in memory, against GAPBS, SciPy and NetworKit, in one run.

    python benchmarks/engine.py --gapbs DIR --graphs kron20 kron22 uniform22

DIR holds the binaries of the GAP Benchmark Suite (``converter``, ``pr``, ``pr_spmv``, ``bfs``,
``cc``, ``sssp``). It makes the graphs, and every program works on the same ones. Times are the
smallest of several trials, taken in turns, on all cores. Reading the graph does not count, for
anybody; what is measured of ours is the whole call of the Python function after that. ``pr`` and
``pr_spmv`` also run on the graph with vertices in our order (by degree), as ``relabelled``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import table, work_folder

import penstock as ps
from penstock.algorithms.sssp import sssp

ROUNDS = 3


def gapbs(folder: Path, program: str, graph: Path, *options: str) -> float:
    """The smallest trial time of one of its programs."""
    command = [str(folder / program), "-f", str(graph), "-n", "3", *options]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return min(float(x) for x in re.findall(r"Trial Time:\s+([\d.]+)", shown))


def make(folder: Path, binaries: Path, name: str, *, weighted: bool) -> tuple[Path, ps.Graph]:
    """A graph in GAPBS's format and in ours."""
    kind, scale = re.fullmatch(r"(kron|uniform)(\d+)", name).groups()  # type: ignore[union-attr]
    suffix = "wsg" if weighted else "sg"
    path = folder / f"{name}.{suffix}"
    if not path.exists():
        option = "-g" if kind == "kron" else "-u"
        flags = ["-wb" if weighted else "-b"]
        command = [str(binaries / "converter"), option, scale, *flags, str(path)]
        subprocess.run(command, check=True, capture_output=True)
    target = folder / f"{name}{'w' if weighted else ''}.penstock"
    graph = ps.open(target) if target.exists() else ps.build(str(path), target)
    return path, graph


def write_relabelled(graph: ps.Graph, path: Path) -> None:
    """The graph with its vertices in stored order, in GAPBS's binary format."""
    offsets = np.zeros(graph.num_vertices + 1, np.int64)
    np.cumsum(graph.degrees("out"), out=offsets[1:])
    with path.open("wb") as file:
        np.array([graph.directed], np.bool_).tofile(file)
        np.array([offsets[-1], graph.num_vertices], np.int64).tofile(file)
        offsets.tofile(file)
        for part in graph.iter_adjacency("out", 2):
            part.neighbours.astype(np.int32).tofile(file)


def ours(call: Callable[[], object], repeat: int = 3) -> float:
    """The smallest time of a call."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def in_turns(*contestants: Callable[[], float]) -> list[float]:
    """The smallest time of each, over rounds in which all take part."""
    rounds = [[each() for each in contestants] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def pagerank_rows(folder: Path, binaries: Path, name: str) -> list[tuple[object, ...]]:
    path, graph = make(folder, binaries, name, weighted=False)
    relabelled = folder / f"{name}-relabelled.sg"
    if not relabelled.exists():
        write_relabelled(graph, relabelled)
    ten = ("-i", "10", "-t", "0")

    def mine() -> float:
        return ours(lambda: ps.pagerank(graph, tol=0, max_iter=10))

    mine()
    times = in_turns(
        mine,
        lambda: gapbs(binaries, "pr", path, *ten),
        lambda: gapbs(binaries, "pr_spmv", path, *ten),
        lambda: gapbs(binaries, "pr", relabelled, *ten),
        lambda: gapbs(binaries, "pr_spmv", relabelled, *ten),
    )
    graph.kept.clear()
    best = min(times[1], times[2])
    again = min(times[3], times[4])
    return [(name, "pagerank x 10", times[0], best, times[0] / best, f"relabelled {again:.3g}")]


def traversal_rows(
    folder: Path, binaries: Path, name: str, sources: int
) -> list[tuple[object, ...]]:
    path, graph = make(folder, binaries, name, weighted=False)
    degrees = np.asarray(graph.degrees("out"))
    by_id = graph.ids_by_vid()
    chosen = by_id[np.random.default_rng(1).choice(np.flatnonzero(degrees), sources)].tolist()

    def bfs() -> float:
        return sum(ours(lambda s=s: ps.bfs(graph, s), 2) for s in chosen) / len(chosen)

    def their_bfs() -> float:
        return sum(gapbs(binaries, "bfs", path, "-r", str(s)) for s in chosen) / len(chosen)

    def components() -> float:
        return ours(lambda: ps.connected_components(graph))

    bfs(), components()
    rows: list[tuple[object, ...]] = []
    mine, theirs = in_turns(bfs, their_bfs)
    rows.append((name, f"bfs, mean of {sources}", mine, theirs, mine / theirs, ""))
    mine, theirs = in_turns(components, lambda: gapbs(binaries, "cc", path))
    rows.append((name, "connected components", mine, theirs, mine / theirs, ""))
    graph.kept.clear()
    path, graph = make(folder, binaries, name, weighted=True)

    def paths() -> float:
        return sum(ours(lambda s=s: sssp(graph, s), 2) for s in chosen) / len(chosen)

    def their_paths() -> float:
        best = [
            min(gapbs(binaries, "sssp", path, "-r", str(s), "-d", d) for d in ("8", "16", "32"))
            for s in chosen
        ]
        return sum(best) / len(best)

    paths()
    mine, theirs = in_turns(paths, their_paths)
    rows.append((name, f"sssp, mean of {sources}", mine, theirs, mine / theirs, "best delta"))
    graph.kept.clear()
    return rows


def peer_rows(folder: Path, binaries: Path, name: str) -> list[tuple[object, ...]]:
    """SciPy and NetworKit, where installed."""
    _, graph = make(folder, binaries, name, weighted=False)
    src, dst = graph.to_edges()
    n = graph.num_vertices
    source = int(src[0])
    rows: list[tuple[object, ...]] = []

    def add(what: str, peer: str, call: Callable[[], object], mine: Callable[[], object]) -> None:
        mine()
        times = in_turns(lambda: ours(mine), lambda: ours(call, 1))
        rows.append((name, what, times[0], times[1], times[0] / times[1], peer))

    def rank() -> object:
        return ps.pagerank(graph, tol=0, max_iter=10)

    import scipy.sparse as sp
    from scipy.sparse import csgraph

    both = (np.concatenate([src, dst]), np.concatenate([dst, src]))
    matrix = sp.csr_matrix((np.ones(2 * len(src), np.float32), both), shape=(n, n))

    def scipy_rank() -> object:
        degrees = np.maximum(np.diff(matrix.indptr), 1).astype(np.float32)
        x = np.full(n, 1 / n, np.float32)
        for _ in range(10):
            x = np.float32(0.15 / n) + np.float32(0.85) * (matrix @ (x / degrees))
        return x

    add("pagerank x 10", "SciPy", scipy_rank, rank)
    add("connected components", "SciPy", lambda: csgraph.connected_components(matrix, False),
        lambda: ps.connected_components(graph))  # fmt: skip
    add("bfs", "SciPy", lambda: csgraph.breadth_first_order(matrix, source, False),
        lambda: ps.bfs(graph, source))  # fmt: skip
    try:
        import networkit as nk
    except ImportError:
        return rows
    other = nk.GraphFromCoo((src, dst), n=n, directed=False)

    def networkit_rank() -> object:
        ranked = nk.centrality.PageRank(other, 0.85, 1e-30)
        ranked.maxIterations = 10
        return ranked.run()

    add("pagerank x 10", "NetworKit", networkit_rank, rank)
    add("connected components", "NetworKit",
        lambda: nk.components.ParallelConnectedComponents(other).run(),
        lambda: ps.connected_components(graph))  # fmt: skip
    add("bfs", "NetworKit", lambda: nk.distance.BFS(other, source).run(),
        lambda: ps.bfs(graph, source))  # fmt: skip
    return rows


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Algorithms in memory, against peers.")
    parser.add_argument("--gapbs", type=Path, required=True, help="folder of its binaries")
    parser.add_argument("--graphs", nargs="+", default=["kron20"])
    parser.add_argument("--what", nargs="+", default=["pagerank", "traversals", "peers"])
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    rows: list[tuple[object, ...]] = [("graph", "what", "ours (s)", "theirs (s)", "ratio", "")]
    with work_folder(arguments.folder) as folder:
        for name in arguments.graphs:
            if "pagerank" in arguments.what:
                rows += pagerank_rows(folder, arguments.gapbs, name)
            if "traversals" in arguments.what:
                rows += traversal_rows(folder, arguments.gapbs, name, arguments.sources)
            if "peers" in arguments.what:
                rows += peer_rows(folder, arguments.gapbs, name)
    table(rows)


if __name__ == "__main__":
    main()

"""Graphs bigger than memory: PageRank and BFS under a memory cap, against what else could be done.

    python benchmarks/streamed.py --scale 24 --cap 512MiB

Runs, each in a process of its own in a cgroup (v1, needs root) with that much memory, the page
cache dropped before: PageRank x 10 of ours; the same by SciPy, block after block of a CSR matrix
mapped from disk; the same of ours without a cap, in memory; BFS of ours; reading all pages with
nothing done to them (raw), and through the engine with a kernel that only counts (touch). The graph
is a directed RMAT graph.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import checked, drop_caches, run, table, work_folder

import penstock as ps
from penstock.config import parse_bytes
from penstock.engine.needs import Needs
from penstock.engine.options import RunOptions
from penstock.engine.planning import open_engine
from penstock.jit import kernel
from penstock.store.mapped import iter_parts

BLOCK_EDGES = 1 << 23


def pagerank(graph: str, *options: str) -> dict[str, object]:
    """In this process: ours, with the time of the iterations apart from loading."""
    memory = options[0] if options else None
    opened = ps.open(graph)
    begin = time.perf_counter()
    result = ps.pagerank(opened, tol=0, max_iter=10, memory=memory)
    seconds = time.perf_counter() - begin
    steps = [row["seconds"] for row in result.iterations]
    return {
        "seconds": seconds, "iterations": sum(steps), "best": min(steps),
        "check": float(result.values.sum(dtype=np.float64)),
        **{key: result.stats[key] for key in ("bytes_read", "peak_memory", "planned_memory")},
    }  # fmt: skip


def bfs(graph: str, *options: str) -> dict[str, object]:
    """In this process: ours, from the vertex of the largest degree."""
    opened = ps.open(graph)
    order = opened.vid_of_rank
    assert order is not None
    ranks = [begin + int(np.argmax(part == 0)) for begin, part in iter_parts(order) if 0 in part]
    source = ranks[0]  # the ids are 0, 1, 2, ...
    begin = time.perf_counter()
    result = ps.bfs(opened, source, memory=options[0] if options else None)
    seconds = time.perf_counter() - begin
    return {
        "seconds": seconds, "reached": int((result.values >= 0).sum()),
        **{key: result.stats[key] for key in ("bytes_read", "peak_memory", "iterations")},
    }  # fmt: skip


def export_csr(graph: ps.Graph, folder: Path) -> None:
    """The in-lists as plain arrays on disk."""
    offsets = np.zeros(graph.num_vertices + 1, np.int64)
    np.cumsum(graph.degrees("in"), out=offsets[1:])
    np.save(folder / "indptr.npy", offsets)
    with (folder / "indices.bin").open("wb") as file:
        for part in graph.iter_adjacency("in", 2):
            part.neighbours.astype(np.int32).tofile(file)
    np.save(folder / "degrees.npy", np.array(graph.degrees("out")))


def scipy_pagerank(folder: str, *options: str) -> dict[str, object]:
    """In this process: SciPy over mapped arrays, a block of rows at a time."""
    import scipy.sparse as sp

    place = Path(folder)
    begin = time.perf_counter()
    indptr = np.load(place / "indptr.npy", mmap_mode="r")
    indices = np.memmap(place / "indices.bin", np.int32, "r")
    degrees = np.load(place / "degrees.npy", mmap_mode="r")
    n = len(indptr) - 1
    x = np.full(n, 1 / n, np.float32)
    ones = np.ones(BLOCK_EDGES * 2, np.float32)
    for _ in range(10):
        lost = float(x[degrees == 0].sum())
        share = x / np.maximum(degrees, 1).astype(np.float32)
        low = 0
        while low < n:
            high = int(np.searchsorted(indptr, indptr[low] + BLOCK_EDGES))
            high = min(max(high, low + 1), n)
            a, b = int(indptr[low]), int(indptr[high])
            data = ones[: b - a] if b - a <= len(ones) else np.ones(b - a, np.float32)
            block = sp.csr_matrix(
                (data, indices[a:b], indptr[low : high + 1] - a), shape=(high - low, n), copy=False
            )
            x[low:high] = np.float32((0.15 + 0.85 * lost) / n) + np.float32(0.85) * (block @ share)
            low = high
    return {"seconds": time.perf_counter() - begin, "check": float(x.astype(np.float64).sum())}


def raw(graph: str, *options: str) -> dict[str, object]:
    """In this process: all in-pages read ten times, four at once, nothing done to them."""
    from penstock.parallel import Workers
    from penstock.store.direct import page_buffer

    pages = ps.open(graph).pages("in").direct()  # type: ignore[union-attr]
    buffers = [page_buffer(pages.page_bytes) for _ in range(4)]
    workers = Workers(4)
    begin = time.perf_counter()
    for _ in range(10):
        workers.run(lambda k, page: pages.read_page(page, buffers[k]), range(pages.num_pages))
    seconds = time.perf_counter() - begin
    workers.close()
    return {"seconds": seconds, "bytes_read": 10 * pages.num_pages * pages.page_bytes}


@kernel
def _count(block, begin, end):  # type: ignore[no-untyped-def]
    return np.int64(block.offsets[end - block.first]) - np.int64(block.offsets[begin - block.first])


def touch(graph: str, *options: str) -> dict[str, object]:
    """In this process: all in-pages through the engine ten times, with a kernel that only counts:
    as fast as pages can be read, checked and decoded.
    """
    opened = ps.open(graph)
    given = RunOptions.of(memory=options[0] if options else "64MB", load=False, cache_pages=0)
    with open_engine(opened, given, Needs(("in",), 1.0)) as engine:
        engine.lists("in")
        begin = time.perf_counter()
        edges = sum(sum(engine.scan(_count, direction="in")) for _ in range(10))
        seconds = time.perf_counter() - begin
        total = engine.metrics.total()
    assert edges == 10 * opened.num_edges
    return {"seconds": seconds, "bytes_read": total.bytes_read}


PARTS: dict[str, Callable[..., dict[str, object]]] = {
    "pagerank": pagerank, "bfs": bfs, "scipy": scipy_pagerank, "raw": raw, "touch": touch,
}  # fmt: skip


def measured(part: str, *options: str, cap: int | None) -> dict[str, object]:
    """One part in a process of its own, nothing cached."""
    drop_caches()
    return checked(run([sys.executable, __file__, "--part", part, *options], cap=cap))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Graphs bigger than memory.")
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--cap", default="512MiB")
    parser.add_argument("--memory", help="budget of ours; default: what the cap leaves")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--folder")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(PARTS[arguments.part[0]](*arguments.part[1:])))
        return
    cap = parse_bytes(arguments.cap)
    memory = [arguments.memory] if arguments.memory else []
    rows: list[tuple[object, ...]] = [("what", "seconds", "iterations", "GB read", "peak MB")]
    with work_folder(arguments.folder) as folder:
        target = folder / f"kron{arguments.scale}d.penstock"
        graph = ps.open(target) if target.exists() else ps.generate(
            "rmat", target, scale=arguments.scale
        )  # fmt: skip
        if not (folder / "degrees.npy").exists():
            export_csr(graph, folder)
        path = str(target)
        runs: list[tuple[str, list[str], int | None]] = [
            ("pagerank", [path, *memory], cap),
            ("pagerank", [path], None),
            ("scipy", [str(folder)], cap),
            ("bfs", [path, *memory], cap),
            ("raw", [path], cap),
            ("touch", [path], cap),
        ]
        best: dict[str, dict[str, object]] = {}
        for _ in range(arguments.repeat):
            for part, options, limit in runs:
                name = f"{part}{'' if limit else ', in memory'}"
                found = measured(part, *options, cap=limit)
                if name not in best or found["seconds"] < best[name]["seconds"]:  # type: ignore[operator]
                    best[name] = found
    for name, found in best.items():
        rows.append(
            (
                name,
                found["seconds"],
                found.get("iterations", "-"),
                float(found.get("bytes_read", 0)) / 1e9,  # type: ignore[arg-type]
                float(found.get("peak_memory", 0)) / 1e6,  # type: ignore[arg-type]
            )
        )
    table(rows)


if __name__ == "__main__":
    main()

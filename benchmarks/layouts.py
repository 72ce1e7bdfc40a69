"""Page layouts against each other: bytes an edge, and the time of one gather over all edges.

    python benchmarks/layouts.py --scale 22

Each layout holds the same graph (RMAT, undirected, ordered by degree). The work is that of one
PageRank step: for every vertex, add up a float32 of each neighbour. It runs over pages in memory
and over pages read with O_DIRECT, on all cores; times are the smallest of several. This benchmark
chose the default layout.
"""

from __future__ import annotations

import argparse
import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from common import table, work_folder

import penstock as ps
from penstock.jit import kernel, load16, load32
from penstock.store.layout import PageSpec, make_layout
from penstock.store.packer import FileSink, Packer
from penstock.store.slotted import place

HEADER = 64


@kernel
def _u32(page, at):
    return np.int64(load32(page, at))


@kernel
def pull_banded(page, bands, firsts, values, sums):
    """One page of the banded layout."""
    first = _u32(page, 32)
    vertices = _u32(page, 48)
    small = page[14] == 1
    num_bands = len(bands)
    at = HEADER + 8 * num_bands
    ids = np.zeros(num_bands, np.int64)
    counts = np.zeros(num_bands, np.int64)
    widths = np.zeros(num_bands, np.int64)
    if small:
        at += (4 * ((vertices + 63) // 64) * num_bands + 7) & ~7
    for b in range(num_bands):
        widths[b] = page[HEADER + 8 * b + 4]
        if small:
            counts[b] = at
            at += (vertices * widths[b] + 7) & ~7
    for b in range(num_bands):
        ids[b] = at
        at += (_u32(page, HEADER + 8 * b) * bands[b] + 7) & ~7
    words2 = page.view(np.uint16)
    words4 = page.view(np.uint32)
    for v in range(vertices):
        total = np.float32(0)
        for b in range(num_bands):
            if not small:
                count = _u32(page, HEADER + 8 * b)
            elif widths[b] == 1:
                count = np.int64(page[counts[b] + v])
            elif widths[b] == 2:
                count = np.int64(words2[(counts[b] >> 1) + v])
            elif widths[b] == 4:
                count = np.int64(words4[(counts[b] >> 2) + v])
            else:
                count = np.int64(0)
            here = ids[b]
            if bands[b] == 2:
                for k in range(count):
                    total += values[np.uint32(words2[(here >> 1) + k])]
            elif bands[b] == 3:
                for k in range(count):
                    total += values[load32(page, here + 3 * k) & np.uint32(0xFFFFFF)]
            else:
                for k in range(count):
                    total += values[words4[(here >> 2) + k]]
            ids[b] = here + count * bands[b]
        sums[first + v] += total


@kernel
def pull_slotted(page, pq, firsts, values, sums):
    """One page of the slotted layout."""
    first = _u32(page, 32)
    vertices = _u32(page, 48)
    p, q = pq[0], pq[1]
    for v in range(vertices):
        at = _u32(page, len(page) - 10 * (v + 1) + 6)
        degree = _u32(page, at)
        at += 4
        total = np.float32(0)
        for _ in range(degree):
            if p == 2:
                pid = np.uint32(load16(page, at))
                slot = np.uint32(load16(page, at + 2))
            else:
                pid = load32(page, at) & np.uint32(0xFFFFFF)
                slot = load32(page, at + 3) & np.uint32(0xFFFFFF)
            total += values[firsts[pid] + slot]
            at += p + q
        sums[first + v] += total


def write(graph: ps.Graph, spec: PageSpec, path: Path) -> tuple[int, Any]:
    """The out-lists of a graph in another layout."""
    path.unlink(missing_ok=True)
    firsts = None
    if spec.layout == "slotted":
        firsts = place(iter([np.array(graph.degrees("out"))]), spec)[0].astype(np.uint32)
    sink = FileSink([path])
    packer = Packer(spec, make_layout(spec, firsts), "out", 1, sink, lambda degrees: None)
    for part in graph.iter_adjacency("out", 2):
        packer.add(part)
    rows, _ = packer.finish()
    sink.close(sync=True)
    return len(rows), rows["first_vid"].astype(np.uint32)


def timed(work: Callable[[int], None], pages: int, threads: int, repeat: int) -> float:
    """The smallest time for all pages."""
    times = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeat):
            start = time.perf_counter()
            list(pool.map(work, range(pages)))
            times.append(time.perf_counter() - start)
    return min(times)


def measure(
    graph: ps.Graph, spec: PageSpec, folder: Path, arguments: argparse.Namespace
) -> tuple[object, ...]:
    """One row of the table."""
    path = folder / "layout.pages"
    pages, firsts = write(graph, spec, path)
    size = spec.page_bytes
    n = graph.num_vertices
    edges = graph.catalog.directions["out"].num_edges
    values = np.random.default_rng(1).random(n, np.float32)
    sums = np.zeros(n, np.float32)
    slotted = spec.layout == "slotted"
    function = pull_slotted if slotted else pull_banded
    shape = np.array((spec.p, spec.q) if slotted else spec.bands, np.int64)
    whole = [np.fromfile(path, np.uint8).reshape(pages, size)]

    def in_memory(page_id: int) -> None:
        function(whole[0][page_id], shape, firsts, values, sums)

    timed(in_memory, pages, 2, 1)
    check = float(sums.sum(dtype=np.float64))
    inside = timed(in_memory, pages, 2, arguments.repeat)
    whole.clear()
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    idle = [np.frombuffer(mmap.mmap(-1, size), np.uint8) for _ in range(4)]

    def stream(page_id: int) -> None:
        buffer = idle.pop()
        os.preadv(fd, [buffer], page_id * size)
        function(buffer, shape, firsts, values, sums)
        idle.append(buffer)

    streamed = timed(stream, pages, 4, arguments.repeat)
    os.close(fd)
    name = f"slotted ({spec.p},{spec.q})" if slotted else f"banded {spec.bands}"
    return (
        name,
        pages * size / edges,
        inside / edges * 1e9,
        streamed / edges * 1e9,
        f"{check:.6g}",
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Page layouts against each other.")
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--kind", default="rmat")
    parser.add_argument("--page-size", type=int, default=1 << 20)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    with work_folder(arguments.folder) as folder:
        graph = ps.generate(
            arguments.kind, folder / "graph.penstock", scale=arguments.scale, directed=False,
            overwrite=True,
        )  # fmt: skip
        n, size = graph.num_vertices, arguments.page_size
        specs = [
            PageSpec("banded", size, n, (), bands)
            for bands in ((4,), (3,), (2, 3), (2, 4))
            if n <= 1 << (8 * bands[-1])
        ]
        specs += [PageSpec("slotted", size, n, (), (), p, q) for p, q in ((2, 2), (3, 3))]
        rows: list[tuple[object, ...]] = [
            ("layout", "bytes/edge", "ns/edge in memory", "ns/edge streamed", "check")
        ]
        rows += [measure(graph, spec, folder, arguments) for spec in specs]
        table(rows)


if __name__ == "__main__":
    main()

"""Builds a graph and prints the bytes that this took at most: ``ingest_peak.py KIND SCALE MEMORY
FOLDER``, with 2**SCALE vertices or so. A tiny graph of the same kind is built before, so that
imports and compiled kernels do not count.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock.ingest import generate
from penstock.ingest.build import build
from penstock.ingest.options import BuildOptions
from penstock.ingest.plan import plan_read
from penstock.process import return_freed_memory
from penstock.protocols import Source
from penstock.types import U64, EdgeChunk, Names

KINDS = ("plain", "many ids", "strings", "star", "in-star", "slotted star", "one edge")


def make_source(kind: str, scale: int, memory: int) -> Source:
    """Edges of a kind."""
    rows = plan_read(memory, 2, 16).chunk_rows
    if kind == "plain":
        return generate.rmat(scale, 16, threads=2, chunk_rows=rows)
    random = generate.uniform_of_scale(scale + 3, 1, threads=2, chunk_rows=rows)

    def many_ids(advance: Callable[[float], None]) -> Iterator[EdgeChunk]:
        apart = np.uint64(0x9E3779B97F4A7C15)
        for chunk in random.chunks(advance):
            yield EdgeChunk(np.asarray(chunk.src) * apart, np.asarray(chunk.dst) * apart)

    def strings(advance: Callable[[float], None]) -> Iterator[EdgeChunk]:
        """Ids that are 20 bytes long."""
        for chunk in random.chunks(advance):
            yield EdgeChunk(*(named(np.asarray(ends)) for ends in (chunk.src, chunk.dst)))

    def hub(advance: Callable[[float], None]) -> Iterator[EdgeChunk]:
        """All edges at one vertex: in one direction, millions of others have none."""
        count = 20 << scale
        for begin in range(0, count, rows):
            leaves = np.arange(begin + 1, min(begin + rows, count) + 1, dtype=np.uint64)
            same = np.zeros(len(leaves), np.uint64)
            if kind == "one edge":
                leaves = same + np.uint64(1)
            yield EdgeChunk(leaves, same) if kind == "in-star" else EdgeChunk(same, leaves)

    chunks = {"many ids": many_ids, "strings": strings}.get(kind, hub)
    id_kind = "string" if kind == "strings" else random.id_kind
    return replace(random, chunks=chunks, cheap_to_repeat=False, declared=None, id_kind=id_kind)


def named(numbers: U64) -> Names:
    """Strings of 20 digits, which differ where the numbers do."""
    digits = numbers[:, None] // 10 ** np.arange(19, -1, -1, dtype=np.uint64) % 10
    text = (digits + ord("0")).astype(np.uint8).reshape(-1)
    return Names(text, np.arange(0, len(text), 20), np.full(len(numbers), 20))


def peak() -> int:
    """The most memory this process has had."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def measure(kind: str, scale: int, memory: int, place: Path) -> int:
    """Bytes of a build beyond what was there before it."""
    layout = "slotted" if kind == "slotted star" else "banded"
    options = BuildOptions(
        memory=memory, threads=2, duplicates="keep", page_bytes=1 << 20, layout=layout
    )
    build(make_source(kind, 8, memory), place / "tiny", options)
    return_freed_memory()
    Path("/proc/self/clear_refs").write_text("5")
    base = peak()
    build(make_source(kind, scale, memory), place / "large", options)
    return peak() - base


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[4]) as folder:
        print(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(folder)))

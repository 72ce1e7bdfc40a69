"""Memory is a promise: what a build holds at most, beyond what a tiny one does, is its budget."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SLACK = 40_000_000

#: Builds a generated graph and prints the most memory it ever had.
CHILD = """
import resource, sys, tempfile
from dataclasses import replace
from pathlib import Path
import numpy as np
from penstock.ingest import generate
from penstock.ingest.build import build
from penstock.ingest.options import BuildOptions
from penstock.ingest.plan import plan_read
from penstock.types import EdgeChunk

kind, scale, memory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rows = plan_read(memory, 2, 16).chunk_rows
if kind == "many ids":
    source = generate.uniform_of_scale(scale + 3, 1, threads=2, chunk_rows=rows)
else:
    source = generate.rmat(scale, 16, threads=2, chunk_rows=rows)
chunks = source.chunks

def changed(advance):
    for chunk in chunks(advance):
        apart = np.uint64(0x9E3779B97F4A7C15)
        yield EdgeChunk(chunk.src * apart, chunk.dst * apart)

def star(advance):
    # One vertex has all edges, and millions have none (in one of the directions).
    count = 20 << scale
    for begin in range(0, count, rows):
        leaves = np.arange(begin + 1, min(begin + rows, count) + 1, dtype=np.uint64)
        hub = np.zeros(len(leaves), np.uint64)
        yield EdgeChunk(hub, leaves) if kind == "star" else EdgeChunk(leaves, hub)

if kind != "plain":
    chunks_of = changed if kind == "many ids" else star
    source = replace(source, chunks=chunks_of, cheap_to_repeat=False, declared=None)
with tempfile.TemporaryDirectory(dir=sys.argv[4]) as folder:
    build(source, Path(folder) / "g", BuildOptions(memory=memory, threads=2))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@cache
def peak_bytes(kind: str, scale: int, memory: int, place: Path) -> int:
    command = [sys.executable, "-c", CHILD, kind, str(scale), str(memory), str(place)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return int(done.stdout)


@pytest.mark.parametrize(
    ("kind", "memory"),
    [
        ("plain", 32_000_000),
        ("plain", 64_000_000),
        ("many ids", 32_000_000),
        ("star", 32_000_000),
        ("in-star", 32_000_000),
    ],
)
def test_peak_memory(tmp_path_factory: pytest.TempPathFactory, kind: str, memory: int) -> None:
    place = tmp_path_factory.getbasetemp()
    base = peak_bytes(kind, 8, 32_000_000, place)
    assert peak_bytes(kind, 18, memory, place) <= base + memory + SLACK

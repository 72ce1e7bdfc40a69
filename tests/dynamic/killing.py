"""Kill a writer of a mixed load, over and over, and see what is left: at random moments, or before
each thing that it does to names and files.

    python tests/dynamic/killing.py --kills 1000
    python tests/dynamic/killing.py --steps 200

The graph compacts itself in the background all the time. Batch k is made from the number k alone,
so that what the graph must be follows from the numbers. Each batch has an edge ``MARK -> k``: a
graph that has it must have all of batch k.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import penstock as ps
from penstock.dynamic.compaction_limits import LogLimits

MARK = 10**6
VERTICES = 60
PROPERTIES = {"weight": "int32"}


def batch_of(number):
    """Rows, which of them add, and values."""
    rng = np.random.default_rng(number)
    rows = int(rng.integers(1, 120))
    src, dst = rng.integers(0, VERTICES, (2, rows))
    adds = rng.random(rows) < 0.65
    weight = rng.integers(0, 1000, rows)
    return (
        np.append(src, MARK), np.append(dst, number), np.append(adds, True),
        np.append(weight, number),
    )  # fmt: skip


def write_for_ever(path, first, pipe):
    """Apply batches from a number on; each is told through a pipe when it is acknowledged."""
    with ps.DynamicGraph(path, memory="17MB", threads=2) as graph:
        graph._compactor.limits = LogLimits(floor=8_000)
        rng = random.Random(first)
        number = first
        while True:
            src, dst, adds, weight = batch_of(number)
            graph.update_edges(src, dst, adds, {"weight": weight})
            os.write(pipe, number.to_bytes(8, "little"))
            number += 1
            chance = rng.random()
            if chance < 0.02:
                graph.compact()
            elif chance < 0.03:
                graph.snapshot()


class Expected:
    """The graph after batches 0 .. count - 1."""

    def __init__(self):
        self.count = 0
        self.edges = {}

    def reach(self, count):
        while self.count < count:
            for u, v, adding, weight in zip(
                *(e.tolist() for e in batch_of(self.count)), strict=True
            ):
                if adding:
                    self.edges[u, v] = weight
                else:
                    self.edges.pop((u, v), None)
            self.count += 1


def die_at(step, path):
    """Be killed before that change of a name, or opening of a file to write, in a directory."""
    count = 0

    def look(event, args):
        nonlocal count
        if event == "open":
            inside = str(args[0]).startswith(str(path)) and args[2] & (os.O_WRONLY | os.O_RDWR)
        elif event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir"):
            # Relative names are those of folders that are being removed.
            inside = not os.path.isabs(args[0]) or str(args[0]).startswith(str(path))
        else:
            return
        if inside:
            count += 1
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def run_and_kill(path, first, *, seconds=None, step=None):
    """A writer that lives so long, or up to that step; returns how many batches it acknowledged."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            if step is not None:
                die_at(step, path)
            write_for_ever(path, first, writer)
        finally:
            os._exit(1)
    os.close(writer)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the writer ended by itself: it failed"
    told = b""
    while select.select([reader], [], [], 0)[0] and (part := os.read(reader, 1 << 16)):
        told += part
    os.close(reader)
    assert told == b"".join(k.to_bytes(8, "little") for k in range(first, first + len(told) // 8))
    return len(told) // 8


def check(path, expected, acknowledged):
    """What is left has all that was acknowledged, and of the rest whole batches in their order."""
    with ps.DynamicGraph(path, threads=2) as graph:
        src, dst, weight = (each.tolist() for each in graph.to_edges())
        if graph.internals.recovery.records > 100:
            graph.compact()  # or a writer that has to read so many batches does nothing else
    found = dict(zip(zip(src, dst, strict=True), weight, strict=True))
    marks = sorted(v for u, v in found if u == MARK)
    assert marks == list(range(len(marks))), "a batch is missing between others"
    assert len(marks) >= acknowledged, f"{acknowledged} were acknowledged, {len(marks)} are there"
    expected.reach(len(marks))
    assert found == expected.edges
    return len(marks)


def kill_often(folder, kills, *, seed=1, most_seconds=0.3, steps=False, say=lambda text: None):
    """Kill so many writers of one graph, each after a random time or each at one step more than the
    one before; returns how many batches there are in the end.
    """
    path = Path(folder) / "killed.penstock"
    ps.DynamicGraph(path, edge_properties=PROPERTIES).close()
    rng, expected, count = random.Random(seed), Expected(), 0
    for k in range(kills):
        when = {"step": k + 1} if steps else {"seconds": rng.uniform(0.0, most_seconds)}
        count = check(path, expected, count + run_and_kill(path, count, **when))
        if (k + 1) % 50 == 0:
            say(f"{k + 1} kills, {count:,} batches, {len(expected.edges):,} edges")
    return count


def main():
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=None)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    kills = given.kills if given.steps is None else given.steps
    with tempfile.TemporaryDirectory() as folder:
        count = kill_often(
            folder, kills, seed=given.seed, steps=given.steps is not None,
            say=lambda text: print(text, flush=True),
        )  # fmt: skip
    print(f"{kills} kills: {count:,} batches, nothing lost, nothing torn")


if __name__ == "__main__":
    main()

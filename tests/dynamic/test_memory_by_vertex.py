"""What a live graph with a directory holds in memory for each vertex: little, unless it changes."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

VERTICES, EDGES = 2_000_000, 4_000_000
#: Bytes a vertex in memory, on a base with few changes; by whether there are reverse lists.
MOST = {False: 24, True: 32}

BEGIN = f"""
import json, sys
import numpy as np
import penstock as ps
from penstock.process import return_freed_memory

path, reverse = sys.argv[1], sys.argv[2] == "True"
n = {VERTICES}

def rows(seed, count):
    src, dst = np.random.default_rng(seed).integers(0, n, (2, count))
    return src * 1_000_003 % (1 << 45), dst * 1_000_003 % (1 << 45)
"""

MAKE = """
with ps.DynamicGraph(path, reverse=reverse, memory="4GB", sync="never") as d:
    d.add_vertices(np.random.default_rng(0).permutation(n) * 1_000_003 % (1 << 45))
    d.add_edges(*rows(1, {edges}))
    before = d.internals.memory()
    d.compact()
    print(json.dumps([before, d.internals.memory(), d.num_vertices]))
"""

LOOK = """
def anonymous():
    return_freed_memory()
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("Anonymous:"))

# A small graph first: what compiled code takes is not the question.
with ps.DynamicGraph(path + ".small", reverse=reverse) as d:
    d.add_edges([1, 2], [2, 3])
    d.compact()
    d.add_edges(*rows(3, 20_000))
    d.delete_edges([1], [2])
with ps.DynamicGraph(path + ".small") as d:
    d.compact()

before, found = anonymous(), []

def look(what):
    found.append([what, anonymous() - before, d.internals.memory(), d._state.changed_bytes])

with ps.DynamicGraph(path, sync="never", memory="1GB") as d:
    look("opened")
    d.add_edges(*rows(2, 1000))
    d.delete_edges(*(ends[:500] for ends in rows(1, {edges})))
    look("changed a little")
    d.add_edges(*rows(3, 300_000))
    look("changed")
    d.compact()
    look("merged")
print(json.dumps(found))
"""


def run(program: str, *arguments: Any) -> Any:
    text = textwrap.dedent(BEGIN + program.format(edges=EDGES))
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="asks Linux")
@pytest.mark.parametrize("reverse", [False, True])
def test_bytes_a_vertex(reverse, tmp_path):
    before, after, vertices = run(MAKE, tmp_path / "g", reverse)
    assert vertices == VERTICES
    assert before["lists"] > 30 * VERTICES
    assert after["lists"] == after["vertices"] == 0
    opened, little, changed, merged = run(LOOK, tmp_path / "g", reverse)
    for what, anonymous, said, _ in (opened, little):
        assert anonymous < MOST[reverse] * VERTICES, what
        assert sum(said.values()) < MOST[reverse] * VERTICES
        # What is said is there.
        assert sum(said.values()) < anonymous + (4 << 20), what
    assert opened[2]["lists"] == 0
    assert little[2]["vertices"] == (8 if reverse else 4) * VERTICES
    # Changes count, and go when they are merged.
    assert changed[3] > 60 * 250_000 * (2 if reverse else 1)
    assert changed[1] > changed[3]
    assert merged[2] == opened[2]
    assert merged[1] < changed[1]


def test_parts_add_up(tmp_path):
    with ps.DynamicGraph(tmp_path / "g", vertex_properties={"age": "int64"}) as graph:
        graph.add_edges(np.arange(1000), np.arange(1000)[::-1])
        for _ in range(2):
            parts = graph.internals.memory()
            assert sum(parts.values()) == graph.internals.nbytes
            assert parts["ids"] > 10 * 1000
            assert parts["vertices"] >= 8 * 1000
            graph.compact()
        assert graph.internals.memory()["lists"] == 0
        graph.add_edges([5], [5])
        parts = graph.internals.memory()
        assert parts["vertices"] == 8 * 1000 + 4 * 1000
        assert parts["lists"] > 0


def test_strings_take_more():
    graph = ps.DynamicGraph()
    graph.add_edges([f"person {k}" for k in range(1000)], ["somewhere"] * 1000)
    assert graph.internals.memory()["ids"] > 120 * 1000

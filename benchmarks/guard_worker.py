"""What ``guard.py`` measures: one process for each side, which keeps its graphs open.

It reads one request a line from its input and writes one reply a line, both JSON:

    {"do": "prepare", "name": "bfs"}            -> {}
    {"do": "run", "name": "bfs", "repeats": 40} -> {"seconds": 0.0051, "answer": 646203}

``seconds`` are those of one repetition. ``answer`` is a number by which the two sides are compared:
they have to do the same work. A request that fails is answered by ``{"error": TRACEBACK}``.

Both sides run this file, the older one with an older package: use only what is documented, and name
every option whose default may change.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

#: The scale of each input, relative to the one asked for.
INPUT_SCALES = {"small": -2, "graph": 0, "large": 2}
SEARCHES = 16
BATCH_ROWS = 100_000
#: What is added to a live graph before each search.
CHANGED_ROWS = 1000

FIRST_RUN = """
import sys
import penstock as ps
path, source, memory = sys.argv[1:]
found = ps.bfs(ps.open(path), int(source), memory=int(memory))
print((found.values >= 0).sum())
"""


class Workspace:
    """The inputs, which the sides share, and the graphs that this side made of them."""

    def __init__(self, inputs: Path, folder: Path, scale: int) -> None:
        self.inputs = inputs
        self.folder = folder
        self.scale = scale

    def edges(self, name: str) -> Any:
        """Two rows: sources and targets."""
        return np.load(self.inputs / f"{name}.npy", mmap_mode="r")

    def sources(self, name: str) -> list[int]:
        """Where searches begin. Rows are in random order, so most are in the largest component."""
        return [int(source) for source in self.edges(name)[0, :SEARCHES]]

    def memory(self, name: str) -> int:
        """Bytes with room for all edges of a graph, its weights and any state."""
        return max(256 << 20, 1024 << self.scale + INPUT_SCALES[name])

    def store(self, name: str, *, weights: bool = False) -> Path:
        """A store of this side, built unless an earlier process has done so."""
        path = self.folder / f"{name}{'-weighted' if weights else ''}.penstock"
        if not path.exists():
            src, dst = self.edges(name)
            columns: tuple[Any, ...] = (src, dst)
            if weights:
                drawn = np.random.default_rng(1).integers(1, 256, len(src))
                columns = (src, dst, drawn.astype(np.float32))
            ps.build(columns, path, directed=False, memory=self.memory(name))
        return path

    @cached_property
    def graph(self) -> Any:
        """The graph that most measurements share."""
        return ps.open(self.store("graph"))

    @cached_property
    def live(self) -> Any:
        """The small graph, as one that changes."""
        return insert(*self.edges("small"))


def insert(src: Any, dst: Any) -> Any:
    """A live graph, filled batch by batch."""
    graph = ps.DynamicGraph(directed=False, multigraph=False)
    for begin in range(0, len(src), BATCH_ROWS):
        batch = slice(begin, begin + BATCH_ROWS)
        graph.add_edges(src[batch], dst[batch])
    return graph


# Each of these prepares a measurement and returns the call that is timed; the call is given the
# number of the repetition. Values may be computed when they are first used: calls ask for them.

Call = Callable[[int], Any]


def pagerank(space: Workspace) -> Call:
    graph, memory = space.graph, space.memory("graph")
    options: dict[str, Any] = {"tol": 0, "max_iter": 10, "dtype": "float32", "memory": memory}
    return lambda k: ps.pagerank(graph, **options).values


def bfs(space: Workspace) -> Call:
    graph, memory, sources = space.graph, space.memory("graph"), space.sources("graph")
    return lambda k: ps.bfs(graph, sources[k % SEARCHES], memory=memory).values


def sssp(space: Workspace) -> Call:
    graph = ps.open(space.store("graph", weights=True))
    memory, sources = space.memory("graph"), space.sources("graph")
    return lambda k: ps.sssp(graph, sources[k % SEARCHES], memory=memory).values


def components(space: Workspace) -> Call:
    graph, memory = space.graph, space.memory("graph")
    return lambda k: ps.connected_components(graph, memory=memory).values


def triangles(space: Workspace) -> Call:
    graph, memory = ps.open(space.store("small")), space.memory("small")
    return lambda k: ps.triangles(graph, memory=memory).values


def betweenness(space: Workspace) -> Call:
    graph, memory = space.graph, space.memory("graph")
    sources = sorted(set(space.sources("graph")))[:2]
    return lambda k: ps.betweenness(graph, sources=sources, memory=memory).values


def streaming(space: Workspace) -> dict[str, Any]:
    """Options with which every page comes from the disk whenever it is needed."""
    return {"memory": max(64 << 20, 64 << space.scale), "load": False, "cache_pages": 0}


def streamed_pagerank(space: Workspace) -> Call:
    graph = ps.open(space.store("graph"))
    options = {"tol": 0, "max_iter": 2, "dtype": "float32", **streaming(space)}
    return lambda k: ps.pagerank(graph, **options).values


def streamed_bfs(space: Workspace) -> Call:
    graph, sources = ps.open(space.store("graph")), space.sources("graph")
    options = streaming(space)
    return lambda k: ps.bfs(graph, sources[k % SEARCHES], **options).values


def live_insert(space: Workspace) -> Call:
    src, dst = np.array(space.edges("small"))
    return lambda k: insert(src, dst)


def live_bfs(space: Workspace) -> Call:
    graph, memory, sources = space.live, space.memory("small"), space.sources("small")
    src, dst = np.array(space.edges("small")[:, :CHANGED_ROWS])

    def call(k: int) -> Any:
        graph.add_edges(src, dst)
        return ps.bfs(graph, sources[k % SEARCHES], memory=memory).values

    return call


def build(space: Workspace) -> Call:
    text, target = space.inputs / "small.txt", space.folder / "built.penstock"
    options: dict[str, Any] = {"directed": False, "memory": "512MiB", "overwrite": True}
    return lambda k: ps.build(str(text), target, **options)


def open_store(space: Workspace) -> Call:
    path = space.store("large")
    return lambda k: ps.open(path)


def first_run(space: Workspace) -> Call:
    arguments = [space.store("large"), space.sources("large")[0], space.memory("large")]
    command = [sys.executable, "-c", FIRST_RUN, *map(str, arguments)]

    def call(k: int) -> str:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    return call


# Numbers that say whether both sides found the same.


def reached(levels: Any) -> int:
    return int(np.isfinite(levels).sum() - (levels < 0).sum())


def distinct(labels: Any) -> int:
    return len(np.unique(labels))


def top(scores: Any) -> int:
    return int(np.argmax(scores))


def num_edges(graph: Any) -> int:
    return int(graph.num_edges)


@dataclass(frozen=True)
class Measurement:
    """What is timed, and which of the inputs it takes."""

    what: str
    input: str
    prepare: Callable[[Workspace], Call]
    answer: Callable[[Any], int]


MEASUREMENTS = {
    "pagerank": Measurement("PageRank x 10 in memory", "graph", pagerank, top),
    "bfs": Measurement("BFS in memory", "graph", bfs, reached),
    "sssp": Measurement("SSSP in memory", "graph", sssp, reached),
    "components": Measurement("connected components in memory", "graph", components, distinct),
    "triangles": Measurement("triangles in memory", "small", triangles, np.sum),
    "betweenness": Measurement("betweenness from 2 sources in memory", "graph", betweenness, top),
    "streamed_pagerank": Measurement("PageRank x 2 from disk", "graph", streamed_pagerank, top),
    "streamed_bfs": Measurement("BFS from disk", "graph", streamed_bfs, reached),
    "live_insert": Measurement("insertion into a live graph", "small", live_insert, num_edges),
    "live_bfs": Measurement("1,000 edges and BFS, live graph", "small", live_bfs, reached),
    "build": Measurement("build from text", "small", build, num_edges),
    "open": Measurement("open a store", "large", open_store, num_edges),
    "first_run": Measurement("new process: open, load, BFS, end", "large", first_run, int),
}


class Worker:
    """Answers requests."""

    def __init__(self, space: Workspace) -> None:
        self._space = space
        self._calls: dict[str, Call] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to one request."""
        try:
            if request["do"] == "prepare":
                return self._prepare(request["name"])
            return self._run(request["name"], request["repeats"])
        except Exception:
            return {"error": traceback.format_exc()}

    def _prepare(self, name: str) -> dict[str, Any]:
        """Make what is needed and run once: kernels are compiled, graphs are loaded."""
        if name not in self._calls:
            self._calls[name] = MEASUREMENTS[name].prepare(self._space)
            self._calls[name](0)
        return {}

    def _run(self, name: str, repeats: int) -> dict[str, Any]:
        call, result = self._calls[name], None
        gc.collect()
        begin = time.perf_counter()
        for k in range(repeats):
            result = call(k)
        seconds = (time.perf_counter() - begin) / repeats
        return {"seconds": seconds, "answer": int(MEASUREMENTS[name].answer(result))}


def main() -> None:
    """Serve requests until the input ends."""
    source, inputs, folder, scale = sys.argv[1:]
    if not Path(str(ps.__file__)).is_relative_to(source):
        sys.exit(f"guard: imported {ps.__file__}, which is not in {source}")
    # Only replies go to the pipe; whatever else is printed goes to the error output.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(Workspace(Path(inputs), Path(folder), int(scale)))
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()

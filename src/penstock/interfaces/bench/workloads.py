"""What the experiments run: the graphs, the programs, and how a run is timed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from penstock.algorithms.bfs import bfs
from penstock.algorithms.pagerank import pagerank
from penstock.config import thread_count
from penstock.engine.result import Result
from penstock.engine.run import run
from penstock.errors import BudgetError
from penstock.interfaces.api import generate
from penstock.interfaces.bench.suite import Row
from penstock.metrics import clock
from penstock.program import Program
from penstock.progress import Progress, Silent
from penstock.store.direct import page_buffer
from penstock.store.graph import Graph
from penstock.store.paged import FilePages, PagedGraph
from penstock.types import Direction

#: Decides the graphs: the same ones each time.
SEED = 20
#: What GStream times.
PAGERANK_ITERATIONS = 10
#: A level or distance that no vertex has.
FAR = 1 << 30
#: Until nothing is active.
ENDLESS: dict[str, Any] = {"max_iter": 10_000}

#: Runs an algorithm with the options that it is given.
Runner = Callable[..., Result]


@dataclass
class Workbench:
    """The graphs of a suite, made when first asked for, and how to run on them."""

    scale: int
    #: Where graphs go; must be there.
    folder: Path
    #: Where traces go; None: beside the graphs.
    traces: Path | None = None
    memory: str | None = None
    threads: int | None = None
    page_size: str | None = None
    repeat: int = 3
    progress: Progress = field(default_factory=Silent)

    @cached_property
    def graph(self) -> PagedGraph:
        """RMAT, directed, both directions, one stripe."""
        return self._generate("rmat.penstock", directed=True)

    @cached_property
    def striped(self) -> PagedGraph:
        """The same graph over two stripes."""
        second = self.folder / "stripe"
        second.mkdir()
        return self._generate("striped.penstock", directed=True, stripes=[second])

    @cached_property
    def undirected(self) -> PagedGraph:
        """The same edges, both ways."""
        return self._generate("undirected.penstock", directed=False)

    def _generate(self, name: str, **options: Any) -> PagedGraph:
        return generate(
            "rmat", self.folder / name, scale=self.scale, seed=SEED, memory=self.memory,
            threads=self.threads, page_size=self.page_size or page_size(self.scale),
            progress=self.progress, **options,
        )  # fmt: skip

    @cached_property
    def algorithms(self) -> dict[str, tuple[Runner, Direction]]:
        """GStream's two kinds of algorithm, and the lists that they stream."""
        return {
            "BFS": (self.runner(levels), "out"),
            "PageRank": (self.runner(ten_iterations, strategy="pull"), "in"),
        }

    def runner(self, function: Runner, graph: Graph | None = None, **fixed: Any) -> Runner:
        """A function of the remaining options; without ``load=False`` it runs in memory."""

        def call(**options: Any) -> Result:
            chosen = self.graph if graph is None else graph
            every = {"memory": self.memory, "threads": self.threads}
            result = function(chosen, **every | fixed | options)
            if options.get("load", True) and not result.stats["resident"]:
                raise BudgetError(
                    f"memory: a graph of scale {self.scale} does not fit in memory as a whole, "
                    "which some experiments need; give more --memory or a smaller --scale"
                )
            return result

        return call

    def best(self, call: Runner, **options: Any) -> tuple[float, Result]:
        """The least seconds of several runs, without loading; and the run that took them."""
        runs = []
        for _ in range(self.repeat):
            result = call(**options)
            runs.append((result.stats["seconds"] - result.stats["load_seconds"], result))
            self.progress.advance(1)
        return min(runs, key=lambda each: each[0])

    def warm(self) -> None:
        """Run everything once, streamed and in memory: compiling is not what is measured."""
        self.progress.start("first runs", None, "runs")
        for call, _ in self.algorithms.values():
            for options in ({"load": False}, {"load": True}):
                call(**options)
                self.progress.advance(1)

    def within(self, folder: Path) -> Workbench:
        """Graphs go to another folder; traces stay here."""
        return replace(self, folder=folder, traces=self.folder)

    def facts(self) -> Row:
        """What was run on."""
        graph = self.graph
        lists = graph.catalog.directions["in"]
        return {
            "scale": self.scale,
            "seed": SEED,
            "num_vertices": graph.num_vertices,
            "num_edges": graph.num_edges,
            "page_bytes": graph.catalog.page_bytes,
            "pages": lists.num_pages,
            "topology_bytes": lists.num_pages * graph.catalog.page_bytes,
            "threads": thread_count(self.threads),
            "repeat": self.repeat,
        }


def page_size(scale: int) -> str:
    """Enough pages for curves to show, and enough edges in a page to be worth a read."""
    return "256KiB" if scale >= 18 else "64KiB"


def num_pages(graph: Graph, direction: Direction) -> int:
    """The pages that hold edges: those that a scan reads."""
    return int(np.count_nonzero(graph.page_table(direction)["num_edges"]))


# Programs


def source_of(graph: Graph) -> Any:
    """Where traversals begin: a vertex of middling degree, always the same."""
    with_edges = np.flatnonzero(graph.degrees("out"))
    return graph.ids_by_vid()[with_edges[len(with_edges) // 2]]


def _level_init(vertex, p):  # type: ignore[no-untyped-def]
    return 0 if vertex.index == p.source else p.far


def _level_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.level + 1


def _level_apply(old, a):  # type: ignore[no-untyped-def]
    return min(old.level, a)


def _level_activate(new, old):  # type: ignore[no-untyped-def]
    return new.level < old.level


_LEVELS = Program(
    state={"level": np.int32}, init=_level_init, gather=_level_gather, sum="min", identity=FAR,
    apply=_level_apply, activate=_level_activate, accumulator=np.int32, incremental=True,
    name="bench bfs",
)  # fmt: skip


def levels_program(graph: Graph, **options: Any) -> Result:
    """Levels from :func:`source_of` as a vertex program, which can be pushed and pulled; an
    unreached vertex has level :data:`FAR`.
    """
    return _from_source(graph, _LEVELS, **options)


def _distance_init(vertex, p):  # type: ignore[no-untyped-def]
    return 0 if vertex.index == p.source else p.far


def _distance_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    # The weight of an edge, 1 to 64, from its ends: the graph is stored without weights.
    return src.distance + 1 + (src.vid * 40503 + dst.vid * 30011) % 64


def _distance_apply(old, a):  # type: ignore[no-untyped-def]
    return min(old.distance, a)


def _distance_activate(new, old):  # type: ignore[no-untyped-def]
    return new.distance < old.distance


_DISTANCES = Program(
    state={"distance": np.int32}, init=_distance_init, gather=_distance_gather, sum="min",
    identity=FAR, apply=_distance_apply, activate=_distance_activate, accumulator=np.int32,
    name="bench sssp",
)  # fmt: skip


def sssp(graph: Graph, **options: Any) -> Result:
    """Bellman-Ford from :func:`source_of`, with weights made up from the ends of an edge."""
    return _from_source(graph, _DISTANCES, **options)


def _from_source(graph: Graph, program: Program, **options: Any) -> Result:
    source = source_of(graph)
    rank = int(np.searchsorted(graph.ids, source))
    params = {"source": rank, "far": FAR}
    return run(graph, program, **{"params": params, "start": [source], **ENDLESS, **options})


def _label_init(vertex):  # type: ignore[no-untyped-def]
    return vertex.index


def _label_gather(src, edge, dst):  # type: ignore[no-untyped-def]
    return src.label


def _label_apply(old, a):  # type: ignore[no-untyped-def]
    return min(old.label, a)


def _label_activate(new, old):  # type: ignore[no-untyped-def]
    return new.label < old.label


_LABELS = Program(
    state={"label": np.uint32}, init=_label_init, gather=_label_gather, sum="min",
    identity=(1 << 32) - 1, apply=_label_apply, activate=_label_activate, accumulator=np.uint32,
    name="bench cc",
)  # fmt: skip


def components(graph: Graph, **options: Any) -> Result:
    """Connected components by passing the smallest label on."""
    return run(graph, _LABELS, **ENDLESS | options)


def ten_iterations(graph: Graph, **options: Any) -> Result:
    """PageRank, as long as GStream runs it."""
    return pagerank(graph, **{"tol": 0, "max_iter": PAGERANK_ITERATIONS, **options})


def levels(graph: Graph, **options: Any) -> Result:
    """BFS from :func:`source_of`."""
    return bfs(graph, source_of(graph), **options)


# The limit


def read_rate(graph: PagedGraph, direction: Direction, threads: int | None = None) -> float:
    """Bytes a second of plain reads of all pages past the system's cache; the best of three."""
    source = graph.pages(direction)
    assert isinstance(source, FilePages)
    files = source.direct()
    count = 2 * thread_count(threads)
    buffers = [page_buffer(files.page_bytes) for _ in range(count)]

    def read(worker: int) -> None:
        for page in range(worker, files.num_pages, count):
            files.read_page(page, buffers[worker])

    times = []
    with ThreadPoolExecutor(count) as pool:
        for _ in range(3):
            begin = clock()
            list(pool.map(read, range(count)))
            times.append(clock() - begin)
    files.close()
    return files.num_pages * files.page_bytes / min(times)

"""What the suite ``garaph`` works on: a graph, its in-degrees, and pages of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from penstock.config import memory_budget, parse_bytes, thread_count
from penstock.device.replication import MOST_REPLICAS
from penstock.errors import OptionError
from penstock.ingest.build import build
from penstock.ingest.generate import rmat
from penstock.ingest.options import BuildOptions
from penstock.ingest.plan import plan_read
from penstock.interfaces.bench.suite import Row
from penstock.interfaces.bench.workloads import SEED, page_size
from penstock.progress import Progress, Silent
from penstock.store.graph import Graph
from penstock.store.paged import open_graph
from penstock.types import I64, Array

#: As many pages as the paper cuts its graph into.
NUM_PAGES = 33
#: What a block of a GPU may use of its shared memory.
SHARED_BYTES = 48 << 10
#: The size of an accumulator, as in the paper.
ACCUMULATOR_BYTES = 4
LEAST_SHARED_BYTES = ACCUMULATOR_BYTES * MOST_REPLICAS


@dataclass
class Garaph:
    """The workbench."""

    #: Of the graph that is made.
    scale: int
    #: Where it goes; must be there.
    folder: Path
    #: A graph to use instead.
    given: Path | None = None
    shared_bytes: int = SHARED_BYTES
    memory: str | None = None
    threads: int | None = None
    page_size: str | None = None
    repeat: int = 3
    progress: Progress = field(default_factory=Silent)

    def __post_init__(self) -> None:
        if self.shared_bytes < LEAST_SHARED_BYTES:
            raise OptionError(
                f"shared_memory: expected at least {LEAST_SHARED_BYTES} bytes, room for a vertex; "
                f"got {self.shared_bytes}"
            )

    @cached_property
    def graph(self) -> Graph:
        """RMAT, directed, unless another is given."""
        return self._given or self._generate("rmat.penstock", weighted=False, directed=True)

    @cached_property
    def undirected(self) -> Graph:
        """The same edges, both ways, with weights; a graph that is given is taken as it is."""
        return self._given or self._generate("undirected.penstock", weighted=True, directed=False)

    @cached_property
    def _given(self) -> Graph | None:
        return None if self.given is None else open_graph(self.given)

    def _generate(self, name: str, *, weighted: bool, directed: bool) -> Graph:
        budget, threads = memory_budget(self.memory), thread_count(self.threads)
        rows = plan_read(budget, threads, 8).chunk_rows
        source = rmat(self.scale, seed=SEED, threads=threads, chunk_rows=rows, weighted=weighted)
        size = self.page_size or page_size(self.scale)
        options = BuildOptions(
            directed=directed, page_bytes=parse_bytes(size, "page_size"), memory=budget,
            threads=threads,
        )  # fmt: skip
        return build(source, self.folder / name, options, self.progress)

    @cached_property
    def offsets(self) -> dict[str, I64]:
        """By order of the vertices: vertex v has the in-edges ``offsets[v]`` to ``offsets[v + 1]``.

        The orders are that in which the graph is stored and, if that is another, that of ids.
        """
        if self.graph.num_edges == 0:
            raise OptionError(f"graph: {self.given}: has no edges; choose one that has")
        degrees: Array = np.asarray(self.graph.degrees("in"))
        order = self.graph.vid_of_rank
        if order is None:
            return {"id": _offsets(degrees)}
        return {"degree": _offsets(degrees), "id": _offsets(degrees[order])}

    def warm(self) -> None:
        """Nothing that is counted depends on what was compiled before."""

    def within(self, folder: Path) -> Garaph:
        """Graphs go to another folder."""
        return replace(self, folder=folder)

    def facts(self) -> Row:
        """What was run on."""
        return {
            "scale": self.scale if self.given is None else None,
            "graph": None if self.given is None else str(self.given),
            "seed": SEED,
            "num_vertices": self.graph.num_vertices,
            "num_edges": self.graph.num_edges,
            "shared_bytes": self.shared_bytes,
            "threads": thread_count(self.threads),
            "repeat": self.repeat,
        }


def _offsets(degrees: Array) -> I64:
    found = np.zeros(len(degrees) + 1, np.int64)
    np.cumsum(degrees, out=found[1:])
    return found


def page_bounds(offsets: I64, count: int = NUM_PAGES) -> I64:
    """Vertices at which pages begin, and the end of the last: about as many edges in each. There
    are fewer pages if a vertex has the edges of several.

    >>> page_bounds(np.array([0, 3, 4, 6, 8]), 2).tolist()
    [0, 2, 4]
    """
    wanted = np.arange(1, count) * (int(offsets[-1]) / count)
    inner = np.searchsorted(offsets, wanted)
    return np.unique(np.concatenate([[0], inner, [len(offsets) - 1]]))

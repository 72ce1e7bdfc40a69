"""What the suite ``netalx`` runs: searches from several roots of a graph, and what they took."""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from penstock.algorithms._levels import STATE_BYTES
from penstock.algorithms._vids import by_vid
from penstock.algorithms.bfs import bfs
from penstock.config import thread_count
from penstock.engine.counts import counts_of
from penstock.engine.frontier import QUEUE_BYTES
from penstock.engine.result import Result
from penstock.engine.sizes import list_bytes
from penstock.errors import BudgetError
from penstock.interfaces.api import Generator, generate
from penstock.interfaces.bench.suite import Row
from penstock.progress import Progress, Silent
from penstock.store.paged import PagedGraph
from penstock.stream.tiers import HEAD_BYTES, head_sums, tier_bytes
from penstock.types import I64, Array

#: Decides graphs and roots: the same ones each time.
SEED = 31
EDGE_FACTOR = 16
#: What is in memory of a graph in tiers, unless an experiment says otherwise.
SHARE = 0.25

#: Where edges are. "memory": all in memory. "tiers": the first of each list are, the rest is read.
#: "dual": all are, for bottom-up; top-down reads every list.
MEMORY, TIERS, DUAL = "memory", "tiers", "dual"
#: A graph that takes as much memory as a quarter of another is so many scales smaller: the thesis
#: compares tiers with that one in memory.
SCALES_LESS = 2

#: Where edges are, and how many of each list if they are in tiers.
Way = tuple[str, int | None]
#: Options that choose top-down or bottom-up for each level; none: whichever costs less.
Rule = dict[str, Any]
#: Rules that never change between the two.
TOP_DOWN: Rule = {"alpha": 1e-9, "beta": 1e-9}
BOTTOM_UP: Rule = {"alpha": 1e300, "beta": 1e300}
#: The rule that the thesis chose for its machine.
THESIS: Rule = {"alpha": 4096, "beta": 4}


@dataclass(frozen=True)
class Ground:
    """A graph to search, and where searches begin."""

    graph: PagedGraph
    #: All in the component of the vertex of highest degree.
    roots: list[Any]
    #: Edges of that component, each once: what TEPS count.
    edges: int
    #: Entry k: neighbours in memory if lists have their first k there; the last: all.
    sums: I64

    def head_edges(self, share: float = SHARE) -> int:
        """The k that keeps about such a share of the neighbours in memory; at least 1."""
        wanted = share * int(self.sums[-1])
        return max(1, int(np.argmin(np.abs(self.sums[:-1] - wanted))))

    def held(self, place: str, k: int | None) -> int:
        """Neighbours in memory."""
        last = len(self.sums) - 1
        return int(self.sums[last if k is None or place != TIERS else min(k, last)])


@dataclass(frozen=True)
class Search:
    """What is kept of a search."""

    #: Without loading.
    seconds: float
    stats: Row
    levels: list[Row]

    def sum_of(self, name: str, mode: str | None = None) -> float:
        """A sum over the levels, or those that were found one way."""
        levels = [row for row in self.levels if mode in (None, row["mode"])]
        return float(sum(row.get(name, 0) for row in levels))


@dataclass
class Netalx:
    """The workbench: the graph of the suite, made when first asked for, and how to search it."""

    scale: int
    #: Where graphs go; must be there.
    folder: Path
    memory: str | None = None
    threads: int | None = None
    page_size: str | None = None
    num_roots: int = 8
    #: Searches from each root; the fastest counts.
    repeat: int = 3
    progress: Progress = field(default_factory=Silent)

    @cached_property
    def ground(self) -> Ground:
        """RMAT of the suite's scale."""
        return self._make("rmat", self.scale, EDGE_FACTOR, self.progress)

    @contextmanager
    def another(
        self, kind: Generator = "rmat", scale: int | None = None, edge_factor: int = EDGE_FACTOR
    ) -> Iterator[Ground]:
        """A graph that goes away at the end of the block, unless it is that of the suite."""
        scale = self.scale if scale is None else scale
        if (kind, scale, edge_factor) == ("rmat", self.scale, EDGE_FACTOR):
            yield self.ground
            return
        ground = self._make(kind, scale, edge_factor, Silent())
        try:
            yield ground
        finally:
            ground.graph.kept.clear()
            shutil.rmtree(self._path(kind, scale, edge_factor))

    def _path(self, kind: str, scale: int, edge_factor: int) -> Path:
        return self.folder / f"{kind}-{scale}-{edge_factor}.penstock"

    def _make(self, kind: Generator, scale: int, edge_factor: int, progress: Progress) -> Ground:
        graph = generate(
            kind, self._path(kind, scale, edge_factor), scale=scale, edge_factor=edge_factor,
            directed=False, self_loops="drop", seed=SEED, memory=self.memory, threads=self.threads,
            page_size=self.page_size, progress=progress,
        )  # fmt: skip
        degrees: Array = np.asarray(graph.degrees("out"))
        names = graph.ids_by_vid()
        levels = bfs(graph, names[0], memory=self.memory, threads=self.threads).values
        reached = np.flatnonzero(by_vid(graph, levels) >= 0)
        chosen = np.random.default_rng(SEED).permutation(reached)[: self.num_roots]
        edges = int(degrees[reached].sum(dtype=np.int64)) // 2
        return Ground(graph, [names[v] for v in chosen], edges, head_sums(degrees))

    def search(self, ground: Ground, root: Any, place: str, **options: Any) -> Result:
        """One search; ``resident_edges`` among the options if it is in tiers."""
        result = bfs(
            ground.graph, root, memory=self.memory, threads=self.threads, dual=place == DUAL,
            **options,
        )  # fmt: skip
        if place == MEMORY and not result.stats["resident"]:
            raise BudgetError(
                f"memory: a graph of {ground.graph.num_edges:,} edges does not fit in memory as a "
                "whole, which some experiments need; give more --memory or a smaller --scale"
            )
        return result

    def searches(self, ground: Ground, ways: Sequence[Way]) -> list[list[Search]]:
        """For each way, the fastest of several searches from each root. Ways take turns, so that a
        moment when the machine is busy does not spoil all searches of one; each turn begins with a
        search that does not count, which may have to load.
        """
        ground.graph.kept.clear()
        found: list[dict[Any, Search]] = [{} for _ in ways]
        for _ in range(self.repeat):
            for best, (place, k) in zip(found, ways, strict=True):
                options = {"resident_edges": k} if place == TIERS else {}
                self.search(ground, ground.roots[0], place, **options)
                for root in ground.roots:
                    result = self.search(ground, root, place, **options)
                    seconds = result.stats["seconds"] - result.stats["load_seconds"]
                    if root not in best or seconds < best[root].seconds:
                        best[root] = Search(seconds, result.stats, result.iterations)
                    self.progress.advance(1)
        return [list(best.values()) for best in found]

    def measure(self, ground: Ground, ways: Sequence[Way]) -> list[tuple[Row, list[Search]]]:
        """For each way, a row of what searches took and held, and the searches."""
        every = self.searches(ground, ways)
        return [
            (_row_of(ground, place, k, runs), runs)
            for (place, k), runs in zip(ways, every, strict=True)
        ]

    def start(self, name: str, measurements: int) -> None:
        """An experiment of so many rounds of searches begins."""
        self.progress.start(name, measurements * self.repeat * len(self.ground.roots), "searches")

    def warm(self) -> None:
        """Search every way: compiling is not what is measured."""
        ground = self.ground
        rules: list[Rule] = [{}, TOP_DOWN, BOTTOM_UP]
        self.progress.start("first searches", 3 * len(rules), "searches")
        for place in (MEMORY, TIERS, DUAL):
            ground.graph.kept.clear()
            heads = {"resident_edges": ground.head_edges()} if place == TIERS else {}
            for rule in rules:
                self.search(ground, ground.roots[0], place, **heads, **rule)
                self.progress.advance(1)

    def within(self, folder: Path) -> Netalx:
        """Graphs go to another folder."""
        return replace(self, folder=folder)

    def facts(self) -> Row:
        """What was run on."""
        graph = self.ground.graph
        return {
            "scale": self.scale,
            "edge_factor": EDGE_FACTOR,
            "seed": SEED,
            "num_vertices": graph.num_vertices,
            "num_edges": graph.num_edges,
            "page_bytes": graph.catalog.page_bytes,
            "threads": thread_count(self.threads),
            "roots": len(self.ground.roots),
            "repeat": self.repeat,
        }


def _row_of(ground: Ground, place: str, k: int | None, runs: Sequence[Search]) -> Row:
    held = ground.held(place, k)
    return {
        "place": place,
        "head_edges": k,
        "memory_share": held / int(ground.sums[-1]),
        "seconds": median_of(runs, lambda run: run.seconds),
        "teps": statistics.harmonic_mean([ground.edges / run.seconds for run in runs]),
        "bytes_read": mean_of(runs, lambda run: run.sum_of("bytes_read")),
        "reads": mean_of(runs, lambda run: run.sum_of("reads")),
        **memory_parts(ground, place, held, runs[0].stats["planned_memory"]),
    }


def memory_parts(ground: Ground, place: str, held: int, planned: int) -> Row:
    """What a search holds at most, and of that: edges, where lists are, values, buffers."""
    graph = ground.graph
    edge_bytes = HEAD_BYTES * held
    if place == MEMORY:
        index = list_bytes(counts_of(graph), "out", ()).resident_bytes - edge_bytes
    else:
        fixed, by_k = tier_bytes(graph, "out", np.asarray(graph.degrees("out")))
        index = fixed + int(by_k[np.searchsorted(ground.sums, held)]) - edge_bytes
    state = (STATE_BYTES + QUEUE_BYTES) * graph.num_vertices
    return {
        "planned_memory": planned,
        "edge_bytes": edge_bytes,
        "index_bytes": index,
        "state_bytes": state,
        "buffer_bytes": planned - edge_bytes - index - state,
    }


def median_of(runs: Sequence[Search], number: Callable[[Search], float]) -> float:
    """The median over searches of a number."""
    return statistics.median(number(run) for run in runs)


def mean_of(runs: Sequence[Search], number: Callable[[Search], float]) -> float:
    """The mean over searches of a number."""
    return statistics.fmean(number(run) for run in runs)

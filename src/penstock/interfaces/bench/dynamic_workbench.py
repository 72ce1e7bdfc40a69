"""What the suite ``dynamic`` works with: requests made once, stores by name, how they are timed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from penstock.config import thread_count
from penstock.interfaces.api import from_edges
from penstock.interfaces.bench.dynamic_runs import (
    CSR,
    NAMES,
    OURS,
    Analysed,
    Ours,
    Partitioned,
    Updated,
    make_single,
    make_store,
    timed_batches,
)
from penstock.interfaces.bench.dynamic_stores import Store
from penstock.interfaces.bench.dynamic_workloads import Requests, rmat_requests
from penstock.interfaces.bench.suite import Row
from penstock.interfaces.bench.workloads import SEED
from penstock.parallel import Workers
from penstock.progress import Progress, Silent

T = TypeVar("T")
#: Requests at a time; the paper, with much larger graphs, takes a million.
BATCH = 100_000
#: Additional requests to delete, as a share of the insertions.
DELETIONS = 0.05
WARM_SCALE = 6


@dataclass
class Dynamic:
    """The workbench."""

    #: Of the graph whose edges are asked for.
    scale: int
    #: Where durable graphs go; must be there.
    folder: Path
    stores: tuple[str, ...] = NAMES
    #: Requests in a batch.
    batch: int = BATCH
    #: A folder with real streams of edges; None: they are left out.
    data: Path | None = None
    threads: int | None = None
    repeat: int = 3
    progress: Progress = field(default_factory=Silent)
    _made: dict[float, Requests] = field(default_factory=dict, repr=False)

    def requests(self, deletions: float = 0) -> Requests:
        """Of the graph, with so many deletions; made when first asked for."""
        if deletions not in self._made:
            self._made[deletions] = rmat_requests(self.scale, deletions, self.num_threads)
        return self._made[deletions]

    @property
    def num_threads(self) -> int:
        """Threads of a store."""
        return thread_count(self.threads)

    @cached_property
    def workers(self) -> Workers:
        """The threads of the stores we compare with."""
        return Workers(self.num_threads)

    @contextmanager
    def store(
        self, name: str, *, unique: bool = True, threads: int | None = None, **options: Any
    ) -> Iterator[Ours | Partitioned]:
        """A new store; what it has open is closed in the end."""
        made = make_store(
            name, unique=unique, threads=threads or self.num_threads, workers=self.workers,
            **options,
        )  # fmt: skip
        try:
            yield made
        finally:
            if isinstance(made, Ours):
                made.close()

    @contextmanager
    def durable(self, **options: Any) -> Iterator[Ours]:
        """A live graph in a folder that goes away."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            store = Ours(path=Path(folder) / "live", threads=self.num_threads, **options)
            try:
                yield store
            finally:
                store.close()

    def filled(self, store: Updated, requests: Requests, rows: int | None = None) -> list[float]:
        """Give it all requests; the seconds of each batch."""
        return list(timed_batches(store, requests, rows or self.batch))

    def best(self, measure: Callable[[], T], seconds: Callable[[T], float]) -> T:
        """The fastest of several runs."""
        found = []
        for _ in range(self.repeat):
            found.append(measure())
            self.progress.advance(1)
        return min(found, key=seconds)

    def warm(self) -> None:
        """Apply some requests to each kind of store, and run the algorithms on them."""
        self.progress.start("first runs", None, "stores")
        every = rmat_requests(WARM_SCALE), rmat_requests(WARM_SCALE, 0.4)
        for unique in (True, False):
            for name in (*(name for name in self.stores if name != OURS), CSR):
                _warm_single(make_single(name, unique=unique), every)
                self.progress.advance(1)
            if OURS in self.stores:
                store = Ours(unique=unique, threads=self.threads)
                _warm_ours(store, every, self.threads)
                store.close()
                self.progress.advance(1)

    def within(self, folder: Path) -> Dynamic:
        """Durable graphs go to another folder."""
        return replace(self, folder=folder)

    def facts(self) -> Row:
        """What was run on."""
        requests = self.requests()
        keys = np.unique(requests.src << np.uint64(32) | requests.dst)
        return {
            "scale": self.scale,
            "seed": SEED,
            "num_requests": len(requests),
            "num_edges": len(keys),
            "batch": self.batch,
            "stores": list(self.stores),
            "data": None if self.data is None else str(self.data),
            "threads": self.num_threads,
            "repeat": self.repeat,
        }


def _warm_single(store: Store, every: tuple[Requests, ...]) -> None:
    for requests in every:
        store.update(requests.src, requests.dst, requests.adds)
    store.bfs(int(requests.src[0]), requests.num_ids)
    store.superstep(store.first_ranks())


def _warm_ours(store: Ours, every: tuple[Requests, ...], threads: int | None) -> None:
    for requests in every:
        store.update(requests.src, requests.dst, requests.adds)
    still = from_edges(requests.src, requests.dst, threads=threads)
    for graph in (store, Analysed(still, threads)):
        graph.levels(int(requests.src[0]), requests.num_ids)
        graph.superstep_seconds(1)

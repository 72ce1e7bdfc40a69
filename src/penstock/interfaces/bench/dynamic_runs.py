"""How stores are run: by name, ours among them, and on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from penstock.algorithms.bfs import bfs
from penstock.algorithms.pagerank import pagerank
from penstock.dynamic.graph import DynamicGraph
from penstock.errors import OptionError
from penstock.interfaces.bench.dynamic_csr import Csr
from penstock.interfaces.bench.dynamic_stores import (
    ALL_ADDS,
    BaselineMap,
    BaselineVec,
    DegAware,
    Stinger,
    Store,
)
from penstock.interfaces.bench.dynamic_workloads import Requests
from penstock.metrics import clock
from penstock.parallel import Workers
from penstock.types import U8, U64, Array

OURS = "penstock"
CSR = "CSR"
#: What ours is compared with, by the names that users give and pictures show.
RIVALS: dict[str, Callable[..., Store]] = {
    "degaware": DegAware, "baseline_map": BaselineMap, "baseline_vec": BaselineVec,
    "stinger": Stinger,
}  # fmt: skip
NAMES = (OURS, *RIVALS)


def chosen_stores(names: str | None) -> tuple[str, ...]:
    """The stores of a list such as ``"penstock,degaware"``, in their own order; None: all."""
    wanted = [name.strip() for name in (names or ",".join(NAMES)).split(",")]
    for name in wanted:
        if name not in NAMES:
            raise OptionError(f"stores: there is no {name!r}; there are {', '.join(NAMES)}")
    return tuple(name for name in NAMES if name in wanted)


class Analysed:
    """A graph of this library, live or not, and the two algorithms on it."""

    def __init__(self, graph: Any, threads: int | None) -> None:
        self.graph, self.threads = graph, threads

    @property
    def num_edges(self) -> int:
        """Edges there are."""
        return int(self.graph.num_edges)

    def levels(self, source: int, num_ids: int) -> tuple[Array, float]:
        """The level of each id, -1 if it is not reached; and the seconds of the search."""
        begin = clock()
        result = bfs(self.graph, source, threads=self.threads)
        seconds = clock() - begin
        levels: Array = np.full(num_ids, -1, np.int32)
        levels[np.asarray(result.ids).astype(np.int64)] = result.values
        return levels, seconds

    def superstep_seconds(self, steps: int) -> float:
        """The average time of an iteration of PageRank."""
        result = pagerank(self.graph, tol=0, max_iter=steps, threads=self.threads)
        return float(sum(row["seconds"] for row in result.iterations) / steps)


class Ours(Analysed):
    """A live graph, directed unless the options say otherwise; in-lists are made when a search
    first needs them.
    """

    def __init__(
        self, *, unique: bool = True, path: Path | None = None, threads: int | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            DynamicGraph(path, multigraph=not unique, threads=threads, **options), threads
        )

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.graph.internals.nbytes)

    def update(self, src: U64, dst: U64, adds: U8 = ALL_ADDS) -> None:
        """Apply a batch."""
        if len(adds):
            self.graph.update_edges(src, dst, adds.astype(bool))
        else:
            self.graph.add_edges(src, dst)

    def close(self) -> None:
        """Let go of files."""
        self.graph.close()


class Partitioned:
    """Several stores of one kind, each with the vertices whose hash says so, each on a thread of
    its own: what the paper does with processes.
    """

    def __init__(self, make: Callable[[], Store], count: int, workers: Workers) -> None:
        self.parts = [make() for _ in range(count)]
        self._workers = workers

    @property
    def num_edges(self) -> int:
        """Edges there are."""
        return sum(part.num_edges for part in self.parts)

    @property
    def nbytes(self) -> int:
        """Bytes taken."""
        return sum(part.nbytes for part in self.parts)

    def update(self, src: U64, dst: U64, adds: U8 = ALL_ADDS) -> None:
        """Apply a batch; each thread picks its own rows."""

        def apply(_: int, k: int) -> None:
            mine = np.flatnonzero(owner(src, len(self.parts)) == k)
            self.parts[k].update(src[mine], dst[mine], adds[mine] if len(adds) else adds)

        self._workers.run(apply, range(len(self.parts)))


def owner(src: U64, count: int) -> Array:
    """Which part has the edges of each source."""
    mixed = src * np.uint64(0x9E3779B97F4A7C15)
    found: Array = (mixed >> np.uint64(40)) % np.uint64(count)
    return found


Updated = Ours | Partitioned | Store


def timed_batches(store: Updated, requests: Requests, rows: int) -> Iterable[float]:
    """Apply requests; the seconds of each batch."""
    for batch in requests.batches(rows):
        begin = clock()
        store.update(*batch)
        yield clock() - begin


def make_store(
    name: str, *, unique: bool, threads: int, workers: Workers, **options: Any
) -> Ours | Partitioned:
    """A store by its name, on so many threads."""
    if name == OURS:
        return Ours(unique=unique, threads=threads, **options)
    return Partitioned(lambda: RIVALS[name](unique=unique, **options), threads, workers)


def make_single(name: str, *, unique: bool = True, **options: Any) -> Store:
    """One of the others, or plain lists, on one thread."""
    return (Csr if name == CSR else RIVALS[name])(unique=unique, **options)

"""Experiments of the DegAwareRHH paper, all stores side by side: each gives rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.interfaces.api import from_edges
from penstock.interfaces.bench.dynamic_delay import rounds_of
from penstock.interfaces.bench.dynamic_runs import (
    CSR,
    OURS,
    Analysed,
    Ours,
    make_single,
)
from penstock.interfaces.bench.dynamic_stores import DegAware, Store
from penstock.interfaces.bench.dynamic_workbench import DELETIONS, Dynamic
from penstock.interfaces.bench.dynamic_workloads import Requests, middle_source
from penstock.interfaces.bench.suite import Row
from penstock.interfaces.bench.workloads import PAGERANK_ITERATIONS
from penstock.metrics import clock

#: Shares of deletions; without looking for the edge first, the paper only has the first two.
SHARES = (0, 0.05, 0.1, 0.2, 0.4)
#: Points of a line in pictures of probe distances.
POINTS = 100
#: Nanoseconds that an access waits.
LATENCIES = (0, 100, 150, 200, 250, 300, 350)
#: The static store of this library, in memory.
STATIC = "penstock static"


def construction(bench: Dynamic) -> list[Row]:
    """Seconds of each batch, on one thread (Figure 4.6)."""
    requests = bench.requests(DELETIONS)
    names = (*bench.stores, CSR)
    bench.progress.start("construction", len(names) * bench.repeat, "runs")
    rows = []
    for name in names:

        def measure(name: str = name) -> tuple[list[float], int]:
            if name == CSR:
                plain = make_single(CSR)
                return bench.filled(plain, requests), plain.num_edges
            with bench.store(name, threads=1) as store:
                return bench.filled(store, requests), store.num_edges

        seconds, edges = bench.best(measure, lambda found: sum(found[0]))
        for k, each in enumerate(seconds):
            done = min((k + 1) * bench.batch, len(requests))
            rows.append({
                "store": name, "batch": k, "done": done, "requests": done - k * bench.batch,
                "seconds": each, "num_edges": edges,
            })  # fmt: skip
    return rows


def rates(bench: Dynamic) -> list[Row]:
    """Requests a second and bytes of an edge (Figures 4.9 to 4.12)."""
    wanted = [(True, share) for share in SHARES] + [(False, share) for share in SHARES[:2]]
    bench.progress.start("rates", len(wanted) * len(bench.stores) * bench.repeat, "runs")
    rows = []
    for unique, share in wanted:
        requests = bench.requests(share)
        for name in bench.stores:
            row: Row = {"store": name, "unique": unique, "deletions": share}
            rows.append({**row, **_rate(bench, name, requests, unique=unique)})
    return rows


def order(bench: Dynamic) -> list[Row]:
    """Random order against sorted (section 4.12)."""
    bench.progress.start("order", 2 * len(bench.stores) * bench.repeat, "runs")
    orders = {"random": bench.requests(), "sorted": bench.requests().ordered()}
    return [
        {"store": name, "order": kind, **_rate(bench, name, requests)}
        for kind, requests in orders.items()
        for name in bench.stores
    ]


def _rate(bench: Dynamic, name: str, requests: Requests, *, unique: bool = True) -> Row:
    def measure() -> tuple[float, int, int]:
        with bench.store(name, unique=unique) as store:
            seconds = sum(bench.filled(store, requests))
            return seconds, store.num_edges, store.nbytes

    seconds, edges, held = bench.best(measure, lambda found: found[0])
    return {
        "threads": bench.num_threads,
        "requests": len(requests),
        "seconds": seconds,
        "rate": len(requests) / seconds,
        "num_edges": edges,
        "bytes_per_edge": held / max(edges, 1),
    }


# Probe distances


def probes(bench: Dynamic) -> list[Row]:
    """Average distances from home while a graph is made, and of its edge chunks in the end
    (Figures 4.7 and 4.8). DegAwareRHH makes no table anew meanwhile, as in the paper.
    """
    requests = bench.requests(DELETIONS)
    size = max(len(requests) // POINTS, 1)
    bench.progress.start("probes", None, "batches")
    published = DegAware(rehash_every=None)
    rows: list[Row] = []
    done = 0
    for batch in requests.batches(size):
        published.update(*batch)
        done += len(batch[0])
        low, high, _ = published.probe_distances()
        for table, average in (("low-degree", low), ("middle-high-degree", high)):
            rows.append(_probe_row("degaware", table, done, average))
        bench.progress.advance(1)
    means = published.probe_distances()[2]
    counts = np.bincount(means.astype(np.int64))
    rows += [
        {**_probe_row("degaware", "chunks", done, float(k)), "tables": int(count)}
        for k, count in enumerate(counts)
    ]
    if OURS in bench.stores:
        rows += _our_probes(bench, requests, size)
    return rows


def _our_probes(bench: Dynamic, requests: Requests, size: int) -> list[Row]:
    rows: list[Row] = []
    done = 0
    with bench.store(OURS) as store:
        assert isinstance(store, Ours)
        for batch in requests.batches(size):
            store.update(*batch)
            done += len(batch[0])
            for table, found in store.graph.internals.probe_distances().items():
                row = _probe_row(OURS, table, done, found.average)
                rows.append({**row, "worst_average": found.worst_average, "longest": found.most})
            bench.progress.advance(1)
    return rows


def _probe_row(store: str, table: str, done: int, average: float) -> Row:
    """``tables``: how many have such an average or up to one more; ``worst_average``: of one."""
    known = None if np.isnan(average) else average
    row: Row = {"store": store, "table": table, "done": done, "average": known}
    return {**row, "tables": None, "worst_average": None, "longest": None}


# Algorithms


def algorithms(bench: Dynamic) -> list[Row]:
    """BFS and one superstep of PageRank (Figures 4.18 and 4.19): the paper's two on the others, on
    one thread; the library's on ours, on one thread and on all.
    """
    requests = bench.requests()
    source = middle_source(requests)
    bench.progress.start("algorithms", None, "runs")
    rows: list[Row] = []
    for name in (CSR, *(name for name in bench.stores if name != OURS)):
        store = make_single(name)
        bench.filled(store, requests, len(requests))
        rows += _their_algorithms(bench, name, store, source, requests.num_ids)
    if OURS in bench.stores:
        for threads in sorted({1, bench.num_threads}):
            rows += _our_algorithms(bench, requests, source, threads)
    return rows


def _their_algorithms(
    bench: Dynamic, name: str, store: Store, source: int, num_ids: int
) -> list[Row]:
    def search() -> tuple[float, int]:
        begin = clock()
        levels = store.bfs(source, num_ids)
        return clock() - begin, int(np.count_nonzero(levels >= 0))

    def rank() -> tuple[float, int]:
        ranks = store.first_ranks()
        begin = clock()
        for _ in range(PAGERANK_ITERATIONS):
            store.superstep(ranks)
        return (clock() - begin) / PAGERANK_ITERATIONS, store.num_edges

    return [_timed(bench, name, 1, "BFS", search), _timed(bench, name, 1, "PageRank", rank)]


def _our_algorithms(bench: Dynamic, requests: Requests, source: int, threads: int) -> list[Row]:
    rows: list[Row] = []
    with bench.store(OURS, threads=threads) as live:
        assert isinstance(live, Ours)
        bench.filled(live, requests)
        still = Analysed(from_edges(requests.src, requests.dst, threads=threads), threads)
        for name, store in ((OURS, live), (STATIC, still)):

            def search(store: Analysed = store) -> tuple[float, int]:
                levels, seconds = store.levels(source, requests.num_ids)
                return seconds, int(np.count_nonzero(levels >= 0))

            def rank(store: Analysed = store) -> tuple[float, int]:
                return store.superstep_seconds(PAGERANK_ITERATIONS), store.num_edges

            rows.append(_timed(bench, name, threads, "BFS", search))
            rows.append(_timed(bench, name, threads, "PageRank", rank))
    return rows


def _timed(
    bench: Dynamic, store: str, threads: int, name: str, measure: Callable[[], tuple[float, int]]
) -> Row:
    """``touched``: vertices reached, or edges gone over."""
    seconds, touched = bench.best(measure, lambda found: found[0])
    row: Row = {"store": store, "threads": threads, "algorithm": name}
    return {**row, "seconds": seconds, "touched": touched}


# Latency


def latency(bench: Dynamic) -> list[Row]:
    """Requests when each access to another place in memory waits (section 4.10), on one thread.

    The paper delays loads that miss the cache; here, whatever is in the cache, each lookup waits
    once for every table, array, node of a chain or block that it goes to, and not at all for what
    it reads on from there. Ours keeps its lists in plain memory and is left out.
    """
    requests = bench.requests(DELETIONS)
    names = [name for name in bench.stores if name != OURS]
    bench.progress.start("latency", len(names) * len(LATENCIES) * bench.repeat, "runs")
    rows: list[Row] = []
    for name in names:
        for nanoseconds in LATENCIES:

            def measure(name: str = name, nanoseconds: int = nanoseconds) -> tuple[float, int]:
                store: Any = make_single(name)
                store.delay = rounds_of(nanoseconds)
                return sum(bench.filled(store, requests)), store.num_edges

            seconds, edges = bench.best(measure, lambda found: found[0])
            rows.append({
                "store": name, "nanoseconds": nanoseconds, "requests": len(requests),
                "seconds": seconds, "num_edges": edges,
            })  # fmt: skip
    return rows

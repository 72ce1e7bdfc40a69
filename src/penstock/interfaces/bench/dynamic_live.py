"""Experiments on the live graph alone: several streams, durability, real streams, kept answers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from penstock.algorithms.bfs import bfs
from penstock.algorithms.color import color
from penstock.algorithms.connected_components import connected_components
from penstock.algorithms.pagerank import pagerank
from penstock.interfaces.bench.dynamic_replay import STREAMS, replayed
from penstock.interfaces.bench.dynamic_runs import OURS, Ours
from penstock.interfaces.bench.dynamic_workbench import DELETIONS, Dynamic
from penstock.interfaces.bench.dynamic_workloads import Requests, middle_source
from penstock.interfaces.bench.suite import Row
from penstock.metrics import clock
from penstock.types import U64, Array

#: Threads that send requests at once.
STREAM_COUNTS = (1, 2, 4, 8)
#: Rows of a batch.
DURABLE_ROWS = (1_000, 10_000, 100_000, 1_000_000)
#: No more batches than these are sent: each waits for the disk.
MOST_SYNCS = 500
#: Edges that come or go before an answer is asked for again.
CHANGED = 1_000
CHANGES = 10
#: How far ranks may be from the exact ones, the differences summed over all vertices.
PAGERANK_ERROR = 1e-4


def streams(bench: Dynamic) -> list[Row]:
    """One live graph and several streams of requests at once (section 4.6.5)."""
    bench.progress.start("streams", 2 * len(STREAM_COUNTS) * bench.repeat, "runs")
    rows = []
    for share in (0, DELETIONS):
        requests = bench.requests(share)
        for count in STREAM_COUNTS:

            def measure(requests: Requests = requests, count: int = count) -> tuple[float, int]:
                with bench.store(OURS) as store:
                    assert isinstance(store, Ours)
                    seconds = _at_once(store, requests.streams(count), bench.batch)
                    return seconds, store.num_edges

            seconds, edges = bench.best(measure, lambda found: found[0])
            rows.append({
                "streams": count, "deletions": share, "requests": len(requests),
                "seconds": seconds, "rate": len(requests) / seconds, "num_edges": edges,
            })  # fmt: skip
    return rows


def _at_once(store: Ours, parts: list[Requests], rows: int) -> float:
    """Each stream from a thread of its own; the seconds until all are done."""

    def send(part: Requests) -> None:
        for batch in part.batches(rows):
            store.update(*batch)

    with ThreadPoolExecutor(len(parts)) as pool:
        begin = clock()
        for sent in [pool.submit(send, part) for part in parts]:
            sent.result()
        return clock() - begin


def durable(bench: Dynamic) -> list[Row]:
    """Unique insertion into a graph on disk: by size of a batch, each synced before it is
    acknowledged; small batches from several streams, which share syncs; and with no sync at all.
    """
    every = bench.requests()
    sizes = [rows for rows in DURABLE_ROWS if rows <= max(len(every), DURABLE_ROWS[0])]
    wanted = [(rows, 1, "batch") for rows in sizes]
    wanted += [(sizes[0], count, "batch") for count in STREAM_COUNTS[1:]]
    wanted += [(rows, 1, "never") for rows in sizes]
    bench.progress.start("durable", len(wanted) * bench.repeat, "runs")
    found = []
    for rows, count, sync in wanted:
        most = min(len(every), rows * MOST_SYNCS)
        requests = Requests(every.src[:most], every.dst[:most], every.adds, every.num_ids)

        def measure(
            requests: Requests = requests, rows: int = rows, count: int = count, sync: str = sync
        ) -> tuple[float, int]:
            with bench.durable(sync=sync) as store:
                return _at_once(store, requests.streams(count), rows), store.num_edges

        seconds, edges = bench.best(measure, lambda found: found[0])
        found.append({
            "batch": rows, "streams": count, "sync": sync, "requests": most, "seconds": seconds,
            "rate": most / seconds, "num_edges": edges,
        })  # fmt: skip
    return found


def replay(bench: Dynamic) -> list[Row]:
    """Real streams of edges, where their files are given (section 4.6.5)."""
    bench.progress.start("replay", None, "runs")
    rows: list[Row] = []
    for stream in STREAMS:
        if bench.data is not None and (bench.data / stream.path).exists():
            for unique in stream.ways:
                rows += replayed(bench, stream, unique=unique)
    return rows


# Answers that are kept

#: How an algorithm is told to keep its answer, and how the answer is computed anew.
Kept = tuple[dict[str, Any], Callable[[Any], object]]


def kept_algorithms(source: int) -> dict[str, Kept]:
    """By the name under which a live graph keeps them."""
    return {
        "color": ({}, lambda graph: color(graph, strategy="id")),
        "connected_components": ({}, connected_components),
        "bfs": ({"source": source}, lambda graph: bfs(graph, source)),
        "pagerank": ({"tol": PAGERANK_ERROR}, _ranks_anew),
    }


def _ranks_anew(graph: Any) -> object:
    """Ranks of the same quality: a step that changes them by d leaves d * alpha / (1 - alpha)."""
    change = PAGERANK_ERROR * 0.15 / 0.85
    return pagerank(graph, tol=change, max_iter=1000)


def maintained(bench: Dynamic) -> list[Row]:
    """Edges come, then go, a thousand at a time: how long a batch takes with an answer that
    follows, against computing it anew (section 4.8 has the colouring).
    """
    requests = bench.requests()
    algorithms = kept_algorithms(middle_source(requests))
    bench.progress.start("maintained", len(algorithms), "algorithms")
    forward = requests.src < requests.dst
    pairs = np.unique(requests.src[forward] << np.uint64(32) | requests.dst[forward])
    pairs = np.random.default_rng(1).permutation(pairs)
    few = max(min(CHANGED, len(pairs) // (2 * CHANGES)), 1)
    rows: list[Row] = []
    for name, kept in algorithms.items():
        with bench.store(OURS, directed=False) as store:
            assert isinstance(store, Ours)
            store.graph.add_edges(*_ends(pairs[few * CHANGES :]))
            parts = [_ends(pairs[k * few : (k + 1) * few]) for k in range(CHANGES)]
            rows += followed(store.graph, name, kept, parts, bench.repeat)
        bench.progress.advance(1)
    return rows


def followed(
    graph: Any, name: str, kept: Kept, parts: list[tuple[Array, Array]], repeat: int
) -> list[Row]:
    """Add parts that are not there, one after another, and delete them again; the seconds in the
    middle that a batch takes and that the answer takes to follow, and those of computing it anew,
    which the batch has to be applied for, too.
    """
    options, again = kept
    made = graph.maintain(name, **options)
    rows: list[Row] = []
    for kind, change in (("inserts", graph.add_edges), ("deletes", graph.delete_edges)):
        seconds, follows = [], []
        for part in parts:
            seconds.append(_spent(change, *part))
            follows.append(made.facts["seconds"])
        anew = min(_spent(again, graph) for _ in range(repeat))
        middle, following = (sorted(each)[len(parts) // 2] for each in (seconds, follows))
        rows.append({
            "algorithm": name, "changes": kind, "edges": len(parts[0][0]), "seconds": middle,
            "follows": following, "slowest": max(follows), "recomputed": anew,
            "times": anew / following,
        })  # fmt: skip
    del graph.maintained[name]
    return rows


def _spent(function: Callable[..., object], *arguments: Any) -> float:
    begin = clock()
    function(*arguments)
    return clock() - begin


def _ends(pairs: U64) -> tuple[Array, Array]:
    return pairs >> np.uint64(32), pairs & np.uint64(0xFFFFFFFF)

"""GStream's experiments, and one of Garaph's: each a function from a workbench to rows.

A row is a dict of plain values; nothing here draws or prints. Times are the least of the
workbench's repeats, without loading.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from penstock.engine.result import Result
from penstock.interfaces.bench.suite import Row
from penstock.interfaces.bench.workloads import (
    Runner,
    Workbench,
    components,
    levels_program,
    num_pages,
    read_rate,
    sssp,
    ten_iterations,
)
from penstock.store.graph import Graph
from penstock.store.paged import PagedGraph
from penstock.stream.cache import PageCache
from penstock.stream.order import pages_of, visiting_order
from penstock.stream.policy import POLICIES
from penstock.types import I64, Array, Direction

#: Each page comes from storage whenever it is needed.
STREAMED: dict[str, Any] = {"load": False, "cache_pages": 0}
STREAM_COUNTS = (1, 2, 4, 8, 16, 32)
#: Cached pages over all pages.
CACHE_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
#: GStream's host buffer for graphs that do not fit.
BUFFER_SHARE = 0.2
#: As many as in GStream's picture of the timeline.
TIMELINE_STREAMS = 16
TIMELINE_ITERATIONS = 3


def pages(bench: Workbench) -> list[Row]:
    """Pages copied in each level of BFS and each iteration of PageRank (GStream's Figure 5)."""
    bench.progress.start("pages", 2, "runs")
    rows = []
    for name, (call, direction) in bench.algorithms.items():
        result = call(**STREAMED)
        bench.progress.advance(1)
        rows += [
            {
                "algorithm": name,
                "step": step["step"],
                "pages_copied": step["pages_read"] + step["cache_hits"],
                "pages": num_pages(bench.graph, direction),
                "bytes_read": step["bytes_read"],
                "edges": step["edges"],
            }
            for step in result.iterations
        ]
    return rows


def storage(bench: Workbench) -> list[Row]:
    """Where the topology is, and how values move (GStream's Figure 13).

    BFS is a vertex program here, which exists in both forms. ``limit_seconds`` is what plain reads
    of the same bytes would take.
    """
    places: list[tuple[str, PagedGraph, dict[str, Any]]] = [
        ("memory", bench.graph, {"load": True}),
        ("1 stripe", bench.graph, STREAMED),
        ("2 stripes", bench.striped, STREAMED),
    ]
    bench.progress.start("storage", len(places) * 4 * bench.repeat, "runs")
    rows = []
    for place, graph, options in places:
        rate = read_rate(graph, "in", bench.threads)
        for name, function in (("BFS", levels_program), ("PageRank", ten_iterations)):
            for strategy in ("pull", "push"):
                call = bench.runner(function, graph, strategy=strategy)
                call(**options, max_iter=1)  # compiles
                seconds, result = bench.best(call, **options)
                streamed = options is STREAMED
                rows.append(
                    {
                        "algorithm": name,
                        "storage": place,
                        "strategy": strategy,
                        "seconds": seconds,
                        "bytes_read": result.stats["bytes_read"] if streamed else 0,
                        "limit_seconds": result.stats["bytes_read"] / rate if streamed else None,
                        "read_bytes_per_second": rate,
                    }
                )
    return rows


def streams(bench: Workbench) -> list[Row]:
    """The number of streams (GStream's Figure 14)."""
    bench.progress.start("streams", 2 * len(STREAM_COUNTS) * bench.repeat, "runs")
    rows = []
    for name, (call, _) in bench.algorithms.items():
        for count in STREAM_COUNTS:
            seconds, result = bench.best(call, streams=count, **STREAMED)
            rows.append(
                {
                    "algorithm": name,
                    "streams": count,
                    "streams_used": result.stats["streams"],
                    "seconds": seconds,
                    **_where_time_went(result),
                }
            )
    return rows


def cache(bench: Workbench) -> list[Row]:
    """The size of the page cache against time and hit rate, for each policy (GStream's Figure 15).

    The engine visits cached pages first. What LRU, GStream's policy, would hit if pages were
    visited in their order is found by replaying the pages of a run; such rows have no seconds.
    """
    runs = 2 * len(CACHE_SHARES) * len(POLICIES) * bench.repeat
    bench.progress.start("cache", runs, "runs")
    rows = []
    for name, (call, direction) in bench.algorithms.items():
        every = num_pages(bench.graph, direction)
        steps = steps_of(call(**STREAMED), bench.graph, direction)
        for share in CACHE_SHARES:
            size = round(share * every)
            common = {"algorithm": name, "cache_pages": size, "cache_share": size / every}
            for policy in POLICIES:
                seconds, result = bench.best(call, load=False, cache_pages=size, cache=policy)
                hits = [step["cache_hits"] for step in result.iterations]
                visits = [step["pages_read"] + step["cache_hits"] for step in result.iterations]
                rows.append(
                    {
                        **common,
                        "policy": policy,
                        "order": "cached first",
                        "seconds": seconds,
                        "bytes_read": result.stats["bytes_read"],
                        **_hit_rates(hits, visits),
                    }
                )
            hits = replay(bench.graph.page_table(direction), steps, size, "lru", ordered=False)
            rows.append(
                {
                    **common,
                    "policy": "lru",
                    "order": "by number",
                    "seconds": None,
                    "bytes_read": None,
                    **_hit_rates(hits, [len(step) for step in steps]),
                }
            )
    return rows


def steps_of(result: Result, graph: Graph, direction: Direction) -> list[I64]:
    """The pages that each step of a run visited: of the frontier for levels, else all."""
    table = graph.page_table(direction)
    if result.name != "level":
        return [np.flatnonzero(table["num_edges"])] * len(result.iterations)
    order = graph.vid_of_rank
    levels: Array = result.values
    if order is not None:
        levels = np.empty_like(result.values)
        levels[order] = result.values
    return [
        pages_of(table, np.flatnonzero(levels == step).astype(np.uint32))
        for step in range(len(result.iterations))
    ]


def replay(
    table: Array, steps: list[I64], cache_pages: int, policy: str, *, ordered: bool
) -> list[int]:
    """Hits in each step if its pages go through a cache one after another; ``ordered``: in the
    engine's order, cached pages first, instead of by number.
    """
    cached = PageCache(cache_pages, POLICIES[policy])
    found = []
    for step in steps:
        sequence = visiting_order(table, step, cached) if ordered else step.tolist()
        hits = 0
        for page in sequence:
            if cached.acquire(page) is not None:
                hits += 1
                cached.release(page)
            else:
                # What is in the buffer does not matter.
                cached.offer(page, np.empty(0, np.uint8), None)
        found.append(hits)
    return found


def _hit_rates(hits: list[int], visits: list[int]) -> Row:
    """Over the whole run, and from the second step on."""
    return {
        "hit_rate": sum(hits) / max(sum(visits), 1),
        "hit_rate_later": sum(hits[1:]) / max(sum(visits[1:]), 1),
    }


def buffer(bench: Workbench) -> list[Row]:
    """A host buffer of 20% of the graph, as GStream had for RMAT31 and RMAT32, against all of it
    in memory and none. What is loaded once is counted as read; BFS in memory loads both directions.
    """
    bench.progress.start("buffer", 6 * bench.repeat, "runs")
    rows = []
    for name, (call, direction) in bench.algorithms.items():
        every = num_pages(bench.graph, direction)
        share = round(BUFFER_SHARE * every)
        for kind, options in (
            ("all", {"load": True}),
            (f"{BUFFER_SHARE:.0%}", {"load": False, "cache_pages": share}),
            ("none", STREAMED),
        ):
            # A resident graph left by an earlier run would hide what loading reads.
            bench.graph.kept.clear()
            read = call(**options).stats["bytes_read"]
            seconds, result = bench.best(call, **options)
            rows.append(
                {
                    "algorithm": name,
                    "buffer": kind,
                    "seconds": seconds,
                    "bytes_read": read,
                    "graph_bytes": every * bench.graph.catalog.page_bytes,
                    **_where_time_went(result),
                }
            )
    return rows


def timeline(bench: Workbench) -> list[Row]:
    """What each stream does when (GStream's Figure 4); the trace files are named in the rows."""
    bench.progress.start("timeline", 2, "runs")
    rows = []
    for name, (call, _) in bench.algorithms.items():
        path = (bench.traces or bench.folder) / f"timeline-{name.lower()}.json"
        few = {"max_iter": TIMELINE_ITERATIONS} if name == "PageRank" else {}
        result = call(trace=path, overwrite=True, streams=TIMELINE_STREAMS, **few, **STREAMED)
        bench.progress.advance(1)
        rows.append(
            {
                "algorithm": name,
                "streams": result.stats["streams"],
                "iterations": result.stats["iterations"],
                "seconds": result.stats["seconds"],
                **_where_time_went(result),
                "events": _count_events(path),
                "trace": str(path),
            }
        )
    return rows


def _count_events(path: Path) -> int:
    events = json.loads(path.read_text())["traceEvents"]
    return sum(event["ph"] == "X" for event in events)


def _where_time_went(result: Result) -> Row:
    """Seconds summed over streams."""
    names = ("io_seconds", "decode_seconds", "kernel_seconds")
    return {name: result.stats[name] for name in names}


def modes(bench: Workbench) -> list[Row]:
    """Each iteration pulled and notified, and what the engine chose (Garaph's Figure 10).

    ``chosen`` is what was done: while all vertices are active, the engine pulls in any case.
    """
    programs: list[tuple[str, Runner]] = [("SSSP", sssp), ("CC", components)]
    strategies = ("pull", "notify-pull", "auto")
    bench.progress.start("modes", len(programs) * len(strategies) * (bench.repeat + 1), "runs")
    rows = []
    for name, function in programs:
        for strategy in strategies:
            call = bench.runner(function, bench.undirected, strategy=strategy)
            # The first run compiles and loads.
            tables = [call().iterations for _ in range(bench.repeat + 1)][1:]
            bench.progress.advance(bench.repeat + 1)
            for same in zip(*tables, strict=True):
                step = same[0]
                rows.append(
                    {
                        "program": name,
                        "strategy": strategy,
                        "chosen": step["strategy"],
                        "step": step["step"],
                        "seconds": min(each["seconds"] for each in same),
                        "active_share": step["active_share"],
                        "edges": step["edges"],
                    }
                )
    return rows

"""Runs over several hosts against one, with the same number of threads in all.

    python benchmarks/hosts.py --scale 22 --ranks 2,4

Ranks are processes of this machine, kept from call to call; one host is this process, with as many
threads as there are processors. Both make the same calls in turns, and the least of ``--repeat``
times counts. Times are those of whole calls, results included. The graph is a directed RMAT graph
with weights from 1 to 255.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import table, work_folder

import penstock as ps

Call = Callable[..., Any]


def make(folder: Path, scale: int) -> ps.Graph:
    """The graph, from an earlier time or new."""
    path = folder / f"weighted{scale}.penstock"
    if not path.exists():
        plain = ps.generate("rmat", folder / "plain.penstock", scale=scale, overwrite=True)
        src, dst = plain.to_edges()[:2]
        weights = np.random.default_rng(1).integers(1, 256, len(src)).astype(np.float32)
        ps.build((src, dst, weights), path, num_vertices=1 << scale)
    return ps.open(path)


def calls(graph: ps.Graph) -> dict[str, Call]:
    """What is measured: each takes ``hosts`` and other options."""
    degrees = np.asarray(graph.degrees("out"))
    rng = np.random.default_rng(7)
    source = int(rng.choice(np.flatnonzero(degrees > 0)))
    assert graph.vid_of_rank is not None
    vertex = int(graph.ids[np.flatnonzero(np.asarray(graph.vid_of_rank) == source)[0]])
    pagerank = partial(ps.pagerank, graph, tol=0, max_iter=10)
    return {
        "pagerank": pagerank,
        "pagerank, streamed": partial(pagerank, load=False),
        "bfs": partial(ps.bfs, graph, vertex),
        "bfs, streamed": partial(ps.bfs, graph, vertex, load=False),
        "components": partial(ps.connected_components, graph),
        "components, streamed": partial(ps.connected_components, graph, load=False),
        "sssp": partial(ps.sssp, graph, vertex),
    }


def seconds(call: Call) -> tuple[float, Any]:
    """The time of a call with its values, and its result."""
    begin = time.perf_counter()
    result = call()
    result.values  # noqa: B018 - may be computed when it is asked for
    return time.perf_counter() - begin, result


def compare(name: str, call: Call, crews: dict[int, ps.Hosts], repeat: int) -> list[dict[str, Any]]:
    """A row for each number of ranks."""
    processors = len(os.sched_getaffinity(0))
    alone = partial(call, threads=processors)
    _, expected = seconds(alone)
    best = {0: np.inf, **dict.fromkeys(crews, np.inf)}
    stats: dict[int, Any] = {}
    for _ in range(repeat + 1):  # the first loads and compiles
        spent, _ = seconds(alone)
        best[0] = min(best[0], spent)
        for ranks, hosts in crews.items():
            spent, result = seconds(partial(call, hosts=hosts))
            np.testing.assert_array_equal(result.values, expected.values)
            if ranks not in stats:
                stats[ranks] = {}
                continue
            if spent < best[ranks]:
                best[ranks], stats[ranks] = spent, result.stats
    return [
        {
            "call": name, "ranks": ranks, "one_host_s": best[0], "hosts_s": best[ranks],
            "ratio": best[ranks] / best[0], "stats": stats[ranks],
        }
        for ranks in crews
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", help="calls, separated by semicolons")
    parser.add_argument("--folder", help="where graphs are kept; a temporary folder by default")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with work_folder(given.folder) as folder:
        graph = make(folder, given.scale)
        chosen = calls(graph)
        if given.only:
            chosen = {name: chosen[name] for name in given.only.split(";")}
        crews: dict[int, ps.Hosts] = {}
        try:
            for text in given.ranks.split(","):
                ranks = int(text)
                threads = max(1, len(os.sched_getaffinity(0)) // ranks)
                crews[ranks] = ps.Hosts(ranks, threads=threads)
            rows = [
                row
                for name, call in chosen.items()
                for row in compare(name, call, crews, given.repeat)
            ]
        finally:
            for hosts in crews.values():
                hosts.close()
    if given.json:
        print(json.dumps(rows, default=str))
        return
    head = ("call", "ranks", "one host, s", "hosts, s", "ratio")
    table(
        [head] + [(r["call"], r["ranks"], r["one_host_s"], r["hosts_s"], r["ratio"]) for r in rows]
    )


if __name__ == "__main__":
    main()

"""A graph that changes: how fast, how large, how good to analyse, and against what else there is.

    python benchmarks/dynamic.py insert                          # kron20, 33.5 M requests
    python benchmarks/dynamic.py insert --kind reverse           # in-lists from the beginning
    python benchmarks/dynamic.py insert --kind undirected        # 16.8 M edges, both ways in lists
    python benchmarks/dynamic.py durable [--kind reverse]
    python benchmarks/dynamic.py capped                          # 805 M requests; needs root
    python benchmarks/dynamic.py maintained --scale 22
    python benchmarks/dynamic.py peers --scale 16

Requests are both directions of RMAT edges with names at random, in random order, a million at a
time, into a graph that is not told how large it becomes. ``insert`` searches once before the last
batch, which makes the in-lists of a directed graph, and right after it runs BFS and PageRank on the
same instance and, in turns, on a static graph in memory of the same edges.
``capped`` works in a process of its own in a cgroup (v1) with that much memory, the page cache
included. ``peers`` runs what is installed of SQLite, DuckDB, NetworKit, python-graphblas and
NetworkX. Rates are million requests a second; the best of several.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import checked, drop_caches, folder_bytes, run, table, work_folder
from dynamic_peers import PEERS, version_of

import penstock as ps
from penstock.config import format_bytes, parse_bytes, thread_count
from penstock.ingest.generate import rmat
from penstock.interfaces.bench.dynamic_live import CHANGED, CHANGES, followed, kept_algorithms
from penstock.interfaces.bench.dynamic_runs import Ours, Partitioned, timed_batches
from penstock.interfaces.bench.dynamic_stores import DegAware
from penstock.interfaces.bench.dynamic_workloads import Requests, middle_source, rmat_requests
from penstock.interfaces.bench.workloads import SEED
from penstock.parallel import Workers

BATCH = 1_000_000
SHARES = (0.05, 0.1, 0.2, 0.4)
SEARCHES = 4


def warm() -> None:
    """Compile everything that is timed."""
    for requests in (rmat_requests(8), rmat_requests(8, 0.2)):
        for options in KINDS.values():
            store = Ours(**options)
            store.update(requests.src, requests.dst, requests.adds)
            directed = store.graph.directed
            still = ps.from_edges(requests.src, requests.dst, directed=directed)
            for graph in (store.graph, still):
                ps.bfs(graph, int(requests.src[0]))
                ps.pagerank(graph, tol=0, max_iter=1)
        DegAware().update(requests.src, requests.dst, requests.adds)


def rate_of(make: Callable[[], Any], requests: Requests, repeat: int, rows: int = BATCH) -> float:
    """Million requests a second, the best of several."""
    times = []
    for _ in range(repeat):
        store = make()
        times.append(sum(timed_batches(store, requests, rows)))
        del store
    return len(requests) / min(times) / 1e6


# Insertion, and algorithms on what was inserted


#: A directed graph as users make it; one with in-lists from the beginning; an undirected one, which
#: is asked for each edge once and has it in two lists.
KINDS: dict[str, dict[str, Any]] = {
    "directed": {}, "reverse": {"reverse": True}, "undirected": {"directed": False},
}  # fmt: skip


def _asked(arguments: argparse.Namespace, share: float = 0) -> Requests:
    requests = rmat_requests(arguments.scale, share, thread_count())
    return requests.one_way() if arguments.kind == "undirected" else requests


def _some(requests: Requests, rows: slice) -> Requests:
    return replace(
        requests, src=requests.src[rows], dst=requests.dst[rows], adds=requests.adds[rows]
    )


def insert(folder: Path, arguments: argparse.Namespace) -> None:
    """Unique insertion; the same instance analysed; deletions; bulk load."""
    warm()
    requests = _asked(arguments)
    # An undirected edge is what the thesis has two requests for.
    ways = 2 if arguments.kind == "undirected" else 1
    print(f"kron{arguments.scale}, {arguments.kind}: {ways * len(requests):,} requests")
    rates, algorithms = [], _Algorithms(requests, directed=arguments.kind != "undirected")

    def make() -> Ours:
        return Ours(**KINDS[arguments.kind])

    last = len(requests) - BATCH // ways
    firsts, sizes = [], []
    for _ in range(arguments.repeat):
        live = make()
        seconds = sum(timed_batches(live, _some(requests, slice(last)), BATCH // ways))
        rates.append(ways * last / seconds / 1e6)
        sizes.append(live.nbytes / live.num_edges / (1 if arguments.kind == "directed" else 2))
        firsts.append(algorithms.search_first(live))
        sum(timed_batches(live, _some(requests, slice(last, None)), BATCH // ways))
        algorithms.run(live)
    kept_up = arguments.kind == "reverse"
    rows: list[tuple[object, ...]] = [
        ("", "measured", "must be", "aim"),
        ("unique insertion, M/s", max(rates), ">= 7" if kept_up else ">= 12", "8, 20"),
        ("bytes of an edge in one direction", max(sizes), "<= 8", ""),
        ("  and after searches, two directions", live.nbytes / live.num_edges / 2, "<= 8", ""),
        ("first search, seconds (a directed graph makes its in-lists)", min(firsts), "", ""),
        *algorithms.rows(),
    ]
    for name, found in live.graph.internals.probe_distances().items():
        rows.append((f"probe distance, {name}", found.average, "< 13", ""))
        rows.append((f"  worst table ({found.entries:,} entries)", found.worst_average, "< 13", ""))
    del live
    bulk = rate_of(make, requests, arguments.repeat, len(requests))
    rows.append(("bulk load, M/s", ways * bulk, ">= 18", ""))
    workers = Workers(thread_count())
    published = rate_of(lambda: Partitioned(DegAware, workers.count, workers), requests, 1)
    rows.append(("DegAwareRHH as published, out-lists only, M/s", published, "", ""))
    for share in SHARES:
        mixed = _asked(arguments, share)
        rate = ways * rate_of(make, mixed, arguments.repeat)
        rows.append((f"with {share:.0%} deletions, M/s", rate, ">= 7", ""))
        del mixed
    table(rows)


class _Algorithms:
    """BFS and PageRank on graphs right after their last batch, and on a static one in turns."""

    def __init__(self, requests: Requests, *, directed: bool) -> None:
        begin = time.perf_counter()
        self._still = ps.from_edges(requests.src, requests.dst, directed=directed)
        self._built = time.perf_counter() - begin
        sources = np.unique(requests.src)
        self._sources = sources[np.linspace(0, len(sources) - 1, SEARCHES).astype(int)]
        self._times: dict[tuple[str, str], list[float]] = {}
        self._answers: dict[str, list[list[int]]] = {}

    def search_first(self, live: Ours) -> float:
        """Seconds of the first search on a graph."""
        begin = time.perf_counter()
        ps.bfs(live.graph, int(self._sources[0]))
        return time.perf_counter() - begin

    def run(self, live: Ours) -> None:
        """Once on a graph that has just changed, and then once more."""
        assert self._still.num_edges == live.num_edges
        for state in ("live", "live again"):
            for name, function in (("BFS", self._search), ("PageRank", self._rank)):
                for which, graph in ((state, live.graph), ("static", self._still)):
                    begin = time.perf_counter()
                    answer = function(graph)
                    seconds = time.perf_counter() - begin
                    self._times.setdefault((name, which), []).append(seconds)
                    assert answer == self._answers.setdefault(name, [answer])[0]

    def _search(self, graph: Any) -> list[int]:
        return [int((ps.bfs(graph, int(s)).values >= 0).sum()) for s in self._sources]

    def _rank(self, graph: Any) -> list[int]:
        return [len(ps.pagerank(graph, tol=0, max_iter=10).values)]

    def rows(self) -> list[tuple[object, ...]]:
        """The ratios of the best times."""
        best = {key: min(times) for key, times in self._times.items()}
        rows: list[tuple[object, ...]] = []
        for name, what, must, aim in (
            ("BFS", f"BFS x {SEARCHES}", "<= 2", "1.3"),
            ("PageRank", "PageRank x 10", "<= 3", "1.5"),
        ):
            still = best[name, "static"]
            rows += [
                (
                    f"{what} from the last batch on, of static",
                    best[name, "live"] / still,
                    must,
                    aim,
                ),
                ("  and again", best[name, "live again"] / still, "", ""),
                ("  static, seconds", still, "", ""),
            ]
        return [*rows, ("  static from the same edges, seconds", self._built, "", "")]


# Durable


def durable(folder: Path, arguments: argparse.Namespace) -> None:
    """Synced before acknowledged, beside SQLite and DuckDB on fewer requests."""
    warm()
    requests = rmat_requests(arguments.scale, threads=thread_count())
    rates = []
    for _ in range(arguments.repeat):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            store = Ours(path=Path(place) / "live", **KINDS[arguments.kind])
            rates.append(len(requests) / sum(timed_batches(store, requests, BATCH)) / 1e6)
            store.close()
    must = ">= 4.5" if arguments.kind == "reverse" else ">= 7"
    table([
        ("", "measured", "must be", "aim"),
        (f"durable insertion, {arguments.kind}, M/s", max(rates), must, "8"),
    ])  # fmt: skip


# Out of core


def capped(folder: Path, arguments: argparse.Namespace) -> None:
    """Unique insertion into a store larger than the memory of its process."""
    cap = parse_bytes(arguments.cap, "cap")
    target = folder / "capped"
    drop_caches()
    size = ["--scale", str(arguments.scale), "--edge-factor", str(arguments.edge_factor)]
    command = [sys.executable, __file__, "--child", str(target), *size]
    warm()
    result = run(command, cap=cap, watch=target)
    answer: Any = checked(result)
    size = folder_bytes(target)
    table([
        ("", "measured", "must be"),
        ("unique insertion, M/s", answer["requests"] / answer["seconds"] / 1e6, ">= 0.4"),
        ("store on disk, of the cap", size / cap, ">= 2.6"),
        ("the same as lists in memory, of the cap", _live_bytes(answer["num_edges"]) / cap, ""),
        ("store", format_bytes(size), ""),
        ("cap", format_bytes(cap), ""),
        ("most memory with page cache", format_bytes(result.cgroup_peak_bytes or 0), "<= cap"),
        ("requests", f"{answer['requests']:,}", ""),
        ("edges", f"{answer['num_edges']:,}", ""),
        ("seconds", answer["seconds"], ""),
    ])  # fmt: skip
    run(["rm", "-rf", str(target)])


def _live_bytes(num_edges: int) -> float:
    """What so many edges take in a graph without a directory, going by a smaller one."""
    small, store = rmat_requests(18), Ours()
    store.update(small.src, small.dst)
    return num_edges * store.nbytes / store.num_edges


def _child(path: str, scale: int, edge_factor: int) -> None:
    """In the capped process: both directions of half a million edges are a batch, shuffled."""
    graph = ps.DynamicGraph(path)
    generator = np.random.default_rng(SEED)
    requests, seconds = 0, 0.0
    for chunk in rmat(scale, edge_factor, seed=SEED, chunk_rows=BATCH // 2).chunks(
        lambda amount: None
    ):
        order = generator.permutation(2 * len(chunk))
        src = np.concatenate([chunk.src, chunk.dst])[order]  # type: ignore[list-item]
        dst = np.concatenate([chunk.dst, chunk.src])[order]  # type: ignore[list-item]
        begin = time.perf_counter()
        graph.add_edges(src, dst)
        seconds += time.perf_counter() - begin
        requests += len(src)
        print(f"{requests / 1e6:.0f} M, {requests / seconds / 1e6:.2f} M/s", file=sys.stderr)
    begin = time.perf_counter()
    graph.compact()
    seconds += time.perf_counter() - begin
    edges = graph.num_edges
    graph.close()
    print(json.dumps({"requests": requests, "seconds": seconds, "num_edges": edges}))


# Answers that are kept


def maintained(folder: Path, arguments: argparse.Namespace) -> None:
    """Batches of a thousand edges with an answer that follows, against computing it anew."""
    requests = rmat_requests(arguments.scale, threads=thread_count())
    source = middle_source(requests)
    forward = requests.src < requests.dst
    pairs = np.unique(requests.src[forward] << np.uint64(32) | requests.dst[forward])
    del requests, forward
    pairs = np.random.default_rng(1).permutation(pairs)
    src, dst = pairs >> np.uint64(32), pairs & np.uint64(0xFFFFFFFF)
    graph = ps.DynamicGraph(directed=False)
    begin = time.perf_counter()
    held = CHANGED * CHANGES
    graph.add_edges(src[held:], dst[held:])
    print(f"{graph.num_edges:,} edges in {time.perf_counter() - begin:.1f} s", file=sys.stderr)
    parts = [(src[k : k + CHANGED], dst[k : k + CHANGED]) for k in range(0, held, CHANGED)]
    rows: list[tuple[object, ...]] = [
        ("algorithm", "1,000", "batch, ms", "of it", "slowest", "anew", "times", "must be"),
    ]
    for name, kept in kept_algorithms(source).items():
        followed(graph, name, kept, parts[:2], 1)
        for row in followed(graph, name, kept, parts, arguments.repeat):
            times = [1e3 * row[key] for key in ("seconds", "follows", "slowest", "recomputed")]
            rows.append((name, row["changes"], *times, row["times"], ">= 20"))
    table(rows)


# Peers


def peers(folder: Path, arguments: argparse.Namespace) -> None:
    """The same requests into what else is installed."""
    warm()
    requests = rmat_requests(arguments.scale, threads=thread_count())
    expected = len(np.unique(requests.src << np.uint64(32) | requests.dst))
    ours = rate_of(Ours, requests, arguments.repeat)
    rows: list[tuple[object, ...]] = [("", "version", "M/s", "of ours")]
    rows.append(("penstock", ps.__version__, ours, 1.0))
    workers = Workers(thread_count())
    published = rate_of(lambda: Partitioned(DegAware, workers.count, workers), requests, 1)
    rows.append(("DegAwareRHH as published", "", published, published / ours))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        store = Ours(path=Path(place) / "live")
        rate = len(requests) / sum(timed_batches(store, requests, BATCH)) / 1e6
        store.close()
    rows.append(("penstock, durable", ps.__version__, rate, rate / ours))
    for name, function in PEERS.items():
        version = version_of(name)
        if version is None:
            rows.append((name, "not installed", "", ""))
            continue
        with tempfile.TemporaryDirectory(dir=folder) as place:
            seconds, edges = function(requests, BATCH, Path(place))
        assert edges == expected, f"{name}: {edges:,} edges, not {expected:,}"
        rate = len(requests) / seconds / 1e6
        rows.append((name, version, rate, rate / ours))
    print(f"kron{arguments.scale}: {len(requests):,} requests, {expected:,} edges")
    table(rows)


WHAT = {
    "insert": insert, "durable": durable, "capped": capped, "maintained": maintained,
    "peers": peers,
}  # fmt: skip
SCALES = {"insert": 20, "durable": 20, "capped": 22, "maintained": 22, "peers": 16}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "what", nargs="*", choices=[*WHAT, []], help="some of them; all unless given"
    )
    parser.add_argument("--scale", type=int, help="2 to this many vertices; each has its own")
    parser.add_argument(
        "--kind", choices=list(KINDS), default="directed", help="of insert, durable"
    )
    parser.add_argument("--edge-factor", type=int, default=96, help="of capped")
    parser.add_argument("--cap", default="560MiB", help="of capped")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", help="where to work; a temporary folder unless given")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _child(arguments.child, arguments.scale, arguments.edge_factor)
        return
    with work_folder(arguments.folder) as folder:
        for name in arguments.what or WHAT:
            chosen = argparse.Namespace(**vars(arguments))
            chosen.scale = arguments.scale or SCALES[name]
            print(f"\n{name}")
            WHAT[name](folder, chosen)


if __name__ == "__main__":
    main()

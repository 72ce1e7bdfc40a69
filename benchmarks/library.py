"""Every algorithm of the library: in memory against peers, and streamed under a small budget.

    python benchmarks/library.py --gapbs DIR peers --graph kron20
    python benchmarks/library.py --gapbs DIR streamed --graph kron22

DIR holds the binaries of the GAP Benchmark Suite (``converter``, ``bc``, ``tc``). ``peers`` times
whole calls of the Python functions on graphs that are in memory already, against igraph, SciPy,
NetworKit and GAPBS where they have the algorithm and are installed; smallest of several calls in
turns. ``streamed`` gives each algorithm its state and a quarter of the topology, and compares the
bytes it reads with what its card allows, and its time with that in memory and with the time that
the disk needs for the bytes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import table, work_folder
from engine import gapbs, make

import penstock as ps
from penstock import algorithms
from penstock.engine.counts import counts_of
from penstock.engine.measuring import measure_disk
from penstock.engine.sizes import list_bytes

Call = Callable[[], object]
#: Peers that take longer than this are timed once.
LONG = 5.0


class Graphs:
    """The graphs of a benchmark, made when they are needed."""

    def __init__(self, folder: Path, binaries: Path, name: str) -> None:
        self.folder, self.binaries, self.name = folder, binaries, name
        self._open: dict[str, ps.Graph] = {}

    def __call__(self, kind: str) -> ps.Graph:
        """``plain``, ``weighted`` (both undirected) or ``directed``."""
        if kind not in self._open:
            if kind == "directed":
                path = self.folder / f"{self.name}d.penstock"
                scale = int(self.name.removeprefix("kron"))
                made = ps.open(path) if path.exists() else ps.generate("rmat", path, scale=scale)
            else:
                _, made = make(self.folder, self.binaries, self.name, weighted=kind == "weighted")
            self._open[kind] = made
        return self._open[kind]


def sources(graph: ps.Graph, count: int) -> list[int]:
    """The ids of some vertices that have edges."""
    degrees = np.asarray(graph.degrees("out"))
    chosen = np.random.default_rng(1).choice(np.flatnonzero(degrees), count, replace=False)
    return graph.ids_by_vid()[chosen].tolist()


def workloads(graphs: Graphs) -> list[tuple[str, str, dict[str, Any]]]:
    """Every algorithm with the graph and the parameters it is timed with."""
    few = sources(graphs("plain"), 4)
    some = sources(graphs("plain"), 20_000)
    set_a, set_b = some[:10_000], some[10_000:]
    one = few[0]
    return [
        ("bfs", "plain", {"source": one}),
        ("sssp", "weighted", {"source": one}),
        ("k_hop", "plain", {"source": one, "k": 2}),
        ("two_hop", "plain", {"v": one}),
        ("egonet", "plain", {"source": one}),
        ("induced_subgraph", "plain", {"vertices": set_a}),
        ("cross_edges", "plain", {"a": set_a, "b": set_b}),
        ("core_number", "plain", {}),
        ("k_core", "plain", {}),
        ("truss_number", "plain", {}),
        ("k_truss", "plain", {}),
        ("pagerank", "plain", {"tol": 0, "max_iter": 10}),
        ("pagerank", "weighted", {"tol": 0, "max_iter": 10, "weight": True}),
        ("rwr", "plain", {"source": one, "tol": 0, "max_iter": 10}),
        ("connected_components", "plain", {}),
        ("strongly_connected_components", "directed", {}),
        ("degree_distribution", "plain", {}),
        ("radius", "plain", {}),
        ("label_propagation", "plain", {}),
        ("betweenness", "plain", {"sources": few}),
        ("betweenness", "weighted", {"sources": few[:1], "weight": True}),
        ("edge_betweenness", "plain", {"sources": few[:1]}),
        ("closeness", "plain", {"k": 64}),
        ("minimum_spanning_forest", "weighted", {}),
        ("color", "plain", {}),
        ("heat", "plain", {"initial": {one: 1.0}}),
        ("circuit", "plain", {"fixed": {few[0]: 1.0, few[1]: 0.0}, "tol": 0, "max_iter": 10}),
        ("neural_network", "plain", {"inputs": {one: 1.0}}),
        ("triangles", "plain", {}),
        ("clustering", "plain", {}),
        ("scan", "plain", {"epsilon": 0.5, "mu": 3, "index": False}),
    ]


def seconds(call: Call, repeat: int = 3) -> float:
    """The smallest time of some calls; one if it takes long."""
    best = np.inf
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
        if best > LONG:
            break
    return float(best)


# Streamed


def streamed(graphs: Graphs, chosen: list[str]) -> None:
    """Each algorithm within its state and a quarter of the topology."""
    disks = [measure_disk(graphs("plain"), 2) for _ in range(5)]
    rate = max(disk.rate for disk in disks if disk is not None)
    print(f"disk: {rate / 1e9:.2f} GB/s in sequence, the best of {len(disks)}")
    rows: list[tuple[object, ...]] = [
        ("algorithm", "graph", "passes", "card", "memory (s)", "streamed (s)", "ratio", "allowed",
         "budget (MB)", ""),
    ]  # fmt: skip
    for name, kind, parameters in workloads(graphs):
        if chosen and name not in chosen:
            continue
        rows.append(streamed_row(graphs(kind), name, kind, parameters, rate))
        table([rows[0], rows[-1]])
    print()
    table(rows)


def streamed_row(
    graph: ps.Graph, name: str, kind: str, parameters: dict[str, Any], rate: float
) -> tuple[object, ...]:
    """One algorithm, in memory and streamed."""
    found = algorithms.find(name)
    cost = found.requirements(graph, **parameters)[-1]
    counts = counts_of(graph)
    stored = dict.fromkeys(map(graph.stored, cost.directions))
    lists = [list_bytes(counts, direction, cost.columns) for direction in stored]
    topology = sum(each.num_pages * each.page_bytes for each in lists)
    budget = cost.vertex_bytes * graph.num_vertices + cost.more_bytes + topology // 4
    found(graph, **parameters)
    quick = seconds(lambda: found(graph, **parameters))
    graph.kept.clear()
    budget = max(budget, 20_000_000)
    results = []
    slow = seconds(lambda: results.append(found(graph, **parameters, memory=budget, load=False)))
    stats = results[-1].stats
    passes = stats["bytes_read"] / max(topology, 1)
    allowed = max(2 * quick, 1.2 * stats["bytes_read"] / rate)
    ok = passes <= cost.passes and slow <= allowed
    return (
        name, kind, passes, cost.passes, quick, slow, slow / quick, allowed / quick, budget / 1e6,
        "" if ok else "MISSED",
    )  # fmt: skip


# Peers


def peers(graphs: Graphs, chosen: list[str]) -> None:
    """Each algorithm in memory against those that have it."""
    rows: list[tuple[object, ...]] = [("algorithm", "ours (s)", "peer", "theirs (s)", "faster")]
    theirs = contestants(graphs)
    for name, kind, parameters in workloads(graphs):
        others = theirs.get((name, kind), {})
        if not others or (chosen and name not in chosen):
            continue
        found, graph = algorithms.find(name), graphs(kind)
        ps.connected_components(graph)  # leaves the lists in memory
        found(graph, **parameters)
        for peer, their_seconds in others.items():
            times = [
                (seconds(lambda: found(graph, **parameters).values), their_seconds())  # noqa: B023
                for _ in range(2)
            ]
            mine, their = (min(each) for each in zip(*times, strict=True))
            rows.append((name, mine, peer, their, their / mine))
            table([rows[0], rows[-1]])
        graph.kept.clear()
    print()
    table(rows)


class Peers:
    """Graphs in the forms that others have, one at a time: they are large."""

    def __init__(self, graphs: Graphs) -> None:
        self.graphs = graphs
        self._key: tuple[str, str] | None = None
        self._held: Any = None

    def get(self, who: str, kind: str) -> Any:
        """The graph in somebody's form."""
        if self._key != (who, kind):
            self._key = self._held = None
            self._held = getattr(self, f"_{who}")(self.graphs(kind))
            self._key = (who, kind)
        return self._held

    def time(self, who: str, kind: str, call: Callable[[Any], object]) -> Callable[[], float]:
        """A function that gives the seconds of a call with that graph."""

        def measure() -> float:
            graph = self.get(who, kind)
            return seconds(lambda: call(graph), 2)

        return measure

    def _scipy(self, graph: ps.Graph) -> Any:
        import scipy.sparse as sp

        src, dst, *weight = graph.to_edges()
        values = weight[0].astype(np.float32) if weight else np.ones(len(src), np.float32)
        n = graph.num_vertices
        if not graph.directed:
            other = src != dst
            src, dst = np.concatenate([src, dst[other]]), np.concatenate([dst, src[other]])
            values = np.concatenate([values, values[other]])
        return sp.csr_matrix((values, (src, dst)), shape=(n, n))

    def _igraph(self, graph: ps.Graph) -> Any:
        import igraph

        src, dst, *weight = graph.to_edges()
        made = igraph.Graph(
            n=graph.num_vertices, edges=np.stack([src, dst], 1), directed=graph.directed
        )
        if weight:
            made.es["weight"] = weight[0].tolist()
        return made

    def _networkit(self, graph: ps.Graph) -> Any:
        import networkit

        src, dst, *_ = graph.to_edges()
        return networkit.GraphFromCoo((src, dst), n=graph.num_vertices, directed=graph.directed)


def power(matrix: Any) -> Any:
    """Ten steps of PageRank."""
    n = matrix.shape[0]
    degrees = np.maximum(np.diff(matrix.indptr), 1).astype(np.float32)
    x = np.full(n, 1 / n, np.float32)
    for _ in range(10):
        x = np.float32(0.15 / n) + np.float32(0.85) * (matrix @ (x / degrees))
    return x


def contestants(graphs: Graphs) -> dict[tuple[str, str], dict[str, Callable[[], float]]]:
    """What others have, by the algorithm and graph of ours."""
    import networkit
    from scipy.sparse import csgraph

    few = sources(graphs("plain"), 4)
    many = sources(graphs("plain"), 64)
    some = sources(graphs("plain"), 20_000)[:10_000]
    form = Peers(graphs)
    path = graphs.folder / f"{graphs.name}.sg"

    def igraph(kind: str, call: Callable[[Any], object]) -> Callable[[], float]:
        return form.time("igraph", kind, call)

    def scipy(kind: str, call: Callable[[Any], object]) -> Callable[[], float]:
        return form.time("scipy", kind, call)

    def cores(graph: Any) -> object:
        return networkit.centrality.CoreDecomposition(graph).run()

    return {
        ("bfs", "plain"): {
            "scipy": scipy("plain", lambda m: csgraph.breadth_first_order(m, few[0])),
            "igraph": igraph("plain", lambda g: g.distances(few[0])),
        },
        ("sssp", "weighted"): {
            "scipy": scipy("weighted", lambda m: csgraph.dijkstra(m, indices=few[0])),
            "igraph": igraph("weighted", lambda g: g.distances(few[0], weights="weight")),
        },
        ("k_hop", "plain"): {"igraph": igraph("plain", lambda g: g.neighborhood(few[0], 2))},
        ("egonet", "plain"): {
            "igraph": igraph("plain", lambda g: g.induced_subgraph(g.neighborhood(few[0], 1)))
        },
        ("induced_subgraph", "plain"): {
            "scipy": scipy("plain", lambda m: m[some][:, some]),
            "igraph": igraph("plain", lambda g: g.induced_subgraph(some)),
        },
        ("core_number", "plain"): {
            "networkit": form.time("networkit", "plain", cores),
            "igraph": igraph("plain", lambda g: g.coreness()),
        },
        ("k_core", "plain"): {"igraph": igraph("plain", lambda g: g.k_core(100))},
        ("pagerank", "plain"): {
            "scipy": scipy("plain", power),
            "igraph, to its end": igraph("plain", lambda g: g.pagerank()),
        },
        ("rwr", "plain"): {
            "igraph, to its end": igraph(
                "plain", lambda g: g.personalized_pagerank(reset_vertices=few[:1])
            )
        },
        ("connected_components", "plain"): {
            "scipy": scipy("plain", lambda m: csgraph.connected_components(m, directed=False)),
            "igraph": igraph("plain", lambda g: g.connected_components()),
        },
        ("strongly_connected_components", "directed"): {
            "scipy": scipy(
                "directed", lambda m: csgraph.connected_components(m, connection="strong")
            ),
            "igraph": igraph("directed", lambda g: g.connected_components(mode="strong")),
        },
        ("degree_distribution", "plain"): {
            "igraph": igraph("plain", lambda g: np.bincount(g.degree()))
        },
        ("label_propagation", "plain"): {
            "igraph, asynchronous": igraph("plain", lambda g: g.community_label_propagation())
        },
        ("betweenness", "plain"): {
            "gapbs": lambda: gapbs(graphs.binaries, "bc", path, "-i", "4"),
            "igraph": igraph("plain", lambda g: g.betweenness(sources=few)),
        },
        ("betweenness", "weighted"): {
            "igraph": igraph("weighted", lambda g: g.betweenness(sources=few[:1], weights="weight"))
        },
        ("edge_betweenness", "plain"): {
            "igraph": igraph("plain", lambda g: g.edge_betweenness(sources=few[:1]))
        },
        ("closeness", "plain"): {
            "igraph, 64 vertices": igraph("plain", lambda g: g.closeness(many))
        },
        ("minimum_spanning_forest", "weighted"): {
            "scipy": scipy("weighted", csgraph.minimum_spanning_tree),
            "igraph": igraph("weighted", lambda g: g.spanning_tree(weights="weight")),
        },
        ("color", "plain"): {"igraph": igraph("plain", lambda g: g.vertex_coloring_greedy())},
        ("triangles", "plain"): {"gapbs": lambda: gapbs(graphs.binaries, "tc", path)},
        ("clustering", "plain"): {
            "igraph": igraph("plain", lambda g: g.transitivity_local_undirected())
        },
    }


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="The library of algorithms.")
    parser.add_argument("what", choices=["peers", "streamed"])
    parser.add_argument("--gapbs", type=Path, required=True, help="folder of its binaries")
    parser.add_argument("--graph", default="kron20")
    parser.add_argument("--only", nargs="+", default=[], help="names of algorithms")
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    with work_folder(arguments.folder) as folder:
        graphs = Graphs(folder, arguments.gapbs, arguments.graph)
        (peers if arguments.what == "peers" else streamed)(graphs, arguments.only)


if __name__ == "__main__":
    main()

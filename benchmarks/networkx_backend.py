"""The NetworkX backend against NetworkX itself, on a graph of NetworkX.

    python benchmarks/networkx_backend.py [--nodes 100000] [--edges 1000000] [--repeat 3]
    python benchmarks/networkx_backend.py --importing 20

*With conversion*: ``nx.f(G, backend="penstock")`` on a graph that has not been converted, read anew
each time. *Without*: on the converted graph. Kernels are compiled before the clock starts, as they
are for a user from the second process on. The smallest of several runs counts, NetworkX's and ours
in turns; NetworkX's betweenness runs once, as it takes minutes. Both results are compared.

``--importing`` times ``import networkx`` in new processes, in turns, with the backend installed and
with its entry points left out.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import networkx as nx
from common import table

from penstock.interfaces.nx.listed import ListedGraph

#: What is timed: the function, with its arguments, and how its result is made to compare.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pagerank": nx.pagerank,
    "connected_components": lambda graph, **to: [
        len(part) for part in nx.connected_components(graph, **to)
    ],
    "betweenness k=16": lambda graph, **to: nx.betweenness_centrality(graph, k=16, seed=1, **to),
    "triangles": nx.triangles,
    "core_number": nx.core_number,
    "clustering": nx.clustering,
    "bfs lengths": lambda graph, **to: dict(nx.single_source_shortest_path_length(graph, 0, **to)),
    "dijkstra lengths": lambda graph, **to: nx.single_source_dijkstra_path_length(graph, 0, **to),
    "greedy_color": nx.greedy_color,
}
SLOW = ("betweenness k=16",)


def timed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = function(*args, **kwargs)
    return time.perf_counter() - begin, result


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return sorted(one) == sorted(other)
    return one.keys() == other.keys() and all(
        math.isclose(value, other[node], rel_tol=1e-4, abs_tol=1e-9) for node, value in one.items()
    )


def compare(graph: nx.Graph, names: list[str], repeat: int) -> None:
    rows: list[tuple[object, ...]] = [
        ("function", "NetworkX s", "with conversion s", "times", "without s", "times", "same")
    ]
    for name in names:
        function = FUNCTIONS[name]
        function(ListedGraph(graph))
        theirs, fresh, kept = [], [], []
        expected: Any = None
        converted = ListedGraph(graph)
        function(converted)
        for k in range(repeat):
            if k == 0 or name not in SLOW:
                seconds, expected = timed(function, graph, backend="networkx")
                theirs.append(seconds)
            graph.__networkx_cache__.clear()
            seconds, found = timed(function, graph, backend="penstock")
            fresh.append(seconds)
            kept.append(timed(function, converted)[0])
        base, with_it, without = min(theirs), min(fresh), min(kept)
        row = (name, base, with_it, base / with_it, without, base / without, same(expected, found))
        rows.append(row)
        print(f"{name}: {base:.3g} s, {base / with_it:.1f}x, {base / without:.1f}x", flush=True)
    table(rows)


def importing(repeat: int) -> None:
    """How long a new process takes to import NetworkX."""
    hide = (
        "import importlib.metadata as m; e = m.entry_points; "
        "m.entry_points = lambda **k: [each for each in e(**k) if each.name != 'penstock']; "
    )
    seconds: dict[str, list[float]] = {"with the backend": [], "without": []}
    for _ in range(repeat):
        for what, before in (("with the backend", ""), ("without", hide)):
            code = f"import time, importlib.metadata; {before}b = time.perf_counter(); "
            code += "import networkx; print(time.perf_counter() - b)"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
            seconds[what].append(float(done.stdout))
    table([("import networkx", "smallest ms", "median ms")] + [
        (what, 1e3 * min(each), 1e3 * sorted(each)[len(each) // 2])
        for what, each in seconds.items()
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--functions", nargs="*", default=list(FUNCTIONS), choices=FUNCTIONS)
    parser.add_argument("--importing", type=int, metavar="TIMES")
    chosen = parser.parse_args()
    if chosen.importing:
        importing(chosen.importing)
        return
    graph = nx.gnm_random_graph(chosen.nodes, chosen.edges, seed=1)
    print(f"{chosen.nodes:,} nodes, {chosen.edges:,} edges, NetworkX {nx.__version__}")
    compare(graph, chosen.functions, chosen.repeat)


if __name__ == "__main__":
    main()

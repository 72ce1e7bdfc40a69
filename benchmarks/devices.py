"""Several CPU devices in one run: strategies P and S, and two devices of different speed.

    python benchmarks/devices.py --graph kron22

``P``: PageRank over two devices of one core each, pages divided, against one device with two
threads. ``S``: the same with the gathered values divided: bytes that each device holds, and how the
result differs from that of P. ``dispatcher``: SSSP and components on a fast host, and on a slowed
device that can only pull: each iteration as dispatched, against the best of the host alone, the
other alone, and both. Graphs are in memory; times are the smallest of ``--rounds``, taken in turns.
Graphs that are not in ``--folder`` are made (RMAT).
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
from common import table, work_folder

import penstock as ps
from penstock.algorithms import find
from penstock.config import memory_budget, thread_count
from penstock.device.spec import Device
from penstock.engine.estimate import estimate_run
from penstock.engine.options import RunOptions
from penstock.ingest.build import build
from penstock.ingest.generate import rmat
from penstock.ingest.options import BuildOptions
from penstock.interfaces.bench.garaph_devices import (
    against_best,
    device_programs,
    each_iteration,
)

Rows = list[tuple[object, ...]]
PAIR = ("cpu:1", "cpu:1")
ITERATIONS = {"tol": 0, "max_iter": 10}
#: Shorter iterations are mostly noise: they count in the total only.
SHORT = 1e-3


def make(folder: Path, name: str, *, weighted: bool) -> ps.Graph:
    """An undirected graph, made if it is not there."""
    path = folder / f"{name}{'w' if weighted else ''}.penstock"
    if path.exists():
        return ps.open(path)
    found = re.fullmatch(r"kron(\d+)", name)
    if found is None:
        raise SystemExit(f"{path}: is not there, and only kron20, kron22, ... can be made")
    count = thread_count()
    source = rmat(int(found[1]), threads=count, weighted=weighted)
    options = BuildOptions(directed=False, memory=memory_budget(), threads=count)
    return build(source, path, options)


def in_turns(rounds: int, *calls: Callable[[], object]) -> list[list[float]]:
    """The times of each; the first round, which compiles and loads, does not count."""
    times: list[list[float]] = []
    for _ in range(rounds + 1):
        times.append([])
        for call in calls:
            begin = time.perf_counter()
            call()
            times[-1].append(time.perf_counter() - begin)
    return [list(each) for each in zip(*times[1:], strict=True)]


def strategy_p(graph: ps.Graph, rounds: int) -> Rows:
    plain, both = in_turns(
        rounds,
        lambda: ps.pagerank(graph, threads=2, **ITERATIONS),
        lambda: ps.pagerank(graph, devices=PAIR, division="P", **ITERATIONS),
    )
    ratios = [a / b for a, b in zip(plain, both, strict=True)]
    return [
        ("pagerank x 10", "seconds", "of the speed", "median of rounds"),
        ("one device, two threads", min(plain), 1.0, 1.0),
        ("two devices, strategy P", min(both), min(plain) / min(both), median(ratios)),
    ]


def strategy_s(graph: ps.Graph, rounds: int) -> Rows:
    results = {
        division: ps.pagerank(graph, devices=PAIR, division=division, **ITERATIONS)
        for division in "PS"
    }
    seconds = in_turns(
        rounds,
        *(
            lambda division=division: ps.pagerank(
                graph, devices=PAIR, division=division, **ITERATIONS
            )
            for division in "PS"
        ),
    )
    whole = results["P"].stats["held_bytes"][0]
    found: Rows = [("pagerank x 10", "seconds", "held bytes", "of the whole", "differs from P by")]
    for (division, result), taken in zip(results.items(), seconds, strict=True):
        held = result.stats["held_bytes"]
        differs = np.abs(result.values - results["P"].values) / results["P"].values
        shares = " ".join(f"{each / whole:.3f}" for each in held)
        found.append((f"strategy {division}", min(taken), str(held), shares, float(differs.max())))
    return found


def dispatcher(graphs: dict[str, ps.Graph], slowdown: float, rounds: int) -> Rows:
    host = Device(threads=1)
    other = Device(threads=1, only_pulls=True, slowdown=slowdown)
    found: Rows = [
        ("", "iteration", "active", "worked", "dispatched (ms)", "best (ms)", "ratio"),
    ]
    for name, graph in graphs.items():
        rows = each_iteration(device_programs(graph)[name], host, other, rounds)
        versus = against_best(rows)
        for row, best in versus:
            found.append(
                (
                    name, row["step"], f"{row['active_share']:.2%}", row["worked"],
                    1e3 * row["seconds"], 1e3 * best, row["seconds"] / best,
                )
            )  # fmt: skip
        long = [row["seconds"] / best for row, best in versus if best >= SHORT]
        total, least = sum(row["seconds"] for row, _ in versus), sum(best for _, best in versus)
        found.append((name, "all", "", "", 1e3 * total, 1e3 * least, total / least))
        found.append((name, "worst of 1 ms or more", "", "", "", "", max(long, default=0.0)))
        for way in dict.fromkeys(row["way"] for row in rows):
            alone = sum(row["seconds"] for row in rows if row["way"] == way)
            found.append((name, "all", "", f"{way} throughout", 1e3 * alone, "", alone / least))
    return found


def plans(graph: ps.Graph, rounds: int) -> Rows:
    """What ``penstock plan`` says beside what runs take."""
    pagerank = find("pagerank")
    found: Rows = [("pagerank x 10", "estimated (s)", "took (s)", "ratio")]
    for division, load in product("PS", (True, False)):
        options = {"devices": PAIR, "division": division, "load": load}
        pagerank(graph, **ITERATIONS, **options)  # loads and cuts lists, if they stay
        expected = estimate_run(graph, pagerank, ITERATIONS, RunOptions.of(**options)).seconds
        [taken] = in_turns(rounds, lambda o=options: pagerank(graph, **ITERATIONS, **o))
        where = "in memory" if load else "from disk"
        ratio = expected / min(taken)
        found.append((f"strategy {division} {where}", expected, min(taken), ratio))
    return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Several CPU devices in one run.")
    parser.add_argument("--graph", default="kron22")
    parser.add_argument("--what", nargs="+", default=["P", "S", "plan", "dispatcher"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slowdown", type=float, default=3.0)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    with work_folder(arguments.folder) as folder:
        graph = make(folder, arguments.graph, weighted=False)
        if "P" in arguments.what:
            table(strategy_p(graph, arguments.rounds))
        if "S" in arguments.what:
            table(strategy_s(graph, arguments.rounds))
        if "plan" in arguments.what:
            table(plans(graph, arguments.rounds))
        if "dispatcher" in arguments.what:
            weighted = make(folder, arguments.graph, weighted=True)
            graphs = {"SSSP": weighted, "CC": graph}
            table(dispatcher(graphs, arguments.slowdown, arguments.rounds))


if __name__ == "__main__":
    main()

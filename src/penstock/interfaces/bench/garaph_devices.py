"""Garaph's experiment on two devices that differ: each alone, both, and as the dispatcher has it.

Both are CPU devices. The *host* works as it likes; the *other* stands for a GPU: it can only pull.
One of them is slowed down, by waiting after each kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.algorithms._vertex_programs import DISTANCES, LABELS, LEVELS
from penstock.config import thread_count
from penstock.device.spec import Device
from penstock.engine.result import Result
from penstock.engine.run import run
from penstock.errors import BudgetError
from penstock.interfaces.bench.garaph_workloads import Garaph
from penstock.interfaces.bench.suite import Row, grouped
from penstock.interfaces.bench.workloads import ENDLESS, Runner, source_of
from penstock.store.graph import Graph
from penstock.types import Array

#: How many times slower the slower device is.
SLOWDOWN = 3.0
#: Who works. "both" pull in every iteration; "dispatched": before each one it is decided whether
#: the host works alone.
HOST, OTHER, BOTH, DISPATCHED = WAYS = ("host", "other", "both", "dispatched")


def hybrid(bench: Garaph) -> list[Row]:
    """Each iteration of SSSP and CC on one device, the other, and both (Figure 11)."""
    graph, threads = bench.undirected, thread_count(bench.threads)
    own = max(threads // 2, 1)
    pairs = {
        slower: (
            Device(threads=own, slowdown=SLOWDOWN if slower == HOST else 1.0),
            Device(
                threads=own, slowdown=SLOWDOWN if slower == OTHER else 1.0, only_pulls=True
            ),
        )
        for slower in (HOST, OTHER)
    }  # fmt: skip
    programs = device_programs(graph)
    runs = len(pairs) * len(programs) * len(WAYS) * (bench.repeat + 1)
    bench.progress.start("hybrid", runs, "runs")
    rows = []
    for slower, (host, other) in pairs.items():
        for name, call in programs.items():

            def counted(call: Runner = call, **options: Any) -> Result:
                result = call(memory=bench.memory, **options)
                bench.progress.advance(1)
                return result

            found = each_iteration(counted, host, other, bench.repeat)
            rows += [{"slower": slower, "program": name, **row} for row in found]
    return rows


def device_programs(graph: Graph) -> dict[str, Runner]:
    """SSSP and CC as programs for any device. CC of a directed graph would look both ways along
    edges, which programs cannot; without weights, SSSP counts edges.
    """
    source = source_of(graph)
    begins: Array = np.zeros(graph.num_vertices, np.uint8)
    begins[np.searchsorted(graph.ids, source)] = 1
    far = {"cutoff": np.inf} if graph.weighted else {"limit": graph.num_vertices}
    program = DISTANCES if graph.weighted else LEVELS

    def paths(**options: Any) -> Result:
        fields = {"begins": begins}
        return run(
            graph, program, params=far, fields=fields, start=[source], **ENDLESS, **options
        )  # fmt: skip

    def components(**options: Any) -> Result:
        return run(graph, LABELS, **ENDLESS, **options)

    return {"SSSP": paths} if graph.directed else {"SSSP": paths, "CC": components}


def each_iteration(
    call: Callable[..., Result], host: Device, other: Device, repeat: int
) -> list[Row]:
    """A row for each iteration of each way: the least seconds of several runs, and what was done
    in the run that took them. Ways take turns; the first turn, which compiles and loads, does not
    count.
    """
    options: Mapping[str, Row] = {
        HOST: {"devices": [host]},
        OTHER: {"devices": [other], "strategy": "pull"},
        BOTH: {"devices": [host, other], "strategy": "pull"},
        DISPATCHED: {"devices": [host, other]},
    }
    tables: dict[str, list[list[Row]]] = {way: [] for way in WAYS}
    for turn in range(repeat + 1):
        # Twice, because ways that only pull leave the system's memory in another state: the run
        # after them gets arrays that were not touched yet, and the host alone comes after this.
        for way in (*WAYS, DISPATCHED):
            result = call(**options[way])
            if not result.stats["resident"]:
                raise BudgetError(
                    "memory: the graph does not fit in memory as a whole, which this experiment "
                    "needs; give more --memory or a smaller --scale"
                )
            if turn:
                tables[way].append(result.iterations)
    rows = []
    for way in WAYS:
        for same in zip(*tables[way], strict=True):
            best = min(same, key=lambda row: float(row["seconds"]))
            who = {"host": HOST, "all": BOTH}.get(best.get("devices", ""), way)
            rows.append(
                {
                    "way": way,
                    "step": best["step"],
                    "seconds": best["seconds"],
                    "strategy": best["strategy"],
                    "worked": who,
                    "active_share": best["active_share"],
                    "edges": best["edges"],
                }
            )
    return rows


def against_best(rows: Sequence[Row]) -> list[tuple[Row, float]]:
    """Each iteration of the dispatcher, and the least seconds of all others for the same."""
    found = []
    for _, same in grouped(rows, "step"):
        by = {row["way"]: row for row in same}
        found.append((by[DISPATCHED], min(by[way]["seconds"] for way in (HOST, OTHER, BOTH))))
    return found

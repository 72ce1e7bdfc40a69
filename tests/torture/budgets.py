"""Shapes times algorithms times budgets, each in a group of processes that is killed beyond.

The limit is what the process has taken before the run (interpreter, libraries, compiled kernels),
plus the budget, plus the 40 MB that are promised as the most beyond it. A run that the plan accepts
must end: being killed for lack of memory, and being refused later than by the plan, are findings.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torture import Case, Outcome, found, ok, skipped
from torture._cgroup import MemoryGroup
from torture.shapes import SHAPES

NAME = "budgets"
DESCRIPTION = "Extreme shapes under memory limits: what the plan accepts must end."
CATEGORIES = ("algorithm", "shape", "memory")
QUICK_CASES = 2
TIMEOUT_SECONDS = 1800.0

_SLACK_BYTES = 40_000_000
_SMALL_SCALE = 300
_MB = 10**6

#: Parameters that keep a run short, whatever the graph; vertices 0 and 1 are always there.
PARAMETERS: dict[str, dict[str, Any]] = {
    "bfs": {"source": 0},
    "sssp": {"source": 0},
    "k_hop": {"source": 0, "k": 3},
    "two_hop": {"v": 0},
    "egonet": {"source": 0},
    "induced_subgraph": {"vertices": [0, 1]},
    "cross_edges": {"a": [0], "b": [0, 1]},
    "pagerank": {"tol": 0, "max_iter": 3},
    "rwr": {"source": 0, "tol": 0, "max_iter": 3},
    "betweenness": {"k": 2},
    "edge_betweenness": {"k": 2},
    "closeness": {"k": 2},
    "degree_distribution": {},
    "connected_components": {},
    "strongly_connected_components": {},
    "core_number": {},
    "k_core": {},
    "truss_number": {},
    "k_truss": {},
    "minimum_spanning_forest": {},
    "label_propagation": {"max_iter": 2},
    "triangles": {},
    "clustering": {},
    "scan": {"index": False},
    "color": {},
    "radius": {"max_iter": 3},
    "heat": {"initial": 1.0, "max_iter": 2},
    "circuit": {"fixed": {"0": 1.0}, "tol": 0, "max_iter": 2},
    "neural_network": {"inputs": {"0": 1.0}, "max_iter": 2},
}
_SCALES = {
    "isolated": (10**5, 10**6, 10**7), "out_star": (10**5, 10**6, 16_300_000),
    "path": (10**5, 10**6, 10**7),
}  # fmt: skip
_BUDGETS_MB = (17, 18, 20, 24, 32, 48, 64, 100, 200, 400)


def cases(seed: int) -> Iterator[Case]:
    """Endless; every algorithm once before any comes again."""
    names, shapes = list(PARAMETERS), [name for name in SHAPES if name != "empty"]
    for index in itertools.count():
        rng = random.Random(f"{seed}/{index}")
        shape = rng.choice(shapes)
        yield {
            "algorithm": names[index % len(names)],
            "shape": shape,
            "scale": rng.choice(_SCALES.get(shape, (10**4, 10**5, 10**6))),
            "memory": rng.choice(_BUDGETS_MB) * _MB,
            "page_size": rng.choice([None, 65536]),
            "layout": rng.choice(["banded", "banded", "slotted"]),
        }


def run(case: Case, workspace: Path) -> Outcome:
    """Build the graph, if this worker has not yet, and run in a group with a limit."""
    missing = MemoryGroup.missing()
    if missing:
        return skipped(missing)
    asked = {
        "algorithm": case["algorithm"],
        "parameters": PARAMETERS[case["algorithm"]],
        "memory": case["memory"],
        "graph": str(_built(case, case["scale"], workspace)),
        "small": str(_built(case, _SMALL_SCALE, workspace)),
        "tmpdir": str(workspace),
    }
    command = [sys.executable, "-m", "torture._budget_run", json.dumps(asked)]
    # The group ends last: it cannot be removed while it has processes.
    with MemoryGroup(f"penstock-torture-{os.getpid()}") as group:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with process:
            try:
                group.add(process.pid)
                return _watch(process, group, case)
            finally:
                process.kill()


def _watch(process: subprocess.Popen[bytes], group: MemoryGroup, case: Case) -> Outcome:
    assert process.stdout is not None
    if process.stdout.readline() != b"ready\n":
        errors = process.communicate()[1].decode()
        return found(f"{case['algorithm']}: fails on the small graph\n{errors}")
    base = group.taken_bytes()
    group.limit(base + case["memory"] + _SLACK_BYTES)
    out, err = process.communicate(b"go\n")
    about = f"{base / _MB:.0f} MB before the run, {group.peak_bytes() / _MB:.0f} MB at most"
    name = case["algorithm"]
    if process.returncode == -signal.SIGKILL:
        return found(f"{name}: killed for lack of memory\n{case['shape']}: {about}")
    if process.returncode != 0:
        errors = err.decode()
        last = errors.strip().rpartition("\n")[2].partition(":")[0]
        return found(f"{name}: fails with {last}\n{case['shape']}: {about}\n{errors}")
    verdict, text = json.loads(out)
    if verdict == "late":
        return found(f"{name}: refused after the plan had accepted it\n{case['shape']}: {text}")
    return skipped("refused by the plan") if verdict == "refused" else ok()


def _built(case: Case, scale: int, workspace: Path) -> Path:
    """Where the graph is; it is built if it is not there."""
    import penstock as ps

    key = f"{case['shape']}-{scale}-{case['page_size']}-{case['layout']}"
    path = workspace / f"{key}.penstock"
    if not path.exists():
        src, dst, num_vertices, directed = SHAPES[case["shape"]](scale)
        ps.build(
            (src, dst), path, directed=directed, num_vertices=num_vertices, duplicates="keep",
            page_size=case["page_size"], layout=case["layout"], memory="500MB",
        )  # fmt: skip
    return path


def shrink(case: Case) -> Iterator[Case]:
    """Smaller graphs, then plainer ones."""
    for scale in (case["scale"] // 10, case["scale"] // 2):
        if scale >= 1000:
            yield case | {"scale": scale}
    if case["layout"] != "banded":
        yield case | {"layout": "banded"}
    if case["page_size"] is not None:
        yield case | {"page_size": None}

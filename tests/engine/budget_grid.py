"""A budget that the plan accepts never fails in the run, and one that it refuses is refused before
the run begins: for each shape of graph and each algorithm, over a ladder of budgets from just below
the least that the plan accepts to one that everything fits.

``PYTHONPATH=tests python tests/engine/budget_grid.py SCALE FOLDER [SHAPE,... [CASE,...]]`` goes
over the grid with graphs of about SCALE edges, and prints what it finds.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torture.shapes import SHAPES

import penstock as ps
from penstock.algorithms import find, names
from penstock.engine.algorithm import Task
from penstock.engine.options import RunOptions
from penstock.engine.plan import Plan
from penstock.errors import BudgetError, PenstockError
from penstock.store.paged import open_graph

#: Bytes that a budget is found to.
RESOLUTION = 256
#: What algorithms are asked for. Vertex 0 is in every graph but the empty one.
PARAMETERS: Mapping[str, dict[str, Any]] = {
    "betweenness": {"k": 2},
    "bfs": {"source": 0},
    "circuit": {"fixed": {0: 1.0}, "tol": 0, "max_iter": 4},
    "closeness": {"k": 2},
    "cross_edges": {"a": [0, 1, 2], "b": [0, 1, 3]},
    "edge_betweenness": {"k": 2},
    "egonet": {"source": 0},
    "heat": {"initial": {0: 1.0}, "max_iter": 2},
    "induced_subgraph": {"vertices": [0, 1, 2]},
    "k_hop": {"source": 0, "k": 2},
    "label_propagation": {"max_iter": 2},
    "neural_network": {"inputs": {0: 1.0}, "max_iter": 2},
    "pagerank": {"tol": 0, "max_iter": 2},
    "radius": {"max_iter": 2},
    "rwr": {"source": 0, "tol": 0, "max_iter": 2},
    "sssp": {"source": 0},
}
#: More ways to ask for something.
VARIANTS: Mapping[str, dict[str, Any]] = {
    "betweenness-weight": {"k": 2, "weight": True},
    "bfs-heads": {"source": 0, "resident_edges": 1},
    "closeness-weight": {"k": 2, "weight": True},
    "color-random": {"strategy": "random"},
    "k_core-2": {"k": 2},
    "k_truss-2": {"k": 2},
    "pagerank-push": {"tol": 0, "max_iter": 2, "strategy": "push"},
    "pagerank-float64": {"tol": 0, "max_iter": 2, "dtype": "float64", "weight": True},
    "two_hop-v": {"v": 0},
}


def build_shape(name: str, scale: int, folder: Path, **options: Any) -> Path:
    """A graph of a shape, on disk, with weights."""
    src, dst, count, directed = SHAPES[name](scale)
    weights = np.random.default_rng(scale).integers(1, 9, len(src)).astype(np.float32)
    options = {"duplicates": "keep", "page_size": "64KiB", **options}
    ps.build(
        (src, dst, weights), folder / name, weights=True, num_vertices=count, directed=directed,
        **options,
    )  # fmt: skip
    return folder / name


def plan(path: Path, case: str, options: RunOptions) -> Plan | PenstockError:
    """What the plan says."""
    name, own = of_case(case)
    try:
        return find(name).plan(open_graph(path), options, own)
    except PenstockError as error:
        return error


def of_case(case: str) -> tuple[str, dict[str, Any]]:
    """Algorithm and parameters."""
    name = case.partition("-")[0]
    return name, dict(VARIANTS.get(case) or PARAMETERS.get(name, {}))


class Watch:
    """Sees whether a run has begun."""

    def __init__(self) -> None:
        self.begun = False

    def start(self, stage: str, total: float | None, unit: str) -> None:
        """It has."""
        self.begun = True

    def advance(self, amount: float) -> None:
        """More is done."""

    def note(self, text: str) -> None:
        """Something is said."""


def run(path: Path, case: str, options: RunOptions) -> tuple[PenstockError | None, bool]:
    """The error of a run, if there is one, and whether work had begun."""
    name, own = of_case(case)
    watch = Watch()
    try:
        task = Task(open_graph(path), replace(options, progress=watch))
        len(find(name).call(task, own))
    except PenstockError as error:
        return error, watch.begun
    return None, watch.begun


def least_budget(path: Path, case: str, options: RunOptions, ample: int) -> int:
    """The least budget that the plan accepts, up to a few bytes."""
    low, high = 0, ample
    while high - low > RESOLUTION:
        middle = (low + high) // 2
        refused = isinstance(plan(path, case, replace(options, memory=middle)), BudgetError)
        low, high = (middle, high) if refused else (low, middle)
    return high


def ladder(path: Path, case: str, options: RunOptions, steps: int = 4) -> list[int]:
    """Budgets to try; ``steps`` between the least and the one that everything fits."""
    most = plan(path, case, replace(options, memory=1 << 40))
    if not isinstance(most, Plan):
        return [1 << 40]
    ample = most.memory_bytes + (64 << 20)
    least = least_budget(path, case, options, ample)
    top = max(most.memory_bytes, least + 1)
    between = np.geomspace(least, top, steps + 2)[1:-1].astype(int).tolist()
    return sorted({max(least - RESOLUTION, 1), least, *between, top, ample})


def cases() -> list[str]:
    """All algorithms, and some with other parameters."""
    return [*names(), *VARIANTS]


def disagreements(path: Path, case: str, steps: int, *, load: bool = True) -> list[str]:
    """What is wrong with an algorithm on a graph."""
    options = RunOptions(memory=1 << 40, threads=2, load=load)
    budgets = ladder(path, case, options, steps)
    found = [disagreement(path, case, replace(options, memory=memory)) for memory in budgets]
    return [each for each in found if each is not None]


def disagreement(path: Path, case: str, options: RunOptions) -> str | None:
    """What is wrong with a run by its plan; None if nothing is."""
    planned = plan(path, case, options)
    error, begun = run(path, case, options)
    what = f"{case} of {path.name} in {options.memory:,} bytes"
    if isinstance(planned, PenstockError):
        if type(error) is not type(planned):
            return f"{what}: the plan says {planned}, the run {error}"
        if begun:
            return f"{what}: refused after work had begun: {error}"
    elif error is not None:
        return f"{what}: the plan accepts it, the run fails: {error}"
    return None


def main(scale: int, folder: Path, shapes: list[str], chosen: list[str]) -> int:
    """Go over the grid; how many disagreements there are."""
    count = 0
    for shape in shapes:
        path = build_shape(shape, scale, folder)
        for case in chosen:
            for load in (True, False):
                for found in disagreements(path, case, 4, load=load):
                    print(found, flush=True)
                    count += 1
        print(f"{shape}: done", flush=True)
    return count


if __name__ == "__main__":
    given = [each.split(",") for each in sys.argv[3:]]
    wanted = [given[0] if given else list(SHAPES), given[1] if len(given) > 1 else cases()]
    sys.exit(min(main(int(sys.argv[1]), Path(sys.argv[2]), *wanted), 1))

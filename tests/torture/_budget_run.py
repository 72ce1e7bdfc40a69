"""One run within a budget, in a process of its own: ``python -m torture._budget_run JSON``.

It warms up on a small graph, so that libraries and kernels are there, says "ready", waits for a
line, then plans and runs, and prints what came of it: "refused" by the plan, "late" if it was
refused after the plan had accepted it, or "done".
"""

from __future__ import annotations

import gc
import itertools
import json
import sys
from contextlib import suppress
from typing import Any

import penstock as ps
from penstock import algorithms
from penstock.engine.options import RunOptions
from penstock.errors import BudgetError


def main(text: str) -> None:
    asked: dict[str, Any] = json.loads(text)
    algorithm = algorithms.find(asked["algorithm"])
    parameters = {name: _with_ids(value) for name, value in asked["parameters"].items()}
    options = {"memory": asked["memory"], "threads": 2, "tmpdir": asked["tmpdir"]}
    small = ps.open(asked["small"])
    for load, memory in itertools.product((True, False), (asked["memory"], 1 << 30)):
        with suppress(BudgetError):
            algorithm(small, **parameters, **options | {"load": load, "memory": memory})
    del small
    gc.collect()
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(_plan_and_run(ps.open(asked["graph"]), algorithm, parameters, options)))


def _plan_and_run(graph: Any, algorithm: Any, parameters: Any, options: Any) -> list[str]:
    try:
        algorithm.plan(graph, RunOptions.of(**options), parameters)
    except BudgetError as error:
        return ["refused", str(error)]
    try:
        algorithm(graph, **parameters, **options)
    except BudgetError as error:
        return ["late", str(error)]
    return ["done", ""]


def _with_ids(value: Any) -> Any:
    """JSON has strings as keys."""
    return {int(v): x for v, x in value.items()} if isinstance(value, dict) else value


if __name__ == "__main__":
    main(sys.argv[1])

"""A user's own program: :func:`run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from penstock.device.signature import as_text, signature_of
from penstock.engine.algorithm import Task
from penstock.engine.counts import counts_of
from penstock.engine.dispatch import Strategy
from penstock.engine.execute import program_requirements
from penstock.engine.given import Numbers
from penstock.engine.options import RunOptions
from penstock.engine.over_hosts import Call, folder_of, run_over_hosts
from penstock.engine.parameters import check_max_iter
from penstock.engine.programs import Mode, Settings
from penstock.engine.result import Result
from penstock.engine.vertices import by_vid
from penstock.program import Program
from penstock.store.graph import Graph
from penstock.store.reading import read_locked


@read_locked
def run(
    graph: Graph,
    program: Program,
    *,
    params: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
    start: Iterable[Any] | None = None,
    max_iter: int = 100,
    until: Callable[[Mapping[str, float]], bool] | None = None,
    mode: Mode = "sync",
    strategy: Strategy | str = "auto",
    **options: Any,
) -> Result:
    """Run a vertex program on a graph of any size.

    Parameters
    ----------
    graph
        The graph. Values are gathered along in-edges; an undirected edge counts both ways.
    program
        A :class:`penstock.Program`.
    params
        Numbers that the functions read as ``p.<name>``. A total of the program may be among them:
        its value before the first iteration.
    fields
        Arrays for the program's ``fixed`` fields, in ascending order of the user's ids.
    start
        Ids of the vertices that are active at first (programs with ``activate``); None: all.
    max_iter
        Iterations at most; ``stats["converged"]`` says whether ``until`` held, or nothing was
        active, by then.
    until
        Called with the totals after each iteration; stops when it returns True.
    mode
        "sync": an iteration sees the values of the one before. "async": a page's new values are
        seen at once.
    strategy
        "pull", "notify-pull", "push", or "auto": chosen before each iteration.
    options
        What every algorithm takes: memory, threads, streams, cache, checkpoint, ...; and
        ``hosts``, which is what :class:`penstock.Hosts` takes, or one of these: then the run is
        synchronous, pulls, and has the same bits as here. The functions are sent as text. With
        ``out`` each host writes its part of the result.

    Returns
    -------
    Result
        The first state field as values, the others as columns.
    """
    given: dict[str, Any] = {
        "params": dict(params or {}), "fields": dict(fields or {}), "start": start,
        "max_iter": max_iter, "until": until, "mode": mode, "strategy": strategy,
    }  # fmt: skip
    hosts = options.pop("hosts", None)
    out = folder_of(options.pop("out", None), hosts)
    if hosts is None:
        return run_program(Task(graph, RunOptions.of(**options)), program=program, **given)
    signature = signature_of(program, counts_of(graph).columns, given["params"], graph.weight)
    given["program"] = as_text(signature)
    return run_over_hosts(hosts, Call(graph, "run", given, options, out))


def run_program(
    task: Task,
    *,
    program: Program,
    params: Mapping[str, Any],
    fields: Mapping[str, Any],
    start: Iterable[Any] | None,
    max_iter: int,
    until: Callable[[Mapping[str, float]], bool] | None,
    mode: Mode,
    strategy: Strategy | str,
) -> Result:
    """Run a vertex program as a task; see :func:`run`."""
    check_max_iter(max_iter)
    graph = task.graph
    settings = Settings(
        params=dict(params),
        max_iter=max_iter,
        mode=mode,
        strategy=strategy,  # type: ignore[arg-type]
        until=until,
        start=None if start is None else task.vids(start, "start"),
        fixed={name: _field(graph, program, name, values) for name, values in fields.items()},
    )
    given = {
        name: numbers.held_bytes
        for name, numbers in settings.fixed.items()
        if isinstance(numbers, Numbers)
    }
    task.requirements = program_requirements(
        counts_of(graph), program, passes=float(max_iter), params=settings.params, given=given,
        mode=mode, strategy=settings.strategy,
    )  # fmt: skip
    outcome = task.execute(settings)
    columns = outcome.values
    first = next(iter(program.state))
    return task.result(
        first,
        columns.pop(first),
        more={"converged": outcome.converged, "totals": outcome.totals},
        columns=columns,
    )


def _field(graph: Graph, program: Program, name: str, values: Any) -> Numbers:
    """An array in the order of the user's ids, in the order of the vertices inside."""
    given = np.atleast_1d(np.asarray(values))
    dtype = program.fixed_dtypes.get(name, given.dtype)
    return by_vid(graph, given, f"fields: {name!r}", 0, dtype)

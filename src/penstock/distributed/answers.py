"""What ranks return from a call, and the one result that is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock.config import memory_budget, thread_count
from penstock.distributed.clocks import ClockOffset
from penstock.distributed.hosts import Hosts
from penstock.distributed.later_columns import complete, keep_task
from penstock.distributed.part_fetching import fetch_columns, keep_large
from penstock.distributed.part_reading import read_parts
from penstock.distributed.rank_progress import RankProgress, ShownProgress
from penstock.distributed.rank_stats import RankWatch, join_iterations, join_stats
from penstock.distributed.result_parts import (
    PartFile,
    Target,
    part_table,
    publish,
    write_part,
)
from penstock.distributed.timelines import Timeline, timeline_of, write_timelines
from penstock.engine.algorithm import Algorithm, Task
from penstock.engine.over_hosts import Call, Part
from penstock.engine.result import Result
from penstock.engine.watched_peers import WatchedPeers
from penstock.store.graph import Graph
from penstock.types import Array
from penstock.version import __version__

#: The order of the ids stays in memory, for later results too, if it takes less than one of so many
#: parts of what is free.
ORDER_SHARE = 8


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A rank's file of a result in parts, and what its columns are."""

    file: PartFile
    name: str
    id_name: str
    id_dtype: str
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rank sends back."""

    #: None: the result is the same on every rank, or it was written.
    part: Part | None
    #: A result that is the same on every rank; the first one sends it.
    result: Result | None
    written: WrittenPart | None
    stats: Mapping[str, Any]
    iterations: list[dict[str, Any]]
    #: Of a run that is traced.
    timeline: Timeline | None
    #: Of the first rank, if the caller watches: how far the last stage has come.
    progress: list[Any] | None


# A rank's side


@dataclass(frozen=True, slots=True)
class RankTools:
    """What observes the call of one rank."""

    watch: RankWatch
    peers: WatchedPeers
    progress: RankProgress | None
    #: The clocks of all ranks, if the run is traced.
    clocks: Sequence[ClockOffset] | None


def answer_of(
    task: Task, result: Result, tools: RankTools, token: str, target: Target | None
) -> Answer:
    """What this rank sends back. If the result is written in parts, its part is written first."""
    peers, rank = tools.peers, tools.peers.rank
    whole = result if task.part is None and rank == 0 else None
    part, written = task.part, None
    if target is not None:
        table = whole if part is None else part_table(task.graph, complete(task))
        part = whole = None
        if table is not None:
            written = _write(target, rank, table)
    elif part is not None:
        keep_task(token, rank, task)
        part = keep_large(token, rank, part)
    timeline = None
    if tools.clocks is not None:
        metrics = None if task.engine is None else task.engine.metrics
        timeline = timeline_of(metrics, peers, tools.clocks)
    stats = {**result.stats, **tools.watch.facts(peers, task.engine)}
    progress = None if tools.progress is None else tools.progress.state()
    return Answer(part, whole, written, stats, result.iterations, timeline, progress)


def _write(target: Target, rank: int, table: Result) -> WrittenPart:
    file = write_part(target, rank, table)
    return WrittenPart(file, table.name, table.id_name, str(table.id_dtype), table.column_dtypes)


# The caller's side


def watched(hosts: Hosts, call: Call, run: Callable[..., Answer], job: object) -> list[Answer]:
    """``run(peers, job)`` on all ranks; the caller is shown the progress of the first."""
    progress = call.options.get("progress")
    if progress is None:
        alone: list[Answer] = hosts.run(run, job)
        return alone
    progress.start(f"{call.name} over {hosts.size} hosts", None, "")
    shown = ShownProgress(progress)
    answers: list[Answer] = hosts.run(run, job, heard=shown.hear)
    if answers[0].progress is not None:
        shown.finish(answers[0].progress)
    return answers


def result_of(
    hosts: Hosts, call: Call, answers: Sequence[Answer], token: str, target: Target | None,
    later: Callable[[str], Array],
) -> Result:  # fmt: skip
    """The result of a call, from the answers of all ranks. ``later``: makes a column that ranks
    have not made yet.
    """
    stats = join_stats([answer.stats for answer in answers])
    stats |= {"hosts": len(answers), "dashboard": hosts.dashboard}
    iterations = join_iterations([answer.iterations for answer in answers])
    timelines = [answer.timeline for answer in answers if answer.timeline is not None]
    if timelines:
        overwrite = bool(call.options.get("overwrite"))
        write_timelines(Path(call.options["trace"]), timelines, overwrite=overwrite)
    if target is not None:
        return _written_result(hosts, call, answers, target, stats, iterations)
    result = answers[0].result
    if result is None:
        parts = [answer.part for answer in answers if answer.part is not None]
        columns = fetch_columns(hosts, token, parts, call.graph.num_vertices)
        result = _joined(call.graph, parts[0], columns, later)
    result.stats, result.iterations = stats, iterations
    return result


def _joined(
    graph: Graph, first: Part, columns: Mapping[str, Any], later: Callable[[str], Array]
) -> Result:
    name, named = first.name, first.vid_columns
    others = {each: array for each, array in columns.items() if each != name}
    others |= {each: partial(later, each) for each in first.later}
    return Result.from_vids(
        graph, name, columns[name],
        columns={each: array for each, array in others.items() if each not in named},
        vid_columns={each: array for each, array in others.items() if each in named},
        values_are_vids=name in named, threads=thread_count(None),
        keep=ORDER_SHARE * 8 * graph.num_vertices < memory_budget(None),
    )  # fmt: skip


def _written_result(
    hosts: Hosts, call: Call, answers: Sequence[Answer], target: Target, stats: dict[str, Any],
    iterations: list[dict[str, Any]],
) -> Result:  # fmt: skip
    written = [answer.written for answer in answers if answer.written is not None]
    first = written[0]
    facts = {
        "penstock": __version__, "algorithm": call.name, "parameters": _all_parameters(call),
        "graph": stats["graph"], "graph_tag": f"{call.graph.tag:016x}", "ranks": len(answers),
        "rows": sum(each.file.rows for each in written), "name": first.name,
        "id_name": first.id_name, "id_dtype": first.id_dtype, "columns": first.columns,
        "parts": [each.file for each in written], "stats": stats, "iterations": iterations,
    }  # fmt: skip
    publish(hosts, target, facts)
    result = read_parts(target.folder)
    result.stats = {**stats, "out": str(target.folder)}
    return result


def _all_parameters(call: Call) -> dict[str, Any]:
    """The parameters of a call, with the defaults of those that were not given."""
    if call.name == "run":
        return {name: value for name, value in call.parameters.items() if name != "program"}
    algorithm: Algorithm = getattr(import_module(f"penstock.algorithms.{call.name}"), call.name)
    defaults = {name: each.default for name, each in algorithm.parameters.items()}
    return {**defaults, **call.parameters}

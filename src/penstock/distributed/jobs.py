"""From a call with ``hosts=`` to a result: the same call on every rank, and their parts joined."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from penstock.config import parse_bytes
from penstock.distributed.answers import Answer, RankTools, answer_of, result_of, watched
from penstock.distributed.balancing import call_balanced
from penstock.distributed.clocks import measure_offsets
from penstock.distributed.epochs import clear, epoch_options, run_attempts
from penstock.distributed.hosts import open_hosts
from penstock.distributed.later_columns import forget_tasks, make_column
from penstock.distributed.part_fetching import check_room, fetch_columns, forget_parts, keep_large
from penstock.distributed.rank_limits import means_of
from penstock.distributed.rank_progress import RankProgress
from penstock.distributed.rank_stats import RankWatch
from penstock.distributed.result_parts import Target, let_go, withdrawing
from penstock.distributed.sight import agree, stamp_of
from penstock.engine.algorithm import Algorithm, Task
from penstock.engine.epoch_files import EpochOptions
from penstock.engine.options import RunOptions
from penstock.engine.over_hosts import Call, Part
from penstock.engine.peers import Peers
from penstock.engine.result import Result
from penstock.engine.run import run_program
from penstock.engine.watched_peers import WatchedPeers
from penstock.errors import InputNotFoundError, OptionError
from penstock.metrics import clock
from penstock.process import retain_freed_memory
from penstock.progress import Silent
from penstock.store.paged import PagedGraph, open_graph
from penstock.types import Array

#: Freed memory that a rank retains for its next run, at most: new memory costs a run more than
#: working on it.
_RETAINED = 512 << 20
#: Options that a run over hosts does not have.
_NOT_YET = ("devices", "dispatch")
#: Those that the caller's side handles.
_OF_CALLER = ("progress", "overwrite", "trace", "checkpoint", "checkpoint_every", "resume")


@dataclass(frozen=True, slots=True)
class Job:
    """A call, as it is sent to the ranks."""

    path: Path
    tag: int
    name: str
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]
    epochs: EpochOptions
    #: Unique to this run.
    token: str
    #: The file of the timeline, which the caller writes.
    trace: Path | None
    #: Where the result is written in parts; None: it is returned to the caller.
    target: Target | None

    def attempt(self, epochs: EpochOptions) -> Job:
        """The job as the ranks of one attempt get it."""
        if epochs.token == self.epochs.token:
            return self
        options, target = dict(self.options), self.target
        if options.get("division", "auto").startswith("S"):
            options["division"] = "S"  # fewer ranks need not stand in the rows that were asked for
        if target is not None:
            target = replace(target, attempt=epochs.token)
        return replace(self, options=options, epochs=epochs, target=target)


# The caller's side


def run_call(hosts: Any, call: Call) -> Result:
    """Run a call on several hosts; the result is that of one machine."""
    began = clock()
    job = _make_job(call)
    note = (call.options.get("progress") or Silent()).note
    with open_hosts(hosts) as crew, withdrawing(job.target):
        if crew.threads is not None:
            job = replace(job, options={"threads": crew.threads, **job.options})

        def attempt(epochs: EpochOptions) -> list[Answer]:
            return watched(crew, call, run_rank, job.attempt(epochs))

        found = run_attempts(crew, attempt, job.epochs, note)
        later = partial(_later, hosts, call, job)
        target = job.attempt(found.epochs).target
        result = result_of(crew, call, found.answers, job.token, target, later)
        if "epochs" in found.answers[0].stats:
            clear(crew, found.epochs)
    result.stats["seconds"] = clock() - began
    if found.losses:
        result.stats["losses"] = found.losses
    _report(result.stats.get("epochs", {}), note)
    return result


def _later(hosts: Any, call: Call, job: Job, name: str) -> Array:
    """A column by vertex number that the ranks make now."""
    epochs = epoch_options(call.options)
    with open_hosts(hosts) as crew:

        def attempt(epochs: EpochOptions) -> list[Part]:
            return crew.run(column_of_rank, replace(job.attempt(epochs), trace=None), name)

        found = run_attempts(crew, attempt, epochs, Silent().note)
        return fetch_columns(crew, job.token, found.answers, call.graph.num_vertices)[name]


def _report(epochs: Mapping[str, Any], note: Callable[[str], object]) -> None:
    """Tell the user what the ranks report of epochs."""
    if epochs.get("resumed_after") is not None:
        note(f"went on after step {epochs['resumed_after']:,}")
    for text in epochs.get("notes", ()):
        note(text)


def _make_job(call: Call) -> Job:
    graph = call.graph
    if not isinstance(graph, PagedGraph) or graph.path is None:
        raise OptionError(
            "hosts: the graph is in memory or can change, and hosts read a stored graph; build it "
            "with ps.build(...), or compact it to a folder, or leave out hosts"
        )
    for name in _NOT_YET:
        if call.options.get(name) not in (None, False):
            raise OptionError(f"{name}: not available over hosts; leave it out, or hosts")
    options = {
        name: value
        for name, value in call.options.items()
        if value is not None and name not in _OF_CALLER
    }
    checked = RunOptions.of(**call.options)  # raises for invalid options, before ranks are started
    target, token, epochs = None, uuid.uuid4().hex, epoch_options(call.options)
    if call.out is None:
        check_room(graph.num_vertices)
    else:
        target = Target(call.out.absolute(), token[:24], epochs.token, checked.overwrite)
        target.check()
    return Job(
        graph.path.absolute(), graph.tag, call.name, call.parameters, options,
        epochs, token, checked.trace, target,
    )  # fmt: skip


# A rank's side


def run_rank(peers: Peers, job: Job) -> Answer:
    """Make the call, together with the other ranks."""
    tools = _tools(peers, job)
    graph = _open(job.path, job.tag)
    options = _rank_options(tools.peers, job.options)
    retain_freed_memory(min(_RETAINED, options.memory // 16), always=True)
    options = replace(options, epochs=job.epochs, trace=job.trace)
    if tools.progress is not None:
        options = replace(options, progress=tools.progress)
    task, result = call_balanced(
        lambda task: _call(task, job), graph, options, agree(tools.peers, graph)
    )
    return answer_of(task, result, tools, job.token, job.target)


def _call(task: Task, job: Job) -> Result:
    if job.name == "run":
        return run_program(task, **job.parameters)
    algorithm: Algorithm = getattr(import_module(f"penstock.algorithms.{job.name}"), job.name)
    return algorithm.call(task, job.parameters)


def column_of_rank(peers: Peers, job: Job, name: str) -> Part:
    """A column of this rank's part of a result that was made before."""
    part = make_column(peers, job.token, name, lambda: run_rank(peers, job))
    return keep_large(job.token, peers.rank, part)


def _tools(peers: Peers, job: Job) -> RankTools:
    """What observes this rank; raises if its part of the result cannot be written."""
    watch, watching = RankWatch(), WatchedPeers(peers, tracing=job.trace is not None)
    forget_parts(peers.rank, job.token)
    forget_tasks(peers.rank, job.token)
    let_go(peers.rank)
    if job.target is not None:
        job.target.begin()
    tell = getattr(peers, "tell", None)
    progress = None if tell is None else RankProgress(tell)
    clocks = None if job.trace is None else measure_offsets(watching)
    return RankTools(watch, watching, progress, clocks)


#: Graphs that are open, and what was in their directories then.
_opened: dict[Path, tuple[PagedGraph, Hashable]] = {}
#: Ranks that are threads of one process open a graph once.
_opening = Lock()


def _open(path: Path, tag: int) -> PagedGraph:
    """The graph, which stays open for the next call, with the lists that are in memory; it is
    opened again if stripes were added or lost.
    """
    with _opening:
        graph, stamp = _opened.get(path, (None, None))
        if graph is None or graph.tag != tag or stamp is None or stamp_of(graph) != stamp:
            _opened.clear()
            try:
                graph = open_graph(path)
            except InputNotFoundError as error:
                raise InputNotFoundError(
                    f"hosts: {error}, on {socket.gethostname()}; restore it there, deal or copy "
                    "the graph again, or leave out this host"
                ) from None
            stamp = stamp_of(graph)
        if graph.tag != tag:
            raise OptionError(
                f"hosts: {path} is another graph on {socket.gethostname()} than where the call was "
                "made; deal or copy it again"
            )
        _opened[path] = graph, stamp
        return graph


def _rank_options(peers: Peers, given: Mapping[str, Any]) -> RunOptions:
    """The options of one rank. All ranks have the memory of the one that has least, and plan with
    the threads of the one that has most, so that they plan alike.
    """
    memory = given.get("memory")
    asked = None if memory is None else parse_bytes(memory, "memory")
    mine = means_of(peers, memory=asked, threads=given.get("threads"))
    said = [each.tolist() for (each,) in peers.allgather(np.array(mine))]
    least, most = min(each[0] for each in said), max(each[1] for each in said)
    options = RunOptions.of(**{**given, "threads": mine.threads, "memory": least})
    return replace(options, peers=peers, planned_threads=most)

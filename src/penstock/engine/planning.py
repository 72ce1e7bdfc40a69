"""The plan of a run on an open graph: what counts, options and devices come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from penstock.device.spec import Device
from penstock.engine.counts import COUNTS, counts_of
from penstock.engine.engine import Engine
from penstock.engine.grid import grids
from penstock.engine.needs import Needs
from penstock.engine.options import RunOptions
from penstock.engine.plan import Plan, make_plan
from penstock.engine.rank_counts import counts_for
from penstock.engine.sizes import Loaded
from penstock.engine.topology import LISTS
from penstock.errors import BudgetError, OptionError
from penstock.store.graph import Graph

#: Counting, placing and writing an edge of a list that is turned round, on two threads.
BUILD_NS = 8.0


def plan_run(graph: Graph, requirements: Sequence[Needs], options: RunOptions) -> Plan:
    """The first of some needs that fits; nothing is read but indexes."""
    rooms = (None,) if options.on_plain_cpu else tuple(map(_room, options.devices))
    if options.peers.size > 1:
        return plan_hosts(graph, requirements, options)
    if options.rows_asked:
        raise OptionError(
            f"division: {options.division} says in how many rows hosts stand, and there is one "
            "host; use auto, P or S, or give hosts"
        )
    return make_plan(
        counts_for(graph, options), requirements, options, loaded=loaded_lists(graph), rooms=rooms
    )


def plan_hosts(graph: Graph, requirements: Sequence[Needs], options: RunOptions) -> Plan:
    """The plan of a run over several hosts, which stand in one row if that fits, else in as few as
    do.
    """
    ranks = options.peers.size
    # All hosts of a column of the grid read the same pages.
    all_see_all = not options.dealt
    in_rows = [needs for needs in requirements if needs.takes_rows and all_see_all]
    division = options.division if in_rows else "P"
    if options.division.startswith("S") and not in_rows:
        raise OptionError(
            f"division: this run cannot have its hosts in rows ({options.division}): "
            + ("every host looks at all values" if all_see_all else "each host has other pages")
            + "; leave out division"
        )
    has_out = counts_of(graph).has("out") and "out" not in graph.unbuilt
    edges = graph.degrees("out") if in_rows and has_out else None
    planned = options.planned_threads or options.threads
    # A rank with fewer threads has fewer pages on their way, and nothing else differs.
    streams = max(options.streams or 2 * options.threads, 1)
    refused: BudgetError | None = None
    for grid in grids(graph.num_vertices, ranks, division, edges):
        counts = counts_for(graph, options, grid)
        ways = requirements if grid is None else in_rows
        try:
            # Hosts must plan alike, and may have different things in memory: nothing is loaded.
            plan = make_plan(counts, ways, replace(options, threads=planned))
            return replace(plan, grid=grid, streams=min(plan.streams, streams))
        except BudgetError as error:
            refused = error
    advice = ", or more hosts" if in_rows else ""
    raise BudgetError(f"{refused} on each of {ranks} hosts{advice}")


def prepare_run(graph: Graph, requirements: Sequence[Needs], options: RunOptions) -> Plan:
    """The plan of a run that is about to begin: lists that it needs and that can be made are
    made.
    """
    plan = plan_run(graph, requirements, options)
    if not plan.builds:
        return plan
    for direction in plan.builds:
        edges = graph.list_stats(direction).num_edges
        options.progress.start(f"building {direction}-lists", edges, "edges")
        graph.build_lists(direction, options.memory // 2)
        options.progress.advance(edges)
    graph.kept.take(COUNTS)
    return plan_run(graph, requirements, options)


def build_seconds(graph: Graph, plan: Plan) -> float:
    """How long making the lists takes that a plan needs and that are not there yet, about."""
    edges = sum(graph.list_stats(each).num_edges for each in plan.builds)
    return 1e-9 * BUILD_NS * edges


def open_engine(graph: Graph, options: RunOptions, *requirements: Needs) -> Engine:
    """An engine for the first of some needs that fits."""
    return Engine(graph, prepare_run(graph, requirements, options), options)


def loaded_lists(graph: Graph) -> Loaded:
    """The lists that earlier runs left in memory."""
    return cast("Loaded", graph.kept.keys(LISTS))


def _room(spec: Device) -> int | None:
    """Bytes for gathered values. On a GPU they are there twice, before and after an iteration, and
    leave a quarter of its memory to pages.
    """
    if not spec.has_own_memory:
        return spec.memory
    from penstock.device.cuda.memory import check_gpu, free_bytes, gpu

    check_gpu(spec.number)
    memory = spec.memory
    if memory is None:
        with gpu(spec.number):
            memory = free_bytes()
    return memory * 3 // 8

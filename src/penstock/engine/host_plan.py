"""What a run over several hosts needs on each of them, before any is started: pure counting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.engine.algorithm import Algorithm
from penstock.engine.counts import counts_of
from penstock.engine.options import RunOptions
from penstock.engine.ownership import pages_by_number, vertices_of
from penstock.engine.peers import Planned
from penstock.engine.plan import Plan
from penstock.store.graph import Graph
from penstock.store.reading import read_locked


@dataclass(frozen=True, slots=True)
class HostPlan:
    """What the rank with the most needs."""

    hosts: int
    plan: Plan
    #: Bytes of its pages, those of all ranks, and what it keeps of its own decoded, if it does.
    page_bytes: int
    all_page_bytes: int
    lists_bytes: int
    own_vertices: int
    #: Values of vertices: its own, what it gathers from, and what has arrived for the next step.
    value_bytes: int
    #: The most values that arrive from others in an iteration; None: it depends on the frontier.
    received_bytes: int | None
    passes: float


@read_locked
def plan_over_hosts(
    graph: Graph,
    algorithm: Algorithm,
    parameters: Mapping[str, Any],
    options: RunOptions,
    hosts: int,
) -> HostPlan:
    """The plan of a call over some hosts, each with the memory and the threads of ``options``;
    raises what the call would raise before it begins.
    """
    plan = algorithm.plan(graph, replace(options, peers=Planned(hosts)), parameters)
    counts, needs = counts_of(graph), plan.needs
    pages = [np.zeros(hosts, np.int64)]
    for each in plan.directions:
        owners = pages_by_number(len(graph.page_table(each)), range(hosts))
        pages.append(np.bincount(owners, minlength=hosts))
    by_rank = np.sum(pages, axis=0) * counts.page_bytes
    table = graph.page_table(counts.stored("in") if counts.has("in") else "out")
    owners = pages_by_number(len(table), range(hosts))
    own = [vertices_of(table, owners, rank).count for rank in range(hosts)]
    received = None
    if needs.program is not None:
        received = needs.gathered_bytes * (counts.num_vertices - min(own))
    return HostPlan(
        hosts=hosts,
        plan=plan,
        page_bytes=int(by_rank.max()),
        all_page_bytes=int(by_rank.sum()),
        lists_bytes=plan.sizes.resident_bytes if plan.resident else 0,
        own_vertices=max(own),
        value_bytes=plan.sizes.state_bytes + plan.worker_bytes,
        received_bytes=received,
        passes=needs.passes,
    )

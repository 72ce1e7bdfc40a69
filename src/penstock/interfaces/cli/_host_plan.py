"""What ``penstock plan`` shows of a run over several hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import OptionError
from penstock.interfaces.cli._hosts import HostOptions
from penstock.interfaces.cli._options import WorkOptions

if TYPE_CHECKING:
    from penstock.engine.algorithm import Algorithm
    from penstock.engine.host_plan import HostPlan
    from penstock.store.graph import Graph


def over_hosts(
    algorithm: Algorithm,
    graph: Graph,
    parameters: dict[str, Any],
    work: WorkOptions,
    hosts: HostOptions,
) -> tuple[str, dict[str, Any]]:
    """What a run would need on each host, as text and as data."""
    from penstock.config import memory_budget, thread_count
    from penstock.distributed.host_choice import read_hosts
    from penstock.engine.host_plan import plan_over_hosts
    from penstock.engine.options import RunOptions
    from penstock.interfaces.cli._output import facts

    choice = read_hosts(hosts.hosts)
    count = choice.count or _count_workers(hosts)
    if count < 1:
        raise OptionError(f"hosts: {hosts.hosts} has no ranks")
    given = work.in_python()
    together = count if choice.kind == "count" else 1
    if given["memory"] is None:
        given["memory"] = memory_budget(None) // together
    if given["threads"] is None:
        given["threads"] = max(thread_count(None) // together, 1)
    options = RunOptions.of(**given)
    found = plan_over_hosts(graph, algorithm, parameters, options, count)
    data = {**_data(found), "memory": options.memory, "threads": options.threads}
    assumed = together == 1 and work.memory is None
    return f"\n\n{facts(_facts(found, options.memory, assumed=assumed))}", data


def _count_workers(hosts: HostOptions) -> int:
    """The size of an existing cluster, which is asked."""
    if hosts.hosts == "slurm":
        raise OptionError("hosts: the number of hosts is known within srun only; give a number")
    with hosts.open() as crew:
        return crew.size


def _data(found: HostPlan) -> dict[str, Any]:
    plan = found.plan
    return {
        "hosts": found.hosts,
        "passes": found.passes,
        "resident": plan.resident,
        "streams": plan.streams,
        "cache_pages": plan.cache_pages,
        "memory_bytes": plan.memory_bytes,
        "page_bytes": found.page_bytes,
        "all_page_bytes": found.all_page_bytes,
        "lists_bytes": found.lists_bytes,
        "value_bytes": found.value_bytes,
        "buffer_bytes": plan.streams * plan.sizes.stream_bytes,
        "own_vertices": found.own_vertices,
        "received_bytes": found.received_bytes,
    }


def _facts(found: HostPlan, memory: int, *, assumed: bool) -> list[tuple[str, str]]:
    """As text; each number is that of the rank with the most."""
    from penstock.config import format_bytes

    plan = found.plan
    how = "edges in memory" if plan.resident else f"edges streamed, {plan.streams} pages at a time"
    kept = min(plan.cache_pages * plan.sizes.page_bytes, found.page_bytes)
    if kept and not plan.resident:
        how += f", {format_bytes(kept)} of its pages stay in memory"
    parts = [("values", found.value_bytes), ("lists", found.lists_bytes), ("pages", kept)]
    parts.append(("buffers", plan.streams * plan.sizes.stream_bytes))
    if plan.resident:
        parts.remove(("pages", kept))
    shown = ", ".join(f"{name} {format_bytes(size)}" for name, size in parts if size)
    received = "depends on the frontier; not known before"
    if found.received_bytes is not None:
        received = f"{format_bytes(found.received_bytes)} an iteration at most"
    limit = f"{format_bytes(memory)} allowed"
    if assumed:
        limit += ", as for one rank on this machine; the others were not asked"
    return [
        ("ranks", f"{found.hosts}; what follows is for the one with the most"),
        ("how", how),
        ("passes", f"{found.passes:.3g}"),
        ("pages", f"{format_bytes(found.page_bytes)} of {format_bytes(found.all_page_bytes)}"),
        ("vertices", f"{found.own_vertices:,} own"),
        ("memory", f"{format_bytes(plan.memory_bytes)}  ({shown}; {limit})"),
        ("receives", received),
    ]

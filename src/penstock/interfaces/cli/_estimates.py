"""What a run will cost, told before it begins and beside what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.config import format_bytes

if TYPE_CHECKING:
    from penstock.engine.algorithm import Algorithm
    from penstock.engine.estimate import Estimate
    from penstock.store.graph import Graph

#: The options that an estimate depends on.
_OPTIONS = ("memory", "threads", "streams", "devices", "cache", "cache_pages", "load")

_LIMITS = {
    "disk": "by reading",
    "cores": "by the cores",
    "memory": "by how fast memory is reached",
}


def estimate(
    graph: Graph, algorithm: Algorithm, parameters: dict[str, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Seconds, bytes to read and bytes to hold; raises what the run would raise at once."""
    found = make_estimate(graph, algorithm, parameters, options)
    return {
        "seconds": found.seconds,
        "bytes_read": found.bytes_read,
        "memory_bytes": found.memory_bytes,
    }


def make_estimate(
    graph: Graph,
    algorithm: Algorithm,
    parameters: dict[str, Any],
    options: dict[str, Any],
    *,
    measure: bool = False,
) -> Estimate:
    """The whole estimate of a run with these options of the command line."""
    from penstock.engine.estimate import estimate_run
    from penstock.engine.options import RunOptions

    chosen = RunOptions.of(**{name: options[name] for name in _OPTIONS})
    return estimate_run(graph, algorithm, parameters, chosen, measure=measure)


def estimate_text(expected: dict[str, Any]) -> str:
    """One line."""
    return (
        f"estimated: {expected['seconds']:.2g} s, reading "
        f"{format_bytes(expected['bytes_read'])}, holding {format_bytes(expected['memory_bytes'])}"
    )


def plan_data(found: Estimate) -> dict[str, Any]:
    """An estimate and its plan, for programs."""
    plan = found.plan
    return {
        "seconds": found.seconds,
        "bytes_read": found.bytes_read,
        "memory_bytes": found.memory_bytes,
        "memory": dict(found.memory),
        "passes": found.passes,
        "limit": found.limit,
        "resident": plan.resident,
        "cut": plan.cut,
        "head_edges": plan.head_edges,
        "streams": plan.streams,
        "cache_pages": plan.cache_pages,
        "num_pages": found.num_pages,
        "state": plan.state,
        "ranges": plan.ranges,
        "resident_from_bytes": found.resident_bytes,
    }


def plan_facts(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The same for people."""
    parts = sorted(data["memory"].items(), key=lambda part: -part[1])
    shown = ", ".join(f"{name} {format_bytes(size)}" for name, size in parts if size)
    pairs = [
        ("how", how(data)),
        ("passes", f"{data['passes']:.3g}"),
        ("memory", f"{format_bytes(data['memory_bytes'])}  ({shown})"),
        ("to read", format_bytes(data["bytes_read"])),
        ("time", f"about {data['seconds']:.2g} s, limited {_LIMITS[data['limit']]}"),
    ]
    if not data["resident"]:
        enough = -(-data["resident_from_bytes"] // 10**6)
        pairs.append(("in memory", f"with --memory {enough}MB"))
    return pairs


def heads_in_memory(head_edges: int) -> str:
    """Which edges are in memory, of lists in tiers."""
    from penstock.stream.tiers import NO_LIMIT

    if head_edges >= NO_LIMIT:
        return "all edges of each vertex in memory"
    return f"the first {head_edges:,} edge{'s' * (head_edges != 1)} of each vertex in memory"


def how(data: dict[str, Any]) -> str:
    """Where edges and values will be."""
    if not data["passes"]:
        return "no edges read"
    if data["resident"]:
        cut = ", and once more in parts that fit the processor's cache" if data["cut"] else ""
        return f"edges in memory{cut}"
    if data["head_edges"] is not None:
        return f"{heads_in_memory(data['head_edges'])}; lists read when needed"
    kept, pages = data["cache_pages"], data["num_pages"]
    streams = data["streams"]
    text = f"edges streamed, {streams} page{'s' * (streams != 1)} at a time"
    text += f", {min(kept, pages):,} of {pages:,} pages stay in memory" if kept else ""
    if data["state"] == "streamed":
        text += "; of the values only what neighbours read is in memory"
    if data["ranges"] > 1:
        text += f", once for each of {data['ranges']} ranges of vertices"
    return text

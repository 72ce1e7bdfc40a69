"""What a run will cost, told before it begins and beside what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.config import format_bytes, format_seconds
from penstock.errors import OptionError

if TYPE_CHECKING:
    from penstock.engine.algorithm import Algorithm
    from penstock.engine.estimate import Estimate
    from penstock.engine.machine import Machine
    from penstock.engine.page_model import Pages
    from penstock.engine.stream_model import Prediction, Workload
    from penstock.store.graph import Graph

#: The options that an estimate depends on.
_OPTIONS = (
    *("memory", "threads", "streams", "devices", "division", "dispatch", "cache", "cache_pages"),
    "load",
)

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
    seconds = expected["seconds"]
    time = "time on a GPU not known" if seconds is None else format_seconds(seconds)
    return (
        f"estimated: {time}, reading "
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
        "devices": found.devices,
        "builds": list(plan.builds),
        "build_bytes": plan.build_bytes,
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
        ("time", _time_text(data)),
    ]
    if data["builds"]:
        lists = " and ".join(f"{each}-lists" for each in data["builds"])
        pairs.insert(1, ("makes first", f"{lists}, {format_bytes(data['build_bytes'])} in memory"))
    if not data["resident"]:
        enough = -(-data["resident_from_bytes"] // 10**6)
        pairs.append(("in memory", f"with --memory {enough}MB"))
    return pairs


def _time_text(data: dict[str, Any]) -> str:
    if data["seconds"] is None:
        return "not known on a GPU; describe it with --device to have it predicted"
    return f"about {format_seconds(data['seconds'])}, limited {_LIMITS[data['limit']]}"


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
        parts = "for the devices" if data["devices"] > 1 else "that fit the processor's cache"
        cut = f", and once more in parts {parts}" if data["cut"] else ""
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


# Machines that are only described

#: Said with every prediction.
MODEL = "predicted by the cost model of the GStream 2.0 paper; nothing was run or measured on a GPU"

_BOTTLENECKS = {
    "storage": "by reading from storage",
    "link": "by sending pages to the devices",
    "kernels": "by the kernels",
    "copies": "by copying values to the devices and back",
}
_STRATEGIES = {
    "P": "P: all values on each device, each page sent to one",
    "S": "S: values divided among the devices, each page sent to all",
}


def pages_of(
    graph: Graph | None, rmat: int | None, page_size: str | None, physical_ids: str | None
) -> Pages:
    """The slotted pages of a graph, or of an R-MAT graph that need not be there: in the format that
    is given, or in the paper's.
    """
    from penstock.config import parse_bytes
    from penstock.engine import page_model as model
    from penstock.interfaces.cli._options import number_pair
    from penstock.store.mapped import iter_parts

    if graph is None:
        assert rmat is not None
        degrees = model.rmat_degrees(rmat)
    else:
        direction = graph.stored("out" if "out" in graph.directions else "in")
        degrees = model.degree_groups(part for _, part in iter_parts(graph.degrees(direction)))
    if page_size is None and physical_ids is None:
        return model.paper_pages(degrees)
    if page_size is None:
        raise OptionError("page-size: expected one beside --physical-ids; give --page-size 1MiB")
    p, q = number_pair(physical_ids, "physical-ids") or (2, 2)
    form = model.PageFormat(p, q, parse_bytes(page_size, "page-size"))
    return model.count_pages(degrees, form)


def passes_of(
    algorithm: Algorithm, graph: Graph | None, parameters: dict[str, Any], given: float | None
) -> float:
    """Times that all pages are gone over: as given, as estimated for a graph, or the paper's."""
    from penstock.engine.stream_model import PAPER_PASSES

    if given is not None:
        if not 0 < given < float("inf"):
            raise OptionError(f"passes: expected more than 0, got {given}")
        return given
    if graph is not None:
        return algorithm.requirements(graph, **parameters)[-1].passes
    if algorithm.name not in PAPER_PASSES:
        raise OptionError(
            f"passes: how often {algorithm.name} goes over an R-MAT graph that is not there is not "
            "known; give --passes N"
        )
    return PAPER_PASSES[algorithm.name]


def prediction_data(work: Workload, machine: Machine, found: Prediction) -> dict[str, Any]:
    """A prediction, for programs."""
    from dataclasses import asdict

    return {
        "model": MODEL,
        "machine": asdict(machine),
        "num_vertices": work.pages.num_vertices,
        "num_edges": work.pages.num_edges,
        "pages": {
            "p": work.pages.format.p,
            "q": work.pages.format.q,
            "page_bytes": work.pages.format.page_bytes,
            "small": work.pages.num_small,
            "large": work.pages.num_large,
            "bytes": work.pages.topology_bytes,
        },
        "passes": work.passes,
        "wa_bytes": work.written_bytes,
        "ra_bytes": work.read_bytes,
        **asdict(found),
        "memory_bytes": found.plan.memory_bytes,
    }


def prediction_facts(work: Workload, machine: Machine, found: Prediction) -> list[tuple[str, str]]:
    """The same for people."""
    from penstock.engine.machine import machine_text

    pages, plan = work.pages, found.plan
    form = pages.format
    values = f"{format_bytes(work.written_bytes)} written"
    if work.read_bytes:
        values += f", {format_bytes(work.read_bytes)} only read, sent with the pages"
    how = _STRATEGIES[plan.strategy] if machine.devices.count > 1 else "values on the device"
    if plan.chunks > 1:
        how += f"; {plan.chunks} parts of them one after the other, all pages pass for each"
    parts = [("storage", found.storage_seconds), ("sending pages", found.link_seconds)]
    parts += [("kernels", found.kernel_seconds), ("copying values", found.copy_seconds)]
    shown = ", ".join(f"{name} {seconds:,.3g} s" for name, seconds in parts if seconds)
    edges = "" if machine.devices.edge_rate else "; kernels not counted: give edges= in --device"
    return [
        ("machine", machine_text(machine)),
        ("graph", f"{pages.num_vertices:,} vertices, {pages.num_edges:,} edges in lists"),
        (
            "pages",
            f"{pages.num_small:,} small and {pages.num_large:,} large of "
            f"{format_bytes(form.page_bytes)}, physical ids of {form.p}+{form.q} bytes: "
            f"{format_bytes(pages.topology_bytes)}",
        ),
        ("passes", f"{work.passes:.3g}"),
        ("values", values),
        ("strategy", how),
        (
            "on a device",
            f"{format_bytes(plan.memory_bytes)}  (values {format_bytes(plan.written_bytes)}, "
            f"pages {format_bytes(plan.buffer_bytes)}, their values "
            f"{format_bytes(plan.read_buffer_bytes)}; {plan.streams} streams)",
        ),
        ("in the host", f"{format_bytes(found.host_bytes)}, pages and values"),
        (
            "kept",
            f"{found.device_hits:.1%} of the pages on devices"
            + (f", {found.host_hits:.1%} in the host's memory" if machine.storages else ""),
        ),
        ("parts", shown + edges),
        (
            "time",
            f"about {format_seconds(found.seconds)}, limited {_BOTTLENECKS[found.limit]} "
            f"({format_seconds(found.plain_seconds)} for the pages alone, none kept)",
        ),
    ]

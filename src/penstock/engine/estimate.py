"""What a run will cost, before it begins: seconds, bytes from storage, memory.

The plan is the run's own. Costs come from counts of the graph and from the machine's profile. In a
pass, an edge costs what a random access costs at the place of the gathered vector that it leads to:
vertices are in order of descending degree, so that the beginning of the vector is what caches hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from penstock.engine.algorithm import Algorithm
from penstock.engine.counts import Counts, counts_of
from penstock.engine.division import ONE, Shares
from penstock.engine.needs import Needs
from penstock.engine.options import RunOptions
from penstock.engine.plan import SPARE_BYTES, Plan
from penstock.engine.planning import build_seconds
from penstock.engine.profile import Cores, Profile, profile_for
from penstock.engine.topology import CUT_LISTS, LISTS
from penstock.store.banded_decode import decode_body
from penstock.store.graph import Graph
from penstock.store.mapped import iter_parts, read_range
from penstock.store.reading import read_locked
from penstock.types import Direction

Limit = Literal["disk", "cores", "memory"]

#: Pieces' worth of overhead in a streamed page: it is looked up, read, checked, decoded, kept.
PAGE_CALLS = 60
#: Times a vertex or list of PageRank costs more than one of the profile: it also divides, compares
#: and adds up totals.
APPLY_WORK = 1.25
#: In a run, the lists that pass, and the lines around values that are met once, take room in caches
#: that the profile's vectors have for themselves: a vector seems so many times longer.
CROWDING = 4
#: Cutting lists for the cache looks at each edge twice for each range, and guesses wrong often.
CUT_NS = 2.0
#: The same for a device's own range only.
NARROW_NS = 0.8
#: A byte to or from a scratch file, through the system.
SCRATCH_NS = 2.0
#: Parts of columns on their way to and from scratch files, and what the C library keeps of them.
TRAVELLING_BYTES = 10 << 20
#: Making threads and the like; and loading compiled kernels, once in a process.
START_SECONDS = 0.03
KERNEL_SECONDS = 0.9
#: Checking a byte of an index file, once in a process.
CHECK_NS = 0.85
UNBOUNDED = 1 << 62
#: Gathers from vectors longer than this wait for memory.
NEAR_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Facts:
    """What an estimate needs to know of a graph, for the lists that a run looks at.

    Lists are counted if they are not empty, pages if they hold entries.
    """

    num_vertices: int
    num_lists: int
    num_edges: int
    num_pages: int
    page_bytes: int
    #: The lists decoded, all in memory; buffers of one stream; values of all vertices.
    topology_bytes: int
    stream_bytes: int
    state_bytes: int
    #: The budget from which on the topology stays in memory.
    resident_bytes: int
    #: For each vector size of the profile, the share of edges that lead to the first vertices,
    #: those whose values seem to be so many bytes.
    shares: tuple[float, ...]
    #: Lists that an earlier run left in memory; lists cut for the cache, too.
    loaded: bool = False
    cut_made: bool = False
    #: Ranges that lists are cut into for the cache.
    cut_ranges: int = 1
    #: Whether no page has been decoded in this process: then kernels have to be loaded first.
    fresh: bool = False
    #: Of index files, which are checked before their first use in a process.
    index_bytes: int = 0
    #: How devices divide the work, how many they are, and how many threads they are worth.
    division: Shares = ONE
    devices: int = 1
    speed: float | None = None
    #: Edges of the device that has most, over the mean.
    imbalance: float = 1.0

    def threads(self, profile: Profile) -> float:
        """Threads at work."""
        return profile.threads if self.speed is None else self.speed


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will cost, and how it will go."""

    #: None if a GPU takes part: nothing is known of its speed.
    seconds: float | None
    #: Bytes from storage.
    bytes_read: int
    #: Bytes held beyond the base, at most.
    memory_bytes: int
    #: Times the lists are gone over; each takes ``plan.ranges`` times the pages.
    passes: float
    limit: Limit
    plan: Plan
    #: What ``memory_bytes`` are for.
    memory: Mapping[str, int]
    #: The budget from which on the topology stays in memory.
    resident_bytes: int
    #: Pages with edges in them.
    num_pages: int
    #: Devices that divide the values among them.
    devices: int = 1


@read_locked
def estimate_run(
    graph: Graph,
    algorithm: Algorithm,
    parameters: Mapping[str, Any],
    options: RunOptions,
    *,
    measure: bool = False,
) -> Estimate:
    """What a call of an algorithm will cost; raises what the run would raise before it begins.
    ``measure``: measure the machine again.
    """
    plan = algorithm.plan(graph, options, parameters)
    most = algorithm.plan(graph, replace(options, memory=UNBOUNDED, load=True), parameters)
    profile = profile_for(graph, options.threads, options.memory, anew=measure)
    facts = facts_of(graph, plan, most, profile.cores.gather_bytes)
    speed = sum((device.threads or 1) / device.slowdown for device in options.devices)
    count = len(options.devices)
    uneven = _imbalance(graph, plan.shares, count) if plan.shares.division == "S" else 1.0
    facts = replace(facts, devices=count, speed=speed, imbalance=uneven)
    found = estimate(plan.needs, plan, facts, profile)
    if any(device.has_own_memory for device in options.devices):
        return replace(found, seconds=None)
    return replace(found, seconds=(found.seconds or 0.0) + build_seconds(graph, plan))


# The graph


def facts_of(graph: Graph, plan: Plan, most: Plan, gather_bytes: Sequence[int]) -> Facts:
    """Count what an estimate needs; ``most``: the plan if memory had no end."""
    counts, columns, stored = counts_of(graph), plan.needs.columns, plan.directions
    edges, pages, lists = 0, 0, 0
    for direction in stored:
        of_pages = graph.page_table(direction)["num_edges"]
        edges += int(of_pages.sum(dtype=np.int64))
        pages += int(np.count_nonzero(of_pages))
        lists += sum(int(np.count_nonzero(p)) for _, p in iter_parts(graph.degrees(direction)))
    loaded = {key[0] for key in graph.kept.keys(LISTS) if key[1] == columns}
    return Facts(
        graph.num_vertices,
        lists,
        edges,
        pages,
        counts.page_bytes,
        plan.sizes.resident_bytes,
        plan.sizes.stream_bytes,
        plan.sizes.state_bytes + plan.worker_bytes,
        most.memory_bytes - (most.sizes.cut_bytes if most.cut else 0),
        _shares(counts, stored, max(plan.needs.gathered_bytes, 1), gather_bytes),
        loaded=loaded >= set(stored),
        cut_made=any(key[-1] == columns for key in graph.kept.keys(CUT_LISTS)),
        cut_ranges=plan.cut_ranges,
        fresh=not getattr(decode_body, "overloads", True),
        index_bytes=_index_bytes(graph),
        division=plan.shares,
    )


def _index_bytes(graph: Graph) -> int:
    """What the index files take that are read with the pages."""
    files = {} if graph.storage is None else graph.storage.catalog.files
    return sum(each.bytes for each in files.values())


def _imbalance(graph: Graph, shares: Shares, devices: int) -> float:
    """In Strategy S a device has the edges that lead to its vertices."""
    degrees = graph.degrees("out" if "out" in graph.directions else "in")
    size = -(-len(degrees) // shares.ranges)
    edges = [0] * devices
    for k, begin in enumerate(range(0, len(degrees), size)):
        part = read_range(degrees, begin, min(begin + size, len(degrees)))
        edges[k % devices] += int(part.sum(dtype=np.int64))
    return max(edges) * devices / max(sum(edges), 1)


def _shares(
    counts: Counts, stored: Sequence[Direction], width: int, gather_bytes: Sequence[int]
) -> tuple[float, ...]:
    """The share of edges that lead to the vertices whose values are the first bytes."""
    if not stored:
        return tuple(1.0 for _ in gather_bytes)
    # An in-list leads to a vertex as often as that has out-edges.
    other: Direction = "out" if stored[0] == "in" else "in"
    known = other in counts.directions or not counts.directed
    towards = counts.of(other if known else stored[0])
    degrees = towards.degrees()
    total = max(towards.num_edges, 1)
    shares, begin, found = [], 0, 0
    for size in gather_bytes:
        end = min(size // CROWDING // width, len(degrees))
        found += int(read_range(degrees, begin, end).sum(dtype=np.int64)) if end > begin else 0
        begin = max(begin, end)
        shares.append(found / total)
    return tuple(shares)


# The model


def estimate(needs: Needs, plan: Plan, facts: Facts, profile: Profile) -> Estimate:
    """From counts and prices to seconds."""
    passes = needs.passes
    near, far = _edge_ns(facts, profile.cores)
    if plan.resident:
        read = 0 if facts.loaded or profile.disk is None else facts.num_pages * facts.page_bytes
        load = _Work() if facts.loaded else _loading(facts, profile)
        again = _pass_in_memory(needs, plan, facts, profile.cores)
        cut = _Work()
        if plan.cut and not facts.cut_made:
            cut = _cutting(facts, profile.cores)
        seconds = load.seconds(plan, profile, facts) + (cut.cpu_ns + passes * again.cpu_ns) / (
            1e9 * facts.threads(profile)
        )
        disk = load.reading(profile) > 0.5 * seconds
        limit: Limit = "disk" if disk else "memory" if far > near and not plan.cut else "cores"
    else:
        rounds = passes * plan.ranges * facts.division.ranges
        if facts.division.division == "S" and plan.cache_pages:
            rounds /= facts.devices  # what one device has read is there for the others
        hits = min(plan.cache_pages, facts.num_pages) * max(rounds - 1, 0.0)
        pages = max(rounds * facts.num_pages - hits, min(rounds, 1.0) * facts.num_pages)
        read = 0 if profile.disk is None else int(pages) * facts.page_bytes
        work = _streaming(needs, plan, facts, profile, passes, read)
        seconds = work.seconds(plan, profile, facts)
        disk = work.reading(profile) >= work.cpu_ns / (1e9 * facts.threads(profile))
        limit = "disk" if disk else "memory" if far > near else "cores"
    memory = _memory_parts(plan, facts)
    if facts.fresh:
        seconds += KERNEL_SECONDS + 1e-9 * CHECK_NS * facts.index_bytes
    return Estimate(
        START_SECONDS + seconds, read, sum(memory.values()), passes, limit, plan, memory,
        facts.resident_bytes, facts.num_pages,
        facts.devices if facts.division.division == "S" else 1,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Work:
    """Time on the threads, all together, and bytes from storage."""

    cpu_ns: float = 0.0
    read: int = 0

    def reading(self, profile: Profile) -> float:
        """Seconds that the storage needs."""
        return self.read / profile.disk.rate if profile.disk is not None else 0.0

    def seconds(self, plan: Plan, profile: Profile, facts: Facts) -> float:
        """How long it takes: as long as storage or threads need, whichever is more; or, as each
        stream does one thing after the other, as long as both together need on all streams.
        """
        cpu, disk = self.cpu_ns / 1e9, profile.disk
        threads = min(facts.threads(profile), plan.streams)
        waiting = 0.0 if disk is None else self.read / disk.stream_rate
        return max(self.reading(profile), cpu / threads, (cpu + waiting) / plan.streams)


def _loading(facts: Facts, profile: Profile) -> _Work:
    """Reading all lists into memory."""
    cores, disk = profile.cores, profile.disk
    read = 0 if disk is None else facts.num_pages * facts.page_bytes
    cpu = _page_ns(facts, profile, facts.num_pages, read)
    cpu += facts.topology_bytes * (cores.array_ns + cores.sweep_ns)
    return _Work(cpu, read)


def _page_ns(facts: Facts, profile: Profile, pages: float, read: int) -> float:
    """Getting and decoding pages, of which some bytes come from storage."""
    cores = profile.cores
    share = pages / max(facts.num_pages, 1)
    cpu = share * facts.num_edges * cores.decode_edge_ns
    cpu += share * facts.num_vertices * cores.decode_vertex_ns
    cpu += pages * PAGE_CALLS * cores.call_ns
    return cpu + (0.0 if profile.disk is None else read * profile.disk.cpu_ns)


def _pass_in_memory(needs: Needs, plan: Plan, facts: Facts, cores: Cores) -> _Work:
    n, edges = facts.num_vertices, facts.num_edges
    vertices = APPLY_WORK * (n * cores.vertex_ns + facts.num_lists * cores.list_ns)
    near, far = _edge_ns(facts, cores)
    if plan.cut:
        size = n * max(needs.gathered_bytes, 1) / facts.cut_ranges
        near, far = min(_uniform_ns(cores, size), near + far), 0.0
        vertices += facts.cut_ranges * n * (cores.vertex_ns + cores.list_ns / 2)
    each = facts.imbalance * (near + far)
    narrow = 0.0
    if facts.division.ranges > 1 and not plan.cut:
        narrow = _narrowing(facts, cores)
    return _Work(needs.work * (vertices + edges * each) + narrow)


def _narrowing(facts: Facts, cores: Cores) -> float:
    """Leaving of lists what leads to each range of vertices, each time that they pass."""
    ranges = facts.division.ranges
    return ranges * (facts.num_edges * NARROW_NS + facts.num_vertices * cores.list_ns)


def _cutting(facts: Facts, cores: Cores) -> _Work:
    """Making lists cut for the cache."""
    new = 4 * (facts.num_edges + facts.cut_ranges * facts.num_vertices)
    return _Work(facts.cut_ranges * facts.num_edges * CUT_NS + new * cores.array_ns)


def _streaming(
    needs: Needs, plan: Plan, facts: Facts, profile: Profile, passes: float, read: int
) -> _Work:
    """All passes over pages."""
    cores, n = profile.cores, facts.num_vertices
    near, far = _edge_ns(facts, cores)
    vertices = APPLY_WORK * (n * cores.vertex_ns + facts.num_lists * cores.list_ns)
    cpu = passes * needs.work * (vertices + facts.num_edges * facts.imbalance * (near + far))
    ranges = plan.ranges * facts.division.ranges
    cpu += _page_ns(facts, profile, passes * ranges * facts.num_pages, read)
    if facts.division.ranges > 1:
        cpu += passes * plan.ranges * _narrowing(facts, cores)
    cpu += min(plan.cache_pages, facts.num_pages) * facts.page_bytes * cores.buffer_ns
    if plan.state != "memory":
        moved = needs.vertex_bytes + needs.gathered_bytes
        if plan.ranges > 1:
            moved += plan.ranges * 2 * 8
            cpu += passes * plan.ranges * (facts.num_edges * CUT_NS + n * cores.list_ns)
        cpu += passes * n * moved * SCRATCH_NS
    return _Work(cpu, read)


def _edge_ns(facts: Facts, cores: Cores) -> tuple[float, float]:
    """Gathering along an edge: what values near the vector's beginning add to the mean time of
    one, and what those do that caches do not hold.
    """
    near = far = below = 0.0
    for size, share, price in zip(cores.gather_bytes, facts.shares, _prices(cores), strict=False):
        part = (share - below) * price
        near, far = (near + part, far) if size <= NEAR_BYTES else (near, far + part)
        below = share
    return near, far + (1 - below) * _prices(cores)[-1]


def _prices(cores: Cores) -> list[float]:
    """The time of a value between two sizes of the profile.

    If values are met evenly, the time for a vector is the mean of the prices of its parts.
    """
    prices, size, total = [], 0, 0.0
    for end, mean in zip(cores.gather_bytes, cores.gather_ns, strict=True):
        prices.append(max((end * mean - total) / (end - size), cores.gather_ns[0]))
        size, total = end, end * mean
    return prices


def _uniform_ns(cores: Cores, size: float) -> float:
    """The mean time of values that are met evenly."""
    below, total = 0.0, 0.0
    for end, price in zip(cores.gather_bytes, _prices(cores), strict=True):
        part = max(min(size, end) - below, 0.0)
        total += part * price
        below += part
    return (total + (size - below) * _prices(cores)[-1]) / max(size, 1.0)


def _memory_parts(plan: Plan, facts: Facts) -> dict[str, int]:
    parts = {"buffers": plan.streams * facts.stream_bytes}
    if plan.head_edges is not None:
        parts["state"] = facts.state_bytes
        rest = plan.memory_bytes - SPARE_BYTES - sum(parts.values())
        return {**parts, "first edges and where lists are": rest, "other": SPARE_BYTES}
    if plan.resident:
        parts["topology"] = facts.topology_bytes
        parts["state"] = facts.state_bytes
    else:
        parts["cache"] = plan.cache_pages * facts.page_bytes
        parts["state"] = plan.memory_bytes - SPARE_BYTES - sum(parts.values())
        travelling = 0 if plan.state == "memory" else TRAVELLING_BYTES
        return {**parts, "other": SPARE_BYTES + travelling}
    rest = plan.memory_bytes - SPARE_BYTES - sum(parts.values())
    return {**parts, **({"lists cut for the cache": rest} if rest else {}), "other": SPARE_BYTES}

"""What a run will hold in memory, decided before it begins. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from penstock.config import format_bytes
from penstock.errors import BudgetError
from penstock.stream.budget import spell_enough
from penstock.types import I64

#: Small arrays, results on their way, the allocator's crumbs.
SPARE_BYTES = 2 << 20

#: Gathered values are kept in so many ranges at most: the topology passes once for each.
MOST_RANGES = 256

#: Where the values of vertices are. "memory": all of them. "streamed": what is gathered is in
#: memory, the rest travels with the pages. "ranges": what is gathered is in memory range by range,
#: and the topology passes once for each.
StateTier = Literal["memory", "streamed", "ranges"]


@dataclass(frozen=True, slots=True)
class Lists:
    """One direction of the topology: what its parts take."""

    num_pages: int
    page_bytes: int
    #: Buffers of one stream.
    stream_bytes: int
    #: The whole direction, decoded.
    resident_bytes: int


@dataclass(frozen=True, slots=True)
class TierNeeds:
    """What the lists take if only their first edges are in memory."""

    #: Everything that does not depend on how many those are.
    fixed_bytes: int
    #: Entry k: what else it takes if each list has its first k edges there; the last: all of them.
    head_bytes: I64
    #: The k that is asked for; None: as memory allows.
    head_edges: int | None = None

    def most_edges(self, room: int) -> int:
        """The largest k that fits some bytes, -1 if none does."""
        fits = np.flatnonzero(self.head_bytes <= room)
        return int(fits[-1]) if len(fits) else -1

    def bytes(self, head_edges: int) -> int:
        """What everything takes with a k."""
        return self.fixed_bytes + int(self.head_bytes[min(head_edges, len(self.head_bytes) - 1)])


@dataclass(frozen=True, slots=True)
class Needs:
    """What a run must or would like to hold, in bytes."""

    lists: tuple[Lists, ...]
    #: Values of all vertices, all in memory.
    state_bytes: int
    #: The part of them that is gathered, if the rest may travel with the pages; None: it may not.
    gathered_bytes: int | None = None
    #: What stays in memory even then.
    always_bytes: int = 0
    #: A second form of the topology, cut for the cache, if there is room for it.
    cut_bytes: int = 0
    #: The topology in tiers, if the run can do with it.
    tier: TierNeeds | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """How a run uses its memory."""

    streams: int
    #: Whether the topology is loaded once and stays, decoded.
    resident: bool
    #: Whether it is also kept in ranges that fit the processor's cache.
    cut: bool
    #: Pages of each direction that may stay, if it is not resident.
    cache_pages: int
    state: StateTier
    #: Ranges of gathered values (W).
    ranges: int
    #: What the run will hold beyond its base, at most.
    memory_bytes: int
    #: Edges of each list that are in memory, if lists are in tiers.
    head_edges: int | None = None


def make_plan(
    needs: Needs,
    memory: int,
    *,
    threads: int,
    streams: int | None = None,
    cache_pages: int | None = None,
    load: bool = True,
    devices: int = 1,
) -> Plan:
    """Decide, or raise a BudgetError that says what would do. Each device has a stream at least."""
    page_total = sum(each.num_pages for each in needs.lists)
    wanted = streams or 2 * threads
    wanted = max(devices, min(wanted, max((each.num_pages for each in needs.lists), default=1)))
    per_stream = sum(each.stream_bytes for each in needs.lists)
    page = max((each.page_bytes for each in needs.lists), default=0) or 1
    resident = sum(each.resident_bytes for each in needs.lists)
    fixed = needs.state_bytes + SPARE_BYTES + wanted * per_stream
    asked = needs.tier is not None and needs.tier.head_edges is not None
    if load and not asked and fixed + resident <= memory:
        cut = needs.cut_bytes > 0 and fixed + resident + needs.cut_bytes <= memory
        total = fixed + resident + (needs.cut_bytes if cut else 0)
        return Plan(wanted, True, cut, 0, "memory", 1, total)
    if needs.tier is not None:
        in_tiers = _plan_tiers(needs.tier, memory, fixed, wanted)
        if in_tiers is not None:
            return in_tiers
    tiers: list[tuple[StateTier, int]] = [("memory", needs.state_bytes)]
    if needs.gathered_bytes is not None:
        tiers.append(("streamed", needs.gathered_bytes + needs.always_bytes))
    # Fewer streams first: a pass more over the topology costs more than a stream less.
    counts = [wanted] if streams else sorted({wanted, threads, devices}, reverse=True)
    for tier, held in tiers:
        for count in counts:
            left = memory - held - SPARE_BYTES - count * per_stream
            if left >= 0 and count <= wanted:
                most = page_total if cache_pages is None else cache_pages
                pages = min(left // page, most)
                total = memory - left + pages * page
                return Plan(count, False, False, pages, tier, 1, total)
    if needs.gathered_bytes:
        count = counts[-1]
        left = memory - needs.always_bytes - SPARE_BYTES - count * per_stream
        if left >= -(-needs.gathered_bytes // MOST_RANGES):
            ranges = -(-needs.gathered_bytes // left)
            return Plan(count, False, False, 0, "ranges", ranges, memory)
    raise BudgetError(_refusal(needs, memory, counts[-1] * per_stream + SPARE_BYTES))


def _plan_tiers(tier: TierNeeds, memory: int, fixed: int, streams: int) -> Plan | None:
    """A plan with lists in tiers; None if memory is too short for any."""
    k = tier.head_edges
    if k is None:
        k = tier.most_edges(memory - fixed - tier.fixed_bytes)
        if k < 1:
            return None
    total = fixed + tier.bytes(k)
    if total > memory:
        raise BudgetError(
            f"memory: {format_bytes(memory)} is not enough to keep the first {k:,} edges of each "
            f"vertex in memory; {spell_enough(total)} would do"
        )
    return Plan(streams, False, False, 0, "memory", 1, total, k)


def _refusal(needs: Needs, memory: int, buffers: int) -> str:
    values = needs.state_bytes
    if needs.gathered_bytes is not None:
        least = needs.always_bytes + -(-needs.gathered_bytes // MOST_RANGES)
        values = min(values, least)
    return (
        f"memory: {format_bytes(memory)} is not enough: the values of the vertices that must be in "
        f"memory take {format_bytes(values)}, the buffers of the streams {format_bytes(buffers)}; "
        f"{spell_enough(values + buffers)} would do"
    )

"""What a run will hold in memory, decided before it begins. Pure functions of counts, needs and
options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from penstock.config import format_bytes
from penstock.engine.counts import Counts
from penstock.engine.division import MOST_RANGES, ONE, Shares
from penstock.engine.grid import Grid
from penstock.engine.needs import Needs, Room
from penstock.engine.options import RunOptions
from penstock.engine.sizes import Loaded, Sizes, cuts_of, shares_of, sizes_of
from penstock.errors import BudgetError, OptionError
from penstock.stream.budget import spell_enough
from penstock.types import Direction

#: Small arrays, results on their way, allocator overhead.
SPARE_BYTES = 2 << 20

#: Where the values of vertices are. "memory": all of them. "streamed": what is gathered is in
#: memory, the rest travels with the pages. "ranges": what is gathered is in memory range by range,
#: and the topology passes once for each.
StateTier = Literal["memory", "streamed", "ranges"]

NOTHING, NO_BYTES = Needs((), 0.0), Sizes((), 0)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use."""

    memory: int
    threads: int
    #: Pages on their way at once; None: so many for each thread, or fewer if memory is short.
    streams: int | None = None
    streams_per_thread: int = 2
    cache_pages: int | None = None
    devices: int = 1


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
    #: Bytes granted of those that the run can do with more or fewer of, and those of its workers.
    room: int = 0
    worker_bytes: int = 0
    #: The way to run that was chosen, and its sizes with the room that is granted.
    needs: Needs = NOTHING
    sizes: Sizes = NO_BYTES
    #: The stored lists that it counts with.
    directions: tuple[Direction, ...] = ()
    #: Those of them that are made first, and what that takes.
    builds: tuple[Direction, ...] = ()
    build_bytes: int = 0
    #: Ranges that lists are cut into, if they are.
    cut_ranges: int = 1
    #: How the devices of a program divide it.
    shares: Shares = ONE
    #: How hosts stand in rows, if they do.
    grid: Grid | None = None


class Refusal(NamedTuple):
    """Why there is no plan: how much memory is enough, and a message that says so."""

    enough: int
    text: str


def make_plan(
    counts: Counts,
    requirements: Sequence[Needs],
    options: RunOptions,
    *,
    loaded: Loaded = frozenset(),
    rooms: Sequence[int | None] = (None,),
) -> Plan:
    """Take the first of the needs that fits the memory; or raise a BudgetError that says what is
    enough. ``rooms``: bytes that each device has for gathered values (None: as many as they take).
    """
    refused = None
    for needs in requirements:
        plan = _plan(counts, needs, options, loaded, rooms)
        if isinstance(plan, Plan):
            return plan
        refused = plan or refused
    if refused is None:
        way = requirements[-1].way or "load"
        raise OptionError(f"{way}: needs lists in memory, but load is False; leave out load")
    raise BudgetError(refused.text)


def _plan(
    counts: Counts, needs: Needs, options: RunOptions, loaded: Loaded, rooms: Sequence[int | None]
) -> Plan | Refusal | None:
    """A plan, or why there is none; None if lists cannot have a form that is needed."""
    stored = counts.all_stored(needs.directions)
    shares = shares_of(counts, needs, options, rooms)
    cuts = cuts_of(counts, needs, options, shares)
    sizes = sizes_of(counts, needs, options, loaded, shares, cuts)
    if not sizes.forms:
        return None
    limits = Limits(
        options.memory, options.threads, options.streams, needs.streams_per_thread,
        options.cache_pages, len(options.devices),
    )  # fmt: skip
    least = 0 if needs.room is None else needs.room.least
    plan = fit(_with_room(sizes, least), limits)
    parts = [_plan(counts, part, options, loaded, rooms) for part in needs.parts]
    if None in parts:
        return None
    refused = [each for each in parts if isinstance(each, Refusal)]
    if plan is None:
        refused.append(refusal(_with_room(sizes, least), limits))
    if refused:
        return max(refused, key=lambda each: each.enough)
    assert plan is not None
    room = least
    if needs.room is not None:
        room = _grant(plan, sizes, needs.room, options.memory)
        plan = fit(_with_room(sizes, room), limits)
        assert plan is not None, "what is granted fits"
    return replace(
        plan, room=room, needs=needs, sizes=_with_room(sizes, room), directions=stored,
        builds=tuple(each for each in stored if each in counts.unbuilt),
        build_bytes=sum(counts.lists[each].build_bytes for each in stored),
        cut_ranges=cuts, shares=shares,
    )  # fmt: skip


def _with_room(sizes: Sizes, room: int) -> Sizes:
    return replace(sizes, state_bytes=sizes.state_bytes + room)


def _grant(plan: Plan, sizes: Sizes, room: Room, memory: int) -> int:
    """How much room there is: pages need not stay in memory for it, nor lists if they can stream.
    ``plan``: with the least.
    """
    held = plan.memory_bytes - plan.cache_pages * sizes.page_bytes - room.least
    if plan.resident and "stream" in sizes.forms:
        held -= sizes.resident_bytes
    return max(min(room.most, memory - held), room.least)


# Fitting


def fit(sizes: Sizes, limits: Limits) -> Plan | None:
    """The best form that fits the memory."""
    wanted = _wanted_streams(sizes, limits)
    workers = sizes.worker_total(wanted, limits.threads)
    fixed = sizes.state_bytes + SPARE_BYTES + wanted * sizes.stream_bytes + workers
    held = fixed + sizes.resident_bytes
    if "memory" in sizes.forms and held <= limits.memory:
        cut = 0 < sizes.cut_bytes <= limits.memory - held
        total = held + (sizes.cut_bytes if cut else 0)
        return Plan(wanted, True, cut, 0, "memory", 1, total, worker_bytes=workers)
    if "heads" in sizes.forms:
        assert sizes.heads is not None
        edges = sizes.head_edges
        if edges is None:
            edges = sizes.heads.most_edges(limits.memory - fixed - sizes.heads.fixed)
        total = fixed + sizes.heads.with_edges(max(edges, 0))
        if total <= limits.memory and (edges > 0 or sizes.head_edges is not None):
            return Plan(wanted, False, False, 0, "memory", 1, total, edges, worker_bytes=workers)
    return _fit_streams(sizes, limits, wanted) if "stream" in sizes.forms else None


def _wanted_streams(sizes: Sizes, limits: Limits) -> int:
    """Pages on their way at once, if memory allows. Each device has a stream at least."""
    wanted = limits.streams or limits.streams_per_thread * limits.threads
    most_pages = max((each.num_pages for each in sizes.lists), default=1)
    return max(limits.devices, min(wanted, most_pages))


def _stream_counts(limits: Limits, wanted: int) -> list[int]:
    """Fewer streams first: a pass more over the topology costs more than a stream less."""
    if limits.streams:
        return [wanted]
    counts = {wanted, min(limits.threads, wanted), limits.devices}
    return sorted(counts, reverse=True)


def _fit_streams(sizes: Sizes, limits: Limits, wanted: int) -> Plan | None:
    """With pages that pass; values leave memory only if they must."""
    page_total = sum(each.num_pages for each in sizes.lists)
    most = page_total if limits.cache_pages is None else limits.cache_pages
    counts = _stream_counts(limits, wanted)

    def left_by(held: int, count: int) -> int:
        workers = sizes.worker_total(count, limits.threads)
        return limits.memory - held - SPARE_BYTES - count * sizes.stream_bytes - workers

    tiers: list[tuple[StateTier, int]] = [("memory", sizes.state_bytes)]
    if sizes.gathered_bytes is not None:
        tiers.append(("streamed", sizes.gathered_bytes + sizes.always_bytes))
    for tier, held in tiers:
        for count in counts:
            left = left_by(held, count)
            if left >= 0:
                pages = min(left // sizes.page_bytes, most)
                total = limits.memory - left + pages * sizes.page_bytes
                workers = sizes.worker_total(count, limits.threads)
                return Plan(count, False, False, pages, tier, 1, total, worker_bytes=workers)
    if sizes.gathered_bytes:
        count = counts[-1]
        left = left_by(sizes.always_bytes, count)
        if left >= -(-sizes.gathered_bytes // MOST_RANGES):
            ranges = -(-sizes.gathered_bytes // left)
            return Plan(count, False, False, 0, "ranges", ranges, limits.memory)
    return None


def refusal(sizes: Sizes, limits: Limits) -> Refusal:
    """What is not enough, and what is."""
    wanted = _wanted_streams(sizes, limits)
    streams = _stream_counts(limits, wanted)[-1] if "stream" in sizes.forms else wanted
    buffers = streams * sizes.stream_bytes + SPARE_BYTES
    buffers += sizes.worker_total(streams, limits.threads)
    budget = format_bytes(limits.memory)
    if "stream" not in sizes.forms and sizes.heads is not None:
        edges = sizes.head_edges or 0
        total = sizes.state_bytes + buffers + sizes.heads.with_edges(edges)
        return Refusal(
            total,
            f"memory: {budget} is not enough to keep the first {edges:,} edges of each vertex in "
            f"memory; requires at least {spell_enough(total)}",
        )
    values = sizes.state_bytes
    if sizes.gathered_bytes is not None:
        least = sizes.always_bytes + -(-sizes.gathered_bytes // MOST_RANGES)
        values = min(values, least)
    if "stream" not in sizes.forms:
        values += sizes.resident_bytes
    return Refusal(
        values + buffers,
        f"memory: {budget} is not enough: the values of the vertices that must be in memory take "
        f"{format_bytes(values)}, the buffers of the streams {format_bytes(buffers)}; "
        f"requires at least {spell_enough(values + buffers)}",
    )

"""What a way to run takes in memory, in bytes: from counts, needs and options. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from penstock.engine.counts import Counts, HeadBytes
from penstock.engine.division import ONE, Shares, divide
from penstock.engine.needs import ListForm, Needs
from penstock.engine.options import RunOptions
from penstock.errors import OptionError
from penstock.stream.arena import buffer_bytes
from penstock.types import I64, Direction

#: Where lists are read one by one: room for what is found in the lists under way.
FOUND_BYTES = 8 << 20
#: Buffers of a GPU's stream in the host's memory, besides those that a page takes decoded.
PINNED_BYTES = 12 << 20
#: Bytes of gathered values that stay in the cache while lists pass.
CACHE_BYTES = 4 << 20
#: Ranges that lists are cut into for the cache, at most: each passes over the offsets of all
#: vertices.
MOST_CUTS = 8
#: Cut only if fewer edges than this share lead into the first range.
HUB_SHARE = 0.6

#: Lists that are in memory already: a direction and its columns.
Loaded = Set[tuple[Direction, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class ListBytes:
    """One direction of the topology: what its parts take."""

    num_pages: int
    page_bytes: int
    #: Buffers of one stream.
    stream_bytes: int
    #: The whole direction, decoded.
    resident_bytes: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """One way to run, in bytes."""

    lists: tuple[ListBytes, ...]
    #: Values of all vertices, all in memory.
    state_bytes: int
    #: The part of them that is gathered, if the rest may travel with the pages; None: it may not.
    gathered_bytes: int | None = None
    #: What stays in memory even then.
    always_bytes: int = 0
    #: A second form of the topology, cut for the cache, if there is room for it.
    cut_bytes: int = 0
    #: For each thread or stream at work.
    worker_bytes: int = 0
    #: The forms that lists can have here.
    forms: tuple[ListForm, ...] = ("memory", "stream")
    #: Lists of which the first edges are in memory; and how many, if that is asked for.
    heads: HeadBytes | None = None
    head_edges: int | None = None

    @property
    def stream_bytes(self) -> int:
        """Buffers of one stream."""
        return sum(each.stream_bytes for each in self.lists)

    @property
    def resident_bytes(self) -> int:
        """All lists, decoded."""
        return sum(each.resident_bytes for each in self.lists)

    def worker_total(self, streams: int, threads: int) -> int:
        """What all threads or streams at work take."""
        return self.worker_bytes * max(streams, threads)

    @property
    def page_bytes(self) -> int:
        """A page that is kept."""
        return max((each.page_bytes for each in self.lists), default=0) or 1


def sizes_of(
    counts: Counts,
    needs: Needs,
    options: RunOptions,
    loaded: Loaded = frozenset(),
    shares: Shares = ONE,
    cuts: int = 1,
) -> Sizes:
    """What a way to run takes, without its room."""
    stored = counts.all_stored(needs.directions)
    n, program = counts.num_vertices, needs.program
    built = sum(counts.lists[each].build_bytes for each in stored)
    state = needs.vertex_bytes * n + needs.more_bytes + built
    gathered: int | None = None
    always = cut = 0
    if program is not None:
        # Accumulators of all vertices, from one range to the next; those of the cache are optional.
        divided = shares.ranges > 1 and not program.pushes
        beside = _device_bytes(counts, options)
        state += beside + (program.sum_bytes * n if divided else 0)
        always = program.always_bytes * n + program.held_bytes + beside + built
        gathered = needs.gathered_bytes * n if program.may_travel else None
        if counts.own_vertices is not None:
            from penstock.engine.host_memory import host_bytes

            # Nothing travels with the pages.
            gathered = None
            state = host_bytes(counts, needs, options.peers.size).total + needs.more_bytes + built
        between = program.sum_bytes * n if cuts > 1 and not divided else 0
        cut = cut_bytes(counts, cuts, 4 + counts.column_bytes(needs.columns)) + between
    heads = _head_bytes(counts, stored, options) if "heads" in needs.forms else None
    return Sizes(
        tuple(
            list_bytes(
                counts, each, needs.columns, in_place=used_in_place(counts, each, needs, options)
            )
            for each in stored
        ),
        state, gathered, always, cut, needs.worker_bytes,
        _forms(counts, stored, needs, options, loaded, heads), heads, needs.head_edges,
    )  # fmt: skip


def used_in_place(counts: Counts, stored: Direction, needs: Needs, options: RunOptions) -> bool:
    """Whether lists are in memory in a form that a run can do with: one after another, or anywhere
    if its kernels take gaps. Others are copied if that fits, or else pass on streams.
    """
    place = counts.lists[stored].place
    on_gpu = any(device.has_own_memory for device in options.devices)
    return place == "memory" or (place == "gaps" and needs.takes_gaps and not on_gpu)


def list_bytes(
    counts: Counts, stored: Direction, columns: Sequence[str], *, in_place: bool = False
) -> ListBytes:
    """What the lists of one direction take, in the forms that they can have."""
    lists = counts.lists[stored]
    edge_bytes = 4 + counts.column_bytes([name for name in columns if name in counts.columns])
    buffers = lists.buffer_bytes + lists.buffer_edges * edge_bytes
    resident = 0
    if not in_place:
        offsets = (4 if lists.num_edges < 1 << 32 else 8) * (counts.num_vertices + 1)
        resident = offsets + lists.num_edges * edge_bytes
    return ListBytes(lists.num_pages, counts.page_bytes, buffers, resident)


def _forms(
    counts: Counts,
    stored: Sequence[Direction],
    needs: Needs,
    options: RunOptions,
    loaded: Loaded,
    heads: HeadBytes | None,
) -> tuple[ListForm, ...]:
    """The forms that lists can have, of those that the run can do with."""
    load = options.load
    if needs.only_loaded:
        load = load and all(
            (each, needs.columns) in loaded or used_in_place(counts, each, needs, options)
            for each in stored
        )
    possible = {"memory": load, "heads": heads is not None, "stream": True}
    return tuple(form for form in needs.forms if possible[form])


def _head_bytes(
    counts: Counts, stored: Sequence[Direction], options: RunOptions
) -> HeadBytes | None:
    """What lists take of which the first edges are in memory; None if there cannot be any."""
    lists = [counts.lists[each] for each in stored]
    if not options.load or any(each.head_bytes is None for each in lists):
        return None
    fixed = buffer_bytes(options.memory) + FOUND_BYTES + counts.num_vertices // 8
    heads: I64 = np.zeros(1, np.int64)
    for each in lists:
        assert each.head_bytes is not None
        found = each.head_bytes()
        fixed += found.fixed
        heads = heads + found.by_edges
    return HeadBytes(fixed, heads)


# Devices


def shares_of(
    counts: Counts, needs: Needs, options: RunOptions, rooms: Sequence[int | None]
) -> Shares:
    """How the devices of a run divide the values that lists are gathered from."""
    if needs.program is None or counts.num_vertices < 2:  # nothing to divide
        return ONE
    shares = divide(needs.gathered_bytes * counts.num_vertices, rooms, options.division)
    if needs.program.asynchronous and shares.ranges > 1:
        raise OptionError(
            "mode: an asynchronous run gathers from values as they change, so each device needs "
            "all of them; use mode='sync', or leave out division S and limits of memory"
        )
    return shares


def cuts_of(counts: Counts, needs: Needs, options: RunOptions, shares: Shares) -> int:
    """Into how many ranges lists are best cut, once, if there is memory to keep them so: as many as
    the devices divide the values into, or as fit a processor's cache; GPUs take lists as they are.
    """
    if needs.program is None or not needs.program.may_travel or counts.own_vertices is not None:
        return 1
    if any(device.has_own_memory for device in options.devices):
        return 1
    if shares.ranges > 1:
        return shares.ranges if shares.ranges <= MOST_CUTS else 1
    return wanted_cuts(counts, needs.gathered_bytes)


def _device_bytes(counts: Counts, options: RunOptions) -> int:
    """What devices take of the host's memory: for each stream of a GPU, buffers for a page and its
    values.
    """
    gpus = [device for device in options.devices if device.has_own_memory]
    pinned = 4 * counts.page_bytes + PINNED_BYTES
    return sum(device.threads or 1 for device in gpus) * pinned


def wanted_cuts(counts: Counts, gathered_bytes: int) -> int:
    """How many ranges would keep ``gathered_bytes`` a vertex in the cache; 1 if it does not pay."""
    n = counts.num_vertices
    if gathered_bytes == 0 or n * gathered_bytes <= 2 * CACHE_BYTES:
        return 1
    if "out" not in counts.directions:
        return 1
    out = counts.lists["out"]
    hubs = int(out.degrees()[: CACHE_BYTES // gathered_bytes].sum(dtype=np.int64))
    if hubs > HUB_SHARE * out.num_edges:
        return 1
    return min(-(-n * gathered_bytes // CACHE_BYTES), MOST_CUTS)


def cut_bytes(counts: Counts, ranges: int, edge_bytes: int) -> int:
    """What the lists take once more, cut into ranges."""
    if ranges == 1:
        return 0
    edges = counts.lists[counts.directions[0]].num_edges
    return ranges * 4 * (counts.num_vertices + 1) + edges * edge_bytes

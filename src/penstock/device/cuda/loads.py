"""What goes to a GPU: lists, tables that tell threads which of them are theirs, and room to work.

A *load* is as much of a piece as fits: whole lists of consecutive vertices, or a part of one list.
It is written into a host buffer and copied as a whole; the tables depend on the lists alone, so
they stay with them on the device. Sizes are decided here, before anything is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from penstock.device.cuda.kernels import SHARED_BYTES, CudaKernels
from penstock.device.cuda.memory import Layout
from penstock.device.cuda.tables import (
    fill_lists,
    fill_offsets,
    fill_owners,
    fill_slots,
    group_lists,
    list_kinds,
    rebase,
)
from penstock.device.replication import fill_targets, shard_bounds
from penstock.device.spec import Device
from penstock.errors import OptionError
from penstock.stream.block import Block
from penstock.stream.lists import PIECE_VERTICES
from penstock.types import U8, U32, Array

#: How the lists of one load are gathered; ``list`` is for a single one.
Way = Literal["shards", "threads", "warps", "blocks", "buckets", "messages", "list"]
#: Edges of a block, from the first to the one after the last.
Part = tuple[int, int]

#: Bytes of a load, at most: more does not make copies faster.
MAX_LOAD = 256 << 20
#: A stream's buffers have room for one vertex and so many of its edges, at least.
LEAST_EDGES = 32
#: Who has a list; see :func:`~penstock.device.cuda.tables.list_kinds`.
KINDS = ("threads", "warps", "blocks")


class Chunk(NamedTuple):
    """Whole lists of vertices ``begin`` to ``end`` (one part), or one list in several parts."""

    begin: int
    end: int
    parts: list[Part]
    way: Way


class Launch(NamedTuple):
    """A gathering kernel over a load."""

    kernel: str
    #: Threads, warps, blocks or edges that have work.
    work: int
    shared_bytes: int = 0
    #: The array of the load that is called ``chosen`` in the kernel.
    chosen: str | None = None


@dataclass
class Load:
    """The layout of a load's arrays, and what to launch."""

    first: int
    count: int
    edges: int
    layout: Layout
    launches: tuple[Launch, ...] = ()
    #: Places in the message buffer; 0 if there is none.
    messages: int = 0
    #: For each vertex, who has its list, where that is not in the launches.
    kinds: U8 | None = None
    #: The arrays, once they are on the device.
    arrays: dict[str, Any] = field(default_factory=dict)


def choose_way(asked: str, vertices: int, *, can_shard: bool) -> Way:
    """How to gather the lists of so many vertices.

    >>> choose_way("auto", 5, can_shard=False)
    'buckets'
    """
    if asked != "auto":
        return asked  # type: ignore[return-value]
    if vertices == 1:
        return "list"
    return "shards" if can_shard else "buckets"


class Loads:
    """Makes loads for one program on one kind of device."""

    def __init__(self, kernels: CudaKernels, spec: Device, most_blocks: int) -> None:
        program = kernels.signature.program
        if spec.gather == "shards" and not kernels.can_shard:
            raise OptionError(
                f"devices: gather: {program.name}: shards are for sums add, min or max of one "
                "number of 32 or 64 bits; use auto"
            )
        self._spec = spec
        self._can_shard = kernels.can_shard
        self._signature = kernels.signature
        self._dtypes = {name: each.dtype for name, each in kernels.dtypes().items()}
        self._owners = "owners" in kernels.arguments("send")
        #: Blocks of a grid over one list, at most.
        self.most_blocks = most_blocks

    def way(self, vertices: int) -> Way:
        """See :func:`choose_way`."""
        return choose_way(self._spec.gather, vertices, can_shard=self._can_shard)

    # Sizes

    def _lists(self, vertices: int, edges: int) -> Layout:
        layout = Layout()
        layout.add("offsets", vertices + 1, np.uint32)
        layout.add("neighbours", edges, np.uint32)
        for k in range(len(self._signature.columns)):
            layout.add(f"column{k}", edges, self._dtypes[f"column{k}"])
        return layout

    def load_bytes(self, way: Way, vertices: int, edges: int) -> int:
        """Bytes of a load, at most."""
        layout = self._lists(vertices, edges)
        if way == "shards":
            _add_shards(layout, vertices, edges)
        elif way == "messages":
            self._add_messages(layout, vertices, edges)
        elif way != "list":
            # In three buckets, each of which begins at a place of its own.
            for kind, count in zip(KINDS, (vertices, 0, 0), strict=True):
                layout.add(kind, count, np.uint32)
        return layout.size

    def _add_messages(self, layout: Layout, vertices: int, edges: int) -> None:
        layout.add("order", vertices, np.uint32)
        layout.add("bases", -(-vertices // 32) + 1, np.uint32)
        layout.add("slots", edges, np.uint32)
        if self._owners:
            layout.add("owners", edges, np.uint32)

    def room(
        self, vertices: int, messages: int, *, merge: bool, apply: bool, elsewhere: tuple[str, ...]
    ) -> Layout:
        """Room to work on a load. What is copied to the device comes first, then what is copied
        back, with ``totals`` in both; new values that are kept ``elsewhere`` are not here.
        """
        signature, layout = self._signature, Layout()
        sums = signature.program.accumulators
        for name in signature.local if apply else signature.of_dst:
            layout.add(f"l_{name}", vertices, signature.dtypes[name])
        if merge:
            layout.add("flags", vertices, np.uint8)
            for k, dtype in enumerate(sums):
                layout.add(f"had{k}", vertices, dtype)
        layout.add("totals", 1 + len(signature.program.totals), np.float64)
        if apply:
            for name in signature.new:
                if name not in elsewhere:
                    layout.add(f"n_{name}", vertices, signature.dtypes[name])
            layout.add("active", vertices, np.uint8)
        for k, dtype in enumerate(sums):
            layout.add(f"s{k}", max(vertices, self.most_blocks), dtype)
        for k, dtype in enumerate(sums if messages else ()):
            layout.add(f"m{k}", messages, dtype)
        return layout

    def push_room(self, vertices: int, chosen: tuple[int, ...]) -> Layout:
        """Room for what is pushed along a load's lists: those of ``chosen`` vertices, by bucket."""
        layout = Layout()
        for name in self._signature.gathered:
            layout.add(f"f_{name}", vertices, self._signature.dtypes[name])
        for kind, count in zip(KINDS, chosen, strict=True):
            layout.add(kind, count, np.uint32)
        return layout

    def room_bytes(self, vertices: int, messages: int) -> int:
        """Bytes of room that a load may need."""
        pull = self.room(vertices, messages, merge=True, apply=True, elsewhere=())
        return max(pull.size, self.push_room(vertices, (vertices, 0, 0)).size)

    def least(self) -> tuple[int, int]:
        """The smallest load and room that anything can be done with."""
        return self.load_bytes("list", 1, LEAST_EDGES), self.room_bytes(1, 0)

    def useful_room(self) -> int:
        """Bytes of room beyond which a stream has no use for more."""
        most = self.room_bytes(PIECE_VERTICES, 0)
        return most + MAX_LOAD if self._spec.gather == "messages" else most

    def _fits(self, lengths: tuple[int, int, int], load: int, room: int) -> bool:
        """Whether so many vertices and edges can be a load; the third is the longest list."""
        vertices, edges, longest = lengths
        way = self.way(vertices)
        # A group is as long as its longest list, no longer than the shortest of the group before.
        messages = max(edges + 32 * longest, 1) if way == "messages" else 0
        return (
            max(edges, messages) < 1 << 32
            and self.load_bytes(way, vertices, edges) <= load
            and self.room_bytes(vertices, messages) <= room
        )

    def cut(self, block: Block, begin: int, end: int, load: int, room: int) -> Iterator[Chunk]:
        """Lists of a block, cut so that loads and the room to work on them have so many bytes."""
        offsets, at = block.offsets, block.first

        def fits(a: int, count: int) -> bool:
            inside = offsets[a - at : a - at + count + 1]
            longest = int(np.diff(inside).max(initial=0)) if self._spec.gather == "messages" else 0
            return self._fits((count, int(inside[-1]) - int(inside[0]), longest), load, room)

        while begin < end:
            count = end - begin
            if not fits(begin, count):
                count = _last(lambda n, a=begin: fits(a, n), count - 1)  # type: ignore[misc]
            span = int(offsets[begin - at]), int(offsets[begin + max(count, 1) - at])
            if count:
                yield Chunk(begin, begin + count, [span], self.way(count))
            else:  # not even one list
                count = 1
                yield Chunk(begin, begin + 1, self.cut_list(span, load), "list")
            begin += count

    def cut_list(self, span: Part, load: int) -> list[Part]:
        """A list in parts that fit."""
        most = _last(lambda n: self.load_bytes("list", 1, n) <= load, span[1] - span[0])
        return list(pairwise([*range(*span, most), span[1]])) if most else [span]

    # Writing

    def stage(self, block: Block, begin: int, end: int, part: Part, into: U8, way: Way) -> Load:
        """Write a load into a host buffer of at least :meth:`load_bytes`."""
        count, edges = end - begin, part[1] - part[0]
        load = Load(begin, count, edges, self._lists(count, edges))
        arrays = load.layout.on_host(into)
        offsets: U32 = arrays["offsets"]
        rebase(block.offsets[begin - block.first : end - block.first + 1], *part, offsets)
        if load.edges:
            arrays["neighbours"][:] = block.neighbours[part[0] : part[1]]
            for k, column in enumerate(block.columns):
                arrays[f"column{k}"][:] = column[part[0] : part[1]]
        if way == "shards":
            self._stage_shards(load, offsets, into)
        elif way == "messages":
            self._stage_messages(load, offsets, into)
        elif way == "list":
            load.launches = (Launch("gather_list", load.edges),)
        else:
            _stage_chosen(load, way, offsets, into)
        return load

    def _stage_shards(self, load: Load, offsets: U32, into: U8) -> None:
        size = self._signature.program.accumulators[0].itemsize
        bounds, replicas = shard_bounds(offsets, SHARED_BYTES, 1, size, self._spec.replicas)
        _add_shards(load.layout, len(replicas), load.edges)
        arrays = load.layout.on_host(into, {"shards", "replicas", "targets"})
        arrays["shards"][:], arrays["replicas"][:] = bounds, replicas
        fill_targets(offsets, bounds, arrays["targets"])
        shared = int((np.diff(bounds) * replicas).max()) * size
        load.launches = (Launch("gather_shards", len(replicas), shared),)

    def _stage_messages(self, load: Load, offsets: U32, into: U8) -> None:
        self._add_messages(load.layout, load.count, load.edges)
        arrays = load.layout.on_host(into, {"order", "bases", "slots", "owners"})
        arrays["order"][:], arrays["bases"][:] = group_lists(offsets)
        fill_slots(offsets, arrays["order"], arrays["bases"], arrays["slots"])
        if self._owners:
            fill_owners(offsets, arrays["owners"])
        load.messages = max(int(arrays["bases"][-1]), 1)
        send = (Launch("send", load.edges),) if load.edges else ()
        load.launches = (*send, Launch("combine", load.count))

    def stage_some(self, block: Block, places: U32, vertices: U32, into: U8) -> Load:
        """Write the lists of some vertices (ascending), which have these places in the block."""
        first = int(vertices[0])
        count = int(vertices[-1]) - first + 1
        layout = self._lists(count, 0)
        offsets: U32 = layout.on_host(into, {"offsets"})["offsets"]
        fill_offsets(block.offsets, places, vertices, offsets)
        load = Load(first, count, int(offsets[-1]), self._lists(count, int(offsets[-1])))
        arrays = load.layout.on_host(into)
        fill_lists(block.offsets, places, block.neighbours, arrays["neighbours"])
        for k, column in enumerate(block.columns):
            fill_lists(block.offsets, places, column, arrays[f"column{k}"])
        return load

    def some_fit(self, load: int, room: int) -> tuple[int, int]:
        """How many vertices, and edges of theirs, such a load may have."""

        def fits(n: int) -> bool:
            inside = self.load_bytes("list", n, 0) <= load // 2
            return inside and self.push_room(n, (n, 0, 0)).size <= room

        vertices = max(_last(fits, PIECE_VERTICES), 1)
        return vertices, _last(lambda n: self.load_bytes("list", vertices, n) <= load, load // 4)


def _add_shards(layout: Layout, shards: int, edges: int) -> None:
    layout.add("shards", shards + 1, np.uint32)
    layout.add("replicas", shards, np.int32)
    layout.add("targets", edges, np.uint16)


def _stage_chosen(load: Load, way: Way, offsets: U32, into: U8) -> None:
    """Which vertices are a thread's, a warp's and a block's."""
    kinds = list_kinds(offsets) if way == "buckets" else None
    for k, kind in enumerate(KINDS):
        chosen: Array = np.arange(load.count if kind == way else 0, dtype=np.uint32)
        if kinds is not None:
            chosen = np.flatnonzero(kinds == k)
        if len(chosen):
            load.layout.add(kind, len(chosen), np.uint32)
            load.layout.on_host(into, {kind})[kind][:] = chosen
            load.launches += (Launch(f"gather_{kind}", len(chosen), 0, kind),)


def _last(fits: Callable[[int], bool], most: int) -> int:
    """The largest number from 0 to ``most`` that fits, if 0 does and smaller ones always do."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low

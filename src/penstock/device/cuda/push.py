"""Values that a GPU takes along out-lists: accumulators of all neighbours, resident there."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.device.cuda.loads import KINDS, Load
from penstock.device.cuda.memory import ALIGNMENT, Layout, copy_between, gpu, view
from penstock.device.cuda.streams import Stream, Streams
from penstock.device.cuda.tables import count_edges, cut_vertices, list_kinds
from penstock.device.device import Arrays
from penstock.device.signature import ProgramSignature
from penstock.errors import ProgramError
from penstock.stream.block import BY_PLACE, Block
from penstock.stream.lists import Piece
from penstock.types import U8, U32

#: Vertices that a load passes over rather than end there.
MAX_SKIP = 1024
_NAMES = ("touched", "page firsts", "next pages")


class Pushing:
    """The accumulators of vertices ``low`` to ``high``, and what was reached."""

    def __init__(self, streams: Streams, signature: ProgramSignature, page_firsts: U32) -> None:
        self.low, self.high = 0, -1
        self._streams = streams
        self._signature = signature
        self._page_firsts = page_firsts
        self._sums: list[Any] = []
        self._of_dst: dict[str, Any] = {}
        self._arrays: dict[str, Any] = {}

    def begin(self, low: int, high: int, of_dst: Arrays) -> None:
        """See :class:`~penstock.device.device.PushingDevice`."""
        streams, program = self._streams, self._signature.program
        if not streams.kernels.can_shard:
            raise ProgramError(
                f"{program.name}: a GPU pushes sums add, min or max of one number of 32 or 64 bits "
                "only; use strategy pull"
            )
        queue = streams.own.queue
        streams.forget_asked()
        with gpu(streams.spec.number):
            if (low, high) != (self.low, self.high):
                self._make(low, high, of_dst)
                self.reset(low, high)
            for name, array in zip(self._signature.of_dst, of_dst, strict=True):
                if high > low:
                    self._of_dst[name].copy_to_device(array, stream=queue)
            if len(self._page_firsts):
                none: U8 = np.zeros(len(self._page_firsts), np.uint8)
                self._arrays["next pages"].copy_to_device(none, stream=queue)
            queue.synchronize()
            streams.make()

    def _make(self, low: int, high: int, of_dst: Arrays) -> None:
        self.clear()
        streams, count = self._streams, high - low
        streams.drop()
        sums = self._signature.program.accumulators
        each = 1 + sum(array.dtype.itemsize for array in of_dst)
        each += sum(dtype.itemsize for dtype in sums)
        streams.check(each * count + 5 * len(self._page_firsts), "accumulators")
        memory = streams.memory
        self._sums = [memory.array(f"sums {k}", count, dtype) for k, dtype in enumerate(sums)]
        for name, array in zip(self._signature.of_dst, of_dst, strict=True):
            self._of_dst[name] = memory.array(f"target {name}", count, array.dtype)
        self._arrays["touched"] = memory.array("touched", count, np.uint8)
        for name, dtype in (("page firsts", np.uint32), ("next pages", np.uint8)):
            self._arrays[name] = memory.array(name, len(self._page_firsts), dtype)
        if len(self._page_firsts):
            self._arrays["page firsts"].copy_to_device(self._page_firsts, stream=streams.own.queue)
        self.low, self.high = low, high

    def clear(self) -> None:
        """Give back the arrays."""
        self._sums.clear()
        self._of_dst.clear()
        self._arrays.clear()
        self.low, self.high = 0, -1
        sums = [f"sums {k}" for k in range(len(self._signature.program.accumulators))]
        targets = [f"target {name}" for name in self._signature.of_dst]
        self._streams.memory.free(*sums, *targets, *_NAMES)

    # Pushing

    def key(self, piece: Piece) -> tuple[Any, ...]:
        """What a piece's lists are called in the cache."""
        return "push", self.low, piece.page, piece.begin, piece.end

    def push(self, stream: Stream, piece: Piece, gathered: Arrays, params: dict[str, Any]) -> None:
        """See :class:`~penstock.device.device.PushingDevice`."""
        streams = self._streams
        given = {"low": self.low, "page_firsts": self._arrays["page firsts"], **params}
        given |= {"next_pages": self._arrays["next pages"], "touched": self._arrays["touched"]}
        given |= {f"s{k}": array for k, array in enumerate(self._sums)}
        given |= {f"d_{name}": array for name, array in self._of_dst.items()}
        # Closing: an error lets go of loads, too.
        with gpu(streams.spec.number), closing(self._loads(stream, piece)) as loads:
            for load, vertices in loads:
                self._push(stream, load, vertices, gathered, given)

    def _loads(self, stream: Stream, piece: Piece) -> Generator[tuple[Load, U32]]:
        """Loads with lists of a piece's vertices, and which these are."""
        streams, wanted = self._streams, piece.vertices
        if wanted is None:
            wanted = np.arange(piece.begin, piece.end, dtype=np.uint32)
        if len(wanted) == 0:
            return
        span = streams.find(self.key(piece)) if piece.page >= 0 else None
        if span is not None:
            with streams.using(stream, span) as load:
                yield load, wanted
            return
        block, loads, (limit, room) = piece.block, streams.loads, streams.limits
        if piece.page >= 0 and block.first != BY_PLACE:
            count, at = piece.end - piece.begin, piece.begin - block.first
            part = (int(block.offsets[at]), int(block.offsets[at + count]))
            size = loads.load_bytes("list", count, part[1] - part[0])
            if size <= limit and loads.push_room(count, (count, 0, 0)).size <= room:
                staged = stream.pinned("lists", size)
                load = loads.stage(block, piece.begin, piece.end, part, staged, "list")
                with self._loading(stream, load, staged, self.key(piece)):
                    yield load, wanted
                return
        yield from self._some(stream, block, wanted)

    def _some(self, stream: Stream, block: Block, wanted: U32) -> Generator[tuple[Load, U32]]:
        """Only the lists of these vertices, as many at a time as fit."""
        loads, limit = self._streams.loads, self._streams.limits[0]
        order = np.argsort(wanted, kind="stable").astype(np.uint32)
        vertices = wanted[order]
        places = order if block.first == BY_PLACE else vertices - np.uint32(block.first)
        most = loads.some_fit(*self._streams.limits)
        cuts = cut_vertices(block.offsets, places, vertices, most, MAX_SKIP)
        for a, b in pairwise(cuts):
            chosen, place = vertices[a:b], int(places[a])
            span = int(block.offsets[place]), int(block.offsets[place + 1])
            if b - a > 1 or span[1] - span[0] <= most[1]:
                edges = count_edges(block.offsets, places[a:b])
                count = int(chosen[-1]) - int(chosen[0]) + 1
                staged = stream.pinned("lists", loads.load_bytes("list", count, edges))
                load = loads.stage_some(block, places[a:b], chosen, staged)
                with self._loading(stream, load, staged, None):
                    yield load, chosen
                continue
            ends = block.offsets[place : place + 2]
            alone = block._replace(first=int(chosen[0]), offsets=ends, ends=ends[1:])
            for part in loads.cut_list(span, limit):
                staged = stream.pinned("lists", limit)
                load = loads.stage(alone, alone.first, alone.first + 1, part, staged, "list")
                with self._loading(stream, load, staged, None):
                    yield load, chosen

    @contextmanager
    def _loading(self, stream: Stream, load: Load, staged: U8, key: Any) -> Iterator[Load]:
        """Note which lists are long while they are still on the host."""
        load.kinds = list_kinds(load.layout.on_host(staged, {"offsets"})["offsets"])
        with self._streams.loading(stream, load, staged, key):
            yield load

    def _push(
        self, stream: Stream, load: Load, vertices: U32, gathered: Arrays, given: dict[str, Any]
    ) -> None:
        assert load.kinds is not None
        streams, inside = self._streams, vertices - np.uint32(load.first)
        buckets = [inside[load.kinds[inside] == k] for k in range(len(KINDS))]
        layout = streams.loads.push_room(load.count, tuple(map(len, buckets)))
        values = stream.pinned("values", layout.size)
        host, there = layout.on_host(values), layout.on_device(stream.room)
        for name, array in zip(self._signature.gathered, gathered, strict=True):
            host[f"f_{name}"][:] = array[load.first : load.first + load.count]
        for kind, chosen in zip(KINDS, buckets, strict=True):
            host[kind][: len(chosen)] = chosen
        view(stream.room, 0, layout.size).copy_to_device(values[: layout.size], stream=stream.queue)
        given = {**given, **load.arrays, **there, "first": load.first}
        for kind, width in zip(KINDS, (1, 32, streams.spec.block), strict=True):
            chosen = buckets[KINDS.index(kind)]
            if len(chosen):
                given |= {"chosen": there[kind], "width": width}
                streams.launch("push", len(chosen), stream, given)

    # What came of it

    def touched_pages(self) -> U8:
        """See :class:`~penstock.device.device.PushingDevice`. The kernel marks one page of each
        vertex; a vertex with several has all of them reached.
        """
        found: U8 = np.zeros(len(self._page_firsts), np.uint8)
        if len(found):
            with gpu(self._streams.spec.number):
                self._arrays["next pages"].copy_to_host(found)
            last = np.searchsorted(self._page_firsts, self._page_firsts, side="right") - 1
            found = found[last]
        return found

    def take(self, begin: int, end: int, others: Sequence[Pushing]) -> tuple[U32, Arrays]:
        """See :class:`~penstock.device.device.PushingDevice`."""
        queue = self._streams.own.queue
        with gpu(self._streams.spec.number):
            for other in others:
                self._merge(other, max(begin, other.low), min(end, other.high))
            touched: U8 = np.empty(end - begin, np.uint8)
            sums = [np.empty(end - begin, array.dtype) for array in self._sums]
            pairs = [(self._arrays["touched"], touched), *zip(self._sums, sums, strict=True)]
            for source, target in pairs if begin < end else ():
                part = view(source, begin - self.low, end - self.low)
                part.copy_to_host(target, stream=queue)
            queue.synchronize()
        for each in (self, *others):
            each.reset(max(begin, each.low), min(end, each.high))
        reached = np.flatnonzero(touched)
        found: U32 = (reached + begin).astype(np.uint32)
        return found, tuple(array[reached] for array in sums)

    def _merge(self, other: Pushing, begin: int, end: int) -> None:
        """Sum another device's accumulators into these, as many at a time as there is room for."""
        room, dtypes = self._streams.each[0].room, self._signature.program.accumulators
        usable = len(room) - (1 + len(dtypes)) * ALIGNMENT
        most = max(usable // (1 + sum(dtype.itemsize for dtype in dtypes)), ALIGNMENT // 8)
        gpus = other._streams.spec.number, self._streams.spec.number
        stream = self._streams.own
        for a in range(begin, end, most):
            count = min(most, end - a)
            layout = Layout()
            layout.add("other_touched", count, np.uint8)
            for k, dtype in enumerate(dtypes):
                layout.add(f"o{k}", count, dtype)
            given = layout.on_device(room)
            theirs = {"other_touched": other._arrays["touched"]}
            theirs |= {f"o{k}": array for k, array in enumerate(other._sums)}
            for name, array in theirs.items():
                part = view(array, a - other.low, a - other.low + count)
                copy_between(given[name], part, gpus, stream.queue)
            given |= self._range(a, a + count)
            self._streams.launch("merge_sums", count, stream, given)

    def _range(self, begin: int, end: int) -> dict[str, Any]:
        """What kernels over accumulators are given."""
        inside = begin - self.low, end - self.low
        found = {f"s{k}": view(array, *inside) for k, array in enumerate(self._sums)}
        return {**found, "touched": view(self._arrays["touched"], *inside), "count": end - begin}

    def reset(self, begin: int, end: int) -> None:
        """Accumulators back at their identities, and nothing reached."""
        if begin < end:
            with gpu(self._streams.spec.number):
                stream = self._streams.own
                self._streams.launch("reset", end - begin, stream, self._range(begin, end))
                stream.queue.synchronize()

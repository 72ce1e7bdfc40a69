"""A vertex program on a GPU: topology streams past values that stay in the device's memory.

A host thread serves each stream: it writes a page's lists, or finds them on the device, adds the
values of the page's vertices (RABuf), has kernels gather from resident values (WABuf) and apply,
and waits for what is copied back. Streams overlap: one copies while another computes, as in
*GStream 2.0* (An et al., 2017), sections 3.2 to 3.4, and *Garaph* (Ma et al., 2017), section 5.2.
What is larger than a stream's buffers goes in several loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from penstock.device.cuda.loads import Chunk, Load, Part
from penstock.device.cuda.memory import Layout, gpu, view
from penstock.device.cuda.push import Pushing
from penstock.device.cuda.streams import Stream, Streams
from penstock.device.cuda.values import Values
from penstock.device.device import Arrays, Change, Params, PushingDevice, Row
from penstock.device.signature import ProgramSignature
from penstock.device.spec import Device
from penstock.stream.lists import Piece
from penstock.types import U8, U32, Array


class _Work(NamedTuple):
    """What a call is about."""

    piece: Piece
    base: int
    local: Arrays
    #: Parameters of the kernels.
    given: dict[str, Any]
    #: Accumulators to sum into, and the vertex that they begin with; None: apply.
    sums: Arrays | None = None
    at: int = 0


class _Room(NamedTuple):
    """Where a chunk is worked on: a layout, on the device and in a buffer of the host."""

    layout: Layout
    buffer: U8
    host: dict[str, Array]
    #: What kernels are given.
    given: dict[str, Any]
    #: New values that stay on the device, in arrays of their own.
    kept: tuple[str, ...]

    def fetch(self, stream: Stream, *, applied: bool) -> None:
        """Copy back what was made: new values, flags and totals, or sums."""
        first, last = ("totals", "s0") if applied else ("had0", "totals")
        begin, end = self.layout.begin(first), self.layout.begin(last)
        part = view(stream.room, begin, end)
        part.copy_to_host(self.buffer[begin:end], stream=stream.queue)
        for name in self.kept:
            self.given[name].copy_to_host(self.host[name], stream=stream.queue)


class CudaDevice:
    """A program on one GPU; see :class:`~penstock.device.device.PushingDevice`.

    ``page_firsts`` has the first vertex of each page of out-lists; ``in_place``: new values replace
    those that others gather from as soon as they are there. Lists that :meth:`has` finds stay until
    the thread that asked works on them, or asks again.
    """

    def __init__(
        self, spec: Device, signature: ProgramSignature, num_vertices: int, page_firsts: U32,
        streams: int, in_place: bool,  # noqa: FBT001 - the protocol's
    ) -> None:  # fmt: skip
        self.spec = spec
        self._signature = signature
        self._streams = Streams(spec, signature, streams)
        self.values = Values(self._streams, signature, num_vertices, in_place=in_place)
        self._pushing = Pushing(self._streams, signature, page_firsts)

    @property
    def held_bytes(self) -> int:
        """Bytes of the values that it holds to gather from."""
        return self.values.held_bytes

    @property
    def cache_hits(self) -> int:
        """How often lists were on the device already."""
        return self._streams.cache_hits

    @property
    def used_bytes(self) -> int:
        """Bytes of the device's memory that are taken now."""
        return self._streams.memory.budget.used

    @property
    def pinned_bytes(self) -> int:
        """Bytes of the host's memory that cannot be swapped out."""
        return sum(self._streams.memory.pinned.values())

    @property
    def held_names(self) -> list[str]:
        """What holds memory there; nothing, once the device is closed."""
        return self._streams.memory.held

    def hold(self, low: int, gathered: Arrays, changes: Sequence[Change] | None) -> None:
        """See :class:`~penstock.device.device.ProgramDevice`, also below."""
        self.values.hold(low, gathered, changes, self)

    def has(self, piece: Piece) -> bool:
        """Whether the lists are on the device."""
        return self._streams.ask(self._key(piece))

    def close(self) -> None:
        """Give back all that it holds."""
        with gpu(self.spec.number):
            self.values.clear()
            self._pushing.clear()
        self._streams.close()

    def _key(self, piece: Piece) -> tuple[Any, ...]:
        if piece.vertices is not None:
            return self._pushing.key(piece)
        return "pull", self.values.low, piece.page, piece.begin, piece.end

    # Pull

    def pull(
        self, stream: int, piece: Piece, base: int, local: Arrays, new: Arrays, active: U8,
        params: Params,
    ) -> Row:  # fmt: skip
        """Gather over whole lists, apply."""
        work = _Work(piece, base, local, self._params(params))
        totals = np.zeros(1 + len(self._signature.program.totals))
        with gpu(self.spec.number):
            for chunk, found in self._each(self._streams.each[stream], work):
                for name, array in zip(self._signature.new, new, strict=True):
                    array[chunk.begin - base : chunk.end - base] = found[f"n_{name}"]
                if self._signature.program.activate is not None:
                    active[chunk.begin : chunk.end] = found["active"]
                totals += found["totals"]
        return (int(totals[0]), *totals[1:].tolist())

    def accumulate(
        self, stream: int, piece: Piece, base: int, at: int, local: Arrays, sums: Arrays,
        params: Params,
    ) -> None:  # fmt: skip
        """Gather over lists or parts of them into accumulators."""
        work = _Work(piece, base, local, self._params(params), sums, at)
        with gpu(self.spec.number):
            for chunk, found in self._each(self._streams.each[stream], work):
                for k, array in enumerate(sums):
                    array[chunk.begin - at : chunk.end - at] = found[f"had{k}"]

    def _params(self, params: Params) -> dict[str, Any]:
        return {
            f"p_{name}": value for name, value in zip(self._signature.params, params, strict=True)
        }

    def _each(self, stream: Stream, work: _Work) -> Iterator[tuple[Chunk, dict[str, Array]]]:
        """Chunks of a piece, and what came back of each."""
        piece, streams = work.piece, self._streams
        if piece.begin == piece.end:
            return
        span = streams.find(self._key(piece))
        if span is not None:
            whole = Chunk(piece.begin, piece.end, [(0, 0)], "list")
            yield whole, self._chunk(stream, work, whole, lambda _: streams.using(stream, span))
            return
        for chunk in streams.loads.cut(piece.block, piece.begin, piece.end, *streams.limits):

            def load(part: Part, chunk: Chunk = chunk) -> AbstractContextManager[Load]:
                return self._loading(stream, piece, chunk, part)

            yield chunk, self._chunk(stream, work, chunk, load)

    def _loading(
        self, stream: Stream, piece: Piece, chunk: Chunk, part: Part
    ) -> AbstractContextManager[Load]:
        """Write a load and send it; a piece that fits as a whole can be found again."""
        loads, count = self._streams.loads, chunk.end - chunk.begin
        staged = stream.pinned("lists", loads.load_bytes(chunk.way, count, part[1] - part[0]))
        load = loads.stage(piece.block, chunk.begin, chunk.end, part, staged, chunk.way)
        whole = (chunk.begin, chunk.end, len(chunk.parts)) == (piece.begin, piece.end, 1)
        return self._streams.loading(stream, load, staged, self._key(piece) if whole else None)

    def _chunk(self, stream: Stream, work: _Work, chunk: Chunk, load_of: Any) -> dict[str, Array]:
        """Gather and apply, or gather and sum; what came back, by name."""
        room: _Room | None = None
        merge = work.sums is not None or len(chunk.parts) > 1
        for part in chunk.parts:
            with load_of(part) as load:
                if room is None:
                    room = self._enter(stream, work, chunk, load.messages, merge=merge)
                self._streams.gather(load, stream, room.given)
                if merge:
                    self._merge(stream, room.given, load.count)
                if part is chunk.parts[-1]:
                    if work.sums is None:
                        self._apply(stream, room.given, chunk, merge=merge)
                    room.fetch(stream, applied=work.sums is None)
        assert room is not None
        return room.host

    def _enter(
        self, stream: Stream, work: _Work, chunk: Chunk, messages: int, *, merge: bool
    ) -> _Room:
        """Copy what is known of a chunk's vertices (RA), beside the room that is worked in."""
        count, apply = chunk.end - chunk.begin, work.sums is None
        kept = self.values.kept if apply else ()
        layout = self._streams.loads.room(count, messages, merge=merge, apply=apply, elsewhere=kept)
        # What is copied back from elsewhere has its place behind the rest.
        apart = Layout()
        for name in kept:
            apart.add(f"n_{name}", count, self._signature.dtypes[name])
        buffer = stream.pinned("values", layout.size + apart.size)
        host = {**layout.on_host(buffer), **apart.on_host(buffer[layout.size :])}
        self._fill(host, work, chunk, merge=merge)
        end = layout.begin("totals") + host["totals"].nbytes
        view(stream.room, 0, end).copy_to_device(buffer[:end], stream=stream.queue)
        given = {**layout.on_device(stream.room), **work.given, **self.values.given()}
        if kept:
            new = self.values.new(chunk.begin, chunk.end)
            given |= {f"n_{name}": array for name, array in new.items()}
        return _Room(layout, buffer, host, given, tuple(f"n_{name}" for name in kept))

    def _fill(self, host: dict[str, Array], work: _Work, chunk: Chunk, *, merge: bool) -> None:
        """Write what is copied to the device with a chunk."""
        begin, end = chunk.begin - work.base, chunk.end - work.base
        for name, array in zip(self._signature.local, work.local, strict=True):
            if f"l_{name}" in host:
                host[f"l_{name}"][:] = array[begin:end]
        host["totals"][:] = 0
        if merge:
            host["flags"][:] = 1
            for k, identity in enumerate(self._signature.program.identities):
                had = identity
                if work.sums is not None:
                    had = work.sums[k][chunk.begin - work.at : chunk.end - work.at]
                host[f"had{k}"][:] = had

    def _merge(self, stream: Stream, given: dict[str, Any], count: int) -> None:
        """Sum what was gathered to what there was."""
        sums = range(len(self._signature.program.accumulators))
        named = {f"o{k}": given[f"s{k}"] for k in sums} | {f"s{k}": given[f"had{k}"] for k in sums}
        named |= {"touched": given["flags"], "other_touched": given["flags"], "count": count}
        self._streams.launch("merge_sums", count, stream, named)

    def _apply(self, stream: Stream, given: dict[str, Any], chunk: Chunk, *, merge: bool) -> None:
        """Make new values of what was gathered."""
        count = chunk.end - chunk.begin
        named = {**given, "first": chunk.begin, "count": count}
        if merge:
            sums = range(len(self._signature.program.accumulators))
            named |= {f"s{k}": given[f"had{k}"] for k in sums}
        self._streams.launch("apply", count, stream, named)

    # Push

    @property
    def can_push(self) -> bool:
        """See :class:`~penstock.device.device.PushingDevice`, also below: atomic operations."""
        return self._streams.kernels.can_shard

    def begin_push(self, low: int, high: int, of_dst: Arrays) -> None:
        """The accumulators begin anew."""
        self._pushing.begin(low, high, of_dst)

    def push(self, stream: int, piece: Piece, gathered: Arrays, params: Params) -> None:
        """Along the lists of a piece's vertices."""
        self._pushing.push(self._streams.each[stream], piece, gathered, self._params(params))

    def touched_pages(self) -> U8:
        """For each page of out-lists, whether one of its vertices was reached."""
        return self._pushing.touched_pages()

    def take_sums(
        self, begin: int, end: int, others: Sequence[PushingDevice]
    ) -> tuple[U32, Arrays]:
        """The vertices that were reached, and their accumulators."""
        theirs = [other._pushing for other in others if isinstance(other, CudaDevice)]
        return self._pushing.take(begin, end, theirs)

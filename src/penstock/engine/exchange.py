"""The values of vertices that ranks send each other, in a run over several hosts.

A rank gathers from values of all vertices and computes new ones for its own. Other ranks receive
those that their lists name: at first that may be any vertex; after a pass over its lists each rank
reports which. Values are sent in chunks, each as soon as it is complete, while lists are still
being read. What arrives is kept until the old values are no longer needed, and is then written
chunk by chunk.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.engine.host_memory import MOST_CHUNKS
from penstock.engine.ownership import Vertices
from penstock.engine.peers import Arrays, Peers
from penstock.jit import kernel
from penstock.types import I64, U8, U32, Array

#: About how many bytes of values are in a chunk.
CHUNK_BYTES = 1 << 20

#: Writes values of vertices (ascending) of another rank where they belong: an array for each field.
Put = Callable[[U32, Sequence[Array]], None]


class KnownNeeds(NamedTuple):
    """Which values ranks need, as they have reported, in bits; None: it may be any."""

    #: By rank: which of the own values it needs.
    wanted: list[U8 | None]
    #: By rank: which values of its vertices this rank needs.
    needed: list[U8 | None]


class Chunks(NamedTuple):
    """How the values of a rank's vertices are divided: ``number`` chunks of ``size``, a multiple of
    8; the last one may be shorter.
    """

    number: int
    size: int

    @classmethod
    def of(cls, length: int, value_bytes: int) -> Chunks:
        """Those of ``length`` values."""
        wanted = max(1, min(-(-length * max(value_bytes, 1) // CHUNK_BYTES), MOST_CHUNKS))
        size = -(-length // (8 * wanted)) * 8 or 8
        return cls(-(-length // size) or 1, size)


@kernel
def mark_neighbours(block, begin, end, marks):  # type: ignore[no-untyped-def]
    """Mark every vertex that the lists of vertices ``begin`` to ``end`` name."""
    first = np.uint64(block.first)
    low, high = np.uint64(begin) - first, np.uint64(end) - first
    for v in range(low, high):
        for k in range(np.uint64(block.offsets[v]), np.uint64(block.ends[v])):
            marks[block.neighbours[k]] = np.uint8(1)


def pack_places(places: I64, length: int) -> Array:
    """A set of places below ``length``: a list if it is short (uint32), else bits (uint8)."""
    if 32 * len(places) < length:
        return places.astype(np.uint32)
    bits: U8 = np.zeros(length, np.uint8)
    bits[places] = 1
    return np.packbits(bits)


def unpack_places(packed: Array, length: int) -> I64:
    """The places of a set, ascending if it was packed so."""
    if packed.dtype == np.uint32:
        return packed.astype(np.int64)
    return np.flatnonzero(np.unpackbits(packed, count=length))


@kernel
def _vertices_marked(bits, low, high, begins, ends, starts, k, found):  # type: ignore[no-untyped-def]
    """The vertices at those positions from ``low`` to ``high`` whose bits are set; how many. ``k``:
    the range that position ``low`` is in.
    """
    count, place, seven = np.uint64(0), np.uint64(low), np.uint64(7)
    while place < high:
        shift = begins[k] - starts[k]
        stop = np.uint64(min(np.int64(high), ends[k] - shift))
        while place < stop:
            found[count] = place + np.uint64(shift)
            octet = np.uint64(bits[place >> np.uint64(3)])
            count += octet >> (seven - (place & seven)) & np.uint64(1)
            place += np.uint64(1)
        k += 1
    return count


@kernel
def _take_marked(values, bits, low, high, found):  # type: ignore[no-untyped-def]
    """The values at those positions whose bits are set; how many."""
    count, seven = np.uint64(0), np.uint64(7)
    for place in range(np.uint64(low), np.uint64(high)):
        found[count] = values[place]
        octet = np.uint64(bits[place >> np.uint64(3)])
        count += octet >> (seven - (place & seven)) & np.uint64(1)
    return count


@kernel
def _scatter(target, places, values):  # type: ignore[no-untyped-def]
    for k in range(len(places)):
        target[places[k]] = values[k]


def _words(values: Array) -> Array | None:
    """Numbers as the unsigned integers of their bytes, so that kernels are compiled for few types;
    None for others.
    """
    if values.ndim == 1 and values.dtype.kind in "iuf" and values.itemsize in (4, 8):
        return values.view(f"u{values.itemsize}")
    return None


def take_marked(values: Array, bits: U8, low: int, high: int) -> Array:
    """The values at those positions from ``low``, a multiple of 8, to ``high`` whose bits are
    set.
    """
    words = _words(values)
    if words is None:
        flags = np.unpackbits(bits[low // 8 : -(-high // 8)], count=high - low)
        return values[low:high][np.flatnonzero(flags)]
    found = np.empty(high - low, values.dtype)
    return found[: _take_marked(words, bits, low, high, found.view(words.dtype))]


def scatter(target: Array, places: U32, values: Array) -> None:
    """``target[places] = values``."""
    words = _words(target)
    if words is None or values.dtype != target.dtype:
        target[places] = values
    else:
        _scatter(words, places, np.ascontiguousarray(values).view(words.dtype))


def are_marked(bits: U8, places: I64) -> Array:
    """Whether the bit of each place is set."""
    found: Array = (bits[places >> 3] >> (7 - (places & 7)).astype(np.uint8)) & 1 == 1
    return found


class Exchange:
    """The values of one run that ranks send each other."""

    def __init__(self, peers: Peers, vertices: Sequence[Vertices], value_bytes: int) -> None:
        self._peers = peers
        #: The vertices of each rank.
        self.vertices = vertices
        self.own = vertices[peers.rank]
        self.others = [rank for rank in range(peers.size) if rank != peers.rank]
        self.needs = KnownNeeds([None] * peers.size, [None] * peers.size)
        self._chunks = [Chunks.of(each.count, value_bytes) for each in vertices]
        #: How many values of each own chunk are still missing, during a pass.
        self._left: list[int] = []
        #: By rank: chunks of new values that have arrived.
        self._received: list[list[Arrays]] = [[] for _ in range(peers.size)]
        self._lock = threading.Lock()

    def know_needs(self, flags: Callable[[int, int], U8]) -> None:
        """Set which values ranks need, if all ranks can compute this: ``flags(of, by)`` are those
        of rank ``of`` that rank ``by`` may need, by position.
        """
        me = self._peers.rank
        for rank in self.others:
            self.needs.wanted[rank] = np.packbits(flags(me, rank))
            self.needs.needed[rank] = np.packbits(flags(rank, me))

    def say_needs(self, named: U8) -> None:
        """Tell the others which of their values this rank's lists name: flags by vertex number."""
        self.say_needs_of({rank: self.vertices[rank].take(named) for rank in self.others})

    def say_needs_of(self, flags: Mapping[int, U8]) -> None:
        """Tell each other rank which of its values this rank needs: flags by position."""
        for rank in self.others:
            bits = np.packbits(flags[rank])
            self.needs.needed[rank] = bits
            self._peers.post(rank, bits)
        for rank, messages in enumerate(self._peers.drain()):
            if rank != self._peers.rank:
                ((bits,),) = messages
                self.needs.wanted[rank] = bits

    # All values of own vertices

    def begin(self) -> None:
        """Begin a pass that computes the values of all own vertices, piece by piece."""
        number, size = self._chunks[self._peers.rank]
        ends = (min((k + 1) * size, self.own.count) for k in range(number))
        self._left = [max(end - k * size, 0) for k, end in enumerate(ends)]

    def complete(self, begin: int, end: int, new: Arrays) -> None:
        """The values of own vertices ``begin`` to ``end`` (consecutive) are in ``new``. Does
        nothing outside of such a pass.
        """
        if not self._left:
            return
        position = self.own.position(begin)
        stop, ready = position + end - begin, []
        size = self._chunks[self._peers.rank].size
        with self._lock:
            for chunk in range(position // size, -(-stop // size)):
                low, high = chunk * size, (chunk + 1) * size
                self._left[chunk] -= min(stop, high) - max(position, low)
                if self._left[chunk] == 0:
                    ready.append(chunk)
        for chunk in ready:
            self._send(chunk, new)

    def _send(self, chunk: int, new: Arrays) -> None:
        size = self._chunks[self._peers.rank].size
        low = chunk * size
        high = min(low + size, self.own.count)
        for rank in self.others:
            wanted = self.needs.wanted[rank]
            if wanted is None:
                parts = [values[low:high] for values in new]
            else:
                parts = [take_marked(values, wanted, low, high) for values in new]
            if not parts or len(parts[0]):
                self._peers.post(rank, np.array([chunk]), *parts)

    def meet(self, *arrays: Array) -> list[Arrays]:
        """What each rank gives, by rank. Values that arrive at the same time are kept for later."""
        return self.alltoall([arrays] * self._peers.size)

    def alltoall(self, messages: Sequence[Arrays]) -> list[Arrays]:
        """As :meth:`meet`, but message r is sent to rank r only."""
        for rank in self.others:
            self._peers.post(rank, *messages[rank])
        found: list[Arrays] = list(messages)
        for rank, came in enumerate(self._peers.drain()):
            if rank != self._peers.rank:
                *values, found[rank] = came
                self._received[rank] += values
        return found

    def finish(self, put: Put, *more: Array) -> list[Arrays]:
        """Wait for the new values of the others and ``put`` them where they belong; returns what
        each rank gave as ``more``.
        """
        said = self.meet(*more)
        self._left = []
        for rank in self.others:
            self._received[rank].reverse()
            while self._received[rank]:
                (chunk,), *values = self._received[rank].pop()
                put(self._told(rank, int(chunk)), values)
        return said

    def _told(self, rank: int, chunk: int) -> U32:
        """The vertices of another rank whose values are in a chunk."""
        size, vertices, needed = (
            self._chunks[rank].size,
            self.vertices[rank],
            self.needs.needed[rank],
        )
        low = chunk * size
        high = min(low + size, vertices.count)
        if needed is None:
            return vertices.part(low, high)
        found: U32 = np.empty(high - low, np.uint32)
        ranges = vertices.begins, vertices.ends, vertices.starts, vertices.range_at(low)
        return found[: _vertices_marked(needed, low, high, *ranges, found)]

    # Values of some own vertices

    def send_some(self, vertices: U32, new: Arrays) -> None:
        """Send the new values of some own vertices (ascending) to the others."""
        positions = self.own.positions(vertices)
        for rank in self.others:
            wanted = self.needs.wanted[rank]
            told = positions if wanted is None else positions[are_marked(wanted, positions)]
            packed = pack_places(told, self.own.count)
            self._peers.post(rank, packed, *(values[told] for values in new))

    def finish_some(self, put: Put, *more: Array) -> list[Arrays]:
        """As :meth:`finish`, after :meth:`send_some`."""
        said = self.meet(*more)
        for rank in self.others:
            ((packed, *values),) = self._received[rank]
            self._received[rank] = []
            vertices = self.vertices[rank]
            put(vertices.at(unpack_places(packed, vertices.count)), values)
        return said

    # Sets of vertices

    def to_owners(self, found: U32, *more: Array) -> tuple[U32, list[Arrays]]:
        """Send the vertices that each rank found (ascending) to their owners. Returns those of this
        rank that any rank found, ascending, and what each rank gave as ``more``.
        """
        for rank in self.others:
            theirs = self.vertices[rank]
            places = theirs.positions(found[theirs.has(found)])
            self._peers.post(rank, pack_places(places, theirs.count), *more)
        marks: U8 = np.zeros(self.own.count, np.uint8)
        marks[self.own.positions(found[self.own.has(found)])] = 1
        said: list[Arrays] = [more] * self._peers.size
        for rank, messages in enumerate(self._peers.drain()):
            if rank != self._peers.rank:
                ((packed, *rest),) = messages
                said[rank] = tuple(rest)
                marks[unpack_places(packed, self.own.count)] = 1
        return self.own.at(np.flatnonzero(marks)), said

    def pack_own(self, flags: U8) -> Array:
        """The own vertices whose flag is set, packed; ``flags`` are by vertex number."""
        return pack_places(np.flatnonzero(self.own.take(flags)), self.own.count)

    def unpack_flags(self, packed: Sequence[Array], flags: U8) -> None:
        """Set the flags of the vertices of all other ranks, from what these have packed."""
        for rank in self.others:
            vertices = self.vertices[rank]
            mine: U8 = np.zeros(vertices.count, np.uint8)
            mine[unpack_places(packed[rank], vertices.count)] = 1
            vertices.put(flags, mine)


def rows_to_array(rows: list[tuple[int, Any]], width: int) -> Array:
    """Rows, each with its vertex, as one float64 array."""
    return np.array([(at, *row) for at, row in rows], np.float64).reshape(len(rows), 1 + width)


def rows_of_arrays(arrays: Sequence[Array]) -> list[Any]:
    """The rows of all ranks, in the order of their vertices; see :func:`rows_to_array`."""
    rows = sorted((row for array in arrays for row in array.tolist()), key=lambda row: row[0])
    return [(int(row[1]), *row[2:]) for row in rows]

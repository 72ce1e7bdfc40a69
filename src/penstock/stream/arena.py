"""Buffers for reading single lists, divided among many streams or among few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.store.banded_lists import ARENA_TAIL, BLOCK_BYTES
from penstock.store.direct import page_buffer
from penstock.store.layout import DECODE_ROOM
from penstock.types import I64, U8, U32, U64

#: Reads under way at once: many short ones, or a few long ones.
DEEP_STREAMS, WIDE_STREAMS = 32, 8
#: What a deep or wide stream reads into, at least.
DEEP_ROOM, WIDE_ROOM = 1 << 17, 1 << 19
#: What all streams together read into, at most and at least.
MOST_ARENA, LEAST_ARENA = 8 << 20, 1 << 18
#: Bytes of buffers for each byte that is read into: ids of two bytes become four ...
ARENA_COST = 3
#: ... and besides: what is known of the lists of a batch. Lists in the batches of all streams.
BATCH_LISTS, LIST_COST = 1 << 14, 180


def arena_bytes(memory: int) -> int:
    """What of a budget is read into."""
    return max(LEAST_ARENA, min(MOST_ARENA, memory // 32))


def buffer_bytes(memory: int) -> int:
    """What the buffers of an :class:`Arena` for a budget take."""
    return ARENA_COST * arena_bytes(memory) + LIST_COST * BATCH_LISTS + (1 << 18)


@dataclass(slots=True)
class ReadStream:
    """The buffers of one reader: what it reads into, and the lists that come out of it."""

    room: int
    arena: U8
    #: The same as numbers of 8 bytes.
    words: U64
    address: int
    offsets: U32
    neighbours: U32
    requests: I64
    segments: I64


class Arena:
    """Buffers that lists are read into, divided among many streams or among few."""

    def __init__(self, memory: int, bands: int) -> None:
        self._size = arena_bytes(memory)
        slack = DEEP_STREAMS * BLOCK_BYTES
        self._bytes = page_buffer(self._size + slack)
        self._ids: U32 = np.empty(self._size // 2 + DEEP_STREAMS * DECODE_ROOM, np.uint32)
        self._offsets: U32 = np.empty(BATCH_LISTS + DEEP_STREAMS, np.uint32)
        self._requests: I64 = np.empty((BATCH_LISTS * bands, 4), np.int64)
        self._segments: I64 = np.empty((BATCH_LISTS, bands, 3), np.int64)
        self.deep = self._divide(min(DEEP_STREAMS, max(self._size // DEEP_ROOM, 1)), bands)
        self.wide = self._divide(min(WIDE_STREAMS, max(self._size // WIDE_ROOM, 1)), bands)

    @property
    def nbytes(self) -> int:
        """Bytes of the buffers."""
        arrays = (self._bytes, self._ids, self._offsets, self._requests, self._segments)
        return sum(array.nbytes for array in arrays)

    def _divide(self, count: int, bands: int) -> list[ReadStream]:
        room = self._size // count // BLOCK_BYTES * BLOCK_BYTES
        lists = BATCH_LISTS // count
        ids = room // 2 + DECODE_ROOM
        streams = []
        for k in range(count):
            # Each part begins at a block; what its reads leave free at the end is for wide copies.
            arena = self._bytes[k * (room + BLOCK_BYTES) :][: room + ARENA_TAIL]
            offsets = self._offsets[k * (lists + 1) :][: lists + 1]
            neighbours = self._ids[k * ids :][:ids]
            requests = self._requests[k * lists * bands :][: lists * bands]
            segments = self._segments[k * lists :][:lists]
            buffers = (offsets, neighbours, requests, segments)
            words = arena.view(np.uint64)
            streams.append(ReadStream(room, arena, words, arena.ctypes.data, *buffers))
        return streams

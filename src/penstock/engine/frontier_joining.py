"""Frontiers over several hosts: what each rank has found becomes the frontier of all.

Every rank has the whole frontier, and expands it along its own lists. If it finds vertices of
others, it sends them to their owners, with what the algorithm keeps of them
(:class:`~expansion.Told`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.engine.engine import Engine
from penstock.engine.expansion import Told
from penstock.engine.frontier_kernels import vertices_of
from penstock.engine.watched_peers import in_exchange
from penstock.types import U32, U64, VID, Array


class FrontierExchange:
    """What ranks send each other after each step of a search."""

    def __init__(self, engine: Engine, told: Told, state: Any) -> None:
        self._engine = engine
        self._peers = engine.peers
        self._told = told
        self._state = state
        self._others = [rank for rank in range(engine.peers.size) if rank != engine.peers.rank]
        #: Up to this many found vertices are sent as a list, more as bits.
        self._listed = engine.num_vertices // 32

    @in_exchange
    def join_listed(self, found: U32, step: int) -> U32:
        """The vertices that any rank has found, ascending; ``found``: those of this rank."""
        found = np.sort(found)
        bits: U64 = np.zeros(-(-self._engine.num_vertices // 64), np.uint64)
        lists = self._exchange(found, found, step)
        if all(each.dtype == VID for each in lists):
            return np.unique(np.concatenate([found, *lists]))
        _set_bits(bits, found)
        self._add(bits, lists)
        return self._vertices(bits)

    @in_exchange
    def join_bits(self, bits: U64, step: int) -> int:
        """Add the vertices that other ranks have found; returns how many there are in all."""
        found = self._vertices(bits)
        packed = found if len(found) <= self._listed else bits.copy()
        self._add(bits, self._exchange(packed, found, step))
        return int(np.bitwise_count(bits).sum())

    def _exchange(self, packed: Array, found: U32, step: int) -> Sequence[Array]:
        """Send what was found to all ranks, and the fields of found vertices to their owners;
        receive the same from others. Returns their sets, as vertices or as bits.
        """
        arrays = [getattr(self._state, name) for name in self._told.fields]
        if packed.dtype == VID and len(packed) > self._listed:
            bits: U64 = np.zeros(-(-self._engine.num_vertices // 64), np.uint64)
            _set_bits(bits, packed)
            packed = bits
        for rank in self._others:
            theirs = self._engine.vertices_of_ranks[rank].among(found)
            self._peers.post(rank, packed, theirs, *(array[theirs] for array in arrays))
        sets = []
        for rank, messages in enumerate(self._peers.drain()):
            if rank != self._peers.rank:
                ((their_packed, vertices, *values),) = messages
                self._told.take(self._state, step, vertices, *values)
                sets.append(their_packed)
        return sets

    def _add(self, bits: U64, sets: Sequence[Array]) -> None:
        for each in sets:
            if each.dtype == VID:
                _set_bits(bits, each)
            else:
                np.bitwise_or(bits, each, out=bits)

    def _vertices(self, bits: U64) -> U32:
        chosen: U32 = np.empty(int(np.bitwise_count(bits).sum()), VID)
        vertices_of(0, self._engine.num_vertices, chosen, bits)
        return chosen

    def total(self, number: int) -> int:
        """The sum of a number over all ranks."""
        return int(self._peers.allreduce(np.array([number], np.int64))[0])


def _set_bits(bits: U64, vertices: U32) -> None:
    words = vertices >> np.uint32(6)
    np.bitwise_or.at(bits, words, np.uint64(1) << (vertices & np.uint32(63)).astype(np.uint64))

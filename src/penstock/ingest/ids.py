"""Turning ids of any kind into ranks 0 .. n-1 in ascending order of the ids, in bounded memory.

Dense integer ids need none of this. Sparse integers are sorted (externally if need be) and looked
up through a hash index. Strings are hashed to 64-bit keys while they are read, so that everything
after works on numbers; the distinct strings are kept aside, sorted, and tell each key its rank.
That two strings share a key is noticed, never overlooked. An index too big for memory is made a
part at a time, and the rows go past each part.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from penstock.arrays import distinct
from penstock.errors import InputError
from penstock.ingest.spool import IntChunk, Packed, Spool, pack_chunk
from penstock.jit import kernel
from penstock.parallel import ordered_map
from penstock.sorting.packing import width_of
from penstock.types import NO_VERTEX, U32, U64, Array

#: Bytes of an index for each id: up to four slots of 4, a key of 8, a rank of 4.
INDEX_BYTES = 28
#: Files of sorted ids that are merged at a time.
_FAN_IN = 32
_SCAN_ROWS = 1 << 17
_SRC, _DST = "\0src", "\0dst"


class HashCollisionError(InputError):
    """Two different strings have the same key; another seed will do."""


@kernel
def _build_index(keys, slots):  # type: ignore[no-untyped-def]
    """Open addressing; a slot is an index into ``keys`` plus one. Returns False on equal keys."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        at = (keys[i] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & mask
        while slots[np.int64(at)] != 0:
            if keys[np.int64(slots[np.int64(at)]) - 1] == keys[i]:
                return False
            at = (at + np.uint64(1)) & mask
        slots[np.int64(at)] = np.uint32(i + 1)
    return True


@kernel
def _look_up(ids, keys, ranks, first_rank, slots, out):  # type: ignore[no-untyped-def]
    """Write the rank of each id that is here; leave the others. Empty ``ranks``: in order."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(ids)):
        at = (ids[i] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & mask
        while True:
            slot = np.int64(slots[np.int64(at)])
            if slot == 0:
                break
            if keys[slot - 1] == ids[i]:
                if len(ranks):
                    out[i] = ranks[slot - 1]
                else:
                    out[i] = np.uint32(first_rank + slot - 1)
                break
            at = (at + np.uint64(1)) & mask


class _Index:
    """Some ids and their ranks."""

    def __init__(self, keys: U64, ranks: U32, first_rank: int) -> None:
        self._keys = np.ascontiguousarray(keys)
        self._ranks = ranks
        self._first_rank = first_rank
        self._slots: U32 = np.zeros(1 << max(4, (2 * len(keys)).bit_length()), np.uint32)
        if not _build_index(self._keys, self._slots):
            raise HashCollisionError("two different ids have the same 64-bit hash")

    def ranks(self, ids: U64, out: U32) -> None:
        """Fill in the ranks of the ids that are here."""
        _look_up(ids, self._keys, self._ranks, self._first_rank, self._slots, out)


def sorted_unique(parts: Iterator[U64], limit: int, scratch: Path, out: Path) -> U64:
    """The distinct numbers of all parts, ascending; in memory, or mapped from ``out`` if large."""
    runs: list[_Run] = []
    held: list[U64] = []
    size = 0
    for part in parts:
        held.append(distinct(part))
        size += held[-1].nbytes
        if size > limit:
            merged = distinct(np.concatenate(held))
            held = [merged]
            if merged.nbytes > limit // 2:
                runs.append(_Run(scratch / f"ids.{len(runs)}", iter(held)))
                held = []
            if len(runs) == _FAN_IN:
                runs = [_Run(scratch / "ids.merged", _merged(runs, limit)).renamed("ids.0")]
            size = sum(array.nbytes for array in held)
    last = distinct(np.concatenate(held)) if held else np.empty(0, np.uint64)
    if not runs:
        return last
    runs.append(_Run(scratch / "ids.last", iter([last])))
    _Run(out, _merged(runs, limit))
    mapped: U64 = np.memmap(out, np.uint64, "r")
    return mapped


class _Run:
    """Ascending numbers in a file, read back from the front, once."""

    BLOCK = 1 << 13

    def __init__(self, path: Path, pieces: Iterator[U64]) -> None:
        self.num_bytes = 0
        samples = []
        with path.open("wb") as file:
            for piece in pieces:
                # Not tofile(): it does not notice that a disk is full.
                file.write(piece.data)
                self.num_bytes += piece.nbytes
                samples.append(piece[:: self.BLOCK // 8].copy())
        self.samples = np.concatenate(samples)
        self._path = path
        self._at = 0
        self._rest: U64 = np.empty(0, np.uint64)

    def renamed(self, name: str) -> _Run:
        """The same with its file under another name."""
        self._path = self._path.rename(self._path.with_name(name))
        return self

    def take_until(self, stop: int | None) -> Iterator[U64]:
        """What is left that is less than ``stop`` (None: all)."""
        while True:
            upto = len(self._rest)
            if stop is not None:
                upto = int(np.searchsorted(self._rest, np.uint64(stop)))
            yield self._rest[:upto]
            self._rest = self._rest[upto:]
            if len(self._rest) or self._at == self.num_bytes:
                return
            self._rest = np.fromfile(self._path, np.uint64, self.BLOCK, offset=self._at)
            self._at += self._rest.nbytes
            if self._at == self.num_bytes:
                self._path.unlink()


def _merged(runs: list[_Run], limit: int) -> Iterator[U64]:
    """The distinct numbers of all runs, ascending; the runs are used up."""
    samples = np.sort(np.concatenate([run.samples for run in runs]))
    pieces = max(1, -(-2 * sum(run.num_bytes for run in runs) // limit))
    stops = samples[(np.arange(1, pieces) * len(samples)) // pieces].tolist()
    for stop in (*stops, None):
        parts = [part for run in runs for part in run.take_until(stop)]
        yield distinct(np.concatenate(parts))


def forget(array: U64) -> None:
    """Take the pages of a mapped file out of memory; other arrays stay as they are."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None:
        mapped.madvise(mmap.MADV_DONTNEED)


def rank_rows(
    spool: Spool, parts: Callable[[int], Iterator[tuple[U64, U32, int]]], num_ids: int,
    columns: dict[str, np.dtype[Any]], budget: int, threads: int, scratch: Path | None,
) -> Spool:  # fmt: skip
    """Replace the ids of all rows by ranks; the old spool is used up.

    ``parts(k)`` divides the ids into k parts: (ids, their ranks or empty, first rank).
    """
    wanted = max(1, -(-INDEX_BYTES * num_ids // max(1, budget // 3)))
    ranked = {_SRC: np.dtype(np.uint32), _DST: np.dtype(np.uint32), **columns}
    # The index, the old and the new spool are in memory together.
    spool.shrink(budget // 5)
    divided = parts(wanted)
    for number in range(wanted):
        last = number == wanted - 1
        folder = scratch and scratch / f"ranked.{number}"
        target = Spool(folder, budget // 5, columns if last else ranked)
        _rank(spool, _Index(*next(divided)), target, threads, last=last)
        spool = target
    return spool


def _rank(spool: Spool, index: _Index, target: Spool, threads: int, *, last: bool) -> None:
    """Send all rows past an index; with ``last`` every id has been found afterwards."""

    def look_up(raw: Any) -> Packed:
        chunk = spool.unpack(raw)
        found = dict(chunk.columns)
        src = _pending(found.pop(_SRC, None), len(chunk))
        dst = _pending(found.pop(_DST, None), len(chunk))
        index.ranks(chunk.src, src)
        index.ranks(chunk.dst, dst)
        if last:
            return pack_chunk(IntChunk(src.astype(np.uint64), dst.astype(np.uint64), found))
        return pack_chunk(IntChunk(chunk.src, chunk.dst, {_SRC: src, _DST: dst, **found}))

    for packed in ordered_map(look_up, spool.raw_chunks(take=True), threads):
        target.append(packed)


def _pending(column: Array | None, rows: int) -> U32:
    if column is None:
        return np.full(rows, NO_VERTEX, np.uint32)
    return column.copy()


def integer_parts(ids: U64) -> Callable[[int], Iterator[tuple[U64, U32, int]]]:
    """For :func:`rank_rows`: sorted ids, whose rank is their place."""

    def parts(wanted: int) -> Iterator[tuple[U64, U32, int]]:
        none: U32 = np.empty(0, np.uint32)
        for k in range(wanted):
            low, high = len(ids) * k // wanted, len(ids) * (k + 1) // wanted
            part = [np.array(ids[low:high])]
            forget(ids)
            yield part.pop(), none, low

    return parts


def hashed_parts(keys: U64) -> Callable[[int], Iterator[tuple[U64, U32, int]]]:
    """For :func:`rank_rows`: hash keys in order of rank, divided by their size."""

    def parts(wanted: int) -> Iterator[tuple[U64, U32, int]]:
        bounds = [((1 << 64) * k // wanted) for k in range(wanted + 1)]
        for low, high in pairwise(bounds):
            chosen, ranks = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
            for at in range(0, len(keys), _SCAN_ROWS):
                block = np.asarray(keys[at : at + _SCAN_ROWS])
                here = (block >= np.uint64(low)) & (block <= np.uint64(high - 1))
                chosen.append(block[here])
                ranks.append((np.flatnonzero(here) + at).astype(np.uint32))
            forget(keys)
            yield _taken(chosen), _taken(ranks), 0

    return parts


def _taken(parts: list[Array]) -> Array:
    """All parts in one array; the list is empty afterwards."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def narrowest(largest: int) -> np.dtype[np.generic]:
    """The dtype ids come back in: int64 unless they need all 64 bits."""
    return np.dtype(np.int64) if width_of(largest) < 8 or largest < 1 << 63 else np.dtype(np.uint64)

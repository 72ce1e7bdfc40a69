"""String ids: hashing them while they are read, and sorting the distinct ones out of core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import InputError
from penstock.ingest.ids import HashCollisionError
from penstock.jit import kernel
from penstock.types import I64, U8, U64, Names

#: Strings remembered as seen, so that they need not be sorted out again; 16 bytes each.
_MOST_SEEN = 1 << 22
#: Sorted files merged at a time.
_FAN_IN = 8
#: Rows of a batch in the file of ids.
_BATCH_ROWS = 1 << 16
#: What makes the two hashes of a string differ.
_FACTORS = (np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))
_SCHEMA = pa.schema([("name", pa.large_binary()), ("key", pa.uint64())])


@kernel
def _hash_names(data, start, length, seed, factor, out):  # type: ignore[no-untyped-def]
    """A 64-bit hash of each string, eight bytes at a time.

    A product passes a change on to higher bits only. So each word is multiplied (by ``factor``,
    which is odd), turned, and multiplied again with what came before: a change in one word that the
    next one could undo would have to depend on all bits of the first.
    """
    for i in range(len(start)):
        h = seed ^ (np.uint64(length[i]) * np.uint64(0x9E3779B97F4A7C15))
        word = np.uint64(0)
        filled = 0
        for k in range(length[i]):
            word |= np.uint64(data[start[i] + k]) << np.uint64(8 * filled)
            filled += 1
            if filled == 8 or k == length[i] - 1:
                word *= factor
                word = (word << np.uint64(31)) | (word >> np.uint64(33))
                h = (h ^ word) * np.uint64(0xD6E8FEB86659FD93)
                h ^= h >> np.uint64(32)
                word = np.uint64(0)
                filled = 0
        h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
        out[i] = h ^ (h >> np.uint64(29))


@kernel
def _fresh(keys, checks, seen, kept):  # type: ignore[no-untyped-def]
    """The strings that are not among those seen lately; returns how many, or -1 if two different
    ones have one key. ``seen`` is a cache of (key, check), each at the place its key says.
    """
    mask = np.uint64(len(seen) - 1)
    count = 0
    for i in range(len(keys)):
        at = np.int64(keys[i] & mask)
        if seen[at, 0] == keys[i]:
            if seen[at, 1] == checks[i]:
                continue
            if seen[at, 1] != 0:
                return -1
        seen[at, 0] = keys[i]
        seen[at, 1] = checks[i]
        kept[count] = i
        count += 1
    return count


@kernel
def _copy_names(data, start, length, kept, offsets, out):  # type: ignore[no-untyped-def]
    at = 0
    for i in range(len(kept)):
        offsets[i] = at
        for k in range(length[kept[i]]):
            out[at] = data[start[kept[i]] + k]
            at += 1
    offsets[len(kept)] = at


class HashedNames(NamedTuple):
    """Strings, the key of each, and a second hash that tells strings with one key apart."""

    names: Names
    keys: U64
    checks: U64


def hash_names(names: Names, seed: int) -> HashedNames:
    """Hash each string."""
    keys: U64 = np.empty(len(names), np.uint64)
    checks: U64 = np.empty(len(names), np.uint64)
    for factor, out in zip(_FACTORS, (keys, checks), strict=True):
        _hash_names(names.data, names.start, names.length, np.uint64(seed), factor, out)
    checks |= np.uint64(1)  # zero marks an empty place
    return HashedNames(names, keys, checks)


def _as_table(names: Names, keys: U64, kept: I64) -> pa.Table:
    """Some of the strings with their keys."""
    offsets: I64 = np.empty(len(kept) + 1, np.int64)
    data: U8 = np.empty(int(names.length[kept].sum()), np.uint8)
    _copy_names(names.data, names.start, names.length, kept, offsets, data)
    column = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(kept), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    return pa.table([column, pa.array(keys[kept])], schema=_SCHEMA)


class NameCollector:
    """Gathers distinct strings; holds about ``limit`` bytes of them, the rest in sorted files."""

    def __init__(self, scratch: Path | None, limit: int) -> None:
        self._scratch = scratch
        self._limit = limit // 2
        places = min(_MOST_SEEN, max(1024, limit // 2 // 16))
        self._seen: U64 = np.zeros((1 << (places.bit_length() - 1), 2), np.uint64)
        self._held: list[pa.Table] = []
        self._size = 0
        self._runs: list[_Run] = []
        self._written = 0

    def add(self, hashed: HashedNames) -> None:
        """Take the strings of a chunk."""
        kept: I64 = np.empty(len(hashed.keys), np.int64)
        count = _fresh(hashed.keys, hashed.checks, self._seen, kept)
        if count < 0:
            raise HashCollisionError("two different ids have the same 64-bit hash")
        table = _as_table(hashed.names, hashed.keys, kept[:count])
        self._held.append(table)
        self._size += table.nbytes
        if self._size <= self._limit:
            return
        merged = _sorted_distinct(self._held)
        self._held = [merged]
        if merged.nbytes > self._limit // 2:
            self._runs.append(self._new_run(0, iter([merged])))
            self._held = []
            self._merge_alike()
        self._size = sum(each.nbytes for each in self._held)

    def _new_run(self, level: int, pieces: Iterator[pa.Table]) -> _Run:
        assert self._scratch is not None
        self._written += 1
        return _Run(level, pieces, self._scratch / f"names.{self._written}.arrow")

    def _merge_alike(self) -> None:
        """Merge the last runs as long as ``_FAN_IN`` of them are of one level, to the next."""
        while len(self._runs) >= _FAN_IN and self._runs[-_FAN_IN].level == self._runs[-1].level:
            last = self._runs[-_FAN_IN:]
            merged = _merged(last, _SCHEMA.empty_table(), self._limit)
            self._runs[-_FAN_IN:] = [self._new_run(last[0].level + 1, merged)]

    def finish(self, out: Path | None) -> tuple[U64, pa.Table | None]:
        """Write all distinct strings, ascending, to ``out`` (or return them if None); returns their
        keys in that order.
        """
        held = _sorted_distinct(self._held) if self._held else _SCHEMA.empty_table()
        pieces = _merged(self._runs, held, self._limit)
        if out is None:
            tables = list(pieces)
            table = pa.concat_tables(tables) if tables else _SCHEMA.empty_table()
            return _keys(table), _as_text(table)
        assert self._scratch is not None
        schema = pa.schema([("id", pa.large_string())])
        kept = self._scratch / "names.keys"
        with (
            pa.OSFile(str(out), "wb") as file,
            pa.ipc.new_file(file, schema) as writer,
            kept.open("wb") as keys,
        ):
            for piece in _in_batches(pieces):
                keys.write(_keys(piece).data)
                writer.write_table(_as_text(piece))
        # An empty file cannot be mapped.
        empty = kept.stat().st_size == 0
        return np.empty(0, np.uint64) if empty else np.memmap(kept, np.uint64, "r"), None


def _merged(runs: list[_Run], held: pa.Table, limit: int) -> Iterator[pa.Table]:
    """All distinct strings of the runs, which are used up, and of a sorted table, ascending."""
    size = held.nbytes + sum(run.num_bytes for run in runs)
    pieces = max(1, -(-2 * size // limit))
    samples = sorted(name for run in runs for name in run.first_names)
    stops = [samples[len(samples) * k // pieces] for k in range(1, pieces) if samples]
    for stop in (*stops, None):
        upto = len(held) if stop is None else _lower_bound(held["name"], stop)
        parts = [part for run in runs for part in run.take_until(stop)]
        yield _sorted_distinct([held.slice(0, upto), *parts])
        held = held.slice(upto)


class _Run:
    """Sorted strings in a file, read back from the front, once."""

    ROWS = 1 << 13

    def __init__(self, level: int, pieces: Iterator[pa.Table], path: Path) -> None:
        self.level = level
        self.num_bytes = 0
        #: One of about ``ROWS``.
        self.first_names: list[bytes] = []
        self._path = path
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
            for piece in pieces:
                writer.write_table(piece, max_chunksize=self.ROWS)
                self.num_bytes += piece.nbytes
                names = piece["name"]
                self.first_names += [names[i].as_py() for i in range(0, len(piece), self.ROWS)]
        self._batches = self._read()
        self._rest = _SCHEMA.empty_table()

    def _read(self) -> Iterator[pa.Table]:
        with pa.OSFile(str(self._path)) as file, pa.ipc.open_file(file) as reader:
            for k in range(reader.num_record_batches):
                yield pa.Table.from_batches([reader.get_batch(k)])
        self._path.unlink()

    def take_until(self, stop: bytes | None) -> Iterator[pa.Table]:
        """What is left that comes before ``stop`` (None: all)."""
        while True:
            upto = len(self._rest) if stop is None else _lower_bound(self._rest["name"], stop)
            yield self._rest.slice(0, upto)
            self._rest = self._rest.slice(upto)
            if len(self._rest):
                return
            following = next(self._batches, None)
            if following is None:
                return
            self._rest = following


def _in_batches(pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of ``_BATCH_ROWS``, so that the file does not show the pieces."""
    rest = _SCHEMA.empty_table()
    for piece in pieces:
        rest = pa.concat_tables([rest, piece])
        whole = len(rest) // _BATCH_ROWS * _BATCH_ROWS
        for at in range(0, whole, _BATCH_ROWS):
            yield _compact(rest.slice(at, _BATCH_ROWS))
        rest = _compact(rest.slice(whole))
    if len(rest):
        yield rest


def _compact(table: pa.Table) -> pa.Table:
    """The same rows in buffers of their own, of just their size."""
    return table.take(pa.array(np.arange(len(table)))).combine_chunks()


def _lower_bound(names: pa.ChunkedArray, value: bytes) -> int:
    low, high = 0, len(names)
    while low < high:
        middle = (low + high) // 2
        if names[middle].as_py() < value:
            low = middle + 1
        else:
            high = middle
    return low


def _sorted_distinct(tables: list[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables).combine_chunks()
    table = table.take(pc.sort_indices(table["name"])).combine_chunks()
    if len(table) < 2:
        return table
    names = table["name"].combine_chunks()
    fresh = pc.not_equal(names.slice(1), names.slice(0, len(names) - 1))
    return table.filter(pa.concat_arrays([pa.array([True]), fresh]))


def _keys(table: pa.Table) -> U64:
    keys: Any = table["key"].combine_chunks().to_numpy(zero_copy_only=False)
    return np.asarray(keys, np.uint64)


def _as_text(table: pa.Table) -> pa.Table:
    try:
        return pa.table({"id": table["name"].cast(pa.large_string())})
    except pa.ArrowInvalid:
        raise InputError(
            "a vertex id is not valid UTF-8; convert the input to UTF-8 first"
        ) from None

"""String ids: hashing them while they are read, and sorting the distinct ones out of core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import InputError
from penstock.ingest.ids import HashCollisionError
from penstock.jit import kernel
from penstock.types import I64, U8, U64, Names

_SCHEMA = pa.schema([("name", pa.large_binary()), ("key", pa.uint64())])


@kernel
def _hash_names(data, start, length, seed, out):  # type: ignore[no-untyped-def]
    """A 64-bit hash of each string: eight bytes at a time, multiplied and folded."""
    for i in range(len(start)):
        h = seed ^ (np.uint64(length[i]) * np.uint64(0x9E3779B97F4A7C15))
        word = np.uint64(0)
        filled = 0
        for k in range(length[i]):
            word |= np.uint64(data[start[i] + k]) << np.uint64(8 * filled)
            filled += 1
            if filled == 8 or k == length[i] - 1:
                h = (h ^ word) * np.uint64(0xD6E8FEB86659FD93)
                h ^= h >> np.uint64(32)
                word = np.uint64(0)
                filled = 0
        h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
        out[i] = h ^ (h >> np.uint64(29))


@kernel
def _distinct(keys, order, data, start, length, kept):  # type: ignore[no-untyped-def]
    """One entry of each run of equal keys; returns how many, or -1 if a run has unequal strings."""
    count = 0
    for i in range(len(order)):
        here = order[i]
        if i > 0 and keys[here] == keys[order[i - 1]]:
            last = kept[count - 1]
            if length[here] != length[last]:
                return -1
            for k in range(length[here]):
                if data[start[here] + k] != data[start[last] + k]:
                    return -1
            continue
        kept[count] = here
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


def hash_names(names: Names, seed: int) -> U64:
    """The key of each string."""
    keys: U64 = np.empty(len(names), np.uint64)
    _hash_names(names.data, names.start, names.length, np.uint64(seed), keys)
    return keys


def distinct_names(names: Names, keys: U64) -> pa.Table:
    """The distinct strings of a chunk with their keys."""
    kept: I64 = np.empty(len(names), np.int64)
    count = _distinct(keys, np.argsort(keys), names.data, names.start, names.length, kept)
    if count < 0:
        raise HashCollisionError("two different ids have the same 64-bit hash")
    kept = kept[:count]
    offsets: I64 = np.empty(count + 1, np.int64)
    data: U8 = np.empty(int(names.length[kept].sum()), np.uint8)
    _copy_names(names.data, names.start, names.length, kept, offsets, data)
    column = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    return pa.table([column, pa.array(keys[kept])], schema=_SCHEMA)


class NameCollector:
    """Gathers distinct strings; holds about ``limit`` bytes of them, the rest in sorted files."""

    def __init__(self, scratch: Path | None, limit: int) -> None:
        self._scratch = scratch
        self._limit = limit
        self._held: list[pa.Table] = []
        self._size = 0
        self._runs: list[Path] = []

    def add(self, table: pa.Table) -> None:
        """Take the distinct strings of a chunk."""
        self._held.append(table)
        self._size += table.nbytes
        if self._size <= self._limit:
            return
        merged = _sorted_distinct(self._held)
        self._held = [merged]
        if merged.nbytes > self._limit // 2:
            assert self._scratch is not None
            path = self._scratch / f"names.{len(self._runs)}.arrow"
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
                writer.write_table(merged, max_chunksize=1 << 16)
            self._runs.append(path)
            self._held = []
        self._size = sum(each.nbytes for each in self._held)

    def finish(self, out: Path | None) -> tuple[U64, pa.Table | None]:
        """Write all distinct strings, ascending, to ``out`` (or return them if None); returns their
        keys in that order.
        """
        pieces = self._merged()
        if out is None:
            tables = list(pieces)
            table = pa.concat_tables(tables) if tables else _SCHEMA.empty_table()
            return _keys(table), _as_text(table)
        keys: list[U64] = []
        schema = pa.schema([("id", pa.large_string())])
        with pa.OSFile(str(out), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for piece in pieces:
                keys.append(_keys(piece))
                writer.write_table(_as_text(piece), max_chunksize=1 << 16)
        for path in self._runs:
            path.unlink()
        return np.concatenate(keys) if keys else np.empty(0, np.uint64), None

    def _merged(self) -> Iterator[pa.Table]:
        if not self._runs:
            if self._held:
                yield _sorted_distinct(self._held)
            return
        runs = [_map_run(path) for path in self._runs]
        if self._held:
            runs.append(_sorted_distinct(self._held).combine_chunks())
        pieces = max(1, -(-2 * sum(run.nbytes for run in runs) // self._limit))
        samples = sorted(
            run["name"][i].as_py()
            for run in runs
            for i in range(0, len(run), max(1, len(run) // 1024))
        )
        splitters = [samples[len(samples) * k // pieces] for k in range(1, pieces)]
        bounds = [[0, *(_lower_bound(run["name"], s) for s in splitters), len(run)] for run in runs]
        for k in range(pieces):
            parts = [run.slice(b[k], b[k + 1] - b[k]) for run, b in zip(runs, bounds, strict=True)]
            yield _sorted_distinct(parts)


def _map_run(path: Path) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


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

"""The bytes of a checkpoint: arrays, what they are, and checksums over every byte.

The file has three parts, little-endian, without gaps:

=================  =============================================================================
arrays             one after another, as they are in memory
JSON               ``identity``, ``step``, ``extra`` and ``arrays``: a list of ``name``, ``dtype``
                   (NumPy's), ``length`` and ``xxh3`` (XXH3-64 of the array's bytes)
tail, 32 bytes     ``PSCP``; format version (4 bytes); bytes of JSON (8); XXH3-64 of the JSON (8);
                   XXH3-64 of the tail before this (8)
=================  =============================================================================

Arrays pass through memory a piece at a time.
"""

from __future__ import annotations

import json
import os
import struct
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xxhash

from penstock.engine.scratch import InMemory
from penstock.errors import CorruptionError, FormatError
from penstock.files import open_regular
from penstock.store.catalog import check_whole
from penstock.store.direct import read_at
from penstock.store.packer import write_all
from penstock.types import Array

#: How much of an array is written, read or checksummed at a time.
PIECE_BYTES = 4 << 20
#: After this many bytes the dirty pages of the file are sent to the disk and forgotten.
FLUSH_BYTES = 32 << 20

_MAGIC, _VERSION = b"PSCP", 1
_TAIL = struct.Struct("<4sIQQQ")
_SEAL_BYTES = 8
#: The kinds of NumPy types that can be saved: numbers.
_KINDS = "biufc"


#: Whether entries from a place on are such as a run can have saved; see :func:`within`.
Rule = Callable[[int, Array], bool]


def within(low: float, high: float, other: int | None = None) -> Rule:
    """The rule that entries are from ``low`` to ``high``, or ``other``."""

    def holds(begin: int, part: Array) -> bool:
        right = (part >= low) & (part <= high)
        return bool((right if other is None else right | (part == other)).all())

    return holds


def unusable(where: object, what: str) -> CorruptionError:
    """The error for a checkpoint that a run cannot go on from."""
    return CorruptionError(
        f"{where}: the checkpoint cannot be used: {what}: remove it, and start the run from the "
        "beginning"
    )


class Facts(dict[str, Any]):
    """What a checkpoint says besides its arrays. What is missing or cannot be raises an error."""

    where = ""

    def __missing__(self, name: str) -> Any:
        raise self.wrong(f"it does not say {name!r}")

    def wrong(self, what: str) -> CorruptionError:
        """The error for a checkpoint that says what no run can have saved."""
        return unusable(self.where, what)

    def numbers(self, name: str, *, whole: bool = False) -> list[Any]:
        """A list of numbers."""
        found, kinds = self[name], int if whole else (int, float)
        if not isinstance(found, list) or not all(isinstance(x, kinds) for x in found):
            raise self.wrong(f"its {name} are no numbers")
        return found

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number within these bounds."""
        try:
            return check_whole(name, self[name], low, high)
        except ValueError as error:
            raise self.wrong(str(error)) from None


class StoredColumn(Protocol):
    """An array that need not be in memory."""

    @property
    def length(self) -> int:
        """How many entries there are."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What they are."""

    def read(self, begin: int, end: int) -> Array:
        """Some consecutive entries."""


class ColumnTarget(Protocol):
    """Where an array goes that need not be in memory."""

    def write(self, begin: int, array: Array) -> None:
        """Put consecutive entries in their place; the array is used again afterwards."""


def check_columns(columns: Mapping[str, StoredColumn]) -> int:
    """Raise if something cannot be saved; returns the bytes that all arrays need."""
    for name, column in columns.items():
        if column.dtype.kind not in _KINDS:
            raise ValueError(f"array {name!r} is {column.dtype}; only numbers can be saved")
    return sum(column.length * column.dtype.itemsize for column in columns.values())


def write_state(fd: int, columns: Mapping[str, StoredColumn], facts: Mapping[str, Any]) -> str:
    """Write a whole checkpoint to an empty file. ``facts`` are identity, step and extra. Returns
    the checksum of the JSON, which stands for every byte: it has the checksums of the arrays.
    """
    entries = [
        {
            "name": name,
            "dtype": column.dtype.str,
            "length": column.length,
            "xxh3": _write_column(fd, name, column),
        }
        for name, column in columns.items()
    ]
    text = json.dumps({**facts, "arrays": entries}).encode()
    digest = xxhash.xxh3_64_intdigest(text)
    tail = _TAIL.pack(_MAGIC, _VERSION, len(text), digest, 0)[:-_SEAL_BYTES]
    seal = xxhash.xxh3_64_intdigest(tail).to_bytes(_SEAL_BYTES, "little")
    write_all(fd, np.frombuffer(text + tail + seal, np.uint8))
    return f"{digest:016x}"


def _write_column(fd: int, name: str, column: StoredColumn) -> str:
    """Append an array to a file; returns its checksum."""
    digest = xxhash.xxh3_64()
    unflushed = 0
    for begin, end in _pieces(column.length, column.dtype):
        piece = np.ascontiguousarray(column.read(begin, end))
        if (piece.dtype, piece.shape) != (column.dtype, (end - begin,)):
            raise ValueError(
                f"array {name!r}: entries {begin} to {end} came as {piece.dtype} {piece.shape}, "
                f"expected {column.dtype} ({end - begin},)"
            )
        digest.update(piece.view(np.uint8).data)
        write_all(fd, piece.view(np.uint8))
        unflushed += piece.nbytes
        if unflushed >= FLUSH_BYTES:
            unflushed = 0
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return str(digest.hexdigest())


def _pieces(length: int, dtype: np.dtype[Any]) -> Iterator[tuple[int, int]]:
    rows = PIECE_BYTES // dtype.itemsize
    return ((begin, min(begin + rows, length)) for begin in range(0, length, rows))


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where an array is in the file."""

    dtype: np.dtype[Any]
    length: int
    offset: int
    xxh3: str


class _Nowhere:
    """Where an array goes that is only checked."""

    def write(self, begin: int, array: Array) -> None:
        """See :class:`ColumnTarget`."""


class Saved:
    """A checkpoint, open. It stays readable when a newer one takes its place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = open_regular(path)
        #: Closes the file when the object goes, if nobody did before.
        self.close = weakref.finalize(self, os.close, self._fd)
        size = os.fstat(self._fd).st_size
        text = self._description(size)
        #: The checksum of the JSON, as :func:`write_state` gives it.
        self.digest = f"{xxhash.xxh3_64_intdigest(text):016x}"
        try:
            data = json.loads(text)
            self._entries = _entries(data["arrays"], size - _TAIL.size - len(text))
            self.identity: dict[str, Any] = dict(data["identity"])
            self.step = check_whole("step", data["step"], 0)
            self.extra = Facts(data["extra"])
            self.extra.where = str(path)
        except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
            raise self._damaged(f"a field is missing or wrong: {error}") from None

    def _description(self, size: int) -> bytes:
        """The JSON, once it is certain that it is as it was written."""
        tail = self._bytes(max(0, size - _TAIL.size), _TAIL.size)
        magic, version, length, xxh3, seal = _TAIL.unpack(tail)
        if magic != _MAGIC or xxhash.xxh3_64_intdigest(tail[:-_SEAL_BYTES]) != seal:
            raise self._damaged("it does not end as a checkpoint does")
        if version != _VERSION:
            raise FormatError(
                f"{self._path}: is a checkpoint of format {version}, this Penstock reads "
                f"{_VERSION}: go on with the version that made it, or remove it"
            )
        text = self._bytes(max(0, size - _TAIL.size - length), length)
        if xxhash.xxh3_64_intdigest(text) != xxh3:
            raise self._damaged("the checksum of its description does not match")
        return text

    @property
    def arrays(self) -> dict[str, tuple[np.dtype[Any], int]]:
        """Type and length of each array."""
        return {name: (entry.dtype, entry.length) for name, entry in self._entries.items()}

    def read_into(self, name: str, target: Array | ColumnTarget, rule: Rule | None = None) -> None:
        """Copy an array out, and check it: its checksum, and each of its pieces by a rule. After an
        error the target holds nothing of use.
        """
        entry = self._entries.get(name)
        kind = None if entry is None else (entry.dtype, (entry.length,))
        wanted = (target.dtype, target.shape) if isinstance(target, np.ndarray) else kind
        if entry is None or kind != wanted:
            found = "missing" if entry is None else f"{entry.dtype} ({entry.length},)"
            raise FormatError(
                f"{self._path}: array {name!r} is {found}, and not what this run has; another "
                "version of the program made the checkpoint: remove it"
            )
        column = InMemory(target) if isinstance(target, np.ndarray) else target
        digest = xxhash.xxh3_64()
        width = entry.dtype.itemsize
        room: Array = np.empty(min(entry.length, PIECE_BYTES // width), entry.dtype)
        for begin, end in _pieces(entry.length, entry.dtype):
            piece = room[: end - begin]
            self._fill(piece.view(np.uint8), entry.offset + begin * width)
            digest.update(piece.view(np.uint8).data)
            if rule is not None and not rule(begin, piece):
                raise self._damaged(f"array {name!r} has entries that it cannot have")
            column.write(begin, piece)
        if digest.hexdigest() != entry.xxh3:
            raise self._damaged(f"the checksum of array {name!r} does not match")

    def read_range(self, name: str, begin: int, end: int) -> Array:
        """Some entries of an array, of a file that :meth:`check` has read."""
        entry = self._entries[name]
        found: Array = np.empty(end - begin, entry.dtype)
        self._fill(found.view(np.uint8), entry.offset + begin * entry.dtype.itemsize)
        return found

    def check(self) -> int:
        """Read all arrays, and raise if a byte is not as it was written; returns the bytes."""
        for name in self._entries:
            self.read_into(name, _Nowhere())
        return sum(entry.length * entry.dtype.itemsize for entry in self._entries.values())

    def _bytes(self, offset: int, count: int) -> bytes:
        found: Array = np.empty(count, np.uint8)
        self._fill(found, offset)
        return found.tobytes()

    def _fill(self, room: Array, offset: int) -> None:
        try:
            missing = len(room) - read_at(self._fd, offset, room)
        except OSError as error:
            raise self._damaged(f"it cannot be read ({error.strerror})") from None
        if missing:
            raise self._damaged(f"it ends {missing:,} bytes too early")

    def _damaged(self, what: str) -> CorruptionError:
        return unusable(self._path, f"{what}; it was changed or damaged after it was written")


def _entries(described: list[dict[str, Any]], size: int) -> dict[str, _Entry]:
    """Where each array is; raises a ValueError if they do not fill ``size`` bytes."""
    entries: dict[str, _Entry] = {}
    offset = 0
    for item in described:
        dtype, length = np.dtype(item["dtype"]), check_whole("length", item["length"], 0)
        if dtype.kind not in _KINDS:
            raise ValueError(f"array of {length} {dtype}")
        entries[item["name"]] = _Entry(dtype, length, offset, item["xxh3"])
        offset += length * dtype.itemsize
    if offset != size:
        raise ValueError(f"arrays of {offset:,} bytes in {size:,}")
    return entries

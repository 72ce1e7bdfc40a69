"""Numbers of edges that are kept for later runs, in a folder beside the graph.

``GRAPH.columns/`` is never inside the graph's own directory, and may be removed at any time. All
numbers are little-endian.

=========================  ====================================================================
``common_neighbours.npy``  uint32, for each edge how many neighbours its ends have in common: the
                           edges of vertex 0, 1, ... to neighbours of smaller numbers, ascending;
                           each edge once, whatever its direction, no loops
``num_neighbours.npy``     uint32, for each vertex how many neighbours it has: each once, without
                           itself
``columns.json``           ``magic``, ``version``, ``tag`` (of the graph), ``vertices``, ``edges``
                           (entries of the arrays), ``block_entries``, ``blocks`` (for each array
                           the XXH3-64 of so many entries after another), and ``checksum``, the
                           XXH3-64 of the JSON without it
=========================  ====================================================================

The JSON is written last: what a process leaves that dies before is no index, and the next one
begins anew. Neither writing nor reading has a whole array in memory. A block's checksum is verified
when it is read for the first time.
"""

from __future__ import annotations

import json
import os
import shutil
import weakref
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from penstock.config import format_bytes
from penstock.errors import (
    AccessError,
    CorruptionError,
    DiskSpaceError,
    FormatError,
    LockedError,
    TargetExistsError,
)
from penstock.files import open_regular, read_regular, write_error
from penstock.store.catalog import check_whole
from penstock.store.direct import read_at
from penstock.store.graph import Graph
from penstock.store.packer import write_all
from penstock.store.page import checksum
from penstock.store.publish import drop_lock, sync_folder, take_lock
from penstock.types import U8, U32, VID

MAGIC = "penstock edge columns"
VERSION = 1
COMMON, DEGREES, DESCRIPTION = "common_neighbours.npy", "num_neighbours.npy", "columns.json"
#: Entries that have a checksum of their own.
BLOCK = 1 << 18

_LOCK, _WRITING = ".lock", ".writing"
_ENTRY, _HEADER_BYTES = VID.itemsize, 128
_INSTEAD = "; give another path with index=, or index=False to keep none"


class StoredColumns:
    """The columns of a folder, open; they stay readable if others take their place."""

    def __init__(self, folder: Path, data: dict[str, Any]) -> None:
        try:
            self.num_edges = check_whole("edges", data["edges"], 0)
            vertices = check_whole("vertices", data["vertices"], 0)
            block = check_whole("block_entries", data["block_entries"], 1, 1 << 24)
            checksums = [
                _checksums(data["blocks"][name], length, block)
                for name, length in ((COMMON, self.num_edges), (DEGREES, vertices))
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(folder / DESCRIPTION, f"a field is missing or wrong: {error}") from None
        self._common = _Column(folder / COMMON, self.num_edges, block, checksums[0])
        degrees = _Column(folder / DEGREES, vertices, block, checksums[1])
        self.num_neighbours = degrees.read(0, vertices)
        degrees.close()

    def read(self, begin: int, end: int) -> U32:
        """The common neighbours of edges ``begin`` to ``end``."""
        return self._common.read(begin, end)

    def check(self) -> int:
        """Read all of it, and raise if a byte is not as it was written; returns the bytes."""
        for begin in range(0, self.num_edges, BLOCK):
            self._common.read(begin, min(begin + BLOCK, self.num_edges))
        return _ENTRY * (self.num_edges + len(self.num_neighbours))


class _Column:
    """An array in a file, read by ranges."""

    def __init__(self, path: Path, length: int, block: int, blocks: list[int]) -> None:
        self._path = path
        self.length = length
        self._block = block
        self._blocks = blocks
        self._verified = np.zeros(len(blocks), bool)
        try:
            self._fd = open_regular(path)
        except OSError as error:
            raise _damaged(path, f"it cannot be opened ({error.strerror})") from None
        #: Closes the file, at the latest when the object goes.
        self.close = weakref.finalize(self, os.close, self._fd)
        header = _header(length)
        size, expected = os.fstat(self._fd).st_size, _HEADER_BYTES + _ENTRY * length
        if size != expected:
            raise _damaged(path, f"it has {size:,} bytes, expected {expected:,}")
        if os.pread(self._fd, len(header), 0) != header:
            raise _damaged(path, "it does not begin as it should")

    def read(self, begin: int, end: int) -> U32:
        """Entries ``begin`` to ``end``."""
        size = self._block
        low, high = begin // size, -(-end // size)
        if end <= begin or self._verified[low:high].all():
            return self._entries(begin, end)
        start = low * size
        values = self._entries(start, min(high * size, self.length))
        for k in range(low, high):
            part = values[k * size - start : (k + 1) * size - start]
            if checksum(part.view(np.uint8)) != self._blocks[k]:
                raise _damaged(self._path, f"the checksum of block {k} does not match")
        self._verified[low:high] = True
        return values[begin - start : end - start]

    def _entries(self, begin: int, end: int) -> U32:
        values: U32 = np.empty(end - begin, VID)
        room = values.view(np.uint8)
        try:
            missing = len(room) - read_at(self._fd, _HEADER_BYTES + _ENTRY * begin, room)
        except OSError as error:
            raise _damaged(self._path, f"it cannot be read ({error.strerror})") from None
        if missing:
            raise _damaged(self._path, f"it ends {missing:,} bytes too early")
        return values


def _checksums(texts: list[str], length: int, block: int) -> list[int]:
    """The checksums of blocks; raises a ValueError if there is not one for each."""
    if len(texts) != -(-length // block):
        raise ValueError(f"{len(texts)} checksums for {length:,} entries")
    return [int(each, 16) for each in texts]


def open_columns(folder: Path, graph: Graph, *, asked: bool = False) -> StoredColumns | None:
    """The columns of a graph in a folder; None if there are none, or, unless this folder was asked
    for, if they are of another graph or version: they will be replaced.
    """
    _check_place(folder, asked=asked)
    path = folder / DESCRIPTION
    try:
        raw = read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise AccessError(f"{path}: cannot be read ({error.strerror}){_INSTEAD}") from None
    try:
        data = json.loads(raw.decode())
        if data["magic"] != MAGIC:
            raise ValueError(f"its magic is {data['magic']!r}")
        stored = data["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path, f"it is not the JSON that it should be ({error})") from None
    tag = f"{graph.tag:016x}"
    if stored != VERSION:
        what = f"is of version {stored}, and this Penstock reads {VERSION}"
    elif data.get("checksum") != f"{checksum(_text(data)):016x}":
        raise _damaged(path, "its checksum does not match")
    elif data.get("tag") == tag and data.get("vertices") == graph.num_vertices:
        return StoredColumns(folder, data)
    else:
        what = f"was made for another graph (its tag is {data.get('tag')}, this graph's is {tag})"
    if not asked:
        return None
    raise FormatError(f"{folder}: the index {what}: remove it, or give another path with index=")


class Unfinished:
    """Columns that are being written to a folder; use as a context manager, and call
    :meth:`finish` at the end.
    """

    def __init__(self, folder: Path, graph: Graph, *, asked: bool = False) -> None:
        self._folder = folder
        self._graph = graph
        self._asked = asked
        self._stack = ExitStack()
        self._fd = -1

    def __enter__(self) -> Unfinished:
        try:
            self._take_place()
        except BaseException as error:
            self._stack.close()
            if not isinstance(error, OSError):
                raise
            raise self._explained(error) from None
        return self

    def _take_place(self) -> None:
        folder = self._folder
        _check_place(folder, asked=self._asked)
        was_there = folder.exists()
        folder.mkdir(exist_ok=True)
        if not was_there:
            self._stack.callback(_remove_if_empty, folder)
        else:
            _check_names(folder)
        try:
            lock = take_lock(folder / _LOCK, folder)
        except LockedError:
            raise LockedError(
                f"{folder}: another run is writing this index; wait for it{_INSTEAD}"
            ) from None
        self._stack.callback(drop_lock, lock, folder / _LOCK)
        for name in (COMMON, DEGREES, DESCRIPTION):  # of processes that died
            (folder / f"{name}{_WRITING}").unlink(missing_ok=True)
        needed = _ENTRY * (self._graph.num_edges + self._graph.num_vertices)
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise DiskSpaceError(
                f"{folder}: the index needs about {format_bytes(needed)}, and "
                f"{format_bytes(free)} are free{_INSTEAD}"
            )
        self._fd = self._open(COMMON)

    def _open(self, name: str) -> int:
        """A new file that has another name till it is complete, and goes if it never is."""
        path = self._folder / f"{name}{_WRITING}"
        self._stack.callback(path.unlink, missing_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self._stack.callback(os.close, fd)
        return fd

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._stack.close()

    def write(self, begin: int, values: U32) -> None:
        """The common neighbours of edges from ``begin`` on."""
        try:
            _write(self._fd, begin, values)
        except OSError as error:
            raise self._explained(error) from error

    def _explained(self, error: OSError) -> OSError:
        advice = "give another path with index=, or index=False to keep none (nothing was left)"
        return write_error(error, self._folder, advice)

    def finish(self, num_edges: int, num_neighbours: U32) -> StoredColumns:
        """Have it all on the disk under its names, the description last; and open it."""
        try:
            return self._finish(num_edges, num_neighbours)
        except OSError as error:
            raise self._explained(error) from error

    def _finish(self, num_edges: int, num_neighbours: U32) -> StoredColumns:
        folder, graph = self._folder, self._graph
        os.ftruncate(self._fd, _HEADER_BYTES + _ENTRY * num_edges)
        degrees = self._open(DEGREES)
        _write(degrees, 0, num_neighbours)
        blocks = {
            COMMON: _seal(self._fd, num_edges),
            DEGREES: _seal(degrees, len(num_neighbours)),
        }
        data = {
            "magic": MAGIC, "version": VERSION, "tag": f"{graph.tag:016x}",
            "vertices": graph.num_vertices, "edges": num_edges, "block_entries": BLOCK,
            "blocks": blocks,
        }  # fmt: skip
        data["checksum"] = f"{checksum(_text(data)):016x}"
        description = self._open(DESCRIPTION)
        write_all(description, np.frombuffer(json.dumps(data, indent=1).encode(), np.uint8))
        os.fsync(description)
        # Without a description there is no index: an old one must not be seen with new numbers.
        (folder / DESCRIPTION).unlink(missing_ok=True)
        for name in (COMMON, DEGREES, DESCRIPTION):
            sync_folder(folder)
            (folder / f"{name}{_WRITING}").replace(folder / name)
        sync_folder(folder)
        return StoredColumns(folder, data)


def _write(fd: int, begin: int, values: U32) -> None:
    data = np.ascontiguousarray(values, VID).view(np.uint8).data
    offset = _HEADER_BYTES + _ENTRY * begin
    while data:
        written = os.pwrite(fd, data, offset)
        data, offset = data[written:], offset + written


def _seal(fd: int, length: int) -> list[str]:
    """Write the header, and have the file on the disk; the checksums of its blocks."""
    os.pwrite(fd, _header(length), 0)
    found = []
    for begin in range(0, length, BLOCK):
        part: U32 = np.empty(min(BLOCK, length - begin), VID)
        read_at(fd, _HEADER_BYTES + _ENTRY * begin, part.view(np.uint8))
        found.append(f"{checksum(part.view(np.uint8)):016x}")
    os.fsync(fd)
    return found


def _header(length: int) -> bytes:
    """What a NumPy file of so many numbers begins with: always as many bytes."""
    text = f"{{'descr': '{VID.str}', 'fortran_order': False, 'shape': ({length},), }}"
    start = np.lib.format.magic(1, 0)
    room = _HEADER_BYTES - len(start) - 2
    return start + room.to_bytes(2, "little") + text.ljust(room - 1).encode() + b"\n"


def _text(data: dict[str, Any]) -> U8:
    """The bytes that the checksum of a description is about."""
    plain = {key: value for key, value in data.items() if key != "checksum"}
    return np.frombuffer(json.dumps(plain, sort_keys=True).encode(), np.uint8)


def _check_place(folder: Path, *, asked: bool) -> None:
    """Raise if the folder beside a graph, which may come with it, leads elsewhere."""
    if not asked and folder.is_symlink():
        raise FormatError(f"{folder}: is a symbolic link, expected a folder: refused{_INSTEAD}")


def _check_names(folder: Path) -> None:
    """Raise if a folder has something else in it."""
    own = {COMMON, DEGREES, DESCRIPTION}
    own |= {f"{name}{_WRITING}" for name in own} | {_LOCK}
    others = sorted(each.name for each in folder.iterdir() if each.name not in own)
    if others:
        raise TargetExistsError(f"{folder}: is not an index: {others[0]!r} is in it{_INSTEAD}")


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _damaged(path: Path, what: str) -> CorruptionError:
    return CorruptionError(
        f"{path}: {what}; the file was changed or damaged after it was written: remove the folder, "
        "and the next run makes it anew"
    )

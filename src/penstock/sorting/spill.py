"""Blocks of bytes kept under numbers: in memory as long as they fit, then in files.

Blocks of one number come back in the order they were added. Taking them deletes them, so that what
has been used no longer takes room.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from penstock.types import U8

_MOST_VECTORS = 1024  # what one writev takes


class Spill:
    """Keeps blocks; holds at most about ``limit`` bytes of them in memory."""

    def __init__(self, folder: Path | None, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._memory: dict[int, list[U8]] = {}
        self._lengths: dict[int, array[int]] = {}
        self._in_files: dict[int, int] = {}
        self._held = 0
        self.total_bytes = 0
        self.peak_file_bytes = 0
        self._file_bytes = 0

    def keys(self) -> list[int]:
        """The numbers that have blocks, ascending."""
        return sorted(self._lengths)

    def num_bytes(self, key: int) -> int:
        """How much is kept under a number."""
        return sum(self._lengths.get(key, ()))

    def append(self, key: int, block: U8) -> None:
        """Keep a block; it must not change afterwards."""
        if len(block) == 0:
            return
        self._memory.setdefault(key, []).append(block)
        self._lengths.setdefault(key, array("Q")).append(len(block))
        self._held += len(block)
        self.total_bytes += len(block)
        if self._held > self._limit:
            self._flush()

    def shrink(self, limit: int) -> None:
        """Hold no more than this from now on."""
        self._limit = limit
        if self._held > limit:
            self._flush()

    def _flush(self) -> None:
        if self._folder is None:
            return
        self._folder.mkdir(exist_ok=True)
        for key, blocks in self._memory.items():
            fd = os.open(self._path(key), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                size = _write_blocks(fd, blocks)
                # Sends the bytes on their way to the disk; clean ones need not stay in memory.
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)
            self._in_files[key] = self._in_files.get(key, 0) + size
            self._file_bytes += size
        self.peak_file_bytes = max(self.peak_file_bytes, self._file_bytes)
        self._memory.clear()
        self._held = 0

    def _path(self, key: int) -> Path:
        assert self._folder is not None
        return self._folder / f"{key}.blocks"

    def read(self, key: int, *, take: bool, at_once: int = 64 << 20) -> Iterator[U8]:
        """The blocks of a number, in order, about ``at_once`` bytes read at a time; with ``take``
        they are gone afterwards.
        """
        lengths = self._lengths.get(key, array("Q"))
        from_file = self._in_files.get(key, 0)
        position = 0
        if from_file:
            with self._path(key).open("rb", buffering=0) as file:
                while from_file:
                    size, count = 0, 0
                    while size < from_file and (count == 0 or size < at_once):
                        size += lengths[position + count]
                        count += 1
                    data = _read_exactly(file.fileno(), size)
                    at = 0
                    for length in lengths[position : position + count]:
                        yield data[at : at + length]
                        at += length
                    position += count
                    from_file -= size
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        yield from list(self._memory.get(key, ()))
        if take:
            self.drop(key)

    def sibling(self, name: int) -> Spill:
        """An empty one with the same limit, in a folder below; this one holds nothing in memory
        from now on.
        """
        folder = self._folder and self._folder / f"below.{name}"
        if self._folder is not None:
            self._folder.mkdir(exist_ok=True)
            self._flush()
        return Spill(folder, self._limit)

    def drop(self, key: int) -> None:
        """Delete the blocks of a number."""
        size = self._in_files.pop(key, 0)
        if size:
            self._path(key).unlink()
            self._file_bytes -= size
        self._held -= sum(len(block) for block in self._memory.pop(key, ()))
        self._lengths.pop(key, None)


def _write_blocks(fd: int, blocks: list[U8]) -> int:
    total = 0
    pending = [block.data.cast("B") for block in blocks]
    start = 0
    while start < len(pending):
        written = os.writev(fd, pending[start : start + _MOST_VECTORS])
        total += written
        while start < len(pending) and written >= len(pending[start]):
            written -= len(pending[start])
            start += 1
        if written:
            pending[start] = pending[start][written:]
    return total


def _read_exactly(fd: int, size: int) -> U8:
    data: U8 = np.empty(size, np.uint8)
    view = data.data
    while view:
        count = os.readv(fd, [view])
        if count == 0:
            raise OSError(f"a temporary file is {len(view)} bytes short")
        view = view[count:]
    return data

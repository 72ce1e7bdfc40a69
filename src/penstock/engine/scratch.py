"""Values of vertices that are not in memory: columns in files, read and written by ranges."""

from __future__ import annotations

import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import CorruptionError
from penstock.files import write_error
from penstock.store.direct import read_at
from penstock.store.mapped import read_range
from penstock.types import Array

#: Zeros that are written at once.
ZEROS = 1 << 18


class ScratchColumn:
    """A column in a file of its own, which has no name and goes with the process."""

    def __init__(self, folder: Path, dtype: np.dtype[Any], length: int) -> None:
        self.dtype = dtype
        self.length = length
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise write_error(error, folder, _ADVICE) from None
        self._folder = folder
        self._fd = self._file.fileno()
        #: Gives the room on disk back, at the latest when the column goes.
        self.close = weakref.finalize(self, self._file.close)

    def read(self, begin: int, end: int) -> Array:
        """The values of vertices ``begin`` to ``end``."""
        values: Array = np.empty(end - begin, self.dtype)
        room = values.view(np.uint8)
        if end > begin and read_at(self._fd, begin * self.dtype.itemsize, room) < len(room):
            raise CorruptionError(
                "a temporary file of the run ends too early: it was changed while it was in use"
            )
        return values

    def write(self, begin: int, values: Array) -> None:
        """Set the values of the vertices from ``begin`` on."""
        data = np.ascontiguousarray(values, self.dtype).view(np.uint8).data
        offset = begin * self.dtype.itemsize
        try:
            while data:
                written = os.pwrite(self._fd, data, offset)
                data, offset = data[written:], offset + written
        except OSError as error:
            raise write_error(error, self._folder, _ADVICE) from None

    def reserve(self) -> None:
        """Take the room on disk for all values now: a mapped file cannot report a full disk."""
        try:
            if self.length:
                os.posix_fallocate(self._fd, 0, self.length * self.dtype.itemsize)
        except OSError as error:
            raise write_error(error, self._folder, _ADVICE) from None

    def whole(self) -> Array:
        """All values, mapped from the file: the system may take the memory of parts that are not in
        use. Changes go to the file, whose room on disk is taken as long as the array is there.
        """
        if self.length == 0:
            return np.empty(0, self.dtype)
        return np.memmap(self._file, self.dtype, "r+", shape=(self.length,))


_ADVICE = "choose another folder for temporary files with tmpdir= (--tmpdir), or give more memory"


@dataclass(frozen=True, slots=True)
class InMemory:
    """An array in memory, with the methods of one that is not."""

    array: Array

    @property
    def length(self) -> int:
        """How many entries there are."""
        return len(self.array)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What they are."""
        return self.array.dtype

    def read(self, begin: int, end: int) -> Array:
        """Some consecutive entries."""
        return self.array[begin:end]

    def write(self, begin: int, array: Array) -> None:
        """Put consecutive entries in their place."""
        self.array[begin : begin + len(array)] = array

    def whole(self) -> Array:
        """All entries."""
        return self.array


class StoredArray:
    """An array of the store's, read by ranges so that it is never in memory as a whole."""

    def __init__(self, array: Array) -> None:
        self.dtype = array.dtype
        self.length = len(array)
        self._array = array

    def read(self, begin: int, end: int) -> Array:
        """The values of vertices ``begin`` to ``end``."""
        return read_range(self._array, begin, end)


def zeros(
    folder: Path, dtype: np.dtype[Any], length: int, *, in_memory: bool
) -> InMemory | ScratchColumn:
    """A column of zeros, in memory (which the caller has counted) or in a file."""
    if in_memory:
        return InMemory(np.zeros(length, dtype))
    column = ScratchColumn(folder, dtype, length)
    for begin in range(0, length, ZEROS):
        column.write(begin, np.zeros(min(ZEROS, length - begin), dtype))
    return column

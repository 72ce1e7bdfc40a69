"""Arrays in scratch files: mapped, so that the system can write them out and take their memory."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from penstock.dynamic.region import no_address_space
from penstock.files import write_error
from penstock.types import Array

_ADVICE = "move the graph to a larger disk"


def writable_folder(path: Path) -> Path | None:
    """Where scratch files of a graph go: its directory, or that of the directory if it is not there
    yet. None if this process may not write there.
    """
    folder = path if path.exists() else path.parent
    return folder if os.access(folder, os.W_OK) else None


class ScratchArray:
    """A one-dimensional array that can be made longer, in a file that has no name and goes with the
    process. ``array`` is another one after :meth:`reserve`; the one before stays a view of the same
    entries.
    """

    def __init__(self, folder: Path, dtype: DTypeLike) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.array: Array = np.empty(0, self.dtype)
        self._folder = folder
        self._allocated = 0
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise write_error(error, folder, _ADVICE) from None
        weakref.finalize(self, self._file.close)

    def _bytes_of(self, entries: int) -> int:
        return -(-entries * self.dtype.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE

    def allocate(self, entries: int) -> None:
        """Take the room on the disk for this number of entries: a mapped file cannot report a full
        disk. May be called while another thread uses the array.
        """
        size = self._bytes_of(entries)
        if size > self._allocated:
            try:
                os.posix_fallocate(self._file.fileno(), 0, size)
            except OSError as error:
                raise write_error(error, self._folder, _ADVICE) from None
            self._allocated = size

    def reserve(self, entries: int, used: int) -> None:
        """Have room for this number of entries; those there are stay, ``used`` ones or more."""
        if entries <= len(self.array):
            return
        length = max(entries, used + used // 4)
        self.allocate(length)
        try:
            mapped = mmap.mmap(self._file.fileno(), self._bytes_of(length))
        except (OSError, ValueError) as error:
            raise no_address_space(self._bytes_of(length), error) from None
        self.array = np.frombuffer(mapped, self.dtype)

    def missing_bytes(self, entries: int) -> int:
        """Address space that would be needed besides to have this number of entries."""
        return 0 if entries <= len(self.array) else self._bytes_of(entries)


def scratch_array(folder: Path, length: int, dtype: DTypeLike) -> Array:
    """An array of zeros in a scratch file, which goes with the array."""
    made = ScratchArray(folder, dtype)
    made.reserve(length, 0)
    return made.array[:length]

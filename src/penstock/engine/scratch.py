"""Values of vertices that are not in memory: columns in files, read and written by ranges."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import AccessError, DiskSpaceError
from penstock.store.direct import read_at
from penstock.store.mapped import read_range
from penstock.types import Array


class ScratchColumn:
    """A column in a file of its own, which has no name and goes with the process."""

    def __init__(self, folder: Path, dtype: np.dtype[Any], length: int) -> None:
        self.dtype = dtype
        self.length = length
        try:
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise AccessError(
                f"{folder}: cannot be written ({error.strerror}); choose another folder for "
                "temporary files with tmpdir= (--tmpdir)"
            ) from None
        self._fd = self._file.fileno()

    def read(self, begin: int, end: int) -> Array:
        """The values of vertices ``begin`` to ``end``."""
        values: Array = np.empty(end - begin, self.dtype)
        if end > begin:
            read_at(self._fd, begin * self.dtype.itemsize, values.view(np.uint8))
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
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DiskSpaceError(
                "the disk for temporary files is full; free some space, choose another folder with "
                "tmpdir= (--tmpdir), or give more memory"
            ) from None


class StoredArray:
    """An array of the store's, read by ranges so that it is never in memory as a whole."""

    def __init__(self, array: Array) -> None:
        self.dtype = array.dtype
        self.length = len(array)
        self._array = array

    def read(self, begin: int, end: int) -> Array:
        """The values of vertices ``begin`` to ``end``."""
        return read_range(self._array, begin, end)

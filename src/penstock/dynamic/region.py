"""Arrays that grow in place: address space is reserved at once, memory comes when it is touched."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from penstock.errors import BudgetError
from penstock.types import Array

#: What mmap(2) calls it on Linux; the module does not name it in Python 3.11.
_MAP_NORESERVE = 0x4000


def reserved_bytes() -> int:
    """How much a region reserves: twice the machine's memory, so that nothing in memory outgrows
    it.
    """
    return 2 * int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


class Region:
    """A one-dimensional array of zeros, as long as the reserved range allows.

    Without a file it is memory of the process. With one, it is that file mapped: the system writes
    it out and reads it back as it likes, so that the array may exceed memory; the file is scratch,
    removed as soon as it is open.
    """

    def __init__(self, dtype: DTypeLike, *, limit: int | None = None, file: Path | None = None):
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        size = reserved_bytes() if limit is None else limit * self.dtype.itemsize
        size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        try:
            self._map = self._anonymous(size) if file is None else self._scratch(file, size)
        except (OSError, ValueError) as error:
            raise BudgetError(
                f"{size:,} bytes of address space cannot be reserved ({error}); close graphs that "
                "are not needed, or allow it with vm.overcommit_memory=0 or 1 and without a limit "
                "on address space (ulimit -v)"
            ) from None
        self.array: Array = np.frombuffer(self._map, self.dtype)

    def _anonymous(self, size: int) -> mmap.mmap:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        reserved = mmap.mmap(-1, size, flags=flags)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a kernel without huge pages: slower, not wrong
                reserved.madvise(mmap.MADV_HUGEPAGE)
        return reserved

    def _scratch(self, file: Path, size: int) -> mmap.mmap:
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.unlink(file)
            os.ftruncate(fd, size)
            return mmap.mmap(fd, size, flags=mmap.MAP_SHARED)
        finally:
            os.close(fd)

"""Arrays that grow without being copied: address space is reserved, memory comes when it is
touched.
"""

from __future__ import annotations

import mmap
import os
import resource
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from penstock.errors import BudgetError
from penstock.types import U8, U32, Array

#: What mmap(2) calls it on Linux; the module does not name it in Python 3.11.
_MAP_NORESERVE = 0x4000
#: A region that grows gets this many times what is needed, unless address space is limited or that
#: much is refused: moving a large one takes time.
HEADROOM = 4
#: Set when that much was refused and less was not: from then on regions get what is needed, so that
#: what one takes is not missing for another.
_refused = threading.Event()
#: What mmap(2) refuses is an OSError, what the module does is one of the others.
_REFUSALS = (OSError, ValueError, OverflowError)
#: Sizes to each power of two, so that a region does not grow by a little each time.
STEPS = 8


class Region:
    """A one-dimensional array of zeros that can be made longer.

    Without a file it is memory of the process. With one, it is that file mapped: the system writes
    it out and reads it back as it likes, so that the array may exceed memory; the file is scratch,
    removed as soon as it is open.
    """

    def __init__(self, dtype: DTypeLike, *, file: Path | None = None) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._file = file
        try:
            self._map = self._reserve(mmap.PAGESIZE)
        except OSError as error:
            raise no_address_space(mmap.PAGESIZE, error) from None
        #: All that there is address space for. Another one after :meth:`reserve`.
        self.array: Array = np.frombuffer(self._map, self.dtype)

    def missing_bytes(self, entries: int) -> int:
        """Address space that would be needed besides to have so many entries."""
        return max(self._bytes_of(entries) - len(self._map), 0)

    def _bytes_of(self, entries: int) -> int:
        """
        >>> Region("u1")._bytes_of(5000), Region("u1")._bytes_of(10_000_000)
        (8192, 10485760)
        """
        size = max(entries * self.dtype.itemsize, 1)
        step = max((1 << size.bit_length() - 1) // STEPS, mmap.PAGESIZE)
        return -(-size // step) * step

    def reserve(self, entries: int, used: int) -> None:
        """Have room for so many entries, of which the first ``used`` stay what they are. Nothing is
        copied unless somebody still has the array, which then stays what it is.
        """
        size = self._bytes_of(entries)
        if size <= len(self._map):
            return
        _take(size, lambda given: self._resize(given, used))

    def _resize(self, size: int, used: int) -> None:
        del self.array  # the map cannot be moved as long as an array leads there
        try:
            self._map.resize(size)
        except BufferError:
            grown = self._reserve(size)
            np.frombuffer(grown, self.dtype)[:used] = np.frombuffer(self._map, self.dtype)[:used]
            self._map = grown
        finally:
            self.array = np.frombuffer(self._map, self.dtype)

    def _reserve(self, size: int) -> mmap.mmap:
        if self._file is not None:
            return self._scratch(self._file, size)
        reserved = _anonymous(size)
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


class Pool(NamedTuple):
    """Where chunks are: words, and ``width`` bytes beside each."""

    words: Region
    beside: Region
    width: int

    @property
    def arrays(self) -> tuple[U32, U8]:
        """The words, and what is beside them."""
        return self.words.array, self.beside.array

    def reserve(self, places: int, used: int) -> None:
        """Have room for chunks up to a place; what is before ``used`` stays."""
        self.words.reserve(places, used)
        self.beside.reserve(places * self.width, used * self.width)

    def missing_bytes(self, places: int) -> int:
        """Address space that chunks up to a place would need besides."""
        return self.words.missing_bytes(places) + self.beside.missing_bytes(places * self.width)


def _is_limited() -> bool:
    """Whether a process has less address space than the machine's."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return True
    with suppress(OSError):
        return Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2"
    return False


def _take(size: int, take: Callable[[int], None]) -> None:
    """Take address space, with headroom if there is enough for that; raise if there is not even
    enough without.
    """
    with_headroom = not _refused.is_set() and not _is_limited()
    if with_headroom:
        with suppress(*_REFUSALS):
            take(size * HEADROOM)
            return
    try:
        take(size)
    except _REFUSALS as error:
        raise no_address_space(size, error) from None
    if with_headroom:
        _refused.set()


def check_reservable(size: int) -> None:
    """Raise if there is no address space for this number of bytes, in several regions. If there is,
    but not with headroom, regions get none: then those that come first leave enough for the last.
    """
    if size:
        _take(size, lambda given: _anonymous(given).close())


def _anonymous(size: int) -> mmap.mmap:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    return mmap.mmap(-1, size, flags=flags)


def no_address_space(size: int, error: Exception) -> BudgetError:
    """What to raise if address space cannot be reserved."""
    return BudgetError(
        f"{size:,} bytes of address space cannot be reserved ({error}); compact the graph, close "
        "graphs that are not needed, or allow more: vm.overcommit_memory=0 or 1, and a larger "
        "limit (ulimit -v)"
    )

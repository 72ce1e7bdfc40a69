"""What allocators do with memory that was freed.

The C library keeps some for later. Between the stages of a long piece of work, whose arrays differ
in size, that would add up; within a loop that takes and frees the same sizes over and over, it is
not enough: getting memory from the system again costs more than working on it.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# What mallopt() calls them.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def release() -> None:
    """Return freed memory to the system."""
    gc.collect(1)
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it; others need it less
    if trim is not None:
        trim(0)


@contextmanager
def arrow_gives_back() -> Iterator[None]:
    """Within the block, Arrow allocates from the C library. Its own allocator retains tens of
    megabytes of freed memory, and is no faster for tables. The setting is for the whole process.
    """
    import pyarrow as pa

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.set_memory_pool(before)


def keep_freed(most: int) -> None:
    """From now on keep up to so many freed bytes, and arrays of up to half of that among them."""
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is not None:
        option(_TRIM_THRESHOLD, most)
        option(_MMAP_THRESHOLD, min(most // 2, 32 << 20))  # glibc allows no more

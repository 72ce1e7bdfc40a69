"""Reading pages from the disk itself, past the system's cache.

A pass over a graph that is bigger than memory gains nothing from the cache, and copying through it
takes longer than the disk does.
"""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

import numpy as np

from penstock.files import open_regular
from penstock.types import U8

#: What places in a file, sizes and addresses must be multiples of.
ALIGNMENT = 4096


def open_direct(path: Path, page_bytes: int) -> int:
    """Open a file for reading whole pages into :func:`page_buffer`; through the cache where the
    file system or the size of a page do not allow it otherwise.
    """
    if page_bytes % ALIGNMENT == 0:
        try:
            return open_regular(path, os.O_RDONLY | os.O_DIRECT)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
    return open_regular(path)


def page_buffer(page_bytes: int) -> U8:
    """Memory that begins where direct reads want it."""
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return np.frombuffer(mmap.mmap(-1, page_bytes, flags=private), np.uint8)


def read_at(fd: int, offset: int, buffer: U8) -> int:
    """Fill a buffer from a place in a file; returns how many bytes there were."""
    view = buffer.data
    while view:
        try:
            count = os.preadv(fd, [view], offset)
        except OSError as error:
            if error.errno == errno.EINVAL and offset % ALIGNMENT:
                break  # a direct read met the end of a file that was cut off
            raise
        if count == 0:
            break
        offset += count
        view = view[count:]
    return len(buffer) - len(view)

"""What a run checks of a stored graph before it uses it for the first time.

Checksums show damage. They do not show malice: whoever makes a store can make its checksums right.
Kernels use neighbours, degrees and vertex numbers as places in arrays, without bounds checks. So
besides checksums, everything that becomes a place in an array is compared with the length of that
array. After these checks a store is safe to run on, whoever made it.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import xxhash

from penstock.errors import CorruptionError, FormatError
from penstock.files import open_regular
from penstock.jit import kernel
from penstock.store.catalog import FileRecord
from penstock.store.direct import open_direct, page_buffer, read_at
from penstock.store.mapped import read_range
from penstock.store.page import SMALL, PageHeader
from penstock.types import U32, Adjacency

_BLOCK_BYTES = 4 << 20
_NEIGHBOUR, _ORDER, _DEGREE = 1, 2, 3


def file_problem(path: Path, record: FileRecord, *, direct: bool) -> tuple[str | None, int]:
    """What is wrong with the bytes of a file, and how many there are. ``direct``: read past the
    system's cache, because nothing will be read again.
    """
    digest = xxhash.xxh3_64()
    size = 0
    try:
        fd = open_direct(path, _BLOCK_BYTES) if direct else open_regular(path)
        try:
            buffer = page_buffer(_BLOCK_BYTES)
            while got := read_at(fd, size, buffer):
                digest.update(buffer[:got].data)
                size += got
                if got < _BLOCK_BYTES:
                    break
        finally:
            os.close(fd)
    except FormatError as error:
        return str(error).removeprefix(f"{path}: "), size
    except OSError as error:
        return f"cannot be read ({error.strerror})", size
    if size != record.bytes:
        return f"is {size:,} bytes, expected {record.bytes:,}", size
    if digest.hexdigest() != record.xxh3:
        return f"checksum is {digest.hexdigest()}, expected {record.xxh3}", size
    return None, size


def check_file(path: Path, record: FileRecord) -> None:
    """Raise if a file's bytes are not those that the catalog was written for."""
    problem, _ = file_problem(path, record, direct=False)
    if problem is not None:
        raise damaged(path, problem)


def damaged(where: object, problem: str) -> CorruptionError:
    """The error for a file or page that is not as it was written."""
    return CorruptionError(
        f"{where}: {problem}; the file was changed or damaged after it was written: "
        "restore or rebuild the graph"
    )


@kernel
def _find_problem(offsets, neighbours, degrees, num_vertices, step):  # type: ignore[no-untyped-def]
    """0 if the lists of a page are right, else what is wrong first. ``degrees`` may be empty: they
    are then not compared. ``step``: how much more than the one before each neighbour of a list must
    be (0 or 1; -1: any order).

    Whether lists ascend is found by counting: places where a number does not exceed the one before
    it, over all lists at once, must be as many as those between one list and the next. Neither loop
    has a branch.
    """
    edges = len(neighbours)
    largest = np.uint32(0)
    for k in range(edges):
        largest = max(largest, neighbours[k])
    if edges > 0 and largest >= num_vertices:
        return _NEIGHBOUR
    if len(degrees) > 0:
        different = np.uint32(0)
        for v in range(len(degrees)):
            different |= (offsets[v + 1] - offsets[v]) ^ degrees[v]
        if different != 0:
            return _DEGREE
    if step < 0 or edges < 2:
        return 0
    before, after = neighbours[:-1], neighbours[1:]
    falls = np.int64(0)
    if step == 0:
        for k in range(edges - 1):
            falls += after[k] < before[k]
    else:
        for k in range(edges - 1):
            falls += after[k] <= before[k]
    least = np.uint32(step)
    last = np.uint32(0)
    for v in range(1, len(offsets) - 1):
        at = offsets[v]
        if at > last and at < edges:
            falls -= neighbours[at] < neighbours[at - np.uint32(1)] + least
            last = at
    return 0 if falls == 0 else _ORDER


class ListCheck:
    """Checks the lists of decoded pages of one direction, once each: checksums show later damage,
    and nobody may change a store that is open. ``checked``: not 0 for pages that have been checked;
    ``degrees``: the index array, whose own checks have been made; ``step`` as
    :func:`~penstock.store.check_pages.list_step` gives it.
    """

    def __init__(self, checked: bytearray, num_vertices: int, step: int, degrees: U32) -> None:
        self._checked = checked
        self._num_vertices = num_vertices
        self._step = step
        self._degrees = degrees

    def check_part(self, page: int, header: PageHeader, part: Adjacency, where: str) -> None:
        """The same as :meth:`check`, for a page that was decoded into arrays of its own."""
        if not self._checked[page]:
            offsets: U32 = np.zeros(len(part.degrees) + 1, np.uint32)
            np.cumsum(part.degrees, out=offsets[1:])
            self.check(page, header, offsets, part.neighbours, where)

    def check(
        self, page: int, header: PageHeader, offsets: U32, neighbours: U32, where: str
    ) -> None:
        """Raise if a page has lists that kernels cannot rely on. Arrays of the page alone."""
        if self._checked[page]:
            return
        degrees = self._degrees[:0]
        if header.kind == SMALL:
            first = header.first_vid
            degrees = read_range(self._degrees, first, first + header.num_vertices)
        found = _find_problem(offsets, neighbours, degrees, self._num_vertices, self._step)
        if found == _NEIGHBOUR:
            problem = (
                f"a list has vertex {int(neighbours.max()):,}, there are {self._num_vertices:,}"
            )
        elif found == _ORDER:
            problem = "a list is not in the order that the catalog says"
        elif found == _DEGREE:
            at = int(np.flatnonzero(np.diff(offsets) != degrees)[0])
            problem = (
                f"vertex {header.first_vid + at:,} has {int(offsets[at + 1] - offsets[at]):,} "
                f"neighbours, its degree is {int(degrees[at]):,}"
            )
        else:
            self._checked[page] = 1
            return
        raise damaged(where, problem)

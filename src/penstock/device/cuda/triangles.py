"""Counting triangles on a GPU, from lists of earlier neighbours that come in pairs of windows.

The counts of all vertices and one inner window stay on the device. Outer lists go past them in
chunks, each with a stream and buffers of its own; a block takes a vertex, its threads the entries.
For each entry u of the list of v that is in the inner window, the entries of v before u are
compared with the list of u, by searching each of the shorter one in the longer.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from contextlib import nullcontext
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from numba import cuda, types

from penstock.config import format_bytes
from penstock.device.cuda.memory import (
    ALIGNMENT,
    DeviceMemory,
    Layout,
    check_gpu,
    device_limit,
    gpu,
    simulated,
    view,
)
from penstock.device.spec import Device
from penstock.errors import BudgetError
from penstock.stream.budget import spell_enough
from penstock.types import I64, U32, Array

#: Threads of a block at most: most lists are short.
THREADS = 64
#: The share of the room besides the counts that outer chunks get.
OUTER_SHARE = 1 / 4
#: The simulator runs one kernel at a time, whoever launches it.
_one_at_a_time = threading.Lock()
#: Counts that are copied to the host at once.
PART = 1 << 16


class Lists(Protocol):
    """Lists of consecutive vertices: those of v begin at ``offsets[v - first]``."""

    @property
    def first(self) -> int:
        """The first vertex."""

    @property
    def last(self) -> int:
        """Behind the last vertex."""

    @property
    def offsets(self) -> Array:
        """Where lists begin, and the end."""

    @property
    def neighbours(self) -> U32:
        """The entries of all lists, ascending in each."""


def count_triangles(  # type: ignore[no-untyped-def]
    first, offsets, entries, first2, last2, offsets2, entries2, counts, total
):
    """Those with the last vertex among some lists, a block for each, and the middle one among
    others. Entries that are not before their vertex do not count.
    """

    def place(array, begin, end, value):  # type: ignore[no-untyped-def]
        """The first place from ``begin`` on where an ascending array is not below a value."""
        low, high = begin, end
        while low < high:
            middle = (low + high) >> 1
            if np.int64(array[middle]) < value:
                low = middle + 1
            else:
                high = middle
        return low

    def common(short, at, end, long, begin2, end2, counts):  # type: ignore[no-untyped-def]
        """How many entries of a list are in another; each is counted."""
        found = np.int64(0)
        for k in range(at, end):
            w = np.int64(short[k])
            begin2 = place(long, begin2, end2, w)
            if begin2 == end2:
                break
            if np.int64(long[begin2]) == w:
                cuda.atomic.add(counts, w, 1)
                found += 1
        return found

    of_block = cuda.shared.array(1, types.int64)
    i, t = np.int64(cuda.blockIdx.x), np.int64(cuda.threadIdx.x)
    if t == 0:
        of_block[0] = 0
    cuda.syncthreads()
    v, low = first + i, offsets[i]
    high = place(entries, low, offsets[i + 1], min(v, last2))
    mine = np.int64(0)
    begin = max(place(entries, low, high, first2), low + 1)
    for k in range(begin + t, high, cuda.blockDim.x):
        u = np.int64(entries[k])
        low2, high2 = offsets2[u - first2], offsets2[u - first2 + 1]
        if k - low < high2 - low2:
            of_u = common(entries, low, k, entries2, low2, high2, counts)
        else:
            of_u = common(entries2, low2, high2, entries, low, k, counts)
        if of_u > 0:
            cuda.atomic.add(counts, u, of_u)
            mine += of_u
    if mine > 0:
        cuda.atomic.add(of_block, 0, mine)
    cuda.syncthreads()
    if t == 0 and of_block[0] > 0:
        cuda.atomic.add(counts, v, of_block[0])
        cuda.atomic.add(total, 0, of_block[0])


def kernels() -> list[tuple[str, Any, Any]]:
    """Name, function, and the types of arguments."""
    many, entries, one = types.int64[::1], types.uint32[::1], types.int64
    args = one, many, entries, one, one, many, entries, many, many
    return [("count_triangles", count_triangles, types.void(*args))]


class _Lane:
    """A stream, with bytes for a chunk on both sides."""

    def __init__(self, memory: DeviceMemory, number: int, size: int) -> None:
        self.stream: Any = cuda.stream()
        self._there = memory.array(f"outer lists {number}", size, np.uint8)
        self._here = memory.host_array(f"outer lists {number} (host)", size)

    def send(self, offsets: I64, entries: U32) -> tuple[Any, Any]:
        """Copy lists to the device by way of pinned memory."""
        layout = _chunk_layout(len(offsets), len(entries))
        here, there = layout.on_host(self._here), layout.on_device(self._there)
        for name, values in (("offsets", offsets), ("entries", entries)):
            here[name][: len(values)] = values
            there[name].copy_to_device(here[name], stream=self.stream)
        return there["offsets"], there["entries"]


def _chunk_layout(places: int, entries: int) -> Layout:
    layout = Layout()
    layout.add("offsets", places, np.int64)
    layout.add("entries", entries, np.uint32)
    return layout


class TriangleCounter:
    """Counts on one GPU. It is called as a kernel of pairs of windows, by several threads.

    The counts of vertices take 8 bytes each of its memory. ``inner_bytes`` is what an inner window
    may take: 4 bytes an entry, 8 a vertex. Each of the streams has a part of the rest for outer
    lists.
    """

    def __init__(self, device: Device, num_vertices: int, streams: int) -> None:
        check_gpu(device.number)
        self.number = device.number
        self.threads = min(device.block, THREADS)
        #: Triangles of the whole graph so far, as of the last :meth:`hand_over`.
        self.total = 0
        jit: Any = cuda.jit
        self._kernel = jit(count_triangles)
        self._lock = threading.Lock()
        #: The inner window that is on the device, and its arrays there.
        self._inner: Lists | None = None
        self._there: tuple[Any, Any] = (None, None)
        self._lanes: SimpleQueue[_Lane] = SimpleQueue()
        with gpu(self.number):
            limit = device_limit(device.name, device.memory)
            self.memory = DeviceMemory(device.name, limit)
            left = limit - 8 * (num_vertices + 1)
            self.inner_bytes = int(left * (1 - OUTER_SHARE)) - 16
            self.chunk_bytes = int(left * OUTER_SHARE) // streams // ALIGNMENT * ALIGNMENT
            if self.chunk_bytes < 2 * ALIGNMENT:
                enough = 8 * num_vertices + 16 * streams * ALIGNMENT
                self._refuse(f"counts of {num_vertices:,} vertices and {streams} streams", enough)
            self._counts = self.memory.array("counts", num_vertices, np.int64)
            self._total = self.memory.array("total", 1, np.int64)
            self._clear()
            for k in range(streams):
                self._lanes.put(_Lane(self.memory, k, self.chunk_bytes))

    def __call__(
        self, claims: I64, first: int, offsets: Array, neighbours: U32, values: Array, begins: int,
        inner: Lists,
    ) -> None:  # fmt: skip
        """Count the triangles with the last vertex among lists from place ``begins`` on, and the
        middle one in the inner window. Threads share ``claims``: how many lists are taken.
        """
        with gpu(self.number):
            self._hold(inner)
            there = neighbours is inner.neighbours
            while True:
                with self._lock:
                    begin = int(begins) + int(claims[0])
                    end = len(offsets) - 1 if there else self._reach(first, offsets, begin)
                    claims[0] = end - int(begins)
                if begin >= end:
                    return
                low, high = int(offsets[begin]), int(offsets[end])
                if low == high:
                    continue
                lane = self._lanes.get()
                try:
                    if there:
                        lists = view(self._there[0], begin, end + 1), self._there[1]
                    else:
                        places = offsets[begin : end + 1].astype(np.int64) - low
                        lists = lane.send(places, neighbours[low:high])
                    with _one_at_a_time if simulated() else nullcontext():
                        self._kernel[end - begin, self.threads, lane.stream](
                            int(first) + begin, *lists, inner.first, inner.last, *self._there,
                            self._counts, self._total,
                        )  # fmt: skip
                    lane.stream.synchronize()
                finally:
                    self._lanes.put(lane)

    def check(self, longest: int) -> None:
        """Raise a BudgetError if there is no room for two lists with so many entries."""
        size = 2 * (8 + 4 * longest)
        if size > self.inner_bytes:
            self._refuse(f"two lists of {longest:,} neighbours", self._enough(size))

    def hand_over(self, counts: I64, times: int = 1) -> None:
        """Add what was counted since the last time to the counts of the host, so many times, and
        let the inner window go.
        """
        with gpu(self.number):
            for begin in range(0, len(counts), PART):
                part = view(self._counts, begin, min(begin + PART, len(counts)))
                counts[begin : begin + PART] += times * part.copy_to_host()
            self.total += int(self._total.copy_to_host()[0])
            self._clear()
            self._let_go()

    def close(self) -> None:
        """Give everything back."""
        with gpu(self.number):
            self._let_go()
            del self._counts, self._total
            while not self._lanes.empty():
                self._lanes.get()
            self.memory.close()

    def _hold(self, inner: Lists) -> None:
        """Copy an inner window to the device, unless it is there."""
        with self._lock:
            if self._inner is inner:
                return
            self._let_go()
            size = 8 * (inner.last - inner.first) + 4 * len(inner.neighbours)
            if size > self.inner_bytes:
                self._refuse(f"a window of {format_bytes(size)}", self._enough(size))
            offsets = self.memory.array("inner offsets", len(inner.offsets), np.int64)
            offsets.copy_to_device(inner.offsets.astype(np.int64))
            entries = self.memory.array("inner entries", len(inner.neighbours), np.uint32)
            if len(inner.neighbours):
                entries.copy_to_device(inner.neighbours)
            self._inner, self._there = inner, (offsets, entries)

    def _clear(self) -> None:
        """Nothing is counted yet."""
        zeros: I64 = np.zeros(PART, np.int64)
        for array in (self._counts, self._total):
            for begin in range(0, len(array), PART):
                part = view(array, begin, min(begin + PART, len(array)))
                part.copy_to_device(zeros[: len(part)])

    def _let_go(self) -> None:
        self._inner, self._there = None, (None, None)
        self.memory.free("inner offsets", "inner entries")

    def _reach(self, first: int, offsets: Array, begin: int) -> int:
        """Where a chunk ends that begins with a list."""
        length = len(offsets) - 1
        low = int(offsets[begin])

        def size(end: int) -> int:
            return _chunk_layout(end - begin + 1, int(offsets[end]) - low).size

        if begin == length:
            return length
        end = begin + bisect_right(range(begin + 1, length + 1), self.chunk_bytes, key=size)
        if end == begin:
            streams = int(self.memory.budget.limit * OUTER_SHARE) // self.chunk_bytes
            more = (size(begin + 1) - self.chunk_bytes) * (streams + 1)
            count, v = int(offsets[begin + 1]) - low, int(first) + begin
            enough = self.memory.budget.limit + int(more / OUTER_SHARE)
            self._refuse(f"the {count:,} neighbours of vertex {v:,}", enough)
        return end

    def _enough(self, size: int) -> int:
        """Bytes of a device that has room for an inner window of so many."""
        more = size - self.inner_bytes
        return self.memory.budget.limit + int(more / (1 - OUTER_SHARE)) + ALIGNMENT

    def _refuse(self, what: str, enough: int) -> None:
        raise BudgetError(
            f"devices: {self.memory.name}: {format_bytes(self.memory.budget.limit)} is not enough "
            f"to count triangles: there is no room for {what}; requires at least "
            f"{spell_enough(enough)}"
        )
